"""What the paths given to `lint` mean: which lists and templates of which layer.

One look at a layer: lists and datasets in turn, each read, checked, and held against what it accepts.

What depends on the same bytes as last time is not looked at again.
"""

import os
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TypeVar

from senseprobe.errors import DeclarationError, LexiconError, SenseprobeError
from senseprobe.generator import senses
from senseprobe.generator.checks import waivers
from senseprobe.generator.checks.hints import advised
from senseprobe.generator.checks.lint_report import Accepted, Answer, Memory, Report, joined, key_of
from senseprobe.generator.checks.project_files import BIBLIOGRAPHY
from senseprobe.generator.checks.registry import Check, Folder, Kind, Published, Subject, checks
from senseprobe.generator.dataset import ResolvedDataset, open_dataset
from senseprobe.generator.english import English
from senseprobe.generator.resolve import resolve
from senseprobe.generator.retired_ids import read_retired
from senseprobe.generator.segments import environment
from senseprobe.generator.templates import read_dataset
from senseprobe.generator.word_lists import DESCRIPTOR, WordList, WordLists
from senseprobe.generator.yaml_source import MAX_BYTES, format_path
from senseprobe.lexicon import Lexicon
from senseprobe.lexicon.wordnet import LEXICONS
from senseprobe.messages import printable
from senseprobe.project import MARKER, Layer, layers
from senseprobe.records import Finding
from senseprobe.release.hashing import file_sha256


@dataclass(frozen=True, slots=True)
class Target:
    """A part of a layer: `lists` are files, `datasets` folders, `config` a template; None means all of them."""

    layer: Layer
    lists: frozenset[Path] | None = None
    datasets: frozenset[Path] | None = None
    config: str | None = None

    @property
    def whole_folder(self) -> bool:
        """Whether the folder of word lists is looked at, not only some of its files."""
        return self.lists is None

    def folders(self) -> list[Path]:
        """Folders of templates, sorted, also those that no `dataset.yaml` declares."""
        found = {path.parent for pattern in ("*/*.j2", "*/dataset.yaml") for path in self.layer.templates.glob(pattern)}
        return sorted(path for path in found if self.datasets is None or path.resolve() in self.datasets)


def targets(paths: Iterable[Path]) -> list[Target]:
    """What the paths mean; without any, the whole nearest layer.

    Raises SenseprobeError for a path that does not exist, or that lint does not read.
    """
    return [_target(path) for path in dict.fromkeys(paths)] or [Target(layers()[0])]


def _target(path: Path) -> Target:
    if not path.exists():
        raise SenseprobeError(f"{path}: no such file or folder")
    real = path.resolve()
    found = next((target for layer in _layers_of(real) if (target := _in_layer(real, layer))), None)
    if found is None:
        what = "a project, its templates or wordlists, a dataset's folder, a template (.j2) or a list (.csv)"
        raise SenseprobeError(f"{path} is nothing that lint reads: give {what}")
    return found


def _layers_of(real: Path) -> Iterator[Layer]:
    """The folders around a path that look like a layer, nearest first."""
    for folder in (real, *real.parents):
        if any((folder / part).exists() for part in (MARKER, "templates", "wordlists")):
            yield Layer(folder)


def _in_layer(real: Path, layer: Layer) -> Target | None:
    none: frozenset[Path] = frozenset()
    templates, wordlists = layer.templates.resolve(), layer.wordlists.resolve()
    if real == layer.root.resolve():
        return Target(layer)
    if real == templates:
        return Target(layer, lists=none)
    if real in (wordlists, wordlists / DESCRIPTOR):
        return Target(layer, datasets=none)
    if real.parent == wordlists and real.suffix == ".csv":
        return Target(layer, lists=frozenset({real}), datasets=none)
    return _in_templates(real, templates, layer)


def _in_templates(real: Path, templates: Path, layer: Layer) -> Target | None:
    folder = real if real.is_dir() else real.parent
    if folder.parent != templates:
        return None
    target = Target(layer, lists=frozenset(), datasets=frozenset({folder}))
    if real == folder:
        return target if target.folders() else None
    if real.suffix == ".j2":
        return Target(layer, lists=frozenset(), datasets=frozenset({folder}), config=real.stem)
    return target if real.name == "dataset.yaml" else None


T = TypeVar("T")


