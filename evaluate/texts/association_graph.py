"""Graphs of word associations, and the random walk that spreads masses from seed words over them.

People were given a cue and wrote the words that came to mind: cues and responses are the words of a graph. Files of
Small World of Words have a licence of their own, so users supply them.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse import csgraph, linalg

from senseprobe.errors import SenseprobeError
from senseprobe.release.hashing import file_sha256
from senseprobe.statistics import FloatArray
from senseprobe.tables import UnreadableError, read_csv, read_lines

NO_RESPONSES = frozenset(("", "NA", "No more responses", "Unknown word"))
"""What stands in files of Small World of Words where a person wrote nothing, or did not know the cue."""

# In the order in which they are looked for: counts before strengths, all responses before the first ones.
_WEIGHTS = ("count", "r123", "r1", "strength", "r123.strength", "r1.strength")
_RAW = ("r1", "r2", "r3")
_RESIDUAL = 1e-12
_MOST_STEPS = 20_000
# A mass is usable where the solution's largest possible error is at most this share of it.
_PRECISION = 1e-3


@dataclass(frozen=True, slots=True, eq=False)
class WordGraph:
    """Words, and how often each cue (row) had each response (column): `counts` of shape (words, words).

    `columns` are those that were read, `loops` the lines or responses that repeat their cue, which are left out, and
    `no_responses` those that are none. `sha256` is of the file.
    """

    words: tuple[str, ...]
    counts: Any
    columns: tuple[str, ...]
    loops: int
    no_responses: int
    sha256: str


@dataclass(frozen=True, kw_only=True, eq=False)
class Masses:
    """What reaches each word of a graph from male and from female seeds.

    - `masses` from either, not negative, and by which of the two a word is `reached`: both of shape (words, 2).
    - `residual`: of the solution, relative to the seeds; `error`: no mass is off by more than this.
    """

    masses: FloatArray
    reached: NDArray[np.bool_]
    residual: float
    error: float

    @cached_property
    def usable(self) -> NDArray[np.bool_]:
        """Whether both masses of a word are reached, and large beside the error."""
        return np.asarray(self.reached.all(axis=1) & (self.error <= _PRECISION * self.masses.min(axis=1)))

    @cached_property
    def scores(self) -> FloatArray:
        """log(b_m / b_f) of each word, positive where it is male; NaN where a mass is zero or not usable."""
        scores = np.full(len(self.masses), np.nan)
        scores[self.usable] = np.subtract(*np.log(self.masses[self.usable]).T)
        return scores


def read_graph(path: Path) -> WordGraph:
    """Read a graph of associations; comma or tab separates columns, whose names stand in the first line.

    - ``cue, response`` and a count or strength (the first of count, R123, R1, strength, R123.Strength, R1.Strength):
      the strength files of Small World of Words, which have tabs, and files of one's own;
    - ``cue, R1, R2, R3``: a person's responses to a cue in each line, each of which counts one.

    Raises SenseprobeError, with the line, where a file is neither, a weight is no number from 0, or a pair of cue and
    response with a weight stands there twice.
    """
    rows = _rows(path)
    names = [name.strip().lower() for name in next(rows, (1, []))[1]]
    weight = next((name for name in _WEIGHTS if name in names), "") if "response" in names else ""
    columns = ("cue", "response", weight) if weight else ("cue", *(name for name in _RAW if name in names))
    if "cue" not in names or len(columns) < 2 or ("response" in names and not weight):
        raise SenseprobeError(
            f"{path}:1: is not a graph of word associations: it needs the columns cue, response and one of "
            f"{', '.join(_WEIGHTS)}, or the columns cue, R1, R2 and R3"
        )
    numbers = [names.index(column) for column in columns]
    edges: dict[tuple[str, str], float] = {}
    loops = no_responses = 0
    for number, cells in rows:
        if len(cells) != len(names):
            raise SenseprobeError(f"{path}:{number}: has {len(cells)} columns, and line 1 has {len(names)}")
        cue, *rest = (" ".join(cells[column].split()) for column in numbers)
        value = 1.0
        if weight and rest[0] not in NO_RESPONSES:
            value = _parse_number(path, number, rest[1])
            if value < 0:
                raise SenseprobeError(f"{path}:{number}: a count or strength cannot be {rest[1]}")
        for response in rest[:1] if weight else rest:
            if cue in NO_RESPONSES or response in NO_RESPONSES:
                no_responses += 1
            elif cue == response:
                loops += 1
            elif weight and (cue, response) in edges:
                raise SenseprobeError(f"{path}:{number}: {cue!r} with {response!r} occurs twice")
            else:
                edges[cue, response] = edges.get((cue, response), 0) + value
    return _build_graph(path, edges, columns, loops, no_responses, file_sha256(path))


def _build_graph(
    path: Path, edges: Mapping[tuple[str, str], float], columns: tuple[str, ...], loops: int, none: int, sha256: str
) -> WordGraph:
    linked = {pair: value for pair, value in edges.items() if value > 0}
    if not linked:
        raise SenseprobeError(f"{path}: does not contain a cue with a response")
    words = tuple(sorted({word for pair in linked for word in pair}))
    index = {word: number for number, word in enumerate(words)}
    rows, targets = ([index[pair[side]] for pair in linked] for side in (0, 1))
    shape = (len(words), len(words))
    counts = sparse.csr_array((np.fromiter(linked.values(), np.float64), (rows, targets)), shape=shape)
    return WordGraph(words, counts, columns, loops, none, sha256)


def read_scores(path: Path) -> tuple[dict[str, float], str]:
    """Read a lexicon, a word, a tab and its score in each line, and the file's sha256.

    Raises SenseprobeError where a line is not that, a score not finite, or a word there twice.
    """
    scores = dict[str, float]()
    for number, (*words, score) in _rows(path, "\t", quoted=False):
        word = "\t".join(words).strip()
        if number == 1 and score.strip().lower() == "score":
            continue
        if not word:
            raise SenseprobeError(f"{path}:{number}: is not a word, a tab and its score")
        if word in scores:
            raise SenseprobeError(f"{path}:{number}: {word!r} occurs twice")
        scores[word] = _parse_number(path, number, score)
    if not scores:
        raise SenseprobeError(f"{path}: does not contain words")
    return scores, file_sha256(path)


def _rows(path: Path, delimiter: str | None = None, *, quoted: bool = True) -> Iterator[tuple[int, list[str]]]:
    """Yield line and cells of the rows of a file that hold something. SenseprobeError where it is no table of texts."""
    try:
        for row in read_csv(read_lines(path), delimiter, quoted=quoted):
            if any(map(str.strip, row.cells)):
                yield row.line, row.cells
    except UnreadableError as error:
        raise SenseprobeError(error.at(path)) from None


def _parse_number(path: Path, number: int, text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise SenseprobeError(f"{path}:{number}: {text.strip()!r} is not a finite number")
    return value


def spread_masses(
    graph: WordGraph, male: Sequence[str], female: Sequence[str], alpha: float, *, directed: bool = False
) -> Masses:
    """Spread a mass of one from each seed over the graph: F* = (1 - a)(I - aS)⁻¹ Y of Zhou et al. (2003).

    S = D^-½ W D^-½, with W the counts in both directions added, or where `directed` of cues to responses only, whose
    rows and columns are then divided by the roots of their own sums. `alpha`, a, is in (0, 1). SenseprobeError where
    it is not, and where the solution does not converge.
    """
    if not 0 < alpha < 1:
        raise SenseprobeError(f"alpha is {alpha}, but must be between 0 and 1")
    weights: Any = graph.counts.T if directed else graph.counts + graph.counts.T
    sums = (np.asarray(weights.sum(axis=axis)).ravel() for axis in (1, 0))
    rows, columns = (sparse.diags_array(np.divide(1, np.sqrt(n), out=np.zeros_like(n), where=n > 0)) for n in sums)
    flow = (rows @ weights @ columns).tocsr()
    index = {word: number for number, word in enumerate(graph.words)}
    seeds = np.zeros((len(index), 2))
    for side, words in enumerate((male, female)):
        seeds[[index[word] for word in words], side] = 1
    solve = _iterate if directed else _solve_symmetric
    solved = np.column_stack([solve(flow, seeds[:, side], alpha) for side in (0, 1)])
    errors = np.linalg.norm(seeds - solved + alpha * (flow @ solved), axis=0)
    residual = float((errors / np.linalg.norm(seeds, axis=0)).max())
    if not residual <= 10 * _RESIDUAL:
        raise SenseprobeError(
            f"the walk does not converge at alpha {alpha} (residual {residual:.1g}): use a smaller one"
        )
    # The norm of (I - alpha S)⁻¹ is at most 1/(1 - alpha), since that of S is at most 1.
    return Masses(
        masses=np.maximum((1 - alpha) * solved, 0),
        reached=_find_reached(flow, seeds > 0),
        residual=residual,
        error=float(errors.max()),
    )


def count_components(graph: WordGraph) -> int:
    """Return into how many parts without a link between them a graph falls."""
    return int(csgraph.connected_components(graph.counts, directed=False)[0])


def _solve_symmetric(flow: Any, seeds: FloatArray, alpha: float) -> FloatArray:  # noqa: ANN401 - a sparse array
    """Solve (I - aS) x = y by conjugate gradients: I - aS is positive definite.

    Factors of a graph with hubs fill up; this needs a few hundred products with S, and what no seed reaches stays 0.
    """
    system = (sparse.eye_array(len(seeds)) - alpha * flow).tocsr()
    solution, _ = linalg.cg(system, seeds, rtol=_RESIDUAL / 10, maxiter=_MOST_STEPS)
    return np.asarray(solution)


def _iterate(flow: Any, seeds: FloatArray, alpha: float) -> FloatArray:  # noqa: ANN401 - a sparse array
    """Solve (I - aS) x = y for an S that is not symmetric by x ← aSx + y, which shrinks the error by alpha a step."""
    solution, bound = seeds, _RESIDUAL * float(np.linalg.norm(seeds))
    for _ in range(_MOST_STEPS):
        previous, solution = solution, alpha * (flow @ solution) + seeds
        if np.linalg.norm(solution - previous) <= bound:
            break
    return solution


def _find_reached(flow: Any, seeds: NDArray[np.bool_]) -> NDArray[np.bool_]:  # noqa: ANN401 - a sparse array
    """Return which words the walk reaches, from each column of seeds."""
    reached = seeds
    while True:
        more = reached | (flow @ reached.astype(np.float64) > 0)
        if (more == reached).all():
            return reached
        reached = more
