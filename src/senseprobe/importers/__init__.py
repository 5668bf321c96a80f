"""Import published benchmarks: their formats, by the name that the command line and a release's manifest give them.

A format is an `ImportFormat`, called `FORMAT` in a module that is named as the format, without hyphens. The module is
imported when the format is first used: the help of the command line lists the formats, and has to be fast.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING

from senseprobe.errors import SenseprobeError

if TYPE_CHECKING:
    from senseprobe.importers.sources import Notes, Source, Table

__all__ = ["FORMATS", "TABLES", "ImportFormat", "find_format"]

FORMATS = ("sssb", "crows-pairs", "stereoset", "seat", "winobias", "winogender")
"""The names of the published formats, in the order in which users see them."""

TABLES = ("csv", "jsonl", "parquet")
"""The forms of a user's own table, whose columns have to be mapped (`mapped.ColumnMap`)."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ImportFormat:
    """A published format.

    - `name`: the name on the command line and in manifests; `title`: the name on the card.
    - `files`: what its files are, in words.
    - `paper`: the key of the paper that published the data, which the release cites: its BibTeX is `papers/KEY.bib`,
      or for a user's own table what the user gives; empty where nothing is to be cited.
    - `measured`: what figures of its data measure, for the card, and how they differ from those of the paper.
    - `read`: returns a table for each config, and notes what is not as the format requires. Raises ReleaseError where
      the files are of another format.
    """

    name: str
    title: str
    files: str
    paper: str
    measured: str
    read: "Callable[[Sequence[Source], Notes], list[Table]]"


def find_format(name: str) -> ImportFormat:
    """Return the format of a name; raise SenseprobeError, which lists the formats, where there is none."""
    if name not in FORMATS:
        raise SenseprobeError(f"no format {name!r}: there is {', '.join((*FORMATS, *TABLES))}")
    format_: ImportFormat = import_module(f"{__name__}.{name.replace('-', '')}").FORMAT
    return format_
