"""docs/authoring.md is the reference of what authors write, so it names all of it."""

import re
from pathlib import Path

import pytest
from pydantic import BaseModel

from senseprobe.generator.english import English
from senseprobe.generator.kinds import EXPANSIONS
from senseprobe.generator.schema import Card, ContrastSpec, Equivalence, Expect, ExpectMembers, Sense

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "authoring.md").read_text(encoding="utf-8")
ROWS = [line.split("|")[1:-1] for line in PAGE.splitlines() if line.startswith("| `")]


def _keys(model: type[BaseModel]) -> set[str]:
    return {field.alias or name for name, field in model.model_fields.items()}


def _named(text: str) -> set[str]:
    return set(re.findall(r"`([^`]+)`", text))


@pytest.mark.parametrize("kind", EXPANSIONS)
def test_every_key_of_a_template_is_explained_for_its_kind(kind: str) -> None:
    """And no key that a template of that kind may not have."""
    told = {
        key for first, kinds, *_ in (row for row in ROWS if len(row) == 3) for key in _named(first) if _for(kinds, kind)
    }
    assert told == _keys(EXPANSIONS[kind].front_type) | {*English().filters()}


def _for(kinds: str, kind: str) -> bool:
    return kinds.strip() == "all" or kind in kinds or not _is_kinds(kinds)


def _is_kinds(kinds: str) -> bool:
    return bool({"all", *EXPANSIONS} & {part.strip() for part in kinds.split(",")})


def test_every_key_of_a_dataset_is_explained() -> None:
    """As well as the keys below them, wherever on the page."""
    assert {key for row in ROWS if len(row) == 2 for key in _named(row[0])} == _keys(Card)
    for model in (Sense, Expect, ExpectMembers, Equivalence, ContrastSpec):
        assert _keys(model) <= _named(PAGE)


def test_the_template_on_the_page_is_the_one_that_ships() -> None:
    """But for the warnings that it accepts."""
    shipped = (ROOT / "templates" / "sssb" / "race.j2").read_text(encoding="utf-8")
    shown = re.search(r"^    ---\n(?:    .*\n)+", PAGE, re.MULTILINE)
    assert shown
    lines = [line[4:] for line in shown[0].splitlines()]
    accepted = re.sub(r"accept:\n(?:  .*\n)+", "", shipped)
    assert lines == accepted.splitlines()
