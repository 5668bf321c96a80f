"""What a run would ask of a served model: requests, tokens and money, before a row is asked.

release -> rows -> questions -> distinct requests, less those whose answer is stored -> tokens -> money
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from math import ceil, floor, sqrt
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from senseprobe.document import Section, Table
from senseprobe.errors import ModelError
from senseprobe.evaluate.scorers import Scorer
from senseprobe.evaluate.served.client import Client
from senseprobe.evaluate.served.conversation import REPLY_TOKENS, ControlItem, ReplyQuestion
from senseprobe.evaluate.served.json_values import list_or_empty, object_or_empty
from senseprobe.evaluate.served.model import ServedModel
from senseprobe.evaluate.served.server_tokenizer import LLAMA
from senseprobe.evaluate.served.wire import CHAT, Dialect, chat_body, read_chat
from senseprobe.evaluate.units import Unit

SAMPLE = 50
"""Prompts of which the server's tokenizer counts the tokens."""

Range: TypeAlias = tuple[float, float]

_PROBES = ("Say yes.", "Say yes. " + "The quick brown fox jumps over the lazy dog, and nobody minds. " * 6)
"""Prompts without a word of a release: the ``usage`` tells what a template adds, and a letter takes."""

_LETTERS = (6.0, 2.0)
"""Letters of a token, at most and at least, where no server counts: languages and tokenizers differ."""

_TEMPLATE = (4.0, 40.0)
"""Tokens that a chat template adds to a prompt, at least and at most, where no server tells."""

_UNLIKE = 0.25
"""The share by which texts of a release may have more or fewer tokens per letter than `_PROBES`."""


class Plan(NamedTuple):
    """What a scorer is to ask about: distinct units, and the items of its control."""

    scorer: Scorer
    units: Sequence[Unit]
    items: Sequence[ControlItem] = ()


class Request(NamedTuple):
    """A user's turn, or a text that is forced, or both."""

    prompt: str
    forced: str = ""


@dataclass(frozen=True, slots=True)
class Estimate:
    """What a run would ask.

    - `requests`: how many, by scorer: distinct ones; one that two scorers share is the first one's. Where each token
      is forced by a request of its own (``logit_bias``), they are as many as the text's tokens.
    - `stored`: how many of them have an answer already, and are not asked.
    - `read`, `written`: tokens of those that are asked, at least and at most.
    - `basis`: how tokens were counted; `sent`: whether sentences of the release were sent for that.
    - `price`: of a million tokens read, and written; None where nobody says.
    """

    model: str
    release: str
    requests: Mapping[str, int]
    stored: int
    read: tuple[int, int]
    written: tuple[int, int]
    basis: str
    sent: bool
    price: tuple[float, float] | None = None

    @property
    def asked(self) -> int:
        """How many requests are asked."""
        return sum(self.requests.values()) - self.stored

    @property
    def money(self) -> Range | None:
        """What they cost, at least and at most; None without a price."""
        if self.price is None:
            return None
        a, b = self.price
        return (a * self.read[0] + b * self.written[0]) / 1e6, (a * self.read[1] + b * self.written[1]) / 1e6

    def as_dict(self) -> dict[str, object]:
        """Return it as JSON has it."""
        return {**asdict(self), "asked": self.asked, "money": self.money}

    def section(self) -> Section:
        """Return the table that people read, and how tokens were counted."""
        rows = [(f"requests of {name}", f"{number:,}") for name, number in self.requests.items()]
        rows += [("stored answers", f"{self.stored:,}"), ("requests to be sent", f"{self.asked:,}")]
        rows += [("tokens read", _between(*self.read)), ("tokens written", _between(*self.written))]
        if self.money is not None:
            rows.append(("money, by --price", _between(*self.money, digits=2)))
        note = f"tokens are counted by {self.basis}; no row was scored"
        table = Table.of_texts({"": "name", "number": "number"}, rows, note=note)
        return Section("", (f"{self.release} by {self.model}",), tables=(table,))


