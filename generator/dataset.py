"""A dataset ready to expand, read, resolved and checked against what it expects; and what evaluation needs of it."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import pyarrow as pa

from senseprobe.errors import DeclarationError
from senseprobe.generator.config import Config, ResolvedBlock, reference
from senseprobe.generator.english import English, Guess
from senseprobe.generator.exclusions import ExcludedRows, drop_rows, exhausted_words, read_exclusions
from senseprobe.generator.expand import expand
from senseprobe.generator.kinds import EXPANSIONS
from senseprobe.generator.resolve import resolve
from senseprobe.generator.schema import Dataset
from senseprobe.generator.segments import environment
from senseprobe.generator.templates import read_dataset
from senseprobe.generator.word_lists import Word, WordLists
from senseprobe.generator.yaml_source import format_path
from senseprobe.project import Layer, built_in
from senseprobe.records import Design, Factor, Finding
from senseprobe.release.annotation_record import ANNOTATION, read_annotation


@dataclass(frozen=True, slots=True)
class ResolvedDataset:
    """A dataset, its lists, the guesses of English so far, and by config the rows that verdicts leave out."""

    dataset: Dataset
    configs: tuple[Config, ...]
    lists: WordLists
    english: English
    exclusions: Mapping[str, ExcludedRows] = field(default_factory=dict)

    def design(self, config: Config) -> Design:
        """Return what evaluation needs to know of the config; a level without rows is not its reference."""
        design, excluded = derive_design(config), self.excluded_rows(config)
        slot, word = design.group or "", design.reference
        if not (slot and word and excluded):
            return design
        blocks = zip(config.blocks, exhausted_words(config, excluded), strict=True)
        is_exhausted = all((slot, word) in exhausted for block, exhausted in blocks if word in block.slots[slot])
        return replace(design, reference=None) if is_exhausted else design

    def levels(self, config: Config) -> dict[str, int]:
        """Return how many levels each factor of the config has in the rows that are not left out."""
        excluded = self.excluded_rows(config)
        return count_levels(config, [*exhausted_words(config, excluded)] if excluded else ())

    def excluded_rows(self, config: Config) -> ExcludedRows:
        """Return the rows of a config that verdicts leave out."""
        return self.exclusions.get(config.name, ExcludedRows())

    def rows(self, config: Config, start: int = 0, stop: int | None = None) -> Iterator[pa.RecordBatch]:
        """Yield the rows of a config that are not left out; `start` and `stop` count rows before verdicts."""
        batches, excluded = expand(config, self.lists, start, stop), self.excluded_rows(config)
        return drop_rows(batches, start, excluded) if excluded else batches


def open_word_lists(layer: Layer) -> WordLists:
    """Return the lists that a dataset of this layer sees; a built-in dataset never sees a user's list."""
    folders = dict.fromkeys(folder.resolve() for folder in (layer.wordlists, built_in().wordlists))
    return WordLists(tuple(folders))


def open_dataset(
    folder: Path,
    lists: WordLists,
    frozen: Mapping[Guess, str] | None = None,
    only: str | None = None,
    *,
    any_count: bool = False,
) -> ResolvedDataset:
    """Return the dataset in a folder; raise DeclarationError with all mistakes. A release has `frozen` guesses.

    With `any_count` a config may make another number of rows than it expects.
    """
    dataset = read_dataset(folder, only, frozen=frozen is not None)
    english = English(frozen or {})
    env = environment(english.filters())
    configs: list[Config] = []
    findings: list[Finding] = []
    for template in dataset.templates:
        try:
            config = resolve(template, lists, env)
            findings.extend(() if any_count else check_expected(config))
            configs.append(config)
        except DeclarationError as error:
            findings.extend(error.findings)
    exclusions: Mapping[str, ExcludedRows] = {}
    try:
        exclusions = read_exclusions(configs, folder)
        read_annotation(folder / ANNOTATION, f"{format_path(folder)}/{ANNOTATION}")
    except DeclarationError as error:
        findings.extend(error.findings)
    if findings:
        raise DeclarationError(list(dict.fromkeys(findings)))
    return ResolvedDataset(dataset, tuple(configs), lists, english, exclusions)


def check_expected(config: Config) -> Iterator[Finding]:
    """Yield E109 where a config makes another number of rows than it expects, or than were published."""
    block = config.template.blocks[0]
    if (expected := block.front.expect) is None:
        return
    noun = expected.noun
    line, column = block.locate("expect", noun)
    messages = []
    if config.size != expected.total:
        messages.append(f"expands to {config.size} {noun}, but `expect` states {expected.total}")
    if expected.published not in (None, expected.total) and not expected.reason:
        messages.append(f"{expected.published} {noun} were published: explain the difference in `reason`")
    for message in messages:
        yield Finding(path=config.template.display_path, line=line, column=column, code="E109", message=message)


def derive_design(config: Config) -> Design:
    """Return the design of a config; blocks differ in words and labels only, so the first one stands for all."""
    block = config.blocks[0]
    front = block.block.front
    roles = {
        role: {name: f"{b.source or 'text'}/{b}" if isinstance(b, Word) else b for name, b in names.items()}
        for role, names in block.roles.items()
    }
    design = Design(
        kind=front.kind,
        sense_type="",
        bias_type=front.bias_type,
        slots=tuple(block.slots),
        roles=roles,
        factors=tuple(Factor(name=name, columns=_factor_columns(block, name)) for name in front.generalise),
        columns=tuple(config.columns.items()),
    )
    return EXPANSIONS[front.kind].complete_design(design, config)


def _factor_columns(block: ResolvedBlock, name: str) -> tuple[str, ...]:
    if name in block.slots or name == "frame":
        return (name,)
    if name in block.block.front.clusters.values():
        return (name.replace(".", "_"),)
    return tuple(dict.fromkeys(str(names[name]) for names in block.roles.values()))


def count_levels(config: Config, excluded: Sequence[Collection[tuple[str, str]]] = ()) -> dict[str, int]:
    """Return the levels of each factor of `generalise`, by stratum, but for those `excluded`, block by block."""
    levels: dict[str, set[str]] = {}
    for number, block in enumerate(config.blocks):
        if not block.block.front.has_labels:
            continue  # no figure uses these rows
        for name in config.blocks[0].block.front.generalise:
            for level, stratum in _levels(block, name, excluded[number] if excluded else ()):
                levels.setdefault(f"{name} ({stratum})" if stratum else name, set()).add(level)
    return {name: len(distinct) for name, distinct in levels.items()}


def _levels(block: ResolvedBlock, name: str, excluded: Collection[tuple[str, str]]) -> Iterator[tuple[str, str]]:
    """Yield the levels of a factor in a block that are not excluded, each with its stratum."""
    if name == "frame":
        codes = (frame.frame.code for frame in block.frames)
        yield from ((code, "") for code in codes if (name, code) not in excluded)
        return
    strata = [reference(text, block.slots) for text in block.block.front.strata.values()]
    cluster = reference(name, block.slots)
    for slot in (cluster[0],) if cluster else _factor_columns(block, name):
        column = next((source[1] for source in strata if source and source[0] == slot), None)
        words = (word for word in block.slots[slot] if (slot, str(word)) not in excluded)
        for word in words:
            level = str(word.columns[cluster[1]]) if cluster else str(word)
            yield level, str(word.columns[column]) if column else ""
