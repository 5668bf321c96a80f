"""The record of a scoring: figures, and a signature that replays it."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from senseprobe.errors import ResultError
from senseprobe.files import write_whole
from senseprobe.records import Figure

__all__ = ["Result", "folder_of", "read_result"]

SCHEMA = 1


@dataclass(frozen=True, kw_only=True, slots=True)
class Result:
    """What one scorer found for one model on one release.

    - `model`: its `name`, and sha256 of `weights`, `config` and `tokenizer`, and `dtype`.
    - `release`: `name` (NAME@VERSION), `content` hash, and the `config` that was asked for, None for all.
    - `estimands` come from `figures`; `rows` is the table of scores per pair, kept beside the result.
    """

    scorer: str
    model: Mapping[str, str]
    release: Mapping[str, str | None]
    senseprobe: str
    seed: int
    figures: tuple[Figure, ...]
    rows: pd.DataFrame | None = None

    @property
    def signature(self) -> str:
        """Everything that the numbers depend on, in one line."""
        config = self.release["config"]
        parts = {
            "scorer": self.scorer,
            "release": f"{self.release['name']}:{config}" if config else self.release["name"],
            "content": str(self.release["content"])[:12],
            "model": self.model["name"],
            **{key: self.model[key][:12] for key in ("weights", "config", "tokenizer", "dtype")},
            "seed": self.seed,
            "senseprobe": self.senseprobe,
        }
        return "|".join(f"{key}={value}" for key, value in parts.items())

    @property
    def stem(self) -> str:
        """The name of its files, without suffix: ``aul`` or ``aul.race``."""
        config = self.release["config"]
        return f"{self.scorer}.{config}" if config else self.scorer

    def as_dict(self) -> dict[str, Any]:
        """The result with the stable keys of its file."""
        return {
            "schema": SCHEMA,
            "signature": self.signature,
            "scorer": self.scorer,
            "model": dict(self.model),
            "release": dict(self.release),
            "senseprobe": self.senseprobe,
            "seed": self.seed,
            "figures": [figure.as_dict() for figure in self.figures],
        }

    def write(self, folder: Path) -> Path:
        """Write ``STEM.json`` and, beside it, ``STEM.parquet`` with the scores; ResultError where that fails."""
        path = folder / f"{self.stem}.json"
        text = json.dumps(self.as_dict(), ensure_ascii=False, indent=2, allow_nan=False) + "\n"
        try:
            if self.rows is not None:
                write_whole(path.with_suffix(".parquet"), _parquet(self.rows, self.signature))
            write_whole(path, text.encode())
        except (OSError, pa.ArrowException) as error:
            raise ResultError(f"cannot write {path}: {getattr(error, 'strerror', None) or error}") from error
        return path


def _parquet(rows: pd.DataFrame, signature: str) -> bytes:
    table = pa.Table.from_pandas(rows, preserve_index=False).replace_schema_metadata({"signature": signature})
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink, compression="zstd")
    return bytes(sink.getvalue())


def folder_of(out: Path, release: str, model: str) -> Path:
    """Where results of a model on a release go: `out`/RELEASE/MODEL, with a name that any file system takes."""
    name = re.sub(r"[^A-Za-z0-9._-]+", "--", model.strip("/")).strip(".-") or "model"
    return out / release / name[-120:]


def read_result(path: Path) -> Result:
    """The result in a JSON file, without its rows; ResultError where it is none."""
    try:
        data = json.loads(path.read_bytes())
        if data["schema"] > SCHEMA:
            raise ResultError(f"{path} is of form {data['schema']}, this senseprobe reads up to {SCHEMA}: upgrade it")
        figures = tuple(Figure(**{**figure, "fixed": tuple(figure["fixed"])}) for figure in data["figures"])
        known = {key: data[key] for key in ("scorer", "model", "release", "senseprobe", "seed")}
        return Result(**known, figures=figures)
    except OSError as error:
        raise ResultError(f"{path} cannot be read: {error.strerror}") from None
    except (ValueError, KeyError, TypeError, RecursionError):
        raise ResultError(f"{path} is no result of senseprobe") from None
