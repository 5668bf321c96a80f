"""A run of `lint`: the parts of a layer that paths name, each read, checked, and reported without what it accepts."""

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
from senseprobe.generator.checks.base import (
    ConfigSubject,
    DatasetSubject,
    FolderSubject,
    checks_of_kind,
    registered_checks,
    resource_position,
    yaml_position,
)
from senseprobe.generator.checks.codes import Waiver, add_hint, apply_waivers, misplaced_keys
from senseprobe.generator.checks.lint_report import Accepted, Answer, Report, join_reports
from senseprobe.generator.dataset import ResolvedDataset, open_dataset, open_word_lists
from senseprobe.generator.english import English
from senseprobe.generator.exclusions import read_retired
from senseprobe.generator.recipe import find_used_lists
from senseprobe.generator.resolve import resolve
from senseprobe.generator.segments import environment
from senseprobe.generator.templates import read_dataset, read_template
from senseprobe.generator.word_lists import DESCRIPTOR, WordList, WordLists
from senseprobe.generator.yaml_source import format_path
from senseprobe.lexicon import Lexicon
from senseprobe.messages import offered, printable
from senseprobe.project import MARKER, Layer, layers, list_datasets
from senseprobe.records import Finding


@dataclass(frozen=True, slots=True)
class Target:
    """A part of a layer: `lists` are files, `datasets` folders, `config` a template; None means all of them."""

    layer: Layer
    lists: frozenset[Path] | None = None
    datasets: frozenset[Path] | None = None
    config: str | None = None

    def folders(self) -> list[Path]:
        """Return folders of templates, sorted, also those that no `dataset.yaml` declares."""
        paths = {path.parent for pattern in ("*/*.j2", "*/dataset.yaml") for path in self.layer.templates.glob(pattern)}
        return sorted(path for path in paths if self.datasets is None or path.resolve() in self.datasets)


_NONE: frozenset[Path] = frozenset()


def find_target(path: Path) -> Target:
    """Return what a path names, or ``DATASET[/CONFIG]`` with its lists; a path has precedence if lint reads that.

    Raise SenseprobeError where it is neither.
    """
    if not (target := _target_at(path) or _named_target(path.as_posix())):
        if not path.exists():
            names = offered(path.as_posix(), list_datasets())
            raise SenseprobeError(f"{path}: not a file, a folder or a dataset: {names}")
        what = "a project, its templates or wordlists, a dataset's folder or name, a template (.j2) or a list (.csv)"
        raise SenseprobeError(f"lint cannot check {path}: give {what}")
    return target


def _named_target(name: str) -> Target | None:
    dataset, _, config = name.partition("/")
    layer = next((layer for layer in layers() if dataset in layer.datasets()), None)
    if layer is None or (config and not (layer.templates / dataset / f"{config}.j2").is_file()):
        return None
    folder = (layer.templates / dataset).resolve()
    lists = frozenset(_used_lists(layer, folder.glob(f"{config or '*'}.j2")))
    return Target(layer, lists=lists, datasets=frozenset({folder}), config=config or None)


def _used_lists(layer: Layer, paths: Iterable[Path]) -> Iterator[Path]:
    """Yield the files of the lists that templates name, as far as they and the descriptor can be read."""
    lists = open_word_lists(layer).leniently()
    for path in paths:
        with suppress(DeclarationError):
            yield from (words.path for words in find_used_lists([read_template(path)], lists))


def _target_at(path: Path) -> Target | None:
    if not path.exists():
        return None
    real = path.resolve()
    # The folders around a path that look like a layer, nearest first.
    markers = MARKER, "templates", "wordlists"
    roots = (folder for folder in (real, *real.parents) if any((folder / marker).exists() for marker in markers))
    return next(filter(None, (_in_layer(real, Layer(root)) for root in roots)), None)


def _in_layer(real: Path, layer: Layer) -> Target | None:
    templates, wordlists = layer.templates.resolve(), layer.wordlists.resolve()
    if real == layer.root.resolve():
        return Target(layer)
    if real == templates:
        return Target(layer, lists=_NONE)
    if real in (wordlists, wordlists / DESCRIPTOR):
        return Target(layer, datasets=_NONE)
    if real.parent == wordlists and real.suffix == ".csv":
        return Target(layer, lists=frozenset({real}), datasets=_NONE)
    folder = real if real.is_dir() else real.parent
    config = real.stem if real != folder and real.suffix == ".j2" else None
    target = Target(layer, lists=_NONE, datasets=frozenset({folder}), config=config)
    is_read = target.folders() if real == folder else config or real.name == "dataset.yaml"
    return target if folder.parent == templates and is_read else None


