"""The inputs of a report's sections: results on one release, compared models, and the level of detail."""

from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from functools import cached_property, wraps
from typing import Any, TypeAlias, TypeVar

from senseprobe.document import Level, Part, Section
from senseprobe.errors import ResultError
from senseprobe.evaluate.estimands import Estimand, families_of, lookup
from senseprobe.evaluate.estimands.association import TestKey
from senseprobe.evaluate.estimands.association_comparison import read_tests
from senseprobe.evaluate.estimands.comparison import Comparison
from senseprobe.evaluate.estimands.control_rank import ControlRank
from senseprobe.evaluate.estimands.multiple_testing import corrected, without_single
from senseprobe.evaluate.estimands.sense_contrast import CONTRASTS
from senseprobe.evaluate.estimands.word_sets import TestWords
from senseprobe.evaluate.reporting.association_verdicts import find_tests
from senseprobe.evaluate.reporting.finding import SentenceWriter, find_senses, name_models
from senseprobe.evaluate.reporting.inputs import ReportInput
from senseprobe.plugins import Registry, Unfit, blamed
from senseprobe.records import Figure

KeyT = TypeVar("KeyT")
ValueT = TypeVar("ValueT")

WARNING = "The rows may state stereotypes. They are wrong and hurtful. They are here to measure how models treat them."


@dataclass(frozen=True, slots=True)
class FigureRow:
    """A figure of several results, a row of a table: a cell for each result in order, None if a result lacks it."""

    config: str
    estimand: str
    group: str | None
    cells: tuple[Figure | None, ...]

    @property
    def first(self) -> Figure:
        """The figure of the first result that has it."""
        return next(cell for cell in self.cells if cell is not None)

    @property
    def declaration(self) -> Estimand:
        """Its estimand."""
        return lookup(self.estimand)


def align(results: Sequence[Iterable[tuple[KeyT, ValueT]]]) -> dict[KeyT, list[ValueT | None]]:
    """Return the values of several results by key, in order of first keys: one for each result, None if it lacks it.

    >>> align([[("noun", 1.0)], [("verb", 2.0), ("noun", 3.0)]])
    {'noun': [1.0, 3.0], 'verb': [None, 2.0]}
    """
    values: dict[KeyT, list[ValueT | None]] = {}
    for number, pairs in enumerate(results):
        for key, value in pairs:
            values.setdefault(key, [None] * len(results))[number] = value
    return values


def align_figures(results: Sequence[Iterable[Figure]]) -> list[FigureRow]:
    """Return a row for each config, estimand and group, in order of their first figures."""
    rows = align([[((f.config, f.estimand, f.group), f) for f in figures] for figures in results])
    return [FigureRow(*key, tuple(cells)) for key, cells in rows.items()]


def build_figure_rows(inputs: Sequence[ReportInput]) -> list[FigureRow]:
    """Return the rows of results; p-values of contrasts are corrected over all contrasts of a result."""
    results = (corrected(source.result.figures, CONTRASTS) for source in inputs)
    return align_figures([without_single(figures, *families_of(figures)) for figures in results])


@dataclass(frozen=True, kw_only=True, slots=True)
class ModelComparison:
    """The figures in which two results, `a` and `b` (numbers from 1), were compared."""

    a: int
    b: int
    comparisons: tuple[Comparison, ...]

    def as_dict(self) -> dict[str, Any]:
        """Return the record with the stable keys of ``--json``."""
        comparisons = [comparison.as_dict() for comparison in self.comparisons]
        return {"a": self.a, "b": self.b, "comparisons": comparisons}


