"""Whether what an embedding of senses holds of words foretells what models of text do with them, word by word."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from senseprobe.atomic_files import read_plain
from senseprobe.errors import ResultError
from senseprobe.evaluate.estimands import lookup
from senseprobe.evaluate.estimands.preference import psi_of_roles
from senseprobe.evaluate.estimands.pronoun import MALE
from senseprobe.evaluate.reporting.inputs import ReportInput
from senseprobe.evaluate.units import KINDS
from senseprobe.messages import counted, listed
from senseprobe.records import VERDICT_WORDS, Design, Figure
from senseprobe.statistics import FEWEST_LEVELS, Correlation, Scale, correlate
from senseprobe.tables import read_json

MOST_BYTES = 2**20  # of a record of WAT
PREFERS_UNPLEASANT, PREFERS_HE = "share with the unpleasant word preferred", "share with he preferred to she"


@dataclass(frozen=True, slots=True)
class WatRecord:
    """The correlation of an embedding with the scores of a word association graph, by ``senseprobe study wat``."""

    model: str
    level: str
    correlation: Correlation

    @property
    def column(self) -> str:
        """The column of its embedding and level."""
        return f"{self.model}, {self.level}"


def read_wat(path: Path) -> list[WatRecord]:
    """Read what ``senseprobe study wat -o FILE.json`` wrote. ResultError where the file is not that."""
    try:
        records = read_json(read_plain(path, MOST_BYTES))["correlations"]
        return [WatRecord(str(record["model"]), str(record["level"]), _correlation(record)) for record in records]
    except (ValueError, TypeError, KeyError) as error:
        raise ResultError(f"{path} is not a record of `senseprobe study wat`: write one with -o FILE.json") from error


def _correlation(record: Mapping[str, Any]) -> Correlation:
    value, low, high = (_number(record[name]) for name in ("correlation", "low", "high"))
    return Correlation(value, low, high, int(record["pairs"]))


def _number(value: object) -> float | None:
    if value is not None and not (isinstance(value, int | float) and -1 <= value <= 1):
        raise ValueError(value)
    return None if value is None else float(value)


@dataclass(frozen=True, kw_only=True, slots=True)
class SenseInputs:
    """Results by what they are of, each in the order in which they were given.

    - `tested`: association tests on vectors; `placed`: contrasts on vectors; `models`: contrasts on models of text.
    - `wat`: correlations of embeddings with word associations.
    """

    tested: tuple[ReportInput, ...]
    placed: tuple[ReportInput, ...]
    models: tuple[ReportInput, ...]
    wat: tuple[WatRecord, ...] = ()

    @classmethod
    def of(cls, inputs: Sequence[ReportInput], wat: Sequence[WatRecord] = ()) -> "SenseInputs":
        """Return results told apart by their rows, and by whether they have cosines of words."""
        tested = tuple(source for source in inputs if KINDS[source.kind].tests)
        pairs = [source for source in inputs if KINDS[source.kind].pairs]
        placed = tuple(source for source in pairs if is_static(source))
        models = tuple(source for source in pairs if not is_static(source))
        return cls(tested=tested, placed=placed, models=models, wat=tuple(wat))

    @property
    def columns(self) -> tuple[str, ...]:
        """The embeddings with their levels, each once: the columns of tables."""
        return tuple(dict.fromkeys(map(column_of, (*self.tested, *self.placed))))


def is_static(source: ReportInput) -> bool:
    """Return whether the result is on vectors: of tests, or of the words of contrasts."""
    return bool(source.encoding)


def column_of(source: ReportInput) -> str:
    """Return the embedding and the level of a result on vectors: ``ares.txt, sense``."""
    return f"{source.result.model['name']}, {source.encoding.get('level', 'word')}"


@dataclass(frozen=True, kw_only=True, slots=True)
class WordCorrelation:
    """The correlation of an embedding's figures of words with a model's, in a config.

    `x`, `y`: the numbers of the `words`; the model's are shares from 0 to 1, and `measure` says of what. `releases` are
    those of the embedding's words and of the model's rows.
    """

    embedding: str
    model: str
    config: str
    measure: str
    words: tuple[str, ...]
    x: tuple[float, ...]
    y: tuple[float, ...]
    correlation: Correlation
    releases: tuple[str, str]


def describe_correlation(correlation: Correlation) -> str:
    """Return what a correlation shows: ``undecided: anything from -0.40 to +0.60 fits``.

    >>> describe_correlation(Correlation(0.1, -0.4, 0.6, 12))
    'undecided: anything from -0.40 to +0.60 fits'
    """
    if correlation.value is None:
        return f"no correlation: {correlation.pairs} words, of which one side does not vary"
    if correlation.low is None or correlation.high is None:
        return f"{correlation.pairs} words give no interval"
    ends = f"from {correlation.low + 0.0:+.2f} to {correlation.high + 0.0:+.2f}"
    if correlation.low <= 0 <= correlation.high:
        return f"{VERDICT_WORDS['not_shown']}: anything {ends} fits"
    together = "words higher in the embedding are higher in the model" if correlation.low > 0 else "the other way round"
    return f"{VERDICT_WORDS['shown']}: {together}, {ends}"


def predict_models(inputs: SenseInputs) -> Iterator[WordCorrelation]:
    """Yield the correlations of every embedding with every model, in configs with five words or more in both."""
    for model in inputs.models:
        shares = {
            config: compute_word_shares(rows, design, model.result.scale)
            for config, rows in model.tables.items()
            if (design := model.design(config)) is not None
        }
        for source in inputs.placed:
            for config, values in word_values(source).items():
                measure, others = shares.get(config, ("", {}))
                words = tuple(word for word in values if word in others)
                if len(words) >= FEWEST_LEVELS:
                    x, y = (tuple(side[word] for word in words) for side in (values, others))
                    yield WordCorrelation(
                        embedding=column_of(source),
                        model=model.label,
                        config=config,
                        measure=measure,
                        words=words,
                        x=x,
                        y=y,
                        correlation=correlate(x, y),
                        releases=(str(source.result.release["name"]), str(model.result.release["name"])),
                    )


def word_values(source: ReportInput) -> dict[str, dict[str, float]]:
    """Return an embedding's figure of each word, by config; of several figures of a word the first."""
    values: dict[str, dict[str, float]] = {}
    for figure in source.result.figures:
        if figure.group is not None and figure.value is not None:
            values.setdefault(figure.config, {}).setdefault(figure.group, figure.value)
    return values