T = TypeVar("T")


@dataclass(slots=True)
class _CheckResult:
    findings: list[Finding] = field(default_factory=list)
    accepted: list[Accepted] = field(default_factory=list)
    claims: list[senses.Claim] = field(default_factory=list)
    guesses: set[Answer] = field(default_factory=set)
    not_checked: Counter[str] = field(default_factory=Counter)
    lists: int = 0
    checked: set[str] = field(default_factory=set)
    incomplete: set[str] = field(default_factory=set)
    configs: int = 0
    configs_not_checked: int = 0

    def collect(self, work: Callable[[], T]) -> T | None:
        """Return what the work returns; None where it fails, with its mistakes added to the findings."""
        try:
            return work()
        except DeclarationError as error:
            self.findings += error.findings
            return None

    def run(self, subject: object) -> Iterator[Finding]:
        """Yield what all checks of such a subject find; those that lack their lexicon are counted."""
        checks = [check for check in registered_checks() if isinstance(subject, check.subject)]
        checks += checks_of_kind(subject.config.kind) if isinstance(subject, ConfigSubject) else []
        for check in checks:
            can_run = not check.lexicon or senses.identity(check.lexicon)
            try:
                findings = [*check.run(subject)] if can_run else None
            except LexiconError:
                findings = None
            if findings is None:
                self.not_checked[check.code] += 1
            yield from findings or ()

    def add(self, findings: Iterable[Finding], waiver: Waiver, *others: Waiver, complete: bool = True) -> None:
        """Add the findings that no waiver accepts, and mistakes in what the first waiver accepts.

        Where mistakes of a list leave out some of its words, findings on numbers of words wait for the whole list, and
        what is accepted may yet occur.
        """
        if not complete:
            findings = (finding for finding in findings if not finding.code.startswith(("E121", "W3", "W5")))
        self.findings += apply_waivers(findings, waiver, *others)
        self.accepted += waiver.accepted()
        self.findings += waiver.mistakes({*self.not_checked} if complete else {*waiver.reasons})


