"""Association tests in a report: verdicts, then the tables of Tan and Celis (2019), then each test with its words."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from senseprobe.charts import Axis
from senseprobe.document import Cell, Section, Table, name_cells, table_section
from senseprobe.evaluate.control import same_model
from senseprobe.evaluate.estimands.association import (
    ALPHA,
    TestKey,
    Weat,
    find_reversed,
    key_of,
)
from senseprobe.evaluate.estimands.base import joined
from senseprobe.evaluate.estimands.word_sets import SETS, TestWords
from senseprobe.evaluate.fitness import fitness_lines
from senseprobe.evaluate.reporting import figure_charts, notation
from senseprobe.evaluate.reporting.association_verdicts import find_tests, group_tests, listed_words, name_tests
from senseprobe.evaluate.reporting.inputs import ReportInput
from senseprobe.evaluate.reporting.scope import ReportScope, align
from senseprobe.evaluate.reporting.verdict import TONES, word_of
from senseprobe.evaluate.scorers import SCORERS
from senseprobe.messages import counted, listed
from senseprobe.records import VERDICT_WORDS, Figure

AXIS = Axis(low=-2.0, high=2.0, neutral=0.0)
"""The axis of effect sizes, which lie between the two ends."""

PAPER_LEVEL = 0.01
"""The level below which p is significant in Tan and Celis (2019)."""

QUESTION = (
    "Each test asks about vectors: do the words of X lie nearer to the attributes A, and those of Y nearer to B, "
    "rather than the other way round?"
)
WHAT_P_SAYS = (
    "p is about the target words, with these attribute words: the share of all divisions of the targets into X "
    "and Y that have an effect at least as large. It is corrected over all tests of a config at a level (Tarone, "
    "then Holm). The interval is over all four lists of words, as if others like them had been chosen."
)
NEARNESS = (
    "An effect describes how vectors lie. It does not describe the text that a model writes. An undecided test "
    "does not mean that the bias is absent. A larger effect at one level, or of one model, does not mean more "
    "bias without a test of the difference."
)


IDENTITIES = {
    "gender": "gender",
    "race": "race",
    "intersectional": "intersectional",
    "disability": "disability, age",
    "age": "disability, age",
}
"""The rows of Table 2 of Tan and Celis, by the identity of a test."""

SHORT: Mapping[str, str] = {"shown": VERDICT_WORDS["shown"], "these_words": "these words"}
"""The remarks on an effect in a narrow column, by the code of its test; other effects are in the colour of notes."""

REVERSED = "the other way round"
"""The remark on an effect below 0, which a one-sided p does not test."""

OVERALL = "overall"
BY_IDENTITY = "Proportion of tests with an effect, by identity"
PROPORTION = (
    "As in Table 2 of Tan and Celis (2019): the share of tests that they call significant, with p < "
    f"{PAPER_LEVEL:g}, not corrected, and an effect above 0; a test counts once for each level. Below it: how many "
    f"have p < {ALPHA:g} after correction, and in how many of these the interval lies above 0, too. Left out are tests "
    "of no identity, and vectors that cannot be compared."
)
SIDE_BY_SIDE = (
    "The effect of each test, as in Tables 3 to 5 of Tan and Celis (2019), with p after correction; these words: these "
    "attribute words only; other way: Y nearer to A, which p does not test. That one level or model shows an effect "
    "and another does not is no difference between the two: senseprobe compare tests that for two models."
)


@dataclass(frozen=True)
class TestedInput:
    """A result of association tests, its `number` on the page (from 0), and its name on the page.

    `words` are the words of its tests; empty without its table of words.
    """

    source: ReportInput
    number: int
    label: str
    words: Mapping[TestKey, TestWords]

    @cached_property
    def tests(self) -> list[tuple[Weat, Figure]]:
        """Its tests, each with the estimand, without those of variants."""
        return find_tests(self.source.result.figures)

    @property
    def judged(self) -> list[tuple[Weat, Figure]]:
        """Its tests that can be read."""
        return [(weat, figure) for weat, figure in self.tests if not self.source.why_unread(figure.config)]

    @cached_property
    def reversed(self) -> set[TestKey]:
        """The tests with a reversed effect, which a one-sided p does not test."""
        return find_reversed(self.judged)

    @property
    def level(self) -> str:
        """The texts that have vectors: ``word``, ``sent`` or ``cword``; empty if its scorer is unknown."""
        scorer = SCORERS.get(self.source.result.scorer)
        return "" if scorer is None else scorer.level

    def name_tests(self, keys: Iterable[TestKey]) -> str:
        """Return the names of tests, with the config of a test whose name stands in several."""
        return name_tests(keys, [key_of(figure) for _, figure in self.tests])

    def list_sign_changes(self) -> list[TestKey]:
        """Return the tests whose effect changes its sign with the other pooling of a word's tokens."""
        return [key for key, words in self.words.items() if words.changes_sign]


