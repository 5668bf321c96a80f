"""The record of a scoring: figures, what they were computed from, and a signature that replays them."""

import hashlib
import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from errno import EDQUOT, EFBIG, ENOSPC
from html import escape
from importlib.util import find_spec
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from senseprobe.atomic_files import check_space, new_files, new_folders, read_plain, whole_file, write_whole
from senseprobe.errors import ResultError
from senseprobe.evaluate.estimands import lookup
from senseprobe.evaluate.fitness import Fitness
from senseprobe.evaluate.result_form import SCHEMA, SEPARATOR, ResultFacts, check_facts, read_facts
from senseprobe.evaluate.scorers import SCORERS
from senseprobe.evaluate.task_gates import TaskRecord
from senseprobe.evaluate.units import KINDS, NO_ROWS, ScoredRows
from senseprobe.messages import counted, sized
from senseprobe.records import Figure
from senseprobe.statistics import Scale
from senseprobe.tables import UnreadableError, read_json

_BYTES, _BYTES_OF_A_ROW = 2**18, 64  # of a result, and of a row of its table

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Canvas

VERDICTS = 2
"""The definition of what verdicts say of the same figures; by the first each line of a page stood by itself."""

MAX_BYTES = 32 * 2**20  # of a result file: that of two million rows has 200 kB
MAX_VALUES = 600_000  # each of which may be a mistake that a message of pydantic holds

GROUP_ROWS = 2**20
"""Rows of a group of a table's file, of which one is in memory when it is written."""

_HUB_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,95}(/[A-Za-z0-9][A-Za-z0-9._-]{0,95})?")


