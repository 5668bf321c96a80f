"""What directions are removed from: files of vectors, and models of transformers, whose rows are read in one way.

`open_parent(spec)` -> `Parent`: forms of words, their vectors, and a copy without directions in a new folder
"""

import hashlib
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Any, ClassVar, Literal, TypeAlias

import numpy as np

from senseprobe.atomic_files import new_folder
from senseprobe.errors import ModelError
from senseprobe.evaluate.mitigation.erasure import Erasure
from senseprobe.evaluate.mitigation.record import (
    Change,
    FormChoice,
    HeadChoice,
    LayerChoice,
    check_vectors,
    read_record,
)
from senseprobe.evaluate.mitigation.vector_copy import VectorCopy
from senseprobe.evaluate.models.alteration import identify_alteration
from senseprobe.evaluate.models.packages import find_fetched
from senseprobe.evaluate.models.registry import files_of, opens
from senseprobe.evaluate.models.vector_files import VectorFile, path_of
from senseprobe.release.hashing import file_sha256
from senseprobe.statistics.intervals import FloatArray

Rows: TypeAlias = tuple[int, ...]
WordRows: TypeAlias = Mapping[str, Mapping[str, Rows]]
"""By word, by form as the vocabulary spells it, the rows of which the mean is its vector."""


class TableParent:
    """A file of vectors of words.

    - `form`, `dimensions` and `number_format`: as of a `Record`; `lacking`: why a word has no vector, in a few words.
    - `record`: of what was removed from it before; None where nothing was.
    """

    form: ClassVar[Literal["vectors"]] = "vectors"
    lacking: ClassVar[str] = "not in the file"

    def __init__(self, spec: str) -> None:
        if files_of(spec) is not VectorFile:
            raise ModelError(f"{spec} is not a file of vectors of words: directions are not removed from it")
        self.name, self._model = spec, VectorFile.load(spec)
        self.dimensions, self.number_format = self._model.table.dimensions, self._model.table.dtype
        has_record = bool(identify_alteration(path_of(spec)))  # which may be of another file beside it
        self.record = read_record(path_of(spec)) if has_record else None
        if self.record is not None:
            check_vectors(self.record, self._model.table.files, self._model.identity["weights"])

    def check(self, erasure: Erasure, head: HeadChoice, layers: LayerChoice) -> None:
        """Raise ModelError where a copy cannot be made so."""
        for value, usual, option in ((head, "untied", "--head"), (layers, "input", "--layers")):
            if value != usual:
                raise ModelError(f"{self.name} is a file of vectors, without a head or layers: leave {option} out")

    @cached_property
    def identity(self) -> dict[str, str]:
        """The identity that results have of it."""
        return {**self._model.identity, **identify_alteration(path_of(self.name))}

    def find(self, words: Collection[str], forms: FormChoice) -> WordRows:
        """Return the rows of words; a word of several that is not in the file has those of its parts."""
        rows_of = {word: tuple(self._model.find(word)[0]) for word in words}
        return {word: {word: rows} for word, rows in rows_of.items() if rows}

    def read(self, rows: Sequence[Rows]) -> FloatArray:
        """Return vectors, each the mean of some rows."""
        return mean_rows(rows, self._model.table.read)

    def list_rest(self, count: int, without: Collection[int]) -> list[int]:
        """Return the first rows that are words in small letters, but for some rows."""
        words = self._model.table.vocabulary.rows.items()
        rows = (row for word, row in words if word.isalpha() and word.islower() and row not in without)
        return [*islice(rows, count)]

    @contextmanager
    def copy(
        self, erasure: Erasure, out: Path, *, head: HeadChoice, renormalise: bool
    ) -> Iterator[tuple[Path, Change]]:
        """Write a copy without directions into a new folder. Raises SenseprobeError where that cannot be written."""
        copy = VectorCopy(self._model.table, erasure, renormalise=renormalise)
        with new_folder(out) as folder:
            copy.write(folder)
            yield folder, Change(copy.removed, copy.scale, copy.residual, copy.norms)


class TransformersParent:
    """A model of transformers: the rows of its input embeddings, by token; its attributes are those of a table."""

    form: ClassVar[Literal["transformers"]] = "transformers"
    lacking: ClassVar[str] = "several tokens"

    def __init__(self, spec: str) -> None:
        from senseprobe.evaluate.mitigation import embeddings

        folder = None if Path(spec).expanduser().is_dir() else find_fetched(spec)
        self.name, self._model = spec, embeddings.open_parent(str(folder or spec))
        self.dimensions, self.number_format = self._model.dimensions, self._model.number_format
        self.record = read_record(self._model.folder)

    def check(self, erasure: Erasure, head: HeadChoice, layers: LayerChoice) -> None:
        """Raise ModelError where a copy cannot be made so."""
        if layers == "all":
            from senseprobe.evaluate.mitigation.hidden_layers import check_layers

            check_layers(self._model, erasure)

    @cached_property
    def identity(self) -> dict[str, str]:
        """sha256 of its files: of weights, of the config and of the tokenizer, and of its record; each is read once."""
        folder = self._model.folder
        weights = hashlib.sha256("".join(file_sha256(file.path) for file in self._model.files).encode()).hexdigest()
        names = {"config": folder / "config.json", "tokenizer": folder / "tokenizer.json"}
        others = {part: file_sha256(path) for part, path in names.items() if path.is_file()}
        return {"weights": weights, **others, **identify_alteration(folder)}

    def find(self, words: Collection[str], forms: FormChoice) -> WordRows:
        """Return the tokens of the words of which a form is one token."""
        from senseprobe.evaluate.mitigation.word_forms import split_words

        try:
            tokens = split_words(self._model.tokens, words, forms).tokens
        except ModelError:  # none is
            return {}
        return {word: {form: (token,) for form, token in of_word.items()} for word, of_word in tokens.items()}

    def read(self, rows: Sequence[Rows]) -> FloatArray:
        """Return vectors, each the mean of some rows."""
        return mean_rows(rows, lambda distinct: self._model.vectors(tuple(distinct)))

    def list_rest(self, count: int, without: Collection[int]) -> list[int]:
        """Return the first tokens that are words in small letters, but for some tokens."""
        spelt = zip(range(self._model.size), self._model.tokens.readable(range(self._model.size)), strict=True)
        words = ((token, (text or "").removeprefix("▁")) for token, text in spelt if token not in without)
        return [*islice((token for token, word in words if word.isalpha() and word.islower()), count)]

    @contextmanager
    def copy(
        self, erasure: Erasure, out: Path, *, head: HeadChoice, renormalise: bool
    ) -> Iterator[tuple[Path, Change]]:
        """Write a copy without directions into a new folder. Raises SenseprobeError where that cannot be written."""
        from senseprobe.evaluate.mitigation.embeddings import copied_without

        with copied_without(self._model, erasure, out, head=head, renormalise=renormalise) as copy:
            yield copy


Parent: TypeAlias = TableParent | TransformersParent


def open_parent(spec: str) -> Parent:
    """Open what directions are to be removed from. Raises ModelError where that cannot be: files of senses, servers."""
    if opens(spec):
        return TableParent(spec)
    return TransformersParent(spec)


def mean_rows(rows: Sequence[Rows], read: Any) -> FloatArray:  # noqa: ANN401 - `ReadRows`
    """Return the means of rows, each of which is read once."""
    distinct = [*dict.fromkeys(row for several in rows for row in several)]
    vectors = dict(zip(distinct, read(distinct), strict=True)) if distinct else {}
    return np.array([np.mean([vectors[row] for row in several], axis=0) for several in rows], dtype=np.float64)
