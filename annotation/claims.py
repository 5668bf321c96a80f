"""What a release says of the rows that people were asked about, and whether they still read as people saw them."""

from collections.abc import Iterator, Mapping
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from senseprobe.annotation.objections import Claim
from senseprobe.annotation.records import Item, Plan
from senseprobe.records import Design
from senseprobe.release.reading import Release


def claims_of(release: Release, plan: Plan) -> dict[str, Claim]:
    """What the release says of the plan's rows, by id; without those that it lacks, or whose sentences are others.

    ReleaseError where its rows cannot be read.
    """
    items = {item.row: item for item in plan.items}
    found: dict[str, Claim] = {}
    for config in dict.fromkeys(item.config for item in plan.items):
        if config in release.configs:
            design = release.design(config)
            rows = _rows(release, config, [row for row, item in items.items() if item.config == config])
            there = ((row, items[row["id"]]) for row in rows)
            found |= {item.row: _claim(row, design, item) for row, item in there if _reads_as(row, item)}
    return found


def _rows(release: Release, config: str, wanted: list[str]) -> Iterator[Mapping[str, Any]]:
    names = pa.array(wanted, pa.string())
    for batch in release.batches(config):
        yield from batch.filter(pc.is_in(batch["id"], value_set=names)).to_pylist()


def _reads_as(row: Mapping[str, Any], item: Item) -> bool:
    return all(row.get(sentence.role) == sentence.text for sentence in item.sentences)


def _claim(row: Mapping[str, Any], design: Design, item: Item) -> Claim:
    """What a row says.

    The words for its group are its target, that of the slot whose groups are compared, and those that are marked: a row
    of inference has its target in its sentences alone.
    """
    marked = (each.text[each.span[0] : each.span[1]] for each in item.sentences if each.span)
    named = (row.get("target"), row.get(design.group) if design.group else None, *marked)
    return Claim(
        kind=design.kind,
        labelled=row.get("label_basis") not in (None, "none"),
        gold=row.get("gold") or "",
        targets=tuple(dict.fromkeys(str(word) for word in named if word)),
    )