def tested_inputs(scope: ReportScope) -> list[TestedInput]:
    """Return the results of the page with their tests and words."""
    return [TestedInput(source, n, scope.labels[n], scope.words[n]) for n, source in enumerate(scope.inputs)]


# --- The vectors ------------------------------------------------------------------------------------------------------


def describe_vectors(scope: ReportScope) -> Iterator[str]:
    """Yield the question of the tests, the number of results, and notes on words, tokenizers and poolings."""
    tested = tested_inputs(scope)
    yield QUESTION
    if len(tested) > 1:
        yield f"p is corrected within each result: who reads {len(tested)} of them has tried {len(tested)}."
    for part in tested:
        sets = (names for _, figure in part.tests for names in figure.missing.values())
        if words := dict.fromkeys(word for names in sets for word in names):
            yield f"{part.label}: left out, since they have no vector: {listed(words)}."
    yield from (f"{part.label}: {line}." for part in tested for line in fitness_lines(part.source.result.fitness))
    yield from _describe_sign_changes(tested)


def _describe_sign_changes(tested: Sequence[TestedInput]) -> Iterator[str]:
    """Yield the tests whose sign depends on the pooling of a word's tokens into one vector."""
    for part in tested:
        if changes := part.list_sign_changes():
            encoding = part.source.encoding
            poolings = f"{encoding.get('pooling', 'one')} and {encoding.get('check', 'another')}"
            yield (
                f"{part.label}: by the {poolings} of a word's tokens the effect has different signs in {len(changes)} "
                f"of {counted(len(part.tests), 'test')} ({part.name_tests(changes)}): what such a test says depends on "
                "that choice."
            )


# --- The tables of Tan and Celis --------------------------------------------------------------------------------------


def proportion_section(tested: Sequence[TestedInput]) -> Section:
    """Return their Table 2: the proportion of tests with a small p and an effect above 0, by identity and model."""
    models = _group_by_model(tested)
    cells: dict[str, list[Cell]] = {}
    names = dict.fromkeys(identity for part in tested for identity in map(_identity_of, part.tests) if identity)
    for identity in [*sorted(names, key=[*IDENTITIES.values()].index), OVERALL]:
        for parts in models:
            tests = [test for part in parts for test in part.judged if _identity_of(test)]
            tests = [test for test in tests if identity in (_identity_of(test), OVERALL)]
            cells.setdefault(identity, []).append(_count_tests(tests))
    rows = tuple((*name_cells(identity), *counts) for identity, counts in cells.items()) if names else ()
    headings = (
        "tests about",
        *(f"{_name_model(parts)} ({', '.join(part.level for part in parts)})" for parts in models),
    )
    return table_section(BY_IDENTITY, [PROPORTION], [Table(BY_IDENTITY, headings, rows)])


