"""What was removed from vectors, and how: `debias.json` beside them, and the map in `debias.safetensors`.

The sha256 of `debias.json` is a part of a model's identity (evaluate/models/alteration.py). With the map, and what it
removed of each row, the parent's vectors can be computed.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from senseprobe.arrays import explained, map_tensors, pack_tensors
from senseprobe.errors import ModelError
from senseprobe.evaluate.mitigation.axes import MOST_WORDS
from senseprobe.evaluate.mitigation.erasure import Erasure
from senseprobe.evaluate.models.alteration import MAP, RECORD, read_alteration, record_path, resolve_stored
from senseprobe.messages import counted, listed, printable
from senseprobe.release.hashing import file_sha256
from senseprobe.statistics.intervals import FloatArray

SCHEMA = 1
"""Form of `debias.json`."""

TRAINING = "training.json"
"""The file that a training writes beside the record of what its model was trained on."""

LONGEST_CHAIN = 16
"""Records within each other, at most: of a model that was altered, of its parent, and so on."""

_MOST_FORMS = 10 * MOST_WORDS

Method = Literal["projection", "leace", "inlp", "random"]
FormChoice = Literal["all", "one"]
HeadChoice = Literal["untied", "tied"]
LayerChoice = Literal["input", "all"]
Text = Annotated[str, Field(max_length=4096)]
Share = Annotated[float, Field(ge=0, le=1)]
Digest = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
Texts = Annotated[tuple[Text, ...], Field(max_length=MOST_WORDS)]
Pairs = Annotated[tuple[tuple[Text, Text], ...], Field(max_length=MOST_WORDS)]
WordLabels = Annotated[dict[str, str], Field(max_length=MOST_WORDS)]
Rows = Annotated[tuple[Annotated[int, Field(ge=0)], ...], Field(max_length=64)]


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class Axis(_Part):
    """What is to be removed, in words.

    - `direction`: as it was given: ``he-she``, ``PAIRS.csv``, ``list:NAME:RANK``; empty without, as of LEACE.
    - `pairs`: words whose differences span it; `words`: of a list; `rank`: how many components are taken of several.
    - `labels`: the label of each word that LEACE and INLP are fitted to, or that probes read; `labels_name`: as given.
    """

    direction: Text
    rank: Annotated[int, Field(ge=1)] = 1
    pairs: Pairs = ()
    words: Texts = ()
    labels: WordLabels = {}
    labels_name: Text = ""


class Form(_Part):
    """A form of a word whose vector was used: as the vocabulary spells it, with its rows (ids of tokens)."""

    word: Text
    spelling: Text
    rows: Rows


class Omission(_Part):
    """A word that was left out, and why: ``several tokens``, ``not in the file``."""

    word: Text
    reason: Text


class Norms(_Part):
    """Lengths of vectors after the removal, each divided by what it was before: their mean and the least."""

    mean: Annotated[float, Field(ge=0)]
    least: Annotated[float, Field(ge=0)]


class Probe(_Part):
    """What a classifier reads of the labels, after the removal, on words that the fit did not see.

    - `accuracy` on so many held-out `words`, with the ends of its 95 % interval; `before`: that before the removal.
    - `majority`: the share of the commonest label among them, which a classifier that reads nothing reaches.
    """

    kind: Literal["linear", "non-linear"]
    words: Annotated[int, Field(ge=1)]
    accuracy: Share
    low: Share
    high: Share
    majority: Share
    before: Share


class Perplexity(_Part):
    """How well a model predicts a text, before and after the removal: a model that is broken looks unbiased.

    - `kind`: ``perplexity`` of a causal model, ``pseudo-perplexity`` of a masked one (perplexity.py defines both).
    - `text`: the name of the file, or what was taken of WordNet; `sha256` of its lines.
    - `tokens` that were predicted, the same ones before and after.
    """

    kind: Literal["perplexity", "pseudo-perplexity"]
    text: Text
    sha256: Digest
    tokens: Annotated[int, Field(ge=1)]
    before: Annotated[float, Field(ge=1)]
    after: Annotated[float, Field(ge=1)]

    def describe(self) -> str:
        """Return both numbers with their text, in one line."""
        change = 100 * (self.after / self.before - 1)
        sign = "+" if change > 0 else "-" if change < 0 else ""
        of_text = f"{printable(self.text)} ({self.tokens:,} tokens)"
        return f"{self.kind} on {of_text}: {self.before:.4g} before, {self.after:.4g} after ({sign}{abs(change):.1f} %)"


class Parent(_Part):
    """The model that something was removed from: its name, its identity, and its own record where it has one."""

    name: Text
    identity: Annotated[dict[str, Text], Field(max_length=32)]
    record: "Record | None" = None


class Record(_Part):
    """What was removed from vectors, and how; the contents of `debias.json`.

    - `removed`: that in one line, as results show it (`describe_removal`).
    - `form`: ``vectors`` of a file of vectors, ``transformers`` of the input embeddings of a model.
    - `axis`, `forms`, `omitted`: the words, their vectors, and those without one. `spellings`: whether all forms of a
      word that are one token were used, or one.
    - `rank` of `dimensions`; `seed` of what is random; `rest`: unlabelled words that the map was fitted to.
    - `regularisation` of INLP's classifiers, and whether the last of them was `at_chance`.
    - `number_format` of what was written: ``float32``, or ``decimal`` of texts; `residual`: the greatest |x·d| that is
      left there, over all rows and directions d of length 1; of LEACE the greatest coordinate of what it removes.
    - `norms` after it; `renormalised`: whether each row was then brought to its former length.
    - `head`: of models of transformers whether the output shares the altered rows (``tied``) or has the parent's
      (``untied``); ``none`` without one. `layers`: the input alone, or a map at load on all layers' outputs, too.
    - `probes`: what can still be read; `unprobed`: why there are none.
    - `perplexity` of models of transformers that predict tokens, where a text was given or WordNet is prepared.
    - `files`: sha256 of the files beside it, by name.
    """

    schema_number: Annotated[Literal[1], Field(alias="schema")] = 1
    senseprobe: Text
    removed: Annotated[str, Field(max_length=1024)]
    form: Literal["vectors", "transformers"]
    parent: Parent
    method: Method
    axis: Axis
    spellings: FormChoice = "all"
    forms: Annotated[tuple[Form, ...], Field(max_length=_MOST_FORMS)] = ()
    omitted: Annotated[tuple[Omission, ...], Field(max_length=MOST_WORDS)] = ()
    dimensions: Annotated[int, Field(ge=1)]
    rank: Annotated[int, Field(ge=1)]
    seed: Annotated[int | None, Field(ge=0)] = None
    rest: Annotated[int, Field(ge=0)] = 0
    regularisation: Annotated[float | None, Field(gt=0)] = None
    at_chance: bool | None = None
    number_format: Text
    residual: Annotated[float, Field(ge=0)]
    norms: Norms
    renormalised: bool = False
    head: HeadChoice | Literal["none"] = "none"
    layers: LayerChoice = "input"
    probes: Annotated[tuple[Probe, ...], Field(max_length=16)] = ()
    unprobed: Text = ""
    perplexity: Perplexity | None = None
    files: Annotated[dict[str, Digest], Field(max_length=1024)]

    @model_validator(mode="after")
    def _check_sizes(self) -> "Record":
        if 2 * self.rank >= self.dimensions:
            raise ValueError("rank is not below half the dimensions")
        if len(self.chain) > LONGEST_CHAIN:
            raise ValueError(f"more than {LONGEST_CHAIN} records are within each other")
        return self

    @property
    def chain(self) -> tuple["Record", ...]:
        """The record and those of its parents, the newest first."""
        return (self, *(self.parent.record.chain if self.parent.record else ()))

    @property
    def omitted_words(self) -> dict[str, list[str]]:
        """The words that were left out, by reason."""
        words: dict[str, list[str]] = {}
        for omission in self.omitted:
            words.setdefault(omission.reason, []).append(omission.word)
        return words

    @property
    def digest(self) -> str:
        """The sha256 of the file: part ``debias`` of a model's identity."""
        return hashlib.sha256(self.to_bytes()).hexdigest()

    def to_bytes(self, *, complete: bool = True) -> bytes:
        """Return the contents of the file, the same bytes for the same record.

        Unless `complete`, without fields that a record that was read did not have: those of newer versions.
        """
        value = self.model_dump(mode="json", by_alias=True, exclude_unset=not complete)
        return f"{json.dumps(value, ensure_ascii=False, indent=1)}\n".encode("utf-8", "surrogatepass")


