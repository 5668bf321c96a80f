"""Rows that are words of an association test, each in a sentence."""

from collections.abc import Mapping
from typing import Literal

import pyarrow as pa

from senseprobe.generator.kinds.base import ReferenceChecker, RowExpansion
from senseprobe.generator.product import RowSelection
from senseprobe.generator.render import FrameRows
from senseprobe.generator.schema import ExpectMembers, Front
from senseprobe.generator.word_lists import WordLists

SETS = ("X", "Y", "A", "B")
"""The roles: two sets of targets and two of attributes."""


class AssociationFront(Front):
    """The front matter of a block of an association test's words; test to identity are references."""

    kind: Literal["association"]
    test: str
    role: str
    word: str
    word_class: str
    identity: str | None = None
    expect: ExpectMembers | None = None

    @property
    def added_columns(self) -> Mapping[str, str]:
        """`columns`, clusters, and `identity` where a test is about people of one."""
        return {**self.columns, **({"identity": self.identity} if self.identity else {}), **self.clusters}


class AssociationExpansion(RowExpansion[AssociationFront]):
    """Words of an association test, each in a sentence; estimands of pairs do not apply to them."""

    front_type = AssociationFront
    distinctive_key = "test"
    estimands = ("weat",)

    def check_references(self, front: AssociationFront, checker: ReferenceChecker) -> None:
        """Check that test, word and class are columns, and that the role is one of X, Y, A and B."""
        for key, text in (("test", front.test), ("word", front.word), ("word_class", front.word_class)):
            checker.check_column(text, (key,))
        checker.check_values(front.role, ("role",), SETS)
        if front.identity and "identity" in front.columns:
            checker.add(("columns", "identity"), "E102", "`identity` already makes this column", "remove one of them")

    def columns(self, rows: FrameRows, selection: RowSelection, lists: WordLists) -> dict[str, pa.Array]:
        """Return test, role, word, class, sentence and span."""
        front = self.front(rows.block)
        texts = {"test": front.test, "role": front.role, "word": front.word, "word_class": front.word_class}

        def make(distinct: RowSelection) -> dict[str, pa.Array]:
            side = rows.side("sentence", distinct)
            cells = {name: rows.cell(text, distinct) for name, text in texts.items()}
            return {**cells, "sentence": side.text, "span": rows.spans(side)}

        return rows.gather(selection, tuple(rows.block.slots), make)
