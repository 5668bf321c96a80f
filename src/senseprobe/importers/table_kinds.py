"""How a user's own table becomes rows of a kind: the columns that it needs, and the design that its columns allow.

Ours are here; a kind of a room or a plug-in declares its own (`Kind.mapped`). Drafts and maps of columns use the same.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

import pyarrow as pa

from senseprobe.errors import SenseprobeError
from senseprobe.importers.integer_labels import NO_NAME, as_integer
from senseprobe.importers.notes import LeftOut
from senseprobe.importers.sentence_pairs import (
    WORD_SIGN,
    as_span,
    contrast_design,
    differ_in_pronouns,
    find_difference,
    find_word,
    frame_code,
    is_english,
    list_bias_types,
    pair_row,
)
from senseprobe.importers.sources import Row, Source, excerpt
from senseprobe.messages import listed
from senseprobe.records import Design, Factor
from senseprobe.release.kinds import KINDS

Completed: TypeAlias = tuple[Design, list[Row], Mapping[str, str]]
"""The design of a table, its rows with all columns of their kind, and what estimands that were left out need, by id."""

CONFIG = "rows"
"""The config of a table."""

STRATA = {"stereotype": {"male", "female"}, "valence": {"pleasant", "unpleasant"}}
"""The labels that divide occupations and qualities into two classes each."""

GOLD = ("entailment", "neutral", "contradiction")


def keep_row(row: Row) -> Row:
    """Return a row as it is."""
    return row


@dataclass(frozen=True, kw_only=True, slots=True)
class TableKind:
    """How rows of a kind come from a user's table.

    - `texts`: the columns that each table needs, which hold a text in each row; a row without an id is known by them.
    - `optional`: the other columns that can be mapped, those that figures use or that describe a row.
    - `derived`: those of them that are read off the texts where no column has them.
    - `aliases`: what a column may also be called where columns are not mapped but called as roles are.
    - `complete`: derives the design from records, their schema, the factors that were named, and a source with the
      language; returns what `Completed` says.
    - `read`: makes the values of a row what a release has (`gold` in small letters); raises LeftOut where the row
      cannot be used.
    - `fits`: whether a table with columns of these names is a draft of the kind, where `texts` do not say so.
    - `unit`: what messages call several rows; `description`: of the config; `measured`: of the card.
    - `mapped`: whether columns can be mapped to its roles.
    """

    texts: tuple[str, ...]
    complete: Callable[[list[Row], pa.Schema, tuple[Factor, ...], Source], Completed]
    optional: tuple[str, ...] = ()
    derived: tuple[str, ...] = ("id", "frame")
    aliases: Mapping[str, str] = field(default_factory=dict)
    read: Callable[[Row], Row] = keep_row
    fits: Callable[[set[str]], bool] | None = None
    unit: str = "pairs"
    description: str = "Pairs of sentences of a table."
    measured: str = ""
    mapped: bool = True

    @property
    def roles(self) -> tuple[str, ...]:
        """The columns that can be mapped."""
        return self.texts + self.optional

    def is_draft(self, columns: set[str]) -> bool:
        """Return whether a table with columns of these names is of this kind."""
        return self.fits(columns) if self.fits else columns >= {*self.texts}


def table_kinds() -> Mapping[str, TableKind]:
    """Return how tables become rows, by kind: ours, then those of rooms and plug-ins that say so."""
    others = {id_: kind.mapped for id_, kind in KINDS.items() if id_ not in _OURS}
    return {**_OURS, **{id_: mapped for id_, mapped in others.items() if isinstance(mapped, TableKind)}}


def all_roles() -> list[str]:
    """Return the roles of all kinds, each once."""
    return [*dict.fromkeys(role for kind in table_kinds().values() if kind.mapped for role in kind.roles)]


def find_kind(columns: set[str], *, mapped: bool = False) -> str | None:
    """Return the kind of which a table with columns of these names is, None where it is of none.

    Of several it is the one that needs the most columns. With `mapped`, only kinds whose columns can be mapped count.

    >>> find_kind({"premise", "hypothesis", "stereo"}), find_kind({"stereo"})
    ('inference', None)
    """
    kinds = {id_: kind for id_, kind in table_kinds().items() if kind.is_draft(columns) and (kind.mapped or not mapped)}
    return max(kinds, key=lambda id_: len(kinds[id_].texts), default=None)


def name_needed(columns: Iterable[str], sign: str = "") -> str:
    """Return what a table with some columns lacks to have mapped rows, as ``stereo and anti, or premise …``.

    It is what the kind with most of these columns lacks; where no kind has any, what each needs.
    """
    kinds = [kind for kind in table_kinds().values() if kind.mapped]
    most = max(len({*columns} & {*kind.texts}) for kind in kinds)
    begun = [kind for kind in kinds if len({*columns} & {*kind.texts}) == most]
    lacks = [[f"{text}{sign}" for text in kind.texts if text not in columns] for kind in begun[: 1 if most else None]]
    return ", or ".join(f"{', '.join(names[:-1])} and {names[-1]}".removeprefix(" and ") for names in lacks)


def complete_rows(
    kind: str, records: list[Row], schema: pa.Schema, factors: tuple[Factor, ...], language: str = "en"
) -> Completed:
    """Derive a design from the columns of a table, for drafts and for imports of a user's own table."""
    return table_kinds()[kind].complete(records, schema, factors, Source("draft", b"", language))


