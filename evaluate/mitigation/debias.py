"""Directions are removed from a model's input, or a file of vectors: a copy in a new folder, with a record.

words -> their rows in the parent -> a map -> the copy -> `debias.safetensors` and `debias.json` beside it
"""

import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from importlib.metadata import version
from pathlib import Path
from typing import Any, Literal

import numpy as np

from senseprobe.document import Section, Table
from senseprobe.errors import ModelError, SenseprobeError
from senseprobe.evaluate.mitigation import record
from senseprobe.evaluate.mitigation.erasure import Erasure, divide_lengths
from senseprobe.evaluate.mitigation.parents import Parent
from senseprobe.evaluate.mitigation.perplexity import EvaluationText, add_perplexity
from senseprobe.evaluate.mitigation.probes import ProbeAccuracy, probe_labels
from senseprobe.evaluate.mitigation.record import Probe, Record, pack_map
from senseprobe.evaluate.mitigation.removal import FITTED, Fit, Removal, fit_removal
from senseprobe.evaluate.models.alteration import MAP, RECORD
from senseprobe.messages import counted, listed, printable
from senseprobe.release.hashing import file_sha256
from senseprobe.statistics.intervals import FloatArray


@contextmanager
def remove_directions(parent: Parent, removal: Removal, out: Path) -> Iterator[Record]:
    """Write a copy of a parent without directions into a new folder, which is there as a whole when the block ends.

    Raises SenseprobeError in one message where that cannot be done: nothing is left behind.
    """
    if parent.record and len(parent.record.chain) >= record.LONGEST_CHAIN:
        raise ModelError(
            f"{printable(parent.name)} is the last of {record.LONGEST_CHAIN} copies of copies, and a record has no more"
        )
    fit = fit_removal(parent, removal)
    erasure = fit.erasure
    parent.check(erasure, removal.head, removal.layers)
    probes, unprobed = probe_removal(parent, removal, fit)
    described = removal.describe()
    with parent.copy(erasure, out, head=removal.head, renormalise=removal.renormalise) as (folder, change):
        (folder / MAP).write_bytes(pack_map(erasure, change.removed, change.scale))
        facts = Record(
            senseprobe=version("senseprobe"),
            removed=record.describe_removal(
                described,
                removal.method,
                erasure.rank,
                parent.dimensions,
                seed=removal.seed,
                layers=removal.layers,
                parent=parent.record,
            ),
            form=parent.form,
            parent=record.Parent(name=parent.name, identity=parent.identity, record=parent.record),
            method=removal.method,
            axis=described,
            spellings=removal.forms,
            forms=fit.forms,
            omitted=fit.omitted,
            dimensions=parent.dimensions,
            rank=erasure.rank,
            seed=None if removal.method == "projection" and not probes else removal.seed,
            rest=removal.rest,
            regularisation=removal.regularisation if removal.method == "inlp" else None,
            at_chance=fit.at_chance,
            number_format=parent.number_format,
            residual=record.rounded(change.residual),
            norms=record.Norms(mean=record.rounded(change.norms.mean), least=record.rounded(change.norms.least)),
            renormalised=removal.renormalise,
            head=change.head,
            layers=removal.layers,
            probes=probes,
            unprobed=unprobed,
            files={
                path.relative_to(folder).as_posix(): file_sha256(path)
                for path in sorted(folder.rglob("*"))
                if path.is_file()
            },
        )
        (folder / RECORD).write_bytes(facts.to_bytes())
        yield facts


# --- a copy, and its controls -------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class AlteredCopy:
    """A copy without directions in a `folder`, its record, and the folders of its controls.

    `unmeasured`: why it has no perplexity; empty where it has one, or is not to have one.
    """

    folder: Path
    record: Record
    controls: tuple[Path, ...] = ()
    unmeasured: str = ""

    def section(self) -> Section:
        """Return what people read: what was removed, what is left, and what probes still read."""
        return Section("", (*self._paragraphs(),), tables=(self._table(),) if self.record.probes else ())

    def _paragraphs(self) -> Iterator[str]:
        facts, folder = self.record, printable(str(self.folder))
        yield f"{folder}: {facts.removed} removed from the vectors of {printable(facts.parent.name)}"
        norms = f"{facts.norms.mean:.3g} times as long on average, {facts.norms.least:.3g} times at least"
        lengths = "brought back to their former lengths" if facts.renormalised else norms
        yield f"left in {facts.number_format}: at most {facts.residual:.1g} of a direction; vectors are {lengths}"
        if facts.head != "none":
            shared = {"untied": "has the parent's vectors", "tied": "reads the changed vectors, too"}[facts.head]
            yield f"the output {shared}"
        for reason, words in facts.omitted_words.items():
            yield f"left out, {reason}: {listed(words)}"
        if facts.at_chance is False:
            yield "INLP ended at a quarter of the dimensions: its probe still reads the labels of held-out words"
        if facts.unprobed:
            advice = "" if facts.axis.labels else "; with --labels FILE probes say what is left"
            yield f"not probed: {facts.unprobed}{advice}"
        if len(facts.axis.pairs) > 1 or len(facts.axis.words) > 1:
            source = f"{printable(facts.parent.name)} --direction {printable(facts.axis.direction)}"
            yield f"whether these words share an axis: `senseprobe model directions {source}`"
        if facts.perplexity:
            yield facts.perplexity.describe()
        if self.unmeasured:
            yield f"no perplexity: {self.unmeasured}"
        if self.controls:
            first, last = (printable(str(self.controls[number])) for number in (0, -1))
            yield f"{counted(len(self.controls), 'control')} at random: {first} … {last}"

    def _table(self) -> Table:
        """Return what probes read before and after, of how many words."""
        rows = (
            (
                probe.kind,
                f"{100 * probe.before:.0f} %",
                f"{100 * probe.accuracy:.0f} % ({100 * probe.low:.0f} to {100 * probe.high:.0f})",
                f"{100 * probe.majority:.0f} %",
                f"{probe.words:,}",
            )
            for probe in self.record.probes
        )
        columns = {"probe": "name", "before": "number", "after": "number", "largest label": "number", "words": "number"}
        caption = f"labels of {printable(self.record.axis.labels_name)} that probes read of words the fit did not see"
        return Table.of_texts(columns, rows, caption)

    def as_dict(self) -> dict[str, Any]:
        """Return it with the stable keys of ``--json``."""
        record_ = self.record.model_dump(mode="json", by_alias=True)
        return {"folder": str(self.folder), "controls": [str(path) for path in self.controls], "record": record_}


