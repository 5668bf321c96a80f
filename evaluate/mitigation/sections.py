"""What was removed from a model's vectors, what can still be read of it, and whether the model still predicts a text.

A result has the sha256 of the model's `debias.json`, and a line of it. All else is read where that file is still there.
Names and words are of others: they go into a document as they are, whose renderers escape them.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from senseprobe.document import Cell, Section, Table, name_cells
from senseprobe.errors import ModelError
from senseprobe.evaluate.mitigation.record import TRAINING, Probe, Record, read_record
from senseprobe.evaluate.models.alteration import DIGEST, REMOVED, identify_alteration
from senseprobe.evaluate.models.registry import opens
from senseprobe.evaluate.models.vector_files import path_of
from senseprobe.evaluate.reporting.scope import AddedSection, ReportScope
from senseprobe.messages import listed, printable

TITLE = "What was removed from the model's vectors"

ABOUT = (
    "Figures are of a model whose vectors were changed before it was scored. What a probe still reads of the labels "
    "shows how much of them is left: a model without a direction is not a model without bias."
)
BROKEN = (
    "A model that is broken looks unbiased: perplexity, which is lower where a text is predicted better, shows whether "
    "it still predicts."
)
TRAINED = "it was trained after the removal, and probes and perplexity are of what it was trained on"
UNAVAILABLE = "its folder is not here as it was scored, so the result alone says what was removed"

_LAYERS = {"input": "the input", "all": "all layers, as the model is loaded"}
_HEADS = {"none": "", "untied": "has the vectors of the parent", "tied": "has the changed vectors, too"}


@dataclass(frozen=True, slots=True)
class AlteredResult:
    """The first result of a model that something was removed from: its number, and the record where that is there.

    `is_trained`: whether it was trained after the removal, so that the record is of what it was trained on.
    """

    number: int
    name: str
    removed: str
    record: Record | None = None
    is_trained: bool = False


def find_altered(scope: ReportScope) -> list[AlteredResult]:
    """Return the models of results that something was removed from, each once."""
    altered: dict[tuple[str, str], AlteredResult] = {}  # a model that was trained since has the record of its parent
    for number, source in enumerate(scope.inputs):
        model = source.result.model
        name, digest, removed = str(model["name"]), str(model.get(DIGEST, "")), str(model.get(REMOVED, ""))
        if digest and (name, digest) not in altered:
            altered[name, digest] = AlteredResult(number, name, removed)
            with suppress(ModelError, OSError, ValueError, RuntimeError):  # a name may be any text
                path = path_of(name) if opens(name) else Path(name).expanduser()
                if identify_alteration(path).get(DIGEST) == digest:
                    is_trained = (path / TRAINING).is_file()
                    altered[name, digest] = AlteredResult(number, name, removed, read_record(path), is_trained)
    return list(altered.values())


def _describe_probe(probe: Probe) -> tuple[str, str]:
    """Return how many labels a probe reads, with its interval; and what that is to be compared with."""
    low, high = 100 * probe.low, 100 * probe.high
    reference = f"{100 * probe.before:.0f} % before; the largest label is {100 * probe.majority:.0f} %"
    return f"{100 * probe.accuracy:.0f} % of {probe.words:,} words ({low:.0f} to {high:.0f})", reference


def _read_probe(kind: str, record: Record) -> Cell:
    for probe in record.probes:
        if probe.kind == kind:
            return Cell(*_describe_probe(probe))
    return Cell.quiet(f"not probed: {record.unprobed}" if record.unprobed else "not probed")


def _list_omitted(record: Record) -> str:
    return "; ".join(f"{reason}: {listed(words)}" for reason, words in record.omitted_words.items()) or "none"


def _describe_perplexity(record: Record) -> Cell:
    if (numbers := record.perplexity) is None:
        return Cell.quiet("not measured")
    return Cell(f"{numbers.before:.4g} before, {numbers.after:.4g} after", f"{numbers.kind} on {numbers.text}")


def _describe_norms(record: Record) -> str:
    lengths = f"{record.norms.mean:.3g} of the former ones on average, {record.norms.least:.3g} at least"
    return f"{lengths}; then brought back to these" if record.renormalised else lengths


FACTS: Mapping[str, Callable[[Record], Cell]] = {
    "from": lambda record: Cell(record.parent.name),
    "changed": lambda record: Cell(_LAYERS[record.layers]),
    "output": lambda record: Cell(_HEADS[record.head]),
    "left": lambda record: Cell(f"at most {record.residual:.1g} of a direction", f"in {record.number_format}"),
    "lengths": lambda record: Cell(_describe_norms(record)),
    "words left out": lambda record: Cell(_list_omitted(record)),
    "labels": lambda record: Cell(record.axis.labels_name),
    "a linear probe still reads": lambda record: _read_probe("linear", record),
    "a non-linear probe still reads": lambda record: _read_probe("non-linear", record),
    "prediction of a text": _describe_perplexity,
}
"""What a record says, by its name in the table."""


def removal_section(scope: ReportScope) -> Section:
    """Return what was removed from the models of results that are not compared; empty where nothing was."""
    return Section(TITLE) if scope.comparisons else _build_section(scope)


def compared_removal_section(scope: ReportScope) -> Section:
    """Return what was removed from models that are compared; empty where nothing was."""
    return _build_section(scope) if scope.comparisons else Section(TITLE)


def _build_section(scope: ReportScope) -> Section:
    altered = find_altered(scope)
    if not altered:
        return Section(TITLE)
    if scope.is_brief:  # which has the line of the result elsewhere
        return Section("", tuple(line for model in altered for line in _describe_briefly(model)))
    missing = (f"{model.name}: {UNAVAILABLE}." for model in altered if model.record is None)
    trained = (f"{model.name}: {TRAINED}." for model in altered if model.is_trained)
    is_measured = any(model.record and model.record.perplexity for model in altered)
    notes = (ABOUT, *((BROKEN,) if is_measured else ()), *missing, *trained)
    return Section(TITLE, notes, tables=(_build_table(altered),))


def _describe_briefly(model: AlteredResult) -> Iterator[str]:
    """Yield what probes still read, and perplexity; or that the folder is gone."""
    name, record = printable(model.name), model.record
    if record is None:
        yield f"{name}: {UNAVAILABLE}."
        return
    if model.is_trained:
        yield f"{name}: {TRAINED}."
    for probe in record.probes:
        reads, reference = _describe_probe(probe)
        labels = printable(record.axis.labels_name)
        yield f"{name}: a {probe.kind} probe still reads {labels} of {reads}; {reference}."
    if record.unprobed:
        yield f"{name}: not probed ({printable(record.unprobed)})."
    if record.perplexity:
        yield f"{name}: {record.perplexity.describe()}."


def _build_table(altered: Sequence[AlteredResult]) -> Table:
    """Return a row for each fact that any record has, a column for each model."""
    first = (*name_cells("removed"), *(Cell(model.removed) for model in altered))
    rows = [
        (*name_cells(name), *(Cell("") if model.record is None else describe(model.record) for model in altered))
        for name, describe in FACTS.items()
    ]
    filled = (row for row in rows if any(cell.text for cell in row[1:]))
    return Table("", ("fact", *(model.number for model in altered)), (first, *filled))


SECTIONS = (
    AddedSection(
        id="removal",
        build=removal_section,
        after={
            "pairs": "verdict_section",
            "tests": "verdict_section",
            "brief-pairs": "caveat_section",
            "brief-tests": "caveat_section",
        },
    ),
    AddedSection(
        id="compared-removal",
        build=compared_removal_section,
        after={"pairs": "compared_section", "tests": "compared_section", "brief-models": "caveat_section"},
    ),
)
