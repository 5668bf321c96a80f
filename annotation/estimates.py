"""What decisions on a sample say of the rows that nobody judged: by config, word and frame; and what to reject of them.

Rows with known answers were not drawn by chance, so they count neither as judged nor among the rest.
"""

import re
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from senseprobe.annotation.decisions import Decision, Level, Proposal
from senseprobe.annotation.records import Item, Plan
from senseprobe.annotation.sample import Query, column_texts, level_texts
from senseprobe.errors import AnnotationError
from senseprobe.messages import printable, shortened
from senseprobe.release.annotation_record import RejectionEstimate
from senseprobe.release.release import Release
from senseprobe.release.verdicts import Verdict, write_verdicts
from senseprobe.statistics import clopper_pearson, estimate_rest

PROPOSED = "proposed-verdicts.csv"
"""What people would reject, as far as they rejected all that they saw of it; nothing reads it but its authors."""

MAX_PROPOSED = 50_000
"""Rows of that file: a word of more is taken out of its list."""

JUDGED = ("reject", "keep", "undecided")  # states of rows that people answered


@dataclass(frozen=True, slots=True)
class Population:
    """The rows from which a plan's were drawn: how many of each level are in each stratum; `of`: levels by row."""

    levels: dict[Level, Counter[str]] = field(default_factory=dict)
    of: dict[str, tuple[Level, ...]] = field(default_factory=dict)

    @property
    def strata(self) -> Counter[str]:
        """How many rows are in each stratum, of whichever config."""
        return sum((counts for (_, slot, _), counts in self.levels.items() if not slot), Counter())


def read_population(release: Release, plan: Plan) -> Population:
    """Return the rows of a release from which a plan's were drawn, of those configs that it has rows of."""
    population, ids = Population(), pa.array([item.row for item in plan.items], pa.string())
    for config in sorted({item.config for item in plan.items} & {*release.configs}):
        slots = ("frame", *release.design(config).slots)
        for batch in _drawable(release, plan, config):
            texts = column_texts(batch, config, plan.strata)
            levels = level_texts(plan.strata, [texts[name] for name in plan.strata], batch.num_rows)
            strata = pa.array(levels, pa.string())
            columns = {"": pa.repeat("", batch.num_rows), **{slot: pc.fill_null(batch[slot], "") for slot in slots}}
            for slot, words in columns.items():
                table = pa.table({"word": words, "stratum": strata}).group_by(["word", "stratum"])
                for row in table.aggregate([([], "count_all")]).to_pylist():
                    counts = population.levels.setdefault((config, slot, row["word"]), Counter())
                    counts[row["stratum"]] += row["count_all"]
            for row in batch.filter(pc.is_in(batch["id"], value_set=ids)).to_pylist():
                population.of[row["id"]] = ((config, "", ""), *((config, slot, row[slot] or "") for slot in slots))
    return population


def _drawable(release: Release, plan: Plan, config: str) -> Iterator[pa.RecordBatch]:
    query = Query(re.split(r", (?=[^,=]+=)", plan.where) if plan.where else [])
    left_out = pa.array({*plan.excluded} | {item.row for item in plan.items if item.gold}, pa.string())
    for batch in release.batches(config):
        mask = query.holds(column_texts(batch, config, query.columns), batch.num_rows)
        yield batch.filter(pc.and_not(mask, pc.is_in(batch["id"], value_set=left_out)))


