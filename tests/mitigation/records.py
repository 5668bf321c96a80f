"""A record for tests."""

from typing import Any

from senseprobe.evaluate.mitigation.record import Axis, Norms, Parent, Record, describe_removal

DIGEST = "0" * 64


def make_record(**changes: Any) -> Record:  # noqa: ANN401
    """Return a record of he-she, projected from four dimensions."""
    axis = Axis(direction="he-she", pairs=(("he", "she"),))
    usual = {
        "senseprobe": "0.3.0",
        "removed": describe_removal(axis, "projection", 1, 4),
        "form": "vectors",
        "parent": Parent(name="vectors:parent.txt", identity={"weights": DIGEST}),
        "method": "projection",
        "axis": axis,
        "dimensions": 4,
        "rank": 1,
        "number_format": "float32",
        "residual": 1e-7,
        "norms": Norms(mean=0.9, least=0.5),
        "files": {"vectors.txt": DIGEST},
    }
    return Record(**{**usual, **changes})
