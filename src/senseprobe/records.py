"""The records that the packages exchange: frozen and typed. They import nothing of senseprobe."""

from collections.abc import Mapping, Sequence, Set
from dataclasses import asdict, dataclass, field
from typing import Any, Literal, TypeAlias


@dataclass(frozen=True, kw_only=True, slots=True)
class Edit:
    """A certain correction of an error: at a line and a column, both from 1, `now` replaces `was`."""

    line: int
    column: int
    was: str
    now: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Finding:
    """One error or warning, and its location.

    `line` and `column` count from 1; 0 means the whole file. `fix` is set only if the correction is certain.

    >>> print(Finding(path="race.j2", line=3, column=5, code="E107", message="unclosed output", hint="write }}"))
    race.j2:3:5: E107 unclosed output (write }})
    """

    path: str
    line: int = 0
    column: int = 0
    code: str
    message: str
    hint: str = ""
    fix: Edit | None = None

    def __str__(self) -> str:
        location = ":".join(str(piece) for piece in (self.path, self.line, self.column) if piece)
        return f"{location}: {self.code} {self.message}" + (f" ({self.hint})" if self.hint else "")

    def as_dict(self) -> dict[str, Any]:
        """Return the finding with the stable keys of ``--json``; ``fix`` only where there is one."""
        return {key: value for key, value in asdict(self).items() if key != "fix" or value}


@dataclass(frozen=True, kw_only=True, slots=True)
class Factor:
    """A set of levels that were sampled from a larger set: what a result generalises over.

    `columns`: the row columns of its levels, two where both members of a pair draw from the same factor (the nouns of
    sssb's colour), else one. A factor ``good.cluster`` has clusters of the words of a slot as its levels, in a column
    ``good_cluster``: words that go together are no samples of their own.

    >>> factor = Factor(name="good.cluster", columns=("good_cluster",))
    >>> factor.slot, factor.is_clustered
    ('good', True)
    """

    name: str
    columns: tuple[str, ...]

    @property
    def slot(self) -> str:
        """The slot whose words, or clusters of words, are its levels."""
        return self.name.partition(".")[0]

    @property
    def is_clustered(self) -> bool:
        """Whether its levels are clusters of words."""
        return "." in self.name


@dataclass(frozen=True, kw_only=True, slots=True)
class LevelPair:
    """Two levels of a slot that a template compares: `gap` is the figure of the `first` less that of the `second`.

    - `slot`: the slot whose words are compared; `column`: the column of the rows that holds the levels: the slot, or
      one that the template adds.
    - `pair`: the column that says which words belong together, as man and woman do; None where any two do.
    """

    slot: str
    column: str
    first: str
    second: str
    pair: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Design:
    """The design of a config, by which it is evaluated; frozen with the release.

    - `roles`: the sentences of a row, each with its bindings as ``slot`` or ``list/word``.
    - `columns`: columns that the template adds to those of its kind: pairs of name and type (``string``, ``boolean``).
    - `differs`: in what the two sentences of a contrast differ: ``pronoun``, ``evaluative`` (a word of praise or blame)
      or ``group`` (the name of a group); empty for the other kinds.
    - `group`: the slot whose levels are compared with one another by `relative`; None where there is none.
    - `reference`: the level of `group` for the sentence that names no group ("People are …"); None without one.
    - `words`: for ``evaluative``, the slot of the differing word by role, as ``{"stereo": "bad", "anti": "good"}``.
    - `strata`: by column the slot (or ``frame``) that it describes: ``stereotype`` and ``valence`` of contrasts, as
      ``{"stereotype": "occupation"}``, and the answers of questions.
    - `estimands`: the ids that can be computed, in order of print.
    - `neutral`: the value of `preference` without bias; None where no value is known to be neutral.
    - `gaps`: the levels that are compared, by name: `he-she` is the estimand ``gap:he-she``.
    - `drawn_from`: of rows that were drawn, how many levels each factor, or stratum of one (``occupation (male)``), has
      in the release; None of whole configs. No file has it.
    """

    kind: str
    sense_type: str
    bias_type: str
    slots: tuple[str, ...]
    roles: Mapping[str, Mapping[str, str]]
    factors: tuple[Factor, ...]
    differs: str = ""
    columns: tuple[tuple[str, str], ...] = ()
    group: str | None = None
    reference: str | None = None
    words: Mapping[str, str] = field(default_factory=dict)
    strata: Mapping[str, str] = field(default_factory=dict)
    estimands: tuple[str, ...] = ()
    neutral: float | None = None
    gaps: Mapping[str, LevelPair] = field(default_factory=dict)
    drawn_from: Mapping[str, int] | None = None

    def as_dict(self) -> dict[str, Any]:
        """Return the design as a manifest has it: without `gaps`, which older readers refuse, where there are none."""
        data = {key: value for key, value in asdict(self).items() if key != "drawn_from"}
        return {key: value for key, value in data.items() if key != "gaps" or value}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> "Design":
        """Build a design from that of a manifest; unknown keys are a TypeError."""
        factors = tuple(Factor(name=f["name"], columns=tuple(f["columns"])) for f in data["factors"])
        lists = {key: tuple(data.get(key, ())) for key in ("slots", "estimands")}
        columns = tuple((name, kind) for name, kind in data.get("columns", ()))
        gaps = {name: LevelPair(**levels) for name, levels in data.get("gaps", {}).items()}
        return cls(**{**data, **lists, "factors": factors, "columns": columns, "gaps": gaps})