def compute_word_shares(rows: pd.DataFrame, design: Design, scale: Scale) -> tuple[str, dict[str, float]]:
    """Return what a model does with each target word of a config: what the share is of, and the share by word.

    Where praise and blame differ, that is the mean ψ of the unpleasant sentence over the pleasant one, whatever a row
    is labelled. Where pronouns do, it is p_o (ESTIMANDS): he over she, pleasant and unpleasant qualities alike much.
    Rows without a number are left out.
    """
    scored = rows[np.isfinite(rows[["stereo_score", "anti_score"]].to_numpy(dtype=np.float64)).all(axis=1)]
    first, second = (psi_of_roles(scored, *roles, scale) for roles in (("stereo", "anti"), ("anti", "stereo")))
    if design.words:
        kernel, measure = pd.Series(first, scored.index), PREFERS_UNPLEASANT
    else:
        he = (scored["stereo_value"].str.lower().isin(MALE)).to_numpy(dtype=np.bool_)
        kernel, measure = pd.Series(np.where(he, first, second), scored.index), PREFERS_HE
    halves = kernel.groupby([scored["target"], scored["valence"].fillna("")], sort=False).mean()
    shares = halves.groupby(level=0, sort=False).mean()
    return measure, {str(word): float(share) for word, share in shares.items()}


def is_difference(figure: Figure) -> bool:
    """Return whether a figure is of two senses: that of one config less that of another."""
    return lookup(figure.estimand).is_contrast


def describe_releases(predictions: Sequence[WordCorrelation]) -> Iterator[str]:
    """Yield a warning for each two releases of which words and rows are held against each other."""
    for first, second in dict.fromkeys(p.releases for p in predictions if p.releases[0] != p.releases[1]):
        yield f"Not of one release: words of {first} stand against rows of {second}, which can differ."


def summarize_predictions(predictions: Sequence[WordCorrelation]) -> str:
    """Return how many correlations are shown: ``of 6 correlations with a model none is shown``; empty without any."""
    if not predictions:
        return ""
    nonzero = [p for p in predictions if p.correlation.excludes_zero]
    names = listed(dict.fromkeys(f"{p.config} ({p.embedding}, {p.model})" for p in nonzero), 4)
    many = f"{len(nonzero)} {'are' if len(nonzero) > 1 else 'is'} shown: {names}" if nonzero else "none is shown"
    judged = [p for p in predictions if p.correlation.low is not None]
    return (
        "Does an embedding's bias of words foretell the model's? "
        f"Of {counted(len(judged), 'correlation')} over words that have an interval {many}. "
        "Each is looked at by itself: of twenty, about one interval excludes 0 by chance. "
        f"The model's side is, of each word, the {listed(dict.fromkeys(p.measure for p in predictions))}."
    )
