"""The JSON of StereoSet (Nadeem, Bethke and Reddy 2021): a context and three sentences, for each of which a gold label.

A row holds the stereotypical and the anti-stereotypical sentence, and the unrelated one in a column of its own. In
`intersentence` the sentences follow their context, so both members of a pair are the context and what follows it; the
paper scored these with next-sentence prediction, and what is made of their likelihood is another figure.
"""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from senseprobe.errors import ReleaseError
from senseprobe.importers.registry import ImportFormat
from senseprobe.importers.sentence_pairs import contrast_design, differ, find_word, pair_row, span
from senseprobe.importers.sources import (
    Lines,
    Notes,
    Row,
    Source,
    Table,
    bounded,
    check_count,
    id_part,
    note_repeats,
    parse,
    shown,
    slug,
)

KEYS = {"version", "data"}
LABELS = ("stereotype", "anti-stereotype", "unrelated")
VOTES = (*LABELS, "related")
"""What an annotator says of a sentence; a tuple, as any JSON is looked up in it."""
DESCRIPTIONS = {
    "intrasentence": "A word of the sentence fits a stereotype, or its opposite.",
    "intersentence": "A context, and a sentence after it that fits a stereotype of its target, or its opposite.",
}
_ALONE = re.compile(r"(?<![\w.,!?])BLANK(?!\w)")
ESTIMANDS = ("preference", "preference-half", "lms", "ss", "icat", "lms-micro", "ss-micro", "icat-micro")
COLUMNS = ("context", "unrelated", "stereo_labels", "anti_labels", "source_id", "source_file", "source_line")


@dataclass(frozen=True, slots=True)
class Item:
    """An item of a part, and the first line of it of which anything is known: all may stand on a single one."""

    source: Source
    part: str
    number: int
    line: int
    told: object

    @property
    def name(self) -> str:
        """What notes call it."""
        return f"{self.part} item {self.number}"


def read(sources: Sequence[Source], notes: Notes) -> list[Table]:
    """A config for each part that the files hold; the levels of its factor are the target terms."""
    parts: dict[str, list[Row]] = {name: [] for name in DESCRIPTIONS}
    for source in sources:
        data, lines = _data(source, notes), Lines(source.text)
        for name, rows in parts.items():
            items = [
                Item(source, name, number, _line(told, lines), told)
                for number, told in enumerate(data.get(name, ()), start=1)
            ]
            made = [*bounded((_row(item, notes) for item in items), source.name)]
            notes.tell(source, f"{len(made)} pairs {name}")
            rows += made
            check_count(len(rows), source.name)
    return [_table(name, rows, sources, notes) for name, rows in parts.items() if rows]


def _table(name: str, rows: list[Row], sources: Sequence[Source], notes: Notes) -> Table:
    note_repeats(rows, {source.name: source for source in sources}, notes)
    bias = ", ".join(sorted({slug(row["bias_type"], "other") for row in rows})[:20])
    design = contrast_design(bias, {"target": "target"}, COLUMNS, "evaluative", estimands=ESTIMANDS)
    return Table(name, DESCRIPTIONS[name], design, rows)


def _data(source: Source, notes: Notes) -> dict[str, Any]:
    """The items by part; ReleaseError where there are none, or where they are no list."""
    whole = parse(source)
    data = whole.get("data") if isinstance(whole, dict) else None
    if not isinstance(data, dict) or not {*data} & {*DESCRIPTIONS}:
        raise ReleaseError(f"{source.name}: has no data.intrasentence nor data.intersentence: is it another format?")
    if wrong := [name for name in DESCRIPTIONS if name in data and not isinstance(data[name], list)]:
        raise ReleaseError(f"{source.name}: its data.{wrong[0]} is no list: is it another format?")
    if other := [*({*whole} - KEYS), *(f"data.{key}" for key in {*data} - {*DESCRIPTIONS})]:
        notes.leave_out(source, 0, f"what the format does not have: {shown(', '.join(sorted(other)))}")
    return data


