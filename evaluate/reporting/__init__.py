"""Reports of results: inputs, verdicts, figures, charts, rows, and what pull requests are told.

::

    inputs.py                  results with their tables of scores, releases and controls
    report.py                  the sections of a report in order, from the verdicts on
    verdict_table.py           what a result says, in a line for each config, and as Markdown for a pull request
    precision.py               what an interval is over, and what more words would give
    figure_charts.py           forests, heat maps, histograms and the like of figures and scores
    figure_tables.py           figures of several results side by side
    significance.py            margins, random polarity and the control, which figures are compared with
    comparison_page.py         differences between models in words, as charts and as tables
    association_tables.py      association tests: verdicts, the tables of Tan and Celis, each test
    association_charts.py      race and gender against both, and words by attributes
    association_comparison.py  two models on the same tests
    gate.py                    whether a model went farther from neutral than a baseline
    row_browser.py             single rows: data of the page's script, and tables without it
    row_tables.py              fillers, words and frames, and figures of the rows with some words
    summary.py                 tables of a terminal
    notation.py                figures as text
    metric_docs.py             what scorers and estimands declare of themselves
"""