@dataclass(frozen=True, slots=True)
class Change:
    """What was done to the rows of a parent; `Record` says what `residual`, `norms` and `head` are.

    - `removed`: of shape (rows, rank), what was read of each row; `scale`: of shape (rows,), by what rows were
      multiplied to have their former length, None where they were not (`pack_map`).
    """

    removed: NDArray[Any]
    scale: NDArray[Any] | None
    residual: float
    norms: Norms
    head: HeadChoice | Literal["none"] = "none"


_METHOD_NAMES: dict[Method, str] = {"projection": "projection", "leace": "LEACE", "inlp": "INLP"}


def describe_removal(
    axis: Axis,
    method: Method,
    rank: int,
    dimensions: int,
    *,
    seed: int | None = None,
    layers: str = "input",
    parent: Record | None = None,
) -> str:
    """Return in one line what was removed from vectors, how, and from which part; after it what was before.

    >>> describe_removal(Axis(direction="he-she"), "projection", 1, 50)
    'he-she (1 of 50 dimensions, projection)'
    >>> describe_removal(Axis(direction="age.csv", pairs=(("young", "old"), ("kid", "elder"))), "projection", 1, 50)
    'age.csv: young-old and 1 more pair (1 of 50 dimensions, projection)'
    """
    size = f"{rank} of {dimensions} dimensions"
    text = (
        f"{_describe_axis(axis)} ({size}, {_METHOD_NAMES[method]})"
        if method != "random"
        else f"{size} at random (seed {seed})"
    )
    text += ", in all layers" if layers == "all" else ""
    whole = f"{text}; before that {parent.removed}" if parent else text
    return printable(whole).replace("|", "/")[:1024]


