"""Pairs of sentences with a gold label, to train a model of inference on: JSON lines, Parquet, or a release.

SNLI and MultiNLI are read as they are published, and as the Hub has them. Labels are told by their names; a pair that
nobody could label ("-", or -1 on the Hub) is dropped and counted.
"""

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from senseprobe.errors import SenseprobeError
from senseprobe.evaluate.units import KINDS
from senseprobe.importers.integer_labels import Names, as_integer, name_label, read_schema_names
from senseprobe.messages import conjoined, counted, listed, offered, printable
from senseprobe.parquet_files import bounded_parquet, read_batches
from senseprobe.release.parquet import ROWS_AT_ONCE
from senseprobe.tables import UnreadableError, read_json_lines, read_lines

if TYPE_CHECKING:
    from senseprobe.release.release import Release

LABELS: tuple[str, ...] = KINDS["inference"].columns
"""Entailment, neutral and contradiction, in the order of the numbers that stand for them."""

ROLES: Mapping[str, tuple[str, ...]] = {
    "premise": ("premise", "sentence1"),
    "hypothesis": ("hypothesis", "sentence2"),
    "gold": ("gold", "gold_label", "label"),
}
"""The columns of a pair, and what they are called in a file whose columns are not mapped: the first that is there."""

MOST_PAIRS = 5_000_000
MOST_CHARACTERS = 10_000
"""Of one text; longer ones are dropped."""

_NO_GOLD = ("-", "", "-1")
_MOST_BYTES = 2**34  # of a Parquet file, unfolded


@dataclass(frozen=True, slots=True, eq=False)
class Corpus:
    """Pairs with labels.

    - `name`: the file or the release; `license`: SPDX or what its user says, empty where nobody says it.
    - `texts`: each distinct one once; `pairs`: int32 of shape (N, 2), the numbers of premise and hypothesis.
    - `gold`: int8 of shape (N,), numbers of `LABELS`.
    - `dropped`: how many pairs were left out, by reason; `sha256`: of the pairs that are left, in order.
    """

    name: str
    license: str
    texts: tuple[str, ...]
    pairs: NDArray[np.int32]
    gold: NDArray[np.int8]
    dropped: Mapping[str, int]
    sha256: str

    @classmethod
    def of(cls, name: str, license_: str, rows: Iterable[tuple[str, str, str]]) -> Self:
        """Return the corpus of premises, hypotheses and labels, "" for a pair without a label.

        >>> corpus = Corpus.of("two", "MIT", [("A cat sat.", "It sat.", "entailment"), ("A cat sat.", "No.", "")])
        >>> corpus.pairs.tolist(), corpus.gold.tolist(), dict(corpus.dropped)
        ([[0, 1]], [0], {'without a gold label': 1})
        """
        numbers: dict[str, int] = {}
        pairs, gold = list[tuple[int, int]](), list[int]()
        dropped, digest = Counter[str](), hashlib.sha256()
        for premise, hypothesis, label in rows:
            if reason := _reason_to_drop(premise, hypothesis, label):
                dropped[reason] += 1
                continue
            if len(gold) == MOST_PAIRS:
                raise SenseprobeError(f"{name} has more than {MOST_PAIRS:,} pairs: train on a part of it")
            pairs.append((numbers.setdefault(premise, len(numbers)), numbers.setdefault(hypothesis, len(numbers))))
            gold.append(LABELS.index(label))
            digest.update(f"{premise}\0{hypothesis}\0{label}\n".encode("utf-8", "surrogatepass"))
        if not gold:
            raise SenseprobeError(f"{name} has no pair with a gold label")
        array = np.array(pairs, dtype=np.int32).reshape(-1, 2)
        labels = np.array(gold, dtype=np.int8)
        return cls(name, license_, tuple(numbers), array, labels, dict(sorted(dropped.items())), digest.hexdigest())

    def __len__(self) -> int:
        """Return how many pairs there are."""
        return len(self.gold)

    @property
    def counts(self) -> dict[str, int]:
        """How many pairs have each label."""
        return {label: int((self.gold == number).sum()) for number, label in enumerate(LABELS)}

    def check_labels(self) -> None:
        """Raise SenseprobeError where a label never occurs: a model could not learn it."""
        if missing := [label for label, count in self.counts.items() if not count]:
            raise SenseprobeError(
                f"{self.name} has no pair of {conjoined(missing)}, so a model cannot learn it: "
                "train on pairs of all three labels"
            )

    def as_dict(self) -> dict[str, Any]:
        """Return what a record says of the corpus."""
        facts = {"name": self.name, "license": self.license or None, "pairs": len(self), "sha256": self.sha256}
        return facts | {"labels": self.counts, "dropped": dict(self.dropped)}

    def describe(self) -> str:
        """Return size, licence and what was dropped, in a line."""
        labels = listed(f"{count:,} {label}" for label, count in self.counts.items())
        dropped = "".join(f"; {count:,} dropped {reason}" for reason, count in self.dropped.items())
        license_ = self.license or "not stated, so check the terms of the corpus before you share the model"
        return f"{self.name}: {counted(len(self), 'pair')} ({labels}){dropped}; licence: {license_}"


