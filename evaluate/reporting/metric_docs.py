"""The documentation of scorers and estimands, from what they declare: a list, single entries, `docs/metrics.md`."""

from collections.abc import Iterator, Mapping
from dataclasses import asdict
from typing import Any

import numpy as np

from senseprobe.document import Section, Table
from senseprobe.errors import ResultError
from senseprobe.evaluate.estimands import CATALOGUE, Estimand
from senseprobe.evaluate.measures import Measure, list_measures
from senseprobe.evaluate.scorers import SCORERS, Scorer
from senseprobe.messages import as_sentence, meant

_HEAD = """\
# Metrics

These are the numbers that `senseprobe score` computes. A **scorer** turns a sentence or a pair into one or more
numbers. An **estimand** turns the numbers of all rows into one figure, with an interval
([uncertainty](uncertainty.md)). `senseprobe explain --markdown` makes this page from the declarations in the code.

If a paper's definition and its released code differ, the paper's definition is the default. The code's version is a
variant with its own name.
"""

_ABILITIES = {
    "masked": "Scorers of masked language models",
    "causal": "Scorers of causal language models",
    "chat": "Scorers of chat models",
    "inference": "Scorers of NLI models",
    "vectors": "Scorers of vectors, from files, encoders and language models",
}
_KINDS = {
    "contrast": "Estimands over pairs of sentences",
    "inference": "Estimands over premises and hypotheses",
    "association": "Estimands over the words of association tests",
}


def describe_metrics() -> dict[str, list[dict[str, Any]]]:
    """Return all scorers, estimands and other measures, with the stable keys of ``--json``."""
    return {
        "scorers": [_describe_scorer(scorer) for scorer in SCORERS.values()],
        "estimands": [_describe_estimand(estimand) for estimand in CATALOGUE.values()],
        "measures": [_describe_measure(measure) for measure in list_measures()],
    }


def _describe_scorer(scorer: Scorer) -> dict[str, Any]:
    names = ("id", "title", "ability", "reads", "columns", "direction", "measure", "paper", "equation", "origin")
    ends = [end if np.isfinite(end) else None for end in scorer.range]  # JSON has no infinity
    facts = {"range": ends, "says": scorer.description, "cannot_say": scorer.cannot_say}
    return {name: getattr(scorer, name) for name in names} | facts


def _describe_estimand(estimand: Estimand) -> dict[str, Any]:
    names = ("id", "title", "direction", "source", "says", "cannot_say", "kind", "definition", "origin")
    facts = {"range": [estimand.low, estimand.high], "measure": estimand.measure}
    return {name: getattr(estimand, name) for name in names} | facts


def _describe_measure(measure: Measure) -> dict[str, Any]:
    ends = [end if np.isfinite(end) else None for end in measure.range]
    return {**asdict(measure), "range": ends, "origin": ""}


def find_metrics(name: str) -> list[dict[str, Any]]:
    """Return the scorers, estimands and measures with the id `name`. Without any, raise ResultError with near names."""
    metrics = [metric for group in describe_metrics().values() for metric in group]
    if not (matches := [metric for metric in metrics if metric["id"] == name]):
        names = [metric["id"] for metric in metrics]
        raise ResultError(f"no metric {name!r}: {meant(name, names) or '`senseprobe explain` lists all'}")
    return matches


def build_page() -> str:
    """Return `docs/metrics.md`."""
    metrics, parts = describe_metrics(), [_HEAD]
    names = [scorer["ability"] for scorer in metrics["scorers"]]
    abilities = {ability: f"Scorers of models with the ability {ability}" for ability in names}
    for group, key, headings in (("scorers", "ability", abilities | _ABILITIES), ("estimands", "kind", _KINDS)):
        for value, heading in headings.items():
            parts.append(f"## {heading}\n")
            parts += [format_metric(metric) for metric in metrics[group] if metric[key] == value]
    if metrics["measures"]:
        parts.append("## Measures of word graphs, sentences and corpora\n")
        parts += [format_metric(metric) for metric in metrics["measures"]]
    return "\n".join(parts)


def format_metric(metric: Mapping[str, Any]) -> str:
    """Return the entry of a scorer, an estimand or a measure in Markdown."""
    lines = [
        f"### {metric['id']}\n",
        f"{as_sentence(metric['title'])} {metric['says']}\n",
        f"- Range: {format_range(metric)}.",
        f"- {as_sentence(metric['direction'])}",
    ]
    lines += [f"- What it cannot show: {metric['cannot_say']}"] if metric["cannot_say"] else []
    lines.append(f"- Source: {metric.get('paper') or metric['source']}.")
    lines += [f"- Equation: {metric['equation']}."] if "equation" in metric else []
    lines += [f"- Command: `{metric['command']}`."] if "command" in metric else []
    lines += [f"- Plug-in: {metric['origin']}."] if metric["origin"] else []
    return "\n".join(lines) + "\n"


def format_range(metric: Mapping[str, Any]) -> str:
    """Return the range of a metric's numbers with their unit: ``-∞ to 0, in nats``."""
    low, high = metric["range"]
    return f"{'-∞' if low is None else f'{low:g}'} to {'∞' if high is None else f'{high:g}'}, in {metric['measure']}"


def metric_sections() -> Iterator[Section]:
    """Yield a table of all scorers, and one of all estimands."""
    metrics = describe_metrics()
    for part, key, columns in (
        ("scorers", "ability", ("scorer", "model", "range", "meaning")),
        ("estimands", "kind", ("figure", "rows", "range", "meaning")),
    ):
        rows = ([entry["id"], entry[key], format_range(entry), entry["title"]] for entry in metrics[part])
        yield Section("", tables=(Table.of_texts(dict.fromkeys(columns, "words"), rows, part),))
    yield Section("", ("`senseprobe explain NAME` explains one of them, and says what it cannot show",))
