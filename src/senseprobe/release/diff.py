"""What changed from one release to another, and which version number the change needs.

Changes are of rows by id, words and frames behind them, labels, columns, designs. Values are compared as codes of
shared dictionaries: no row is handled on its own. Rows may be in any order.

Versions follow Croissant 1.1's rules. PATCH: the same rows; MINOR: rows added, and the old ones still there as they
were; MAJOR: rows edited or removed. Below 1.0.0 these are one part lower (SemVer). docs/versions.md says what this
means for columns, designs and contrasts.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from senseprobe.errors import ReleaseError
from senseprobe.messages import MAX_LISTED, counted, listed, printable
from senseprobe.release.annotation_record import Round, describe_round
from senseprobe.release.manifest import Manifest
from senseprobe.release.release import parse_version
from senseprobe.release.row_diff import LabelChange, Pairs, Rows, Table, Values, Words, build_table, match_rows, swapped
from senseprobe.release.schema import PROVENANCE, design_schema, is_import
from senseprobe.release.verdicts import REJECT, Verdict, VerdictGroup, group_verdicts

if TYPE_CHECKING:
    import pandas as pd

    from senseprobe.document import Section

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


class Bump(StrEnum):
    """Which part of a version has to grow, from the least to the most."""

    NONE = "none"
    PATCH = "patch"
    MINOR = "minor"
    MAJOR = "major"


_BUMPS = {"removed": Bump.MAJOR, "changed": Bump.MAJOR, "added": Bump.MINOR}
"""For groups of columns and of contrasts."""


def lowest_version(version: str, bump: Bump) -> str:
    """Return the lowest version after `version` that a change may have; below 1.0.0 a part lower, as SemVer 4 has it.

    >>> [lowest_version("1.2.3", bump) for bump in Bump]
    ['1.2.3', '1.2.4', '1.3.0', '2.0.0']
    >>> [lowest_version("0.2.3", bump) for bump in Bump]
    ['0.2.3', '0.2.4', '0.2.4', '0.3.0']
    """
    major, minor, patch = parse_version(version)
    if bump is Bump.NONE:
        return version
    if not major:
        bump = Bump.MINOR if bump is Bump.MAJOR else Bump.PATCH
    after = {Bump.PATCH: (major, minor, patch + 1), Bump.MINOR: (major, minor + 1, 0), Bump.MAJOR: (major + 1, 0, 0)}
    return ".".join(map(str, after[bump]))


@dataclass(frozen=True, slots=True)
class Reason:
    """A change, in words, and which part of the version has to grow for it."""

    bump: Bump
    text: str


@dataclass(frozen=True, slots=True)
class Side:
    """A release: functions that make the rows of a config, and read the verdicts that filtered them and the rounds."""

    manifest: Manifest
    rows: Callable[[str], Iterator[pa.RecordBatch]]
    verdicts: Callable[[], Mapping[str, Verdict]] = dict
    rounds: Callable[[], tuple[Round, ...]] = tuple


@dataclass(frozen=True, kw_only=True, slots=True)
class ConfigChange:
    """What changed in a config.

    - `before`, `after`: its rows; None where the release has no such config.
    - `first`: the first ids of the rows ``added``, ``removed`` and ``edited``, in the order of their release.
    - `columns`: how many of the edited rows differ in a column, by its name; `samples`: the first of these values,
      before and after. `turned`: how many have the stereotype for its counterpart, and the counterpart for it.
    - `words`: by slot, and for ``frame``: the words ``appeared`` and ``vanished``, with how many rows hold each.
    - `labels`: for columns that hold labels, from what to what in how many rows, the most frequent first.
    - `schema`: columns ``added``, ``removed`` (name to type) and ``changed`` (name to both types).
    - `design`: what was and what is, by key.
    - `about`: other facts of the manifest that differ (description, expect, …).
    - `moved`: whether rows or columns that both have are in another order.
    - `rejected`: those of the removed rows that verdicts of the newer release leave out, by rule and source.
    - `taken_back`: those of the added rows that verdicts of the older release left out, by these.
    """

    config: str
    before: int | None
    after: int | None
    added: int = 0
    removed: int = 0
    edited: int = 0
    first: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    columns: Mapping[str, int] = field(default_factory=dict)
    samples: Mapping[str, tuple[str | None, str | None]] = field(default_factory=dict)
    turned: int = 0
    words: Mapping[str, Words] = field(default_factory=dict)
    labels: Mapping[str, tuple[LabelChange, ...]] = field(default_factory=dict)
    schema: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    design: Mapping[str, tuple[Any, Any]] = field(default_factory=dict)
    about: tuple[str, ...] = ()
    moved: bool = False
    rejected: tuple[VerdictGroup, ...] = ()
    taken_back: tuple[VerdictGroup, ...] = ()

    def reasons(self) -> Iterator[Reason]:
        """Yield the changes of this config, each with the part of the version that has to grow for it."""
        name = self.config
        if self.before is None or self.after is None:
            bump, what = (Bump.MINOR, "added") if self.before is None else (Bump.MAJOR, "removed")
            yield Reason(bump, f"config {name} {what} ({counted(self.added or self.removed, 'row')})")
            return
        rejected = sum(group.rows for group in self.rejected)
        by_verdicts = f", {rejected} of them by verdicts" if rejected else ""
        if self.edited:
            yield Reason(Bump.MAJOR, f"{counted(self.edited, 'row')} of {name} edited")
        if self.removed:
            yield Reason(Bump.MAJOR, f"{counted(self.removed, 'row')} of {name} removed{by_verdicts}")
        if self.added:
            yield Reason(Bump.MINOR, f"{counted(self.added, 'row')} of {name} added")
        if self.turned:
            yield Reason(Bump.MAJOR, f"the label of {counted(self.turned, 'row')} of {name} is reversed")
        for key, bump in _BUMPS.items():
            if names := self.schema.get(key):
                yield Reason(bump, f"columns of {name} {key}: {', '.join(names)}")
        if self.design:
            # Where estimands were added and nothing else, every older figure remains.
            was, now = self.design.get("estimands", ((), ()))
            gaps, gaps_now = self.design.get("gaps", ({}, {}))
            unchanged = {*was} <= {*now} and gaps == {name: gaps_now.get(name) for name in gaps}
            bump = Bump.MINOR if unchanged and {*self.design} <= {"estimands", "gaps"} else Bump.MAJOR
            yield Reason(bump, f"design of {name} changed: {', '.join(self.design)}")
        if self.moved:
            yield Reason(Bump.PATCH, f"rows or columns of {name} reordered")
        if self.about:
            yield Reason(Bump.PATCH, f"facts about {name} changed: {', '.join(self.about)}")


@dataclass(frozen=True, kw_only=True, slots=True, repr=False)
class ReleaseDiff:
    """The changes from release `old` to `new` (both ``NAME@VERSION``); `configs` has the changed ones.

    `contrasts` names those ``added``, ``removed`` and ``changed``; `card` has the keys of the card that differ;
    `recipe` has the files of the recipe that differ; `rounds` has the annotation rounds of the newer release alone.
    """

    old: str
    new: str
    configs: tuple[ConfigChange, ...]
    contrasts: Mapping[str, tuple[str, ...]]
    card: tuple[str, ...]
    recipe: tuple[str, ...]
    rounds: tuple[Round, ...] = ()

    def __repr__(self) -> str:
        """Return the two releases, the lowest version that the changes allow, and the first reasons."""
        head = f"<ReleaseDiff {self.old} to {self.new}: {self.version} or higher>"
        return "\n".join([head, *(reason.text for reason in self.reasons[:MAX_LISTED])])

    @property
    def reasons(self) -> tuple[Reason, ...]:
        """Every change, with the part of the version that must grow because of it; the largest first."""
        reasons = [reason for config in self.configs for reason in config.reasons()]
        for key, bump in _BUMPS.items():
            if names := self.contrasts.get(key):
                reasons.append(Reason(bump, f"contrasts {key}: {', '.join(names)}"))
        if self.card:
            reasons.append(Reason(Bump.PATCH, f"the card changed: {', '.join(self.card)}"))
        if self.recipe:
            reasons.append(Reason(Bump.PATCH, f"the recipe changed: {listed(self.recipe)}"))
        return tuple(sorted(reasons, key=lambda reason: -[*Bump].index(reason.bump)))

    def describe_rounds(self, most: int) -> Iterator[str]:
        """Yield the decisions of people on rows, and estimates for the other rows: `most` lines for each round."""
        for round_ in self.rounds:
            yield from (f"{printable(round_.project)}: {line}" for line in describe_round(round_, most))

    @property
    def bump(self) -> Bump:
        """The part of the version that must grow."""
        return self.reasons[0].bump if self.reasons else Bump.NONE

    @property
    def version(self) -> str:
        """The lowest version that the changes allow."""
        return lowest_version(self.old.partition("@")[2], self.bump)

    @property
    def enough(self) -> bool | None:
        """Whether the new version is high enough; None unless it is a later release of the same dataset."""
        (old_name, _, old), (new_name, _, new) = self.old.partition("@"), self.new.partition("@")
        if old_name != new_name or parse_version(new) <= parse_version(old):
            return None
        return parse_version(new) >= parse_version(self.version)

    def to_markdown(self) -> str:
        """Return the entry of a changelog, in the form of Keep a Changelog, without a date."""
        from senseprobe.release.changelog import render_entry

        return render_entry(self)

    def sections(self, most: int = 20) -> "tuple[Section, ...]":
        """Return the changes as sections of text and tables, with `most` lines for each annotation round."""
        from senseprobe.release.changelog import changes_sections

        return changes_sections(self, most)

    def table(self) -> "pd.DataFrame":
        """Return a pandas table with a row for each config that changed, and counts of its rows."""
        import pandas as pd

        names = ["config", "before", "after", "added", "removed", "edited"]
        rows = [[getattr(change, name) for name in names] for change in self.configs]
        return pd.DataFrame(rows, columns=names).astype({"before": "Int64", "after": "Int64"})

    def as_dict(self) -> dict[str, Any]:
        """Return the diff with the stable keys of ``--json``."""
        result = {"bump": self.bump.value, "version": self.version, "enough": self.enough}
        reasons = [{"bump": reason.bump.value, "text": reason.text} for reason in self.reasons]
        facts = asdict(self) | {"rounds": [round_.model_dump(mode="json") for round_ in self.rounds]}
        return {"old": facts.pop("old"), "new": facts.pop("new"), **result, "reasons": reasons, **facts}


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
