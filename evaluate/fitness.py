"""What the tokenizer of a model makes of the rows of each config: whether the model can read them at all."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from pydantic import Field

from senseprobe.evaluate.estimands.preference import PREFERENCE
from senseprobe.evaluate.models.checkpoint import TextTokens
from senseprobe.evaluate.scorers.base import Scorer
from senseprobe.evaluate.units import ROLES, UNRELATED
from senseprobe.messages import counted, printable
from senseprobe.records import Design
from senseprobe.statistics import psi_between

if TYPE_CHECKING:
    from senseprobe.evaluate.models import Model


Count = Annotated[int, Field(ge=0)]
Flags = NDArray[np.bool_]

MOST_UNKNOWN = 0.2
"""Share of a config's rows with unknown tokens above which it gets no headline."""

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
    - `first_token`: of a causal model; None of others.

    Raises ValueError where more are counted than there are rows, or more ties are explained than there are.
    """

    rows: Count
    unknown: Count
    same_tokens: Count | None = None
    unequal_counts: Count | None = None
    ties: Count | None = None
    explained: Count | None = None
    first_token: FirstToken | None = None

    def __post_init__(self) -> None:
        first = self.first_token.rows if self.first_token else 0
        counts = (self.unknown, self.same_tokens, self.unequal_counts, self.ties, first)
        if max(number or 0 for number in counts) > self.rows or (self.explained or 0) > (self.ties or 0):
            raise ValueError("more is counted than there is")

    def as_dict(self) -> dict[str, Any]:
        """Return the record with stable keys, as JSON has it; what was not counted is left out."""
        return {name: number for name, number in asdict(self).items() if number is not None}


class _Flags(NamedTuple):
    """Whether a row has unknown tokens, the same tokens, unequal numbers of them, another first token."""

    unknown: Flags
    same: Flags
    unequal: Flags
    first: Flags


def count(
    scored: Mapping[str, pd.DataFrame], designs: Mapping[str, Design], scorer: Scorer, model: "Model"
) -> dict[str, Fitness]:
    """Count, for each config, what the model's tokenizer makes of its scored rows.

    `scored` holds tables with scores, `designs` their designs, by config. Empty where the model is a plug-in's, whose
    tokenizer we do not have.
    """
    tokens = getattr(model, "tokens", None)
    if not isinstance(tokens, TextTokens):
        return {}
    before = ""
    if scorer.without_start:
        before = tokens.spelt(getattr(model, "start", ()))
    return {name: _fitness(table, designs[name], scorer, tokens, before) for name, table in scored.items()}


def _fitness(table: pd.DataFrame, design: Design, scorer: Scorer, tokens: TextTokens, before: str) -> Fitness:
    flags = _flags(table, _roles(table, design), tokens, pairs=design.kind == "contrast")
    if design.kind != "contrast":
        return Fitness(rows=len(table), unknown=int(flags.unknown.sum()))
    ties, first = _ties(table, scorer), None
    if scorer.left_to_right:
        rows = PREFERENCE.kernel_rows(table[flags.first], design, scorer.scale)
        figure = None if rows.share is None else round(100 * rows.share - 50, 9) + 0.0
        first = FirstToken(rows=int(flags.first.sum()), before=before, preference=figure)
    return Fitness(
        rows=len(table),
        unknown=int(flags.unknown.sum()),
        same_tokens=int(flags.same.sum()),
        unequal_counts=int(flags.unequal.sum()),
        ties=int(ties.sum()),
        explained=int((ties & flags.same).sum()),
        first_token=first,
    )


def _roles(table: pd.DataFrame, design: Design) -> list[str]:
    """Return the columns of sentences that were scored, the two of a pair first."""
    columns = dict.fromkeys(name for both in ROLES[design.kind].items() for name in both)
    return [*columns, *(name for name in UNRELATED if f"{name}_score" in table)]


def _flags(table: pd.DataFrame, roles: Sequence[str], tokens: TextTokens, *, pairs: bool) -> _Flags:
    """Return arrays of bool of shape (rows,); of shape (0,) for what only `pairs` have, where the rows are none."""
    starts = range(0, max(1, len(table)), _WINDOW)
    parts = [_part_flags(table.iloc[start : start + _WINDOW], roles, tokens, pairs=pairs) for start in starts]
    return _Flags(*(np.concatenate(column) for column in zip(*parts, strict=True)))


def _part_flags(table: pd.DataFrame, roles: Sequence[str], tokens: TextTokens, *, pairs: bool) -> _Flags:
    texts = list(dict.fromkeys(text for role in roles for text in table[role]))
    ids = dict(zip(texts, tokens.of(texts), strict=True))
    unreadable_texts = {text for text, own in ids.items() if tokens.unknown in own}
    unknown = np.zeros(len(table), dtype=np.bool_)
    for role in roles if unreadable_texts else ():
        unknown |= np.array([text in unreadable_texts for text in table[role]], dtype=np.bool_)
    both = [(ids[a], ids[b]) for a, b in zip(table[roles[0]], table[roles[1]], strict=True)] if pairs else []
    return _Flags(
        unknown,
        np.array([a == b for a, b in both], dtype=np.bool_),
        np.array([len(a) != len(b) for a, b in both], dtype=np.bool_),
        np.array([a[:1] != b[:1] for a, b in both], dtype=np.bool_),
    )


def _ties(table: pd.DataFrame, scorer: Scorer) -> Flags:
    """Return whether each pair has two numbers that are a tie."""
    scores = table[["stereo_score", "anti_score"]].to_numpy(dtype=np.float64)
    scored = np.isfinite(scores).all(axis=1)
    stereo, anti = np.where(scored[:, None], scores, 0.0).T
    tied: Flags = scored & (psi_between(stereo, anti, scorer.scale) == 0.5)
    return tied


def unreadable(fitness: Fitness | None) -> str:
    """Return why a config gets no headline: ``41 % of its rows hold words …``; empty where it gets one."""
    if fitness is None or fitness.unknown <= MOST_UNKNOWN * fitness.rows:
        return ""
    return f"{100 * fitness.unknown / fitness.rows:.0f} % of its rows hold words that the tokenizer does not know"


def unreadable_configs(configs: Mapping[str, Fitness]) -> dict[str, str]:
    """Return the configs that get no headline, each with the reason."""
    return {config: why for config, fitness in configs.items() if (why := unreadable(fitness))}


def fitness_lines(configs: Mapping[str, Fitness], other: str = "") -> Iterator[str]:
    """Yield a line for each config of which there is something to say; nothing where all rows are read as they are.

    `other` is the scorer to compare first tokens with, with a start token or without; empty: none is suggested.
    """
    for config, fitness in configs.items():
        if text := "; ".join(clauses(fitness)):
            yield f"{printable(config)}: {text}"
    if other and any(fitness.first_token is not None and fitness.first_token.rows for fitness in configs.values()):
        yield f"score with {other}, too: a report of both shows the pairs with another first token side by side"


def clauses(fitness: Fitness) -> Iterator[str]:
    """Yield what there is to say of a config, in clauses."""
    first = fitness.first_token
    if fitness.unknown:
        yield f"{fitness.unknown:,} of {counted(fitness.rows, 'row')} with words that the tokenizer does not know"
    if fitness.same_tokens:
        yield f"{counted(fitness.same_tokens, 'pair')} of the same tokens"
    if fitness.unequal_counts:
        yield f"{counted(fitness.unequal_counts, 'pair')} of unequal numbers of tokens"
    if fitness.explained:
        yield f"{fitness.explained:,} of {counted(fitness.ties or 0, 'tie')} because both sentences are the same tokens"
    if first is not None and first.rows:
        yield f"{counted(first.rows, 'pair')} with another first token, {standing_before(first)}"


def standing_before(first: FirstToken) -> str:
    """Return what stands before the first tokens, in a clause."""
    if first.before:
        return f"before which only {printable(first.before)} stands"
    return "of which the probability is not in the number"
