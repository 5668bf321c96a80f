"""The word association test: the gender of words in people's associations, beside that in vectors.

Du, Wu & Lan (2019) spread masses from male and female seeds over a graph of associations; Zhou, Kaneko & Bollegala
(2022) correlate the scores of words there with those of embeddings, of words and of senses.
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from senseprobe.document import Cell, Level, Section, Table, build_sections, name_cells, table_section
from senseprobe.errors import SenseprobeError
from senseprobe.evaluate.models.encodings import VectorModel, compare_words
from senseprobe.evaluate.reporting.notation import format_correlation
from senseprobe.evaluate.texts.association_graph import count_components, read_graph, read_scores, spread_masses
from senseprobe.messages import counted, listed
from senseprobe.statistics import Correlation, FloatArray, correlate

LEVELS = ("word", "sense")
ENDS = ("male", "female")
_MOST_NAMED = 1_000  # words in a record
_TOP = 10
Pair = tuple[str, str]  # the positive word first: male, female


@dataclass(frozen=True, slots=True)
class Words:
    """How many words are concerned, and the names of the first thousand."""

    count: int
    names: tuple[str, ...]

    @classmethod
    def of(cls, names: Sequence[str]) -> "Words":
        """Count and keep names."""
        return cls(len(names), tuple(names[:_MOST_NAMED]))


@dataclass(frozen=True, slots=True)
class WatGraph:
    """What a graph is, and what the walk reached.

    - `words`, `edges`, `components`; `loops` and `no_responses` that were left out; `columns` that were read.
    - `masses`: from the seeds of either end, summed over words; `residual` of the solution.
    - words without a score: `unreached` by any seed, `lone`, by those of one end only, and `imprecise`, whose smaller
      mass is below a thousand times the solution's error.
    """

    words: int
    edges: int
    components: int
    loops: int
    no_responses: int
    columns: tuple[str, ...]
    alpha: float
    directed: bool
    masses: tuple[float, float]
    residual: float
    unreached: Words
    lone: tuple[Words, Words]
    imprecise: Words


@dataclass(frozen=True, slots=True)
class WatCorrelation:
    """The correlation of a model's scores at a level with those of a graph, over `pairs` words.

    `seed_pairs` are those that the model's scores are of; `dropped` says why others are not; `missing` are words of the
    graph that the model has no vector of, or that it refuses. `encoding` is the signature's.
    """

    model: str
    level: str
    encoding: str
    weights: str
    correlation: float | None
    low: float | None
    high: float | None
    pairs: int
    seed_pairs: tuple[Pair, ...]
    dropped: tuple[str, ...]
    missing: Words


@dataclass(frozen=True, slots=True, eq=False)
class WatResult:
    """A word association test: scores by word, positive where nearer to the first of `ends`, and correlations.

    `source` names the file and `seeds` are the pairs (male, female) that the walk starts from; `absent` are pairs of
    which the graph lacks a word. `graph` is None where `source` is a lexicon of scores.
    """

    source: str
    signature: str
    ends: Pair
    scores: Mapping[str, float]
    seeds: tuple[Pair, ...]
    absent: tuple[str, ...]
    graph: WatGraph | None
    correlations: tuple[WatCorrelation, ...]

    def rank(self) -> tuple[list[tuple[str, float]], list[tuple[str, float]]]:
        """Return the ten words nearest to either end with their scores, without the seeds."""
        seeds = {word for pair in self.seeds for word in pair}
        ordered = sorted((score, word) for word, score in self.scores.items() if word not in seeds)
        female, male = ordered[:_TOP], ordered[::-1][:_TOP]
        return [(word, score) for score, word in male], [(word, score) for score, word in female]

    def as_dict(self) -> dict[str, Any]:
        """Return all but the single scores, with what JSON has."""
        return {
            "source": self.source,
            "signature": self.signature,
            "ends": [*self.ends],
            "seeds": [*map(list, self.seeds)],
            "absent": [*self.absent],
            "words": len(self.scores),
            "graph": None if self.graph is None else asdict(self.graph),
            **{f"most_{end}": [[*pair] for pair in ranked] for end, ranked in zip(self.ends, self.rank(), strict=True)},
            "correlations": [asdict(correlation) for correlation in self.correlations],
        }

    def sections(self) -> tuple[Section, ...]:
        """Return what people read of the test."""
        return build_sections((scores_section, correlations_section), self)

    @property
    def lexicon(self) -> str:
        """The scores as a lexicon: a word, a tab and its score in each line, words in order."""
        return "".join(f"{word}\t{self.scores[word]!r}\n" for word in sorted(self.scores))


def score_graph(
    path: Path, pairs: Sequence[Pair], *, alpha: float, directed: bool, version: str, ends: Pair = ENDS
) -> WatResult:
    """Return the scores log(b_m / b_f) of the words of a graph; `pairs` are the seeds, which lie at the `ends`.

    A seed that the graph does not have as it is written is looked up in lower case; a pair of which it lacks one is
    left out, and named. SenseprobeError where none is left, and as `read_graph` and `spread_masses`.
    """
    read = read_graph(path)
    vocabulary = {*read.words}
    spelled = [tuple(word if word in vocabulary else word.lower() for word in pair) for pair in pairs]
    seeds = tuple((male, female) for male, female in spelled if {male, female} <= vocabulary)
    absent = tuple(word for pair in spelled for word in pair if word not in vocabulary)
    if not seeds:
        raise SenseprobeError(f"{path}: contains no complete pair of {listed('/'.join(p) for p in pairs)}")
    sides = [[*dict.fromkeys(side)] for side in zip(*seeds, strict=True)]
    masses = spread_masses(read, sides[0], sides[1], alpha, directed=directed)
    words, (by_male, by_female) = np.array(read.words, dtype=object), masses.reached.T
    facts = WatGraph(
        words=len(words),
        edges=int(read.counts.nnz),
        components=count_components(read),
        loops=read.loops,
        no_responses=read.no_responses,
        columns=read.columns,
        alpha=alpha,
        directed=directed,
        masses=(float(masses.masses[:, 0].sum()), float(masses.masses[:, 1].sum())),
        residual=masses.residual,
        unreached=Words.of([*words[~by_male & ~by_female]]),
        lone=(Words.of([*words[by_male & ~by_female]]), Words.of([*words[by_female & ~by_male]])),
        imprecise=Words.of([*words[by_male & by_female & ~masses.usable]]),
    )
    walk = f"directed={'yes' if directed else 'no'}|affinity={'W' if directed else 'W+Wt'}|norm=D^-1/2,D^-1/2"
    signature = _sign("graph", read.sha256, f"columns={','.join(read.columns)}|alpha={alpha!r}|{walk}", seeds, version)
    scores = {str(words[number]): float(masses.scores[number]) for number in np.flatnonzero(masses.usable)}
    return WatResult(str(path), signature, ends, scores, seeds, absent, facts, ())


def score_lexicon(path: Path, pairs: Sequence[Pair], *, version: str, ends: Pair = ENDS) -> WatResult:
    """Return the scores that a lexicon states, in place of a graph's. SenseprobeError as `read_scores`."""
    scores, sha256 = read_scores(path)
    return WatResult(str(path), _sign("lexicon", sha256, "", pairs, version), ends, scores, (*pairs,), (), None, ())


