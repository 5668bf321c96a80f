"""Read the files of SSSB (Zhou, Kaneko and Bollegala 2022): a sentence, ``[sense type, sense key, label]`` on a line.

Blank lines make blocks. A file most of whose blocks have two sentences is one of hand-made pairs: the two sentences of
a block, one stereo and one anti, are a pair. In any other file every stereo sentence is paired with every anti sentence
of the same sense type and sense key, which gives the counts of the paper.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from senseprobe.importers.registry import ImportFormat
from senseprobe.importers.sentence_pairs import (
    MOSTLY,
    as_span,
    contrast_design,
    find_difference,
    find_word,
    frame_code,
    pair_row,
)
from senseprobe.importers.sources import Notes, Row, Source, Table, check_count, excerpt, id_part, note_repeats, slug

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
    def lemma(self) -> str:
        """The word of the sense key."""
        return _lemma(self.key)

    @property
    def words(self) -> str:
        """The sentence with `_` for its target."""
        span = find_word(self.sentence, self.lemma)
        return f"{self.sentence[: span[0]]}_{self.sentence[span[1] :]}" if span else self.sentence


Pair = tuple[Example, Example]
Block = list[tuple[int, Example | None]]


def read(sources: Sequence[Source], notes: Notes) -> list[Table]:
    """Read a config for each sense type, in the order in which they come."""
    pairs_by_config: dict[tuple[str, bool], list[Pair]] = {}
    seen: dict[tuple[str, ...], Example] = {}
    for source in sources:
        blocks = _blocks(source, notes)
        by_blocks = sum(len(block) == 2 for block in blocks) * 2 > len(blocks)
        pairs = list(_adjacent(source, blocks, notes) if by_blocks else _crossed(source, blocks, seen, notes))
        how = "by blocks of two" if by_blocks else "every stereo with every anti sentence of a sense"
        lines = sum(len(block) for block in blocks)
        notes.add_fact(source, f"{lines} sentences in {len(blocks)} blocks, {len(pairs)} pairs ({how})")
        for pair in pairs:
            pairs_by_config.setdefault((pair[0].sense_type, not by_blocks), []).append(pair)
        for (sense_type, _), config_pairs in pairs_by_config.items():
            check_count(len(config_pairs), sense_type)
    notes.drop_remarks_on_left_out_lines()
    tables = []
    for (sense_type, crossed), pairs in pairs_by_config.items():
        name = slug(sense_type, "sense")
        config = f"{name}-crossed" if crossed and (sense_type, False) in pairs_by_config else name
        tables.append(_table(config, pairs, crossed=crossed))
        if not crossed:
            note_repeats(tables[-1].rows, sources, notes)
    return tables


def _blocks(source: Source, notes: Notes) -> list[Block]:
    """Return the examples of a file in blocks, with None for each that is left out."""
    numbered = [(line, text) for line, text in enumerate(source.lines, start=1)]
    grouped = groupby(numbered, key=lambda numbered_line: bool(numbered_line[1].strip()))
    return [[(line, _example(source, line, text, notes)) for line, text in block] for full, block in grouped if full]


def _example(source: Source, line: int, text: str, notes: Notes) -> Example | None:
    head, bracket, tail = text.rstrip().rpartition("[")
    parts = [part.strip() for part in tail.removesuffix("]").split(",")]
    if not bracket or not tail.endswith("]") or len(parts) != 3 or not all(parts):
        notes.leave_out(source, line, "does not end in [sense type, sense key, label]")
        return None
    sentence = head.strip()
    if not notes.check_sentence(source, line, sentence):
        return None
    if error := _example_error(sentence, parts):
        notes.leave_out(source, line, error)
        return None
    if not _BLANKS.fullmatch(blanks := head[len(head.rstrip()) :]):
        notes.keep(source, line, f"{len(blanks)} blanks before the bracket, neither one TAB nor one to four spaces")
    sense_type, key, label = parts
    if find_word(sentence, _lemma(key)) is None:
        # Or a noun and its verb are both in the sentence, and the words do not say which of them the key is of.
        notes.keep(source, line, f"the word of {excerpt(key)} is not in the sentence, or more than once in some form")
    return Example(source, line, sentence, sense_type, key, label)


def _lemma(key: str) -> str:
    return key.partition("%")[0].replace("_", " ").strip()


def _example_error(sentence: str, parts: list[str]) -> str:
    """Return why an example cannot be used; empty where it can."""
    for text in (*parts, sentence):
        if match := _PLACEHOLDER.search(text):
            return f"unfilled placeholder {excerpt(match.group())}"
    if parts[2] not in {"stereo", "anti"}:
        return f"label {excerpt(parts[2])} is neither stereo nor anti"
    if any(len(part) > 100 or not part.isprintable() for part in parts) or not _lemma(parts[1]):
        return "a sense type or sense key that is none"
    return ""


def _adjacent(source: Source, blocks: list[Block], notes: Notes) -> Iterator[Pair]:
    for block in blocks:
        by_label = {example.label: example for _, example in block if example}
        senses = {(example.sense_type, example.key) for _, example in block if example}
        if len(block) == 2 and len(by_label) == 2 and len(senses) == 1:
            pair = (by_label["stereo"], by_label["anti"])
            if pair[0].sentence != pair[1].sentence:
                yield pair
                continue
        reason = "its block is no pair of one stereo and one anti sentence of a sense"
        for line in [line for line, example in block if example]:
            notes.leave_out(source, line, reason)


def _crossed(source: Source, blocks: list[Block], seen: dict[tuple[str, ...], Example], notes: Notes) -> Iterator[Pair]:
    senses: dict[tuple[str, str], list[Example]] = {}
    for example in [example for block in blocks for _, example in block if example]:
        senses.setdefault((example.sense_type, example.key), []).append(example)
    total = 0
    for examples in senses.values():
        _note_repeated_sentences(examples, seen, notes)
        stereos, antis = ([example for example in examples if example.label == label] for label in ("stereo", "anti"))
        check_count(total := total + len(stereos) * len(antis), source.name)
        if not stereos or not antis:
            for example in examples:
                notes.leave_out(source, example.line, f"no sentence of the other label has the sense {example.key}")
        texts = {example.sentence: example.line for example in antis}
        for stereo in stereos:
            if stereo.sentence in texts:
                reason = f"the same sentence as in line {texts[stereo.sentence]}, with the other label"
                notes.leave_out(source, stereo.line, reason)
            else:
                yield from ((stereo, anti) for anti in antis)


def _note_repeated_sentences(examples: list[Example], seen: dict[tuple[str, ...], Example], notes: Notes) -> None:
    for example in examples:
        earlier = seen.setdefault((example.sense_type, example.key, example.label, example.sentence), example)
        if earlier is not example:
            of = "" if earlier.source is example.source else f" of {earlier.source.name}"
            notes.keep(example.source, example.line, f"the same sentence as in line {earlier.line}{of}")


def _table(name: str, pairs: list[Pair], *, crossed: bool) -> Table:
    first = pairs[0][0].source
    bias = _BIAS.get(slug(pairs[0][0].sense_type, ""), "")
    rows = [_row(name, *pair, crossed=crossed, first=first) for pair in pairs]
    columns = (*_COLUMNS, *_WORDS) if crossed else _COLUMNS
    if crossed:
        several = len({row["target"] for row in rows}) > 1
        factors = {"target": "target", "stereo_words": "stereo_words", "anti_words": "anti_words"}
        fields = {
            "group": "target" if several else None,
            "words": {"stereo": "stereo_words", "anti": "anti_words"},
            "estimands": ("preference", "preference-half", *(("relative", "spread") if several else ())),
        }
        design = contrast_design(bias, factors, columns, "evaluative", sense_type=name, **fields)
        return Table(name, "Every stereo sentence with every anti sentence of the same sense key.", design, rows)
    pronouns = sum(find_difference(row["stereo"], row["anti"]).pronouns for row in rows) >= MOSTLY * len(rows)
    differs, bias = ("pronoun", "gender") if pronouns else ("group", bias)
    factors = {"target": "target", "frame": "frame"}
    design = contrast_design(bias, factors, columns, differs, sense_type=name)
    return Table(name, "Pairs that stand side by side in the file.", design, rows)


def _row(name: str, stereo: Example, anti: Example, *, crossed: bool, first: Source) -> Row:
    difference = find_difference(stereo.sentence, anti.sentence)
    prefix = "" if stereo.source is first else f"{id_part(stereo.source.name.replace('.', '-'))}."
    own = {"stereo_words": stereo.words, "anti_words": anti.words} if crossed else {}
    return pair_row(
        stereo.sentence,
        anti.sentence,
        difference,
        id=f"{name}.{prefix}{stereo.line}.{anti.line}",
        # In a product sentences share no frame but their words, which have columns of their own.
        frame=None if crossed else frame_code(find_difference(stereo.words, anti.words).shared),
        stereo_span=as_span(find_word(stereo.sentence, stereo.lemma)),
        anti_span=as_span(find_word(anti.sentence, anti.lemma)),
        target=stereo.lemma,
        sense_type=stereo.sense_type,
        sense_key=stereo.key,
        bias_type=_BIAS.get(slug(stereo.sense_type, "")) or ("gender" if difference.pronouns else None),
        label_basis="published",
        source_file=stereo.source.name,
        source_line=str(stereo.line),
        anti_line=str(anti.line),
        **own,
    )


FORMAT = ImportFormat(
    name="sssb",
    title="SSSB",
    files="one or more text files, with a sentence and its [sense type, sense key, label] on each line",
    paper=r"""@inproceedings{zhou2022,
  author    = {Zhou, Yi and Kaneko, Masahiro and Bollegala, Danushka},
  title     = {Sense Embeddings are also Biased -- Evaluating Social Biases in Static and Contextualised Sense
               Embeddings},
  booktitle = {Proceedings of the 60th Annual Meeting of the Association for Computational Linguistics (Volume 1: Long
               Papers)},
  year      = {2022},
  url       = {https://aclanthology.org/2022.acl-long.135},
}
""",
    measured="Whether a language model gives a sentence that states a stereotype a higher score than its "
    "counterpart, by the sense in which an ambiguous word is used.",
    read=read,
)
