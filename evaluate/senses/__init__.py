"""Embeddings of word senses: files and models of them, scorers, estimands, a page, and one that is made of glosses."""
