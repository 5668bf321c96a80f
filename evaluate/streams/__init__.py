"""Results of rows that are too many for a table: they come in parts, and what is kept of them is small.

::

    parts.py         the words of parts as categories whose codes mean the same in every part
    gathered.py      the small table of an estimand that needs all rows at once, up to a limit
    figure_sums.py   the figures of all configs, in as many readings of the rows as estimands need
"""