@dataclass(slots=True)
class _Found:
    """What was found so far of a list or a dataset."""

    findings: list[Finding] = field(default_factory=list)
    accepted: list[Accepted] = field(default_factory=list)
    claims: list[senses.Claim] = field(default_factory=list)
    guesses: set[Answer] = field(default_factory=set)
    not_checked: Counter[str] = field(default_factory=Counter)
    lists: int = 0
    checked: set[str] = field(default_factory=set)
    looked_at: int = 0
    not_looked_at: list[str] = field(default_factory=list)

    def collect(self, work: Callable[[], T]) -> T | None:
        """What the work returns; None where it fails, with its mistakes kept."""
        try:
            return work()
        except DeclarationError as error:
            self.findings += error.findings
            return None

    def run(self, on: Kind, subject: object) -> Iterator[Finding]:
        """What all checks of this kind find; those that cannot run are counted."""
        for check in checks(on):
            found = self._run(check, subject)
            if found is None:
                self.not_checked[check.code] += 1
            yield from found or ()

    @staticmethod
    def _run(check: Check, subject: object) -> list[Finding] | None:
        """None where the lexicon that it needs is not there."""
        if check.lexicon and not senses.identity(check.lexicon):
            return None
        try:
            return list(check.run(subject))
        except LexiconError:
            return None

    def settle(self, found: Iterable[Finding], own: waivers.Waiver, *others: waivers.Waiver) -> None:
        """Keep the findings that nobody accepts, and say what is wrong with what the first waiver accepts."""
        self.findings += waivers.settle(found, own, *others)
        self.accepted += own.accepted()
        self.findings += own.mistakes({*self.not_checked})


