"""Reports of results: inputs, verdicts, figures, charts and rows, and the gate of pull requests.

::

    inputs.py               results with their tables of scores, releases and controls
    scope.py                the results of a part side by side, and the level of detail
    report.py               pages as tuples of sections: of pairs, of association tests, and brief
    verdict_table.py        a verdict for each config of a result; association_verdicts.py: for each test
    verdict_section.py      the verdicts, their intervals on one scale, and caveats
    precision.py            the levels that an interval is over, and the effect of more words
    figure_charts.py        forests, heat maps, histograms and the like of figures and scores
    figure_tables.py        figures of several results side by side
    significance.py         comparisons of figures with a margin, random polarity and the control
    comparison_section.py   differences between models in words, as charts and as tables
    fitness_section.py      unknown words and tokens of the rows, by tokenizer
    association_tables.py   the tables of Tan and Celis, each test; association_charts.py: words by attributes
    gate.py                 whether a model is farther from neutral than a baseline
    row_browser.py          single rows: data of the page's script, and tables without it
    row_tables.py           fillers, words and frames, and figures of the rows with some words
    notation.py             figures as text
    metric_docs.py          the documentation of scorers and estimands
"""
