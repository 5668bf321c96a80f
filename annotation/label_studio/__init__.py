"""Annotation on a Label Studio server: its interface, pushing tasks, pulling answers, and a server for this machine."""
