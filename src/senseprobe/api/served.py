"""Models behind servers: what their servers can do, and what leaves this machine before it does."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from math import isfinite
from typing import TYPE_CHECKING

from senseprobe import project
from senseprobe.api.hub import why_unpublishable
from senseprobe.errors import ModelError, SenseprobeError
from senseprobe.evaluate.served.address import ServingOptions, key_of, parse
from senseprobe.messages import counted

if TYPE_CHECKING:
    from senseprobe.evaluate.models import ModelSource
    from senseprobe.evaluate.pipeline import ScoringJob
    from senseprobe.evaluate.scorers import Scorer
    from senseprobe.evaluate.served.estimate import Estimate, Plan

FIRST = {"contrast": "choice-likely", "inference": "nli-chat"}
"""The scorer of a served model where none is named, by the kind of rows."""


def require_client() -> None:
    """Raise SenseprobeError where the library that talks to servers is not installed."""
    from importlib.util import find_spec

    if find_spec("httpx") is None:
        raise SenseprobeError("httpx: not installed; run pip install 'senseprobe[served]'")


def checked_serving(spec: str, serving: ServingOptions) -> ServingOptions:
    """Return the options of a served model. Raise ModelError where they, its address or its key cannot be used."""
    address = parse(spec)
    if serving.concurrency is not None and serving.concurrency < 1:
        raise ModelError(f"concurrency {serving.concurrency}: expected 1 or more")
    if serving.price is not None and not all(isfinite(amount) and amount >= 0 for amount in serving.price):
        raise ModelError(
            "expected two prices of 0 or more: of a million tokens that are read, and of a million that are written"
        )
    if serving.budget is not None:
        if not (isfinite(serving.budget) and serving.budget > 0):
            raise ModelError("a budget must be above 0")
        if serving.price is None:
            raise ModelError("a budget needs the price of a million tokens: add --price IN,OUT")
    key_of(address, serving)
    return serving


def chosen_scorers(job: ScoringJob, source: ModelSource, names: Sequence[str]) -> list[Scorer]:
    """Return the scorers that a served model is asked by: those of `names`, or the first of each kind of rows.

    Raises SenseprobeError, or ModelError where one is not of served models.
    """
    from senseprobe.evaluate.scorers import get
    from senseprobe.evaluate.scoring import fitting_scorers

    kinds = dict.fromkeys(job.kinds.values())
    chosen = names or [FIRST[kind] for kind in kinds if kind in FIRST] or [FIRST["contrast"]]
    scorers = [*fitting_scorers(source, [get(name) for name in dict.fromkeys(chosen)])]
    if unfit := [scorer.id for scorer in scorers if scorer.level]:
        raise ModelError(f"{', '.join(unfit)} needs vectors, but a server does not return any: use another scorer")
    for scorer in scorers:
        job.configs(scorer)
    return scorers


def check_consent(job: ScoringJob, source: ModelSource) -> None:
    """Raise SenseprobeError where rows may not leave this machine: unless `send` says so, only published ones do."""
    address = parse(source.name)
    if address.is_loopback or source.serving.send or (reason := _why_private(job)) is None:
        return
    raise SenseprobeError(
        f"{job.release.manifest.name} is not for distribution ({reason}), and {address.origin} is not this machine:"
        " nothing was sent; add --send to send its sentences anyway"
    )


def _why_private(job: ScoringJob) -> str | None:
    """Return why the rows of a job are not for distribution; None where they are, or are a table of the caller's."""
    from senseprobe.importers.draft import Draft

    if isinstance(job.release, Draft):
        return None
    licence = job.release.manifest.data["card"].get("license")
    return why_unpublishable(licence if isinstance(licence, str) else None)


def announce(
    job: ScoringJob, source: ModelSource, scorers: Sequence[Scorer], say: Callable[[str], None], *, control: bool
) -> None:
    """Say what is about to be sent where, and where answers are kept, before anything is sent."""
    from senseprobe.evaluate.control import CHAT_ROWS, RELEASE
    from senseprobe.evaluate.pipeline import rows_of
    from senseprobe.evaluate.scoring import reads_control

    address = parse(source.name)
    sentences: set[str] = set()
    for scorer in scorers:
        columns = [*scorer.texts, *scorer.texts.values()]
        for table in rows_of(job, scorer).values():
            sentences.update(*(table[column].dropna() for column in columns))
    sent = f"{counted(len(sentences), 'sentence')} of {job.release.manifest.name}"
    if control and any(reads_control(job, scorer) for scorer in scorers):
        sent += f", and {CHAT_ROWS} rows of {RELEASE},"
    folder = project.cache_folder("answers")
    kept = f"answers are kept in {folder}" if source.serving.stored else "answers are not kept"
    if address.is_loopback:
        say(f"{sent} go to {address.origin}, on this machine; {kept}")
        return
    how = "; delete that folder to delete them" if source.serving.stored else ""
    say(f"{sent} leave this machine, for {address.origin}; {kept}{how}")


def prepare(
    job: ScoringJob, source: ModelSource, names: Sequence[str], say: Callable[[str], None], *, control: bool
) -> list[str]:
    """Return the ids of scorers of a served model, once it was said what leaves this machine, and that may leave it."""
    scorers = chosen_scorers(job, source, names)
    check_consent(job, source)
    announce(job, source, scorers, say, control=control)
    return [scorer.id for scorer in scorers]


def estimated(
    job: ScoringJob, source: ModelSource, scorers: Sequence[Scorer], control: Callable[[], ScoringJob] | None
) -> Estimate:
    """Return what scoring a job would ask; `control` makes the job of what inference is held against.

    Raises ModelError where the server does not do what a scorer needs.
    """
    from senseprobe.evaluate.served.estimate import SAMPLE, estimate
    from senseprobe.evaluate.served.model import ServedModel

    address, name = parse(source.name), job.release.manifest.name
    may_send = address.is_loopback or source.serving.send or _why_private(job) is None
    if may_send and not address.is_loopback:
        source.say(
            f"up to {SAMPLE} prompts, and replies, of {name} leave this machine, for {address.origin}, to be counted"
        )
    plans = [_plan(job, scorer, control) for scorer in scorers]
    opened = ServedModel.open(source.name, ability=scorers[0].ability, options=source.serving, say=source.say)
    with opened as model:
        if lacking := {scorer.id: model.lacking(scorer.id) for scorer in scorers if model.lacking(scorer.id)}:
            first, why = next(iter(lacking.items()))
            raise ModelError(f"{model.name} cannot be scored by {first}: {why}")
        return estimate(model, name, plans, may_send=may_send, price=source.serving.price)


def _plan(job: ScoringJob, scorer: Scorer, control: Callable[[], ScoringJob] | None) -> Plan:
    """Return what a scorer asks about: the rows of a job, and its control."""
    from senseprobe.evaluate.control import CHAT_ROWS
    from senseprobe.evaluate.pipeline import rows_of, units_of_rows
    from senseprobe.evaluate.scoring import reads_control
    from senseprobe.evaluate.served.chat_scorers import TASKS
    from senseprobe.evaluate.served.estimate import Plan

    rows = rows_of(job, scorer)
    units = [*units_of_rows(job, scorer, rows).units]
    if control is not None and reads_control(job, scorer):
        control_job = replace(control(), limit=CHAT_ROWS)
        units += units_of_rows(control_job, scorer, rows_of(control_job, scorer)).units
    task = TASKS.get(scorer.id)
    return Plan(scorer, units, task.control_items(rows, job.seed) if task else [])
