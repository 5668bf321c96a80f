"""The changes between two releases, which version number they need, and their text in Markdown and in sections.

Versions follow Croissant 1.1's rules. PATCH: the same rows; MINOR: rows added, and the old ones still there as they
were; MAJOR: rows edited or removed. Below 1.0.0 these are one part lower (SemVer). docs/versions.md says what this
means for columns, designs and contrasts.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any, NamedTuple

from senseprobe.document import Section, Table, table_section
from senseprobe.messages import MAX_LISTED, counted, listed, printable, shortened
from senseprobe.release.annotation_record import Round, describe_round
from senseprobe.release.markup import code_span, escape_markdown
from senseprobe.release.release import parse_version
from senseprobe.release.row_diff import LabelChange, Words
from senseprobe.release.verdicts import VerdictGroup

if TYPE_CHECKING:
    import pandas as pd


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
        return render_entry(self)

    def sections(self, most: int = 20) -> tuple[Section, ...]:
        """Return the changes as sections of text and tables, with `most` lines for each annotation round."""
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


# --- in text ----------------------------------------------------------------------------------------------------------

_HEADINGS = ("Added", "Changed", "Removed")
_OF_WORDS = {"added": "appeared", "removed": "vanished"}
_SINCE = re.compile(r"Since [A-Za-z0-9_-]+@[0-9.]+: (?:nothing changed|(?:MAJOR|MINOR|PATCH) \([0-9.]+ or higher\))\.")


class _Form(NamedTuple):
    """How names and values of others stand in a line, and how reasons do.

    `is_whole`: whether ids of new configs are listed, and words of edited rows, which a changelog leaves out.
    """

    code: Callable[[str], str]
    text: Callable[[str], str]
    is_whole: bool

    def label(self, value: object) -> str:
        """Return a value, or that there is none."""
        return "none" if value is None else self.code(str(value))


_MARKDOWN, _PLAIN = _Form(code_span, escape_markdown, False), _Form(printable, printable, True)


def render_entry(diff: ReleaseDiff) -> str:
    """Return the entry, in the form of Keep a Changelog, without a date; it ends with a line feed."""
    name, _, version = diff.new.partition("@")
    summary = f"{diff.bump.upper()} ({diff.version} or higher)." if diff.reasons else "nothing changed."
    lines = [f"## {name} {version}", "", f"Since {diff.old}: {summary}"]
    for heading, texts in _list_changes(diff, _MARKDOWN).items():
        lines += ["", f"### {heading}", "", *(f"- {text}" for text in texts)]
    return "\n".join(lines) + "\n"


def is_entry(text: str, release: str) -> bool:
    """Return whether a text has the form of an entry for ``NAME@VERSION``; its facts are not compared with anything."""
    name, _, version = release.partition("@")
    heading, blank, since, *lines = [*text.split("\n"), "", ""][: max(3, text.count("\n") + 1)]
    headings = [f"### {name}" for name in _HEADINGS]
    is_list = all(line in ("", *headings) or (line.startswith("- ") and line.isprintable()) for line in lines)
    return (heading, blank) == (f"## {name} {version}", "") and bool(_SINCE.fullmatch(since)) and is_list


def changes_sections(diff: ReleaseDiff, most: int) -> tuple[Section, ...]:
    """Return counts of rows, what they consist of, `most` lines of each round, and which version that calls for."""
    names = ("before", "after", "added", "removed", "edited")
    has_rows = any(change.added or change.removed or change.edited for change in diff.configs)
    rows = [[change.config, *(getattr(change, name) for name in names)] for change in diff.configs] if has_rows else []
    counts = Table.of_texts({"config": "name", **dict.fromkeys(names, "number")}, rows)
    changes = (Section(heading, tuple(texts)) for heading, texts in _list_changes(diff, _PLAIN).items())
    reasons = [f"{reason.bump.upper()}: {reason.text}" for reason in diff.reasons]
    end = f"{diff.old} -> {diff.new}: {_conclusion(diff)}"
    version = Section("Version" if reasons else "", (*diff.describe_rounds(most), *reasons, end))
    return (*filter(None, (table_section("", (), [counts]), *changes, version)),)


def _conclusion(diff: ReleaseDiff) -> str:
    if not diff.reasons:
        return "nothing changed"
    required = f"{diff.bump.upper()}, so {diff.version} or higher"
    if diff.old.partition("@")[0] != diff.new.partition("@")[0]:
        return f"different datasets; as versions of one dataset, {required}"
    return f"{required}: the version number is too low" if diff.enough is False else required


def _list_changes(diff: ReleaseDiff, form: _Form) -> dict[str, list[str]]:
    """Return what was added, changed and removed, by these headings."""
    parts = (_additions_or_removals(diff, "added", form), _changed(diff, form))
    groups = zip(_HEADINGS, map(list, (*parts, _additions_or_removals(diff, "removed", form))), strict=True)
    return {heading: texts for heading, texts in groups if texts}


def _additions_or_removals(diff: ReleaseDiff, what: str, form: _Form) -> Iterator[str]:
    """Yield what was ``added``, or ``removed``: configs, rows with their words, columns, contrasts."""
    for change in diff.configs:
        name, elsewhere = form.code(change.config), change.before if what == "added" else change.after
        if elsewhere is None:
            listed_ids = f" ({_list_ids(change, what, form)})" if form.is_whole else ""
            yield f"config {name}: {getattr(change, what)} rows{listed_ids}"
        elif getattr(change, what):
            words = _words(change, _OF_WORDS[what], form)
            yield f"{name}: {_rows(change, what, form)}{words and f'; {words}'}"
        if columns := change.schema.get(what):
            yield f"{name}: columns {listed(f'{form.code(column)} ({kind})' for column, kind in columns.items())}"
        action = "restored after earlier" if what == "added" else "omitted by"
        for group in change.taken_back if what == "added" else change.rejected:
            reasons = [f" ({form.text(shortened(text))})" if text else "" for text in group.first.values()]
            ids = (f"{form.code(id_)}{reason}" for id_, reason in zip(group.first, reasons, strict=True))
            rows, verdicts = counted(group.rows, "row"), f"{form.code(group.rule)}, {form.code(group.source)}"
            yield f"{name}: {rows} {action} verdicts ({verdicts}): {listed(ids, group.rows)}"
    if names := diff.contrasts.get(what):
        yield f"contrasts {listed(map(form.code, names))}"


def _changed(diff: ReleaseDiff, form: _Form) -> Iterator[str]:
    for change in diff.configs:
        name = form.code(change.config)
        if change.edited:
            columns = listed(f"{form.code(column)} ({rows})" for column, rows in change.columns.items())
            yield f"{name}: {_rows(change, 'edited', form)} in {columns}"
        for rows, what in _OF_WORDS.items() if form.is_whole else ():
            if not getattr(change, rows) and (words := _words(change, what, form)):
                yield f"{name}: {words}"
        if change.turned:
            yield f"{name}: the label of {change.turned} rows is reversed (stereotype and counterpart swapped)"
        for column, (was, now) in change.samples.items():
            if column not in change.labels:
                yield f"{name}: {form.code(column)}, for example {form.label(was)} → {form.label(now)}"
        for column, labels in change.labels.items():
            changes = listed(f"{form.label(label.was)} → {form.label(label.now)} ({label.rows})" for label in labels)
            yield f"{name}: {form.code(column)} {changes}"
        for column, (was, now) in change.schema.get("changed", {}).items():
            yield f"{name}: column {form.code(column)} is {now}; it was {was}"
        for key, (was, now) in change.design.items():
            yield f"{name}: design, {form.code(key)}: {form.label(shortened(was))} → {form.label(shortened(now))}"
        if change.moved:
            yield f"{name}: rows or columns reordered"
        if change.about:
            yield f"{name}: {', '.join(change.about)}"
    if names := diff.contrasts.get("changed"):
        yield f"contrasts {listed(map(form.code, names))}"
    if diff.card:
        yield f"card: {', '.join(form.code(key) for key in diff.card)}"
    if diff.recipe and not diff.configs:
        yield f"recipe: {listed(map(form.code, diff.recipe))}"


def _rows(change: ConfigChange, what: str, form: _Form) -> str:
    return f"{counted(getattr(change, what), 'row')} {what} ({_list_ids(change, what, form)})"


def _list_ids(change: ConfigChange, what: str, form: _Form) -> str:
    return listed(map(form.code, change.first[what]), getattr(change, what))


def _words(change: ConfigChange, what: str, form: _Form) -> str:
    parts = [
        f"{form.code(slot)} {listed(f'{form.code(word)} ({rows})' for word, rows in words.items())}"
        for slot, pair in change.words.items()
        if (words := getattr(pair, what))
    ]
    return f"{what}: {'; '.join(parts)}" if parts else ""