def _contrast(records: list[Row], schema: pa.Schema, factors: tuple[Factor, ...], source: Source) -> Completed:
    differences = [find_difference(row["stereo"], row["anti"]) for row in records]
    filled = [{name: value for name, value in row.items() if value is not None} for row in records]
    rows = [
        # Merged, not passed: a column may have the name of a parameter.
        pair_row(row["stereo"], row["anti"], source, line, difference, row.get("target"))
        | {"label_basis": "published", **row}
        for line, (row, difference) in enumerate(zip(filled, differences, strict=True), start=1)
    ]
    pronouns = is_english(source.language) and differ_in_pronouns(differences)
    framed = rows
    if "frame" not in schema.names:
        framed = [{**row, "frame": _frame_without_group(row, source.language)} for row in rows]
    group = next((name for name in ("group", "target") if not pronouns and _is_crossed(framed, name)), None)
    crossed = group is not None
    rows = framed if crossed else rows
    by_precedence = ["target", *(column for factor in factors for column in factor.columns)]  # the last one stays
    labels = STRATA if pronouns else ()
    strata = {label: column for label in labels for column in by_precedence if _divides(rows, column, label)}
    classed, praised = "stereotype" in strata, "valence" in schema.names
    estimands, left_out = choose_estimands(
        (("preference", "preference-half"), True, ""),
        (
            ("relative", "spread"),
            crossed,
            "words of praise and blame, each with several groups in one frame, and groups in `group` or `target`",
        ),
        (
            ("pronoun-stereotype", "pronoun-baseline"),
            classed,
            "pairs of pronouns, occupations in `target` or a factor, and male or female in `stereotype`",
        ),
        (("pronoun-interaction",), classed and praised, "these and a column `valence`"),
        (("lms", "ss", "icat"), "unrelated" in schema.names, "a column `unrelated`"),
    )
    sense_types = {row.get("sense_type") for row in rows}
    design = contrast_design(
        bias_type=list_bias_types(rows) if all(row.get("bias_type") for row in rows) else "",
        factors={},
        columns=(),
        sense_type=str(next(iter(sense_types)) or "") if len(sense_types) == 1 else "",
        differs="pronoun" if pronouns else "evaluative" if crossed else "group",
        estimands=estimands,
        group=group,
        words={"stereo": "stereo_value", "anti": "anti_value"} if crossed else {},
        strata=strata,
    )
    design = replace(design, factors=factors, columns=added_columns("contrast", schema))
    return design, rows, left_out


def _divides(rows: Sequence[Mapping[str, Any]], column: str, label: str) -> bool:
    """Return whether each word of a column has one value of a label, and both values of that occur."""
    classes = {(row.get(column), row.get(label)) for row in rows}
    return {value for _, value in classes} == STRATA[label] and len({word for word, _ in classes}) == len(classes)


