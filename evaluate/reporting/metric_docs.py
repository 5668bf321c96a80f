"""What scorers and estimands declare of themselves: a list, each at length, and `docs/metrics.md`."""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from senseprobe.errors import ResultError
from senseprobe.evaluate.estimands import CATALOGUE, Estimand
from senseprobe.evaluate.scorers import SCORERS, Scorer
from senseprobe.messages import meant

_HEAD = """\
# Metrics

What `senseprobe score` computes. A **scorer** turns a model and a sentence (or a pair) into a number or a few; an
**estimand** turns the numbers of all rows into a figure, with an interval ([uncertainty](uncertainty.md)). This page is
made by `senseprobe metrics --markdown` from what they declare of themselves.

Where a paper defines a number and its released code computes another, the paper's is the default, and what the code
does is a variant with a name of its own.
"""

_ABILITIES = {
    "masked": "Scorers of masked language models",
    "causal": "Scorers of causal language models",
    "inference": "Scorers of models of inference",
}
_KINDS = {"contrast": "Estimands over pairs of sentences", "inference": "Estimands over premises and hypotheses"}


def declared() -> dict[str, list[dict[str, Any]]]:
    """All scorers and estimands, with stable keys, as ``--json`` has them."""
    return {
        "scorers": [_scorer(scorer) for scorer in SCORERS.values()],
        "estimands": [_estimand(estimand) for estimand in CATALOGUE.values()],
    }


def _scorer(scorer: Scorer) -> dict[str, Any]:
    names = ("id", "title", "ability", "reads", "columns", "direction", "measure", "paper", "equation", "origin")
    told = {name: getattr(scorer, name) for name in names}
    ends = [end if np.isfinite(end) else None for end in scorer.range]  # JSON has no infinity
    return {**told, "range": ends, "says": scorer.description, "cannot_say": scorer.cannot_say}


def _estimand(estimand: Estimand) -> dict[str, Any]:
    names = ("id", "title", "direction", "source", "says", "cannot_say", "kind", "definition", "origin")
    texts = {name: getattr(estimand, name) for name in names}
    return {**texts, "range": [estimand.low, estimand.high], "measure": "points"}


def find(name: str) -> list[dict[str, Any]]:
    """What has the id `name`, a scorer or an estimand. ResultError, with what it may have meant, where nothing has."""
    found = [each for held in declared().values() for each in held if each["id"] == name]
    if not found:
        known = [each["id"] for held in declared().values() for each in held]
        raise ResultError(f"no metric {name!r}: {meant(name, known) or '`senseprobe metrics` lists all'}")
    return found


def page() -> str:
    """The page, in Markdown."""
    return "\n".join([_HEAD, *_sections()])


def _sections() -> Iterator[str]:
    held = declared()
    abilities = {each["ability"]: f"Scorers of models with the ability {each['ability']}" for each in held["scorers"]}
    for ability, heading in {**abilities, **_ABILITIES}.items():
        yield f"## {heading}\n"
        yield from (entry(each) for each in held["scorers"] if each["ability"] == ability)
    for kind, heading in _KINDS.items():
        yield f"## {heading}\n"
        yield from (entry(each) for each in held["estimands"] if each["kind"] == kind)


def entry(told: Mapping[str, Any]) -> str:
    """A scorer or an estimand at length, in Markdown."""
    lines = [f"### {told['id']}\n", f"{_sentence(told['title'])} {told['says']}\n", f"- Range: {shown_range(told)}."]
    lines += [f"- {_sentence(told['direction'])}", f"- From: {told.get('paper') or told['source']}."]
    lines += [f"- Equation: {told['equation']}."] if "equation" in told else []
    lines += [f"- A plug-in: {told['origin']}."] if told["origin"] else []
    lines += [f"- Cannot say: {told['cannot_say']}"] if told["cannot_say"] else []
    return "\n".join(lines) + "\n"


def shown_range(told: Mapping[str, Any]) -> str:
    """The range of a scorer's numbers, or of a figure, with what they are counted in."""
    low, high = (("-∞", "∞")[place] if end is None else f"{end:g}" for place, end in enumerate(told["range"]))
    return f"{low} to {high}, in {told['measure']}"


def _sentence(text: str) -> str:
    """The text as a sentence: a capital, and a full stop unless it ends in one of its own."""
    return f"{text[:1].upper()}{text[1:]}" + ("" if text.endswith((".", "?")) else ".")
