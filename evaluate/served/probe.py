"""What a server is seen to do, before a row is asked: thirteen checks, its noise, and a fingerprint of its model."""

from collections.abc import Mapping
from dataclasses import dataclass

from senseprobe.evaluate.served.client import Client
from senseprobe.evaluate.served.likelihood import Route
from senseprobe.evaluate.served.wire import Dialect

PASSED, FAILED, NOT_ASKED = "passed", "failed", "not asked"


@dataclass(frozen=True, slots=True)
class Check:
    """One check: what it is about, how it ended (`PASSED`, `FAILED`, `NOT_ASKED`), and what was read."""

    id: str
    title: str
    state: str
    read: str


@dataclass(frozen=True, slots=True)
class Noise:
    """By how much answers differ that should not, in nats of a log-odds; None where it was not asked.

    - `repeats`, `after`, `neighbours`, `cache`: the greatest change between repeats, after another prompt, with others
      at the same time, and between prompt cache on and off.
    - `rms`: the root mean square of what a run as it is asked would see: repeats, after, and neighbours where it has.
    """

    repeats: float | None
    after: float | None
    neighbours: float | None
    cache: float | None
    rms: float


Fingerprint = tuple[Mapping[str, float], ...]
"""Log-probabilities of the five likeliest first tokens of each of eight fixed prompts, by text."""


@dataclass(frozen=True, slots=True)
class Facts:
    """What a server says of itself, all of it unproven; empty where it does not tell.

    `kind`: as `wire.Dialect.kind`; `answered`: the model that answered, paths cut to the file's name; `build`,
    `quantisation`; `template`: sha256 of the chat template; `slots`: requests at a time; `context`: tokens of a slot.
    """

    kind: str
    answered: str
    build: str
    quantisation: str
    template: str
    slots: int | None
    context: int | None


@dataclass(frozen=True, slots=True)
class ProbeReport:
    """What `probe` read of a server.

    - `labels`: the route by which labels are weighed: `wire.CHAT`, `wire.DECISIONS`, `wire.SYSTEM_ONE`, or empty.
    - `likelihood`: the route of exact log-likelihoods; None without one.
    - `concurrency`: requests at a time that change nothing, or that are accepted though they do.
    - `tokens`: mean tokens read and written per request of the probe; None where the server does not tell.
    - `requests`: how many were asked.
    """

    origin: str
    model: str
    facts: Facts
    dialect: Dialect
    checks: tuple[Check, ...]
    noise: Noise
    fingerprint: Fingerprint
    labels: str
    likelihood: Route | None
    thinks: bool
    concurrency: int
    tokens: tuple[float, float] | None
    requests: int

    def check(self, id_: str) -> Check:
        """Return the check of an id."""
        return next(check for check in self.checks if check.id == id_)

    def scorers(self) -> dict[str, str]:
        """Return of each chat scorer and of `ll` an empty text where the server can do it, else what it lacks."""
        raise NotImplementedError


def probe(client: Client) -> ProbeReport:
    """Ask a server what shows what it does, in at most forty requests. ModelError where it does not answer at all."""
    raise NotImplementedError
