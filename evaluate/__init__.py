"""Score models on frozen releases: a model gives numbers per sentence, a scorer reads them, an estimand sums them up."""
