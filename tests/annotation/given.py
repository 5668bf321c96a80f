"""Releases and plans for tests of asking: rows of a few words, in memory, cut into batches of any size."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from senseprobe.annotation import plan as plans
from senseprobe.annotation.plan_options import PlanOptions
from senseprobe.annotation.records import Plan
from senseprobe.records import Design
from senseprobe.release.manifest import Manifest
from senseprobe.release.release import Release
from senseprobe.release.schema import design_schema

ROOT = Path(__file__).parents[2]
SSSB = ROOT / "releases" / "sssb" / "1.0.1"

Row = Mapping[str, Any]


class Given(Release):
    """A release of these rows by config, in batches of `cut` rows."""

    tables: Mapping[str, Sequence[Row]]
    kind: str
    cut: int

    def __init__(
        self,
        tables: Mapping[str, Sequence[Row]],
        kind: str = "contrast",
        cut: int = 3,
        asks: Mapping[str, Sequence[str]] | None = None,
    ) -> None:
        facts = {"dataset": "tiny", "version": "1.0.0", "content": "a" * 64}
        told = {name: {"asks": [*(asks or {})[name]]} if name in (asks or {}) else {} for name in tables}
        super().__init__(Path("/nowhere"), Manifest({**facts, "configs": told}))
        for name, value in {"tables": tables, "kind": kind, "cut": cut}.items():
            object.__setattr__(self, name, value)

    @property
    def configs(self) -> tuple[str, ...]:
        """Those that were given, in their order."""
        return tuple(self.tables)

    def design(self, config: str) -> Design:
        """One slot, and the columns of the kind."""
        assert config in self.tables
        return Design(kind=self.kind, sense_type="", bias_type="", slots=("quality",), roles={}, factors=())

    def batches(self, config: str, columns: Sequence[str] | None = None) -> Iterator[pa.RecordBatch]:
        """The rows as Arrow has them."""
        assert columns is None
        rows, schema = self.tables[config], design_schema(self.design(config))
        for start in range(0, len(rows), self.cut):
            yield pa.RecordBatch.from_pylist([dict(row) for row in rows[start : start + self.cut]], schema=schema)


def contrast(number: int | str, **told: object) -> dict[str, Any]:
    """A row of a contrast config; `told` has other values than those of a sentence about a dress."""
    return {
        "id": f"c.{number}",
        "quality": "nice",
        "stereo": f"The black dress is bad {number}.",
        "anti": f"The black dress is good {number}.",
        "stereo_span": {"start": 4, "end": 9},
        "anti_span": {"start": 4, "end": 9},
        "target": "black",
        "sense_key": "black%3:00:01::",
        "lexicon": "wordnet-3.0",
        "label_basis": "trait",
        "contested": False,
        **told,
    }


def inference(number: int) -> dict[str, Any]:
    """A row of an inference config."""
    return {
        "id": f"i.{number}",
        "premise": "The doctor ate a pie.",
        "hypothesis": "The woman ate a pie.",
        "premise_span": {"start": 4, "end": 10},
        "hypothesis_span": {"start": 4, "end": 9},
        "gold": "neutral",
    }


def gloss(lexicon: str, key: str) -> str:
    """What stands for WordNet, which is not on every machine."""
    return f"{lexicon} on {key}"


def make_plan(release: Release, *, project: str = "a test", **told: Any) -> Plan:  # noqa: ANN401
    """The plan with these options, and with `gloss`, `stored` and `exclude` where they are told."""
    others = {name: told.pop(name) for name in ("gloss", "stored", "exclude") if name in told}
    return plans.make_plan(release, project, PlanOptions(**told), **others)


def plan(rows: int = 5, kind: str = "contrast", **told: Any) -> Plan:  # noqa: ANN401
    """A plan for so many rows of a kind."""
    made = {"contrast": contrast, "inference": inference}[kind]
    release = Given({"c": [made(number) for number in range(rows)]}, kind)
    return make_plan(release, **{"project": "a test", "n": rows, "gloss": gloss, **told})
