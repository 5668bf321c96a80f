"""What a server was seen to do: twelve checks, its noise, a fingerprint of its model, and the scorers that follow."""

from collections.abc import Mapping
from dataclasses import dataclass

from senseprobe.document import Section, Table
from senseprobe.evaluate.served.conversation import CONSTRUCTS, TOP
from senseprobe.evaluate.served.fingerprint import Fingerprint
from senseprobe.evaluate.served.json_values import model_name
from senseprobe.evaluate.served.likelihood import FAILED, PASSED, Route
from senseprobe.evaluate.served.server_facts import ServerFacts
from senseprobe.evaluate.served.wire import Dialect

SAME = 0.01
"""Nats by which an answer may change and still be called the same."""

CHECKS: Mapping[str, str] = {
    "model": "the model that answers is the requested one",
    "nonsense": "an unknown field is refused",
    "logprobs": f"the {TOP} likeliest first tokens have log-probabilities",
    "raw": "log-probabilities are the model's own, before temperature",
    "repeats": "the same request gets the same answer",
    "usage": "tokens are counted",
    "thinking": "answers begin without thinking",
    "answers": "every answer has text",
    "echo": "echo returns the log-probabilities of a text",
    "prompt-logprobs": "prompt_logprobs returns the log-probabilities of a text",
    "forced": "a token grammar, or logit_bias, forces a text",
    "limits": "a request that lacks the key or is too long is refused",
}
"""Title of each check by id, in the order in which they are listed."""

_NUMBERS = "Start the server so that it returns the model's own log-probabilities, or score text-likely"
_TEXTS = "llama.cpp and vLLM return exact likelihoods; with this server, use a scorer of answers"

ADVICE: Mapping[str, str] = {
    "logprobs": _NUMBERS,
    "raw": _NUMBERS,
    "repeats": "Start the server so that a prompt gets the same answer each time at temperature 0",
    "thinking": "Switch thinking off when you start the server, or score text-likely",
    "answers": "Read the server's log, and check whether it needs a chat template or an API key",
    "echo": _TEXTS,
    "prompt-logprobs": _TEXTS,
    "forced": _TEXTS,
    "limits": "Start the server so that it refuses prompts that are too long: truncated prompts cannot be scored",
}
"""What to do where a check fails that a scorer needs, by its id."""

CHOICES = (*(f"choice-{construct}" for construct in CONSTRUCTS), "nli-chat")
LIKELIHOODS: Mapping[str, bool] = {
    f"{name}{end}": not end for end in ("", "-no-start") for name in ("ll", "ll-mean", "ll-byte")
}
"""Whether they have a start token, by id."""


@dataclass(frozen=True, slots=True)
class Check:
    """One check: its id in `CHECKS`, how it ended (`likelihood.PASSED`, `FAILED`, `SKIPPED`), and what was read.

    `is_verbatim`: whether that is why in full, as the server's own words are: then title and advice say no more.
    """

    id: str
    state: str
    read: str
    is_verbatim: bool = False

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

    @property
    def most(self) -> float:
        """The largest of them all."""
        return max(seen or 0.0 for seen in (self.repeats, self.after, self.neighbours, self.cache))


