"""What the tokenizer of a model makes of rows: unknown words, equal tokens, first tokens."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from pydantic import Field

from senseprobe.evaluate.estimands.preference import PREFERENCE
from senseprobe.evaluate.scorers.base import Scorer
from senseprobe.evaluate.units import KINDS, UNRELATED
from senseprobe.messages import counted, printable
from senseprobe.records import Design
from senseprobe.statistics import psi_between

if TYPE_CHECKING:
    from senseprobe.evaluate.models import Model
    from senseprobe.evaluate.models.base import TextTokens

Count = Annotated[int, Field(ge=0)]
Flags = NDArray[np.bool_]

MOST_UNKNOWN = 0.2  # share of a config's rows with unknown tokens above which it gets no headline

# So many rows are tokenized at once: enough to be quick, few enough for memory.
_WINDOW = 65_536


@dataclass(frozen=True, kw_only=True, slots=True)
class FirstToken:
    """The pairs of a config whose two sentences differ in their first token, as a causal model reads them.

    - `rows`: how many. Before the first token stands what the scorer puts there, and nothing else.
    - `before`: that start token (or tokens), as the vocabulary spells it; empty where the scorer puts none, and the
      probability of the first token is not part of its number.
    - `preference`: ``preference-half`` over these rows, -50 to 50 points; None where none is labelled and scored.
    """

    rows: Count
    before: str
    preference: Annotated[float, Field(ge=-50, le=50)] | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Fitness:
    """What the tokenizer of a model makes of the rows of a config. Of inference only `rows` and `unknown` are counted.

    - `rows`: how many were to be scored, those without a number among them.
    - `unknown`: rows of which a sentence holds the token for what the tokenizer does not know, such as [UNK].
    - `same_tokens`: pairs whose two sentences are the same tokens, so that the words that differ are, too.
    - `unequal_counts`: pairs whose two sentences have unequal numbers of tokens.
    - `ties`: scored pairs whose numbers are equal, as estimands define it; `explained`: those of the same tokens.
      Unknown tokens that both sentences share, and unequal numbers of tokens, make no tie.
    - `at_start`: of vectors of words, how many words stand at the first position, where a model that reads from left
      to right has something else than the word.
    - `first_token`: of a causal model; None of others.

    Raises ValueError where more are counted than there are rows, or more ties are explained than there are.
    """

    rows: Count
    unknown: Count
    same_tokens: Count | None = None
    unequal_counts: Count | None = None
    ties: Count | None = None
    explained: Count | None = None
    at_start: Count | None = None
    first_token: FirstToken | None = None

    def __post_init__(self) -> None:
        first = self.first_token.rows if self.first_token else 0
        counts = (self.unknown, self.same_tokens, self.unequal_counts, self.ties, first)
        if max(number or 0 for number in counts) > self.rows or (self.explained or 0) > (self.ties or 0):
            raise ValueError("more is counted than there is")

    def as_dict(self) -> dict[str, Any]:
        """Return the record with stable keys, as JSON has it; what was not counted is left out."""
        return {name: number for name, number in asdict(self).items() if number is not None}


def reads_tokens(model: "Model") -> bool:
    """Return whether a model has a tokenizer of texts, as those of plug-ins have not."""
    if (tokens := getattr(model, "tokens", None)) is None:
        return False
    from senseprobe.evaluate.models.base import TextTokens

    return isinstance(tokens, TextTokens)


def count_fitness(
    scored: Mapping[str, pd.DataFrame], designs: Mapping[str, Design], scorer: Scorer, model: "Model"
) -> dict[str, Fitness]:
    """Count by config what a model's tokenizer makes of tables with scores; nothing where it is a plug-in's model."""
    if not reads_tokens(model):
        return {}
    counts = {name: FitnessCount(designs[name], scorer, model) for name in scored}
    for name, table in scored.items():
        counts[name].add(table)
    return {name: count.fitness() for name, count in counts.items()}


class FitnessCount:
    """What a model's tokenizer makes of the rows of a config, counted part by part; the model has `tokens`."""

    def __init__(self, design: Design, scorer: Scorer, model: Any) -> None:  # noqa: ANN401 - of any family
        self._design, self._scorer, self._model, self._tokens = design, scorer, model, model.tokens
        self._before = self._tokens.spelt(getattr(model, "start", ())) if scorer.without_start else ""
        self._is_of_pairs = KINDS[design.kind].pairs and not scorer.level
        self._rows = self._at_start = 0
        self._counts = dict.fromkeys(("unknown", "same_tokens", "unequal_counts", "ties", "explained", "first"), 0)
        self._preferred, self._used = 0.0, 0

    def add(self, table: pd.DataFrame) -> None:
        """Add rows with their scores."""
        roles = dict.fromkeys([*self._scorer.texts, *self._scorer.texts.values()])
        roles |= dict.fromkeys(name for name in UNRELATED if f"{name}_score" in table)
        self._rows += len(table)
        self._at_start += self._scorer.words_at_start(self._model, table)
        for start in range(0, len(table), _WINDOW):
            window = table.iloc[start : start + _WINDOW]
            self._add_flags(window, *_flags(window, [*roles], self._tokens))

    def _add_flags(self, table: pd.DataFrame, unknown: Flags, same: Flags, unequal: Flags, first: Flags) -> None:
        counts = {"unknown": unknown, "same_tokens": same, "unequal_counts": unequal, "first": first}
        if self._is_of_pairs:
            scores = table[["stereo_score", "anti_score"]].to_numpy(dtype=np.float64)
            scored = np.isfinite(scores).all(axis=1)
            stereo, anti = np.where(scored[:, None], scores, 0.0).T
            ties = scored & (psi_between(stereo, anti, self._scorer.scale) == 0.5)
            counts |= {"ties": ties, "explained": ties & same}
        for name, flags in counts.items():
            self._counts[name] += int(flags.sum())
        if self._is_of_pairs and self._scorer.left_to_right:
            rows = PREFERENCE.kernel_rows(table[first], self._design, self._scorer.scale)
            self._preferred, self._used = self._preferred + float(rows.kernel.sum()), self._used + rows.count

    def fitness(self) -> Fitness:
        """Return what was counted."""
        counts = {**self._counts}
        first, at_start = counts.pop("first"), self._at_start or None
        if not self._is_of_pairs:
            return Fitness(rows=self._rows, unknown=counts["unknown"], at_start=at_start)
        first_token = None
        if self._scorer.left_to_right:
            share = round(self._preferred / self._used, 12) if self._used else None
            preference = None if share is None else round(100 * share - 50, 9) + 0.0
            first_token = FirstToken(rows=first, before=self._before, preference=preference)
        return Fitness(rows=self._rows, **counts, first_token=first_token, at_start=at_start)


