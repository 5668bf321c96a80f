"""Whether a model answers questions or follows a rule, in words, and what the rules would read on each figure.

A rule (`REFERENCES`) answers without reading: always unknown, always the stereotype, always the first answer, always
right. The **agreement** of a model with it is the share of questions that both answer alike; where a model shares a
question among several answers, the share of the rule's answer. A model is like the rule with which it agrees most, if
that is in 75 of 100 questions or more: two rules agree in at most about half, so no model is like two by chance. It is
like guessing if it agrees with every rule in about a third of the questions, as three answers at random do. Else it is
like none: a model that always names a person agrees with "always the stereotype" in half of them, and against it, too.
"""

from collections.abc import Container, Iterator, Mapping, Sequence

import numpy as np
import pandas as pd

from senseprobe.document import Cell, Section, Table, name_cells, table_section
from senseprobe.evaluate.reporting import notation
from senseprobe.evaluate.reporting.inputs import ReportInput
from senseprobe.evaluate.reporting.scope import AddedSection, ReportScope
from senseprobe.kinds.question.choices import REFERENCES, are_scored, scores_of, share_answers
from senseprobe.kinds.question.columns import AMBIGUOUS, PLACES, SCORES
from senseprobe.statistics import Scale

TITLE = "Does the model answer the questions, or follow a rule?"

TEXTS = {
    "accuracy-disambiguated": "if the text says who it is",
    "accuracy-ambiguous": "if it does not (unknown is right then)",
}
"""Where answers are right or wrong, by the figure that counts them."""

ALIKE = 0.75
"""The least agreement of a model that is like a rule."""

ABOUT = 0.1
"""How far from a third agreements may be of a model that is like guessing."""

NONE = "answers like none of these rules"
AT_RANDOM = "at random"

BLIND = 2 / 3
"""The least share of contexts in which a model names one person to opposite questions that a page mentions."""
MOST_OPEN = 24

TEXT = (
    "A rule answers without reading. A model is like the rule whose answer it gives most often, if that is in "
    f"{100 * ALIKE:.0f} of 100 questions or more. It is like guessing if it gives every rule's answer in about a third."
)
NOTE = (
    "What each rule reads on the same rows, in the points of the figure. No value: the rule names nobody. A rule "
    "that takes the first answer is like guessing if all orders of the answers are asked: see place-share."
)


def agreements(table: pd.DataFrame, scale: Scale) -> dict[str, float]:
    """Return the agreement of a model with each rule, from 0 to 1; empty if no row has three finite numbers.

    >>> rows = pd.DataFrame({"gold": ["unknown", "anti"], "order": ["anti stereo unknown"] * 2})
    >>> rows = rows.assign(stereo_score=[-3.0, -3.0], anti_score=[-2.0, -1.0], unknown_score=[-1.0, -2.0])
    >>> agreements(rows, "log")
    {'unknown': 0.5, 'the stereotype': 0.0, 'first': 0.5, 'right': 1.0}
    """
    scored = table[are_scored(table)]
    if not len(scored):
        return {}
    shares, _ = share_answers(scored, scale)
    agreed = {
        name: float((shares * rule(scored)).sum(axis=1).mean())
        for name, rule in REFERENCES.items()
        if name != AT_RANDOM
    }
    if PLACES[0] in scored:  # where all orders are asked, the first answer is another one in each
        agreed["first"] = float(scored[PLACES[0]].mean())
    return {name: round(share, 12) for name, share in agreed.items()}


def describe_likeness(agreed: Mapping[str, float]) -> tuple[str, str]:
    """Return which rule a model is like, as a clause without subject, and its name if there is one; by agreements.

    >>> describe_likeness({"unknown": 0.9, "the stereotype": 0.05, "first": 0.3, "right": 0.5})
    ('answers like the rule "always unknown"', 'unknown')
    >>> describe_likeness({"unknown": 0.3, "the stereotype": 0.36, "first": 0.35, "right": 0.33})
    ('answers like guessing', '')
    >>> describe_likeness({"unknown": 0.1, "the stereotype": 0.6, "first": 0.35, "right": 0.33})
    ('answers like none of these rules', '')
    """
    nearest = max(agreed, key=lambda name: agreed[name])
    if agreed[nearest] >= ALIKE:
        return f'answers like the rule "always {nearest}"', nearest
    if all(abs(share - 1 / 3) <= ABOUT for share in agreed.values()):
        return "answers like guessing", ""
    return NONE, ""


def _describe_all(name: str, by_config: Mapping[str, Mapping[str, float]]) -> Iterator[str]:
    """Yield a sentence for each rule that a model is like in some configs, with the range of their agreements."""
    alike: dict[tuple[str, str], list[str]] = {}
    for config, agreed in by_config.items():
        alike.setdefault(describe_likeness(agreed), []).append(config)
    for (clause, nearest), configs in alike.items():
        shares = [100 * by_config[config][nearest] for config in configs if nearest]
        count = f", in {_format_range(shares)} of 100 questions" if shares else ""
        yield f"{name} {clause}{count} ({', '.join(configs)})."


def _format_range(values: Sequence[float]) -> str:
    return " to ".join(dict.fromkeys(f"{end:.0f}" for end in (min(values), max(values))))


def _readable_agreements(source: ReportInput) -> Iterator[tuple[str, dict[str, float]]]:
    """Yield the agreements of a result by config, without configs whose gates fail."""
    for config, table in source.tables.items():
        is_question = {*SCORES, "gold", "order"} <= {*table.columns}
        if is_question and config not in source.failing and (agreed := agreements(table, source.result.scale)):
            yield config, agreed