@dataclass(frozen=True, kw_only=True, slots=True, repr=False)
class Result(ResultFacts):
    """The figures of one scorer for one model on one release.

    - `model`: its `name`, and sha256 of `weights`, `config` and `tokenizer`, and `dtype`; of the Hub also its
      commit, `revision`; where they were stated `labels`, the classes of a model of inference; of vectors `encoding`,
      how they are made (models/encodings.py); of a chat model sha256 of its `template`, and `prompts`, the version of
      what it is asked; of a planted truth `planted`, the share of stereotypes that the model was trained to prefer; of
      a plug-in its `family`; where something was removed from its vectors, `removed`, what, and `debias`, sha256 of the
      record (models/alteration.py).
    - `scorer_version`: of the scorer's definition, 1 in results that name none; `scale` of its numbers.
    - `verdicts`: the definition of verdicts when it was written, 1 in results that name none; a page takes today's.
    - `release`: `name` (NAME@VERSION), `content` hash, and the `config` that was requested, None for all.
    - `date`: the day on which it was scored, in UTC, as ``2026-11-23``; no figure depends on it, and it is not part of
      the signature. None in results that are older than this.
    - `libraries`: versions of what computed the numbers, where a replay that differs may look for the reason.
    - `limit`: so many rows were drawn by `seed`; None: all.
    - `coarse`: where `dtype` is coarser than float32, of how many ``rows`` drawn how many are ``flipped``: have another
      sign, or largest label, in float32 (evaluate/caveats.py); None: not counted.
    - `unscored`: by reason how many ``rows`` have no number, and the ids of the ``first``
      (evaluate/caveats.py); empty also in results that are older than this.
    - `refused`: by reason the names of tests that the model cannot have, as those of names of vectors of senses.
    - `fitness`: by config what the model's tokenizer makes of the rows (evaluate/fitness.py); empty also of models of
      plug-ins, and in results that are older than this.
    - `tasks`: by config how a chat model did the task that it was asked, with the gates that its answers passed or not
      (evaluate/task_gates.py); empty of other models.
    - `scored`: the rows with their numbers, in files next to that of the result; so are the `tokens` of the rows that
      a page shows (evaluate/score_tables.py), None of models of plug-ins and in results that are older than this.
    """

    scorer_version: int = 1
    scale: Scale = "log"
    verdicts: int = VERDICTS
    libraries: Mapping[str, str] = field(default_factory=dict)
    limit: int | None = None
    scored: ScoredRows = NO_ROWS
    tokens: pa.Table | None = None

    @property
    def rows(self) -> pd.DataFrame | None:
        """The table of scores per row, with ``config`` and ``id``; None without it."""
        return self.scored.rows

    @property
    def words(self) -> pa.Table | None:
        """Of association tests the cosine of each target with each attribute; else None."""
        return self.scored.words

    @property
    def kind(self) -> str:
        """The kind of rows that its scorer took; a planted truth is of ``contrast`` rows."""
        scorer = SCORERS.get(self.scorer)
        kinds = dict.fromkeys(lookup(figure.estimand).kind for figure in self.figures)
        return "contrast" if scorer is None else scorer.taking(kinds).kind

    @property
    def signature(self) -> str:
        """Everything that the numbers depend on, in one line."""
        config = self.release["config"]
        # The estimands of which the definition is not the first: ``relative@2,spread@2``.
        newer = sorted({(figure.estimand, figure.definition) for figure in self.figures if figure.definition > 1})
        parts = {
            "scorer": self.scorer if self.scorer_version == 1 else f"{self.scorer}@{self.scorer_version}",
            "release": f"{self.release['name']}:{config}" if config else self.release["name"],
            "content": str(self.release["content"])[:12],
            "model": self.model["name"],
            **{key: self.model[key][:12] for key in ("revision",) if self.model.get(key)},
            **{key: self.model[key][:12] for key in ("weights", "config", "tokenizer", "dtype")},
            **{key: self.model[key][:12] for key in ("debias", "template") if self.model.get(key)},
            **{key: self.model[key] for key in ("planted", "family", "encoding", "prompts") if self.model.get(key)},
            "seed": self.seed,
            **({} if self.limit is None else {"limit": self.limit}),
            "senseprobe": self.senseprobe,
            **({"definitions": ",".join(f"{name}@{version}" for name, version in newer)} if newer else {}),
        }
        return SEPARATOR.join(f"{key}={value}" for key, value in parts.items())

    @property
    def stem(self) -> str:
        """The name of its files, without suffix: ``aul``, ``aul.race``, or ``aul.limit400`` where rows were drawn."""
        parts = (self.scorer, self.release["config"], "" if self.limit is None else f"limit{self.limit}")
        return ".".join(filter(None, parts))

    def as_dict(self) -> dict[str, Any]:
        """Return the result with the stable keys of its file."""
        optional = ("date", "coarse", "unscored", "refused", "fitness", "tasks")
        facts = {field.name: _as_json(getattr(self, field.name)) for field in fields(ResultFacts)}
        present = {name: value for name, value in facts.items() if value or name not in optional}
        return {"schema": SCHEMA, "signature": self.signature, **present}

    def to_frame(self) -> pd.DataFrame:
        """Return the figures as a table, a row for each; its columns are the fields of `Figure`."""
        return pd.DataFrame([figure.as_dict() for figure in self.figures])

    def rows_of(self, config: str) -> pd.DataFrame:
        """Return the scores of the rows of a config: ``id`` and a column for each number.

        Raises ResultError where the result has no rows of it.
        """
        rows = None if self.rows is None else self.rows[self.rows["config"] == config]
        if rows is None or rows.empty:
            raise ResultError(f"the result does not have rows of {config!r}")
        return rows.drop(columns="config").reset_index(drop=True)

    def plot(self) -> "Canvas":
        """Return a Matplotlib figure of all figures around 0 of whole configs or association tests, with intervals.

        Raises ResultError without matplotlib.
        """
        if find_spec("matplotlib") is None:
            raise ResultError("a plot needs matplotlib: pip install 'senseprobe[reports]'")
        from matplotlib.figure import Figure as Canvas

        points = []
        for figure in self.figures:
            estimand = lookup(figure.estimand)
            is_whole = figure.group is None or (KINDS[estimand.kind].tests and not estimand.variant_of)
            if is_whole and not estimand.from_zero and figure.value is not None:
                points.append((figure, figure.value))
        canvas = Canvas(figsize=(8, 0.8 + 0.36 * len(points)), layout="constrained")
        axes = canvas.subplots()
        axes.axvline(0, color="#999999", linewidth=0.8)
        for height, (figure, value) in enumerate(points):
            if figure.low is not None and figure.high is not None:
                axes.plot([figure.low, figure.high], [height, height], color="#1b6ca8", linewidth=1.4)
            filled = "#1b6ca8" if figure.neutral is not None else "white"
            axes.plot([value], [height], "o", color="#1b6ca8", markerfacecolor=filled, markersize=4.5)
        axes.set_yticks(
            range(len(points)), [f"{figure.config}: {figure.group or figure.estimand}" for figure, _ in points]
        )
        axes.set_ylim(max(len(points), 1) - 0.5, -0.5)
        measure = lookup(points[0][0].estimand).unit if points else "points"
        axes.set_xlabel(f"{measure}; hollow: 0 is not known to be neutral")
        return canvas

    def __repr__(self) -> str:
        """Return scorer, model, release and size in a line."""
        figures = counted(len(self.figures), "figure")
        return f"<Result of {self.scorer}: {self.model['name']} on {self.release['name']}, {figures}>"

    def _repr_html_(self) -> str:
        """Return the figures as a notebook shows them."""
        columns = ["config", "estimand", "group", "value", "low", "high", "neutral", "p_holm"]
        return f"<p>{escape(repr(self))}</p>{self.to_frame()[columns].to_html(index=False, na_rep='')}"

    def path_in(self, folder: Path) -> Path:
        """Return its path in a folder: ``STEM.json``, or with digits of its signature where that is another's."""
        path, signature = folder / f"{self.stem}.json", self.signature
        numbered = folder / f"{self.stem}.{hashlib.sha256(signature.encode()).hexdigest()[:8]}.json"
        if self.stem.endswith((".tokens", ".words")):  # of a config of that name: its table would be another result's
            return numbered
        try:
            if read_result(path).signature != signature:
                return numbered
        except ResultError:
            pass  # there is no result
        return path

    def write(self, folder: Path) -> Path:
        """Write ``STEM.json`` into a folder, and tables beside it: ``STEM.parquet`` has the scores.

        Where another result (other weights, seed, number format) has that name, digits of the signature are added.
        ResultError where a file cannot be written.
        """
        path = self.path_in(folder)
        text = json.dumps(self.as_dict(), ensure_ascii=False, indent=2, allow_nan=False)
        rows = None if self.rows is None else pa.Table.from_pandas(self.rows, preserve_index=False)
        rows_path = path.with_suffix(".parquet")
        tables = {tokens_path(path): self.tokens, words_path(path): self.words, rows_path: rows}
        try:
            with new_folders(folder), new_files(tables):  # no table without its result
                for file, table in tables.items():
                    if table is not None:
                        sink = pa.BufferOutputStream()
                        write_groups(sink, [table], self.signature)
                        write_whole(file, bytes(sink.getvalue()))
                if self.scored.read_parts is not None:
                    with whole_file(rows_path) as partial, partial.open("wb") as sink:
                        write_groups(sink, group_rows(self.scored.read_parts()), self.signature)
                write_whole(path, f"{text}\n".encode())
        except (OSError, pa.ArrowException) as error:
            raise ResultError(f"cannot write {path}: {getattr(error, 'strerror', None) or error}") from error
        return path


