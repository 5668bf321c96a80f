"""What a server was seen to do: thirteen checks, its noise, a fingerprint of its model, and the scorers that follow."""

from collections.abc import Mapping
from dataclasses import dataclass

from senseprobe.evaluate.scorers.conversation import CONSTRUCTS, TOP
from senseprobe.evaluate.served.fingerprint import Fingerprint
from senseprobe.evaluate.served.likelihood import FAILED, PASSED, Route
from senseprobe.evaluate.served.server_facts import ServerFacts
from senseprobe.evaluate.served.wire import Decision, Dialect

SAME = 0.01
"""Nats by which an answer may change and still be called the same."""

CHECKS: Mapping[str, str] = {
    "model": "the model that answers is the one that was asked for",
    "nonsense": "a field that does not exist is refused",
    "logprobs": f"the {TOP} likeliest first tokens come with their log-probabilities",
    "raw": "log-probabilities are the model's own, before temperature",
    "repeats": "the same request has the same answer",
    "usage": "tokens are counted",
    "thinking": "answers begin without thinking",
    "answers": "no answer is empty",
    "echo": "echo gives the log-probabilities of a text",
    "prompt-logprobs": "prompt_logprobs gives the log-probabilities of a text",
    "forced": "a grammar of tokens, or logit_bias, forces a text",
    "decisions": "a decision between options comes with probabilities",
    "limits": "a request without the key, or too long, is refused",
}
"""Title of each check by id, in the order in which they are listed."""

CHOICES = (*(f"choice-{construct}" for construct in CONSTRUCTS), "nli-chat")
LIKELIHOODS = ("ll", "ll-mean", "ll-byte")


@dataclass(frozen=True, slots=True)
class Check:
    """One check: its id in `CHECKS`, how it ended (`likelihood.PASSED`, `FAILED`, `NOT_ASKED`), and what was read."""

    id: str
    state: str
    read: str

    @property
    def title(self) -> str:
        """What is checked."""
        return CHECKS[self.id]


@dataclass(frozen=True, slots=True)
class Noise:
    """By how much a log-odds of two labels differs that should not, in nats; at most, and None where not asked.

    `repeats`: at once again; `after`: after another prompt; `neighbours`: beside others at the same time; `cache`: with
    the prompt cache; `rms`: the root mean square of the worst of these.
    """

    repeats: float | None = None
    after: float | None = None
    neighbours: float | None = None
    cache: float | None = None
    rms: float = 0.0


@dataclass(frozen=True, slots=True)
class ProbeReport:
    """What `probe` read of a server.

    - `model`: the model asked for; `answered`, `systems`: the names and ``system_fingerprint`` it answered with.
    - `tops`: whether the log-probabilities of first tokens can be used; `decision`: the way to ask for decisions, None
      without one; `route`: that of exact log-likelihoods, None without one.
    - `concurrent`: whether requests at the same time were seen to change nothing beyond `SAME`.
    - `tokens`: mean tokens read and written by a request with a label question; None where the server does not tell.
    - `requests`: how many were asked.
    """

    origin: str
    model: str
    facts: ServerFacts
    dialect: Dialect
    checks: tuple[Check, ...]
    noise: Noise
    fingerprint: Fingerprint
    answered: tuple[str, ...]
    systems: tuple[str, ...]
    tops: bool
    decision: Decision | None
    route: Route | None
    concurrent: bool
    tokens: tuple[float, float] | None
    requests: int

    @property
    def chats(self) -> bool:
        """Whether it answered chat requests at all."""
        return bool(self.answered)

    @property
    def has_numbers(self) -> bool:
        """Whether first tokens come with log-probabilities, be they those of an answer or of thinking."""
        return self.check("logprobs").state == PASSED == self.check("raw").state

    def check(self, id_: str) -> Check:
        """Return the check of an id."""
        return next(check for check in self.checks if check.id == id_)

    def failed(self, *ids: str) -> str:
        """Return what the server does not do, of some checks, in words; empty where it does all of it."""
        return "; ".join(
            f"not so: {check.title} ({check.read})"
            for check in self.checks
            if check.id in ids and check.state == FAILED
        )

    def lacking(self, scorer: str) -> str:
        """Return what the server does not do that a scorer needs; empty where it can be used."""
        if scorer in LIKELIHOODS:
            return "" if self.route else self.failed("echo", "prompt-logprobs", "forced") or "it has no likelihoods"
        if scorer == "answer-likely":
            return (self.route.replies if self.route else "") or self.lacking("ll")
        chat = self.failed("answers", "limits")
        if scorer not in CHOICES:
            return chat
        needed = () if self.tops else ("logprobs", "raw", "thinking")
        labels = "" if self.tops or self.decision else self.failed(*needed, "decisions")
        return "; ".join(filter(None, (chat, self.failed("repeats"), labels)))

    def scorers(self) -> dict[str, str]:
        """Return of each scorer what the server lacks for it; empty where it can be used."""
        return {scorer: self.lacking(scorer) for scorer in (*LIKELIHOODS, "answer-likely", *CHOICES, "text-likely")}
