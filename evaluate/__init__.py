"""Score models on frozen releases: a model answers, a scorer makes numbers of it, an estimand sums them up."""
