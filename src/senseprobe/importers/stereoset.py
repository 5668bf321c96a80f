"""Read the JSON of StereoSet (Nadeem, Bethke and Reddy 2021): a context, and three sentences with gold labels.

A row holds the stereotypical and the anti-stereotypical sentence, and the unrelated one in a column of its own. In
`intersentence` the sentences follow their context, so both members of a pair are the context and what follows it; the
paper scored these with next-sentence prediction; a figure from their likelihoods is another one.
"""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from senseprobe.errors import ReleaseError
from senseprobe.importers.contents import line_of, parse_json
from senseprobe.importers.notes import LeftOut, Notes, check_count, check_sentence
from senseprobe.importers.sentence_pairs import contrast_design, find_difference, list_bias_types, pair_row
from senseprobe.importers.sources import Row, Source, Table, excerpt, id_part
from senseprobe.tables import read_json

KEYS = {"version", "data"}
LABELS = ("stereotype", "anti-stereotype", "unrelated")
VOTES = (*LABELS, "related")
"""The labels that annotators give; a tuple, since any JSON value, also one without a hash, is looked up in it."""
DESCRIPTIONS = {
    "intrasentence": "A word of the sentence fits a stereotype, or its opposite.",
    "intersentence": "A context, and a sentence after it that fits a stereotype of its target, or its opposite.",
}
_LONGEST_ITEM = 2**17
_ITEM = re.compile(r"\s*\{.*\}\s*\Z")
_ALONE = re.compile(r"(?<![\w.,!?])BLANK(?!\w)")
ESTIMANDS = ("preference", "preference-half", "lms", "ss", "icat", "lms-micro", "ss-micro", "icat-micro")
COLUMNS = ("context", "unrelated", "stereo_labels", "anti_labels", "source_id", "source_file", "source_line")


def read(sources: Sequence[Source], notes: Notes) -> list[Table]:
    """Read a config for each part of the files; the levels of its factor are the target terms."""
    rows_by_task: dict[str, list[Row]] = {task: [] for task in DESCRIPTIONS}
    for source in sources:
        data = _parse(source, notes)
        for task, rows in rows_by_task.items():
            before = len(rows)
            for number, item in enumerate(data.get(task, ()), start=1):
                lines = map(line_of, item.values() if isinstance(item, dict) else [item])
                # The first line, as far as that is known: a file may have a single line.
                name, line = f"{task} item {number}", min(filter(None, lines), default=0)
                with notes.leaving_out(source, line, f"{name}: "):
                    rows.append(_row(source, line, task, name, _check_item(item), notes))
                    check_count(len(rows), source.name)
            notes.add_fact(source, f"{len(rows) - before} pairs {task}")
    tables = []
    for task, rows in rows_by_task.items():
        notes.keep_repeats(rows)
        bias, factors = list_bias_types(rows), {"target": "target"}
        design = contrast_design(bias, factors, COLUMNS, "evaluative", estimands=ESTIMANDS)
        tables += [Table(task, DESCRIPTIONS[task], design, rows)] if rows else []
    return tables


def _parse(source: Source, notes: Notes) -> dict[str, Any]:
    """Return the items by part; raise ReleaseError where there are none, or where they are not a list."""
    if _is_of_hub(source):
        raise ReleaseError(
            f"{source.name}: is the Hub's form of StereoSet (one object per line), whose labels are integers without"
            " names: use the authors' dev.json"
        )
    whole = parse_json(source)
    data = whole.get("data") if isinstance(whole, dict) else None
    if not isinstance(data, dict) or not {*data} & {*DESCRIPTIONS}:
        raise ReleaseError(f"{source.name}: lacks data.intrasentence and data.intersentence: is it another format?")
    if not_lists := [name for name in DESCRIPTIONS if name in data and not isinstance(data[name], list)]:
        raise ReleaseError(f"{source.name}: its data.{not_lists[0]} is not a list: is it another format?")
    if other := [*({*whole} - KEYS), *(f"data.{key}" for key in {*data} - {*DESCRIPTIONS})]:
        notes.leave_out(source, 0, f"what the format does not have: {excerpt(', '.join(sorted(other)))}")
    return data


