"""Blanks where a sentence has none."""

import re
from collections.abc import Iterator

import pyarrow.compute as pc

from senseprobe.generator.blocks import Config, ResolvedBlock, ResolvedFrame
from senseprobe.generator.checks.reading import finding
from senseprobe.generator.checks.registry import Subject, on_config
from senseprobe.records import Finding

__all__ = ["blanks"]

_WRONG = r"\s\s|\s[.,;:!?](?:\s|$)"
_TAG = re.compile(r"\{\{.*?\}\}|\{%.*?%\}|\{#.*?#\}")
_SAID = {True: "two blanks in a row", False: "a blank before punctuation"}


@on_config("E117")
def blanks(subject: Subject) -> Iterator[Finding]:
    """Two blanks in a row, a blank at an end of a sentence, or one before punctuation.

    Tokenizers make tokens of blanks, so such a sentence is scored as text that nobody writes; Dev et al. have a blank
    before every full stop (UPSTREAM 3.3). Where an `{% if %}` prints nothing, put the blank beside it inside.
    """
    seen: set[tuple[int, int]] = set()
    for block in subject.config.blocks:
        for frame in block.frames:
            found = [*_typed(subject.config, frame)] or [*_made(subject, block, frame)]
            yield from (each for each in found if (each.line, each.column) not in seen)
            seen |= {(each.line, each.column) for each in found}


def _typed(config: Config, frame: ResolvedFrame) -> Iterator[Finding]:
    """Those that stand in the frame itself."""
    outside = _TAG.sub(lambda tag: "\x00" * len(tag[0]), frame.frame.source)
    for found in re.finditer(_WRONG, outside):
        place = frame.frame.line, frame.frame.column + found.start()
        yield finding(config, place, "E117", _SAID[found[0].isspace()], "remove it")


def _made(subject: Subject, block: ResolvedBlock, frame: ResolvedFrame) -> Iterator[Finding]:
    """The first that comes of what slots and conditions print."""
    for role in block.roles:
        texts = subject.side(block, frame, role).text
        for text in texts.filter(pc.match_substring_regex(texts, rf"{_WRONG}|^\s|\s$")).slice(0, 1).to_pylist():
            place, hint = (frame.frame.line, frame.frame.column), "put the blank inside the condition"
            yield finding(subject.config, place, "E117", f"a blank too many in {text!r}", hint)
            return