def _frame_without_group(row: Mapping[str, Any], language: str) -> str:
    """Return the code of what two sentences share but for their group, so that groups can share a frame."""
    texts = []
    for role in ("stereo", "anti"):
        text, value = row[role], row[f"{role}_value"]
        spans = (find_word(text, str(row[name]), language) for name in ("target", "group") if row.get(name))
        start, end = next(filter(None, spans), (0, 0))
        text = f"{text[:start]}_{text[end:]}" if end else text
        texts.append(
            re.sub(rf"(?<!{WORD_SIGN}){re.escape(value)}(?!{WORD_SIGN})", "_", text, count=1) if value else text
        )
    return frame_code(find_difference(*texts).shared)


def _is_crossed(rows: Sequence[Mapping[str, Any]], name: str) -> bool:
    """Return whether each differing word of a frame is said of several groups, which can be compared by it then."""
    groups: dict[tuple[str, str, str], set[str | None]] = {}
    for row in rows:
        for column in ("stereo_value", "anti_value"):
            groups.setdefault((row["frame"], column, row[column]), set()).add(row.get(name))
    return all(len(names) > 1 and None not in names for names in groups.values())


def _inference(records: list[Row], schema: pa.Schema, factors: tuple[Factor, ...], _: Source) -> Completed:
    if integers := [str(number) for number, row in enumerate(records) if as_integer(row.get("gold"))]:
        first = str(records[int(integers[0])]["gold"])
        raise SenseprobeError(f"gold of rows {listed(integers)} (from 0): {first!r} {NO_NAME}")
    rows = [{**row, "gold": row.get("gold") or "neutral"} for row in records]
    probes = all(row["gold"] == "neutral" for row in rows)
    gap = probes and "pair" in schema.names and {"male", "female"} <= {row.get("gender") for row in rows}
    estimands, left_out = choose_estimands(
        (("nn", "fn", "t@0.5", "t@0.7"), probes, "rows whose correct answer is neutral"),
        (("gap",), gap, "such rows, and the columns `gender` (male and female) and `pair`"),
        (("accuracy",), not probes, "correct answers in a column `gold`"),
    )
    design = Design(
        kind="inference",
        sense_type="",
        bias_type="",
        slots=(),
        roles={"premise": {}, "hypothesis": {}},
        factors=factors,
        columns=added_columns("inference", schema),
        estimands=estimands,
    )
    return design, rows, left_out


SETS = ("X", "Y", "A", "B")
"""The roles of an association test."""

_SPAN = ("span_start", "span_end")


def _association(records: list[Row], schema: pa.Schema, factors: tuple[Factor, ...], source: Source) -> Completed:
    rows = [_association_row(row, number, source.language) for number, row in enumerate(records)]
    roles: dict[str, set[str]] = {}
    identities: dict[str, str | None] = {}
    for row in rows:
        roles.setdefault(row["test"], set()).add(row["role"])
        if (first := identities.setdefault(row["test"], row.get("identity"))) != row.get("identity"):
            both = f"{first!r} and {row['identity']!r}"
            raise SenseprobeError(f"test {row['test']!r} has the identities {both}: give it a single one")
    for test, there in roles.items():
        if missing := [role for role in SETS if role not in there]:
            raise SenseprobeError(f"test {test!r} lacks rows of {' and '.join(missing)}: it needs X, Y, A and B")
    level = "word" if all(row["word"] for row in rows) else "sentence"
    needs = {
        "level word": ("word", "a column `word`"),
        "level sent": ("sentence", "a column `sentence`"),
        "level cword": ("sentence", "a column `sentence`") if "word" in schema.names else ("word", "a column `word`"),
    }
    design = Design(
        kind="association",
        sense_type="",
        bias_type="",
        slots=(),
        roles={"sentence": {}},
        factors=factors or (Factor(name=level, columns=(level,)),),
        columns=tuple(column for column in added_columns("association", schema) if column[0] not in _SPAN),
        estimands=("weat",),
    )
    return design, rows, {what: needed for what, (column, needed) in needs.items() if column not in schema.names}


