"""A dataset ready to expand: declarations read, resolved and checked against what they expect."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

import pyarrow as pa

from senseprobe.errors import DeclarationError
from senseprobe.generator.config import Config
from senseprobe.generator.design import count_levels, derive_design
from senseprobe.generator.english import English, Guess
from senseprobe.generator.exclusions import ExcludedRows, drop_rows, emptied, is_gone, read_exclusions
from senseprobe.generator.expand import expand
from senseprobe.generator.resolve import resolve
from senseprobe.generator.schema import Dataset
from senseprobe.generator.segments import environment
from senseprobe.generator.templates import read_dataset
from senseprobe.generator.word_lists import WordLists
from senseprobe.generator.yaml_source import format_path
from senseprobe.project import Layer, built_in
from senseprobe.records import Design, Finding
from senseprobe.release.annotation_record import ANNOTATION, read_annotation


@dataclass(frozen=True, slots=True)
class ResolvedDataset:
    """A dataset, its lists, the guesses of English so far, and by config the rows that verdicts leave out."""

    dataset: Dataset
    configs: tuple[Config, ...]
    lists: WordLists
    english: English
    exclusions: Mapping[str, ExcludedRows] = field(default_factory=dict)

    def config(self, name: str) -> Config:
        """The config called `name`; KeyError if there is none."""
        return {config.name: config for config in self.configs}[name]

    def design(self, config: Config) -> Design:
        """What evaluation needs to know of the config; no level is its reference of which no row is left."""
        design, out = derive_design(config), self.excluded_rows(config)
        bare = design.group and design.reference and is_gone(config, out, design.group, design.reference)
        return replace(design, reference=None) if bare else design

    def levels(self, config: Config) -> dict[str, int]:
        """How many levels each of its factors has in the rows that are not left out."""
        return count_levels(config, [*emptied(config, out)] if (out := self.excluded_rows(config)) else ())

    def excluded_rows(self, config: Config) -> ExcludedRows:
        """The rows of a config that verdicts leave out."""
        return self.exclusions.get(config.name, ExcludedRows())

    def rows(self, config: Config, start: int = 0, stop: int | None = None) -> Iterator[pa.RecordBatch]:
        """The rows of a config from `start` to `stop` (default: all), in order, but those that verdicts leave out.

        Both numbers count before verdicts, so that a range is the same whatever is decided of its rows.
        """
        batches, out = expand(config, self.lists, start, stop), self.excluded_rows(config)
        return drop_rows(batches, start, out) if out else batches


def open_word_lists(layer: Layer) -> WordLists:
    """The lists that a dataset of this layer sees; a built-in dataset never sees a user's list."""
    folders = dict.fromkeys(folder.resolve() for folder in (layer.wordlists, built_in().wordlists))
    return WordLists(tuple(folders))


def open_dataset(
    folder: Path, lists: WordLists, frozen: Mapping[Guess, str] | None = None, only: str | None = None
) -> ResolvedDataset:
    """The dataset in `folder`; DeclarationError with every mistake of every file.

    `frozen` are the guesses of a release; `only` reads one config and leaves the others alone.
    """
    dataset = read_dataset(folder, only, frozen=frozen is not None)
    english = English(frozen or {})
    env = environment(english.filters())
    configs: list[Config] = []
    findings: list[Finding] = []
    for template in dataset.templates:
        try:
            config = resolve(template, lists, env)
            findings.extend(_unexpected(config))
            configs.append(config)
        except DeclarationError as error:
            findings.extend(error.findings)
    out: Mapping[str, ExcludedRows] = {}
    try:
        out = read_exclusions(configs, folder)
        read_annotation(folder / ANNOTATION, f"{format_path(folder)}/{ANNOTATION}")
    except DeclarationError as error:
        findings.extend(error.findings)
    if findings:
        raise DeclarationError(list(dict.fromkeys(findings)))
    return ResolvedDataset(dataset, tuple(configs), lists, english, out)


def _unexpected(config: Config) -> Iterator[Finding]:
    block = config.template.blocks[0]
    expect = block.front.expected
    noun = expect.noun
    line, column = block.locate("expect", noun)
    messages = []
    if config.size != expect.rows:
        messages.append(f"expands to {config.size} {noun}, `expect` says {expect.rows}")
    if expect.published not in (None, expect.rows) and not expect.reason:
        messages.append(f"{expect.published} {noun} were published: say why they differ in `reason`")
    for message in messages:
        yield Finding(path=config.template.display_path, line=line, column=column, code="E109", message=message)
