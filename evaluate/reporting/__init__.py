"""Reports of results: inputs, figures, sections, document.

::

    inputs.py          results with their tables of scores, releases and controls
    report.py          the sections of a report in order, from the summary on
    figure_tables.py   figures of several results side by side
    verdicts.py        what a result says, in a line for each config
    significance.py    models, margins, random polarity and the control, which figures are compared with
    comparison_page.py differences between models in words, as charts and as tables
    row_browser.py     single rows: data of the page's script, and tables without it
    row_tables.py      fillers, words and frames, and figures of the rows with some words
    notation.py        figures as text
    metric_docs.py     what scorers and estimands declare of themselves
"""