def _sign(kind: str, sha256: str, method: str, seeds: Sequence[Pair], version: str) -> str:
    listed_seeds = ",".join("/".join(pair) for pair in seeds)
    parts = ("wat", f"{kind}={sha256}", method, f"seeds={listed_seeds}", f"senseprobe={version}")
    return "|".join(filter(None, parts))


def correlate_scores(
    result: WatResult, model: VectorModel, level: str, pairs: Sequence[Pair], word_class: Callable[[str], str]
) -> WatCorrelation:
    """Correlate a model's scores (Zhou et al. 2022, equation 4) with a graph's, over words that both have.

    Level ``sense`` takes the largest cosine over pairs of senses. `word_class` tells names and pronouns, which models
    of senses refuse. Seeds are in no correlation. Raises ModelError where the model lacks the level.
    """
    encoding = model.encoding(level).text
    seeds = {word for pair in (*pairs, *result.seeds) for word in pair}
    refuses = getattr(model, "refuses", lambda _: "")
    compare: Callable[..., FloatArray] = getattr(model, "compare_words", partial(compare_words, model))
    used, dropped = [], []
    for pair in pairs:
        reasons = [refuses(word_class(word)) or ("no vector" if model.lacks(word) else "") for word in pair]
        reason = next(filter(None, reasons), "")
        dropped.append(f"{'/'.join(pair)} ({reason})") if reason else used.append(pair)
    words = sorted(word for word in result.scores if word not in seeds)
    able = [word for word in words if not refuses(word_class(word)) and not model.lacks(word)]
    numbers = np.full((len(able), 2, len(used)), np.nan)
    if used and able:
        male, female = zip(*used, strict=True)
        numbers = compare(level, able, [*male, *female]).reshape(len(able), 2, len(used))
    scores = (numbers[:, 0] - numbers[:, 1]).mean(axis=1) if used else np.full(len(able), np.nan)
    scored = {word for word, score in zip(able, scores, strict=True) if math.isfinite(score)}
    value, low, high, count = correlate(scores, [result.scores[word] for word in able])
    return WatCorrelation(
        model=model.name,
        level=level,
        encoding=encoding,
        weights=model.identity.get("weights", ""),
        correlation=value,
        low=low,
        high=high,
        pairs=count,
        seed_pairs=tuple(used),
        dropped=tuple(dropped),
        missing=Words.of([word for word in words if word not in scored]),
    )


