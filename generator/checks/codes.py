"""What codes mean to authors: the page `docs/checks.md`, hints for keys of declarations, and warnings that they accept.

Codes of registered checks have their docstrings. `codes.md` has the head of the page, and the mistakes that reading,
resolving or verifying finds: what is wrong, why that matters, and what to do.
"""

import inspect
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib.resources import files
from typing import NamedTuple, get_args

from pydantic import BaseModel

from senseprobe.generator.checks.base import Position, finding_at, registered_checks
from senseprobe.generator.checks.lint_report import Accepted
from senseprobe.generator.config import Config
from senseprobe.generator.kinds import EXPANSIONS
from senseprobe.generator.schema import Card
from senseprobe.messages import meant, nearest
from senseprobe.records import Finding
from senseprobe.release.kinds import KINDS, Kind

# ---- The page ----

_FOLDER = files(__package__)
_HEAD, *_SECTIONS = re.split(r"^### ", _FOLDER.joinpath("codes.md").read_text("utf-8"), flags=re.MULTILINE)


class Code(NamedTuple):
    """What is wrong, in a sentence; and why that matters, or what to do."""

    title: str
    advice: str


CODES = {code: Code(title, advice) for code, title, advice in (text.strip().split("\n\n", 2) for text in _SECTIONS)}
"""The codes of mistakes that no check is registered for, in order."""

_SERIES = {
    "E1": "Templates and `dataset.yaml`",
    "E2": "Word lists",
    "E3": "Senses",
    "E4": "Releases (`senseprobe verify`)",
    "W3": "Senses of words",
    "W4": "Words",
    "W5": "Validity",
}


def all_codes() -> dict[str, Code]:
    """Return every code with its explanation, in order."""
    codes = dict(CODES)
    for check in registered_checks():
        title, _, advice = inspect.cleandoc(check.run.__doc__ or "").partition("\n\n")
        needs = f"\n\nNeeds a lexicon: {check.lexicon}." if check.lexicon else ""
        if check.code not in codes or len(advice) > len(codes[check.code].advice):
            # A code that is looked for in several places is explained where it is said at length.
            codes[check.code] = Code(title, advice + needs)
    return dict(sorted(codes.items()))


def codes_of_kind(kind: Kind) -> dict[str, Code]:
    """Return the codes of the checks that a kind of rows brings, from their docstrings, in order."""
    said = {code: inspect.cleandoc(check.__doc__ or "").partition("\n\n") for code, check in kind.checks.items()}
    return {code: Code(title, advice) for code, (title, _, advice) in sorted(said.items())}


def page() -> str:
    """Return the page, in Markdown: our codes, then those of our rooms that are there, by kind of rows."""
    parts = {
        heading: {name: code for name, code in all_codes().items() if name.startswith(series)}
        for series, heading in _SERIES.items()
    }
    parts |= {f"Rows of kind `{kind.id}`": codes_of_kind(kind) for kind in KINDS.ours.values() if kind.checks}
    lines = [_HEAD.rstrip("\n") + "\n"]
    for heading, codes in parts.items():
        lines.append(f"## {heading}\n")
        for name, (title, advice) in codes.items():
            lines.append(f"### {name}\n\n{title}\n" + (f"\n{advice}\n" if advice else ""))
    return "\n".join(lines)


# ---- Hints ----

_MISSING = re.compile(r"(?:.*\.)?(\w+): field required")
_UNKNOWN = re.compile(r"(.*): extra inputs are not permitted")

_, *_LINES = _FOLDER.joinpath("examples.yaml").read_text("utf-8").splitlines()

EXAMPLES = {line.partition(":")[0]: line for line in _LINES}
"""What to write for each key that a declaration must have."""


def add_hint(finding: Finding) -> Finding:
    """Return a finding with a hint: of a missing key an example, of an unknown key the one that was meant."""
    if finding.hint:
        return finding
    if missing := _MISSING.fullmatch(finding.message):
        return replace(finding, hint=EXAMPLES.get(missing[1], ""))
    unknown = _UNKNOWN.fullmatch(finding.message)
    return replace(finding, hint=_nearest_key(finding.path, unknown[1].split("."))) if unknown else finding


def _nearest_key(path: str, location: Sequence[str]) -> str:
    """Return the key of a form that is most like the last of `location`; empty where the form has no keys there."""
    *steps, key = location
    keys: dict[str, list[str]] = {}
    forms = {name: kind.front_type for name, kind in EXPANSIONS.items()} if path.endswith(".j2") else {"": Card}
    for kind, form in forms.items():
        for name in _keys_at(form, steps):
            keys.setdefault(name, []).append(kind)
    if key not in keys:
        return nearest(key, keys) if keys else ""
    if steps:  # in a union, it is the key of another member
        return ""
    # Another kind has it: name a key of this kind that begins alike.
    begun = [name for name, kinds in keys.items() if name.startswith(key) and {*kinds} - {*keys[key]}]
    return f"{meant(key, begun)} only rows of kind {' and '.join(keys[key])} have it".lstrip()


def _keys_at(form: type[BaseModel], steps: Sequence[str]) -> set[str]:
    """Return the keys that a form has below `steps`, as pydantic names them: slots and members of a union too."""
    forms = {form}
    for at, step in enumerate(steps):
        fields = [spec for model in forms for name, spec in model.model_fields.items() if step == (spec.alias or name)]
        if fields or not at:
            forms = {model for spec in fields for model in _forms(spec.annotation)}
    return {spec.alias or name for model in forms for name, spec in model.model_fields.items()}


def _forms(annotation: object) -> Iterator[type[BaseModel]]:
    """Yield the forms in a type, as Slot in dict[str, Slot]."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for member in get_args(annotation):
        yield from _forms(member)


# ---- Warnings that authors accept: `accept: {W505: "the reason, in three words at least"}` ----

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
        if {*self.reasons} - codes:
            codes |= {code for kind in KINDS.values() for code in kind.checks}
        for code, reason in self.reasons.items():
            if code not in codes:
                message, hint = f"unknown code {code}", nearest(code, (name for name in codes if name[0] == "W"))
            elif not code.startswith("W"):
                message, hint = f"{code} is an error, not a warning", "correct it: only warnings (W) can be accepted"
            elif len(reason.split()) < FEWEST_WORDS:
                message, hint = f"the reason for {code} is {reason!r}", f"write at least {FEWEST_WORDS} words"
            elif code not in self.used and code not in not_run:
                message, hint = f"{code} does not occur here", "remove it, or it will hide the next one"
            else:
                continue
            yield finding_at(self.path, self.position(code), "E123", f"accept: {message}", hint)


_FIRST_ONLY = {"accept": "E123", "expect": "E102", "gap": "E102"}


def misplaced_keys(config: Config) -> Iterator[Finding]:
    """Yield E123 and E102 of later front matters: what they accept or expect would be overlooked."""
    path, hint = config.template.display_path, "move it there: it applies to the whole template"
    for block in config.template.blocks[1:]:
        for key in block.sources[0].keys() & _FIRST_ONLY.keys():
            yield finding_at(
                path, block.locate(key), _FIRST_ONLY[key], f"{key}: belongs into the first front matter", hint
            )


def apply_waivers(findings: Iterable[Finding], *waivers: Waiver) -> Iterator[Finding]:
    """Yield the findings that no waiver accepts; the first one that accepts a finding counts it."""
    for finding in findings:
        waiver = next((w for w in waivers if finding.code.startswith("W") and finding.code in w.reasons), None)
        if waiver is None:
            yield finding
        else:
            waiver.used[finding.code] += 1
