"""What changed from one release to another.

Changes are of rows by id, words and frames behind them, labels, columns, designs. Values are compared as codes of
shared dictionaries: no row is handled on its own. Rows may be in any order.

changelog.py says which version number they need.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from senseprobe.errors import ReleaseError
from senseprobe.release.annotation_record import Round
from senseprobe.release.changelog import ConfigChange, ReleaseDiff
from senseprobe.release.manifest import Manifest
from senseprobe.release.row_diff import Pairs, Rows, Table, Values, build_table, match_rows, swapped
from senseprobe.release.schema import PROVENANCE, design_schema, is_import
from senseprobe.release.verdicts import REJECT, Verdict, VerdictGroup, group_verdicts

FIRST = 10
"""How many ids are listed of those that were added, removed or edited."""

LABELS = (
    "stereotype", "valence", "gold", "label_basis", "contested", "minimal", "target", "bias_type", "sense_type",
    "sense_key", "token_key", "lexicon", "test", "role", "word_class", "identity",
    "stereo_value_key", "anti_value_key",
)  # fmt: skip
"""Columns that label a row, beside its sentences."""

_ABOUT = ("description", "expect", "levels", "accept")
"""The manifest's facts of a config that are compared, beside its rows and design."""

_OF_ROWS = {"slots", "columns"}
"""Keys of a design that are reported as columns."""


@dataclass(frozen=True, slots=True)
class Side:
    """A release: functions that make the rows of a config, and read the verdicts that filtered them and the rounds."""

    manifest: Manifest
    rows: Callable[[str], Iterator[pa.RecordBatch]]
    verdicts: Callable[[], Mapping[str, Verdict]] = dict
    rounds: Callable[[], tuple[Round, ...]] = tuple


def diff_releases(old: Side, new: Side, only: str | None = None) -> ReleaseDiff:
    """Return what changed from `old` to `new`; of one config, if `only` names it.

    Rows are read where the content hashes of a config differ. Raises ReleaseError where rows cannot be read, or have an
    id twice, or where neither release has the config.
    """
    names = [*dict.fromkeys((*old.manifest.configs, *new.manifest.configs))]
    if only and only not in names:
        raise ReleaseError(f"neither {old.manifest.name} nor {new.manifest.name} has a config {only!r}")
    changes = [_compare_config(name, old, new) for name in ([only] if only else names)]
    contrasts = [{contrast.name: contrast for contrast in side.manifest.contrasts} for side in (old, new)]
    recipe = [{n[7:]: e for n, e in side.manifest.files.items() if n.startswith("recipe/")} for side in (old, new)]
    return ReleaseDiff(
        old=old.manifest.name,
        new=new.manifest.name,
        configs=tuple(change for change in changes if next(change.reasons(), None)),
        contrasts={} if only else _group(*contrasts),
        card=() if only else _unlike(*(_card_facts(side.manifest) for side in (old, new))),
        recipe=() if only else _unlike(*recipe),
        rounds=() if only else tuple(round_ for round_ in new.rounds() if round_ not in old.rounds()),
    )


def _unlike(was: Mapping[str, Any], now: Mapping[str, Any]) -> tuple[str, ...]:
    return tuple(sorted(key for key in {**was, **now} if was.get(key) != now.get(key)))


def _group(was: Mapping[str, Any], now: Mapping[str, Any]) -> dict[str, tuple[str, ...]]:
    """Return the keys that were added, removed and changed, where there are some."""
    groups = {
        "added": tuple(name for name in now if name not in was),
        "removed": tuple(name for name in was if name not in now),
        "changed": tuple(name for name in was if name in now and was[name] != now[name]),
    }
    return {key: group for key, group in groups.items() if group}


def _card_facts(manifest: Manifest) -> dict[str, Any]:
    """Return what a card states of a release besides its rows: its fields, and the senses of its words."""
    senses = {
        name: [{**sense, "rows": None} for sense in config["senses"]]
        for name, config in manifest.data["configs"].items()
        if config.get("senses")
    }
    return filled_fields({**manifest.data["card"], "senses": senses})


