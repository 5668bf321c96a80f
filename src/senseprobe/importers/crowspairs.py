"""The CSV of CrowS-Pairs (Nangia et al. 2020): a pair of sentences on a row.

`sent_more` is the more stereotyping sentence in both directions: in `antistereo` pairs it is the other one,
`sent_less`, that was written to violate a stereotype. So `stereo` is always `sent_more`. The answers of
annotators are copied unchanged.
"""

from collections.abc import Mapping, Sequence

from senseprobe.importers import ImportFormat
from senseprobe.importers.sentence_pairs import contrast_design, list_bias_types, pair_row
from senseprobe.importers.sources import Notes, Row, Source, Table, delimited_rows, excerpt, limit_rows

NEEDED = ("sent_more", "sent_less", "stereo_antistereo", "bias_type")
CONFIG = "pairs"


def read(sources: Sequence[Source], notes: Notes) -> list[Table]:
    """Read one config of all rows, in the order of the files."""
    rows: list[Row] = []
    for source in sources:
        lines = delimited_rows(source, ",", NEEDED, notes)
        pairs = [*limit_rows((_row(source, line, cells, notes) for line, cells in lines), source, len(rows))]
        notes.add_fact(source, f"{len(pairs)} pairs")
        rows += pairs
    if not rows:
        return []
    notes.keep_repeats(rows)
    columns = ("direction", "writer", "annotations", "annotators", "source_file", "source_line")
    # Pairs of one writer resemble each other: where all writers are known, a result generalises over writers.
    factors = {"writer": "writer"} if all(row["writer"] for row in rows) else {"pair": "id"}
    design = contrast_design(list_bias_types(rows), factors, columns, "group")
    return [Table(CONFIG, "Pairs of sentences about a disadvantaged and another group.", design, rows)]


def _row(source: Source, line: int, cells: Mapping[str, str], notes: Notes) -> Row | None:
    if error := _find_error(cells):
        notes.leave_out(source, line, error)
        return None
    stereo, anti = (cells[name].strip() for name in NEEDED[:2])
    if not all(notes.check_sentence(source, line, text) for text in (stereo, anti)):
        return None
    if (stereo[-1] in ".!?") != (anti[-1] in ".!?"):
        notes.keep(source, line, "only one of the sentences ends in punctuation")
    number = cells.get("", "")
    optional = ("anon_writer", "annotations", "anon_annotators")
    writer, annotations, annotators = (cells.get(name, "").strip() or None for name in optional)
    return pair_row(
        stereo,
        anti,
        source,
        line,
        id=f"{CONFIG}.{number if number.isascii() and number.isdigit() and len(number) < 10 else f'line-{line}'}",
        bias_type=cells["bias_type"],
        label_basis="annotators",
        direction=cells["stereo_antistereo"],
        writer=writer,
        annotations=annotations,
        annotators=annotators,
    )


def _find_error(cells: Mapping[str, str]) -> str:
    """Return why a row cannot be used; empty where it can."""
    if cells["stereo_antistereo"] not in {"stereo", "antistereo"}:
        return f"direction {excerpt(cells['stereo_antistereo'])} is neither stereo nor antistereo"
    if cells["sent_more"].strip() == cells["sent_less"].strip() != "":
        return "its two sentences are the same"
    if any(len(cell) > 10_000 or not cell.isprintable() for name, cell in cells.items() if name not in NEEDED[:2]):
        return "a cell that is too long, or that does not print"
    return "" if cells["bias_type"].strip() else "no bias_type"


FORMAT = ImportFormat(
    name="crows-pairs",
    title="CrowS-Pairs",
    files="a CSV file with a pair of sentences on each row",
    paper="nangia2020",
    measured="Whether a language model gives the more stereotyping of two sentences a higher score. That the group "
    "named in it is a disadvantaged one differs as well, so no value is known to mean no bias.",
    read=read,
)
