"""Read BBQ (Parrish et al. 2022): questions as JSON lines, and which answer is stereotyped from its table of metadata.

`target_loc` of `additional_metadata.csv` is the place of the answer that agrees with the stereotype. It is that of the
target group where the question is negative, and that of the other group where it is not: it needs no turning. Without
the table, the answer is known where exactly one of the two groups is among `stereotyped_groups`.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from senseprobe.errors import ReleaseError
from senseprobe.importers.column_map import json_objects
from senseprobe.importers.notes import LeftOut, Notes, check_count, check_sentence
from senseprobe.importers.sources import Row, Source, Table, excerpt, id_part, slug
from senseprobe.kinds.question.columns import AMBIGUOUS, DISAMBIGUATED
from senseprobe.kinds.question.mapped import question_design
from senseprobe.messages import counted, listed, unprintable
from senseprobe.tables import UnreadableError, read_csv

CONDITIONS = {"ambig": AMBIGUOUS, "disambig": DISAMBIGUATED}
POLARITIES = {"neg": "negative", "nonneg": "non-negative"}
PLACES = ("ans0", "ans1", "ans2")
UNKNOWN = "unknown"
"""The group of the answer that nobody can know."""
ADDED = ("version", "subcategory", "label_type", "label_basis", "source_file", "source_line")
MISSPELT = {"monther": "mother"}
"""Misspellings that are known (issue 14 of nyu-mll/BBQ), which stay as published."""
_TARGET, _NO_TARGET = "target_loc", "NA"
_KEY = ("category", "example_id", _TARGET)
_LONGEST = 2**20

Records = Mapping[tuple[str, str], Mapping[str, str]]
"""The records of the metadata, by category and example."""


class _Question(NamedTuple):
    """A line of BBQ: its fields, and places from 0 to 2 of the answer that nobody can know, and of the two others."""

    fields: Mapping[str, Any]
    answers: tuple[str, ...]
    groups: tuple[str, ...]
    unknown: int
    people: tuple[int, int]


def read(sources: Sequence[Source], notes: Notes) -> list[Table]:
    """Read a config of each category, in the order of files and lines."""
    tables = [source for source in sources if _TARGET in source.lines[0]]
    records = _read_records(tables[0], notes) if tables else None
    if len(tables) > 1:
        raise ReleaseError(f"{tables[1].name}: is a second table with {_TARGET}: import one")
    rows: dict[str, list[Row]] = {}
    for source in (source for source in sources if source not in tables):
        _read_questions(source, records, rows, notes)
    _keep_repeats([row for several in rows.values() for row in several], notes)
    return [
        Table(name, f"Questions of the category {name} of BBQ.", question_design(name, ADDED), several, "questions")
        for name, several in rows.items()
    ]


# --- Which answer is stereotyped --------------------------------------------------------------------------------------


def _read_records(source: Source, notes: Notes) -> Records:
    """Return the records by category and example; of several of one example the first, unless targets differ."""
    records: dict[tuple[str, str], dict[str, str]] = {}
    more: Counter[str] = Counter()
    differing: set[str] = set()
    try:
        table = read_csv((f"{line}\n" for line in source.lines), ",", strict=False, longest=_LONGEST)
        header = [cell.strip() for cell in next(table).cells]
        if missing := [name for name in _KEY if name not in header]:
            raise ReleaseError(f"{source.name}: lacks the column {missing[0]!r}: is it another table?")
        for line, _, cells in table:
            if len(cells) != len(header):
                if any(cells):
                    notes.leave_out(source, line, f"{len(cells)} cells, not {len(header)}")
                continue
            record = dict(zip(header, cells, strict=True))
            first = records.setdefault((record["category"], record["example_id"]), record)
            if first is not record:
                more[record["category"]] += 1
                differing |= {name for name in header if first[name] != record[name]}
                if first[_TARGET] != record[_TARGET]:
                    first[_TARGET] = "several"
    except UnreadableError as error:
        raise ReleaseError(f"{source.name}:{error.line}: cannot be read as a table: {error}") from None
    fact = f"{len(records) + more.total():,} records of {counted(len(records), 'question')}"
    if more:
        each = ", ".join(f"{name} {number}" for name, number in more.items())
        columns = listed(sorted(differing)) or "nothing"
        fact += f"; {more.total():,} are second records of a question, dropped ({each}): they differ in {columns}"
    notes.add_fact(source, fact)
    return records


def _stereotyped(question: _Question, records: Records | None) -> int | None:
    """Return the place of the answer that agrees with the stereotype, None where the metadata say that none does.

    Raises LeftOut where that is not known.
    """
    fields = question.fields
    if records is not None:
        record = records.get((str(fields["category"]), str(fields["example_id"])))
        if record is None:
            raise LeftOut("the metadata have no record of this question")
        if (target := record[_TARGET]) == _NO_TARGET:
            return None
        if target not in {str(place) for place in question.people}:
            raise LeftOut(f"{_TARGET} is {excerpt(target)!r}: no answer is known to agree with the stereotype")
        return int(target)
    groups = {_plain(group) for group in fields["additional_metadata"]["stereotyped_groups"]}
    info = [{_plain(text) for text in fields["answer_info"][name]} for name in PLACES]
    targets = [place for place in question.people if info[place] & groups]
    if len(targets) != 1:
        raise _Unmatched
    first, second = question.people
    other = second if targets[0] == first else first
    return targets[0] if fields["question_polarity"] == "neg" else other


class _Unmatched(LeftOut):
    """Raised where the groups do not say which answer is stereotyped: one note a file counts such questions."""


def _plain(text: object) -> str:
    return str(text).casefold().replace(" ", "")


# --- Questions --------------------------------------------------------------------------------------------------------


def _read_questions(source: Source, records: Records | None, rows: dict[str, list[Row]], notes: Notes) -> None:
    """Add the rows of a file to those of their categories."""
    _, lines = json_objects(source)
    made, unmatched = 0, list[int]()
    for line, fields in lines:
        with notes.leaving_out(source, line):
            question = _question(fields)
            try:
                target = _stereotyped(question, records)
            except _Unmatched:
                unmatched.append(line)
                continue
            if target is None:
                remark = (
                    f"{_TARGET} is {_NO_TARGET!r}: neither answer agrees with the stereotype; used by accuracies alone"
                )
                notes.keep(source, line, remark)
            row = _row(source, line, question, target, notes)
            if records is not None:
                row["label_type"] = records[str(fields["category"]), str(fields["example_id"])].get("label_type")
            config = slug(str(fields["category"]), "questions")
            rows.setdefault(config, []).append(row)
            made += 1
            check_count(len(rows[config]), source.name)
    if unmatched:
        first = f"here is the first of {counted(len(unmatched), 'question')} whose stereotyped answer is not known: "
        notes.leave_out(source, unmatched[0], f"{first}import additional_metadata.csv, too")
    notes.add_fact(source, f"{made:,} of {counted(len(lines), 'question')}")


def _question(fields: Mapping[str, Any]) -> _Question:
    """Return a line with its answers told apart; raise LeftOut where it is no question of BBQ."""
    info, about = fields.get("answer_info"), fields.get("additional_metadata")
    texts = [fields.get(name) for name in ("context", "question", *PLACES, "category", "question_index", "example_id")]
    pairs: list[Any] = [info.get(name) for name in PLACES] if isinstance(info, dict) else [None]
    groups = about.get("stereotyped_groups") if isinstance(about, dict) else None
    if (
        not all(isinstance(text, str) for text in texts)
        or not all(isinstance(pair, list) and len(pair) == 2 and all(map(_is_text, pair)) for pair in pairs)
        or not (isinstance(groups, list) and all(map(_is_text, groups)))
    ):
        raise LeftOut("it lacks a field of BBQ, or one has another form")
    labels = [str(fields.get(name)) for name in ("context_condition", "question_polarity", "label")]
    for label, allowed in zip(labels, (CONDITIONS, POLARITIES, ("0", "1", "2")), strict=True):
        if label not in allowed:
            raise LeftOut(f"{excerpt(label)!r} is not one of {', '.join(allowed)}")
    unknown = [place for place, (_, group) in enumerate(pairs) if group.casefold() == UNKNOWN]
    if len(unknown) != 1:
        raise LeftOut(f"{counted(len(unknown), 'answer')} of the group {UNKNOWN}: expected one")
    first, second = (place for place in range(3) if place != unknown[0])
    answers = tuple(fields[name] for name in PLACES)
    if len({answer.strip() for answer in answers}) < len(answers):
        raise LeftOut("two of its answers are the same")
    return _Question(fields, answers, tuple(group for _, group in pairs), unknown[0], (first, second))


def _is_text(value: object) -> bool:
    return isinstance(value, str) and len(value) <= 2_000 and unprintable(value) is None


def _row(source: Source, line: int, question: _Question, target: int | None, notes: Notes) -> Row:
    """Return the row of a question whose answer at the place `target` agrees with the stereotype.

    Without a target the first of the two people is in `stereo`, and `label_basis` is none.
    """
    fields, about = question.fields, question.fields["additional_metadata"]
    stereo = question.people[0] if target is None else target
    anti = next(place for place in question.people if place != stereo)
    names = {stereo: "stereo", anti: "anti", question.unknown: "unknown"}
    texts = {"context": fields["context"], "question": fields["question"]}
    texts |= {names[place]: question.answers[place] for place in range(3)}
    for name, text in texts.items():
        plain = source.with_plain_spaces(text, line)
        check_sentence(plain, f"{name}: ")
        if plain != plain.strip():
            notes.keep(source, line, f"{name}: {excerpt(plain)!r}, as published, has a space at an end")
        texts[name] = plain
    everything = " ".join(texts.values())
    for word in (word for word in MISSPELT if word in everything):
        notes.keep(source, line, f"{word!r}, as published, is {MISSPELT[word]!r} misspelt")
    gold, condition = names[int(fields["label"])], CONDITIONS[fields["context_condition"]]
    category, polarity = slug(fields["category"], "questions"), POLARITIES[fields["question_polarity"]]
    template = f"{category}-{id_part(fields['question_index'].lower())}"
    version = about.get("version") if _is_text(about.get("version")) and about["version"] != "None" else ""
    optional = {"version": version, "subcategory": about.get("subcategory")}
    return {
        **texts,
        **{name: value if _is_text(value) and value not in ("None", "") else None for name, value in optional.items()},
        "id": f"{category}.{id_part(fields['example_id'])}",
        "frame": f"{template}{id_part(version) if version else ''}-{condition}-{polarity}",
        "condition": condition,
        "polarity": polarity,
        "order": " ".join(names[place] for place in range(3)),
        "gold": gold,
        "stereo_group": question.groups[stereo],
        "anti_group": question.groups[anti],
        "target_groups": "; ".join(about["stereotyped_groups"]) or None,
        "template": template,
        "label_type": None,
        "label_basis": "none" if target is None else "published",
        "source_file": source.name,
        "source_line": str(line),
    }


def _keep_repeats(rows: Sequence[Row], notes: Notes) -> None:
    """Note each question that an earlier row has, with the same context and answers in the same order."""
    first: dict[tuple[str, ...], Row] = {}
    for row in rows:
        key = tuple(row[name] for name in ("context", "question", *row["order"].split()))
        earlier = first.setdefault(key, row)
        if earlier is not row:
            reason = f"the same question as in line {earlier['source_line']} of {earlier['source_file']}"
            notes.keep(Source(row["source_file"], b""), int(row["source_line"]), reason)
