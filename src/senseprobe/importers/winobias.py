"""Read the files of WinoBias (Zhao et al. 2018): a number, and a sentence with its mentions in brackets, on a line.

A file `pro_stereotyped…` and the file `anti_stereotyped…` with the same rest of a name belong together, and the
sentences with the same number are a pair, where one has the pronouns of men and the other those of women, and each has
at most three other words that its counterpart lacks.
"""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import accumulate

from senseprobe.errors import ReleaseError
from senseprobe.importers.notes import MAX_TEXT, LeftOut, Notes, check_count, check_sentence
from senseprobe.importers.sentence_pairs import (
    FEMALE,
    MALE,
    PRONOUNS,
    Difference,
    as_span,
    contrast_design,
    find_difference,
    pair_row,
)
from senseprobe.importers.sources import Row, Source, Table, slug

SIDES = ("pro_stereotyped", "anti_stereotyped")
COLUMNS = ("split", "source_file", "source_line", "anti_file", "anti_line")
MAX_OTHER_WORDS = 3
_LINE = re.compile(r"([0-9]{1,9})\s+(\S.*)")
_ARTICLE = re.compile(r"(?:the|an?)\s+", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence without its brackets, and start and end of the mentions that stood in them."""

    line: int
    text: str
    mentions: tuple[tuple[int, int], ...]

    @property
    def target(self) -> tuple[int, int] | None:
        """The only mention that is not a pronoun, without its article; None where there are none or several."""
        named = [span for span in self.mentions if self.text[slice(*span)].lower() not in PRONOUNS]
        if len(named) != 1:
            return None
        start, end = named[0]
        article = _ARTICLE.match(self.text, start, end)
        start = article.end() if article else start
        name = self.text[start:end]
        return end - len(name.lstrip()), start + len(name.rstrip())

    def gender(self, differing: Sequence[re.Match[str]]) -> str | None:
        """Return the gender of the mentions that are pronouns, or else of the pronouns among the `differing` words.

        None where there is no gender, or both.
        """
        mentioned = {self.text[slice(*span)].lower() for span in self.mentions} & (MALE | FEMALE)
        words = mentioned or {match.group().lower() for match in differing} & (MALE | FEMALE)
        return "male" if words and words <= MALE else "female" if words and words <= FEMALE else None


def read(sources: Sequence[Source], notes: Notes) -> list[Table]:
    """Read a config for each type; raise ReleaseError where a file's name has no side, or lacks its counterpart."""
    sides: dict[str, dict[str, Source]] = {}
    for source in sources:
        side = next((side for side in SIDES if side in source.name.lower()), None)
        if side is None:
            raise ReleaseError(f"{source.name}: its name contains neither {SIDES[0]} nor {SIDES[1]}: rename it")
        rest = source.name.lower().replace(side, "", 1)
        if side in sides.setdefault(rest, {}):
            raise ReleaseError(f"{source.name}: there are two {side} files with this name")
        sides[rest][side] = source
    if lonely := [source for both in sides.values() if len(both) == 1 for source in both.values()]:
        raise ReleaseError(f"{lonely[0].name}: its counterpart (pro_, anti_stereotyped) is not among the files")
    tables: dict[str, list[Row]] = {}
    for rest, both in sides.items():
        kind = re.search(r"type[0-9]", rest)
        config = kind.group() if kind else slug(rest, "pairs")
        rows = _rows(config, rest, both[SIDES[0]], both[SIDES[1]], notes)
        tables.setdefault(config, []).extend(rows)
        check_count(len(tables[config]), config)
    for rows in tables.values():
        notes.keep_repeats(rows)
    return [_table(name, rows) for name, rows in tables.items() if rows]


def _table(name: str, rows: list[Row]) -> Table:
    classes: dict[str | None, set[str | None]] = {}
    for row in rows:
        classes.setdefault(row["target"], set()).add(row["stereotype"])
    # The pronoun figures need the class of every occupation, and only one.
    classed = None not in classes and all(len(labels) == 1 and None not in labels for labels in classes.values())
    factors = {"target": "target"} if None not in classes else {"pair": "id"}
    design = contrast_design("gender", factors, COLUMNS, "pronoun", "target" if classed else None)
    description = "A pronoun of the stereotypical gender of an occupation, against one of the other gender."
    return Table(name, description, design, rows)


def _rows(config: str, rest: str, pro: Source, anti: Source, notes: Notes) -> list[Row]:
    left, right = _sentences(pro, notes), _sentences(anti, notes)
    split = next((split for split in ("dev", "test") if split in rest), None)
    prefix = f"{split}." if split else "" if config in rest else f"{slug(rest, 'file')}."
    rows = []
    for number, left_sentence in left.items():
        right_sentence = right.get(number)
        if right_sentence is None:
            notes.leave_out(pro, left_sentence.line, f"no sentence {number} in {anti.name}")
        elif row := _row(pro, anti, left_sentence, right_sentence, notes):
            rows.append({**row, "id": f"{config}.{prefix}{number}", "split": split})
            for source, sentence in ((pro, left_sentence), (anti, right_sentence)):
                if len(sentence.mentions) != 2:
                    notes.keep(source, sentence.line, f"{len(sentence.mentions)} mentions in brackets, not 2")
    for number, right_sentence in right.items():
        if number not in left:
            notes.leave_out(anti, right_sentence.line, f"no sentence {number} in {pro.name}")
    notes.add_fact(pro, f"{len(rows)} pairs with {anti.name}")
    return rows


def _sentences(source: Source, notes: Notes) -> dict[int, Sentence]:
    sentences: dict[int, Sentence] = {}
    for line, text in enumerate(source.lines, start=1):
        if not text.strip():
            continue
        with notes.leaving_out(source, line):
            match = _LINE.fullmatch(text.strip()) if len(text) < 2 * MAX_TEXT else None
            if match is None:
                raise LeftOut("no number and sentence of a fit length")
            pieces = re.split(r"([\[\]])", match[2])
            if pieces[1::2] != ["[", "]"] * (len(pieces) // 4) or not all(piece.strip() for piece in pieces[2::4]):
                raise LeftOut("brackets that do not close, or hold others or nothing")
            texts = pieces[::2]
            ends = [*accumulate(map(len, texts))]
            sentence = Sentence(line, "".join(texts), tuple(zip(ends[::2], ends[1::2], strict=False)))
            check_sentence(sentence.text)
            if sentences.setdefault(int(match[1]), sentence) is not sentence:
                raise LeftOut(f"number {int(match[1])} for the second time")
    return sentences


def _row(pro: Source, anti: Source, left: Sentence, right: Sentence, notes: Notes) -> Row | None:
    difference = find_difference(left.text, right.text)
    if reason := _find_error(difference, left, right):
        notes.leave_out(pro, left.line, f"{reason} line {right.line} of {anti.name}")
        notes.leave_out(anti, right.line, f"{reason} line {left.line} of {pro.name}")
        return None
    if not difference.pronouns:
        notes.keep(pro, left.line, f"differs from line {right.line} of {anti.name} in more than pronouns")
        difference = replace(difference, runs=max(difference.runs, 2))  # not minimal
    return pair_row(
        left.text,
        right.text,
        pro,
        left.line,
        difference,
        left.text[slice(*left.target)].lower() if left.target else None,
        stereo_span=as_span(left.target),
        anti_span=as_span(right.target),
        bias_type="gender",
        label_basis="occupation",
        stereotype=left.gender(difference.stereo),
        anti_file=anti.name,
        anti_line=str(right.line),
    )


def _find_error(difference: Difference, left: Sentence, right: Sentence) -> str:
    """Return why two sentences are not a pair; empty where they are."""
    if left.text == right.text:
        return "the same as"
    mine, theirs = _other_words(difference.stereo), _other_words(difference.anti)
    if max((mine - theirs).total(), (theirs - mine).total()) > MAX_OTHER_WORDS:
        return "another sentence than"
    genders = {left.gender(difference.stereo), right.gender(difference.anti)}
    return "" if genders == {"male", "female"} else "no pronoun of the other gender than in"


def _other_words(words: Sequence[re.Match[str]]) -> Counter[str]:
    """Count the words that are not pronouns."""
    return Counter(word for match in words if (word := match.group().lower()) not in PRONOUNS)
