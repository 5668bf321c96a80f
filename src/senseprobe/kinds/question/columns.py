"""What columns of questions are called, and the words that stand in them."""

from hashlib import sha256
from itertools import permutations

from senseprobe.records import Factor

ANSWERS = ("stereo", "anti", "unknown")
"""The columns of the three answers, in the order in which units, numbers and shares have them; `gold` names one."""

SCORES = tuple(f"{answer}_score" for answer in ANSWERS)
"""The columns of the numbers that scorers give to them."""

PLACES = ("place_1", "place_2", "place_3")
"""Columns of scorers that list the answers in several orders: in which share of them the model chose each place."""

ORDERS = tuple(" ".join(names) for names in permutations(ANSWERS))
"""What `order` can be."""

AMBIGUOUS, DISAMBIGUATED = "ambiguous", "disambiguated"
"""What `condition` can be."""

FACTORS = (
    Factor(name="template", columns=("template",)),
    Factor(name="names", columns=("stereo", "anti")),
    Factor(name="wording", columns=("unknown",)),
)
"""What figures of questions generalise over."""


def choose_order(text: str) -> int:
    """Return the number in `ORDERS` that a row with this text has: the first 8 bytes of its sha256, modulo 6.

    No answer is always in one place then, and a row keeps its order whatever other rows there are.
    """
    return int.from_bytes(sha256(text.encode()).digest()[:8]) % len(ORDERS)