def alter(
    parent: Parent,
    removal: Removal,
    out: Path,
    controls: int = 0,
    text: EvaluationText | None = None,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> AlteredCopy:
    """Write a copy without directions, and `controls` without random ones of the same rank; all of them or none.

    Controls have the seeds after the copy's, and lie beside it: ``OUT-random-01``. The record of the copy gets the
    perplexity on `text` before and after, controls have none.
    """
    width = max(2, len(str(controls)))
    folders = [out.parent / f"{out.name}-random-{number:0{width}}" for number in range(1, controls + 1)]
    if existing := next((path for path in (out, *folders) if os.path.lexists(path)), None):
        raise SenseprobeError(f"{existing} exists and is not overwritten: choose a new folder with --out")
    written = list[Path]()
    try:
        with remove_directions(parent, removal, out) as facts:
            progress(0, controls + 1)
        written.append(out)
        unmeasured = ""
        if text is not None:
            try:
                facts = add_perplexity(parent.name, out, text)
            except ModelError as error:  # a model that is broken is written nevertheless
                unmeasured = str(error)
        for number, folder in enumerate(folders, start=1):
            progress(number, controls + 1)
            control = replace(removal, method="random", rank=facts.rank, seed=removal.seed + number, rest=0)
            with remove_directions(parent, control, folder):
                pass
            written.append(folder)
    except BaseException:
        for folder in written:
            shutil.rmtree(folder, ignore_errors=True)
        raise
    progress(controls + 1, controls + 1)
    return AlteredCopy(out, facts, tuple(folders), unmeasured)


# --- what can still be read ---------------------------------------------------------------------------------------


def probe_removal(parent: Parent, removal: Removal, fit: Fit) -> tuple[tuple[Probe, ...], str]:
    """Return what probes read of labels after the removal, on words that the fit did not see; or why there are none."""
    if not removal.labels:
        return (), "no words with labels"
    seen = {*removal.axis.derived.words} if removal.axis else set[str]()
    chosen = fit.probed if removal.method in FITTED else [word for word in removal.labels if word not in seen]
    rows_of = parent.find(chosen, "one") if chosen else {}
    words = [word for word in chosen if word in rows_of]
    labels = [removal.labels[word] for word in words]
    before = parent.read([next(iter(rows_of[word].values())) for word in words]) if words else np.empty((0, 1))
    after = _alter(before, fit.erasure, renormalise=removal.renormalise) if words else before
    reads = [probe_labels(vectors, labels, seed=removal.seed) for vectors in (before, after)]
    was, now = reads
    probes = list[Probe]()
    if was.linear and now.linear:
        probes.append(_describe_probe("linear", was.linear, now.linear))
    if was.nonlinear and now.nonlinear:
        probes.append(_describe_probe("non-linear", was.nonlinear, now.nonlinear))
    return tuple(probes), now.unprobed


def _alter(vectors: FloatArray, erasure: Erasure, *, renormalise: bool) -> FloatArray:
    altered = erasure.apply(vectors)
    if renormalise:
        before, after = (np.linalg.norm(rows, axis=1, keepdims=True) for rows in (vectors, altered))
        altered = altered * divide_lengths(before, after)
    return altered


def _describe_probe(kind: Literal["linear", "non-linear"], before: ProbeAccuracy, after: ProbeAccuracy) -> Probe:
    return Probe(
        kind=kind,
        words=after.words,
        accuracy=record.rounded(after.accuracy),
        low=record.rounded(after.low),
        high=record.rounded(after.high),
        majority=record.rounded(after.majority),
        before=record.rounded(before.accuracy),
    )
