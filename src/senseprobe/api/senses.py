"""Sense embeddings: make one of WordNet's glosses, show the senses of a word, and report what was scored on them."""
