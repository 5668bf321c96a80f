"""The page of embeddings of senses: tests, words and dimensions, and whether they foretell models of text."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
import pandas as pd

from senseprobe.charts import Forest, ForestRow, Scatter
from senseprobe.document import Cell, Document, Part, Section, Table, name_cells, table_section
from senseprobe.errors import ResultError
from senseprobe.evaluate.estimands import lookup
from senseprobe.evaluate.reporting import figure_charts, notation
from senseprobe.evaluate.reporting.figure_tables import contrast_section
from senseprobe.evaluate.reporting.inputs import ReportInput
from senseprobe.evaluate.reporting.scope import ReportScope
from senseprobe.evaluate.reporting.verdict import word_of
from senseprobe.evaluate.reporting.verdict_table import judge
from senseprobe.evaluate.senses.prediction import (
    SenseInputs,
    WatRecord,
    WordCorrelation,
    column_of,
    describe_correlation,
    describe_releases,
    is_difference,
    predict_models,
    summarize_predictions,
)
from senseprobe.messages import listed
from senseprobe.records import Figure

TESTS = {
    "weat1": "Flowers vs Insects",
    "weat2": "Instruments vs Weapons",
    "weat7": "Math vs Art",
    "weat8": "Science vs Art",
    "weat9": "Physical vs Mental",
}
"""The association tests of Table 3 of Zhou, Kaneko and Bollegala (2022), in its order."""

MOST_SENSES, MOST_SCATTERS, MOST_WORDS = 20, 6, 60

TABLE_3 = (
    "The rows are those of Table 3 of Zhou, Kaneko and Bollegala (2022). Its numbers do not stand beside ours: the "
    "published code of its sense column computes +2 or -2 whatever the vectors are. Effects of tests and of words are "
    "in standard deviations, positive for the stereotype; of nouns and verbs the number is a cosine with the direction "
    "of gender, positive where occupations lie on the side of their stereotype; WAT is a correlation."
)
SENSES = (
    "At the level of senses a pair of words has the largest cosine over all pairs of their senses. Of two words with "
    "more senses it is larger by chance alone, so compare sets only where their words have about as many senses."
)
UNITS = (
    "Differences of an embedding are in its own unit, those of a model in points of preference: compare signs and "
    "whether intervals exclude 0, not sizes. At word level all senses of a word have one vector: a difference is 0, or "
    "due to other words of the two configs."
)
GLOSSES = (
    "Vectors that were built from glosses hold what lexicographers wrote of a sense, not how people use it: they show "
    "that the computation works, and are no finding about a language. Each gloss has the word itself, so that "
    "the senses of a word are near to one another, whatever they mean."
)
LIMITS = (
    GLOSSES,
    "The largest cosine over pairs of senses grows with the number of senses, whatever these are.",
    "The sets of words are small. An interval is over words like these, and p is of these very words.",
    "Nearness of vectors is no behaviour: it does not say what a model writes or decides.",
    "A correlation over words says nothing of why: a word's frequency can stand behind both sides.",
)


def build_sense_page(sources: Sequence[ReportInput], wat: Sequence[WatRecord] = ()) -> Document:
    """Return the page of results on vectors of senses or words, with models of text on the same rows beside them.

    Raises ResultError where no result is on vectors.
    """
    sources = [judge(source) for source in sources]
    inputs = SenseInputs.of(sources, wat)
    if not inputs.columns:
        raise ResultError(
            "no result is on vectors: score an embedding with -s weat, -s sc-weat-word or -s sc-weat-sense"
        )
    releases = dict.fromkeys(str(source.result.release["name"]) for source in sources)
    names = dict.fromkeys(str(source.result.model["name"]) for source in (*inputs.tested, *inputs.placed))
    sections = tuple(section for build in PAGE if (section := build(inputs)))
    return Document(
        title=f"Senses in {listed(names)}",
        subtitle=f"on {listed(releases)}",
        warning="The words of these tests name groups beside insults.",
        parts=(Part(title="", sections=sections, labels=inputs.columns),),
        signatures=tuple(source.result.signature for source in sources),
    )


# --- Table 3 --------------------------------------------------------------------------------------------------------


def overview_section(inputs: SenseInputs) -> Section:
    """Return the rows of Table 3, a column for each embedding and level."""
    records = inputs.wat
    columns = tuple(dict.fromkeys((*inputs.columns, *(record.column for record in records))))
    rows = [
        (*name_cells(title), Cell.quiet(name), *(_build_test_cell(inputs, name, column) for column in columns))
        for name, title in TESTS.items()
    ]
    if records:
        by_column = {record.column: Cell.number(notation.format_correlation(record.correlation)) for record in records}
        rows.append((*name_cells("WAT"), Cell.quiet("equation 4"), *(by_column.get(c, Cell("")) for c in columns)))
    overall = {
        (figure.config, column_of(source)): figure
        for source in inputs.placed
        for figure in reversed(source.result.figures)
        if figure.group is None and not is_difference(figure)
    }
    configs = dict.fromkeys(
        f.config for s in inputs.placed for f in s.result.figures if (f.config, column_of(s)) in overall
    )
    senses = {f.config: f.sense_type for f in overall.values()}
    rows += [
        (
            *name_cells(config),
            Cell.quiet(f"sssb, {senses[config]}"),
            *(_build_cell(overall.get((config, c))) for c in columns),
        )
        for config in configs
    ]
    headings = ("what", "test", *columns)
    missing = tuple(sentence for source in (*inputs.tested, *inputs.placed) for sentence in source.missing)
    return Section(
        "Words and senses", (TABLE_3, *dict.fromkeys(missing)), tables=(Table("Table 3", headings, tuple(rows)),)
    )


def _build_test_cell(inputs: SenseInputs, name: str, column: str) -> Cell:
    """Return a test's effect in a column; of several configs or figures the first."""
    sources = [source for source in inputs.tested if column_of(source) == column]
    figures = [figure for source in sources for figure in source.result.figures if figure.group == name]
    if figures:
        return _build_cell(figures[0])
    return (
        Cell("left out", "its words have no senses to compare, or were not scored") if sources else Cell("not scored")
    )


