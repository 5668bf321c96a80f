"""The scorers of association tests: vectors of words, of sentences, or of words in sentences, and their cosines.

vectors of units -> a word's vectors averaged -> cosines within a test -> `Result.words`, and a number for each row
"""

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray

from senseprobe.errors import SenseprobeError
from senseprobe.evaluate.models.encodings import VectorModel
from senseprobe.evaluate.scorers.base import Answers, Scorer
from senseprobe.evaluate.units import HAS_VECTOR, TIMES_LISTED, ScoredRows, Unit, UnitTable, identity_of
from senseprobe.statistics import FloatArray, pairwise_cosines, unit_vectors

TARGETS, ATTRIBUTES = ("X", "Y"), ("A", "B")

COSINES = pa.schema(
    [
        *((name, pa.string()) for name in ("config", "test", "identity", "target", "target_role")),
        *((name, pa.string()) for name in ("attribute", "attribute_role")),
        *((name, pa.float64()) for name in ("cosine", "check")),
    ]
)
"""The columns of `Result.words`: a row for each target with each attribute of a test.

``cosine`` is NaN where one of the two has no vector; ``check`` is that of vectors by another pooling of a word's
tokens, null at levels without.
"""


def select_texts(tables: Mapping[str, pd.DataFrame]) -> Mapping[str, pd.DataFrame]:
    """Return the rows that have a sentence; without the tests of words alone that an import has beside others."""
    texts = {config: _count_times(table[table["sentence"].notna()]) for config, table in tables.items()}
    others = {config: table[~_are_words(table)] for config, table in texts.items()}
    return _with_rows({config: rows if len(rows) else texts[config] for config, rows in others.items()}, "sentence")


def select_words(tables: Mapping[str, pd.DataFrame]) -> Mapping[str, pd.DataFrame]:
    """Return the first row of each word of a test, and each test once: in other sentences its words are the same.

    Where an import has the words of a test of sentences in a test of words alone, that one stands for it.

    >>> columns = {"test": ["weat1"] * 2, "role": ["X"] * 2, "word": ["rose"] * 2}
    >>> rows = {**columns, "sentence": ["A rose.", "The rose."]}
    >>> selected = select_words({"flowers": pd.DataFrame(rows)})
    >>> selected["flowers"]["word"].tolist()
    ['rose']
    """
    chosen: dict[str, pd.DataFrame] = {}
    seen: set[tuple[str, frozenset[tuple[str, str]]]] = set()
    for config, table in tables.items():
        words = _count_times(table[table["word"].notna()]).drop_duplicates(["test", "role", "word"])
        tests = words.groupby("test", sort=False)
        sets = {str(name): frozenset(zip(rows["role"], rows["word"], strict=True)) for name, rows in tests}
        alone = {*words.loc[_are_words(words), "test"]}
        covered = {name for name in {*sets} - alone if any(sets[name] <= sets[other] for other in alone)}
        new = {name for name, members in sets.items() if name not in covered and (name, members) not in seen}
        chosen[config] = words[words["test"].isin(new)]
        seen |= {*sets.items()}
    return _with_rows(chosen, "word")


def _count_times(table: pd.DataFrame) -> pd.DataFrame:
    keys = table[["test", "role", "word", "sentence"]].fillna("")
    return table.assign(**{TIMES_LISTED: keys.groupby([*keys])["test"].transform("size")})


def _are_words(table: pd.DataFrame) -> "pd.Series[bool]":
    """Return of each row whether all sentences of its test are single words, as those of `weat1` of sent-bias."""
    are: pd.Series[bool] = (table["sentence"] == table["word"]).groupby(table["test"]).transform("all")
    return are


def _with_rows(tables: Mapping[str, pd.DataFrame], column: str) -> Mapping[str, pd.DataFrame]:
    """Return the tables that have rows. SenseprobeError where none has: no row has a text in the column."""
    if filled := {config: table for config, table in tables.items() if len(table)}:
        return filled
    raise SenseprobeError(f"no row has a {column}: choose another --level, or import tests that have {column}s")


def refused_tests(rows: pd.DataFrame, model: Any) -> dict[str, str]:  # noqa: ANN401 - with `refuses`
    """Return by name the tests that have words of a class that cannot be looked up, each with the reason."""
    reasons = {word_class: model.refuses(str(word_class)) for word_class in rows["word_class"].dropna().unique()}
    classes = rows[["test", "word_class"]].drop_duplicates().dropna()
    named = zip(classes["test"], classes["word_class"], strict=True)
    return {str(test): reasons[word_class] for test, word_class in named if reasons[word_class]}