def _group_by_model(tested: Sequence[TestedInput]) -> list[list[TestedInput]]:
    """Return the results of each model, one for each level. Vectors that cannot be compared are left out."""
    models: list[list[TestedInput]] = []
    for part in tested:
        result = part.source.result
        group = next((parts for parts in models if same_model(parts[0].source.result, result)), None)
        if group is None and part.source.is_comparable:
            models.append([part])
        elif group is not None and part.source.is_comparable and part.level not in {other.level for other in group}:
            group.append(part)
    return models


def _name_model(parts: Sequence[TestedInput]) -> str:
    return str(parts[0].source.result.model["name"])


def _identity_of(test: tuple[Weat, Figure]) -> str:
    """Return the row of Table 2 that a test counts for; empty if the test does not have an identity."""
    return IDENTITIES.get(test[1].identity, "")


def _count_tests(tests: Sequence[tuple[Weat, Figure]]) -> Cell:
    significant = sum(is_significant(figure) for _, figure in tests)
    counts = Counter(weat.judge(figure).code for weat, figure in tests)
    if not tests:
        return Cell.number("")
    return Cell.number(
        f"{significant / len(tests):.2f} ({significant} of {len(tests)})",
        f"corrected {counts['shown'] + counts['these_words']}, of which {counts['shown']} shown",
    )


def is_significant(figure: Figure) -> bool:
    """Return whether a test has a significant positive effect in the sense of Tan and Celis."""
    return figure.p is not None and figure.p < PAPER_LEVEL and (figure.value or 0.0) > 0


def level_section(tested: Sequence[TestedInput]) -> Section:
    """Return their Tables 3 to 5: each test at each level, models side by side, and where levels differ.

    A result without a readable test is left out.
    """
    tested = [part for part in tested if part.judged]
    results = [
        [
            ((config, identity, figure.group or ""), (weat, figure))
            for (config, identity), tests in group_tests(part.source.result.figures).items()
            for weat, figure in tests
        ]
        for part in tested
    ]
    rows = align(results)
    tables: dict[tuple[str, str], list[tuple[Cell, ...]]] = {}
    for (config, identity, test), cells in rows.items():
        words = next((part.words[config, test] for part in tested if (config, test) in part.words), None)
        note = (
            ""
            if words is None
            else ", ".join(" / ".join(words.has[side][0] for side in pair if words.has[side]) for pair in ("XY", "AB"))
        )
        row = (Cell(test, note, "name"), *map(_build_level_cell, tested, cells))
        tables.setdefault((config, identity), []).append(row)
    headings: tuple[str | int, ...] = ("test", *(part.number for part in tested))
    return table_section(
        "The same tests side by side",
        [SIDE_BY_SIDE, *_compare_levels(tested)],
        [Table(", ".join(filter(None, key[::-1])), headings, tuple(members)) for key, members in tables.items()],
    )


def _build_level_cell(part: TestedInput, test: tuple[Weat, Figure] | None) -> Cell:
    if test is None:
        return Cell.number("")
    weat, figure = test
    value = "none" if figure.value is None else notation.format_points(figure.value, weat.id)
    if notation.has_flaw(figure):
        return Cell(value, notation.UNREAD, "quiet")
    code, corrected = weat.judge(figure).code, notation.format_test(figure)[1]
    word = "other way" if key_of(figure) in part.reversed else SHORT.get(code, "")
    note = ", ".join(filter(None, (word, corrected if figure.p_holm is None else f"p {corrected}")))
    return Cell(value, note, "number" if code in SHORT else "quiet")


