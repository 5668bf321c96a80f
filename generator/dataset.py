"""A dataset ready to expand: its declarations are read, resolved and checked against what they expect."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

import pyarrow as pa

from senseprobe.errors import DeclarationError
from senseprobe.generator.config import Config
from senseprobe.generator.design import count_levels, derive_design
from senseprobe.generator.english import English, Guess
from senseprobe.generator.exclusions import ExcludedRows, drop_rows, exhausted_words, is_exhausted, read_exclusions
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
        """Return the config called `name`; raise KeyError if there is none."""
        return {config.name: config for config in self.configs}[name]

    def design(self, config: Config) -> Design:
        """Return what evaluation needs to know of the config; a level without rows is not its reference."""
        design, excluded = derive_design(config), self.excluded_rows(config)
        if design.group and design.reference and is_exhausted(config, excluded, design.group, design.reference):
            return replace(design, reference=None)
        return design

    def levels(self, config: Config) -> dict[str, int]:
        """Return how many levels each factor of the config has in the rows that are not left out."""
        excluded = self.excluded_rows(config)
        return count_levels(config, [*exhausted_words(config, excluded)] if excluded else ())

    def excluded_rows(self, config: Config) -> ExcludedRows:
        """Return the rows of a config that verdicts leave out."""
        return self.exclusions.get(config.name, ExcludedRows())

    def rows(self, config: Config, start: int = 0, stop: int | None = None) -> Iterator[pa.RecordBatch]:
        """Yield the rows of a config from `start` to `stop` (default: all), in order, without those left out.

        Both numbers count rows before verdicts, so that verdicts do not change what a range means.
        """
        batches, excluded = expand(config, self.lists, start, stop), self.excluded_rows(config)
        return drop_rows(batches, start, excluded) if excluded else batches


def open_word_lists(layer: Layer) -> WordLists:
    """Return the lists that a dataset of this layer sees; a built-in dataset never sees a user's list."""
    folders = dict.fromkeys(folder.resolve() for folder in (layer.wordlists, built_in().wordlists))
    return WordLists(tuple(folders))


def open_dataset(
    folder: Path, lists: WordLists, frozen: Mapping[Guess, str] | None = None, only: str | None = None
) -> ResolvedDataset:
    """Return the dataset in `folder`; raise DeclarationError with every mistake of every file.

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
            findings.extend(_check_expected(config))
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


def _check_expected(config: Config) -> Iterator[Finding]:
    block = config.template.blocks[0]
    expected, noun = block.front.expected, block.front.expected.noun
    line, column = block.locate("expect", noun)
    messages = []
    if config.size != expected.rows:
        messages.append(f"expands to {config.size} {noun}, `expect` says {expected.rows}")
    if expected.published not in (None, expected.rows) and not expected.reason:
        messages.append(f"{expected.published} {noun} were published: say why they differ in `reason`")
    for message in messages:
        yield Finding(path=config.template.display_path, line=line, column=column, code="E109", message=message)
