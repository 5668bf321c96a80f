"""A model behind a server as what is scored: what its server can do, and what leaves this machine before it does."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import isfinite
from typing import TYPE_CHECKING, Any, ClassVar, Self, cast

from senseprobe import project
from senseprobe.errors import ModelError, ResultError, SenseprobeError
from senseprobe.evaluate.models.source import ModelSource
from senseprobe.evaluate.served.address import DEFAULT, PREFIX, ServingOptions, key_of, parse
from senseprobe.messages import counted, printable
from senseprobe.plugins import log_warning

if TYPE_CHECKING:
    from senseprobe.evaluate.models import Model
    from senseprobe.evaluate.scorers import Scorer
    from senseprobe.evaluate.scoring_job import ScoringJob
    from senseprobe.evaluate.served.capabilities import ProbeReport
    from senseprobe.evaluate.served.estimate import Estimate, Plan


@dataclass(frozen=True, slots=True, repr=False)
class Server(ModelSource):
    """A model behind a server, asked when it is used; `senseprobe.server` makes it.

    - `name`: its address, ``openai:URL#MODEL``; `serving`: how it is talked to; `notify`: what hears of waiting for it.
    """

    serving: ServingOptions = DEFAULT
    notify: Callable[[str], None] = log_warning

    is_local: ClassVar[bool] = False

    @property
    def abilities(self) -> tuple[str, ...]:
        """Return what it may be asked for: whether its server gives exact log-likelihoods, the probe finds."""
        return ("chat", "causal")

    @property
    def spec(self) -> str:
        """Its address."""
        return self.name

    def describe(self, *, say: Callable[[str], None] | None = None) -> ProbeReport:
        """Ask the server, and return what it is seen to do: the checks, its noise, and which scorers it can do.

        About thirty requests are sent, nothing of a release among them. `say` hears of waiting. Raises ModelError where
        it does not answer.
        """
        require_client()
        from senseprobe.evaluate.served import probe as probes
        from senseprobe.evaluate.served.client import Client

        with Client(parse(self.name), self.serving, notify=say or (lambda _: None)) as client:
            return probes.probe(client)

    def open(self, ability: str) -> Model:
        """Open the model, and probe its server."""
        from senseprobe.evaluate.served.model import ServedModel

        return cast("Model", ServedModel.open(self.name, ability=ability, options=self.serving, notify=self.notify))

    def close(self, model: Any) -> None:  # noqa: ANN401 - a ServedModel
        """Close its connections, and the store of its answers."""
        model.close()

    # --- a run --------------------------------------------------------------------------------------------------------

    def prepare(self, notify: Callable[[str], None], *, stored: bool, levels: Sequence[str] = ()) -> Self:
        """Return the source as a run uses it. Raise ModelError where vectors are requested, or options are invalid."""
        if levels:
            raise ModelError(f"{self.name} is behind a server, which does not return vectors: leave out level")
        require_client()
        serving = checked_serving(self.name, self.serving)
        return replace(self, serving=replace(serving, stored=stored), notify=notify)

    def choose_scorers(
        self, job: ScoringJob, names: Sequence[str], notify: Callable[[str], None], *, control: bool
    ) -> Sequence[str]:
        """Return the ids of scorers, once it was said what leaves this machine, and that may leave it."""
        scorers = _chosen_scorers(job, self, names)
        self.check_consent(job)
        _announce(job, self, scorers, notify, control=control)
        return [scorer.id for scorer in scorers]

    def check_consent(self, job: ScoringJob) -> None:
        """Raise SenseprobeError where rows may not leave this machine.

        Unless `send` says so, only published ones do. Raise ModelError where it cannot be talked to.
        """
        require_client()
        checked_serving(self.name, self.serving)
        address = parse(self.name)
        if address.is_loopback or self.serving.send or (reason := _why_private(job)) is None:
            return
        raise SenseprobeError(
            f"{job.release.manifest.name} is not for distribution ({reason}), and {address.origin} is not this "
            "machine: nothing was sent; add --send to send its sentences anyway"
        )

    def check_estimable(self) -> None:
        """Return: requests, tokens and money can be estimated."""

    def estimate(self, job: ScoringJob, names: Sequence[str], control: Callable[[], ScoringJob] | None) -> Estimate:
        """Return what scoring a job would ask. Raise ModelError where the server does not do what a scorer needs."""
        from senseprobe.evaluate.served.estimate import SAMPLE, estimate
        from senseprobe.evaluate.served.model import ServedModel

        scorers = _chosen_scorers(job, self, names)
        address, name = parse(self.name), job.release.manifest.name
        may_send = address.is_loopback or self.serving.send or _why_private(job) is None
        if may_send and not address.is_loopback:
            self.notify(
                f"up to {SAMPLE} prompts, and replies, of {name} leave this machine, for {address.origin}, to be "
                "counted"
            )
        plans = [_plan(job, scorer, control) for scorer in scorers]
        opened = ServedModel.open(self.name, ability=scorers[0].ability, options=self.serving, notify=self.notify)
        with opened as model:
            for scorer in scorers:
                if lacking := model.lacking(scorer.needs or scorer.id):
                    raise ModelError(f"{model.name} cannot be scored by {scorer.id}: {lacking}")
            return estimate(model, name, plans, may_send=may_send, price=self.serving.price)

    # --- a replay -----------------------------------------------------------------------------------------------------

    @classmethod
    def of_result(cls, identity: Mapping[str, str], moved: ModelSource | None, **loading: Any) -> ModelSource:  # noqa: ANN401
        """Return where the model of a result is asked anew, as `moved` says: no stored answer is used.

        Raises ResultError where only the result says which machine is to be asked.
        """
        address = parse(moved.name if moved else identity["name"])
        if moved is None and not address.is_loopback:  # a stranger's result would be sent the key, and the rows
            raise ResultError(
                f"the result names {printable(address.text)}, a server on another machine: permit requests to "
                f"it, or to another address, with --model {PREFIX}URL#MODEL"
            )
        serving = moved.serving if isinstance(moved, Server) else DEFAULT
        return cls(address.text, serving=replace(serving, stored=False))

    @classmethod
    def describe_retired(cls, identity: Mapping[str, str], scorer: str) -> str:
        """Return that the route of a result is no longer used; empty where it can be replayed."""
        from senseprobe.evaluate.retirements import DECISION, describe_retired
        from senseprobe.evaluate.served.capabilities import CHOICES
        from senseprobe.evaluate.served.fingerprint import is_of_decisions, is_of_thinking

        vector = identity.get("vector", "")
        # Labels of a model that thinks first were weighed by decisions alone, its fixed prompts by their first tokens.
        is_retired = is_of_decisions(vector) or (scorer in CHOICES and is_of_thinking(vector))
        return describe_retired(DECISION) if is_retired else ""

    def describe_retired_scorer(self, model: Any, scorer: str) -> str:  # noqa: ANN401
        """Return that a model that thinks first could be scored by decisions only; empty where it does not think."""
        from senseprobe.evaluate.retirements import DECISION, describe_retired
        from senseprobe.evaluate.served.capabilities import CHOICES

        is_retired = scorer in CHOICES and bool(model.report.failed("thinking"))
        return describe_retired(DECISION) if is_retired else ""

    def compare_identities(self, then: Mapping[str, str], now: Mapping[str, str], model: Any) -> tuple[str, ...]:  # noqa: ANN401
        """Return in what a model is not that of a result: what it is asked, and its answers to fixed prompts.

        What a server says of itself is not compared: it may be elsewhere now, or call the model otherwise.
        """
        from senseprobe.evaluate.served.fingerprint import change

        if (old := then.get("prompts")) != (new := now.get("prompts")):
            return (f"prompts: version {old} -> {new}",)
        changed = change(then.get("vector", ""), now["vector"], model.tolerance)
        return (f"model: {changed}",) if changed else ()


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


def _chosen_scorers(job: ScoringJob, source: Server, names: Sequence[str]) -> list[Scorer]:
    """Return the scorers that a served model is asked by: those of `names`, or the first of each kind of rows.

    Raises SenseprobeError, or ModelError where one is not of served models.
    """
    from senseprobe.evaluate.scorers import SCORERS, get
    from senseprobe.evaluate.scoring import fitting_scorers

    firsts: dict[str, str] = {}  # of a served model, by the kind of rows
    for scorer in SCORERS.values():
        if scorer.ability == "chat":
            firsts.setdefault(scorer.kind, scorer.id)
    kinds = dict.fromkeys(job.kinds.values())
    chosen = names or [firsts[kind] for kind in kinds if kind in firsts] or [firsts["contrast"]]
    scorers = [*fitting_scorers(source, [get(name, kinds) for name in dict.fromkeys(chosen)])]
    if unfit := [scorer.id for scorer in scorers if scorer.level]:
        raise ModelError(f"{', '.join(unfit)} needs vectors, but a server does not return any: use another scorer")
    for scorer in scorers:
        job.configs(scorer)
    return scorers


def _why_private(job: ScoringJob) -> str | None:
    """Return why the rows of a job are not for distribution; None where they are, or are a table of the caller's."""
    from senseprobe.api.hub import why_unpublishable
    from senseprobe.importers.draft import Draft

    if isinstance(job.release, Draft):
        return None
    licence = job.release.manifest.data["card"].get("license")
    return why_unpublishable(licence if isinstance(licence, str) else None)