def _build_cell(figure: Figure | None) -> Cell:
    if figure is None:
        return Cell("")
    remarks = (word_of(figure), notation.describe_test(figure), figure.note if figure.value is None else "")
    return Cell.number(notation.format_interval(figure), "; ".join(filter(None, remarks)))


# --- Models of text -------------------------------------------------------------------------------------------------


def prediction_section(inputs: SenseInputs) -> Section:
    """Return whether what an embedding holds of words foretells what models of text do with them."""
    predictions = [*predict_models(inputs)]
    rows = tuple(
        (
            *name_cells(p.config, p.embedding, p.model),
            Cell.number("none" if p.correlation.value is None else f"{p.correlation.value + 0.0:+.2f}"),
            Cell(describe_correlation(p.correlation)),
            Cell.number(f"{len(p.words)}"),
        )
        for p in predictions
    )
    table = Table("Correlations over words", ("config", "embedding", "model", "r", "in words", "words"), rows)
    title = "Does the embedding foretell the model?"
    charts = tuple(_build_scatter(p) for p in predictions[:MOST_SCATTERS] if p.correlation.value is not None)
    paragraphs = (summarize_predictions(predictions), *describe_releases(predictions))
    return Section(title, paragraphs, charts, (table,)) if rows else Section(title)


def _build_scatter(prediction: WordCorrelation) -> Scatter:
    x, y = np.array(prediction.x), np.array(prediction.y) - 0.5
    return Scatter(
        title=f"{prediction.config}: {prediction.embedding} and {prediction.model}, {len(x)} words",
        x_label="higher in the embedding",
        y_label=f"above half: {prediction.measure}",
        points=tuple(sorted({*zip(figure_charts.scale_values(x), figure_charts.scale_values(y), strict=True)})),
    )


def difference_section(inputs: SenseInputs) -> Section:
    """Return the figures of one sense less another, of embeddings and models side by side, as a report has them."""
    scope = ReportScope(inputs=(*inputs.placed, *inputs.models))
    section = contrast_section(scope)
    tables = (
        replace(table, headings=tuple(scope.labels[name] if isinstance(name, int) else name for name in table.headings))
        for table in section.tables
    )
    return replace(section, paragraphs=(*section.paragraphs, UNITS) if section else (), tables=tuple(tables))


# --- Words, dimensions, senses --------------------------------------------------------------------------------------


def word_section(inputs: SenseInputs) -> Section:
    """Return, for each figure of words, a plot and a table of all words in all senses (Figure 3)."""
    figures: dict[str, dict[tuple[str, str], dict[int, Figure]]] = {}
    for source in inputs.placed:
        for figure in source.result.figures:
            if figure.group is not None:
                row = figures.setdefault(figure.estimand, {}).setdefault((figure.group, figure.config), {})
                row.setdefault(inputs.columns.index(column_of(source)), figure)
    texts, charts, tables = [], [], []
    for estimand, by_word in figures.items():
        rows, declared = sorted(by_word.items()), lookup(estimand)
        cells = (
            (*name_cells(*key), *(_build_cell(by_column.get(number)) for number in range(len(inputs.columns))))
            for key, by_column in rows
        )
        headings, closed = ("word", "config", *inputs.columns), len(rows) > MOST_WORDS
        tables.append(Table(f"{declared.title}, by word and sense", headings, tuple(cells), closed=closed))
        forest_rows = tuple(
            ForestRow(
                label=f"{word}: {config}",
                marks=tuple(figure_charts.build_mark(figure, number) for number, figure in by_column.items()),
            )
            for (word, config), by_column in rows[:MOST_WORDS]
        )
        many = f", {len(forest_rows)} of {len(rows)}" if len(rows) > len(forest_rows) else ""
        charts.append(_with_axis(f"{declared.title}: words with intervals{many}", forest_rows))
        texts += [declared.says] if declared.says else []
    return Section("Words", tuple(texts), tuple(charts), tuple(tables))


