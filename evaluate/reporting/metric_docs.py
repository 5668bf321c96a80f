"""The documentation of scorers, estimands and measures, from what they declare: lists, entries, `docs/metrics.md`."""

from collections.abc import Iterator, Mapping
from math import isfinite
from typing import Any

from senseprobe.document import Section, Table
from senseprobe.errors import ResultError
from senseprobe.evaluate.declaration import MEASURES, Declaration, Measure
from senseprobe.evaluate.estimands import CATALOGUE, Estimand
from senseprobe.evaluate.scorers import SCORERS, Scorer
from senseprobe.evaluate.units import KINDS
from senseprobe.messages import as_sentence, meant

_HEAD = """\
# Metrics

These are the numbers that `senseprobe score` computes. A **scorer** turns a sentence or a pair into one or more
numbers. An **estimand** turns the numbers of all rows into one figure, with an interval
([uncertainty](uncertainty.md)). `senseprobe explain --markdown` makes this page from the declarations in the code.

If a paper's definition and its released code differ, the paper's definition is the default. The code's version is a
variant with its own name.
"""

_GROUPS: Mapping[str, tuple[str, Mapping[str, str]]] = {
    "scorers": (
        "ability",
        {
            "masked": "Scorers of masked language models",
            "causal": "Scorers of causal language models",
            "chat": "Scorers of chat models",
            "inference": "Scorers of NLI models",
            "vectors": "Scorers of vectors, from files, encoders and language models",
        },
    ),
    "estimands": ("kind", {}),
    "measures": ("", {"": "Measures of word graphs, sentences and corpora"}),
}
"""The groups of declarations, each with the field by which it is divided, and headings of its values that have one."""

_KEYS: Mapping[type[Declaration], str] = {
    Scorer: "id title ability reads columns direction measure paper equation origin range says cannot_say",
    Estimand: "id title direction source says cannot_say kind definition origin range measure",
    Measure: "id title command range measure direction paper equation says cannot_say origin",
}
"""The stable keys of ``--json``."""

_FIELDS = {"measure": "unit", "paper": "source", "definition": "version"}
"""The fields of keys that have another name, since they are older."""


def list_declarations() -> dict[str, list[Declaration]]:
    """Return all scorers, estimands and other measures, in order of print."""
    return {"scorers": [*SCORERS.values()], "estimands": [*CATALOGUE.values()], "measures": [*MEASURES.values()]}


def describe_metrics() -> dict[str, list[dict[str, Any]]]:
    """Return all scorers, estimands and other measures, with the stable keys of ``--json``."""
    return {group: [*map(describe_metric, declared)] for group, declared in list_declarations().items()}


def describe_metric(declared: Declaration) -> dict[str, Any]:
    """Return a declaration with the stable keys of ``--json``.

    >>> from senseprobe.evaluate.estimands import lookup
    >>> metric = describe_metric(lookup("preference"))
    >>> metric["range"], metric["measure"], metric["source"]
    ([-50, 50], 'points', 'Zhou, Kaneko & Bollegala 2022, equation 6')
    """
    keys = next(keys for kind, keys in _KEYS.items() if isinstance(declared, kind))
    values = {key: getattr(declared, _FIELDS.get(key, key)) for key in keys.split()}
    return {**values, "range": [end if isfinite(end) else None for end in declared.range]}  # JSON has no infinity


def find_metrics(name: str) -> list[Declaration]:
    """Return the scorers, estimands and measures with the id `name`. Without any, raise ResultError with near names."""
    metrics = [metric for group in list_declarations().values() for metric in group]
    if not (matches := [metric for metric in metrics if metric.id == name]):
        names = [metric.id for metric in metrics]
        raise ResultError(f"no metric {name!r}: {meant(name, names) or '`senseprobe explain` lists all'}")
    return matches


def build_page() -> str:
    """Return `docs/metrics.md`."""
    entries = [_HEAD]
    for group, metrics in list_declarations().items():
        field, headings = _GROUPS[group]
        values = [getattr(metric, field, "") for metric in metrics]
        for value in dict.fromkeys([*headings, *values]):
            described = [format_metric(metric) for metric, its in zip(metrics, values, strict=True) if its == value]
            heading = headings.get(value, f"{group.capitalize()} of models with the {field} {value}")
            if group == "estimands":
                heading = f"Estimands over {KINDS[value].heading or KINDS[value].nouns}"
            entries += [f"## {heading}\n", *described] if described else []
    return "\n".join(entries)


def format_metric(metric: Declaration) -> str:
    """Return the entry of a scorer, an estimand or a measure in Markdown."""
    lines = [
        f"### {metric.id}\n",
        f"{as_sentence(metric.title)} {metric.says}\n",
        f"- Range: {format_range(metric)}.",
        f"- {as_sentence(metric.direction)}",
    ]
    command = metric.command if isinstance(metric, Measure) else ""
    lines += [f"- What it cannot show: {metric.cannot_say}"] if metric.cannot_say else []
    lines.append(f"- Source: {metric.source}.")
    lines += [f"- Equation: {metric.equation}."] if metric.equation else []
    lines += [f"- Command: `{command}`."] if command else []
    lines += [f"- Plug-in: {metric.origin}."] if metric.origin else []
    return "\n".join(lines) + "\n"


def format_range(metric: Declaration) -> str:
    """Return the range of a metric's numbers with their unit.

    >>> from senseprobe.evaluate.scorers import get
    >>> format_range(get("aul"))
    '-∞ to 0, in nats per token'
    """
    low, high = (f"{end:g}".replace("inf", "∞") for end in metric.range)
    return f"{low} to {high}, in {metric.unit}"


def metric_sections() -> Iterator[Section]:
    """Yield a table of all scorers, and one of all estimands."""
    metrics = list_declarations()
    for group, columns in (
        ("scorers", ("scorer", "model", "range", "meaning")),
        ("estimands", ("figure", "rows", "range", "meaning")),
    ):
        field, _ = _GROUPS[group]
        rows = ([entry.id, getattr(entry, field), format_range(entry), entry.title] for entry in metrics[group])
        yield Section("", tables=(Table.of_texts(dict.fromkeys(columns, "words"), rows, group),))
    yield Section("", ("`senseprobe explain NAME` explains one of them, and says what it cannot show",))