def leave_refused(
    tables: Mapping[str, pd.DataFrame],
    model: Any,  # noqa: ANN401 - of any family
) -> tuple[dict[str, pd.DataFrame], dict[str, list[str]]]:
    """Return tables without the tests that a model refuses, and by reason the names of these.

    SenseprobeError where it refuses all of them.
    """
    if not hasattr(model, "refuses"):
        return {**tables}, {}
    left: dict[str, pd.DataFrame] = {}
    tests: dict[str, list[str]] = {}
    for config, table in tables.items():
        refused = refused_tests(table, model) if "word_class" in table else {}
        for test, reason in refused.items():
            tests.setdefault(reason, []).append(test)
        if len(rows := table[~table["test"].isin([*refused])] if refused else table):
            left[config] = rows
    if not left:
        raise SenseprobeError(f"{model.name} cannot score any of these tests: {'; '.join(tests)}")
    return left, {reason: list(dict.fromkeys(names)) for reason, names in tests.items()}


def tabulate_vectors(units: UnitTable, model: VectorModel, *, text: str, checked: bool) -> ScoredRows:
    """Return rows of association tests with their associations, and the cosines of words, from vectors of units.

    `text` is the column that the vectors are of; with `checked` their second half is by another pooling. At every
    level a word's vectors are averaged as they are, without making them equally long before (which changes
    d by .05 at most). A sentence about a word of which the model knows nothing has no number. Where rows do not say
    which word they are about, each sentence stands for itself.
    """
    tables, words = {}, []
    for config, table in units.rows.items():
        lacking = {word for word in table["word"].dropna().unique() if model.lacks(str(word))}
        unknown = table["word"].isin(lacking).to_numpy(dtype=np.bool_)
        usable = np.where(unknown[:, None], np.float32(np.nan), units.vectors(config, text))
        poolings = np.split(usable, 2 if checked else 1, axis=1)
        scores, roles = np.full(len(table), np.nan), table["role"].to_numpy(dtype=object)
        for test, rows in _tests(table):
            vectors = [pooled[rows].astype(np.float64) for pooled in poolings]
            scores[rows] = _associations(vectors[0], roles[rows])
            words.append(_cosines(table.iloc[rows], vectors, text).assign(config=config, test=test))
        tables[config] = table.assign(score=scores, **{HAS_VECTOR: np.isfinite(poolings[0]).all(axis=1)})
    cosines = COSINES.empty_table()
    if words:
        cosines = pa.Table.from_pandas(pd.concat(words, ignore_index=True), COSINES, preserve_index=False)
    return ScoredRows.from_tables(tables, ["score"], cosines)


def _tests(table: pd.DataFrame) -> Iterator[tuple[str, NDArray[np.intp]]]:
    """Yield the tests of a config, in order, each with the numbers of its rows."""
    codes, names = pd.factorize(table["test"])
    for number, name in enumerate(names):
        yield str(name), np.flatnonzero(codes == number)


def _associations(vectors: FloatArray, roles: NDArray[np.object_]) -> FloatArray:
    """Return the association of each row: of a target with A less B, of an attribute with X less Y; NaN without one.

    That is s of May et al. (2019), whose sets hold sentences: the mean of cosines is the product with a mean.
    """
    unit = unit_vectors(vectors)
    has = np.isfinite(unit).all(axis=1)
    means = {role: _mean(unit[has & (roles == role)]) for role in (*TARGETS, *ATTRIBUTES)}
    of_targets, of_attributes = unit @ (means["A"] - means["B"]), unit @ (means["X"] - means["Y"])
    return np.where(np.isin(roles, TARGETS), of_targets, of_attributes)


def _cosines(rows: pd.DataFrame, poolings: Sequence[FloatArray], text: str) -> pd.DataFrame:
    """Return the cosines of the words of one test, in the order of its rows, by one pooling or two."""
    names = rows["word"].where(rows["word"].notna(), rows[text])
    keys = pd.MultiIndex.from_arrays([rows["role"], names])
    codes, words = pd.factorize(keys)
    means = [_word_means(part, codes, len(words)) for part in poolings]
    roles = np.array([role for role, _ in words], dtype=object)
    spelt = np.array([name for _, name in words], dtype=object)
    pairs, targets, attributes = pair_words(roles, spelt)
    cosines = [pairwise_cosines(mean[targets], mean[attributes]).ravel() for mean in means]
    return pairs.assign(identity=identity_of(rows), cosine=cosines[0], check=cosines[1] if len(cosines) > 1 else np.nan)