# --- what people read -----------------------------------------------------------------------------------------------


def scores_section(result: WatResult, level: Level = "full") -> Section:
    """Return what was read, and the words nearest to either end."""
    first, second = result.ends
    words, score = counted(len(result.scores), "word"), f"log(b_{first[0]} / b_{second[0]})"
    texts = [f"{result.source}: {words} with a score, {score}, positive: {first}"]
    if result.graph:
        texts += _describe_graph(result.graph, result.ends)
    if result.absent:
        texts.append(f"seeds missing from the graph, whose pairs are omitted: {listed(result.absent)}")
    texts.append(
        "0 is not neutral: the seeds of one end can have more links, and all scores move with alpha. "
        "Only their order is meaningful"
    )
    rows = (
        tuple(cell for word, score in pair for cell in (*name_cells(word), Cell.number(f"{score:+.3f}")))
        for pair in zip(*result.rank(), strict=True)
    )
    headings = (f"most {first}", "score", f"most {second}", "score")
    table = Table("Words nearest to either end", headings, tuple(rows), note=result.signature)
    return Section("Word association test", tuple(texts), tables=(table,))


def _describe_graph(graph: WatGraph, ends: Pair) -> Iterator[str]:
    columns, parts = ", ".join(graph.columns), counted(graph.components, "part")
    yield f"read {columns}: {counted(graph.words, 'word')}, {counted(graph.edges, 'edge')}, {parts} without links"
    yield f"omitted: {graph.loops:,} responses that repeat the cue, {graph.no_responses:,} empty responses"
    links = "from cues to responses" if graph.directed else "both directions added"
    yield f"alpha {graph.alpha}, {links}, S = D^-1/2 W D^-1/2; residual {graph.residual:.1g}"
    yield f"mass from {ends[0]} seeds {graph.masses[0]:.4g}, from {ends[1]} ones {graph.masses[1]:.4g}"
    for name, words in (
        ("not reached from any seed", graph.unreached),
        *((f"reached from {end} seeds only", words) for end, words in zip(ends, graph.lone, strict=True)),
        ("with a mass too small to be exact", graph.imprecise),
    ):
        if words.count:
            yield f"words without a score, {name}: {words.count:,} ({listed(words.names, words.count)})"


def correlations_section(result: WatResult, level: Level = "full") -> Section:
    """Return the correlations with vectors; empty where none was asked for."""
    rows = (
        (
            *name_cells(r.model, r.level),
            Cell.number(format_correlation(Correlation(r.correlation, r.low, r.high, r.pairs))),
            Cell(f"{len(r.seed_pairs)}", f"omitted: {'; '.join(r.dropped)}" if r.dropped else ""),
            Cell(f"{r.missing.count:,} ({listed(r.missing.names, r.missing.count)})" if r.missing.count else ""),
        )
        for r in result.correlations
    )
    headings = ("vectors", "level", "correlation", "pairs of seeds", "words without a vector, or excluded")
    table = Table("Correlations with the scores of vectors, over words", headings, tuple(rows))
    return table_section(table.caption, ["The intervals assume independent words."], [table])
