"""The errors that senseprobe raises, as a tree.

::

    SenseprobeError            everything that senseprobe raises on purpose; exit code 2
    ├── FindingsError          carries findings; exit code 1
    │   ├── DeclarationError   templates or word lists cannot be used
    │   └── DamagedRelease     a release is not what its manifest says; also a ReleaseError
    ├── LexiconError           the lexicon (WordNet) is missing or unreadable
    ├── ReleaseError           a release is missing, exists already, or cannot be written
    ├── ModelError             a model cannot be loaded, or lacks the ability that a scorer needs
    ├── ResultError            a result cannot be read or written
    └── AnnotationError        a survey cannot be made as requested, or its answers cannot be read

A message is one clause: the error, its location, and what to do.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from senseprobe.records import Finding


class SenseprobeError(Exception):
    """Any error that senseprobe raises on purpose."""

    exit_code = 2


class FindingsError(SenseprobeError):
    """A check failed; `findings` lists every mistake with its location."""

    exit_code = 1

    def __init__(self, findings: Sequence["Finding"]) -> None:
        self.findings = tuple(findings)
        super().__init__("\n".join(str(finding) for finding in self.findings))


class DeclarationError(FindingsError):
    """Templates or word lists that cannot be used."""


class LexiconError(SenseprobeError):
    """The lexicon is not installed, or its files cannot be read."""


class ReleaseError(SenseprobeError):
    """A release that is missing, exists already, or cannot be written."""


class DamagedRelease(FindingsError, ReleaseError):
    """A release whose files are not what its manifest says."""


class ModelError(SenseprobeError):
    """A model that cannot be loaded, or that lacks an ability."""


class ResultError(SenseprobeError):
    """A result that cannot be read or written."""


class AnnotationError(SenseprobeError):
    """A survey cannot be made as requested, or its answers cannot be read."""
