"""The store tells units apart whatever their texts hold: no character of a sentence ends it.

Expected values by hand: units that differ have numbers that differ.
"""

import hashlib
import sqlite3
from collections.abc import Mapping
from contextlib import closing
from dataclasses import replace
from itertools import combinations
from pathlib import Path

import pytest

from senseprobe.evaluate.cache import Store
from senseprobe.evaluate.scorers import get
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
        Unit("a", f"{separator}b", second=True),
    ]
    assert all(one != other for one, other in combinations(units, 2))
    numbers = {unit: (float(number),) for number, unit in enumerate(units)}
    with Store(IDENTITY, get("aul"), pytest.fail, tmp_path) as store:
        store.add(numbers.items())
    with Store(IDENTITY, get("aul"), pytest.fail, tmp_path) as store:
        assert store.load(units) == numbers


def test_a_unit_that_was_never_kept_is_not_known(tmp_path: Path) -> None:
    """The number of `a|b` beside `c` is not taken for that of `a` beside `b|c`."""
    with Store(IDENTITY, get("aul"), pytest.fail, tmp_path) as store:
        store.add([(Unit("a|b", "c"), (1.0,))])
        assert store.load([Unit("a", "b|c"), Unit("a|b|c"), Unit("a|b", "c|-1")]) == {}


def test_numbers_that_were_stored_before_pairs_had_an_order_are_known(tmp_path: Path) -> None:
    """The digest of a unit is of its four parts where no order is turned: written here as the first form had it."""
    with Store(IDENTITY, get("aul"), pytest.fail, tmp_path) as store:
        store.add([(Unit("a", "b", 1, 2), (1.0,)), (Unit("a", "b", 1, 2, second=True), (2.0,))])
    (path,) = tmp_path.glob("*.sqlite")
    with closing(sqlite3.connect(path)) as db:
        digests = [digest for (digest,) in db.execute("SELECT unit FROM scores ORDER BY number")]
    first = hashlib.blake2b(b'["a", "b", 1, 2]', digest_size=16).digest()
    assert digests[0] == first
    assert digests[1] != first


@pytest.mark.parametrize("name", ["cps", "cps-rounded"])
def test_numbers_of_an_older_definition_are_not_taken(name: str, tmp_path: Path) -> None:
    """What version 1 of a scorer stored is in another file than what version 2 looks into."""
    unit = Unit("a", "b")
    with Store(IDENTITY, replace(get(name), version=1), pytest.fail, tmp_path) as store:
        store.add([(unit, (1.0,))])
        assert store.load([unit]) == {unit: (1.0,)}
    with Store(IDENTITY, get(name), pytest.fail, tmp_path) as store:
        assert store.load([unit]) == {}