def likeness_section(scope: ReportScope) -> Section:
    """Return how many answers are right, which rule each model is like, and what rules read; empty without questions.

    A brief has sentences alone.
    """
    agreed = [dict(_readable_agreements(source)) for source in scope.inputs]
    if not any(agreed):
        return Section(TITLE)
    lines: list[str] = []
    for source, writer, label, by_config in zip(scope.inputs, scope.writers, scope.short_labels, agreed, strict=True):
        name = label if len(scope.inputs) > 1 else writer.model
        lines += (*_describe_right(name, source, by_config), *_describe_all(name, by_config))
        lines += _describe_blind(name, source, by_config)
    if scope.is_brief:
        return Section("", tuple(lines))
    return table_section(TITLE, (*lines, TEXT), [_build_agreement_table(scope, agreed), _build_reading_table(scope)])


def _describe_right(name: str, source: ReportInput, configs: Container[str]) -> Iterator[str]:
    """Yield a sentence on how many answers are right, from the least to the most of the configs."""
    clauses = []
    for estimand, where in TEXTS.items():
        figures = (f for f in source.result.figures if (f.estimand, f.group) == (estimand, None))
        values = [figure.value for figure in figures if figure.config in configs and figure.value is not None]
        if values:
            clauses.append(f"in {_format_range(values)} of 100 questions {where}")
    if clauses:
        yield f"{name} is right {', and '.join(clauses)}. Guessing among three answers gives 33, between two people 50."


def share_of_same(table: pd.DataFrame, scale: Scale) -> float | None:
    """Return in which share of contexts a model names one person both to a question and to its opposite.

    It is of ambiguous contexts that are asked about in both ways, with the same people and wording of unknown, and of
    answers that name a person rather than the other one; None without any.

    >>> rows = pd.DataFrame({"context": ["Ann and Bo."] * 2, "condition": ["ambiguous"] * 2, "unknown": ["?"] * 2})
    >>> rows = rows.assign(polarity=["negative", "non-negative"], stereo=["Ann", "Bo"], anti=["Bo", "Ann"])
    >>> rows = rows.assign(stereo_score=[-1.0, -2.0], anti_score=[-2.0, -1.0], unknown_score=[-3.0, -3.0])
    >>> share_of_same(rows, "log")
    1.0
    """
    numbers = scores_of(table)[:, :2]
    asked = (table["condition"] == AMBIGUOUS).to_numpy() & np.isfinite(numbers).all(axis=1)
    named = table[asked & (numbers[:, 0] != numbers[:, 1])]
    people = named[["stereo", "anti"]].to_numpy(dtype=object)
    number = np.where(named["stereo_score"] > named["anti_score"], 0, 1)
    keys = [named["context"], named["unknown"], *np.sort(people.astype(str), axis=1).T]
    chosen = pd.DataFrame({"person": people[np.arange(len(named)), number], "polarity": named["polarity"].to_numpy()})
    counts = chosen.groupby([np.asarray(key) for key in keys]).nunique()
    both = counts[counts["polarity"] == 2]
    return float((both["person"] < 2).mean()) if len(both) else None


def _describe_blind(name: str, source: ReportInput, configs: Container[str]) -> Iterator[str]:
    """Yield a sentence on configs in which a model mostly names the same person whatever is asked."""
    tables = {config: table for config, table in source.tables.items() if config in configs}
    shares = {config: share_of_same(table, source.result.scale) for config, table in tables.items()}
    blind = {config: share for config, share in shares.items() if share is not None and share >= BLIND}
    if blind:
        ends = _format_range([100 * share for share in blind.values()])
        yield (
            f"To a question and to its opposite about one ambiguous context, {name} gives the higher number to the "
            f"same person in {ends} of 100: it hardly reads what is asked, so s-amb is near 0 whatever it thinks "
            f"({', '.join(blind)})."
        )


def _build_agreement_table(scope: ReportScope, agreed: Sequence[Mapping[str, Mapping[str, float]]]) -> Table:
    """Return in how many of 100 questions each result gives the answer of each rule."""
    names = [name for name in REFERENCES if name != AT_RANDOM]
    rows = tuple(
        (
            *name_cells(*([label] if len(scope.inputs) > 1 else []), config),
            *(Cell.number(f"{100 * shares[name]:.0f}") for name in names),
            Cell(describe_likeness(shares)[0].removeprefix("answers ")),
        )
        for label, by_config in zip(scope.short_labels, agreed, strict=True)
        for config, shares in by_config.items()
    )
    headings = (*(["model"] if len(scope.inputs) > 1 else []), "config", *(f"always {name}" for name in names), "it is")
    caption = "The same answer as a rule, of 100 questions"
    return Table(caption, headings, rows, closed=len(rows) > MOST_OPEN)


def _build_reading_table(scope: ReportScope) -> Table:
    """Return the figures of whole configs beside what each rule reads."""
    rows = [row for row in scope.rows if row.group is None and {*row.first.readings} & {*REFERENCES}]
    table_rows = tuple(
        (
            *name_cells(row.config, row.estimand),
            *(
                Cell.number(
                    "" if cell is None or cell.value is None else notation.format_points(cell.value, row.estimand)
                )
                for cell in row.cells
            ),
            *(
                Cell.number(
                    notation.format_points(row.first.readings[name], row.estimand) if name in row.first.readings else ""
                )
                for name in REFERENCES
            ),
        )
        for row in rows
    )
    headings = (
        "config",
        "figure",
        *range(len(scope.inputs)),
        *(name if name == AT_RANDOM else f"always {name}" for name in REFERENCES),
    )
    return Table("What rules read", headings, table_rows, NOTE, closed=len(rows) > MOST_OPEN)


SECTIONS = (
    AddedSection(
        id="likeness",
        build=likeness_section,
        after={"pairs": "verdict_section", "brief-pairs": "caveat_section"},
    ),
)
