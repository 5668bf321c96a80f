"""`docs/checks.md`: every code, with what is wrong, why that matters, and what to do."""

import inspect
from collections.abc import Iterator

from senseprobe.generator.checks.codes import CODES, Code
from senseprobe.generator.checks.registry import checks

_HEAD = """\
# Checks

What `senseprobe lint` finds, by code. Codes are stable: one that goes is not used again. This page is made by
`senseprobe lint --codes` from the code that finds them.

A finding is printed as `path:line:column: CODE message (what to do)`, and any makes the exit code 1. E is a mistake:
what it is found in cannot be built, or is wrong whatever was meant. W is a warning: a result could not mean what it is
said to mean. A warning that is taken on purpose is accepted with a reason of at least three words, in the first front
matter of a template, in `dataset.yaml` for all its configs, or in a list's resource of `datapackage.yaml`:

    accept: {W505: as published by Zhou et al.}

Checks that need a lexicon run only where it is prepared (`senseprobe wordnet`). What could not be checked is counted,
and is a finding under `--strict`.
"""

_SERIES = {
    "E1": "Templates and `dataset.yaml`",
    "E2": "Word lists",
    "E3": "Senses",
    "E4": "Releases (`senseprobe verify`)",
    "W4": "Words",
    "W5": "Validity",
}


def all_codes() -> dict[str, Code]:
    """Every code with its explanation, in order."""
    found = dict(CODES)
    for check in checks():
        title, _, advice = inspect.cleandoc(check.run.__doc__ or "").partition("\n\n")
        needs = f"\n\nNeeds a lexicon: {check.lexicon}." if check.lexicon else ""
        if check.code not in found or len(advice) > len(found[check.code].advice):
            # A code that is looked for in several places is explained where it is said at length.
            found[check.code] = Code(title, advice + needs)
    return dict(sorted(found.items()))


def page() -> str:
    """The page, in Markdown."""
    return "\n".join([_HEAD, *_sections()])


def _sections() -> Iterator[str]:
    codes = all_codes()
    for series, heading in _SERIES.items():
        yield f"## {heading}\n"
        for code, said in codes.items():
            if code.startswith(series):
                yield f"### {code}\n\n{said.title}\n" + (f"\n{said.advice}\n" if said.advice else "")
