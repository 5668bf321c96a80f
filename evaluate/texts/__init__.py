"""Measures of texts: the Bias Score of sentences, mentions in corpora, and associations of words (WAT)."""