def pair_words(
    roles: NDArray[np.object_], words: NDArray[np.object_]
) -> tuple[pd.DataFrame, NDArray[np.intp], NDArray[np.intp]]:
    """Return a row for each target with each attribute of a test, and the places of both among its words.

    >>> roles, words = np.array(["X", "A", "B"], dtype=object), np.array(["rose", "kind", "rude"], dtype=object)
    >>> pairs, targets, attributes = pair_words(roles, words)
    >>> pairs[["target", "attribute"]].to_numpy().tolist()
    [['rose', 'kind'], ['rose', 'rude']]
    """
    targets, attributes = (np.flatnonzero(np.isin(roles, sides)) for sides in (TARGETS, ATTRIBUTES))
    positions = {"target": np.repeat(targets, len(attributes)), "attribute": np.tile(attributes, len(targets))}
    columns = {side: words[index] for side, index in positions.items()}
    return (
        pd.DataFrame(columns | {f"{side}_role": roles[index] for side, index in positions.items()}),
        targets,
        attributes,
    )


def _word_means(vectors: FloatArray, codes: NDArray[np.intp], words: int) -> FloatArray:
    """Return the mean vector of each word over its rows that have one, NaN without any; of shape (words, numbers)."""
    has = np.isfinite(vectors).all(axis=1)
    sums = np.zeros((words, vectors.shape[1]))
    np.add.at(sums, codes[has], vectors[has])
    counts = np.bincount(codes[has], minlength=words)
    return np.where(counts[:, None] > 0, sums / np.maximum(counts, 1)[:, None], np.nan)


def _mean(vectors: FloatArray) -> FloatArray:
    """Return the mean of vectors, NaN without any."""
    return vectors.mean(axis=0) if len(vectors) else np.full(vectors.shape[1], np.nan)


# --- scorers ----------------------------------------------------------------------------------------------------------

WEAT = "weat"
"""What stands for the scorers of all levels that a model has, of association tests or of contrasts."""


def encode_level(level: str, model: VectorModel, units: Iterable[Unit], done: Container[Unit]) -> Iterator[Answers]:
    """Yield the vectors of units at a level, as `Scorer.score` does."""
    return model.encode(level, units, done)


def reasons_of_level(level: str, model: VectorModel, units: Sequence[Unit]) -> Iterator[str]:
    """Yield why units have no vector at a level, as `Scorer.why` does."""
    return model.reasons(level, units)


def _scorer(level: str, title: str, says: str, cannot_say: str, *reads: str) -> Scorer:
    """Return the scorer of a level; its number is the association of a text with the attributes of its test."""
    return Scorer(
        id=f"{WEAT}-{level}",
        title=title,
        ability="vectors",
        reads=("text", *reads),
        unit="cosine",
        range=(-2.0, 2.0),
        direction="higher: a target is nearer to the attributes A than to B, or an attribute nearer to X than to Y",
        scale="probability",
        source="Caliskan, Bryson & Narayanan 2017; May et al. 2019; Tan & Celis 2019",
        equation="Caliskan et al. 2017, s(w, A, B): mean cosine with A minus mean cosine with B",
        says=says,
        cannot_say=cannot_say,
        level=level,
        cosines=COSINES,
        select=select_words if level == "word" else select_texts,
        tabulate=partial(tabulate_vectors, text="word" if level == "word" else "sentence", checked=level == "cword"),
        score=partial(encode_level, level),
        why=partial(reasons_of_level, level),
    )


NEARNESS = (
    "Nearness of vectors is not behaviour: it does not show what a model writes or decides. Other words for the "
    "same things may give another result."
)
SCORERS = (
    _scorer(
        "word",
        "associations of words",
        "Vectors of single words, from a vector file or from a model that reads the word as a text.",
        f"{NEARNESS} Text models were not trained to read single words, and such vectors of left-to-right models "
        "are hardly comparable.",
    ),
    _scorer(
        "sent",
        "associations of sentences",
        "Sentence vectors as the model makes them, averaged over a word's sentences.",
        f"{NEARNESS} A sentence's vector also encodes its frame, which all words share.",
    ),
    _scorer(
        "cword",
        "associations of words in sentences",
        "Vectors of a word's tokens in its sentences, averaged over the tokens and over the sentences.",
        f"{NEARNESS} There are several ways to make one vector from a word's tokens, and the choice can "
        "reverse the sign.",
        "span",
    ),
)