@dataclass(frozen=True, slots=True)
class Run:
    """A target, the lists that its templates see, and what earlier runs remember."""

    target: Target
    seen: WordLists
    memory: Memory
    opened: dict[str, Lexicon] = field(default_factory=dict)

    def report(self) -> Report:
        """Look at everything; what was found comes in the order of files and lines."""
        parts = [self._part("dataset", [folder], partial(self._dataset, folder)) for folder in self.target.folders()]
        if self.target.lists is None or self.target.lists:
            parts.append(self._part("lists", [], self._lists))
        return joined(parts)

    def _part(self, name: str, folders: list[Path], look: Callable[[], Report]) -> Report:
        """A part of the report: that of last time where nothing that it depends on has changed."""
        files = [path for folder in (*folders, *self.seen.folders) for path in sorted(folder.glob("*.*"))]
        known = [senses.identity(lexicon) for lexicon in LEXICONS]
        root, lists = self.target.layer.root.resolve(), sorted(map(str, self.target.lists or ()))
        return self.memory.recall(key_of(name, Path.cwd(), root, self.target.config, lists, known, *_sums(files)), look)

    # ---- Lists ----

    def _lists(self) -> Report:
        """The layer's own lists, not the built-in ones that a project sees too; and the folder that they lie in."""
        folder, found = self.target.layer.wordlists.resolve(), _Found()
        own = self.seen if self.seen.folders == (folder,) else WordLists((folder,))
        names = found.collect(own.names)
        tables = []
        declared: set[str] = set()
        for name in names or ():
            one = _Found(lists=1)
            table = one.collect(partial(self.seen.get, name))
            path = table.display_path if table else one.findings[0].path
            declared.add(path)
            if self._wanted(path):
                tables.append(self._report(one) if table is None else self._list(table))
        if names is not None and folder.is_dir():
            undeclared = found.run("folder", Folder(folder, frozenset(declared)))
            found.findings += [finding for finding in undeclared if self._wanted(finding.path)]
        return joined([self._report(found), *tables])

    def _wanted(self, shown: str) -> bool:
        return self.target.lists is None or shown in {format_path(path) for path in self.target.lists}

    def _list(self, table: WordList) -> Report:
        bibliographies = [folder / BIBLIOGRAPHY for folder in self.seen.folders]
        files = (table.path, table.path.with_name(DESCRIPTOR), *bibliographies)
        known = [senses.identity(lexicon) for lexicon in LEXICONS]

        def look() -> Report:
            found = _Found(lists=1, claims=list(senses.claims_of_list(table)))
            found.settle(found.run("list", table), waivers.of_list(table))
            return self._report(found)

        return self.memory.recall(key_of("list", Path.cwd(), table.resource.name, known, *_sums(files)), look)

    # ---- Datasets ----

    def _dataset(self, folder: Path) -> Report:
        found, only = _Found(), self.target.config
        if unnamed := [*_not_utf8(folder, *folder.iterdir())]:
            return self._report(_Found(findings=unnamed))
        if not (folder / "dataset.yaml").is_file():
            message, hint = "has templates and no dataset.yaml", "copy that of another dataset, and change it"
            found.findings.append(Finding(path=format_path(folder), code="E102", message=message, hint=hint))
        elif catalogue := found.collect(lambda: open_dataset(folder, self.seen, only=only)) or self._readable(folder):
            self._catalogue(catalogue, found)
        if not only:
            found.collect(lambda: read_retired(folder))
        found.not_looked_at = [*self._passed_over(folder, found)]
        found.looked_at = len(self._names(folder)) - len(found.not_looked_at)
        return self._report(found)

    def _readable(self, folder: Path) -> ResolvedDataset | None:
        """What can be read of a dataset with mistakes, which are told already: each config for itself."""
        english = English()
        env, read, configs = environment(english.filters()), [], []
        for name in self._names(folder):
            with suppress(DeclarationError):
                dataset = read_dataset(folder, name)
                configs += [resolve(template, self.seen, env) for template in dataset.templates]
                read.append(dataset)
        if not read:
            return None
        templates = tuple(template for dataset in read for template in dataset.templates)
        return ResolvedDataset(replace(read[0], templates=templates), tuple(configs), self.seen, english)

    def _names(self, folder: Path) -> list[str]:
        return [self.target.config] if self.target.config else sorted(path.stem for path in folder.glob("*.j2"))

    def _passed_over(self, folder: Path, found: _Found) -> Iterator[str]:
        """The configs that were not looked at because of mistakes elsewhere."""
        told = {finding.path for finding in found.findings}
        yield from (
            name
            for name in self._names(folder)
            if name not in found.checked and format_path(folder / f"{name}.j2") not in told
        )

    def _catalogue(self, catalogue: ResolvedDataset, found: _Found) -> None:
        dataset, waiver = catalogue.dataset, waivers.of_dataset(catalogue.dataset)
        if not self.target.config:
            found.findings += waivers.settle(found.run("dataset", Published(dataset, self.seen)), waiver)
        english = English()
        for config in catalogue.configs:
            self._config(Subject(dataset, config, self.seen, english), waiver, found)
        found.accepted += waiver.accepted()
        if len(found.checked) == len(dataset.card.configs) and not self.target.config:
            found.findings += waiver.mistakes({*found.not_checked})
        found.guesses |= {(*asked, answer) for asked, answer in catalogue.english.guesses.items()}

    def _config(self, subject: Subject, of_dataset: waivers.Waiver, found: _Found) -> None:
        """Checks a config whose sentences can all be made, and counts it."""
        config = subject.config
        before = len(found.findings)
        for block in config.blocks:
            for frame in block.frames:
                found.collect(lambda block=block, frame=frame: [subject.side(block, frame, r) for r in block.roles])  # type: ignore[misc]
        if len(found.findings) > before:
            return
        found.checked.add(config.name)
        found.claims += senses.claims_of_config(config)
        found.findings += waivers.misplaced(config)
        found.settle(found.run("config", subject), waivers.of_config(config), of_dataset)

    # ---- Senses ----

    def _report(self, found: _Found) -> Report:
        """What was found, with what the lexicon says of the claims."""
        wrong, checked, unchecked = senses.check(found.claims, self._recall, self.opened)
        return Report(
            findings=tuple(advised(finding) for finding in (*found.findings, *wrong)),
            lists=found.lists,
            configs=found.looked_at,
            configs_not_checked=len(found.not_looked_at),
            keys_checked=checked,
            keys_not_checked=unchecked,
            accepted=tuple(found.accepted),
            guesses=tuple(found.guesses),
            not_checked=dict(found.not_checked),
        )

    def _recall(self, parts: tuple[object, ...], find: Callable[[], Iterable[Finding]]) -> tuple[Finding, ...]:
        return self.memory.recall(key_of("senses", *parts), lambda: Report(tuple(find()), 0, 0, 0, 0)).findings


def _not_utf8(*paths: Path) -> Iterator[Finding]:
    """E100 of each path whose name has bytes that are not UTF-8, which Python reads as halves of surrogate pairs."""
    for path in paths:
        if any(unicodedata.category(c) == "Cs" for c in path.name):
            message, hint = f"its name is not UTF-8: {os.fsencode(path.name)!r}", "rename it"
            yield Finding(path=printable(format_path(path)), code="E100", message=message, hint=hint)


def _sums(paths: Iterable[Path]) -> Iterator[str]:
    """The names and hashes of files; what is too large to be read, or cannot be, has none."""
    for path in paths:
        with suppress(OSError):
            small = path.is_file() and path.stat().st_size <= MAX_BYTES
            yield f"{path} {file_sha256(path) if small else 'not read'}"
