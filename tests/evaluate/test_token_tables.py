"""The tokens that are stored with a result: of which rows, how they are spelt, and what is refused of strangers.

Expected tokens are those of transformers' own `tokenize`, and of byte-level vocabularies worked out by hand from UTF-8.
"""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from senseprobe import api
from senseprobe.api.results import load_result
from senseprobe.errors import ResultError
from senseprobe.evaluate import score_tables, subsample
from senseprobe.evaluate.result import Result, read_result
from senseprobe.evaluate.score_tables import read_tokens, tokenize_rows
from senseprobe.evaluate.subsample import largest_rows, page_rows, row_sizes

if TYPE_CHECKING:
    from senseprobe.evaluate.models.base import TextTokens


@pytest.fixture(scope="module")
def scored(tiny_models: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A result of the tiny BERT on race-matched, as `score` writes it."""
    folder = tmp_path_factory.mktemp("results")
    api.score(tiny_models["bert"], "sssb@1.0.2", config="race-matched", out=folder, store=False)
    (path,) = folder.rglob("*.json")
    return path


@pytest.fixture(scope="module")
def words(tiny_models: dict[str, Path]) -> "TextTokens":
    """The tokens of the tiny BERT, whose tokenizer is of words."""
    from transformers import AutoTokenizer

    from senseprobe.evaluate.models.base import TextTokens

    return TextTokens(AutoTokenizer.from_pretrained(tiny_models["bert"]))


def test_tokens_lie_beside_the_scores(scored: Path, tiny_models: dict[str, Path]) -> None:
    """All 25 pairs, each sentence in the tokens of its tokenizer; where that has [UNK], there is null."""
    from transformers import AutoTokenizer

    tokens = read_tokens(scored, read_result(scored))
    assert tokens is not None
    rows = api.load("sssb@1.0.2").table("race-matched")
    assert tokens["id"].to_pylist() == rows["id"].tolist()
    tokenizer = AutoTokenizer.from_pretrained(tiny_models["bert"])
    for role in ("stereo", "anti"):
        spelt = [tokenizer.tokenize(text) for text in rows[role]]
        assert tokens[role].to_pylist() == [[None if t == "[UNK]" else t for t in text] for text in spelt]
    assert any(token is not None and token.startswith("##") for text in tokens["stereo"].to_pylist() for token in text)
    assert load_result(scored).tokens == tokens


def test_scoring_twice_gives_the_same_bytes(scored: Path, tiny_models: dict[str, Path], tmp_path: Path) -> None:
    """Tokens have no time and no order of their own."""
    api.score(tiny_models["bert"], "sssb@1.0.2", config="race-matched", out=tmp_path, store=False)
    (again,) = tmp_path.rglob("*.tokens.parquet")
    assert again.read_bytes() == scored.with_suffix(".tokens.parquet").read_bytes()


def test_a_config_called_tokens_overwrites_none(scored: Path, tmp_path: Path) -> None:
    """`aul.tokens.parquet` holds the tokens of `aul`, so the scores of a config of that name are called otherwise."""
    result = read_result(scored)
    whole = replace(result, release={**result.release, "config": None})
    part = replace(result, release={**result.release, "config": "tokens"})
    assert whole.write(tmp_path).name == "aul.json"
    assert part.write(tmp_path).name.startswith("aul.tokens.")
    assert part.path_in(tmp_path).with_suffix(".parquet").name != "aul.tokens.parquet"


def bytes_tokenizer() -> "TextTokens":
    """A byte-level tokenizer without merges but one: each byte is a token, and ` c` is one."""
    from tokenizers import Tokenizer, decoders, pre_tokenizers
    from tokenizers.models import BPE
    from transformers import PreTrainedTokenizerFast

    from senseprobe.evaluate.models.base import TextTokens

    letters = sorted(pre_tokenizers.ByteLevel.alphabet())
    vocabulary = {letter: number for number, letter in enumerate([*letters, "Ġc"])}
    tokenizer = Tokenizer(BPE(vocabulary, [("Ġ", "c")]))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    return TextTokens(PreTrainedTokenizerFast(tokenizer_object=tokenizer))


def test_bytes_are_readable() -> None:
    """UTF-8 has é as C3 A9, neither of which is a letter; a blank at the beginning is shown as SentencePiece does."""
    tokens = bytes_tokenizer()
    (ids,) = tokens.of(["a café\n"])
    assert tokens.readable(ids) == ["a", "▁c", "a", "f", "<0xC3>", "<0xA9>", "\n"]


def test_unknown_words_are_null(words: "TextTokens") -> None:
    """A tokenizer of words has [UNK] for a script that it never saw."""
    (ids,) = words.of(["the 模"])
    assert words.readable(ids)[-1] is None


# --- which rows -----------------------------------------------------------------------------------------------------


def many(count: int) -> pd.DataFrame:
    """Rows of two configs; the n-th has a difference of n, up or down in turns."""
    number = np.arange(count)
    return pd.DataFrame(
        {
            "config": np.where(number % 3 == 0, "first", "second"),
            "id": [f"row{each}" for each in number],
            "stereo_score": np.where(number % 2, number, -number).astype(float),
            "anti_score": 0.0,
        }
    )


def test_few_rows_are_all_there() -> None:
    """Up to 5,000 rows nothing is drawn."""
    assert page_rows(many(5_000), 0).tolist() == list(range(5_000))


def test_many_rows_are_drawn_by_seed() -> None:
    """At most 5,000, the fifty largest differences among them; the same in any order, others by another seed."""
    rows = many(9_000)
    chosen = page_rows(rows, 0)
    assert 4_950 <= len(chosen) <= 5_000
    assert {*range(8_950, 9_000)} <= {*chosen.tolist()}
    mixed = rows.sample(frac=1, random_state=1)
    assert {*mixed["id"].iloc[page_rows(mixed, 0)]} == {*rows["id"].iloc[chosen]}
    other = page_rows(rows, 1)
    assert 0.4 < len({*other.tolist()} & {*chosen.tolist()}) / 5_000 < 0.7, "5/9 of all are in each"
    # A sample in proportion: a third of the rows is of the first config.
    assert abs((rows["config"].iloc[chosen] == "first").mean() - 1 / 3) < 0.01


def test_sizes_of_inference() -> None:
    """The largest probability of a label that is wrong: where none is known to be right, of what is not neutral."""
    rows = pd.DataFrame({"entailment": [0.7, 0.7, 0.1], "neutral": [0.2, 0.2, 0.8], "contradiction": [0.1, 0.1, 0.1]})
    assert row_sizes(rows).tolist() == [0.7, 0.7, 0.1]
    assert row_sizes(rows.assign(gold=["entailment", "neutral", "contradiction"])).tolist() == [0.2, 0.7, 0.8]


def test_rows_without_a_number_are_not_the_largest() -> None:
    """Nor are ties; equal differences are in order of configs and ids."""
    rows = many(4).assign(stereo_score=[np.nan, 0.0, 1.0, -1.0])
    assert largest_rows(rows, 3).tolist() == [3, 2], "row3 is of first, row2 of second"


def test_models_of_plug_ins_have_none() -> None:
    """Their tokens are their own."""
    model: Any = SimpleNamespace(tokens=object())
    assert tokenize_rows({"a": many(3).drop(columns="config")}, "contrast", 0, model) is None


def test_only_drawn_rows_are_tokenized(words: "TextTokens", monkeypatch: pytest.MonkeyPatch) -> None:
    """Of more rows than a page shows, the tokens are those of `page_rows`, by config."""
    monkeypatch.setattr(subsample, "PAGE_ROWS", 60)
    model: Any = SimpleNamespace(tokens=words)
    rows = many(300).assign(stereo="he", anti="she")
    tables = {str(name): part.drop(columns="config") for name, part in rows.groupby("config")}
    tokens = tokenize_rows(tables, "contrast", 7, model)
    assert tokens is not None
    ordered = pd.concat([rows[rows["config"] == name] for name in tables], ignore_index=True)
    expected = ordered.iloc[page_rows(ordered, 7)]
    assert 50 <= tokens.num_rows <= 60
    assert list(zip(*(tokens[name].to_pylist() for name in ("config", "id")), strict=True)) == list(
        zip(expected["config"], expected["id"], strict=True)
    )


# --- files of strangers ---------------------------------------------------------------------------------------------


def forged(scored: Path, folder: Path, change: Callable[[pa.Table], pa.Table]) -> tuple[Path, Result]:
    """A copy of a result whose tokens are changed."""
    path, tokens = folder / scored.name, scored.with_suffix(".tokens.parquet")
    path.write_bytes(scored.read_bytes())
    pq.write_table(change(pq.read_table(tokens)), path.with_suffix(".tokens.parquet"))
    return path, read_result(path)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda table: table.replace_schema_metadata({"signature": "x"}), "its signature is different"),
        (lambda table: table.drop_columns(["anti"]), "not a table of tokens: expected the columns config, id, stereo"),
        (lambda table: table.set_column(2, "stereo", table["id"]), "is not a table of tokens"),
    ],
)
def test_forged_tokens(change: Callable[[pa.Table], pa.Table], message: str, scored: Path, tmp_path: Path) -> None:
    """A table that is not of this result, or holds something else, is refused."""
    path, result = forged(scored, tmp_path, change)
    with pytest.raises(ResultError, match=message):
        read_tokens(path, result)


def test_bounds(scored: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """More rows, or more bytes, than a page has use for are refused; so are links and what is no Parquet."""
    path, result = forged(scored, tmp_path, lambda table: table)
    for bound, value, message in (
        ("PAGE_ROWS", 24, "has 25 rows, more than 24"),
        ("MAX_TOKENS_BYTES", 100, "takes more mem"),
    ):
        with monkeypatch.context() as patch:
            patch.setattr(score_tables, bound, value)
            with pytest.raises(ResultError, match=f"{message}|holds more than"):
                read_tokens(path, result)
    tokens = path.with_suffix(".tokens.parquet")
    content = tokens.read_bytes()
    tokens.write_bytes(b"PAR1\0\0\0\0PAR1")
    with pytest.raises(ResultError, match="cannot be read"):
        read_tokens(path, result)
    (tmp_path / "elsewhere").write_bytes(content)
    tokens.unlink()
    tokens.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(ResultError, match="is not a plain file"):
        read_tokens(path, result)
    tokens.unlink()
    assert read_tokens(path, result) is None, "as of a result that is older than tokens"
