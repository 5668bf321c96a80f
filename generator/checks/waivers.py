"""Warnings that are taken on purpose: `accept: {W505: "the reason, in three words at least"}`."""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from senseprobe.generator import yaml_source
from senseprobe.generator.checks.codes import CODES
from senseprobe.generator.checks.lint_report import Accepted
from senseprobe.generator.checks.registry import checks
from senseprobe.generator.config import Config
from senseprobe.generator.schema import Dataset
from senseprobe.generator.word_lists import DESCRIPTOR, WordList
from senseprobe.messages import nearest
from senseprobe.records import Finding

FEWEST_WORDS = 3
"""Words that it takes to give a reason."""


@dataclass(frozen=True, slots=True)
class Waiver:
    """What one `accept` says: reasons by code, the file that it stands in, and the place of each code there."""

    path: str
    reasons: Mapping[str, str]
    place: Callable[[str], tuple[int, int]]
    used: Counter[str] = field(default_factory=Counter)

    def accepted(self) -> Iterator[Accepted]:
        """The warnings that were there."""
        for code, findings in sorted(self.used.items()):
            yield Accepted(code, self.path, self.reasons[code], findings)

    def mistakes(self, not_run: Collection[str]) -> Iterator[Finding]:
        """E123 of each code; those of `not_run` may be warnings that nobody could look for."""
        for code, reason in self.reasons.items():
            for message, hint in self._wrong(code, reason, not_run):
                line, column = self.place(code)
                yield Finding(path=self.path, line=line, column=column, code="E123", message=message, hint=hint)

    def _wrong(self, code: str, reason: str, not_run: Collection[str]) -> Iterator[tuple[str, str]]:
        known = {*CODES, *(check.code for check in checks())}
        if code not in known:
            yield f"accept: there is no code {code}", nearest(code, (known for known in known if known[0] == "W"))
        elif not code.startswith("W"):
            yield f"accept: {code} is a mistake, and no warning", "correct it: only warnings (W) can be accepted"
        elif len(reason.split()) < FEWEST_WORDS:
            yield f"accept: the reason for {code} is {reason!r}", f"say why, in {FEWEST_WORDS} words at least"
        elif code not in self.used and code not in not_run:
            yield f"accept: there is no {code} here", "remove it, or it will hide the next one"


def of_config(config: Config) -> Waiver:
    """What the first front matter of a template accepts."""
    block = config.template.blocks[0]
    return Waiver(config.template.display_path, block.front.accept, lambda code: block.locate("accept", code))


_FIRST_ONLY = {"accept": "E123", "expect": "E102"}


def misplaced(config: Config) -> Iterator[Finding]:
    """E123 and E102 of later front matters: what they accept or expect would be overlooked."""
    path, hint = config.template.display_path, "move it there: it holds for the whole template"
    for block in config.template.blocks[1:]:
        for key in block.sources[0].keys() & _FIRST_ONLY.keys():
            line, column = block.locate(key)
            message, code = f"{key}: not in the first front matter", _FIRST_ONLY[key]
            yield Finding(path=path, line=line, column=column, code=code, message=message, hint=hint)


def of_dataset(dataset: Dataset) -> Waiver:
    """What `dataset.yaml` accepts, of itself and of all its configs."""
    path = dataset.folder / "dataset.yaml"

    def place(code: str) -> tuple[int, int]:
        return yaml_source.locate([yaml_source.read_mapping(path)], ("accept", code))

    return Waiver(yaml_source.format_path(path), dataset.card.accept, place)


def of_list(words: WordList) -> Waiver:
    """What the resource of a list accepts."""
    path = words.path.with_name(DESCRIPTOR)

    def place(code: str) -> tuple[int, int]:
        data = yaml_source.read_mapping(path)
        number = [resource["name"] for resource in data["resources"]].index(words.resource.name)
        return yaml_source.locate([data], ("resources", number, "accept", code))

    return Waiver(yaml_source.format_path(path), words.resource.accept, place)


def settle(found: Iterable[Finding], *waivers: Waiver) -> Iterator[Finding]:
    """The findings that no waiver accepts; the first one that does counts it."""
    for finding in found:
        waiver = next((w for w in waivers if finding.code.startswith("W") and finding.code in w.reasons), None)
        if waiver is None:
            yield finding
        else:
            waiver.used[finding.code] += 1
