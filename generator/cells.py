"""Where a cell of a word list stands in its line: the column that messages name."""

from dataclasses import dataclass, field

from senseprobe.generator import yamlfile
from senseprobe.generator.wordlists import Word, WordList, cell_column


@dataclass(slots=True)
class Cells:
    """The cells of a list in its file, which is read when a place is first asked for."""

    words: WordList
    _lines: list[str] = field(default_factory=list)

    def column(self, word: Word, name: str) -> int:
        """The column, from 1, at which the cell `name` of a word's row begins."""
        self._lines = self._lines or yamlfile.read_text(self.words.path, self.words.shown).split("\n")
        return cell_column(self._lines[word.line - 1], list(self.words.columns).index(name))
