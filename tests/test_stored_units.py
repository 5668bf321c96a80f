"""The store tells units apart whatever their texts hold: no character of a sentence ends it.

Expected values by hand: units that differ have numbers that differ.
"""

from collections.abc import Mapping
from itertools import combinations
from pathlib import Path

import pytest

from senseprobe.evaluate.scorers import get
from senseprobe.evaluate.store import Store
from senseprobe.evaluate.units import Unit

IDENTITY: Mapping[str, str] = dict.fromkeys(("weights", "config", "tokenizer", "dtype"), "x")

# What a naive encoding could put between the parts of a unit, or around them.
SEPARATORS = ["|", ",", ", ", '", "', "', '", "\n", "\t", "\0", "\x1f", " ", "\\", '"', "\u2028", "/", ":"]


@pytest.mark.parametrize("separator", SEPARATORS)
def test_units_whose_texts_hold_a_separator_are_told_apart(separator: str, tmp_path: Path) -> None:
    """Where one text ends and the other begins is part of a unit, and so is where the target is."""
    units = [
        Unit(f"a{separator}b", "c"),
        Unit("a", f"b{separator}c"),
        Unit(f"a{separator}b{separator}c"),
        Unit("", f"a{separator}b{separator}c"),
        Unit("a", f"b{separator}c{separator}1", 2, 3),
        Unit(f"a{separator}b", f"c{separator}1", 2, 3),
        Unit("a", "b", 1, 23),
        Unit("a", "b", 12, 3),
        Unit("a", f"b{separator}1", 2, 3),
        Unit("a", f"b{separator}1{separator}2", 3, 3),
        Unit(f"a{separator}", "b"),
        Unit("a", f"{separator}b"),
    ]
    assert all(one != other for one, other in combinations(units, 2))
    numbers = {unit: (float(number),) for number, unit in enumerate(units)}
    with Store(IDENTITY, get("aul"), pytest.fail, tmp_path) as store:
        store.keep(numbers.items())
    with Store(IDENTITY, get("aul"), pytest.fail, tmp_path) as store:
        assert store.known(units) == numbers


def test_a_unit_that_was_never_kept_is_not_known(tmp_path: Path) -> None:
    """The number of `a|b` beside `c` is not taken for that of `a` beside `b|c`."""
    with Store(IDENTITY, get("aul"), pytest.fail, tmp_path) as store:
        store.keep([(Unit("a|b", "c"), (1.0,))])
        assert store.known([Unit("a", "b|c"), Unit("a|b|c"), Unit("a|b", "c|-1")]) == {}
