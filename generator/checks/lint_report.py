"""The report of `lint`, and its cache, so that a second run checks only what has changed.

The cache is a file beside WordNet. It stores the report of a list or a dataset by a hash of every file that it depends
on, and of sense keys by the keys. It is discarded when our code changes, and ignored where it is damaged or cannot be
written.
"""

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from functools import cache
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path
from typing import Any

from senseprobe.atomic_files import write_whole
from senseprobe.lexicon.install import default_folder
from senseprobe.messages import MAX_LISTED
from senseprobe.records import Edit, Finding

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

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> "Report":
        """Return the report that `as_dict` gave; raise TypeError or KeyError where `data` is something else."""
        lists = {
            "findings": tuple(map(_stored_finding, data["findings"])),
            "accepted": tuple(Accepted(**accepted) for accepted in data["accepted"]),
            "guesses": tuple((guess["asked"], guess["text"], guess["answer"]) for guess in data["guesses"]),
        }
        return cls(**{**data, **lists})


def _stored_finding(data: Mapping[str, Any]) -> Finding:
    fix = data.get("fix")
    return Finding(**{**data, "fix": Edit(**fix) if fix else None})


def join_reports(reports: Iterable[Report]) -> Report:
    """Return the reports as one, in which equal findings are one and counts are added."""
    parts = [*reports]
    not_checked: Counter[str] = Counter()
    for report in parts:
        not_checked.update(report.not_checked)
    findings = {finding for report in parts for finding in report.findings}
    return Report(
        findings=tuple(sorted(findings, key=lambda f: (f.path, f.line, f.column, f.code, f.message))),
        accepted=tuple(dict.fromkeys(accepted for report in parts for accepted in report.accepted)),
        guesses=tuple(sorted({guess for report in parts for guess in report.guesses})),
        not_checked=dict(sorted(not_checked.items())),
        **{name: sum(getattr(report, name) for report in parts) for name in _COUNTS},
    )


MOST_REPORTS = 1_000
"""Reports that are stored; of more, those that were used last."""

_CODE = ("generator", "lexicon", "release")
_LIBRARIES = ("inflect", "license-expression")


def cache_file() -> Path:
    """Return the file, in the folder where WordNet is."""
    return default_folder().expanduser() / "lint.json"


def cache_key(*parts: object) -> str:
    """Return a sha256, in hexadecimal, of what findings depend on: anything that prints as what it is."""
    return hashlib.sha256(json.dumps([str(part) for part in parts]).encode()).hexdigest()


@cache
def _code_hash() -> str:
    """Return a hash of the code and tables whose findings are stored, and of the libraries that it calls."""
    digest = hashlib.sha256("".join(map(version, _LIBRARIES)).encode())
    for room in _CODE:
        paths = Path(str(files("senseprobe"))).joinpath(room).resolve().rglob("*")
        for path in sorted(path for path in paths if path.suffix in (".py", ".toml", ".yaml")):
            digest.update(path.read_bytes())
    return digest.hexdigest()


@dataclass(slots=True)
class ReportCache:
    """Reports by key; `changed` is true where there is anything to write."""

    reports: dict[str, Report] = field(default_factory=dict)
    changed: bool = False

    @classmethod
    def load(cls) -> "ReportCache":
        """Read what earlier runs stored; empty where that cannot be used."""
        try:
            data = json.loads(cache_file().read_bytes())
            if data["code"] != _code_hash():
                return cls()
            reports = {str(key): Report.from_dict(report) for key, report in data["reports"].items()}
        except (OSError, RuntimeError, ValueError, TypeError, KeyError, AttributeError):
            return cls()
        return cls(reports)

    def get(self, key: str, compute: Callable[[], Report]) -> Report:
        """Return the report of this key, computed where it is not stored."""
        if key in self.reports:
            self.reports[key] = self.reports.pop(key)  # what was used last is last
        else:
            self.reports[key], self.changed = compute(), True
        return self.reports[key]

    def save(self) -> None:
        """Write what is new; where that is not possible, the next run checks again."""
        if not self.changed:
            return
        newest = list(self.reports.items())[-MOST_REPORTS:]
        data = {"code": _code_hash(), "reports": {key: report.as_dict() for key, report in newest}}
        with suppress(OSError, RuntimeError):  # no folder to write to, no home folder
            write_whole(cache_file(), json.dumps(data).encode())