def _association_row(row: Mapping[str, Any], number: int, language: str) -> dict[str, Any]:
    """Return a row with the place of its word in its sentence, where it has both."""
    test, role, word, sentence = (str(row.get(name) or "").strip() for name in ("test", "role", "word", "sentence"))
    if not test or role not in SETS or not (word or sentence):
        lacks = "a word or sentence" if test and role in SETS else "a test"
        defect = f"has the role {role!r}" if test and role not in SETS else f"lacks {lacks}"
        raise SenseprobeError(
            f"row {number} (from 0) {defect}: a row needs a test, a role (X, Y, A or B), and a word or sentence"
        )
    span: tuple[int, int] | None = None
    if row.get(_SPAN[0]) is not None and row.get(_SPAN[1]) is not None:
        span = _read_span(row, number, sentence)
    elif word and sentence:
        span = find_word(sentence, word, language)
    texts = {"word": word or None, "sentence": sentence or None}
    return {**row, "test": test, "role": role, **texts, "span": as_span(span)}


def _read_span(row: Mapping[str, Any], number: int, sentence: str) -> tuple[int, int]:
    """Return where a row says that its word stands; raise SenseprobeError where that is no part of the sentence."""
    try:
        start, end = (int(float(row[name])) for name in _SPAN)  # pandas makes 3.0 of 3 where a cell is missing
    except (ValueError, OverflowError):
        start = end = 0
    if not 0 <= start < end <= len(sentence) or sentence != row.get("sentence"):
        expected = "expected half-open code points of the sentence, without spaces around the word"
        raise SenseprobeError(f"row {number} (from 0): span {row[_SPAN[0]]} to {row[_SPAN[1]]} is invalid: {expected}")
    return start, end


def choose_estimands(*offers: tuple[tuple[str, ...], bool, str]) -> tuple[tuple[str, ...], dict[str, str]]:
    """Return the estimands that can be computed, and what the others need, by id."""
    chosen = tuple(name for names, possible, _ in offers if possible for name in names)
    return chosen, {name: needs for names, possible, needs in offers if not possible for name in names}


def added_columns(kind: str, schema: pa.Schema) -> tuple[tuple[str, str], ...]:
    """Return the columns besides those of the kind, in order, each with its type."""
    usual = {"id", "frame", *(name for name, _, _ in KINDS[kind].columns)}
    kinds = {True: "boolean", False: "string"}
    return tuple((field.name, kinds[pa.types.is_boolean(field.type)]) for field in schema if field.name not in usual)


def _read_contrast(row: Row) -> Row:
    if row["stereo"] == row["anti"]:
        raise LeftOut("its two sentences are the same")
    return row


def _read_inference(row: Row) -> Row:
    if "gold" not in row:
        return row
    gold = (row["gold"] or "").lower()
    if gold not in GOLD:
        expected = NO_NAME if as_integer(row["gold"]) else f"is not {', '.join(GOLD[:-1])} or {GOLD[-1]}"
        raise LeftOut(f"gold: {excerpt(row['gold'] or '')!r} {expected}")
    return {**row, "gold": gold}


_OURS: Mapping[str, TableKind] = {
    "contrast": TableKind(
        texts=("stereo", "anti"),
        optional=(
            *("target", "group", "bias_type", "sense_type", "sense_key", "token_key", "lexicon", "label_basis"),
            *("contested", "stereo_value", "anti_value", "minimal", "valence", "stereotype", "unrelated"),
            *("id", "frame"),
        ),
        derived=("id", "frame", "stereo_value", "anti_value", "minimal"),
        complete=_contrast,
        read=_read_contrast,
        measured="Whether a language model gives the first sentence of a pair a higher score than the second.",
    ),
    "inference": TableKind(
        texts=("premise", "hypothesis"),
        optional=("gold", "group", "gender", "pair", "id", "frame"),
        aliases={"label": "gold"},
        complete=_inference,
        read=_read_inference,
        measured="The class that an inference model gives to a pair of sentences.",
    ),
    "association": TableKind(
        texts=(),
        complete=_association,
        fits=lambda columns: columns >= {"test", "role"} and bool(columns & {"word", "sentence"}),
        mapped=False,
    ),
}
