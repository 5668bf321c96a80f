"""Scorers of sense embeddings: the largest cosine over pairs of senses, and single-category tests of contrasts.

words of a test -> their senses -> cosines of all pairs of senses -> the largest for each target and attribute
rows of contrasts -> vectors of a target and of the values of its two sentences, or of a gender direction -> cosines
"""

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from importlib.resources import files
from typing import Any, Protocol

import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray

from senseprobe.errors import SenseprobeError
from senseprobe.evaluate.models.encodings import VectorModel
from senseprobe.evaluate.scorers.association import (
    ATTRIBUTES,
    COSINES,
    NEARNESS,
    TARGETS,
    encode_level,
    pair_words,
    select_words,
)
from senseprobe.evaluate.scorers.association import reasons_of_level as reasons_of
from senseprobe.evaluate.scorers.base import Scorer
from senseprobe.evaluate.units import HAS_VECTOR, ScoredRows, Unit, UnitTable, identity_of
from senseprobe.statistics import BoolArray, FloatArray, difference_direction, pairwise_cosines, unit_vectors
from senseprobe.tables import csv_objects, read_csv, split_lines

SENSE_COLUMNS = ("target_sense", "attribute_sense", "target_senses", "attribute_senses")
"""The keys that were compared, and how many senses each word has, beside the columns of `COSINES`."""

SENSE_COSINES = pa.schema(
    [*COSINES, *zip(SENSE_COLUMNS, (pa.string(), pa.string(), pa.int64(), pa.int64()), strict=True)]
)
"""The columns of the words of these scorers; those of keys are null where words were compared."""


class SenseVectors(Protocol):
    """What is asked of a sense embedding (`vectors.SenseFile`)."""

    name: str

    def senses(self, word: str) -> tuple[str, ...]:
        """Return the sense keys of a word that it has, in WordNet's order."""

    def vectors(self, keys: Sequence[str]) -> FloatArray:
        """Return their vectors, of shape (keys, dimensions)."""

    def refuses(self, word_class: str) -> str:
        """Return why words of a class cannot be looked up; empty where they can."""


@dataclass(frozen=True, slots=True)
class NearestSenses:
    """For N targets and M attributes the largest cosine, and the numbers of the two senses that have it.

    All are of shape (N, M); a word without senses has NaN, and -1.
    """

    cosines: FloatArray
    first: NDArray[np.intp]
    second: NDArray[np.intp]


def nearest_senses(first: Sequence[FloatArray], second: Sequence[FloatArray]) -> NearestSenses:
    """Return the largest cosine max_ij cos(s_i, a_j) of each two words (Zhou et al. 2022, before section 4).

    A word is the vectors of its senses, of shape (senses, dimensions). The largest may be negative; the first pair
    counts where two are equally near.
    """
    shape = len(first), len(second)
    nearest = NearestSenses(np.full(shape, np.nan), np.full(shape, -1), np.full(shape, -1))
    starts = np.cumsum([*map(len, second)])[:-1]
    joined = np.concatenate(second) if len(second) else np.empty((0, 0))
    for row, senses in enumerate(first):
        if not len(senses) or not len(joined):
            continue
        cosines = np.nan_to_num(pairwise_cosines(senses, joined), nan=-np.inf)
        for column, pairs in enumerate(np.split(cosines, starts, axis=1)):
            if pairs.size and (largest := pairs.max()) > -np.inf:
                nearest.cosines[row, column] = largest
                nearest.first[row, column], nearest.second[row, column] = divmod(int(pairs.argmax()), pairs.shape[1])
    return nearest


def compare_senses(rows: pd.DataFrame, model: SenseVectors) -> pd.DataFrame:
    """Return the largest cosines of the words of one test, a row for each target with each attribute.

    `rows` have `role` and `word`. The columns are those of `COSINES` without config and test, and `SENSE_COLUMNS`.
    """
    words = rows.drop_duplicates(["role", "word"])
    pairs, *sides = pair_words(*(words[name].to_numpy(dtype=object) for name in ("role", "word")))
    keys = [[model.senses(word) for word in words["word"].iloc[numbers]] for numbers in sides]
    nearest = nearest_senses(*([model.vectors(senses) for senses in side] for side in keys))
    numbers, chosen = np.indices(nearest.cosines.shape), (nearest.first, nearest.second)
    for side, by_word, rows_of_side, senses in zip(("target", "attribute"), keys, numbers, chosen, strict=True):
        of_rows = [by_word[number] for number in rows_of_side.ravel()]
        pairs[f"{side}_sense"] = [k[n] if n >= 0 else None for k, n in zip(of_rows, senses.ravel(), strict=True)]
        pairs[f"{side}_senses"] = [*map(len, of_rows)]
    return pairs.assign(identity=identity_of(rows), cosine=nearest.cosines.ravel(), check=np.nan)


