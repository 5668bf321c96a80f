"""What `lint` found, and how much it looked at."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from senseprobe.records import Finding

Answer = tuple[str, str, str]
"""What English was asked (`a`, `plural` …), of which text, and what it guessed."""


@dataclass(frozen=True, slots=True)
class Accepted:
    """A warning that is taken on purpose: where that is said, why, and how many findings it covers."""

    code: str
    path: str
    reason: str
    findings: int


@dataclass(frozen=True, slots=True)
class Report:
    """What lint found: mistakes in the order of files and lines, and how much was looked at.

    `lists` and `configs` are those that were looked at, also where a mistake of theirs kept them from being checked.
    `guesses` are the articles, plurals and verb forms that no list states, as (asked, text, answer). `not_checked`
    counts, by code, the lists or configs on which a check could not run because its lexicon is not there.
    `configs_not_checked` are those that a mistake elsewhere, in a list or `dataset.yaml`, kept from being looked at.
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

    @property
    def complete(self) -> bool:
        """Whether everything could be checked."""
        return not self.keys_not_checked and not self.not_checked

    def as_dict(self) -> dict[str, Any]:
        """The report with the stable keys of ``--format json``."""
        return {
            "findings": [finding.as_dict() for finding in self.findings],
            "accepted": [asdict(accepted) for accepted in self.accepted],
            "guesses": [dict(zip(("asked", "text", "answer"), guess, strict=True)) for guess in self.guesses],
            "lists": self.lists,
            "configs": self.configs,
            "configs_not_checked": self.configs_not_checked,
            "keys_checked": self.keys_checked,
            "keys_not_checked": self.keys_not_checked,
            "not_checked": dict(self.not_checked),
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> "Report":
        """The report as `as_dict` gave it; TypeError or KeyError where it is none."""
        lists = {
            "findings": tuple(Finding(**finding) for finding in data["findings"]),
            "accepted": tuple(Accepted(**accepted) for accepted in data["accepted"]),
            "guesses": tuple((guess["asked"], guess["text"], guess["answer"]) for guess in data["guesses"]),
        }
        return cls(**{**data, **lists})


def joined(reports: Iterable[Report]) -> Report:
    """The reports as one: what several of them say is said once, and counts are added."""
    all_ = list(reports)
    not_checked: Counter[str] = Counter()
    for report in all_:
        not_checked.update(report.not_checked)
    found = {finding for report in all_ for finding in report.findings}
    return Report(
        findings=tuple(sorted(found, key=lambda f: (f.path, f.line, f.column, f.code, f.message))),
        lists=sum(report.lists for report in all_),
        configs=sum(report.configs for report in all_),
        configs_not_checked=sum(report.configs_not_checked for report in all_),
        keys_checked=sum(report.keys_checked for report in all_),
        keys_not_checked=sum(report.keys_not_checked for report in all_),
        accepted=tuple(dict.fromkeys(accepted for report in all_ for accepted in report.accepted)),
        guesses=tuple(sorted({guess for report in all_ for guess in report.guesses})),
        not_checked=dict(sorted(not_checked.items())),
    )