def group_rows(parts: Iterable[pd.DataFrame]) -> Iterator[pa.Table]:
    """Yield the rows of parts in tables of `GROUP_ROWS` each, the last of what is left."""
    pending, count = list[pd.DataFrame](), 0
    for part in parts:
        pending, count = [*pending, part], count + len(part)
        while count >= GROUP_ROWS:
            whole = pd.concat(pending, ignore_index=True)
            yield pa.Table.from_pandas(whole.iloc[:GROUP_ROWS], preserve_index=False)
            pending, count = [whole.iloc[GROUP_ROWS:]], count - GROUP_ROWS
    if count:
        yield pa.Table.from_pandas(pd.concat(pending, ignore_index=True), preserve_index=False)


def write_groups(sink: Any, tables: Iterable[pa.Table], signature: str) -> None:  # noqa: ANN401 - of Arrow or a file
    """Write tables of the same columns, one below the other, as a Parquet file that carries a signature.

    Each is a row group, so that a table of at most `GROUP_ROWS` rows is written as it is as a whole.
    """
    groups = iter(tables)
    metadata, first = {"signature": signature}, next(groups)
    schema = first.schema.with_metadata(metadata)
    with pq.ParquetWriter(sink, schema, compression="zstd") as writer:
        for table in chain([first], groups):
            writer.write_table(table.replace_schema_metadata(metadata), row_group_size=GROUP_ROWS)


def _as_json(value: object) -> object:
    if isinstance(value, Figure | Fitness | TaskRecord):
        return value.as_dict()
    if isinstance(value, Mapping):
        return {name: _as_json(item) for name, item in value.items()}
    return [_as_json(item) for item in value] if isinstance(value, tuple | list) else value


