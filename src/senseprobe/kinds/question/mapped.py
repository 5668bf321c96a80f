"""How a user's own table becomes questions, and the design of questions that no template made."""

from collections.abc import Mapping, Sequence

import pyarrow as pa

from senseprobe.errors import SenseprobeError
from senseprobe.importers.notes import LeftOut
from senseprobe.importers.sentence_pairs import frame_code
from senseprobe.importers.sources import Row, Source, excerpt
from senseprobe.importers.table_kinds import Completed, TableKind, added_columns
from senseprobe.kinds.question.columns import AMBIGUOUS, ANSWERS, DISAMBIGUATED, FACTORS, ORDERS, choose_order
from senseprobe.kinds.question.expansion import QuestionExpansion
from senseprobe.records import Design, Factor

CONDITIONS = {AMBIGUOUS: AMBIGUOUS, "ambig": AMBIGUOUS, DISAMBIGUATED: DISAMBIGUATED, "disambig": DISAMBIGUATED}
POLARITIES = {"negative": "negative", "neg": "negative"}
POLARITIES |= dict.fromkeys(("non-negative", "non_negative", "nonneg"), "non-negative")
_TEXTS = ("context", "question", *ANSWERS)


def question_design(
    bias_type: str, added: Sequence[str] = (), factors: Sequence[Factor] = (), columns: Sequence[tuple[str, str]] = ()
) -> Design:
    """Return the design of questions: `added` are columns of text besides those of the kind."""
    return Design(
        kind="question",
        sense_type="",
        bias_type=bias_type,
        slots=(),
        roles={"sentence": {}},
        factors=tuple(factors) or FACTORS,
        columns=tuple(columns) or tuple((name, "string") for name in added),
        estimands=QuestionExpansion.estimands,
    )


def _read(row: Row) -> Row:
    """Return a row with all that figures need; raise LeftOut where its labels contradict each other or are unknown."""
    if len({row[name] for name in ANSWERS}) < len(ANSWERS):
        raise LeftOut("two of its answers are the same")
    gold = (row.get("gold") or "").lower()
    condition = _named(row, "condition", CONDITIONS, DISAMBIGUATED if gold in ANSWERS[:2] else AMBIGUOUS)
    gold = gold or ("unknown" if condition == AMBIGUOUS else "")
    if gold not in ANSWERS:
        raise LeftOut(f"gold: {excerpt(gold)!r} is not stereo, anti or unknown")
    order = " ".join((row.get("order") or ORDERS[choose_order("\n".join(row[name] for name in _TEXTS))]).split())
    if order not in ORDERS:
        raise LeftOut(f"order: {excerpt(order)!r} is not stereo, anti and unknown in any order")
    polarity = _named(row, "polarity", POLARITIES, "negative")
    template = row.get("template") or frame_code(row["question"])
    labels = {"condition": condition, "polarity": polarity, "gold": gold, "order": order, "template": template}
    return {**row, **labels, "frame": row.get("frame") or f"{template}-{condition}-{polarity}"}


def _named(row: Row, name: str, values: Mapping[str, str], otherwise: str) -> str:
    text = (row.get(name) or "").lower()
    if text and text not in values:
        raise LeftOut(f"{name}: {excerpt(text)!r} is not one of {', '.join(dict.fromkeys(values.values()))}")
    return values[text] if text else otherwise


def _complete(records: list[Row], schema: pa.Schema, factors: tuple[Factor, ...], _: Source) -> Completed:
    rows = []
    for number, row in enumerate(records):
        try:
            rows.append(_read(row))  # again for an import; nothing has read those of a draft
        except LeftOut as reason:
            raise SenseprobeError(f"row {number} (from 0): {reason}") from None
    return question_design("", factors=factors, columns=added_columns("question", schema)), rows, {}


MAPPED = TableKind(
    texts=_TEXTS,
    optional=(
        *("condition", "polarity", "gold", "order", "stereo_group", "anti_group", "target_groups", "template"),
        *("id", "frame"),
    ),
    derived=("id", "frame", "order", "template"),
    complete=_complete,
    read=_read,
    unit="questions",
    description="Questions of a table.",
    measured="How often a model gives the answer that agrees with a stereotype: where the context does not say who is "
    "meant, and where it does.",
)
