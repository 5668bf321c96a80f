"""The kind `descriptor`: one sentence a row, about people of whom a word says something."""

from typing import Literal

from senseprobe.kinds import SPAN, TEXT, ExpectRows, Front, Kind, ReferenceChecker, RowExpansion, RowScoring
from senseprobe.kinds.descriptor.checks import CHECKS

SLOT = "descriptor"
"""The slot that every template of this kind has; its column is the descriptor of a row."""


class DescriptorFront(Front):
    """What a template says of its descriptors: `axis` and `group` are columns of their list, or texts.

    Descriptors of one axis are compared with one another. A group is a part of an axis.
    """

    kind: Literal["descriptor"]
    axis: str
    group: str | None = None
    expect: ExpectRows | None = None


class DescriptorExpansion(RowExpansion[DescriptorFront]):
    """A sentence for each descriptor, in each template and with each noun."""

    front_type = DescriptorFront
    distinctive_key = "axis"
    estimands = ("descriptor-differences", "descriptor-spread")

    def check_references(self, front: DescriptorFront, checker: ReferenceChecker) -> None:
        """Check that there is a slot of descriptors, which the target is, and that axis and group are columns."""
        if SLOT not in front.slots:
            checker.add(("slots",), "E102", f"a template of descriptors needs a slot `{SLOT}`", "rename the slot")
        elif front.target != SLOT:
            checker.add(("target",), "E102", f"the target must be `{SLOT}`", f"write target: {SLOT}")
        for key, text in (("axis", front.axis), ("group", front.group or "")):
            if "." in text:
                checker.check_column(text, (key,))


DESCRIPTOR = Kind(
    id="descriptor",
    columns=(
        ("sentence", TEXT, "the sentence, which has no counterpart"),
        ("sentence_span", SPAN, "position of the descriptor in `sentence`: half-open, in code points"),
        ("axis", TEXT, "the axis of the descriptor, within which descriptors are compared"),
        ("group", TEXT, "the part of the axis that the descriptor belongs to; null if the axis has no parts"),
    ),
    full=frozenset({"sentence", "sentence_span", "axis"}),
    readable=("sentence", "axis"),
    expansion=DescriptorExpansion(),
    scoring=RowScoring(
        roles={"sentence": "sentence"},
        cells=("axis",),
        sentences=True,
        titles=("sentence",),
        label="axis",
        noun="sentence",
        nouns="descriptors",
        heading="descriptors of people",
        zero="No value of the figures of descriptors is known to mean that a model has no bias: how frequent a word is "
        "moves its scores. Compare models with one another.",
    ),
    checks=CHECKS,
    tasks=("fill-mask", "text-generation"),
    model="HuggingFaceTB/SmolLM2-135M-Instruct",
)
KINDS = (DESCRIPTOR,)
