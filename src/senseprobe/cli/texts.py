"""Commands on texts: bias-score and corpus."""
