"""Import published benchmarks: their formats, by the name that the command line and a release's manifest give them.

A format is an `ImportFormat`, called `FORMAT` in a module that is named as the format, without hyphens; formats that
are read alike are in one module, by name in its `FORMATS`. The module is imported when the format is first used: the
help of the command line lists the formats, and has to be fast.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING

from senseprobe.errors import SenseprobeError

if TYPE_CHECKING:
    from senseprobe.importers.sources import Notes, Source, Table

__all__ = ["FORMATS", "TABLES", "ImportFormat", "find_format"]

FORMATS = (
    "sssb",
    "crows-pairs",
    "french-crows-pairs",
    "multilingual-crows-pairs",
    "winoqueer",
    "stereoset",
    "seat",
    "winobias",
    "winogender",
)
"""The names of the published formats, in the order in which users see them."""

TABLES = ("csv", "jsonl", "parquet")
"""The forms of a user's own table, whose columns have to be mapped (`column_map.ColumnMap`)."""

_MODULES = dict.fromkeys(("french-crows-pairs", "multilingual-crows-pairs", "winoqueer"), "crowspairs")
"""The modules with several formats, which are in its `FORMATS` by name, by format."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ImportFormat:
    """A published format.

    - `name`: the name on the command line and in manifests; `title`: the name on the card.
    - `files`: what its files are, in words.
    - `paper`: the key of the paper that published the data, which the release cites: its BibTeX is `papers/KEY.bib`,
      or for a user's own table what the user gives; empty where nothing is to be cited.
    - `measured`: what figures of its data measure, for the card, and how they differ from those of the paper.
    - `language`: that of its files where the user names none; empty: the user has to.
    - `english_only`: whether it is read by what English alone has, as its pronouns are.
    - `read`: returns a table for each config, and notes what is not as the format requires. Raises ReleaseError where
      the files are of another format.
    """

    name: str
    title: str
    files: str
    paper: str
    measured: str
    read: "Callable[[Sequence[Source], Notes], list[Table]]"
    language: str = "en"
    english_only: bool = False


def find_format(name: str) -> ImportFormat:
    """Return the format of a name; raise SenseprobeError, which lists the formats, where there is none."""
    if name not in FORMATS:
        raise SenseprobeError(f"no format {name!r}: there is {', '.join((*FORMATS, *TABLES))}")
    module = import_module(f"{__name__}.{_MODULES.get(name, name.replace('-', ''))}")
    format_: ImportFormat = module.FORMATS[name] if name in _MODULES else module.FORMAT
    return format_
