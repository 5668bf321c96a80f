"""The kinds of rows: the columns of each, and what its cards say; ours first, then those of plug-ins.

What makes rows of a kind is known to `generator`, and what scores them to `evaluate`: `KindTable` has what either knows
of ours, and what a plug-in declares for it.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, TypeAlias, TypeVar

import pyarrow as pa

from senseprobe.errors import SenseprobeError
from senseprobe.plugins import Registry, Unfit
from senseprobe.records import Design, Finding

TEXT, FLAG = pa.string(), pa.bool_()
SPAN = pa.struct([pa.field("start", pa.int32()), pa.field("end", pa.int32())])
"""A place in a text: half-open, in code points."""

Columns = tuple[tuple[str, pa.DataType, str], ...]
"""Names, types (`TEXT`, `FLAG` or `SPAN`) and meanings."""

CheckFunction = Callable[[Any], Iterator[Finding]]
Remark: TypeAlias = tuple[Mapping[str, Any], str, str, str]
"""What a check with a code says of an imported row: the row, one of its columns, the code, and the message."""
RemarkFunction: TypeAlias = Callable[[Iterable[Mapping[str, Any]], Design], Iterator[Remark]]

CHECK_CODE = re.compile("[EW][A-Z]{2,12}[0-9]{2,4}")
"""The code of a check that a plug-in brings: E for an error or W for a warning, letters of its own, a number."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Kind:
    """A kind of rows.

    - `id`: what front matter and manifests call it.
    - `columns`: those of its rows, after `id`, `frame` and one column per slot; `full`: those that are null in no row.
    - `readable`: the columns of text by which a reader sees what a row is.
    - `declared`: the columns that its front matter may declare by a key of their own, with their meanings.
    - `expansion`: a `senseprobe.generator.kinds.RowExpansion`: from front matter to rows.
    - `scoring`: a `senseprobe.evaluate.units.RowScoring`: which columns are scored, and what is called how.
    - `checks`: of `senseprobe lint`, by code (`CHECK_CODE`): functions from a
      `senseprobe.generator.checks.base.ConfigSubject` to findings.
    - `mapped`: a `senseprobe.importers.table_kinds.TableKind`: how a user's own table becomes rows; None: it cannot.
    - `remarks`: what `import` says of published rows, which no template made: a function from rows (as mappings) and
      their design to row, column, code and message, as checks of the same codes have them; None: nothing.
    - `tasks`, `labels`: the Hub's names of the tasks that the rows are for, and of how labels come about that follow
      from what templates and lists declare.
    - `model`: a public model, for the lines of a card on scoring; empty: none.
    - `unit`: what figures are counted in.
    """

    id: str
    columns: Columns
    full: frozenset[str]
    readable: tuple[str, ...]
    declared: Mapping[str, str] = field(default_factory=dict)
    expansion: Any = None
    scoring: Any = None
    checks: Mapping[str, CheckFunction] = field(default_factory=dict)
    mapped: Any = None
    remarks: RemarkFunction | None = None
    tasks: tuple[str, ...] = ("other",)
    labels: str = "machine-generated"
    model: str = ""
    unit: str = "points"
    origin: str = ""


_CONTRAST: Columns = (
    ("stereo", TEXT, "the sentence that states the stereotype; if `label_basis` is none, just the first sentence"),
    ("anti", TEXT, "the counterpart of `stereo`"),
    ("stereo_span", SPAN, "position of the target in `stereo`: half-open, in code points, without its article"),
    ("anti_span", SPAN, "position of the target in `anti`"),
    ("target", TEXT, "the ambiguous word, as declared; null if the row does not name a group"),
    ("sense_type", TEXT, "the sense that the config is about"),
    ("sense_key", TEXT, "the key of that sense in the lexicon"),
    ("token_key", TEXT, "the key of the word's sense in the sentence"),
    ("lexicon", TEXT, "the lexicon that the keys belong to"),
    ("bias_type", TEXT, "the topic of the stereotype, as declared: nationality, race, gender, …"),
    (
        "label_basis",
        TEXT,
        "the basis of the labels: occupation, trait, both or none; in imports also annotators or published",
    ),
    ("contested", FLAG, "whether published data labels the pair the other way"),
    ("stereo_value", TEXT, "the words bound in `stereo` but not in `anti`"),
    ("anti_value", TEXT, "the words bound in `anti` but not in `stereo`"),
    ("valence", TEXT, "pleasant or unpleasant, if both sentences share a quality"),
    ("stereotype", TEXT, "the stereotype of the word according to its list, such as the gender of an occupation"),
    ("minimal", FLAG, "whether the sentences differ in exactly one bound word and nowhere else"),
)

_INFERENCE: Columns = (
    ("premise", TEXT, "the sentence that is given"),
    ("hypothesis", TEXT, "the sentence that does or does not follow from the premise"),
    ("premise_span", SPAN, "position of the target in `premise`: half-open, in code points, without its article"),
    ("hypothesis_span", SPAN, "position of the target in `hypothesis`"),
    ("gold", TEXT, "the correct answer: entailment, neutral or contradiction"),
)

