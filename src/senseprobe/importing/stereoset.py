"""The JSON of StereoSet (Nadeem, Bethke and Reddy 2021): a context and three sentences, for each of which a gold label.

A row holds the stereotypical and the anti-stereotypical sentence, and the unrelated one in a column of its own. In
`intersentence` the sentences follow their context, so both members of a pair are the context and what follows it; the
paper scored these with next-sentence prediction, and what is made of their likelihood is another figure.
"""

import re
from collections import Counter
from collections.abc import Sequence
from typing import Any

from senseprobe.errors import ReleaseError
from senseprobe.importing.jsontext import Lines, parse
from senseprobe.importing.pairs import contrast_design, differ, find_word, pair_row, span
from senseprobe.importing.sources import Notes, Source, shown, slug
from senseprobe.importing.tables import Row, Table, bounded, check_count, note_repeats

__all__ = ["read"]

LABELS = ("stereotype", "anti-stereotype", "unrelated")
DESCRIPTIONS = {
    "intrasentence": "A word of the sentence fits a stereotype, or its opposite.",
    "intersentence": "A context, and a sentence after it that fits a stereotype of its target, or its opposite.",
}
_ALONE = re.compile(r"(?<![\w.,!?])BLANK(?!\w)")
COLUMNS = ("context", "unrelated", "stereo_labels", "anti_labels", "source_id", "source_file", "source_line")


def read(sources: Sequence[Source], notes: Notes) -> list[Table]:
    """A config for each part that the files hold; the levels of its factor are the target terms."""
    parts: dict[str, list[Row]] = {name: [] for name in DESCRIPTIONS}
    for source in sources:
        data, lines = _data(source), Lines(source.text)
        for name, rows in parts.items():
            items = _items(data, name)
            made = [*bounded((_row(source, name, item, lines, notes) for item in items), source.name)]
            notes.tell(source, f"{len(made)} pairs {name}")
            rows += made
            check_count(len(rows), source.name)
    return [_table(name, rows, sources, notes) for name, rows in parts.items() if rows]


def _table(name: str, rows: list[Row], sources: Sequence[Source], notes: Notes) -> Table:
    note_repeats(rows, {source.name: source for source in sources}, notes)
    bias = ", ".join(sorted({slug(row["bias_type"], "other") for row in rows})[:20])
    design = contrast_design(bias, {"target": "target"}, COLUMNS, "evaluative")
    return Table(name, DESCRIPTIONS[name], design, rows)


def _data(source: Source) -> dict[str, Any]:
    whole = parse(source)
    data = whole.get("data") if isinstance(whole, dict) else None
    if not isinstance(data, dict) or not any(isinstance(data.get(name), list) for name in DESCRIPTIONS):
        raise ReleaseError(f"{source.name}: has no data.intrasentence nor data.intersentence: is it another format?")
    return data


def _items(data: dict[str, Any], name: str) -> list[Any]:
    items = data.get(name)
    return items if isinstance(items, list) else []


def _row(source: Source, part: str, item: object, lines: Lines, notes: Notes) -> Row | None:
    line = _line(item, lines)
    told = _told(item)
    if isinstance(told, str):
        notes.leave_out(source, line, f"{part}: {told}")
        return None
    context = told["context"]
    texts = [told["sentences"][label]["sentence"].strip() for label in LABELS]
    if part == "intersentence":
        texts = [f"{context} {text}" for text in texts]
    if not all(notes.sentence(source, line, text) for text in texts):
        return None
    if texts[0] == texts[1]:
        notes.leave_out(source, line, f"{part}: its two sentences are the same")
        return None
    if part == "intrasentence" and not (context.count("BLANK") == 1 and _ALONE.search(context)):
        notes.keep(source, line, "its context has not one BLANK that stands by itself")
    return _pair(source, part, line, told, texts)


def _pair(source: Source, part: str, line: int, told: dict[str, Any], texts: list[str]) -> Row:
    difference = differ(texts[0], texts[1])
    return pair_row(
        texts[0],
        texts[1],
        difference,
        id=f"{part}.{slug(told['id'], f'line-{line}')}",
        stereo_span=span(find_word(texts[0], told["target"])),
        anti_span=span(find_word(texts[1], told["target"])),
        target=told["target"],
        bias_type=told["bias_type"],
        label_basis="annotators",
        # What follows a context differs in whatever its writer liked.
        minimal=part == "intrasentence" and difference.runs == 1,
        context=told["context"],
        unrelated=texts[2],
        stereo_labels=_votes(told["sentences"][LABELS[0]]),
        anti_labels=_votes(told["sentences"][LABELS[1]]),
        source_id=told["id"],
        source_file=source.name,
        source_line=str(line),
    )


def _line(item: object, lines: Lines) -> int:
    """The first line of an item of which anything is known."""
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
            return f"a {name} with characters that do not print"
    sentences = item.get("sentences")
    if not isinstance(sentences, list) or not all(isinstance(each, dict) for each in sentences):
        return "no list of sentences"
    if not all(isinstance(each.get(name), str) for each in sentences for name in ("sentence", "gold_label")):
        return "a sentence without text or gold label"
    by_label = {str(each["gold_label"]): each for each in sentences}
    if len(sentences) != len(LABELS) or set(by_label) != set(LABELS):
        return f"its gold labels are {shown(', '.join(sorted(by_label)))}, not {', '.join(LABELS)} once each"
    return {**item, "sentences": by_label}


def _votes(sentence: dict[str, Any]) -> str | None:
    """How often annotators gave each label, as ``stereotype 3, unrelated 1``."""
    labels = sentence.get("labels")
    given = [each.get("label") for each in labels if isinstance(each, dict)] if isinstance(labels, list) else []
    counts = Counter(str(label) for label in given if label in (*LABELS, "related"))  # any JSON can stand there
    return ", ".join(f"{label} {count}" for label, count in sorted(counts.items())) or None
