"""Where a cell of a word list stands in its line: the column that messages name."""

from collections.abc import Iterator
from dataclasses import dataclass, field

from senseprobe.generator import yamlfile
from senseprobe.generator.wordlists import Word, WordList

__all__ = ["Cells"]


@dataclass(slots=True)
class Cells:
    """The cells of a list in its file, which is read when a place is first asked for."""

    words: WordList
    _lines: list[str] = field(default_factory=list)

    def column(self, word: Word, name: str) -> int:
        """The column, from 1, at which the cell `name` of a word's row begins."""
        self._lines = self._lines or yamlfile.read_text(self.words.path, self.words.shown).split("\n")
        starts = list(_starts(self._lines[word.line - 1]))
        number = list(self.words.columns).index(name)
        # A cell with a line break, which no list may have, is the only way to have fewer.
        return starts[number] + 1 if number < len(starts) else 1


def _starts(line: str) -> Iterator[int]:
    """Where cells begin: behind commas that no quotation marks hold; a doubled mark opens again what it closed."""
    quoted = False
    yield 0
    for place, character in enumerate(line, 1):
        quoted ^= character == '"'
        if character == "," and not quoted:
            yield place