def tabulate_senses(units: UnitTable, model: SenseVectors) -> ScoredRows:
    """Return rows of association tests with their associations, and the largest cosines of their words' senses."""
    tables, words = {}, []
    for config, table in units.rows.items():
        scores = pd.Series(np.nan, table.index)
        for test, rows in table.groupby("test", sort=False):
            pairs = compare_senses(rows, model)
            means = pd.concat([_mean_difference(pairs, "target"), _mean_difference(pairs, "attribute")])
            keys = pd.MultiIndex.from_frame(rows[["role", "word"]])
            scores[rows.index] = means.reindex(keys).to_numpy()
            words.append(pairs.assign(config=config, test=test))
        has = [bool(model.senses(word)) for word in table["word"]]
        tables[config] = table.assign(score=scores, **{HAS_VECTOR: has})
    return ScoredRows.from_tables(tables, ["score"], _join_words(words))


def _mean_difference(words: pd.DataFrame, side: str) -> "pd.Series[float]":
    """Return by role and word the mean cosine of targets with A less that with B, or of attributes with X less Y."""
    other, sides = ("attribute", ATTRIBUTES) if side == "target" else ("target", TARGETS)
    index = [f"{side}_role", side]
    means = words.pivot_table("cosine", index, f"{other}_role", dropna=False).reindex(columns=sides)
    return means[sides[0]] - means[sides[1]]


# --- single-category tests of contrasts -------------------------------------------------------------------------------

GENDER_DIRECTION = "gender direction"
"""The attribute of targets whose two sentences differ in a pronoun."""

_PRONOUNS = {**dict.fromkeys(("he", "him", "his"), 1.0), **dict.fromkeys(("she", "her", "hers"), -1.0)}
_VALUES = {"target": "target_text", "stereo_value": "stereo_text", "anti_value": "anti_text"}
_KEYS = {"target": "sense_key", "stereo_value": "stereo_value_key", "anti_value": "anti_value_key"}
_NO_KEY = "no sense key of "


def select_contrasts(tables: Mapping[str, pd.DataFrame], *, by_key: bool) -> Mapping[str, pd.DataFrame]:
    """Return the rows that have a target and two values, with the texts to look up: words, or sense keys.

    Of sentences that differ in more than one word, and so have no single value, there are none. SenseprobeError where
    no row has values, or where sense keys are asked for that a config does not have.
    """
    chosen = {}
    for config, table in tables.items():
        if not {*_VALUES} <= {*table}:
            continue
        rows = table[table[[*_VALUES]].notna().all(axis=1)]
        rows = rows[rows["minimal"].to_numpy(dtype=np.bool_)] if "minimal" in rows else rows
        if rows.empty:
            continue
        towards = _towards_male(rows)
        needed = ["sense_key"] if towards.notna().all() else [*_KEYS.values()]
        if by_key and (lacking := [name for name in needed if name not in rows]):
            raise SenseprobeError(
                f"{config} has no sense keys of its words ({', '.join(lacking)}): use a release that has them, "
                "such as sssb@1.1.0, or -s sc-weat-word"
            )
        texts = {text: _texts(rows, name, by_key=by_key) for name, text in _VALUES.items()}
        for text in [*_VALUES.values()][1:]:  # of pronouns nothing is looked up
            texts[text] = texts[text].where(towards.isna(), texts["target_text"])
        chosen[config] = rows.assign(**texts)
    if not chosen:
        raise SenseprobeError(
            "no row has a target word and one differing word for each sentence, which single-category tests need"
        )
    return chosen


def _texts(rows: pd.DataFrame, name: str, *, by_key: bool) -> "pd.Series[str]":
    """Return what is looked up for a column of words: these, or their keys; what is missing is named."""
    missing = _NO_KEY + rows[name].astype(str)
    texts: pd.Series[str] = rows.get(_KEYS[name], missing).fillna(missing) if by_key else rows[name].astype(str)
    return texts


def _towards_male(rows: pd.DataFrame) -> "pd.Series[float]":
    """Return 1 where the first sentence of a row has a male pronoun, -1 where a female one, NaN for other values."""
    return rows["stereo_value"].str.lower().map(_PRONOUNS)


