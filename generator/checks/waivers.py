"""Warnings that are accepted on purpose: `accept: {W505: "the reason, in three words at least"}`."""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from senseprobe.generator.checks.base import Position, finding_at, registered_checks, resource_position, yaml_position
from senseprobe.generator.checks.codes import CODES
from senseprobe.generator.checks.lint_report import Accepted
from senseprobe.generator.config import Config
from senseprobe.generator.schema import Dataset
from senseprobe.generator.word_lists import DESCRIPTOR, WordList
from senseprobe.generator.yaml_source import format_path
from senseprobe.messages import nearest
from senseprobe.records import Finding

FEWEST_WORDS = 3
"""Words that it takes to give a reason."""


@dataclass(frozen=True, slots=True)
class Waiver:
    """What one `accept` lists: reasons by code, the file that it is in, and the position of each code there."""

    path: str
    reasons: Mapping[str, str]
    position: Callable[[str], Position]
    used: Counter[str] = field(default_factory=Counter)

    def accepted(self) -> Iterator[Accepted]:
        """Yield the warnings that occurred and are accepted."""
        for code, findings in sorted(self.used.items()):
            yield Accepted(code, self.path, self.reasons[code], findings)

    def mistakes(self, not_run: Collection[str]) -> Iterator[Finding]:
        """Yield E123 of each code that cannot be accepted; those of `not_run` may occur, but were not looked for."""
        codes = {*CODES, *(check.code for check in registered_checks())}
        for code, reason in self.reasons.items():
            if code not in codes:
                message, hint = f"there is no code {code}", nearest(code, (name for name in codes if name[0] == "W"))
            elif not code.startswith("W"):
                message, hint = f"{code} is a mistake, and no warning", "correct it: only warnings (W) can be accepted"
            elif len(reason.split()) < FEWEST_WORDS:
                message, hint = f"the reason for {code} is {reason!r}", f"say why, in {FEWEST_WORDS} words at least"
            elif code not in self.used and code not in not_run:
                message, hint = f"there is no {code} here", "remove it, or it will hide the next one"
            else:
                continue
            yield finding_at(self.path, self.position(code), "E123", f"accept: {message}", hint)


def config_waiver(config: Config) -> Waiver:
    """Return what the first front matter of a template accepts."""
    block = config.template.blocks[0]
    return Waiver(config.template.display_path, block.front.accept, lambda code: block.locate("accept", code))


_FIRST_ONLY = {"accept": "E123", "expect": "E102"}


def misplaced_keys(config: Config) -> Iterator[Finding]:
    """Yield E123 and E102 of later front matters: what they accept or expect would be overlooked."""
    path, hint = config.template.display_path, "move it there: it holds for the whole template"
    for block in config.template.blocks[1:]:
        for key in block.sources[0].keys() & _FIRST_ONLY.keys():
            yield finding_at(path, block.locate(key), _FIRST_ONLY[key], f"{key}: not in the first front matter", hint)


def dataset_waiver(dataset: Dataset) -> Waiver:
    """Return what `dataset.yaml` accepts, of itself and of all its configs."""
    path = dataset.folder / "dataset.yaml"
    return Waiver(format_path(path), dataset.card.accept, lambda code: yaml_position(path, "accept", code))


def list_waiver(words: WordList) -> Waiver:
    """Return what the resource of a list accepts."""
    path = words.path.with_name(DESCRIPTOR)
    return Waiver(format_path(path), words.resource.accept, lambda code: resource_position(words, "accept", code))


def apply_waivers(findings: Iterable[Finding], *waivers: Waiver) -> Iterator[Finding]:
    """Yield the findings that no waiver accepts; the first one that accepts a finding counts it."""
    for finding in findings:
        waiver = next((w for w in waivers if finding.code.startswith("W") and finding.code in w.reasons), None)
        if waiver is None:
            yield finding
        else:
            waiver.used[finding.code] += 1
