"""What lint remembers from one run to the next, so that a second one asks no checks of what is unchanged.

What was found of a list or a dataset is kept by a hash of every file that it depends on, and what a lexicon says of
sense keys by the keys. All of it is forgotten when our code changes. A cache that is damaged, or cannot be written, is
no cache. It lies beside WordNet.
"""

import hashlib
import json
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path

from senseprobe.files import write_whole
from senseprobe.generator.checks.report import Report
from senseprobe.lexicon.folder import default_folder

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