def filled_fields(card: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of a card that are not empty: older cards lack keys that newer ones leave empty."""
    return {key: value for key, value in card.items() if value}


def _compare_config(name: str, old: Side, new: Side) -> ConfigChange:
    was, now = (side.manifest.data["configs"].get(name) for side in (old, new))
    if was is None:
        rows, ids = now["rows"], _first_ids(new, name)
        return ConfigChange(config=name, before=None, after=rows, added=rows, first={"added": ids})
    if now is None:
        rows, ids = was["rows"], _first_ids(old, name)
        return ConfigChange(config=name, before=rows, after=None, removed=rows, first={"removed": ids})
    old_design, new_design = (asdict(side.manifest.design(name)) for side in (old, new))
    unlike = [key for key in _unlike(old_design, new_design) if key not in _OF_ROWS]
    about = [
        {**{key: facts[key] for key in _ABOUT if key in was and key in now}, "asks": facts.get("asks")}
        for facts in (was, now)
    ]
    return ConfigChange(
        config=name,
        before=was["rows"],
        after=now["rows"],
        design={key: (old_design[key], new_design[key]) for key in unlike},
        about=_unlike(*about),
        **(_compare_rows(name, old, new) if was["content"] != now["content"] else {}),
    )


def _first_ids(side: Side, name: str) -> tuple[str, ...]:
    """Return the first ids of a config; empty where it has no rows. Batches may be empty."""
    batch = next((batch for batch in side.rows(name) if batch.num_rows), None)
    return () if batch is None else tuple(batch["id"].slice(0, FIRST).to_pylist())


def _compare_rows(name: str, old: Side, new: Side) -> dict[str, Any]:
    """Compare the rows; return the other fields of a ConfigChange."""
    designs = [side.manifest.design(name) for side in (old, new)]
    columns = [{column.name: str(column.type) for column in design_schema(design)} for design in designs]
    changed = {key: (columns[0][key], columns[1][key]) for key in columns[0].keys() & columns[1].keys()}
    types: dict[str, dict[str, Any]] = {"added": columns[1], "removed": columns[0], "changed": changed}
    ignored = {"id", *(PROVENANCE if all(map(is_import, designs)) else ())}
    shared = [key for key, kind in columns[0].items() if columns[1].get(key) == kind and key not in ignored]
    was, now = (build_table(side.rows(name), shared, f"{side.manifest.name}:{name}") for side in (old, new))
    pairs = match_rows(was, now)
    edited, values = _compare_values(was, now, pairs, shared, {"frame", *designs[0].slots, *designs[1].slots})
    changed_rows = {
        "added": (now.ids, pairs.only_new),
        "removed": (was.ids, pairs.only_old),
        "edited": (now.ids, pairs.both_new[edited]),
    }
    first = {key: tuple(ids.take(pa.array(rows[:FIRST])).to_pylist()) for key, (ids, rows) in changed_rows.items()}
    moved = bool((np.diff(pairs.both_old) < 0).any())
    return {
        "added": len(pairs.only_new),
        "removed": len(pairs.only_old),
        "edited": int(edited.sum()),
        "first": {key: ids for key, ids in first.items() if ids},
        "rejected": _rejected(was.ids, pairs.only_old, new.verdicts()),
        "taken_back": _rejected(now.ids, pairs.only_new, old.verdicts()),
        "schema": {key: {name: types[key][name] for name in names} for key, names in _group(*columns).items()},
        "moved": moved or [key for key in columns[1] if key in shared] != shared,
        **values,
    }


def _compare_values(
    was: Table, now: Table, pairs: Pairs, shared: Sequence[str], slots: set[str]
) -> tuple[NDArray[np.bool_], dict[str, Any]]:
    """Return which of the rows that both have were edited; and columns, words and labels of a ConfigChange."""
    edited = np.zeros(len(pairs.both_new), dtype=bool)
    fields: dict[str, dict[str, Any]] = {"columns": {}, "samples": {}, "words": {}, "labels": {}}
    sentences: dict[str, Values] = {}
    for column in shared:
        values = was.compare(now, column)
        unlike = values.unlike(pairs)
        edited |= unlike
        if count := int(unlike.sum()):
            fields["columns"][column] = count
            if sample := values.sample(pairs, unlike):
                fields["samples"][column] = sample
            if column in ("stereo", "anti"):
                sentences[column] = values
            if column in LABELS:
                fields["labels"][column] = values.changes(pairs, unlike)
        if column in slots and (words := values.words()):
            fields["words"][column] = words
    crossed = int(swapped(**sentences, pairs=pairs).sum()) if len(sentences) == 2 else 0
    return edited, {**fields, "turned": crossed}


def _rejected(ids: pa.Array, rows: Rows, verdicts: Mapping[str, Verdict]) -> tuple[VerdictGroup, ...]:
    """Return those of the rows that the verdicts leave out, by rule and source."""
    rejected = pa.array([verdict.id for verdict in verdicts.values() if verdict.verdict == REJECT], ids.type)
    if not len(rejected):
        return ()
    some = ids.take(pa.array(rows))
    return group_verdicts(verdicts[name] for name in some.filter(pc.is_in(some, value_set=rejected)).to_pylist())