@dataclass(frozen=True, slots=True)
class ProbeReport:
    """What `model check` read of a server.

    - `model`: the model asked for; `answered`, `systems`: the names and ``system_fingerprint`` it answered with.
    - `tops`: whether the log-probabilities of first tokens can be used; `route`: that of exact
      log-likelihoods, None without one.
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
    route: Route | None
    concurrent: bool
    tokens: tuple[float, float] | None
    requests: int

    @property
    def name(self) -> str:
        """The model asked for, the path of a file cut to its name."""
        return model_name(self.model)

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
        """Return which of some checks failed, what was read, and what to do, in sentences; empty where none did."""
        failed = [check for check in self.checks if check.id in ids and check.state == FAILED]
        failed.sort(key=lambda check: not check.is_verbatim)
        readings = [
            check.read if check.is_verbatim else f'the check "{check.title}" failed: {check.read}' for check in failed
        ]
        advice = dict.fromkeys(ADVICE.get(check.id, "") for check in failed if not check.is_verbatim)
        return ". ".join(filter(None, ("; ".join(readings), *advice)))

    def lacking(self, scorer: str) -> str:
        """Return what the server does not do that a scorer needs; empty where it can be used."""
        if scorer in LIKELIHOODS or scorer == "answer-likely":
            if self.route is None:
                return self.failed("echo", "prompt-logprobs", "forced") or "the server does not return likelihoods"
            return self.route.lacks(start=LIKELIHOODS[scorer]) if scorer in LIKELIHOODS else self.route.replies
        labels = scorer in CHOICES and not self.tops
        needed = ("logprobs", "raw", "thinking") if labels else ()
        fixed = self.dialect.complaint("temperature") if scorer == "text-likely" and not self.dialect.greedy else None
        return fixed.because if fixed else self.failed("answers", "limits", "repeats", *needed)

    def scorers(self) -> dict[str, str]:
        """Return of each scorer what the server lacks for it; empty where it can be used."""
        return {scorer: self.lacking(scorer) for scorer in (*LIKELIHOODS, "answer-likely", *CHOICES, "text-likely")}

    def why_none(self) -> str:
        """Return why no scorer can be used: where the server chats, what even a text needs; else all that is lacking.

        Empty where one can be used.
        """
        lacking = self.scorers()
        if not all(lacking.values()):
            return ""
        return lacking["text-likely"] if self.chats else ". ".join(dict.fromkeys(reversed(lacking.values())))

    def as_dict(self) -> dict[str, object]:
        """Return it as JSON has it."""
        facts, noise = self.facts, self.noise
        return {
            "origin": self.origin,
            "model": self.name,
            "answered": [*self.answered],
            "server": facts.kind,
            "build": facts.build,
            "quantisation": facts.quantisation,
            "template": facts.template_hash,
            "slots": facts.slots,
            "requests": self.requests,
            "complaints": [
                {
                    "field": complaint.field,
                    "said": complaint.words,
                    "changed": complaint.changed,
                    "cost": complaint.cost,
                }
                for complaint in self.dialect.complaints
            ],
            "checks": [
                {"id": check.id, "title": check.title, "state": check.state, "read": check.read}
                for check in self.checks
            ],
            "noise": {
                "repeats": noise.repeats,
                "after": noise.after,
                "neighbours": noise.neighbours,
                "cache": noise.cache,
                "rms": noise.rms,
            },
            "fingerprint": self.fingerprint.id,
            "scorers": {name: {"can": not lacking, "lacking": lacking} for name, lacking in self.scorers().items()},
        }

    def section(self) -> Section:
        """Return what a server says of itself, the checks, and the scorers, for people to read."""
        facts = self.facts
        server = ", ".join(filter(None, (facts.kind, facts.build, facts.quantisation)))
        # What a complaint costs stands first; what costs nothing is told below.
        costly = [complaint.text for complaint in self.dialect.complaints if complaint.cost]
        first = "; ".join([f"{self.name} at {self.origin} ({server}): {self.requests} requests", *costly])
        texts = [complaint.text for complaint in self.dialect.complaints if not complaint.cost]
        texts.append(f"noise floor: {self.noise.rms:.2g} nat")
        by_lack: dict[str, list[str]] = {}
        for name, lacking in self.scorers().items():
            by_lack.setdefault(lacking, []).append(name)
        for lacking, names in sorted(by_lack.items()):
            can = f"not supported: {', '.join(names)}: {lacking}" if lacking else f"supported: {', '.join(names)}"
            texts.append(can)
        checks = ((check.title, check.state, check.read) for check in self.checks)
        table = Table.of_texts({"check": "words", "": "name", "read": "words"}, checks)
        return Section("", (first, *texts), tables=(table,))