@dataclass(frozen=True, slots=True, eq=False)
class Examples:
    """Texts, pairs and labels as a corpus has them, and which pairs are trained on, and which are held out."""

    texts: tuple[str, ...]
    pairs: NDArray[np.int32]
    gold: NDArray[np.int8]
    training: NDArray[np.intp]
    held_out: NDArray[np.intp]

    @classmethod
    def split(cls, corpus: Corpus, share: float) -> Self:
        """Hold out about a `share` of the pairs.

        A premise decides by its hash, so that none is on both sides, and the same ones are held out each time.
        """
        held_out = np.array([_fraction(text) < share for text in corpus.texts])[corpus.pairs[:, 0]]
        return cls(corpus.texts, corpus.pairs, corpus.gold, np.flatnonzero(~held_out), np.flatnonzero(held_out))

    def select(self, usable: NDArray[np.bool_]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Return the pairs of both sides that are `usable`, shape (pairs,)."""
        return self.training[usable[self.training]], self.held_out[usable[self.held_out]]

    @classmethod
    def join(cls, training: Corpus, held_out: Corpus) -> Self:
        """Train on one corpus, and hold out another."""
        pairs = np.concatenate([training.pairs, held_out.pairs + len(training.texts)])
        gold, numbers = np.concatenate([training.gold, held_out.gold]), np.arange(len(pairs))
        first = len(training)
        return cls(training.texts + held_out.texts, pairs, gold, numbers[:first], numbers[first:])


def _reason_to_drop(premise: str, hypothesis: str, label: str) -> str:
    if not label:
        return "without a gold label"
    if not (premise.strip() and hypothesis.strip()):
        return "with an empty text"
    if max(len(premise), len(hypothesis)) > MOST_CHARACTERS:
        return f"with a text of more than {MOST_CHARACTERS:,} characters"
    return ""


def _fraction(text: str) -> float:
    """Return a number from 0 to 1 that depends on a text alone."""
    return int.from_bytes(hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()[:6], "big") / 2**48


# --- files ------------------------------------------------------------------------------------------------------------


def read_file(path: Path, columns: Mapping[str, str], integers: Names, license_: str) -> Corpus:
    """Read a corpus of JSON lines or Parquet, which is told by how it begins.

    `columns` maps roles (`ROLES`) to columns; `integers` names labels that are numbers, where no schema does. Raises
    SenseprobeError where it cannot be read.
    """
    if unknown := [role for role in columns if role not in ROLES]:
        raise SenseprobeError(f"unknown role {printable(unknown[0])!r} in the map: {offered(unknown[0], ROLES)}")
    if unknown := [name for name in integers.values() if name not in LABELS]:
        raise SenseprobeError(f"unknown label {printable(unknown[0])!r}: {offered(unknown[0], LABELS)}")
    try:
        with path.open("rb") as file:
            is_parquet = file.read(4) == b"PAR1"
        rows = (_parquet_rows if is_parquet else _json_rows)(path, columns, integers)
        return Corpus.of(str(path), license_, rows)
    except UnreadableError as error:
        raise SenseprobeError(error.at(path)) from None
    except (OSError, pa.ArrowException, MemoryError) as error:
        reason = getattr(error, "strerror", None) or str(error).partition("\n")[0] or "not enough memory"
        raise SenseprobeError(f"{printable(str(path))}: cannot be read: {printable(reason)}") from None


def _json_rows(path: Path, columns: Mapping[str, str], integers: Names) -> Iterator[tuple[str, str, str]]:
    names: dict[str, str] = {}
    for line, row in read_json_lines(read_lines(path)):
        names = names or _find_columns(columns, [*row])
        yield _pair([row.get(names[role]) for role in ROLES], line, integers)


def _parquet_rows(path: Path, columns: Mapping[str, str], integers: Names) -> Iterator[tuple[str, str, str]]:
    with bounded_parquet(path) as file:
        names = _find_columns(columns, file.schema_arrow.names)
        integers = {**read_schema_names(file.schema_arrow.metadata).get(names["gold"], {}), **integers}
        number = 0
        for batch in read_batches(file, [*names.values()], ROWS_AT_ONCE, _MOST_BYTES):
            for cells in zip(*(column.to_pylist() for column in batch.columns), strict=True):
                number += 1
                yield _pair(cells, number, integers)


def _find_columns(columns: Mapping[str, str], there: Sequence[str]) -> dict[str, str]:
    """Return the column of each role among those that a file has."""
    names = {}
    for role, usual in ROLES.items():
        candidates = [columns[role]] if role in columns else [*usual]
        if not (fitting := [name for name in candidates if name in there]):
            given = listed(map(printable, there[:20]))
            raise UnreadableError(
                f"lacks the column {printable(candidates[0])!r}; its columns are {given}: name yours, as in "
                f"--map {role}=COLUMN"
            )
        names[role] = fitting[0]
    if len({*names.values()}) < len(names):
        raise UnreadableError("the map has one column for two roles")
    return names


def _pair(cells: Sequence[object], line: int, integers: Names) -> tuple[str, str, str]:
    """Return premise, hypothesis and label of a row; the label is empty where nobody could give one."""
    premise, hypothesis, gold = cells
    if not isinstance(premise, str | None) or not isinstance(hypothesis, str | None):
        raise UnreadableError("premise or hypothesis is not text", line)
    text = "" if gold is None else str(gold).strip().casefold()
    label = "" if text in _NO_GOLD else name_label(text, integers) or ""
    if label and label not in LABELS:
        if as_integer(label):
            raise UnreadableError(
                f"the label {label} is a number, and numbers mean other labels in other data: name them, as in "
                "--labels 0=entailment,1=neutral,2=contradiction",
                line,
            )
        raise UnreadableError(f"the label {printable(label[:60])!r} is not {conjoined(LABELS)}", line)
    return premise or "", hypothesis or "", label


# --- releases ---------------------------------------------------------------------------------------------------------


def read_release(release: "Release", config: str | None) -> Corpus:
    """Return the pairs of a release, or of one config of it: of all configs of inference, in their order.

    Raises SenseprobeError where there are none, and as `Release.batches` does.
    """
    names = [config] if config else [*release.configs]
    inference = [name for name in names if release.design(name).kind == "inference"]
    name = f"{release.manifest.name}{f':{config}' if config else ''}"
    if not inference:
        raise SenseprobeError(f"{name} does not have pairs of premise and hypothesis, so nothing can be trained on it")
    batches = (batch for name in inference for batch in release.batches(name, [*ROLES]))
    rows = (row for batch in batches for row in zip(*(batch[role].to_pylist() for role in ROLES), strict=True))
    return Corpus.of(name, str(release.manifest.data["card"].get("license") or ""), rows)
