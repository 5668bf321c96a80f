"""The form of what authors write: front matter of the three kinds, and `dataset.yaml`."""

from typing import Annotated, Literal

from pydantic import Field, StringConstraints

from senseprobe.generator import yaml_source
from senseprobe.release.schema import Kind

Scalar = str | bool | int | float
Condition = dict[str, Scalar | list[Scalar]]
LabelBasis = Literal["occupation", "trait", "both", "none"]


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


class _Published(yaml_source.Model):
    published: int | None = None
    cite: str | None = None
    reason: str | None = None


class Expect(_Published):
    """How many pairs the file makes, and how many were published, with the reason where they differ."""

    pairs: int

    @property
    def rows(self) -> int:
        """Rows of the file, before verdicts."""
        return self.pairs


class ExpectMembers(_Published):
    """How many members an association file makes, and how many were published, with the reason where they differ."""

    members: int

    @property
    def rows(self) -> int:
        """Rows of the file, before verdicts."""
        return self.members


class Front(yaml_source.Model):
    """What the front matter of every kind holds, after inheritance."""

    kind: Kind
    bias_type: str
    measured: str = Field(alias="construct")  # pydantic's own `construct` is in the way
    description: str
    source: str
    slots: dict[str, Slot] = Field(min_length=1)
    target: str | None
    generalise: list[str]
    columns: dict[str, str] = Field(default_factory=dict)
    accept: dict[str, str] = Field(default_factory=dict)


class ContrastFront(Front):
    """The front matter of a block of stereotype pairs."""

    kind: Literal["contrast"]
    roles: dict[Literal["stereo", "anti"], dict[str, Binding]]
    sense: Sense
    label_basis: LabelBasis
    expect: Expect
    valence: str | None = None
    stereotype: str | None = None
    flip: list[Condition] = Field(default_factory=list)
    contested: list[Condition] = Field(default_factory=list)
    unmarked: bool = False


class InferenceFront(Front):
    """The front matter of a block of premises and hypotheses; `gold` is a label or a reference to a column of them."""

    kind: Literal["inference"]
    roles: dict[Literal["premise", "hypothesis"], dict[str, Binding]]
    gold: str
    expect: Expect


class AssociationFront(Front):
    """The front matter of a block of an association test's words; all four are references."""

    kind: Literal["association"]
    test: str
    role: str
    word: str
    word_class: str
    expect: ExpectMembers

    @property
    def roles(self) -> dict[str, dict[str, Binding]]:
        """A member is one sentence, in which nothing is bound."""
        return {"sentence": {}}


FRONTS: dict[str, type[ContrastFront | InferenceFront | AssociationFront]] = {
    "contrast": ContrastFront,
    "inference": InferenceFront,
    "association": AssociationFront,
}


class Equivalence(yaml_source.Model):
    """The margin, in points, within which two figures count as the same, and why."""

    margin: float = Field(ge=0, allow_inf_nan=False)
    reason: str


class ContrastSpec(yaml_source.Model):
    """A sense contrast, matched or not, as `dataset.yaml` declares it."""

    name: str
    estimand: Literal["preference", "preference-half", "pronoun-stereotype"]
    a: str
    b: str
    minimal_only: bool = False
    matched: bool = True


_Said = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]


class Card(yaml_source.Model):
    """`dataset.yaml`: what a reader must know of the dataset."""

    title: _Said
    summary: _Said
    license: str
    languages: list[str]
    authors: list[_Said] = Field(default_factory=list)
    citation: str
    canary: str
    content_warning: str
    measured: str = Field(alias="construct", default="")
    groups: list[str] = Field(default_factory=list)
    intended_use: str
    out_of_scope: str
    who_could_be_harmed: str = ""
    equivalence: Equivalence
    configs: list[str]
    contrasts: list[ContrastSpec] = Field(default_factory=list)
    accept: dict[str, str] = Field(default_factory=dict)
