"""What `lint` found, and how much it looked at.

What lint remembers from one run to the next, so that a second one asks no checks of what is unchanged.

What was found of a list or a dataset is kept by a hash of every file that it depends on, and what a lexicon says of
sense keys by the keys. All of it is forgotten when our code changes. A cache that is damaged, or cannot be written, is
no cache. It lies beside WordNet.
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


MOST_KEPT = 1_000
"""Reports that are kept; of more, those that were used last."""

_CODE = ("generator", "lexicon", "release")
_LIBRARIES = ("inflect", "license-expression")


def cache_file() -> Path:
    """The file, in the folder where WordNet lies."""
    return default_folder().expanduser() / "lint.json"


def key_of(*parts: object) -> str:
    """A sha256, in hexadecimal, of what findings depend on: anything that prints as what it is."""
    return hashlib.sha256(json.dumps([str(part) for part in parts]).encode()).hexdigest()


@cache
def _code() -> str:
    """A hash of the code whose findings are kept, and of the libraries that it asks."""
    digest = hashlib.sha256("".join(map(version, _LIBRARIES)).encode())
    for room in _CODE:
        for path in sorted(Path(str(files("senseprobe"))).joinpath(room).resolve().rglob("*.py")):
            digest.update(path.read_bytes())
    return digest.hexdigest()


@dataclass(slots=True)
class Memory:
    """Reports by key; `changed` says whether there is anything to write."""

    reports: dict[str, Report] = field(default_factory=dict)
    changed: bool = False

    @classmethod
    def load(cls) -> "Memory":
        """What earlier runs left; empty where that cannot be used."""
        try:
            data = json.loads(cache_file().read_bytes())
            if data["code"] != _code():
                return cls()
            reports = {str(key): Report.from_dict(report) for key, report in data["reports"].items()}
        except (OSError, RuntimeError, ValueError, TypeError, KeyError, AttributeError):
            return cls()
        return cls(reports)

    def recall(self, key: str, look: Callable[[], Report]) -> Report:
        """The report of this key, made now unless it was made before."""
        if key in self.reports:
            self.reports[key] = self.reports.pop(key)  # what was used last is last
        else:
            self.reports[key], self.changed = look(), True
        return self.reports[key]

    def save(self) -> None:
        """Write what is new; where that is not possible, the next run finds it again."""
        if not self.changed:
            return
        kept = list(self.reports.items())[-MOST_KEPT:]
        data = {"code": _code(), "reports": {key: report.as_dict() for key, report in kept}}
        with suppress(OSError, RuntimeError):  # no place to write, no home folder
            write_whole(cache_file(), json.dumps(data).encode())