@dataclass(frozen=True, slots=True)
class Run:
    """A target, and the lists that its templates see."""

    target: Target
    visible: WordLists
    opened: dict[str, Lexicon] = field(default_factory=dict)

    def report(self) -> Report:
        """Check everything; findings come in the order of files and lines."""
        reports = [self._dataset(folder) for folder in self.target.folders()]
        if self.target.lists is None or self.target.lists:
            reports.append(self._lists())
        return join_reports(reports)

    # ---- Lists ----

    def _lists(self) -> Report:
        """Check the layer's own lists, not the built-in ones that a project sees too; and their folder."""
        folder, result = self.target.layer.wordlists.resolve(), _CheckResult()
        layer_lists = self.visible if self.visible.folders == (folder,) else WordLists((folder,))
        names = result.collect(layer_lists.names)
        reports, declared = [], set()
        for table in filter(None, map(self.visible.read, names or ())):
            declared.add(table.display_path)
            if self._is_target(table.display_path):
                reports.append(self._list(table))
        if names is not None and folder.is_dir():
            undeclared = result.run(FolderSubject(folder, frozenset(declared)))
            result.findings += [finding for finding in undeclared if self._is_target(finding.path)]
        return join_reports([self._report(result), *reports])

    def _is_target(self, display_path: str) -> bool:
        return self.target.lists is None or display_path in map(format_path, self.target.lists)

    def _list(self, table: WordList) -> Report:
        result = _CheckResult([*table.mistakes], lists=1, claims=[*senses.list_claims(table)])
        path = format_path(table.path.with_name(DESCRIPTOR))
        waiver = Waiver(path, table.resource.accept, partial(resource_position, table, "accept"))
        result.add(result.run(table), waiver, complete=not table.mistakes)
        return self._report(result)

    # ---- Datasets ----

    def _dataset(self, folder: Path) -> Report:
        result, only = _CheckResult(), self.target.config
        for path in (folder, *folder.iterdir()):
            if any(unicodedata.category(c) == "Cs" for c in path.name):  # Python reads other bytes as lone surrogates
                message = f"its name is not UTF-8: {os.fsencode(path.name)!r}"
                name = printable(format_path(path))
                result.findings.append(Finding(path=name, code="E100", message=message, hint="rename it"))
        if result.findings:
            return self._report(result)
        if not (folder / "dataset.yaml").is_file():
            message, hint = "has templates but lacks dataset.yaml", "copy the one of another dataset, and change it"
            result.findings.append(Finding(path=format_path(folder), code="E102", message=message, hint=hint))
        else:
            opened = result.collect(lambda: open_dataset(folder, self.visible, only=only))
            if dataset := opened or self._readable(folder, result):
                self._resolved(dataset, result)
        if not only:
            result.collect(lambda: read_retired(folder))
        paths, names = {finding.path for finding in result.findings}, self._config_names(folder)
        unchecked = {*names} - result.checked
        # Because of mistakes in other files.
        result.configs_not_checked = sum(format_path(folder / f"{name}.j2") not in paths for name in unchecked)
        result.configs = len(names) - result.configs_not_checked
        return self._report(result)

    def _readable(self, folder: Path, result: _CheckResult) -> ResolvedDataset | None:
        """Return the configs that can be read of a dataset; collect what mistakes of other files have hidden so far."""
        english, lists = English(), self.visible.leniently()
        env, datasets, configs = environment(english.filters()), [], []
        for name in self._config_names(folder):
            template = result.collect(partial(read_template, folder / f"{name}.j2"))
            config = result.collect(partial(resolve, template, lists, env)) if template else None
            with suppress(DeclarationError):
                datasets.append(read_dataset(folder, name))
                configs += [config] if config else []
        if not datasets:
            return None
        templates = tuple(template for dataset in datasets for template in dataset.templates)
        return ResolvedDataset(replace(datasets[0], templates=templates), tuple(configs), lists, english)

    def _config_names(self, folder: Path) -> list[str]:
        return [self.target.config] if self.target.config else sorted(path.stem for path in folder.glob("*.j2"))

    def _resolved(self, resolved: ResolvedDataset, result: _CheckResult) -> None:
        dataset, path = resolved.dataset, resolved.dataset.folder / "dataset.yaml"
        waiver = Waiver(format_path(path), dataset.card.accept, partial(yaml_position, path, "accept"))
        if not self.target.config:
            findings = result.run(DatasetSubject(dataset, resolved.lists, resolved.configs))
            result.findings += apply_waivers(findings, waiver)
        english = English()
        for config in resolved.configs:
            self._config(ConfigSubject(dataset, config, resolved.lists, english), waiver, result)
        result.accepted += waiver.accepted()
        if len(result.checked - result.incomplete) == len(dataset.card.configs) and not self.target.config:
            result.findings += waiver.mistakes({*result.not_checked})
        result.guesses |= {(*question, answer) for question, answer in resolved.english.guesses.items()}

    def _config(self, subject: ConfigSubject, dataset_waiver: Waiver, result: _CheckResult) -> None:
        """Check a config whose sentences can all be rendered, and count it."""
        before = len(result.findings)
        for frame in subject.frames:
            result.collect(frame.sides)
        if len(result.findings) > before:
            return
        result.checked.add(subject.config.name)
        result.claims += senses.config_claims(subject.config)
        result.findings += misplaced_keys(subject.config)
        template = subject.config.template
        position = partial(template.blocks[0].locate, "accept")
        waiver = Waiver(template.display_path, template.blocks[0].front.accept, position)
        lists = find_used_lists([template], subject.lists)
        if incomplete := any(words.mistakes for words in lists):
            result.incomplete.add(template.config)
        result.add(result.run(subject), waiver, dataset_waiver, complete=not incomplete)

    # ---- Senses ----

    def _report(self, result: _CheckResult) -> Report:
        """Return the report of a part, with what the lexicon says of its claims."""
        mistakes, checked, unchecked = senses.check(result.claims, self.opened)
        return Report(
            findings=tuple(add_hint(finding) for finding in (*result.findings, *mistakes)),
            lists=result.lists,
            configs=result.configs,
            configs_not_checked=result.configs_not_checked,
            keys_checked=checked,
            keys_not_checked=unchecked,
            accepted=tuple(result.accepted),
            guesses=tuple(result.guesses),
            not_checked=dict(result.not_checked),
        )