@dataclass(frozen=True, kw_only=True)
class ReportScope:
    """The results on one release that a part of a report is about.

    - `inputs`: the results with their verdicts (`verdict_table.judge`); `labels`: their names, all different.
    - `comparisons`: comparisons of pairs of models, or empty.
    - `level`: the level of detail.
    - `ranks`: ranks of the changes from the first result to the second among those of controls, or empty.
    """

    inputs: Sequence[ReportInput]
    comparisons: Sequence[ModelComparison] = ()
    level: Level = "full"
    ranks: Sequence[ControlRank] = ()

    @property
    def is_brief(self) -> bool:
        """Whether a section shows only the most important lines."""
        return self.level == "brief"

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """The names of results; equal names have the differences of their encodings."""
        return label_inputs(self.inputs)

    @cached_property
    def short_labels(self) -> tuple[str, ...]:
        """The names of results; without the model if all have the same one and the scorers differ."""
        scorers = tuple(source.result.scorer for source in self.inputs)
        models = {str(source.result.model["name"]) for source in self.inputs}
        return scorers if len(models) == 1 and len({*scorers}) == len(scorers) else self.labels

    @cached_property
    def rows(self) -> list[FigureRow]:
        """The figures of all results side by side."""
        return build_figure_rows(self.inputs)

    @cached_property
    def words(self) -> list[Mapping[TestKey, TestWords]]:
        """The words of the association tests of each result; empty without tests or without a table of words.

        The table of another kind of rows has words in slots, and is not read here.
        """
        return [
            read_tests(source.result.words)
            if source.result.words is not None and find_tests(source.result.figures)
            else {}
            for source in self.inputs
        ]

    @cached_property
    def biases(self) -> Mapping[str, str]:
        """The kind of bias by config, if the config has one; empty without the release."""
        release = self.inputs[0].release
        designs = release.designs if release else {}
        return {config: design.bias_type for config, design in designs.items() if design.bias_type != "none"}

    @cached_property
    def senses(self) -> Mapping[str, Set[str]]:
        """The sense types of each target word: a word with several is shown with its sense."""
        return find_senses(self.inputs)

    @cached_property
    def writers(self) -> list[SentenceWriter]:
        """The writer of sentences for each result."""
        models = name_models(self.inputs)
        return [
            SentenceWriter(source=source, model=model, senses=self.senses, words=words)
            for source, model, words in zip(self.inputs, models, self.words, strict=True)
        ]

    def find_truth(self, number: int, figure: Figure) -> tuple[int, Figure] | None:
        """Return the planted value of a result's figure, and the number of the result that has it; None if unknown."""
        scored = self.inputs[number].result.model
        for other, source in enumerate(self.inputs):
            model = source.result.model
            if other == number or "planted" not in model or "planted" in scored or model["name"] != scored["name"]:
                continue
            for truth in source.result.figures:
                if truth.key == figure.key and truth.value is not None:
                    return other, truth
        return None

    @property
    def card(self) -> Mapping[str, Any]:
        """The facts of the release's card; empty without the release."""
        release = self.inputs[0].release
        return release.manifest.data["card"] if release else {}

    @property
    def content_warning(self) -> str:
        """The warning that readers see before rows."""
        return str(self.card.get("content_warning") or WARNING)

    @cached_property
    def failing(self) -> tuple[str, ...]:
        """Warnings on results whose rows are shown although a gate of their config fails.

        Figures have them in their notes.
        """
        failing: dict[tuple[str, str], list[str]] = {}
        for source in self.inputs:
            configs = () if source.result.rows is None else source.result.rows["config"].unique()
            for config in (config for config in source.failing if config in configs):
                failing.setdefault((config, source.failing[config].partition(":")[0]), []).append(source.label)
        return tuple(
            f"{', '.join(labels)}: {verdict} in {config}. Tables and charts of these rows say nothing about bias."
            for (config, verdict), labels in failing.items()
        )

    def list_sections(self, build: "SectionBuilder") -> Iterable[Section]:
        """Return the section or the sections of a builder."""
        sections = build(self)
        return (sections,) if isinstance(sections, Section) else sections

    def build_part(self, page: "Page") -> Part:
        """Return the sections of a page that have something to show."""
        sections = tuple(section for build in page for section in self.list_sections(build) if section)
        return Part(title=str(self.inputs[0].result.release["name"]), sections=sections, labels=self.labels)


SectionBuilder: TypeAlias = Callable[[ReportScope], "Section | Iterable[Section]"]
Page: TypeAlias = tuple[SectionBuilder, ...]
"""The builders of a part of a report, in order; sections without content are left out."""


@dataclass(frozen=True, kw_only=True, slots=True)
class AddedSection:
    """A section of a room that can be missing or of a plug-in.

    - `build`: makes one or several sections from the results of a part; a section without content is left out.
    - `after`: by page (report.py has their names) the name of the function of the section that it follows.

    >>> def count_section(scope: ReportScope) -> Section:
    ...     return Section("Number of results", (str(len(scope.inputs)),))
    >>> AddedSection(id="count", build=count_section).after
    {'pairs': 'figure_section'}
    """

    id: str
    build: SectionBuilder
    after: Mapping[str, str] = field(default_factory=lambda: {"pairs": "figure_section"})
    origin: str = ""


def _admit(added: AddedSection) -> AddedSection:
    """Return the section of a plug-in; raise Unfit if it is not one. If its builder fails, a ResultError names it.

    The builder keeps its name, so that another section can follow it.
    """
    if not callable(added.build) or not isinstance(added.after, Mapping):
        raise Unfit("its `build` is not a function, or its `after` is not a mapping from pages to sections")

    @wraps(added.build)
    def build(scope: ReportScope) -> list[Section]:
        with blamed(f"the section {added.id}, a plug-in, failed with", ResultError):
            sections = [*scope.list_sections(added.build)]
            return [replace(section, paragraphs=tuple(section.paragraphs)) for section in sections]

    return replace(added, build=build)


SECTIONS = Registry("senseprobe.sections", AddedSection, "section", (), _admit)
"""Sections of rooms that can be missing, then those of plug-ins, by id."""


def complete_page(name: str, page: Page) -> Page:
    """Return a page with the sections that rooms and plug-ins add to the page of that name."""
    for added in SECTIONS.values():
        names = [getattr(build, "__name__", "") for build in page]
        if (before := added.after.get(name)) in names:
            number = names.index(before) + 1
            page = (*page[:number], added.build, *page[number:])
    return page


def label_inputs(inputs: Sequence[ReportInput]) -> tuple[str, ...]:
    """Return the names of results; equal names have the differences of their encodings.

    Without such differences they have the number of the result, from 1.
    """
    labels = [source.label for source in inputs]
    alike = {label: [source.encoding for source in inputs if source.label == label] for label in labels}
    names = []
    for source, label in zip(inputs, labels, strict=True):
        parts = (f"{k}={v}" for k, v in source.encoding.items() if any(other.get(k) != v for other in alike[label]))
        names.append(" ".join([label, *parts]))
    return tuple(f"{name} ({n})" if names.count(name) > 1 else name for n, name in enumerate(names, start=1))