def _row(item: Item, notes: Notes) -> Row | None:
    source, line = item.source, item.line
    told = _told(item.told)
    if isinstance(told, str):
        notes.leave_out(source, line, f"{item.name}: {told}")
        return None
    context = told["context"]
    texts = [told["sentences"][label]["sentence"].strip() for label in LABELS]
    if item.part == "intersentence":
        texts = [f"{context} {text}" for text in texts]
    if not all(notes.sentence(source, line, text, f"{item.name}: ") for text in texts):
        return None
    if texts[0] == texts[1]:
        notes.leave_out(source, line, f"{item.name}: its two sentences are the same")
        return None
    if item.part == "intrasentence" and not (context.count("BLANK") == 1 and _ALONE.search(context)):
        notes.keep(source, line, f"{item.name}: its context has not one BLANK that stands by itself")
    if not all(_are_votes(told["sentences"][label]) for label in LABELS):
        notes.keep(source, line, f"{item.name}: what its annotators said is not all labels: these alone are counted")
    return _pair(item, told, texts)


def _pair(item: Item, told: dict[str, Any], texts: list[str]) -> Row:
    difference = differ(texts[0], texts[1])
    return pair_row(
        texts[0],
        texts[1],
        difference,
        id=f"{item.part}.{id_part(told['id'])}",
        item=item.name,
        stereo_span=span(find_word(texts[0], told["target"])),
        anti_span=span(find_word(texts[1], told["target"])),
        target=told["target"],
        bias_type=told["bias_type"],
        label_basis="annotators",
        # What follows a context differs in whatever its writer liked.
        minimal=item.part == "intrasentence" and difference.runs == 1,
        context=told["context"],
        unrelated=texts[2],
        stereo_labels=_votes(told["sentences"][LABELS[0]]),
        anti_labels=_votes(told["sentences"][LABELS[1]]),
        source_id=told["id"],
        source_file=item.source.name,
        source_line=str(item.line),
    )


def _line(item: object, lines: Lines) -> int:
    values = item.values() if isinstance(item, dict) else [item]
    return min((line for value in values if (line := lines.of(value))), default=0)


def _told(item: object) -> dict[str, Any] | str:
    """The item, with its sentences by label; or what is wrong with it."""
    if not isinstance(item, dict):
        return "an item that is no object"
    for name in ("id", "target", "bias_type", "context"):
        if not isinstance(text := item.get(name), str) or not text.strip() or len(text) > 2_000:
            return f"no text {name}"
        if not text.isprintable():
            return f"its {name} has characters that do not print"
    sentences = item.get("sentences")
    if not isinstance(sentences, list) or not all(isinstance(each, dict) for each in sentences):
        return "no list of sentences"
    if not all(isinstance(each.get(name), str) for each in sentences for name in ("sentence", "gold_label")):
        return "a sentence without text or gold label"
    by_label = {str(each["gold_label"]): each for each in sentences}
    if len(sentences) != len(LABELS) or set(by_label) != set(LABELS):
        return f"its gold labels are {shown(', '.join(sorted(by_label)))}, not {', '.join(LABELS)} once each"
    return {**item, "sentences": by_label}


def _given(sentence: dict[str, Any]) -> list[Any]:
    """What annotators gave a sentence for a label: any JSON can stand there."""
    labels = sentence.get("labels", [])
    listed = labels if isinstance(labels, list) else [labels]
    return [each.get("label") if isinstance(each, dict) else None for each in listed]


def _are_votes(sentence: dict[str, Any]) -> bool:
    return all(label in VOTES for label in _given(sentence))


def _votes(sentence: dict[str, Any]) -> str | None:
    """How often annotators gave each label, as ``stereotype 3, unrelated 1``."""
    counts = Counter(str(label) for label in _given(sentence) if label in VOTES)
    return ", ".join(f"{label} {count}" for label, count in sorted(counts.items())) or None


FORMAT = ImportFormat(
    name="stereoset",
    title="StereoSet",
    files="a JSON file with data.intrasentence, data.intersentence, or both",
    paper=r"""@inproceedings{nadeem2021,
  author    = {Nadeem, Moin and Bethke, Anna and Reddy, Siva},
  title     = {{StereoSet}: Measuring stereotypical bias in pretrained language models},
  booktitle = {Proceedings of the 59th Annual Meeting of the Association for Computational Linguistics and the 11th
               International Joint Conference on Natural Language Processing (Volume 1: Long Papers)},
  year      = {2021},
  url       = {https://aclanthology.org/2021.acl-long.416},
}
""",
    measured="Whether a language model gives a sentence that fits a stereotype a higher score than its opposite. "
    "Here every pair counts alike; the published figure is a mean over target terms.",
    read=read,
)
