"""The report of `lint`: of a list, a dataset or a project, and how several become one."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from senseprobe.messages import MAX_LISTED
from senseprobe.records import Finding

Answer = tuple[str, str, str]
"""A question to English (`a`, `plural` …), the text that it is about, and the guess."""


_COUNTS = ("lists", "configs", "configs_not_checked", "keys_checked", "keys_not_checked")


@dataclass(frozen=True, slots=True)
class Accepted:
    """A warning that is accepted on purpose: where, why, and how many findings it covers."""

    code: str
    path: str
    reason: str
    findings: int


@dataclass(frozen=True, slots=True, repr=False)
class Report:
    """What lint found, in the order of files and lines, and how much it looked at.

    `lists` and `configs` are those that were looked at, also where a mistake of theirs kept them from being checked.
    `configs_not_checked` are those that a mistake elsewhere, in a list or `dataset.yaml`, kept from being looked at.
    `guesses` are the articles, plurals and verb forms that no list states, as (asked, text, answer). `not_checked`: by
    code, on how many lists or configs a check could not run because its lexicon is not there.
    """

    findings: tuple[Finding, ...]
    lists: int
    configs: int
    keys_checked: int
    keys_not_checked: int
    accepted: tuple[Accepted, ...] = ()
    guesses: tuple[Answer, ...] = ()
    not_checked: Mapping[str, int] = field(default_factory=dict)
    configs_not_checked: int = 0

    def __repr__(self) -> str:
        """Return the counts in a line, then the first findings."""
        counts = f"<Report: {len(self.findings)} findings in {self.lists} lists and {self.configs} configs>"
        return "\n".join([counts, *map(str, self.findings[:MAX_LISTED])])

    @property
    def complete(self) -> bool:
        """Return whether everything could be checked."""
        return not self.keys_not_checked and not self.not_checked

    def as_dict(self) -> dict[str, Any]:
        """Return the report with the stable keys of ``--format json``."""
        return {
            "findings": [finding.as_dict() for finding in self.findings],
            "accepted": [asdict(accepted) for accepted in self.accepted],
            "guesses": [dict(zip(("asked", "text", "answer"), guess, strict=True)) for guess in self.guesses],
            **{name: getattr(self, name) for name in _COUNTS},
            "not_checked": dict(self.not_checked),
        }


def join_reports(reports: Iterable[Report]) -> Report:
    """Return the reports as one, in which equal findings are one and counts are added."""
    joined = [*reports]
    not_checked: Counter[str] = Counter()
    for report in joined:
        not_checked.update(report.not_checked)
    findings = {finding for report in joined for finding in report.findings}
    return Report(
        findings=tuple(sorted(findings, key=lambda f: (f.path, f.line, f.column, f.code, f.message))),
        accepted=tuple(dict.fromkeys(accepted for report in joined for accepted in report.accepted)),
        guesses=tuple(sorted({guess for report in joined for guess in report.guesses})),
        not_checked=dict(sorted(not_checked.items())),
        **{name: sum(getattr(report, name) for report in joined) for name in _COUNTS},
    )
