"""Releases as tasks of other programs, and results in the formats in which others collect them."""
