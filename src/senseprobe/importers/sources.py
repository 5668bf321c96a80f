"""The files of an import, read within limits, and the tables that a format makes of them, one for each config."""

import hashlib
import os
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from senseprobe.errors import ReleaseError
from senseprobe.messages import printable
from senseprobe.records import Design
from senseprobe.release.verify import FOREIGN
from senseprobe.tables import UnreadableError, decode

MAX_FILE = 32 * 2**20
MAX_FILES = 200
MAX_LINES = 500_000

Row = dict[str, Any]
"""Values by column. `item` is not a column: it is how notes name a row of a file that may have a single line."""

SPACES = re.compile("[\xa0\u1680\u2000-\u200a\u202f\u205f\u3000]")
"""Unicode's spaces but the plain one: those that do not break, and thin and wide ones."""

_NAME = re.compile(r"[^\x00-\x1f\x7f/\\:]{1,150}")
_ID = re.compile(r"[a-z0-9][a-z0-9_+-]{0,59}")


@dataclass(frozen=True)
class Source:
    """A file under the name that it has in the release, and the language of its sentences.

    `spaces` are the lines of the other spaces for which its rows have plain ones, as far as it was read.
    """

    name: str
    data: bytes
    language: str = "en"
    spaces: list[int] = field(default_factory=list, compare=False)

    @cached_property
    def text(self) -> str:
        """The text, with plain spaces; ReleaseError where it is not UTF-8."""
        try:
            lines = enumerate(decode(self.data).split("\n"), start=1)
        except UnreadableError as error:
            message = f"{self.name}:{error.line}: is not UTF-8; save it as UTF-8 and import it again"
            raise ReleaseError(message) from None
        return "\n".join(self.with_plain_spaces(text, line) for line, text in lines)

    def with_plain_spaces(self, text: str, line: int) -> str:
        """Return a text of a line with plain spaces for Unicode's others, which are noted."""
        plain, number = SPACES.subn(" ", text)
        self.spaces.extend([line] * number)
        return plain

    @cached_property
    def lines(self) -> list[str]:
        """The lines, without their ends."""
        return [line.removesuffix("\r") for line in self.text.split("\n")]

    @property
    def stem(self) -> str:
        """The name up to the first dot."""
        return self.name.lstrip(".").partition(".")[0]


def read_sources(paths: Sequence[Path], language: str = "en") -> list[Source]:
    """Return the files, sorted by name, so that the order of `paths` does not matter.

    Raise ReleaseError where a file cannot be read or is too large, or two have the same name.
    """
    if len(paths) > MAX_FILES:
        raise ReleaseError(f"{len(paths)} files; the limit is {MAX_FILES}")
    for name in (path.name for path in paths):
        if not _NAME.fullmatch(name) or not name.isprintable() or name in {".", ".."} or len(os.fsencode(name)) > 200:
            raise ReleaseError(f"{printable(name)[:200]}: a file in a release cannot have this name: rename the file")
        if name in FOREIGN:
            raise ReleaseError(f"{name}: other tools use this name, so a release cannot: rename the file")
    sources = [Source(path.name, _read(path), language) for path in paths]
    names = Counter(source.name.casefold() for source in sources)
    if twice := [source.name for source in sources if names[source.name.casefold()] > 1]:
        raise ReleaseError(f"two files are named {twice[0]}: rename one of them")
    return sorted(sources, key=lambda source: source.name.casefold())


def _read(path: Path) -> bytes:
    path_text = printable(str(path))
    try:
        if not path.is_file():
            raise ReleaseError(f"{path_text}: {'is not a plain file' if path.exists() else 'no such file'}")
        with path.open("rb") as file:
            data = file.read(MAX_FILE + 1)
    except (OSError, ValueError) as error:
        raise ReleaseError(f"{path_text}: cannot be read ({getattr(error, 'strerror', None) or error})") from None
    if len(data) > MAX_FILE:
        raise ReleaseError(f"{path_text}: is larger than {MAX_FILE >> 20} MiB, too large for this format")
    if data.count(b"\n") > MAX_LINES:
        raise ReleaseError(f"{path_text}: has more than {MAX_LINES} lines, too many for this format")
    return data


@dataclass(frozen=True, slots=True)
class Table:
    """A config of the release: its rows, which are `unit`s, in order, and the design by which they are evaluated."""

    name: str
    description: str
    design: Design
    rows: Sequence[Row]
    unit: str = "pairs"

    def levels(self) -> dict[str, int]:
        """Count the levels of each factor."""
        return {
            factor.name: len({row[column] for row in self.rows for column in factor.columns if row.get(column)})
            for factor in self.design.factors
        }


# --- Texts ----------------------------------------------------------------------------------------------------------


def excerpt(text: str) -> str:
    r"""Return the beginning of a text from a file, made safe to print.

    >>> excerpt("a\tb"), len(excerpt("a" * 1_000))
    ("'a\\tb'", 60)
    """
    return printable(text[:60])


def slug(text: str, otherwise: str) -> str:
    """Return a name made from a text: letters a to z, digits, and single hyphens; `otherwise` where nothing remains.

    >>> slug("Race / Colour", "x"), slug("?", "x")
    ('race-colour', 'x')
    """
    return re.sub(r"[^a-z0-9]+", "-", text[:200].lower()).strip("-")[:60].strip("-") or otherwise


def id_part(text: str) -> str:
    """Return the part of an id that stands for a text, different for different texts.

    It is the text itself, or its slug and a hash where it has characters besides a to z, digits and ``_+-``.

    >>> id_part("head-nurse"), id_part("head nurse")
    ('head-nurse', 'head-nurse-ee9790')
    """
    if _ID.fullmatch(text):
        return text
    return f"{slug(text, 'x')}-{hashlib.sha256(text.encode('utf-8', 'replace')).hexdigest()[:6]}"


def sentences_id(*sentences: str) -> str:
    """Return ten digits that name a row without an id of its own: one that moved in the file keeps them."""
    return hashlib.sha256("\0".join(sentences).encode()).hexdigest()[:10]
