"""What authors write: front matter (that of one kind only is in `kinds/`), frames, templates, and `dataset.yaml`."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, ClassVar, Literal

from pydantic import Field, StringConstraints
from ruamel.yaml.comments import CommentedMap

from senseprobe.generator import yaml_source
from senseprobe.messages import offered
from senseprobe.records import Contrast
from senseprobe.release.manifest import LabelMaker, ResponsibleAi, SentenceMaker

Scalar = str | bool | int | float
Condition = dict[str, Scalar | list[Scalar]]


class Slot(yaml_source.Model):
    """A list, and a filter on its columns: keys are ANDed, the items of a list of values ORed."""

    list: str
    where: Condition = Field(default_factory=dict)


class Fixed(yaml_source.Model):
    """A binding to one row of a list."""

    list: str
    word: str


class Text(yaml_source.Model):
    """A binding to a text that is in no list."""

    text: str


Binding = str | Fixed | Text


class Sense(yaml_source.Model):
    """The sense that the test is about (`key`), and that of the token in the sentence (`token`)."""

    type: str
    key: str | None = None
    token: str | None = None
    lexicon: str | None = None


KINDS_ELSEWHERE = {
    **dict.fromkeys(("nli", "entailment", "textual-entailment"), "inference"),
    **dict.fromkeys(("pair", "pairs", "crows-pairs", "stereotype", "minimal-pair", "sense"), "contrast"),
    **dict.fromkeys(("weat", "seat", "ceat", "words"), "association"),
}
"""What kinds of rows are called elsewhere, and here."""


def kind_hint(name: object, kinds: Iterable[str]) -> str:
    """Return which kind was meant by a name, and which there are.

    >>> kind_hint("nli", ["contrast", "inference"]), kind_hint("contrasts", ["contrast", "inference"])
    ('its name here is inference', "did you mean 'contrast'? there is contrast, inference")
    """
    kind = KINDS_ELSEWHERE.get(str(name).lower())
    return f"its name here is {kind}" if kind else offered(str(name), kinds)


class RowCount(yaml_source.Model):
    """How many rows a file makes, and how many were published, with the reason where they differ."""

    noun: ClassVar[str]
    """What a row is called, in the plural; the key that holds the number has this name."""
    published: int | None = None
    cite: str | None = None
    reason: str | None = None

    @property
    def total(self) -> int:
        """Rows of the file, before verdicts."""
        return int(getattr(self, self.noun))


class Expect(RowCount):
    """How many pairs the file makes."""

    noun = "pairs"
    pairs: int


class ExpectRows(RowCount):
    """How many rows the file makes, of a kind that has no other noun for them."""

    noun = "rows"
    rows: int


class ExpectMembers(RowCount):
    """How many members of an association test the file makes."""

    noun = "members"
    members: int


class Front(yaml_source.Model):
    """What the front matter of every kind holds, after inheritance."""

    kind: str
    bias_type: str
    measured: str = Field(alias="construct")  # pydantic's own `construct` is in the way
    description: str
    source: str
    slots: dict[str, Slot] = Field(min_length=1)
    target: str | None
    generalise: list[str]
    columns: dict[str, str] = Field(default_factory=dict)
    asks: list[str] | None = Field(default=None, min_length=1)
    accept: dict[str, str] = Field(default_factory=dict)
    expect: ExpectRows | Expect | ExpectMembers | None = None

    @property
    def bindings(self) -> Mapping[str, Mapping[str, Binding]]:
        """By role, one for each sentence of a row, what its names are bound to; a single sentence binds nothing."""
        roles: Mapping[str, Mapping[str, Binding]] = getattr(self, "roles", {"sentence": {}})
        return roles

    @property
    def clusters(self) -> Mapping[str, str]:
        """By column of the rows, the ``slot.column`` of `generalise` whose cells are clusters of words."""
        return {text.replace(".", "_"): text for text in self.generalise if "." in text}

    @property
    def added_columns(self) -> Mapping[str, str]:
        """By name, what each column that the template adds to those of its kind is made of, as ``slot.column``."""
        return {**self.columns, **self.clusters}

    @property
    def has_labels(self) -> bool:
        """Whether the rows have an answer that counts as stereotyped or as right."""
        return True

    @property
    def strata(self) -> Mapping[str, str | None]:
        """By column of the rows, the reference by which levels are split."""
        return {}


@dataclass(frozen=True, kw_only=True, slots=True)
class Frame:
    """A line of a template's body; `code` is its id, else 6 hexadecimal digits of its source's sha256."""

    source: str
    code: str
    line: int
    column: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Block:
    """Front matter and frames; `sources` are the mappings that it was merged from, its own first."""

    front: Front
    frames: tuple[Frame, ...]
    sources: tuple[CommentedMap, ...]
    line: int

    def locate(self, *location: str | int) -> tuple[int, int]:
        """Return line and column of a key of the front matter, as ``locate("slots", "nation", "list")``."""
        return yaml_source.locate(self.sources, location, self.line)


@dataclass(frozen=True, kw_only=True, slots=True)
class Template:
    """A `.j2` file: the config that has its name."""

    config: str
    path: Path
    display_path: str
    blocks: tuple[Block, ...]


class Equivalence(yaml_source.Model):
    """The margin, in points, within which two figures count as the same, and why."""

    margin: float = Field(ge=0, allow_inf_nan=False)
    reason: str


OF_GROUPS = frozenset({"relative"})
"""Figures of which a contrast is of each group that both configs have."""


class ContrastSpec(yaml_source.Model):
    """A sense contrast, matched or not, as `dataset.yaml` declares it; the kind of its rows says of which figures."""

    name: str
    estimand: str
    a: str
    b: str
    minimal_only: bool = False
    matched: bool = True


class Makers(yaml_source.Model):
    """Who made sentences and labels, in the words of the Hub, and `who` that was in the authors' own."""

    who: str = ""
    sentences: list[SentenceMaker] = Field(default_factory=list)
    labels: list[LabelMaker] = Field(default_factory=list)


_NonEmpty = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]


class Card(yaml_source.Model):
    """`dataset.yaml`: what a reader must know of the dataset; `use` is what its rows are for."""

    title: _NonEmpty
    summary: _NonEmpty
    license: str
    languages: list[str]
    authors: list[_NonEmpty] = Field(default_factory=list)
    citation: str
    canary: str
    use: Literal["evaluation", "training"] = "evaluation"
    content_warning: str
    measured: str = Field(alias="construct", default="")
    groups: list[str] = Field(default_factory=list)
    intended_use: str
    out_of_scope: str
    who_could_be_harmed: str = ""
    made_by: Makers | None = None
    responsible_ai: dict[ResponsibleAi, str] = Field(default_factory=dict)
    equivalence: Equivalence
    configs: list[str]
    contrasts: list[ContrastSpec] = Field(default_factory=list)
    accept: dict[str, str] = Field(default_factory=dict)


@dataclass(frozen=True, kw_only=True, slots=True)
class Dataset:
    """A folder of configs, published together under one version."""

    name: str
    folder: Path
    card: Card
    templates: tuple[Template, ...]

    @property
    def contrasts(self) -> tuple[Contrast, ...]:
        """The sense contrasts that the dataset declares."""
        return tuple(Contrast(**spec.model_dump()) for spec in self.card.contrasts)