def _announce(
    job: ScoringJob, source: Server, scorers: Sequence[Scorer], notify: Callable[[str], None], *, control: bool
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
            sentences.update(line for column in columns for text in table[column].dropna() for line in text.split("\n"))
    sent = f"{counted(len(sentences), 'sentence')} of {job.release.manifest.name}"
    if control and any(reads_control(job, scorer) for scorer in scorers):
        sent += f", and {CHAT_ROWS} rows of {RELEASE},"
    folder = project.cache_folder("answers")
    storage = f"answers are kept in {folder}" if source.serving.stored else "answers are not kept"
    if address.is_loopback:
        notify(f"{sent} go to {address.origin}, on this machine; {storage}")
        return
    how = "; delete that folder to delete them" if source.serving.stored else ""
    notify(f"{sent} leave this machine, for {address.origin}; {storage}{how}")


def _plan(job: ScoringJob, scorer: Scorer, control: Callable[[], ScoringJob] | None) -> Plan:
    """Return what a scorer asks about: the rows of a job, and its control."""
    from senseprobe.evaluate.control import CHAT_ROWS
    from senseprobe.evaluate.pipeline import rows_of, units_of_rows
    from senseprobe.evaluate.scoring import reads_control
    from senseprobe.evaluate.served.estimate import Plan

    rows = rows_of(job, scorer)
    units = [*units_of_rows(job, scorer, rows).units]
    if control is not None and reads_control(job, scorer):
        control_job = replace(control(), limit=CHAT_ROWS)
        units += units_of_rows(control_job, scorer, rows_of(control_job, scorer)).units
    return Plan(scorer, units, scorer.task.control_items(rows, job.seed) if "control" in scorer.gates else [])
