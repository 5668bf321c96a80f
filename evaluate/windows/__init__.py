"""Scoring in parts: a plan of windows of sorted units, answers to each as a file, and the result that they make."""
