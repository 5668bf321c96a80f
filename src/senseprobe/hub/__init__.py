"""Publish releases on the Hugging Face Hub under tags that never move, and fetch them by these tags."""
