"""Reports of results: inputs, verdicts, figures, charts, rows, and what pull requests are told.

::

    inputs.py               results with their tables of scores, releases and controls
    scope.py                the results of a part, side by side, and how much of them is shown
    report.py               pages as tuples of sections: of pairs, of association tests, and brief
    verdict_table.py        what a result says, a verdict for each config; association_verdicts.py: for each test
    verdict_section.py      the verdicts, their intervals on one scale, and caveats
    precision.py            what an interval is over, and what more words would give
    figure_charts.py        forests, heat maps, histograms and the like of figures and scores
    figure_tables.py        figures of several results side by side
    significance.py         margins, random polarity and the control, which figures are compared with
    comparison_section.py   differences between models in words, as charts and as tables
    fitness_section.py      what tokenizers make of the rows
    association_tables.py   the tables of Tan and Celis, each test; association_charts.py: words by attributes
    gate.py                 whether a model went farther from neutral than a baseline
    row_browser.py          single rows: data of the page's script, and tables without it
    row_tables.py           fillers, words and frames, and figures of the rows with some words
    notation.py             figures as text
    metric_docs.py          what scorers and estimands declare of themselves
"""
