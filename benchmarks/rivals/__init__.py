"""What `score.py` holds senseprobe against: other ways to the same numbers, and the sentences and models for it."""
