"""The tables beside a result, of scores, words and tokens, read with bounds: a small file can unfold into very much."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from senseprobe import parquet_files
from senseprobe.errors import ResultError
from senseprobe.evaluate.estimands import lookup
from senseprobe.evaluate.fitness import reads_tokens
from senseprobe.evaluate.result import Result, tokens_path, words_path
from senseprobe.evaluate.scorers import SCORERS
from senseprobe.evaluate.scorers.association import COSINES
from senseprobe.evaluate.subsample import PAGE_ROWS, page_rows
from senseprobe.evaluate.units import KINDS, ScoredRows
from senseprobe.tables import UnreadableError

MAX_ROWS = 2**24
MAX_UNFOLDED = 2**27  # bytes that rows may take, beside 32 for each of the file: those of 0.1 have three
MAX_PART_BYTES = 2**28  # bytes that a part of the table may take while it is read
MAX_WORDS_BYTES = 2**28  # of the cosines of words: those of the thirty tests of the release `association` have 3 MB
MAX_TABLE_BYTES = 2**31  # two million rows have 200 MB
LARGEST = 1e100  # score, far beyond any: of 1e308, a difference is infinite
ROWS_AT_ONCE = 8_192
OF_THIRD = "unrelated_score"  # the score of the third sentence that StereoSet has


def read_result_tables(path: Path, result: Result) -> Result:
    """Return the result in the file `path` with its scores, words and tokens, as far as they lie beside it.

    ResultError where a table does not belong to it.
    """
    return replace(result, scored=read_scored(path, result), tokens=read_tokens(path, result))


def read_scored(path: Path, result: Result) -> ScoredRows:
    """Return the scores, and the words of association tests, of the result in the file `path`."""
    return ScoredRows(read_scores(path, result), read_words(path, result))


def read_scores(path: Path, result: Result) -> pd.DataFrame | None:
    """Return the table of scores of the result in the file `path`: ``config``, ``id``, numbers; None where none is.

    ResultError where it is not the table with that signature, or holds more than a table of scores does.
    """
    path = path.with_suffix(".parquet")
    # Where a figure is about unrelated sentences, they are scored, too.
    third = (OF_THIRD,) if any(lookup(figure.estimand).reads_unrelated for figure in result.figures) else ()
    with open_table(path, result, MAX_PART_BYTES) as file:
        if file is None:
            return None
        # A chat model's table also has what the model gave to places and labels.
        scorer, numbers = SCORERS.get(result.scorer), KINDS[result.kind].numbers
        of_chat = scorer.columns if scorer is not None and scorer.gates else ()
        columns = ["config", "id", *numbers, *third, *(column for column in of_chat if column not in numbers)]
        _check_table(file, path, columns, result.scorer)
        schema = file.schema_arrow.remove_metadata()
        scores = pa.Table.from_batches(read_batches(file, path, MAX_TABLE_BYTES), schema)
        if scores["config"].null_count or scores["id"].null_count:
            raise ResultError(f"{path} is not a table of scores: it has rows without a config or an id")
        table: pd.DataFrame = scores.to_pandas()
        sizes = np.abs(table[[*schema.names[2:]]].to_numpy(dtype=np.float64))
    if (np.isfinite(sizes) & (sizes > LARGEST)).any():  # nothing that is scored is so large
        raise ResultError(f"{path} is not a table of scores: it has numbers beyond {LARGEST:g}")
    return table


def read_words(path: Path, result: Result) -> pa.Table | None:
    """Return the cosines of words beside the result in the file `path`; None where there are none.

    Nor are there where the scorer is not installed, so that nobody knows its columns. ResultError where it is
    not the table with that signature, or holds more than words of association tests.
    """
    path, scorer = words_path(path), SCORERS.get(result.scorer)
    with open_table(path, result, MAX_WORDS_BYTES) as file:
        if file is None or scorer is None:
            return None
        schema = scorer.cosines or COSINES
        if file.schema_arrow.remove_metadata() != schema:
            raise ResultError(f"{path} is not a table of words: expected the columns {', '.join(schema.names)}")
        return pa.Table.from_batches(read_batches(file, path, MAX_WORDS_BYTES), schema)


@contextmanager
def open_table(path: Path, result: Result, memory: int) -> Iterator[pq.ParquetFile | None]:
    """Open a table that belongs to a result, None where there is none; ResultError where it is another's or damaged.

    `memory`: bytes that opening it may take.
    """
    if not path.exists():
        yield None
        return
    if path.is_symlink() or not path.is_file():
        raise ResultError(f"{path} is not a plain file")
    try:
        with parquet_files.bounded_parquet(path, memory) as file:
            if (file.metadata.metadata or {}).get(b"signature") != result.signature.encode("utf-8", "surrogatepass"):
                raise ResultError(f"{path} does not belong to this result: its signature is different")
            yield file
    except MemoryError:
        raise ResultError(f"{path} needs more memory than a table of a result can") from None
    except (OSError, ValueError, pa.ArrowException) as error:
        raise ResultError(f"{path} cannot be read: {str(error).partition(chr(10))[0]}") from None


def _check_table(file: pq.ParquetFile, path: Path, expected: list[str], scorer: str) -> None:
    """Raise ResultError where columns, or how many rows there are, are not those of a table of scores."""
    names = [field.name for field in file.schema_arrow]
    if names != expected and names != [*expected, OF_THIRD]:
        if scorer not in SCORERS and names[:2] == expected[:2]:
            raise ResultError(f"{path} cannot be read: the scorer {scorer} is of a plug-in that is not installed")
        raise ResultError(f"{path} is not a table of scores: expected the columns {', '.join(expected)}")
    for field in file.schema_arrow:
        is_text = pa.types.is_string(field.type) or pa.types.is_large_string(field.type)
        if not (is_text if field.name in ("config", "id") else field.type == pa.float64()):
            raise ResultError(f"{path} is not a table of scores: its column {field.name} has the type {field.type}")
    if file.metadata.num_rows > MAX_ROWS:
        raise ResultError(
            f"{path} has {file.metadata.num_rows} rows, more than {MAX_ROWS}: move it away for a page without rows"
        )


def read_batches(file: pq.ParquetFile, path: Path, most: int) -> Iterator[pa.RecordBatch]:
    """Yield the rows of a table in parts; ResultError where they are more than `most` bytes, or than it can hold."""
    most = min(most, MAX_UNFOLDED + 32 * path.stat().st_size)
    try:
        yield from parquet_files.read_batches(file, None, ROWS_AT_ONCE, most, MAX_PART_BYTES)
    except UnreadableError as error:
        raise ResultError(f"{path} {error}") from None


# --- tokens -----------------------------------------------------------------------------------------------------------

# The model is at hand only while it scores. Whoever reads a page wants to see which words it does not know.

if TYPE_CHECKING:
    from senseprobe.evaluate.models import Model

MAX_TOKENS_BYTES = 2**28
"""Bytes that a table of tokens may take: of 5,000 pairs of sentences it has 3 MB."""


def tokenize_rows(tables: Mapping[str, pd.DataFrame], kind: str, seed: int, model: "Model") -> pa.Table | None:
    """Return the tokens of the rows that a page shows (`page_rows`), None where it shows none, or of a plug-in's model.

    `tables` are rows of one kind with their scores, by config. The columns are `config`, `id`, and for each text of a
    row its tokens as people read them: lists of strings, with null for a token that the tokenizer does not know.
    """
    if not reads_tokens(model) or not KINDS[kind].titles:
        return None
    needed = {"id", "gold", *KINDS[kind].numbers}
    columns = [table[[name for name in table if name in needed]].assign(config=name) for name, table in tables.items()]
    chosen, start, parts = page_rows(pd.concat(columns, ignore_index=True), seed), 0, []
    for name, table in tables.items():
        positions = chosen[(chosen >= start) & (chosen < start + len(table))] - start
        parts.append(table.iloc[positions].assign(config=name))
        start += len(table)
    return tokenize_texts(pd.concat(parts, ignore_index=True), kind, model)


def tokenize_texts(rows: pd.DataFrame, kind: str, model: Any) -> pa.Table:  # noqa: ANN401 - of any family
    """Return the tokens of rows of a kind, which have `config`, `id` and texts, as `tokenize_rows` does."""
    texts, tokens = KINDS[kind].texts, model.tokens
    distinct = list(dict.fromkeys(text for column in texts for text in rows[column]))
    read = dict(zip(distinct, map(tokens.readable, tokens.of(distinct)), strict=True))
    tokenized = {column: [read[text] for text in rows[column]] for column in texts}
    return pa.table({"config": rows["config"], "id": rows["id"], **tokenized}, schema=_tokens_schema(kind))


def read_tokens(path: Path, result: Result) -> pa.Table | None:
    """Return the tokens beside the result in the file `path`, as `tokenize_rows` made them; None where there are none.

    ResultError where it is not the table with that signature, or holds more than tokens of a page's rows.
    """
    path, schema = tokens_path(path), _tokens_schema(result.kind)
    with open_table(path, result, MAX_TOKENS_BYTES) as file:
        if file is None:
            return None
        if file.schema_arrow.remove_metadata() != schema:
            raise ResultError(f"{path} is not a table of tokens: expected the columns {', '.join(schema.names)}")
        if file.metadata.num_rows > PAGE_ROWS:
            raise ResultError(f"{path} has {file.metadata.num_rows} rows, more than {PAGE_ROWS}")
        return pa.Table.from_batches(read_batches(file, path, MAX_TOKENS_BYTES), schema)


def _tokens_schema(kind: str) -> pa.Schema:
    texts = [(column, pa.list_(pa.string())) for column in KINDS[kind].texts]
    return pa.schema([("config", pa.string()), ("id", pa.string()), *texts])
