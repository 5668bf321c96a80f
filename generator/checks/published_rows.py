"""Lint's checks of sentences, applied to the rows of an import, which do not come from templates.

The rules are those of the checks with the same codes. Rows are as published, so a finding is only a remark.
"""

import itertools
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from senseprobe.generator.checks.frame_text import ends_in_punctuation, find_blank_mistakes
from senseprobe.generator.checks.grammar import find_article_mistakes, find_genders
from senseprobe.lexicon.wordnet import LEXICONS, Lexicon
from senseprobe.records import Design
from senseprobe.release.kinds import KINDS

SENTENCES: Mapping[str, tuple[str, ...]] = {
    "contrast": ("stereo", "anti", "unrelated"),
    "inference": ("premise", "hypothesis"),
    "association": ("sentence",),
}
LABELS = ("bias_type", "sense_type", "group", "gender", "stereotype", "valence", "label_basis")
"""The columns whose values are names."""
_INTEGER = re.compile(r"[+-]?[0-9]+(?:\.0+)?")
_KEY_CODES = {"malformed": "E301", "missing": "E302"}


class Remark(NamedTuple):
    """What a check with a code says of the sentence, or the context, in a column of a row."""

    row: Mapping[str, Any]
    column: str
    code: str
    message: str


def check_rows(
    rows: Iterable[Mapping[str, Any]], design: Design, lexicon: Lexicon | None, *, english: bool = True
) -> Iterator[Remark]:
    """Yield remarks on the rows of a config; keys are looked up where there is a `lexicon`.

    Articles and pronouns are those of English. A sentence that is in several rows has a remark for each.
    """
    sets: dict[tuple[str, str], list[str]] = {}
    reported: set[str] = set()
    columns = SENTENCES.get(design.kind, KINDS[design.kind].readable)
    if declared := KINDS[design.kind].remarks:
        rows = [*rows]
        yield from itertools.starmap(Remark, declared(rows, design))
    for row in rows:
        yield from _integer_labels(row, reported)
        if design.kind == "association":
            yield from _shared_words(row, sets)
        for column in columns:
            text = row.get(column) or ""
            for match, right in find_article_mistakes(text) if english else ():
                yield Remark(row, column, "E116", f"{match[0]!r} needs {right!r}")
            for start, message in find_blank_mistakes(text, english=english):
                yield Remark(row, column, "E117", f"{message}: {text[max(start - 12, 0) : start + 12]!r}")
        if english and design.differs == "pronoun":
            yield from _mixed_pronouns(row)
        if row.get("context") and not ends_in_punctuation(row["context"]):
            yield Remark(row, "context", "W514", "the context does not end in punctuation")
        if lexicon and row.get("lexicon") in {None, *LEXICONS}:
            yield from _key_remarks(row, columns[:2], lexicon)


def _integer_labels(row: Mapping[str, Any], reported: set[str]) -> Iterator[Remark]:
    """Yield, at the first row, each column of labels that holds an integer; add it to those that were `reported`."""
    for column in LABELS:
        if column not in reported and _INTEGER.fullmatch(str(row.get(column) or "")):
            reported.add(column)
            message = f"{column} {row[column]!r} is an integer without a name"
            yield Remark(row, column, "W522", message)


def _shared_words(row: Mapping[str, Any], sets: dict[tuple[str, str], list[str]]) -> Iterator[Remark]:
    """Yield, at the first row of a set with a word (or sentence) of another set, which these are; add it to `sets`."""
    word, role = str(row.get("word") or row["sentence"]), str(row["role"])
    before = sets.setdefault((str(row["test"]), word.casefold()), [])
    if role not in before:
        if before:
            yield Remark(row, "sentence", "W519", f"{word[:100]!r} is in {role} and also in {' and '.join(before)}")
        before.append(role)


def _mixed_pronouns(row: Mapping[str, Any]) -> Iterator[Remark]:
    """Yield the sentences of a pair of pronouns that have those of the other gender, too."""
    for role in ("stereo", "anti"):
        genders = find_genders(row[role])
        if len(genders) > 1 and find_genders(row.get(f"{role}_value") or ""):
            words = " and ".join(map(repr, genders.values()))
            yield Remark(row, role, "W515", f"{words} in one sentence: they contradict each other if it has one person")


def _key_remarks(row: Mapping[str, Any], columns: Iterable[str], lexicon: Lexicon) -> Iterator[Remark]:
    for key in filter(None, dict.fromkeys((row.get("sense_key"), row.get("token_key")))):
        for finding in lexicon.check(key, lemma=key.partition("%")[0], pos="noun"):
            if code := _KEY_CODES.get(finding.kind):
                message = f"{finding.message} ({finding.hint})" if finding.hint else finding.message
                yield from (Remark(row, column, code, message) for column in columns)
