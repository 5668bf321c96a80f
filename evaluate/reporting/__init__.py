"""Reports: what results say, how sure that is, and what zero means, for people to read.

::

    evidence.py     a result with its rows, its release and its control, as far as they are at hand
    scores.py       the table of scores beside a result
    levels.py       a figure for each word and frame
    extremes.py     the rows with the largest differences, the fillers with the largest probabilities
    differences.py  two models and more on the same rows
    words.py        figures in words
    lines.py        figures of several results side by side
    singles.py      sections of words, frames, rows and fillers
    proofs.py       sections of what figures are held against
    fitness.py      the section of what tokenizers make of the rows
    brief.py        what a report says first
    account.py      what a report is made of, before it is set
    telling.py      all of it in order
    plots.py        forest plots
    page.py         set as HTML or as Markdown
    metrics.py      what scorers and estimands declare of themselves
"""
