"""The numbered checks of `senseprobe lint`.

==== ================================================================================================
E100 a file cannot be read, or is not UTF-8
E101 malformed YAML, or sections that are not front matter and frames in turn
E102 front matter or `dataset.yaml` holds something that it may not
E103 a block has no frames
E104 unknown column
E105 undefined slot, binding or name
E106 syntax that a frame may not use
E107 a frame that Jinja cannot read
E108 a sentence that is too long
E109 a config that does not expand to what `expect` says
E110 unknown word list
E111 a filter that no word fits
E112 a target that is not printed exactly once
E113 a literal sense key without a lexicon
E114 two rows with one id
E201 a descriptor that cannot be used
E202 a CSV file that is not of its descriptor's form
E203 a cell of the wrong type, or outside its constraints
E204 a row that is there twice
E301 something that is no sense key
E302 a sense key that the lexicon does not have
E303 a sense key of another part of speech
E304 a sense key of another word
E305 sense keys without lexicon or part of speech
==== ================================================================================================

What cannot be checked (no WordNet on the machine) is counted as not checked, never as right.
"""

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TypeVar

from senseprobe.errors import DeclarationError
from senseprobe.generator.blocks import Config
from senseprobe.generator.catalogue import Catalogue, lists_of, open_dataset
from senseprobe.generator.expansion import expand
from senseprobe.generator.senses import check, claims_of_config, claims_of_list
from senseprobe.generator.wordlists import WordLists, show
from senseprobe.project import Layer
from senseprobe.records import Finding

__all__ = ["Report", "lint"]

MOST_ROWS = 20_000
"""Rows of a frame that lint renders; what goes wrong beyond them, `build` finds."""

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Report:
    """What lint found: mistakes in the order of files and lines, and how much was looked at."""

    findings: tuple[Finding, ...]
    lists: int
    configs: int
    keys_checked: int
    keys_not_checked: int


def lint(layer: Layer) -> Report:
    """Check every word list and every dataset of a layer."""
    findings: list[Finding] = []
    lists = lists_of(layer)
    findings.extend(_undeclared(layer))
    names = _collect(findings, lists.names) or []
    tables = [found for name in names if (found := _collect(findings, lambda name=name: lists.get(name)))]  # type: ignore[misc]
    configs = [config for name in layer.datasets() for config in _configs(findings, layer, lists, name)]
    claims = [claim for table in tables for claim in claims_of_list(table)]
    claims += [claim for config in configs for claim in claims_of_config(config)]
    wrong, checked, unchecked = check(claims)
    everything = sorted({*findings, *wrong}, key=lambda f: (f.path, f.line, f.column, f.code, f.message))
    return Report(tuple(everything), len(tables), len(configs), checked, unchecked)


def _undeclared(layer: Layer) -> Iterable[Finding]:
    """A folder of templates that nobody would ever publish."""
    for folder in sorted({path.parent for path in layer.templates.glob("*/*.j2")}):
        if not (folder / "dataset.yaml").is_file():
            yield Finding(path=show(folder), code="E102", message="has templates and no dataset.yaml")


def _collect(findings: list[Finding], work: Callable[[], T]) -> T | None:
    try:
        return work()
    except DeclarationError as error:
        findings.extend(error.findings)
        return None


def _configs(findings: list[Finding], layer: Layer, lists: WordLists, name: str) -> Iterable[Config]:
    catalogue: Catalogue | None = _collect(findings, lambda: open_dataset(layer.templates / name, lists))
    for config in catalogue.configs if catalogue else ():
        if _collect(findings, lambda config=config: _render(config, lists)):  # type: ignore[misc]
            yield config


def _render(config: Config, lists: WordLists) -> Counter[str]:
    """Expand the first rows of every frame, so that what only shows in the sentence shows now."""
    seen: Counter[str] = Counter()
    first = 0
    for block in config.blocks:
        for frame in block.frames:
            for batch in expand(config, lists, first, first + min(block.product, MOST_ROWS)):
                seen[frame.frame.code] += batch.num_rows
            first += block.product
    return seen