@dataclass(frozen=True)
class Sample:
    """The rows that people judged, of those that were drawn by chance, with their decisions."""

    population: Population
    items: Sequence[Item]
    decisions: Sequence[Decision]

    @classmethod
    def of(cls, population: Population, plan: Plan, decisions: Sequence[Decision]) -> "Sample":
        """Return the judged rows of a plan; raise AnnotationError where they were not drawn from this population."""
        pairs = [
            (item, decision)
            for item, decision in zip(plan.items, decisions, strict=True)
            if decision.state in JUDGED and not item.gold
        ]
        judged = Counter(item.stratum for item, _ in pairs)
        if not judged <= population.strata or not {item.row for item, _ in pairs} <= population.of.keys():
            raise AnnotationError("people judged rows that the options of the plan do not select from the release")
        return cls(population, [item for item, _ in pairs], [decision for _, decision in pairs])

    def rows_of(self) -> dict[Level, list[int]]:
        """Return the numbers of the judged rows of each level, in the order of the sample."""
        rows: dict[Level, list[int]] = {}
        for number, item in enumerate(self.items):
            for level in self.population.of[item.row]:
                rows.setdefault(level, []).append(number)
        return rows

    def estimates(self) -> list[RejectionEstimate]:
        """Return estimates of the configs, then of words and frames, those of which most was rejected first.

        A slot with one word, or whose words each are in one row only, says nothing beside its config.
        """
        hits = np.array([decision.state == "reject" for decision in self.decisions], np.bool_)
        in_strata = self.population.strata
        names = sorted(in_strata)
        numbers_of = {name: number for number, name in enumerate(names)}
        strata = np.array([numbers_of[item.stratum] for item in self.items], np.intp)
        sizes = np.array([in_strata[name] for name in names], np.intp)
        words = Counter((config, slot) for config, slot, _ in self.population.levels)
        estimates = []
        for level, numbers in self.rows_of().items():
            config, slot, word = level
            if slot and words[config, slot] in (1, self.population.levels[config, "", ""].total()):
                continue
            domain = np.zeros(len(hits), np.bool_)
            domain[numbers] = True
            in_strata = self.population.levels[level]
            rest = np.array([in_strata[name] for name in names], np.intp) - np.bincount(
                strata[numbers], minlength=len(names)
            )
            value, low, high = estimate_rest(hits, domain, strata, sizes, rest) or (None, None, None)
            rejected, text = int(hits[numbers].sum()), printable(shortened(word)).strip()
            facts = {"judged": len(numbers), "rejected": rejected, "rest": int(rest.sum())}
            value = None if value is None else round(value, 3)
            estimates.append(
                RejectionEstimate(config=config, slot=slot, level=text, estimate=value, low=low, high=high, **facts)
            )
        return sorted(estimates, key=lambda e: (bool(e.slot), -e.rejected * bool(e.slot), -e.judged, e.name))


def find_proposals(sample: Sample) -> list[Proposal]:
    """Return the levels of which people rejected all judged rows, so many that most of the others would be as well.

    The lower end of the exact interval (Clopper & Pearson 1934) of the share must lie above one half: six rows are
    enough. Rows of a level that is proposed already do not count, as those of a word in a frame that all reject.
    """
    rows_of = sample.rows_of()
    rejected = {number for number, decision in enumerate(sample.decisions) if decision.state == "reject"}
    throughout = [(level, {*rows}) for level, rows in rows_of.items() if rejected.issuperset(rows)]
    explained: set[int] = set()
    proposals = []
    for level, rows in sorted(throughout, key=lambda entry: (-len(entry[1]), entry[0])):
        unexplained = len(rows - explained)
        if unexplained and clopper_pearson(unexplained, unexplained)[0] > 0:
            proposals.append(Proposal(level=level, judged=len(rows)))
            explained |= rows
    return proposals


def write_proposals(
    folder: Path, release: Release, plan: Plan, proposals: Sequence[Proposal], standing: Collection[Verdict]
) -> list[Proposal]:
    """Write `proposed-verdicts.csv`: the rows of each proposal that are not in the plan and have no `standing` verdict.

    Returns the proposals with their rows. It rejects nothing: its authors copy lines into `verdicts.csv`, so that it
    has the columns that `standing` has there.
    """
    decided = {verdict.id for verdict in standing} | {item.row for item in plan.items}
    verdicts: dict[str, Verdict] = {}
    complete = []
    for proposal in proposals:
        config, slot, word = proposal.level
        rows: set[str] = set()
        for batch in _drawable(release, plan, config):
            of_word = batch.filter(pc.equal(pc.fill_null(batch[slot], ""), word)) if slot else batch
            rows.update(of_word["id"].to_pylist())
        rows -= decided
        if len(rows | verdicts.keys()) > MAX_PROPOSED:
            complete.append(proposal)
            continue
        reason, source = str(proposal), plan.release
        new = {row: Verdict(id=row, verdict="reject", rule="proposal", source=source, reason=reason) for row in rows}
        verdicts = new | verdicts
        complete.append(Proposal(level=proposal.level, judged=proposal.judged, rows=tuple(sorted(rows))))
    reported = any(verdict.reported for verdict in standing)
    write_verdicts(folder / PROPOSED, verdicts.values(), reported=reported)
    return complete