def tabulate_contrasts(units: UnitTable, model: Any, *, by_key: bool) -> ScoredRows:  # noqa: ANN401 - of any family
    """Return rows of contrasts with the cosines of their target with the values of either sentence, and all cosines.

    Where values are pronouns, it is the cosine with the gender direction (equation 8 of Zhou et al. 2022), and for the
    female pronoun's sentence less than that.
    """
    direction, named = _gender_direction(model, by_key=by_key)
    tables, words = {}, []
    for config, table in units.rows.items():
        texts = _VALUES.values()
        of_keys = [model.vectors([*table[text]]) for text in texts] if by_key else []
        vectors = of_keys or [units.vectors(config, text).astype(np.float64) for text in texts]
        towards = _towards_male(table).to_numpy(dtype=np.float64)
        gendered = np.isfinite(towards)
        unit = unit_vectors(vectors[0])
        of_gender = pairwise_cosines(vectors[0], direction[None])[:, 0]
        scores = {}
        for side, sign, values in (("stereo", 1, vectors[1]), ("anti", -1, vectors[2])):
            cosines = np.einsum("nd,nd->n", unit, unit_vectors(values))
            scores[side] = np.where(gendered, sign * towards * of_gender, cosines)
            rows = table[~gendered].assign(cosine=scores[side][~gendered])
            words.append(_cosines_of(rows, config, side, model, by_key=by_key))
        rows = table[gendered].assign(cosine=of_gender[gendered], stereo_value=named)
        words.append(_cosines_of(rows, config, "stereo", model, by_key=by_key).assign(attribute_sense=None))
        tables[config] = table.assign(**{f"{side}_score": values for side, values in scores.items()})
    return ScoredRows.from_tables(
        tables, ["stereo_score", "anti_score"], _join_words([part for part in words if len(part)])
    )


def _join_words(parts: Iterable[pd.DataFrame]) -> pa.Table:
    return pa.Table.from_pandas(pd.concat(parts, ignore_index=True), SENSE_COSINES, preserve_index=False)


def _cosines_of(
    rows: pd.DataFrame,
    config: str,
    side: str,
    model: Any,  # noqa: ANN401
    *,
    by_key: bool,
) -> pd.DataFrame:
    """Return the rows of `Result.words` of one side's values: each target, by key, with each value once."""
    value = f"{side}_value"
    rows = rows.drop_duplicates(["target", "target_text", value])
    words = {*rows["target"], *rows[value]} if hasattr(model, "senses") else set()
    counts = {word: len(model.senses(word)) for word in words}
    cosines = pd.DataFrame(
        {
            "config": config,
            "test": config,
            "identity": rows.get("bias_type", ""),
            "target": rows["target"],
            "target_role": TARGETS[0],
            "attribute": rows[value],
            "attribute_role": dict(zip(("stereo", "anti"), ATTRIBUTES, strict=True))[side],
            "cosine": rows["cosine"],
            "check": np.nan,
            "target_sense": rows["target_text"] if by_key else None,
            "attribute_sense": rows[f"{side}_text"] if by_key else None,
            "target_senses": rows["target"].map(counts).astype("Int64"),
            "attribute_senses": rows[value].map(counts).astype("Int64"),
        }
    )
    return cosines.reindex(columns=SENSE_COSINES.names)


def _gender_direction(model: Any, *, by_key: bool) -> tuple[FloatArray, str]:  # noqa: ANN401 - of any family
    """Return the direction of the pairs in gender_senses.csv, male first, and its name, with the pairs it is without.

    NaN where there is no pair of which both have a vector.
    """
    pairs = read_gender_pairs("sense_noun" if by_key else "word")
    read = model.vectors if by_key else partial(_word_vectors, model)
    direction, has = span_direction(*map(read, zip(*pairs.values(), strict=True)))
    without = [name for name, there in zip(pairs, has.tolist(), strict=True) if not there]
    lacks = f" without {', '.join(without)}" if without else ""
    return direction, GENDER_DIRECTION + (lacks if has.any() else ": no pair has vectors")