def tokens_path(path: Path) -> Path:
    """Return where the tokens of the result in the file `path` are: ``STEM.tokens.parquet``."""
    return path.with_suffix(".tokens.parquet")


def words_path(path: Path) -> Path:
    """Return where the words of the result in the file `path` are: ``STEM.words.parquet``."""
    return path.with_suffix(".words.parquet")


def folder_of(out: Path, release: str, model: str) -> Path:
    """Return `out`/RELEASE/MODEL: ``org/name`` is ``org--name``, any other name gets some digits of its sha256.

    A folder and a model of the Hub that have one name share a folder: `Result.write` keeps their results apart.

    >>> folder_of(Path("results"), "sssb@1.1.0", "google-bert/bert-base-uncased").as_posix()
    'results/sssb@1.1.0/google-bert--bert-base-uncased'
    """
    if _HUB_NAME.fullmatch(model) and "--" not in model:  # which no name on the Hub has
        return out / release / model.replace("/", "--")
    readable = re.sub(r"[^A-Za-z0-9._-]+", "--", model).strip(".-")[-80:].strip(".-")
    digits = hashlib.sha256(model.encode("utf-8", "surrogatepass")).hexdigest()[:8]
    return out / release / f"{readable or 'model'}--{digits}"


def check_writable(folder: Path, rows: int = 0) -> None:
    """Raise ResultError where results of so many rows cannot be written to the folder: no rights to it, or no space.

    Where it does not exist, that is asked of the nearest of its parents that does; nothing is left there.
    """
    size = _BYTES + _BYTES_OF_A_ROW * rows
    try:
        nearest = next(parent for parent in (folder, *folder.parents) if parent.exists())
        if not (nearest.is_dir() and os.access(nearest, os.W_OK)):
            raise ResultError(f"cannot write results to {folder}: {nearest} is not a folder that you can write to")
        check_space(nearest, size)
    except OSError as error:
        needed = f" (results may take {sized(size)})" if error.errno in (ENOSPC, EDQUOT, EFBIG) else ""
        raise ResultError(f"cannot write results to {folder}: {error.strerror}{needed}") from error


# --- files ----------------------------------------------------------------------------------------------------------


def looks_like_result(path: Path) -> bool:
    """Return whether a file begins as `Result.write` writes one, whole or damaged; other JSON lies in folders, too."""
    try:
        if not path.is_file():
            return False
        with path.open("rb") as file:
            head = file.read(4096)
    except OSError:
        return False
    return b'"schema"' in head and b'"signature"' in head


def read_result(path: Path) -> Result:
    """Return the result in a JSON file, without its rows; ResultError where it is none, or too large for a page."""
    try:
        raw = read_plain(Path(os.path.realpath(path)), MAX_BYTES)
        data = read_json(raw, values=MAX_VALUES)
        schema = data.get("schema") if isinstance(data, dict) else None
        if type(schema) is int and schema > SCHEMA:
            raise ResultError(f"{path} has format {schema}, and this senseprobe reads up to {SCHEMA}: upgrade it")
        facts = read_facts(raw, data)
    except OSError as error:
        raise ResultError(_unreadable(path, error)) from None
    except UnreadableError as error:
        raise ResultError(f"{path} is not a result of senseprobe: it {error}") from None
    except (ValueError, RecursionError):
        raise ResultError(f"{path} is not a result of senseprobe") from None
    check_facts(path, facts)
    values = {field.name: getattr(facts, field.name) for field in fields(facts)}
    if schema != SCHEMA:  # it names no scale: ours have theirs since, plug-ins had logarithms
        scorer = SCORERS.get(facts.scorer)
        values["scale"] = "log" if scorer is None or scorer.origin else scorer.scale
    values["figures"] = tuple(replace(figure, verdict=None) for figure in facts.figures)  # a file may say any verdict
    return Result(**values)


def _unreadable(path: Path, error: OSError) -> str:
    if path.is_dir():
        files = sum(1 for _ in path.rglob("*.json"))
        return f"{path} is a folder: give the RESULT.json files in it ({files or 'none'} there)"
    if "*" in path.name:
        return f"{path} does not exist: `senseprobe score` writes results into results/RELEASE/MODEL/"
    return f"{path} cannot be read: {error.strerror}"
