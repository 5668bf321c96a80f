"""Releases on the Hugging Face Hub: sent there under a tag that never moves, and fetched from there by that tag."""