def _is_of_hub(source: Source) -> bool:
    """Return whether the first line is an object of its own with an item, whose sentences are lists by key."""
    first = next((line for line in source.lines if line.strip()), "")
    if len(first) > _LONGEST_ITEM or not _ITEM.match(first):
        return False
    try:
        item = read_json(first)
    except ValueError:
        return False
    return isinstance(item, dict) and "context" in item and isinstance(item.get("sentences"), dict)


def _row(source: Source, line: int, task: str, name: str, item: Mapping[str, Any], notes: Notes) -> Row:
    """Make a row of an item; raise LeftOut where it makes none."""
    context, sentences = item["context"], item["sentences"]
    texts = [sentences[label]["sentence"].strip() for label in LABELS]
    if task == "intersentence":
        texts = [f"{context} {text}" for text in texts]
    for text in texts:
        check_sentence(text)
    stereo, anti, unrelated = texts
    if stereo == anti:
        raise LeftOut("its two sentences are the same")
    if task == "intrasentence" and not (context.count("BLANK") == 1 and _ALONE.search(context)):
        notes.keep(source, line, f"{name}: its context has not one BLANK that stands by itself")
    if not all(vote in VOTES for label in LABELS for vote in _annotator_labels(sentences[label])):
        notes.keep(source, line, f"{name}: what its annotators said is not all labels: these alone are counted")
    difference = find_difference(stereo, anti)
    return pair_row(
        stereo,
        anti,
        source,
        line,
        difference,
        item["target"],
        id=f"{task}.{id_part(item['id'])}",
        item=name,
        bias_type=item["bias_type"],
        label_basis="annotators",
        # What follows a context differs in whatever its writer liked.
        minimal=task == "intrasentence" and difference.runs == 1,
        context=context,
        unrelated=unrelated,
        stereo_labels=_count_votes(sentences[LABELS[0]]),
        anti_labels=_count_votes(sentences[LABELS[1]]),
        source_id=item["id"],
    )


def _check_item(item: object) -> dict[str, Any]:
    """Return the item with its sentences by label; raise LeftOut where it cannot be used."""
    if not isinstance(item, dict):
        raise LeftOut("an item that is no object")
    for name in ("id", "target", "bias_type", "context"):
        if not isinstance(text := item.get(name), str) or not text.strip() or len(text) > 2_000:
            raise LeftOut(f"no text {name}")
        if not text.isprintable():
            raise LeftOut(f"its {name} has characters that do not print")
    sentences = item.get("sentences")
    if not isinstance(sentences, list) or not all(isinstance(sentence, dict) for sentence in sentences):
        raise LeftOut("no list of sentences")
    if not all(isinstance(sentence.get(name), str) for sentence in sentences for name in ("sentence", "gold_label")):
        raise LeftOut("a sentence without text or gold label")
    by_label = {str(sentence["gold_label"]): sentence for sentence in sentences}
    if len(sentences) != len(LABELS) or set(by_label) != set(LABELS):
        raise LeftOut(f"its gold labels are {excerpt(', '.join(sorted(by_label)))}, not {', '.join(LABELS)} once each")
    return {**item, "sentences": by_label}


def _annotator_labels(sentence: dict[str, Any]) -> list[Any]:
    """Return the labels that annotators gave a sentence; any JSON can stand there."""
    labels = sentence.get("labels", [])
    listed = labels if isinstance(labels, list) else [labels]
    return [label.get("label") if isinstance(label, dict) else None for label in listed]


def _count_votes(sentence: dict[str, Any]) -> str | None:
    """Count how often annotators gave each label, as ``stereotype 3, unrelated 1``."""
    counts = Counter(str(label) for label in _annotator_labels(sentence) if label in VOTES)
    return ", ".join(f"{label} {count}" for label, count in sorted(counts.items())) or None
