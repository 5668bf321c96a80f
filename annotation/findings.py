"""Findings in answers that came from elsewhere: each kind counted, with its first examples."""

from collections.abc import Iterator
from dataclasses import dataclass, field

from senseprobe.messages import MAX_LISTED, listed, printable, shortened

KINDS = {
    "task": "entries that are not tasks, left out",
    "unnamed": "tasks without a row id (`ext_id`), of another project, left out",
    "unknown": "tasks of rows that this project does not ask about, left out",
    "changed": "tasks of rows that read otherwise than planned, left out",
    "annotation": "entries that are not annotations, left out",
    "nobody": "annotations that do not say whose they are, left out",
    "repeated": "annotations with the id of another one, left out",
    "duplicate": "annotations of a row by somebody who has a later one of it, left out",
    "empty": "annotations without any answer, left out",
    "control": "answers to what the interface does not ask, left out",
    "unasked": "answers to a question that was not asked of the row, left out",
    "label": "answers that the interface does not offer, left out",
    "several": "several answers where one was asked for, left out",
    "malformed": "values of a wrong kind, left out",
    "cut": "answers longer than 10,000 characters, cut",
    "consent": "groups without consent, left out",
    "groups": "groups behind the first 20 of an annotation, or longer than 100 characters, left out",
    "unfinished": "annotations that leave out a question which must be answered, kept",
    "draft": "drafts, which were not submitted, left out",
}
"""The kinds of findings, in the order of messages."""


@dataclass(frozen=True, kw_only=True, slots=True)
class AnswerFinding:
    """A kind of KINDS, how often it occurred, and the first examples, safe to print."""

    kind: str
    count: int
    examples: tuple[str, ...]

    def __str__(self) -> str:
        named = f" ({listed(self.examples, self.count)})" if self.examples else ""
        return f"{KINDS[self.kind]}: {self.count:,}{named}"


@dataclass(slots=True)
class FindingCollector:
    """Collects findings; however many there are, only the first examples of each kind are stored.

    >>> findings = FindingCollector()
    >>> findings.note("label", "sense: maybe")
    >>> print(*findings)
    answers that the interface does not offer, left out: 1 (sense: maybe)
    """

    _counts: dict[str, int] = field(default_factory=dict)
    _examples: dict[str, list[str]] = field(default_factory=dict)

    def note(self, kind: str, example: str = "", count: int = 1) -> None:
        """Count a finding of a kind; an empty example is not stored."""
        self._counts[kind] = self._counts.get(kind, 0) + count
        named = self._examples.setdefault(kind, [])
        text = printable(shortened(example))
        if text and len(named) < MAX_LISTED and text not in named:
            named.append(text)

    def count(self, kind: str) -> int:
        """Return how often a kind occurred."""
        return self._counts.get(kind, 0)

    def __iter__(self) -> Iterator[AnswerFinding]:
        for kind in KINDS:
            if self.count(kind):
                yield AnswerFinding(kind=kind, count=self._counts[kind], examples=tuple(self._examples[kind]))