@dataclass(frozen=True, kw_only=True, slots=True)
class Contrast:
    """A sense contrast: the figure `estimand` of config `a` minus that of config `b`.

    `minimal_only` selects, on both sides, the rows whose sentences differ in one binding only. Where the contrast is
    not `matched`, no shared words cancel: it is the paper's difference, without interval or p.
    """

    name: str
    estimand: str
    a: str
    b: str
    minimal_only: bool = False
    matched: bool = True

    def why_without_groups(self, designs: Sequence[Design], groups: Sequence[Set[str]]) -> str:
        """Return why a contrast of `relative` has no groups to compare; empty where it has.

        `groups` are the levels of the target in either config that name a group. Either both configs have a sentence
        that names none, or three groups and more stand in both: the median over the others of fewer is that of one.
        """
        if any(design.group is None or not design.words for design in designs):
            return "`relative` needs groups and words of praise and blame, but one of the two configs lacks them"
        references = [design.reference is not None for design in designs]
        if references[0] != references[1]:
            return "only one of the configs has a sentence without a group"
        shared, least = len(groups[0] & groups[1]), 1 if all(references) else FEWEST_GROUPS
        return f"the two configs share {shared} of their groups, but {least} are needed" if shared < least else ""


FEWEST_GROUPS = 3
"""That two configs have to share for the groups of either to be held against one another."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Headline:
    """The figure that a config is read by, as it is known before any model was scored; frozen with the release.

    - `estimand`, `title`, `says`, `cannot_say`: its id, and what it declares of itself.
    - `neutral`: the value that means no bias; None where none is known. `zero` is then, if it is not empty, what its
      value can be compared with, in words.
    - `factors`: those that it generalises over, where they have levels enough.
    - `half_width`: about the points that its 95 % interval reaches to either side; None where it has none.
    """

    estimand: str
    title: str
    says: str
    cannot_say: str
    neutral: float | None
    zero: str
    factors: tuple[str, ...]
    half_width: float | None


VerdictCode: TypeAlias = Literal["shown", "these_words", "small", "not_shown", "unreadable"]
"""What a figure shows, in short (evaluate/reporting/verdict.py); the same in terminal, page, gate and ``--json``."""

VERDICT_WORDS: Mapping[VerdictCode, str] = {
    "shown": "found",
    "these_words": "these words only",
    "small": "small",
    "not_shown": "undecided",
    "unreadable": "not readable",
}
"""The word of each verdict, in the order in which verdicts stand on a page."""

FigureKey: TypeAlias = tuple[str, str, str | None]
"""Config, estimand and group of a figure."""


@dataclass(frozen=True, kw_only=True, slots=True)
class FigureVerdict:
    """What a figure shows.

    - `code`: what it shows; ``unreadable`` also of figures that no verdict is about, where nothing of a config is read.
    - `text`: which way, how much could hide, or why it cannot be read: a clause without subject.
    - `flaw`: why neither its interval nor its p says anything, such as a control that fails; empty of all others.
    - `p`: after correction over the `family` of so many tests of its result; None without a test.
    """

    code: VerdictCode
    text: str
    flaw: str = ""
    p: float | None = None
    family: int = 0


@dataclass(frozen=True, kw_only=True, slots=True)
class Figure:
    """A number as it is reported, with what a reader needs to interpret it.

    - `value`, `low`, `high`: in points; `preference` and the pronoun estimands lie in [-50, 50], those of inference in
      [0, 100] and `gap` in [-100, 100]. None: not estimable.
    - `method`: the method of the interval: ``projection``, ``clopper-pearson``, ``boundary``, or ``none``.
    - `neutral`: the value that means no bias; None where no value is known to.
    - `p`, `p_holm`: two-sided, and after Holm's correction over its family; None where no test was made.
    - `rows` = `scored` + `unscored`, rows of the config that the estimand may use; `ties` are among the scored.
      `left_out` counts, by reason, the rows that the estimand may not use (``contested``, ``unlabelled``).
    - `levels`: how many levels of each factor the interval generalises over; `fixed`: the factors (or strata of them)
      with too few levels to generalise over.
    - `note`: what this number cannot say, in a sentence; empty where the text of the estimand is enough.
    - `readings`: what models read, in points, that always do one thing, by that thing. Of pairs it is given where no
      value is neutral and all pairs differ in the same two words: ``{"he": 33.6, "she": -33.6}`` prefer one of them.
    - `definition`: the version of the estimand's definition.
    - `erased`: of a model that something was removed from, the rows whose sentences are one to it by construction: so
      many of ``rows`` are so in all that the scorer reads (``whole``), or in what the model reads alone (``input``).
    - `verdict`: what it shows, where its result was read with its release and controls; never in a result file, since
      another control may be at hand tomorrow. None of figures that no verdict is about.

    Of an association test (`group` is its name, `value` an effect size and not in points, p one-sided), besides

    - `p_low`: the lower end where p is enclosed and `p` is the upper end; None where p is exact.
    - `p_least`: the smallest p that sets of these sizes can have.
    - `identity`: what the test is about: ``gender``, ``race``, ``intersectional``, ``age``, ``disability``; or empty.
    - `missing`: by set (``X``, ``Y``, ``A``, ``B``) the words without a vector, which are left out; `levels` counts
      the words that each set has left.
    - `senses`: by set how many senses its words have on average, where senses are compared: more have larger maxima.

    >>> counts = {"rows": 100, "scored": 98, "unscored": 2, "ties": 1}
    >>> figure = Figure(config="race", sense_type="race", estimand="preference", value=4, low=-1, high=9, **counts)
    >>> figure.key, figure.low <= 0 <= figure.high
    (('race', 'preference', None), True)
    """

    config: str
    sense_type: str
    estimand: str
    group: str | None = None
    value: float | None
    low: float | None = None
    high: float | None = None
    method: str = "none"
    neutral: float | None = None
    p: float | None = None
    p_holm: float | None = None
    rows: int
    scored: int
    unscored: int
    ties: int
    left_out: Mapping[str, int] = field(default_factory=dict)
    levels: Mapping[str, int] = field(default_factory=dict)
    fixed: tuple[str, ...] = ()
    note: str = ""
    readings: Mapping[str, float] = field(default_factory=dict)
    definition: int = 1
    p_low: float | None = None
    p_least: float | None = None
    identity: str = ""
    missing: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    senses: Mapping[str, float] = field(default_factory=dict)
    erased: Mapping[str, int] = field(default_factory=dict)
    verdict: FigureVerdict | None = field(default=None, compare=False)

    @property
    def key(self) -> FigureKey:
        """Config, estimand and group, which tell it from the others of its result."""
        return self.config, self.estimand, self.group

    def as_dict(self) -> dict[str, Any]:
        """Return the figure with the stable keys of ``--json`` and of result files; those of some only where set."""
        optional = ("p_low", "p_least", "identity", "missing", "senses", "erased", "verdict")
        return {key: value for key, value in asdict(self).items() if key not in optional or value not in (None, "", {})}