_ASSOCIATION: Columns = (
    ("test", TEXT, "the association test"),
    ("role", TEXT, "the word's set: X or Y (targets), A or B (attributes)"),
    ("word", TEXT, "the word as published"),
    ("word_class", TEXT, "the class of words that the frame is for"),
    ("sentence", TEXT, "the word in its frame"),
    ("span", SPAN, "position of the word in `sentence`: half-open, in code points, without its article"),
)


_OURS = (
    Kind(
        id="contrast",
        columns=_CONTRAST,
        full=frozenset({"stereo", "anti"}),
        readable=("stereo", "anti"),
        declared={
            "stereo_value_key": "the sense key of the quality in `stereo_value`, according to its list",
            "anti_value_key": "the sense key of the quality in `anti_value`",
        },
        tasks=("fill-mask", "text-generation"),
        model="HuggingFaceTB/SmolLM2-135M-Instruct",
    ),
    Kind(
        id="inference",
        columns=_INFERENCE,
        full=frozenset(name for name, _, _ in _INFERENCE),
        readable=("premise", "hypothesis", "gold"),
        tasks=("text-classification",),
        model="FacebookAI/roberta-large-mnli",
    ),
    Kind(
        id="association",
        columns=_ASSOCIATION,
        full=frozenset({"role", "sentence", "span"}),
        readable=("role", "sentence"),
        declared={
            "identity": "the topic of the test according to its list: gender, race, …; empty if it is not about a group"
        },
        tasks=("feature-extraction", "sentence-similarity"),
        labels="no-annotation",
        model="sentence-transformers/all-MiniLM-L6-v2",
        unit="standard deviations",
    ),
)


def _admit(kind: Kind) -> Kind:
    """Return the kind of a plug-in; Unfit where no release could have rows of it."""
    names = [name for name, _, _ in kind.columns]
    if unusable := [name for name in names if not re.fullmatch("[a-z][a-z0-9_]*", name) or name in ("id", "frame")]:
        raise Unfit(f"{unusable[0]!r} cannot be the name of a column")
    if len({*names}) < len(names):
        raise Unfit("two of its columns have one name")
    if other := [name for name, type_, _ in kind.columns if type_ not in (TEXT, FLAG, SPAN)]:
        raise Unfit(f"its column {other[0]} is neither TEXT nor FLAG nor SPAN")
    if unknown := sorted({*kind.full, *kind.readable} - {*names}):
        raise Unfit(f"its `full` or `readable` has {unknown[0]!r}, which is not one of its columns")
    if not kind.readable:
        raise Unfit("its `readable` names no column")
    if odd := [code for code in kind.checks if not CHECK_CODE.fullmatch(code)]:
        raise Unfit(f"the code {odd[0]!r} of a check is not E or W, two letters or more, and a number, as WTOY01 is")
    if kind.expansion is None or kind.scoring is None:
        raise Unfit("it lacks `expansion` or `scoring`")
    if any(getattr(kind.scoring, name, False) for name in ("pairs", "infers", "tests")):
        raise Unfit("its scoring declares pairs, infers or tests, which only senseprobe's own kinds may")
    roles = getattr(kind.scoring, "roles", {})
    if unknown := [name for name in (*roles, *roles.values()) if name not in names]:
        raise Unfit(f"its scoring has the role {unknown[0]!r}, which is not one of its columns")
    return kind


KINDS = Registry("senseprobe.kinds", Kind, "kind of rows", _OURS, _admit)
"""All kinds by id: ours, then those of plug-ins."""


def why_unknown(name: str) -> str:
    """Return why there are no rows of a kind here, and what to do; empty where there are."""
    if name in KINDS:
        return ""
    if fault := KINDS.fault(name):
        return fault
    return f"rows of kind {name!r} are of a plug-in that is not installed: install the one that brings this kind"


T = TypeVar("T")


class KindTable(Mapping[str, T], Generic[T]):
    """What a room knows of each kind, by its id: of ours what the room says, of a plug-in's what it declares.

    `name` is the field of a `Kind` that holds it, and `type_` its class.
    """

    def __init__(self, ours: Mapping[str, T], name: str, type_: type[Any]) -> None:
        self._ours, self._name, self._type = ours, name, type_

    def __getitem__(self, kind: str) -> T:
        if kind in self._ours:
            return self._ours[kind]
        declared: T = getattr(KINDS[kind], self._name)
        if not isinstance(declared, self._type):
            raise SenseprobeError(
                f"the kind of rows {kind} of {KINDS[kind].origin} cannot be used: its `{self._name}` is a "
                f"{type(declared).__name__}, not a {self._type.__name__}"
            )
        return declared

    def __iter__(self) -> Iterator[str]:
        return iter(KINDS)

    def __len__(self) -> int:
        return len(KINDS)
