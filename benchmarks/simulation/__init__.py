"""Models with a known truth, on designs shaped as those of releases: how often an interval includes it, a test errs.

::

    tables.py       designs and their rows, with the words invented
    models.py       random models: every level of every factor has a normal effect, so truths have closed forms
    coverage.py     intervals of figures, of sense contrasts and of two models' difference, against the truth
    boundary.py     intervals where a model hardly ever dissents, against the truth
    size.py         tests under a true null: two models, polarity, equivalence at the edge of its margin
    association.py  association tests: intervals of the effect size, and tests under a true null

`benchmarks/coverage.py` prints them, docs/coverage.md is what it printed, and tests check the bounds.
"""