def _flags(table: pd.DataFrame, roles: Sequence[str], tokens: "TextTokens") -> tuple[Flags, ...]:
    """Return whether a row has unknown tokens; the same ones, unequal numbers of them, another first, in two texts."""
    texts = list(dict.fromkeys(text for role in roles for text in table[role]))
    ids = dict(zip(texts, tokens.of(texts), strict=True))
    unreadable_texts = {text for text, text_ids in ids.items() if tokens.unknown in text_ids}
    rows = list(zip(*(table[role] for role in roles), strict=True))
    both = [(ids[row[0]], ids[row[:2][-1]]) for row in rows]  # of a row with one text, that text twice
    flags = (
        [not unreadable_texts.isdisjoint(row) for row in rows],
        [a == b for a, b in both],
        [len(a) != len(b) for a, b in both],
        [a[:1] != b[:1] for a, b in both],
    )
    return tuple(np.array(flag, dtype=np.bool_) for flag in flags)


def unreadable(fitness: Fitness | None) -> str:
    """Return why a config gets no headline: ``41 % of its rows hold words …``; empty where it gets one."""
    if fitness is None or fitness.unknown <= MOST_UNKNOWN * fitness.rows:
        return ""
    return f"{100 * fitness.unknown / fitness.rows:.0f} % of its rows hold words that the tokenizer does not know"


def unreadable_configs(configs: Mapping[str, Fitness]) -> dict[str, str]:
    """Return the configs that get no headline, each with the reason."""
    return {config: why for config, fitness in configs.items() if (why := unreadable(fitness))}


def fitness_lines(configs: Mapping[str, Fitness]) -> Iterator[str]:
    """Yield what there is to say of configs."""
    for config, fitness in configs.items():
        if text := "; ".join(_clauses(fitness)):
            yield f"{printable(config)}: {text}"


def _clauses(fitness: Fitness) -> Iterator[str]:
    first = fitness.first_token
    if fitness.unknown:
        yield f"{fitness.unknown:,} of {counted(fitness.rows, 'row')} with words that the tokenizer does not know"
    if fitness.same_tokens:
        yield f"{counted(fitness.same_tokens, 'pair')} with identical tokens"
    if fitness.unequal_counts:
        yield f"{counted(fitness.unequal_counts, 'pair')} with unequal numbers of tokens"
    if fitness.explained:
        yield (
            f"{fitness.explained:,} of {counted(fitness.ties or 0, 'tie')} because both sentences have the same tokens"
        )
    if fitness.at_start:
        yield f"{counted(fitness.at_start, 'word')} at the first position, where the model expects a special token"
    if first is not None and first.rows:
        yield f"{counted(first.rows, 'pair')} with different first tokens, {standing_before(first)}"


def standing_before(first: FirstToken) -> str:
    """Return what stands before the first tokens, in a clause."""
    if first.before:
        return f"with only {printable(first.before)} before them"
    return "whose probabilities are not counted"