def _compare_levels(tested: Sequence[TestedInput]) -> Iterator[str]:
    """Yield for each model the tests on which the levels of sentences and of words in sentences agree."""
    for parts in _group_by_model(tested):
        levels = {part.level: part for part in parts}
        if {"sent", "cword"} <= levels.keys():
            sent, cword = (
                {key_of(f) for _, f in levels[level].judged if is_significant(f)} for level in ("sent", "cword")
            )
            sets = (("at both levels", sent & cword), ("only at cword", cword - sent), ("only at sent", sent - cword))
            names = [f" ({levels['sent'].name_tests(sorted(keys))})" if keys else "" for _, keys in sets]
            texts = [f"{len(keys)} {where}{listing}" for (where, keys), listing in zip(sets, names, strict=True)]
            yield (
                f"{_name_model(parts)}, counted as they do, with p < {PAPER_LEVEL:g}, not corrected, and an effect "
                f"above 0: {'; '.join(texts)}."
            )


# --- Each test --------------------------------------------------------------------------------------------------------


def build_effect_cell(figure: Figure, number: int, note: str = "") -> Cell:
    """Return an effect with its interval, drawn on `AXIS`."""
    mark = figure_charts.build_mark(figure, number)
    return Cell(mark.text, note, "number", mark if mark.low is not None else None)


def single_test_section(tested: Sequence[TestedInput], *, brief: bool = False) -> Section:
    """Return all tests of each result with their words, and the requested variants."""
    tables = []
    for part in tested:
        rows = tuple(_build_test_row(weat, figure, part, brief=brief) for weat, figure in part.tests)
        headings = ("test", "effect [95 %]", "p", "words", "reads")
        tables.append(Table(part.label, headings, rows, closed=len(tested) > 1, axis=AXIS))
        tables += _build_variant_tables(part)
    variants = {weat.id: weat for part in tested for weat, _ in find_tests(part.source.result.figures, variants=True)}
    warned = [f"{weat.id}: {weat.cannot_say}" for weat in variants.values() if not weat.has_interval]
    return table_section("Every test", [WHAT_P_SAYS, *(() if brief else [NEARNESS]), *warned], tables)


def _build_test_row(weat: Weat, figure: Figure, part: TestedInput, *, brief: bool) -> tuple[Cell, ...]:
    words = None if brief else part.words.get(key_of(figure))
    sets = "" if words is None else "; ".join(f"{side} {listed_words(words.has[side])}" for side in SETS)
    least = "" if figure.p_least is None else f"smallest possible p {figure.p_least:.2g}"
    missing = "; ".join(f"{side} without {listed(names)}" for side, names in figure.missing.items() if names)
    reverse_note = f"{REVERSED}: Y nearer to A" if key_of(figure) in part.reversed else ""
    verdict = figure.verdict
    is_unread, why = (True, "") if verdict is None else (verdict.code == "unreadable", verdict.text)
    unread = why if is_unread and not part.source.why_unread(figure.config) else ""
    notes = [reverse_note, figure.note, unread]
    return (
        Cell(figure.group or "", "; ".join(filter(None, (figure.identity, figure.config))), "name"),
        build_effect_cell(figure, part.number, sets),
        Cell.number(notation.describe_test(figure), least),
        Cell(notation.describe_sizes(figure), missing, "quiet"),
        Cell(
            "; ".join(filter(None, notes)),
            tag=word_of(figure),
            tone=TONES["unreadable" if verdict is None else verdict.code],
        ),
    )


def _build_variant_tables(part: TestedInput) -> Iterator[Table]:
    """Yield a collapsed table of the requested variants of a result's tests."""
    others = [figure for _, figure in find_tests(part.source.result.figures, variants=True)]
    names = [*dict.fromkeys(figure.estimand for figure in others)]
    rows = align([[(key_of(f), f) for f in others if f.estimand == name] for name in names])
    if rows:
        cells = (
            (
                Cell(test, config, "name"),
                *(
                    Cell.number("")
                    if figure is None
                    else Cell.number(
                        notation.format_interval(figure), joined(notation.describe_test(figure), word_of(figure))
                    )
                    for figure in figures
                ),
            )
            for (config, test), figures in rows.items()
        )
        yield Table(f"{part.label}: variants", ("test", *names), tuple(cells), closed=True)
