"""The tokens that a model makes of the texts of a result's rows: stored with it, and shown where single rows are.

The model is at hand only while it scores. Whoever reads a page wants to see which words it does not know.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd
import pyarrow as pa

from senseprobe.errors import ResultError
from senseprobe.evaluate.estimands.comparison import SCORES
from senseprobe.evaluate.result import Result, tokens_path
from senseprobe.evaluate.score_tables import open_table, read_batches
from senseprobe.evaluate.subsample import PAGE_ROWS, page_rows
from senseprobe.evaluate.units import KINDS

if TYPE_CHECKING:
    from senseprobe.evaluate.models import Model

MAX_BYTES = 2**28
"""Bytes that a table of tokens may take: of 5,000 pairs of sentences it has 3 MB."""


def tokenize_rows(tables: Mapping[str, pd.DataFrame], kind: str, seed: int, model: "Model") -> pa.Table | None:
    """Return the tokens of the rows that a page shows (`page_rows`), None where it shows none, or of a plug-in's model.

    `tables` are rows of one kind with their scores, by config. The columns are `config`, `id`, and for each text of a
    row its tokens as people read them: lists of strings, with null for a token that the tokenizer does not know.
    """
    if (tokens := getattr(model, "tokens", None)) is None or not KINDS[kind].titles:
        return None
    from senseprobe.evaluate.models.base import TextTokens

    if not isinstance(tokens, TextTokens):
        return None
    texts, needed = KINDS[kind].texts, {"id", "gold", *SCORES[kind]}
    columns = [table[[name for name in table if name in needed]].assign(config=name) for name, table in tables.items()]
    chosen, start, parts = page_rows(pd.concat(columns, ignore_index=True), seed), 0, []
    for name, table in tables.items():
        own = chosen[(chosen >= start) & (chosen < start + len(table))] - start
        parts.append(table.iloc[own][["id", *texts]].assign(config=name))
        start += len(table)
    rows = pd.concat(parts, ignore_index=True)
    distinct = list(dict.fromkeys(text for column in texts for text in rows[column]))
    read = dict(zip(distinct, map(tokens.readable, tokens.of(distinct)), strict=True))
    tokenized = {column: [read[text] for text in rows[column]] for column in texts}
    return pa.table({"config": rows["config"], "id": rows["id"], **tokenized}, schema=_schema(kind))


def read_tokens(path: Path, result: Result) -> pa.Table | None:
    """Return the tokens beside the result in the file `path`, as `tokenize_rows` made them; None where there are none.

    ResultError where it is not the table with that signature, or holds more than tokens of a page's rows.
    """
    path, schema = tokens_path(path), _schema(result.kind)
    with open_table(path, result, MAX_BYTES) as file:
        if file is None:
            return None
        if file.schema_arrow.remove_metadata() != schema:
            raise ResultError(f"{path} is no table of tokens: expected the columns {', '.join(schema.names)}")
        if file.metadata.num_rows > PAGE_ROWS:
            raise ResultError(f"{path} has {file.metadata.num_rows} rows, more than {PAGE_ROWS}")
        return pa.Table.from_batches(read_batches(file, path, MAX_BYTES), schema)


def _schema(kind: str) -> pa.Schema:
    texts = [(column, pa.list_(pa.string())) for column in KINDS[kind].texts]
    return pa.schema([("config", pa.string()), ("id", pa.string()), *texts])