def read_gender_pairs(column: str) -> dict[str, tuple[str, str]]:
    """Return the pairs of gender_senses.csv by name, male first: their words (``word``), or keys (``sense_noun``).

    >>> read_gender_pairs("word")["man-woman"], read_gender_pairs("sense_noun")["man-woman"]
    (('man', 'woman'), ('man%1:18:00::', 'woman%1:18:00::'))
    """
    text = (files("senseprobe") / "wordlists" / "gender_senses.csv").read_text("utf-8")
    sides: dict[str, dict[str, str]] = {"male": {}, "female": {}}
    for _, row in csv_objects(read_csv(split_lines(text))):
        sides[row["gender"]][row["pair"]] = row[column]
    return {name: (word, sides["female"][name]) for name, word in sides["male"].items()}


def span_direction(first: FloatArray, second: FloatArray) -> tuple[FloatArray, BoolArray]:
    """Return the direction of equation 8 of the pairs that have both vectors, NaN without any, and which these are."""
    has: BoolArray = np.asarray(np.isfinite(first + second).all(axis=1))
    return difference_direction(first[has], second[has]) if has.any() else np.full(first.shape[1], np.nan), has


def _word_vectors(model: VectorModel, words: Sequence[str]) -> FloatArray:
    """Return the vectors of words, shape (words, numbers)."""
    units = [Unit(word) for word in words]
    vectors = {unit: vector for answers in model.encode("word", {*units}, ()) for unit, vector in answers}
    return np.array([vectors[unit] for unit in units], dtype=np.float64)


# --- scorers ----------------------------------------------------------------------------------------------------------


def _find_keys(model: SenseVectors, units: Iterable[Unit], done: Container[Unit]) -> Iterator[Any]:
    """Yield units, which are sense keys, with 1, or NaN where there is no vector."""
    missing = [unit for unit in units if unit not in done]
    vectors = model.vectors([unit.text for unit in missing])
    has = np.where(np.isfinite(vectors).all(axis=1), 1.0, np.nan).astype(np.float32)
    yield [(unit, has[number : number + 1]) for number, unit in enumerate(missing)]


def _reasons_of_keys(model: SenseVectors, units: Sequence[Unit]) -> Iterator[str]:
    for unit in units:
        yield unit.text if unit.text.startswith(_NO_KEY) else f"no vector of the sense {unit.text}"


_PAPER = "Zhou, Kaneko & Bollegala 2022"


def _single_category(level: str, title: str, says: str, **functions: Any) -> Scorer:  # noqa: ANN401
    by_key = level == "sense"
    return Scorer(
        id=f"sc-weat-{level}",
        title=title,
        ability="vectors",
        rows="contrast",
        roles={text: text for text in _VALUES.values()},
        unit="cosine",
        range=(-1.0, 1.0),
        direction="higher: the target is nearer to the word that the sentence says of it",
        scale="probability",
        source=_PAPER,
        equation="cosines of equations 2 and 3 for a single target, and equation 8; the paper has no equation for "
        "single targets",
        says=says,
        cannot_say=f"{NEARNESS} It is not a preference: no sentence is scored.",
        level=level,
        estimands=("sc-weat", "gender-direction", "sense-difference"),
        cosines=SENSE_COSINES,
        select=partial(select_contrasts, by_key=by_key),
        tabulate=partial(tabulate_contrasts, by_key=by_key),
        **functions,
    )


SCORERS = (
    Scorer(
        id="weat-sense",
        title="associations of senses",
        ability="vectors",
        unit="cosine",
        range=(-2.0, 2.0),
        direction="higher: a target is nearer to the attributes A than to B, or an attribute nearer to X than to Y",
        scale="probability",
        source=_PAPER,
        equation="the largest cosine max_ij cos(s_i, a_j) over pairs of senses, before section 4",
        says="Vectors of the senses of words. For two words, the two nearest senses count.",
        cannot_say=f"{NEARNESS} Words with more senses have larger maxima, whatever their meanings.",
        level="sense",
        roles={"word": "word"},
        cosines=SENSE_COSINES,
        select=select_words,
        tabulate=tabulate_senses,
        score=partial(encode_level, "sense"),
        why=partial(reasons_of, "sense"),
    ),
    _single_category(
        "word",
        "nearness of words",
        "Vectors of a target word and of the differing words of its two sentences. In a file of sense vectors, a "
        "word's vector is the mean of its senses (equation 7).",
        score=partial(encode_level, "word"),
        why=partial(reasons_of, "word"),
    ),
    _single_category(
        "sense",
        "nearness of senses",
        "Vectors of the target's sense in the row, and of the senses of the differing words of its two sentences.",
        score=_find_keys,
        why=_reasons_of_keys,
    ),
)