def _between(low: float, high: float, digits: int = 0) -> str:
    texts = [f"{number:,.{digits}f}" for number in (low, high)]
    return texts[0] if texts[0] == texts[1] else " to ".join(texts)


# --- requests ---------------------------------------------------------------------------------------------------------


def requests_of(plans: Sequence[Plan]) -> dict[str, list[Request]]:
    """Return the distinct requests by scorer; one that two of them share is the first one's."""
    seen: set[Request] = set()
    requests: dict[str, list[Request]] = {}
    for scorer, units, items in plans:
        if scorer.ability == "chat":
            questions = [question for unit in units for question in scorer.task.of(unit.text, unit.beside)]
            questions += scorer.task.of_items(items)
            of_scorer = [Request(q.prompt, q.reply if isinstance(q, ReplyQuestion) else "") for q in questions]
        else:
            of_scorer = [Request("", text) for unit in units for text in scorer.asks(unit)]
        requests[scorer.id] = [request for request in dict.fromkeys(of_scorer) if request not in seen]
        seen.update(of_scorer)
    return requests


def estimate(
    model: ServedModel, release: str, plans: Sequence[Plan], *, may_send: bool, price: tuple[float, float] | None = None
) -> Estimate:
    """Return what a run with an opened model would ask by `plans`.

    `may_send`: whether up to `SAMPLE` prompts of the release may go to the server's tokenizer, to be counted; where
    tokens are requests, a server on this machine counts all texts, and requests to another are at most those told.
    """
    requests = requests_of(plans)
    counter = TokenCounter(model.client, model.report.model, model.report.dialect, may_send=may_send)
    route = model.report.route
    parts: dict[Request, int] = {}
    for request in (request for group in requests.values() for request in group):
        by_token = request.forced and route is not None and route.by_token
        parts[request] = counter.tokens_of(request.forced) if by_token else 1
    unstored = {}  # whether the answer to a forced text is stored is not looked up
    for request, number in parts.items():
        body = chat_body(request.prompt, model.report.model, model.report.dialect)
        if request.forced or not model.client.is_stored(CHAT, body):
            unstored[request] = number
    texts: list[str] = []
    for request, number in unstored.items():
        # What the model reads: all at once, or what stands before each of the tokens that are forced alone.
        lengths = [len(request.forced) * index // number for index in range(number)] if number != 1 else [None]
        texts += [request.prompt + request.forced[:length] for length in lengths]
    read = counter.count(texts)
    forced = [request.forced for request in unstored if request.forced]
    written = counter.count(forced, template=False)[1] + (len(unstored) - len(forced)) * REPLY_TOKENS
    numbers = {name: sum(parts[request] for request in group) for name, group in requests.items()}
    return Estimate(
        model=model.name,
        release=release,
        requests=numbers,
        stored=sum(parts.values()) - sum(unstored.values()),
        read=(floor(read[0]), ceil(read[1])),
        # A label is one token; of forced texts, some servers count what they are made to write.
        written=(sum(unstored.values()), ceil(max(written, sum(unstored.values())))),
        basis=counter.basis,
        sent=counter.sent,
        price=price,
    )


# --- tokens -----------------------------------------------------------------------------------------------------------


class TokenCounter:
    """Counts tokens of prompts by whatever a server tells: its tokenizer, the ``usage`` of answers, or nothing.

    - `may_send`: whether up to `SAMPLE` prompts of a release may go to the tokenizer.
    - `basis`: by what it counts, in words; `sent`: whether prompts of a release were sent.
    """

    def __init__(self, client: Client, model: str, dialect: Dialect, *, may_send: bool) -> None:
        self._client, self._model, self._dialect = client, model, dialect
        lengths = [self._tokenized(prompt) for prompt in _PROBES]
        self._usage = [self._used(prompt) for prompt in _PROBES]
        self._tokenizes = may_send and None not in lengths
        self.sent = False
        self._template: Range = _TEMPLATE
        if lengths[0] is not None and self._usage[0] is not None:
            self._template = (float(self._usage[0] - lengths[0]),) * 2
        self.basis = (
            f"the number of letters, {_LETTERS[1]:g} to {_LETTERS[0]:g} per token, because the server returns no counts"
        )
        if self._tokenizes:
            self.basis = f"the server's tokenizer, on at most {SAMPLE} prompts"
        elif self._line is not None:
            self.basis = f"the server's counts for two other prompts, plus or minus {_UNLIKE:.0%}"

    @property
    def _line(self) -> tuple[float, float] | None:
        """Tokens of a letter, and of the template, by the ``usage`` of two prompts; None without."""
        short, long = self._usage
        if short is None or long is None or long <= short:
            return None
        slope = (long - short) / (len(_PROBES[1]) - len(_PROBES[0]))
        return slope, max(0.0, short - slope * len(_PROBES[0]))

    def count(self, texts: Sequence[str], *, template: bool = True) -> Range:
        """Return how many tokens texts have, at least and at most, each with the template around it if asked for."""
        letters, number = sum(map(len, texts)), len(texts) if template else 0
        if not texts:
            return 0.0, 0.0
        if self._tokenizes and (ratio := self._sampled(texts)) is not None:
            return ratio[0] * letters + self._template[0] * number, ratio[1] * letters + self._template[1] * number
        if (line := self._line) is not None:
            slope, around = line
            return slope * (1 - _UNLIKE) * letters + around * number, slope * (1 + _UNLIKE) * letters + around * number
        return letters / _LETTERS[0] + _TEMPLATE[0] * number, letters / _LETTERS[1] + _TEMPLATE[1] * number

    def tokens_of(self, text: str) -> int:
        """Return how many tokens a text has: exactly by a server on this machine, else at most.

        To another machine no more goes than a sample, which is what was said before.
        """
        if self._tokenizes and self._client.address.is_loopback and (number := self._tokenized(text)) is not None:
            self.sent = True
            return number
        return ceil(self.count([text], template=False)[1])

    def _sampled(self, texts: Sequence[str]) -> Range | None:
        """Return tokens per letter by a sample, its mean and two standard errors; exact where all are in the sample."""
        whole = len(texts) <= SAMPLE
        picked = range(len(texts)) if whole else np.random.default_rng(0).permutation(len(texts))[:SAMPLE]
        sample = [texts[number] for number in picked]
        self.sent = True
        counts = [self._tokenized(text) for text in sample]
        if None in counts:
            return None
        letters, tokens = np.array([len(text) for text in sample], float), np.array(counts, float)
        ratio = float(tokens.sum() / letters.sum())
        # The standard error of a ratio of means (Cochran 1977, section 2.11).
        residuals = tokens - ratio * letters
        error = 0.0 if whole else sqrt(residuals.var(ddof=1) / SAMPLE) / float(letters.mean())
        return ratio - 2 * error, ratio + 2 * error

    def _tokenized(self, text: str) -> int | None:
        """Return how many tokens the server's tokenizer makes of a text; None where it has none."""
        if self._dialect.kind == LLAMA:
            body: dict[str, Any] = {"content": text, "add_special": False}
        else:
            body = {"model": self._model, "prompt": text, "add_special_tokens": False}
        response = self._client.post("/tokenize", body, store=False, retry=False)
        body = object_or_empty(response.body) if response.status == 200 else {}
        return len(list_or_empty(body.get("tokens"))) or None

    def _used(self, prompt: str) -> int | None:
        """Return how many tokens a user's turn has with its template, as the answer says; None where it does not."""
        body = chat_body(prompt, self._model, self._dialect, **{self._dialect.limit: 1})
        response = self._client.post(CHAT, body, store=False)
        try:
            return read_chat(response.body).read or None
        except ModelError:  # no chat completion: nothing is counted
            return None