def _describe_axis(axis: Axis) -> str:
    """Return the name of an axis, and the first of its words where the name is not one."""
    if len(axis.pairs) > 1:
        return f"{axis.direction}: {'-'.join(axis.pairs[0])} and {counted(len(axis.pairs) - 1, 'more pair')}"
    if axis.words:
        return f"{axis.direction}: {axis.words[0]} and {counted(len(axis.words) - 1, 'more word')}"
    return axis.direction or f"{axis.labels_name}: {listed(dict.fromkeys(axis.labels.values()))}"


def rounded(number: float) -> float:
    """Return a measured number to six digits, which other machines' arithmetic does not change."""
    return float(f"{number:.5e}")


def read_record(path: Path) -> Record | None:
    """Return the record in a folder, or beside a file of vectors; None where there is none.

    Raises ModelError where that cannot be read, is of a newer form, or has more than a record has.
    """
    if (contents := read_alteration(path)) is None:
        return None
    file, (_, value) = record_path(path), contents
    if isinstance(value.get("schema"), int) and value["schema"] > SCHEMA:
        raise ModelError(f"{printable(str(file))} is of a newer senseprobe: update this one")
    try:
        return Record.model_validate(value)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(map(str, first["loc"][-4:]))  # of a chain that may be long
        reason = f"{where}: {first['msg']}" if where else first["msg"]
        raise ModelError(f"{printable(str(file))} is not a record of what was removed: {printable(reason)}") from None


def check_vectors(record: Record, files: Sequence[Path], weights: str) -> None:
    """Raise ModelError where files of vectors are not those that a record beside them is of.

    - `weights`: their part of a model's identity (`identify_table` in evaluate/models/vector_files.py).
    """
    digests = (bytes.fromhex(record.files.get(path.name, "")) for path in files)
    if hashlib.sha256(b"".join(digests)).hexdigest() != weights:
        raise ModelError(
            f"{printable(str(files[0]))} is not the file that something was removed from, as {RECORD} beside it says: "
            "make the folder again, or move other vectors to another folder"
        )


def check_weights(record: Record, folder: Path) -> None:
    """Raise ModelError where the weights in a folder, or the map, are not those that its record is of."""
    names = [name for name in record.files if name.endswith(".safetensors") and "/" not in name]
    for name in names:
        digest = ""
        if (path := folder / name).is_file():
            with explained(path):
                digest = file_sha256(path)
        if digest != record.files[name]:
            raise ModelError(
                f"{printable(str(path))} is not the file that {RECORD} beside it is of: make the folder again"
            )


def pack_map(erasure: Erasure, removed: FloatArray, scale: FloatArray | None = None) -> bytes:
    """Return the contents of `debias.safetensors`.

    - `removed`: what was read of each row, float64 of shape (rows, rank).
    - `scale`: where rows were brought to their former length, the factor of each, float64 of shape (rows,).

    The parent's row is ``row / scale + removed @ left.T``.
    """
    tensors = {"left": erasure.left, "right": erasure.right, "mean": erasure.mean, "removed": removed}
    return pack_tensors({**tensors, **({} if scale is None else {"scale": scale})})


def read_map(folder: Path) -> tuple[Erasure, Mapping[str, NDArray[Any]]]:
    """Return the map in a folder, and what it removed: the tensors ``removed`` and ``scale`` of `pack_map`.

    Raises ModelError where they are not of one size, or a number is not finite.
    """
    path = folder / MAP
    if not path.is_file() or (path.is_symlink() and resolve_stored(path) == path):
        raise ModelError(f"{printable(str(path))} is missing: make the folder again")
    with explained(path):
        tensors, _ = map_tensors(path)
        left, right, mean = (np.array(tensors[name], dtype=np.float64) for name in ("left", "right", "mean"))
        fits = left.ndim == 2 and left.shape == right.shape and mean.shape == left.shape[:1] and left.size
        if not fits or not all(np.isfinite(part).all() for part in (left, right, mean)):
            raise ValueError("left, right and mean are not a map")
        if tensors["removed"].ndim != 2 or tensors["removed"].shape[1] != left.shape[1]:
            raise ValueError("removed is not a number for each row and direction")
    return Erasure(left, right, mean), {name: tensors[name] for name in ("removed", "scale") if name in tensors}


def recover_parent(rows: FloatArray, folder: Path) -> FloatArray:
    """Return the parent's vectors, float64 of shape (rows, dimensions), of all rows of what lies in a folder.

    They differ from the parent's by no more than the number format rounds. Raises ModelError as `read_map` does.
    """
    erasure, of_rows = read_map(folder)
    if len(of_rows["removed"]) != len(rows):
        raise ModelError(f"{folder / MAP} has {len(of_rows['removed']):,} rows, but there are {len(rows):,} vectors")
    scale = of_rows.get("scale", np.ones(len(rows)))[:, None]
    return np.asarray(rows / scale + np.asarray(of_rows["removed"], dtype=np.float64) @ erasure.left.T)