def _with_axis(title: str, rows: tuple[ForestRow, ...]) -> Forest:
    """Return a forest with an axis around 0 that holds all marks with their intervals."""
    marks = [mark for row in rows for mark in row.marks]
    ends = [abs(end) for mark in marks for end in (mark.value, mark.low, mark.high) if end is not None]
    limit = float(f"{1.05 * max([*ends, 0.1]):.2g}")
    return Forest(title=title, rows=rows, low=-limit, high=limit, left="lower", right="higher")


def dimension_section(inputs: SenseInputs) -> Section:
    """Return the effects by the number of dimensions, where the same was scored on embeddings of several (Figure 2)."""
    by_key: dict[tuple[str, str, str], dict[int, Figure]] = {}
    for source in (*inputs.tested, *inputs.placed):
        dimensions = source.encoding.get("dimensions", "")
        for figure in source.result.figures if dimensions.isdecimal() and len(dimensions) < 10 else ():
            if (figure.group is None) == (source in inputs.placed) and not lookup(figure.estimand).variant_of:
                key = (figure.group or figure.config, figure.estimand, source.encoding.get("level", "word"))
                by_key.setdefault(key, {}).setdefault(int(dimensions), figure)
    swept = {key: by_size for key, by_size in sorted(by_key.items()) if len(by_size) > 1}
    sizes = sorted({size for by_size in swept.values() for size in by_size})
    rows = tuple(
        (*name_cells(*key), *(_build_cell(by_size.get(size)) for size in sizes)) for key, by_size in swept.items()
    )
    points = tuple(
        ForestRow(label=f"{name}, {level}: {size} dimensions", marks=(figure_charts.build_mark(by_size[size]),))
        for (name, _, level), by_size in swept.items()
        for size in sorted(by_size)
    )
    table = Table("By dimensions", ("of", "figure", "level", *(f"{size} dimensions" for size in sizes)), rows)
    chart = _with_axis("Effects by dimensions", points[:MOST_WORDS])
    text = "The same words on embeddings of several sizes: what changes with the size is no property of the language."
    return Section("Dimensions", (text,), (chart,), (table,)) if rows else Section("")


def sense_section(inputs: SenseInputs) -> Section:
    """Return how many senses the words of a test have, and which senses made the largest cosines."""
    counts, chosen = [], []
    for source in (*inputs.tested, *inputs.placed):
        words = source.result.words
        if words is None or "target_sense" not in words.column_names:
            continue
        for (config, test), rows in words.to_pandas().groupby(["config", "test"], sort=False):
            where = name_cells(column_of(source), str(test if config == test else f"{test}, {config}"))
            if cells := [cell for side in ("target", "attribute") for cell in _count_senses(rows, side)]:
                counts.append((*where, *cells))
            chosen += [(number, (*where, *cells)) for number, cells in _rank_senses(rows)]
    chosen.sort(key=lambda row: -row[0])
    tables = (
        Table("Senses a word, on average", ("embedding", "test", "targets", "attributes"), tuple(counts)),
        Table(
            "The senses that made the largest cosines most often",
            ("embedding", "test", "sense", "of", "pairs"),
            tuple(cells for _, cells in chosen[:MOST_SENSES]),
            note=f"{MOST_SENSES} of {len(chosen)} words with several senses." if len(chosen) > MOST_SENSES else "",
        ),
    )
    return table_section("Which senses", (SENSES,), tables)


def _count_senses(rows: pd.DataFrame, side: str) -> Iterator[Cell]:
    """Yield the mean number of senses of the words of each set of a side, in one cell; none where it is not known."""
    words = rows.dropna(subset=[f"{side}_senses"]).drop_duplicates([f"{side}_role", side])
    means = words.groupby(f"{side}_role", sort=True)[f"{side}_senses"].mean()
    if len(means):
        yield Cell(", ".join(f"{role} {mean:.1f}" for role, mean in means.items()))


def _rank_senses(rows: pd.DataFrame) -> Iterator[tuple[int, tuple[Cell, ...]]]:
    """Yield the sense of each word that was chosen most often, of words with several: in how many pairs, and cells."""
    for side in ("target", "attribute"):
        several = rows[(rows[f"{side}_senses"].fillna(0) > 1) & rows[f"{side}_sense"].notna()]
        for word, pairs in several.groupby(side, sort=True):
            counts = Counter(map(str, pairs[f"{side}_sense"]))
            key, number = min(counts.items(), key=lambda item: (-item[1], item[0]))
            senses = int(pairs[f"{side}_senses"].iloc[0])
            yield (
                number,
                (Cell(key, kind="name"), Cell(f"{word}, {senses} senses"), Cell.number(f"{number} of {len(pairs)}")),
            )


def limits_section(inputs: SenseInputs) -> Section:
    """Return what the page does not say."""
    return Section("What this page does not say", LIMITS)


PAGE = (
    overview_section,
    prediction_section,
    difference_section,
    word_section,
    dimension_section,
    sense_section,
    limits_section,
)
