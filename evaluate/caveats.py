"""What a result is read with: rows without a number, and what a coarse number format and the tokenizer make of rows."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from pydantic import Field

from senseprobe.evaluate.estimands import lookup
from senseprobe.evaluate.estimands.preference import PREFERENCE
from senseprobe.evaluate.scorers import SCORERS
from senseprobe.evaluate.scorers.base import Scorer
from senseprobe.evaluate.task_gates import TaskRecord
from senseprobe.evaluate.units import KINDS, UNRELATED, UnitTable
from senseprobe.messages import counted, listed, printable
from senseprobe.records import Design
from senseprobe.statistics import Scale, psi_between

if TYPE_CHECKING:
    from senseprobe.evaluate.models import Model
    from senseprobe.evaluate.models.base import TextTokens
    from senseprobe.evaluate.result import Result

# --- rows without a number ------------------------------------------------------------------------------------------

FIRST = 3  # unscored rows of each reason whose ids a result has
MOST_REASONS = 20
_OTHERS = "other reasons, such as: {}"


def unscored_rows(units: UnitTable, scorer: Scorer, model: "Model") -> dict[str, dict[str, Any]]:
    """Return by reason, the commonest first, how many ``rows`` have no number, and the ids of the ``first`` of them.

    A row counts once, with the reason of its first sentence without a number. Reasons come from the model and are not
    stored, so that rows whose numbers were stored have them too.
    """
    gaps = list(units.unscored())
    distinct = list(dict.fromkeys(unit for _, unit in gaps))
    reasons = dict(zip(distinct, scorer.reasons(model, distinct), strict=True))
    ids: dict[str, list[str]] = {}
    for row, unit in gaps:
        ids.setdefault(reasons[unit], []).append(row)
    order = sorted(ids.items(), key=lambda item: (-len(item[1]), item[0]))
    if len(order) > MOST_REASONS:  # a word each, of vectors of words
        rest = order[MOST_REASONS - 1 :]
        order[MOST_REASONS - 1 :] = [(_OTHERS.format(rest[0][0]), [row for _, rows in rest for row in rows])]
    return {reason: {"rows": len(rows), "first": rows[:FIRST]} for reason, rows in order}


def unscored_text(result: "Result") -> str:
    """Return ``2 rows have no number: 2 too long for the model (race.x, race.y)``; empty where all have one."""
    if not result.unscored:
        return ""
    rows = sum(facts["rows"] for facts in result.unscored.values())
    parts = [
        f"{facts['rows']:,} {printable(reason)} ({listed(map(printable, facts['first']), facts['rows'])})"
        for reason, facts in result.unscored.items()
    ]
    return f"{counted(rows, 'row')} {'has' if rows == 1 else 'have'} no number: {'; '.join(parts)}"


def refused_text(result: "Result") -> str:
    """Return ``left out: weat3 (john is a toilet)``, the tests that a model cannot have; empty where there are none."""
    tests = (f"{printable(listed(names))} ({printable(reason)})" for reason, names in result.refused.items())
    return f"left out: {'; '.join(tests)}" if result.refused else ""


# --- whether a chat model does the task -----------------------------------------------------------------------------


def asks_chat_model(result: "Result") -> bool:
    """Return whether a result is of a scorer that asks a chat model something."""
    scorer = SCORERS.get(result.scorer)
    return scorer is not None and bool(scorer.gates)


def has_gates(result: "Result") -> bool:
    """Return whether figures of a result depend on gates: of chat models, and of all served ones, which may change."""
    return asks_chat_model(result) or bool(result.tasks)


def failed_tasks(result: "Result") -> dict[str, str]:
    """Return the configs of which a gate fails, each with a verdict, a colon and the gates; none of other results.

    A config of which no gate is on record has passed none.
    """
    if not has_gates(result):
        return {}
    compared = (figure.config for figure in result.figures if not lookup(figure.estimand).is_contrast)
    records = {config: result.tasks.get(config, TaskRecord()) for config in dict.fromkeys([*result.tasks, *compared])}
    return {config: record.failure for config, record in records.items() if not record.does_task}


def withheld_configs(result: "Result") -> list[str]:
    """Return the configs of which a gate fails and no figure has a value, as without ``--show-failing``.

    Shares of right answers always have theirs: they are no figures of bias, and a config of these alone withholds none.
    """
    gated = [figure for figure in result.figures if not lookup(figure.estimand).needs_gold]
    ungated = {figure.config for figure in result.figures} - {figure.config for figure in gated}
    shown = {figure.config for figure in gated if figure.value is not None}
    return [config for config in failed_tasks(result) if config not in shown | ungated]


# --- what a coarse number format turns around -----------------------------------------------------------------------

COARSE_FORMATS = ("bfloat16", "float16")

ROWS = 200
"""Rows that are scored in float32, too, drawn like those of `--limit`: a share of 5 % is exact to some three points."""


def is_coarse(result: "Result") -> bool:
    """Return whether a result is in a number format that is coarser than float32."""
    return result.model["dtype"] in COARSE_FORMATS


def count_flipped(
    coarse: pd.DataFrame, fine: pd.DataFrame, columns: Sequence[str], scale: Scale = "log"
) -> dict[str, int]:
    """Return how many ``rows`` have numbers in both tables, and of how many another sign, or label, is ``flipped``."""
    both = coarse.merge(fine, on=["config", "id"], suffixes=("_coarse", "_fine"))
    sides = [both[[f"{name}_{side}" for name in columns]].to_numpy(dtype=np.float64) for side in ("coarse", "fine")]
    scored = np.logical_and(*(np.isfinite(side).all(axis=1) for side in sides))
    before, after = (
        # The position of the largest label, or the sign of a difference: 1, ½ for a tie, 0.
        numbers.argmax(axis=1)
        if len(columns) > 2
        # Of a single number, which is a difference already, against 0.
        else psi_between(numbers[:, 0], numbers[:, 1] if len(columns) > 1 else np.zeros(len(numbers)), scale)
        for numbers in (side[scored] for side in sides)
    )
    return {"rows": int(scored.sum()), "flipped": int((before != after).sum())}


def flipped_text(result: "Result") -> str:
    """Return how many rows of a sample a coarse number format turns around, in a sentence; empty where not counted."""
    if result.coarse is None:
        return ""
    kind, flipped = KINDS[result.kind], result.coarse["flipped"]
    share = f"{flipped} of {counted(result.coarse['rows'], kind.noun)} drawn {'has' if flipped == 1 else 'have'}"
    return f"{share} another {kind.reading} in float32 than in {result.model['dtype']}"


# --- what the tokenizer makes of rows -------------------------------------------------------------------------------

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


def count_fitness(
    scored: Mapping[str, pd.DataFrame], designs: Mapping[str, Design], scorer: Scorer, model: "Model"
) -> dict[str, Fitness]:
    """Count by config what a model's tokenizer makes of tables with scores; nothing where it is a plug-in's model."""
    if (tokens := getattr(model, "tokens", None)) is None:
        return {}
    from senseprobe.evaluate.models.base import TextTokens

    if not isinstance(tokens, TextTokens):
        return {}
    before = tokens.spelt(getattr(model, "start", ())) if scorer.without_start else ""
    fitness = {name: _fitness(table, designs[name], scorer, tokens, before) for name, table in scored.items()}
    at_start = ((name, scorer.words_at_start(model, table)) for name, table in scored.items())
    return {name: replace(fitness[name], at_start=count or None) for name, count in at_start}


def _fitness(table: pd.DataFrame, design: Design, scorer: Scorer, tokens: "TextTokens", before: str) -> Fitness:
    kind = KINDS[design.kind]
    roles = [*scorer.texts, *scorer.texts.values(), *(name for name in UNRELATED if f"{name}_score" in table)]
    starts = range(0, max(1, len(table)), _WINDOW)
    parts = [_flags(table.iloc[start : start + _WINDOW], list(dict.fromkeys(roles)), tokens) for start in starts]
    unknown, same, unequal, first = (np.concatenate(flags) for flags in zip(*parts, strict=True))
    if not kind.pairs or scorer.level:
        return Fitness(rows=len(table), unknown=int(unknown.sum()))
    scores = table[["stereo_score", "anti_score"]].to_numpy(dtype=np.float64)
    scored = np.isfinite(scores).all(axis=1)
    stereo, anti = np.where(scored[:, None], scores, 0.0).T
    ties = scored & (psi_between(stereo, anti, scorer.scale) == 0.5)
    first_token = None
    if scorer.left_to_right:
        share = PREFERENCE.kernel_rows(table[first], design, scorer.scale).share
        preference = None if share is None else round(100 * share - 50, 9) + 0.0
        first_token = FirstToken(rows=int(first.sum()), before=before, preference=preference)
    return Fitness(
        rows=len(table),
        unknown=int(unknown.sum()),
        same_tokens=int(same.sum()),
        unequal_counts=int(unequal.sum()),
        ties=int(ties.sum()),
        explained=int((ties & same).sum()),
        first_token=first_token,
    )


def _flags(table: pd.DataFrame, roles: Sequence[str], tokens: "TextTokens") -> tuple[Flags, ...]:
    """Return whether a row has unknown tokens; the same ones, unequal numbers of them, another first, in two texts."""
    texts = list(dict.fromkeys(text for role in roles for text in table[role]))
    ids = dict(zip(texts, tokens.of(texts), strict=True))
    unreadable_texts = {text for text, own in ids.items() if tokens.unknown in own}
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
