"""Read the files of SSSB (Zhou, Kaneko and Bollegala 2022): a sentence, ``[sense type, sense key, label]`` on a line.

Blank lines make blocks. A file most of whose blocks have two sentences is one of hand-made pairs: the two sentences of
a block, one stereo and one anti, are a pair. In any other file every stereo sentence is paired with every anti sentence
of the same sense type and sense key, which gives the counts of the paper.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby, product

from senseprobe.importers.notes import LeftOut, Notes, check_count, check_sentence
from senseprobe.importers.sentence_pairs import (
    contrast_design,
    differ_in_pronouns,
    find_difference,
    find_word,
    frame_code,
    keep_unlike_words,
    pair_row,
)
from senseprobe.importers.sources import Row, Source, Table, excerpt, id_part, slug

_BLANKS = re.compile(r"\t| {1,4}")
_PLACEHOLDER = re.compile(r"\$[A-Z][A-Z0-9_-]*\$?")  # `$100` is money
_BIAS = {"nationality": "nationality", "language": "nationality", "race": "race", "colour": "race", "color": "race"}
_COLUMNS = ("source_file", "source_line", "anti_line")
_WORDS = ("stereo_words", "anti_words")


@dataclass(frozen=True, slots=True)
class Example:
    """A sentence with its sense and label, and the line on which it stands."""

    source: Source
    line: int
    sentence: str
    sense_type: str
    key: str
    label: str

    @property
    def sense(self) -> tuple[str, str]:
        """The sense type and the sense key."""
        return self.sense_type, self.key

    @property
    def lemma(self) -> str:
        """The word of the sense key."""
        return self.key.partition("%")[0].replace("_", " ").strip()

    @property
    def words(self) -> str:
        """The sentence with `_` for its target."""
        span = find_word(self.sentence, self.lemma)
        return f"{self.sentence[: span[0]]}_{self.sentence[span[1] :]}" if span else self.sentence


Pair = tuple[Example, Example]
Block = list[Example | None]
"""The examples between blank lines, with None for each that is left out."""


def read(sources: Sequence[Source], notes: Notes) -> list[Table]:
    """Read a config for each sense type, in the order in which they come."""
    pairs_by_config: dict[tuple[str, bool], list[Pair]] = {}
    seen: dict[tuple[str, ...], Example] = {}
    for source in sources:
        lines = groupby(enumerate(source.lines, start=1), key=lambda numbered_line: bool(numbered_line[1].strip()))
        blocks = [_read_block(source, block, notes) for full, block in lines if full]
        crossed = sum(len(block) == 2 for block in blocks) * 2 <= len(blocks)
        pairs = [*(_crossed(source, blocks, seen, notes) if crossed else _adjacent(source, blocks, notes))]
        how = "every stereo with every anti sentence of a sense" if crossed else "by blocks of two"
        sentences = sum(map(len, blocks))
        notes.add_fact(source, f"{sentences} sentences in {len(blocks)} blocks, {len(pairs)} pairs ({how})")
        for pair in pairs:
            pairs_by_config.setdefault((pair[0].sense_type, crossed), []).append(pair)
        for (sense_type, _), config_pairs in pairs_by_config.items():
            check_count(len(config_pairs), sense_type)
    notes.drop_remarks_on_left_out_lines()
    tables = []
    for (sense_type, crossed), pairs in pairs_by_config.items():
        name = slug(sense_type, "sense")
        config = f"{name}-crossed" if crossed and (sense_type, False) in pairs_by_config else name
        tables.append(_table(config, pairs, crossed=crossed))
        if not crossed:
            notes.keep_repeats(tables[-1].rows)
        if tables[-1].design.differs == "pronoun":
            keep_unlike_words(tables[-1].rows, notes)
    return tables


def _read_block(source: Source, lines: Iterable[tuple[int, str]], notes: Notes) -> Block:
    """Return the examples of lines, with None for each that is left out."""
    block: Block = []
    for line, text in lines:
        block.append(None)
        with notes.leaving_out(source, line):
            block[-1] = _example(source, line, text, notes)
    return block


def _example(source: Source, line: int, text: str, notes: Notes) -> Example:
    head, bracket, tail = text.rstrip().rpartition("[")
    fields = [field.strip() for field in tail.removesuffix("]").split(",")]
    if not bracket or not tail.endswith("]") or len(fields) != 3 or not all(fields):
        raise LeftOut("does not end in [sense type, sense key, label]")
    example = Example(source, line, head.strip(), *fields)
    check_sentence(example.sentence)
    for field in (*fields, example.sentence):
        if match := _PLACEHOLDER.search(field):
            raise LeftOut(f"unfilled placeholder {excerpt(match.group())}")
    if example.label not in {"stereo", "anti"}:
        raise LeftOut(f"label {excerpt(example.label)} is neither stereo nor anti")
    if any(len(field) > 100 or not field.isprintable() for field in fields) or not example.lemma:
        raise LeftOut("a sense type or sense key that is none")
    if not _BLANKS.fullmatch(blanks := head[len(head.rstrip()) :]):
        notes.keep(source, line, f"{len(blanks)} blanks before the bracket, neither one TAB nor one to four spaces")
    if find_word(example.sentence, example.lemma) is None:
        # Or a noun and its verb are both in the sentence, and the words do not say which of them the key is of.
        reason = f"the word of {excerpt(example.key)} is not in the sentence, or more than once in some form"
        notes.keep(source, line, reason)
    return example


def _adjacent(source: Source, blocks: list[Block], notes: Notes) -> Iterator[Pair]:
    """Yield the pair of each block of two sentences."""
    for block in blocks:
        examples = [example for example in block if example]
        by_label = {example.label: example for example in examples}
        texts, senses = ({getattr(example, name) for example in examples} for name in ("sentence", "sense"))
        if (len(block), len(by_label), len(texts), len(senses)) == (2, 2, 2, 1):
            yield by_label["stereo"], by_label["anti"]
            continue
        for example in examples:
            notes.leave_out(source, example.line, "its block is no pair of one stereo and one anti sentence of a sense")


def _crossed(source: Source, blocks: list[Block], seen: dict[tuple[str, ...], Example], notes: Notes) -> Iterator[Pair]:
    """Yield every stereo sentence with every anti sentence of its sense; `seen` are the sentences of earlier files."""
    senses: dict[tuple[str, str], list[Example]] = {}
    for example in [example for block in blocks for example in block if example]:
        senses.setdefault(example.sense, []).append(example)
    total = 0
    for examples in senses.values():
        for example in examples:
            earlier = seen.setdefault((*example.sense, example.label, example.sentence), example)
            if earlier is not example:
                other_file = "" if earlier.source is source else f" of {earlier.source.name}"
                notes.keep(source, example.line, f"the same sentence as in line {earlier.line}{other_file}")
        stereos, antis = ([example for example in examples if example.label == label] for label in ("stereo", "anti"))
        check_count(total := total + len(stereos) * len(antis), source.name)
        if not stereos or not antis:
            for example in examples:
                notes.leave_out(source, example.line, f"no sentence of the other label has the sense {example.key}")
        lines = {example.sentence: example.line for example in antis}
        for stereo in stereos:
            if stereo.sentence in lines:
                reason = f"the same sentence as in line {lines[stereo.sentence]}, with the other label"
                notes.leave_out(source, stereo.line, reason)
        yield from product([stereo for stereo in stereos if stereo.sentence not in lines], antis)


def _table(name: str, pairs: list[Pair], *, crossed: bool) -> Table:
    first = pairs[0][0]
    bias = _BIAS.get(slug(first.sense_type, ""), "")
    rows = [_row(name, *pair, crossed=crossed, first=first.source) for pair in pairs]
    if crossed:
        several = len({row["target"] for row in rows}) > 1
        design = contrast_design(
            bias,
            {factor: factor for factor in ("target", *_WORDS)},
            (*_COLUMNS, *_WORDS),
            "evaluative",
            sense_type=name,
            group="target" if several else None,
            words={"stereo": "stereo_words", "anti": "anti_words"},
            estimands=("preference", "preference-half", *(("relative", "spread") if several else ())),
        )
        return Table(name, "Every stereo sentence with every anti sentence of the same sense key.", design, rows)
    pronouns = differ_in_pronouns([find_difference(row["stereo"], row["anti"]) for row in rows])
    differs, bias = ("pronoun", "gender") if pronouns else ("group", bias)
    rows = [{**row, "bias_type": row["bias_type"] or bias or None} for row in rows]
    design = contrast_design(bias, {"target": "target", "frame": "frame"}, _COLUMNS, differs, sense_type=name)
    return Table(name, "Pairs that stand side by side in the file.", design, rows)


def _row(name: str, stereo: Example, anti: Example, *, crossed: bool, first: Source) -> Row:
    difference = find_difference(stereo.sentence, anti.sentence)
    prefix = "" if stereo.source is first else f"{id_part(stereo.source.name.replace('.', '-'))}."
    return pair_row(
        stereo.sentence,
        anti.sentence,
        stereo.source,
        stereo.line,
        difference,
        stereo.lemma,
        id=f"{name}.{prefix}{stereo.line}.{anti.line}",
        # In a product sentences share no frame but their words, which have columns of their own.
        frame=None if crossed else frame_code(find_difference(stereo.words, anti.words).shared),
        sense_type=stereo.sense_type,
        sense_key=stereo.key,
        bias_type=_BIAS.get(slug(stereo.sense_type, "")) or ("gender" if difference.pronouns else None),
        label_basis="published",
        anti_line=str(anti.line),
        **({"stereo_words": stereo.words, "anti_words": anti.words} if crossed else {}),
    )
