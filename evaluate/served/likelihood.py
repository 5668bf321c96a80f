"""Exact log-likelihoods of sentences and of forced replies, by whatever way a server is proven to have.

`find_route` tries the ways in turn: ``prompt_logprobs``, ``echo``, a grammar of token literals, and tokens that are
forced one by one with ``logit_bias``. A server that answers 200 may have ignored what it was asked, so that each way is
believed only once two sentences that begin alike have shown that it is what it should be (`_compare`). They are asked
one after the other: most ways that are ignored show it at the first.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice, takewhile
from typing import Any, NamedTuple, Protocol

from senseprobe.errors import ModelError
from senseprobe.evaluate.served.client import Client, Response
from senseprobe.evaluate.served.conversation import ReplyQuestion
from senseprobe.evaluate.served.forced_tokens import (
    BIAS,
    CACHED_BIAS,
    COMPLETIONS,
    ECHO,
    GRAMMAR,
    METHODS,
    NATIVE,
    PROMPT_LOGPROBS,
    Method,
    Query,
    UnreadError,
    UnscoredError,
    body_of,
    log_prob,
    read_echo,
)
from senseprobe.evaluate.served.server_facts import ServerFacts
from senseprobe.evaluate.served.server_tokenizer import LLAMA, PROOF, ServerTokenizer, find_tokenizer
from senseprobe.evaluate.units import EMPTY, NOT_FINITE

PASSED, FAILED, SKIPPED = "passed", "failed", "not asked"

_SAME = 0.1  # nats that a token may move between repeats: a server in 16 bits moves that much, one that lies far more
_COMPARED = 2  # tokens, each a request
_FORCED_SAME = 0.01  # between the grammar and logit_bias, two ways to one number: .003 on llama.cpp, by its batches


class Likelihood(NamedTuple):
    """The sum of log P over a text's tokens, in nats, how many tokens are in it, and bytes of UTF-8 they stand for."""

    log_prob: float
    tokens: float
    bytes: float


class Trial(NamedTuple):
    """How a way ended that was tried (`PASSED`, `FAILED`, `SKIPPED`), and what was read."""

    method: str
    state: str
    read: str


@dataclass(frozen=True, slots=True)
class Search:
    """What `find_route` came to: the route, None where no way is proven; and the trials, one for each way."""

    route: "Route | None"
    trials: tuple[Trial, ...]

    def trial(self, method: str) -> Trial:
        """Return the trial of a way."""
        return next(trial for trial in self.trials if trial.method == method)


class Route(Protocol):
    """A proven way to log-likelihoods.

    - `name`: of the way.
    - `start`: whether it knows what stands before a text (see `models.causal.CausalLM.start`).
    - `by_token`: whether each forced token is a request of its own, not each text.
    - `replies`: empty where replies can be forced; else why they cannot.
    """

    name: str
    start: bool
    by_token: bool
    replies: str

    def lacks(self, *, start: bool) -> str:
        """Return why texts have no likelihoods with, or without, a start token; empty where they have them."""

    def of_texts(self, texts: Sequence[str], *, start: bool = True) -> list[Likelihood | None]:
        """Return the likelihoods of texts; None where one has none (`why`). ModelError where it `lacks` them."""

    def of_replies(self, questions: Sequence[ReplyQuestion]) -> list[float | None]:
        """Return log P(reply | prompt) of each, in nats; None where it has none (`why`). ModelError without a way."""

    def why(self, text: str) -> str:
        """Return why a text, or a prompt, has no likelihood."""


def find_route(client: Client, facts: ServerFacts, turn: tuple[str, int] | None = None) -> Search:
    """Return the first way to log-likelihoods that the server is proven to have.

    `turn` is a prompt, and how many tokens the server counted in the chat request with it alone; None without chat.
    Nothing that is asked here is kept. Raise ModelError where the server does not answer at all.
    """
    tokenizer = find_tokenizer(client, facts)
    if tokenizer is None:  # an echo of texts, or nothing
        echo = _EchoRoute(client, keep=False)
        trial = _trial(ECHO, echo.prove)
        first, *rest = (
            Trial(name, SKIPPED, "the server has no /tokenize") for name in (PROMPT_LOGPROBS, GRAMMAR, BIAS)
        )
        return Search(_EchoRoute(client, start=echo.start) if trial.state == PASSED else None, (first, trial, *rest))
    trials: list[Trial] = []
    proven: _TokenRoute | None = None
    for method in METHODS:
        if proven is not None:
            trials.append(Trial(method.name, SKIPPED, f"not needed, because {proven.name} works"))
        elif method.path == NATIVE and facts.kind != LLAMA:
            trials.append(Trial(method.name, SKIPPED, "only llama.cpp has it"))
        else:
            route = _TokenRoute(client, method, tokenizer, keep=False)
            trials.append(_trial(method.name, route.prove))
            if trials[-1].state == PASSED:
                proven = _TokenRoute(client, method, tokenizer, replies=route.cannot_reply(turn))
    return Search(proven, tuple(trials))


def _trial(method: str, prove: Callable[[], str]) -> Trial:
    try:
        return Trial(method, PASSED, prove())
    except UnreadError as error:
        return Trial(method, FAILED, str(error))


# --- routes ---------------------------------------------------------------------------------------------------------


class _TokenRoute:
    """A way by tokens, with the tokens of the server. `keep`: whether answers are stored."""

    def __init__(
        self, client: Client, method: Method, tokenizer: ServerTokenizer, *, replies: str = "", keep: bool = True
    ) -> None:
        self.name, self.replies, self.start = method.name, replies, bool(tokenizer.start)
        self.by_token = method.name == BIAS
        self._client, self._method, self._tokenizer, self._keep = client, method, tokenizer, keep
        self._reasons: dict[str, str] = {}

    def lacks(self, *, start: bool) -> str:
        """Return why texts have no likelihoods with a start token; empty where they have them, or without one."""
        return _NO_START if start and not self.start else ""

    def of_texts(self, texts: Sequence[str], *, start: bool = True) -> list[Likelihood | None]:
        """Return the likelihoods of texts; None where one has none."""
        _require(self, start=start)
        tokenizer = self._tokenizer
        with _believed(self._client):
            before = tokenizer.start if start else ()
            tokens = tokenizer.encode(texts, keep=self._keep)
            queries = [Query(before or ids[:1], ids if before else ids[1:]) for ids in tokens]
            logs = self._logs(texts, queries)
            scored = [
                "" if token_logs is None else text if start else tokenizer.rest(text, ids[0])
                for text, ids, token_logs in zip(texts, tokens, logs, strict=True)
            ]
        return [_likelihood(token_logs, text) for token_logs, text in zip(logs, scored, strict=True)]

    def of_replies(self, questions: Sequence[ReplyQuestion]) -> list[float | None]:
        """Return log P(reply | prompt) of each; None where it has none."""
        if self.replies:
            raise ModelError(f"{self._client.address.origin} cannot be forced to give a reply: {self.replies}")
        distinct = list(dict.fromkeys(question.prompt for question in questions))
        with _believed(self._client):
            prompts = dict(zip(distinct, self._tokenizer.prompts(distinct, keep=self._keep), strict=True))
            forced = self._tokenizer.encode([question.reply for question in questions], keep=self._keep)
            queries = [Query(prompts[item.prompt], ids) for item, ids in zip(questions, forced, strict=True)]
            logs = self._logs([question.prompt for question in questions], queries)
        return [None if item is None else float(sum(item)) for item in logs]

    def why(self, text: str) -> str:
        """Return why a text, or a prompt, has no likelihood."""
        return self._reasons.get(text, NOT_FINITE)

    def prove(self) -> str:
        """Return what shows that the way is to be believed. `UnreadError` where it is not."""
        before = self._tokenizer.start
        first, second = (Query(before or ids[:1], ids if before else ids[1:]) for ids in self._tokenizer.proof)
        logs = _compare(self._proof(first), self._proof(second), _alike(first.forced, second.forced))
        if self._method.name == GRAMMAR:
            # One token after the other with the prompt cache on: the same batches as the grammar's.
            begun = Query(first.given, first.forced[:_COMPARED])
            biased = _TokenRoute(self._client, CACHED_BIAS, self._tokenizer, keep=False)._proof(begun)
            if (apart := _apart(logs, biased)) > _FORCED_SAME:
                raise UnreadError(f"the token grammar and logit_bias are {apart:.3g} nats apart")
        return f"{len(logs)} tokens, {sum(logs):.4f} nats"

    def cannot_reply(self, turn: tuple[str, int] | None) -> str:
        """Return why replies cannot be forced: where the chat route reads another number of tokens than we would."""
        if turn is None:
            return "the server does not chat, or does not return the number of tokens of a turn"
        prompt, read = turn
        try:
            (ids,) = self._tokenizer.prompts([prompt], keep=False)
        except (UnreadError, UnscoredError) as error:
            return str(error)
        return (
            ""
            if read == len(ids)
            else (f"a turn of {len(ids)} tokens by the template has {read} tokens by the server's count")
        )

    def _logs(self, texts: Sequence[str], queries: Sequence[Query]) -> list[list[float] | None]:
        """Return log P of each forced token of queries; None, with a reason for its text, where there is none."""
        values: list[list[float] | None] = []
        obstacles = [self._tokenizer.obstacle(query) for query in queries]
        answers = self._answers([query for query, why in zip(queries, obstacles, strict=True) if not why])
        for text, why in zip(texts, obstacles, strict=True):
            answer = why or next(answers)
            if isinstance(answer, str):
                self._reasons[text] = answer
            values.append(None if isinstance(answer, str) else answer)
        return values

    def _answers(self, queries: Sequence[Query]) -> Iterator[list[float] | str]:
        """Yield log P of each forced token of queries, or why there is none."""
        groups = [self._method.bodies(query) for query in queries]
        # llama.cpp's own route takes no model: it has one.
        name = {} if self._method.path == NATIVE else {"model": self._client.address.model}
        bodies = [{**name, **body} for group in groups for body in group]
        answers = iter(self._client.map(self._method.path, bodies, store=self._keep, retry=self._keep))
        for query, group in zip(queries, groups, strict=True):
            responses = list(islice(answers, len(group)))
            try:
                yield self._method.read(query, [body_of(self._client, response) for response in responses])
            except UnscoredError as error:
                yield str(error)

    def _proof(self, query: Query) -> list[float]:
        (answer,) = self._answers([query])
        if isinstance(answer, str):
            raise UnreadError(answer)
        return answer


class _EchoRoute:
    """An echo of texts, of a server that does not tell its tokens: they are those that it echoes."""

    name = ECHO
    by_token = False
    replies = "the server has no /tokenize"

    def __init__(self, client: Client, *, start: bool = False, keep: bool = True) -> None:
        self._client, self.start, self._keep = client, start, keep
        self._reasons: dict[str, str] = {}

    def lacks(self, *, start: bool) -> str:
        """Return why texts have no likelihoods with, or without, a start token: the server puts one there, or not."""
        puts = "the server puts a start token before each text: use a scorer with a start token, such as ll"
        return puts if self.start and not start else _NO_START if start and not self.start else ""

    def of_texts(self, texts: Sequence[str], *, start: bool = True) -> list[Likelihood | None]:
        """Return the likelihoods of texts; None where one has none."""
        _require(self, start=start)
        values: list[Likelihood | None] = []
        with _believed(self._client):
            for text, response in zip(texts, self._request_echoes(texts), strict=True):
                try:
                    tokens, logs = self._read(text, response)
                    scored = text if start else text[len(tokens[0]) :]
                    values.append(_likelihood([log_prob(value) for value in logs[1:]], scored))
                except UnscoredError as error:
                    self._reasons[text] = str(error)
                    values.append(None)
        return values

    def of_replies(self, questions: Sequence[ReplyQuestion]) -> list[float | None]:
        """Raise ModelError: replies are forced by tokens."""
        raise ModelError(f"{self._client.address.origin} cannot be forced to give a reply: {self.replies}")

    def why(self, text: str) -> str:
        """Return why a text has no likelihood."""
        return self._reasons.get(text, NOT_FINITE)

    def prove(self) -> str:
        """Return what shows that the way is to be believed. `UnreadError` where it is not."""
        try:
            read = [self._read(text, *self._request_echoes([text])) for text in PROOF]
            logs = [[log_prob(value) for value in row[1:]] for _, row in read]
        except UnscoredError as error:
            raise UnreadError(str(error)) from None
        (first, _), (second, _) = read
        self.start = "".join(first) != PROOF[0]
        agreed = _compare(logs[0], logs[1], _alike(first[1:], second[1:]))
        return f"{len(agreed)} tokens, {sum(agreed):.4f} nats"

    def _request_echoes(self, texts: Sequence[str]) -> list[Response]:
        more = {"model": self._client.address.model, "max_tokens": 1, "temperature": 0, "echo": True, "logprobs": 1}
        return self._client.map(
            COMPLETIONS, [{**more, "prompt": text} for text in texts], store=self._keep, retry=self._keep
        )

    def _read(self, text: str, response: Response) -> tuple[list[str], list[Any]]:
        """Return the tokens of an echo and their log-probabilities, the start token's among them."""
        tokens, logs = read_echo(body_of(self._client, response))
        if text not in ("".join(tokens), "".join(tokens[1:])):
            raise UnscoredError("the echoed tokens do not spell the text")
        if len(tokens) < 2:
            raise UnscoredError(EMPTY)
        return tokens, logs


def _likelihood(logs: list[float] | None, scored: str) -> Likelihood | None:
    """Return what log-probabilities of tokens come to, and the bytes of the characters that are scored."""
    return None if logs is None else Likelihood(float(sum(logs)), float(len(logs)), float(len(scored.encode())))


def _compare(first: list[float], second: list[float], alike: int) -> list[float]:
    """Return the first of two proofs: of a sentence, and of another whose first `alike` tokens are the same.

    `UnreadError` where they differ before they should or not where they should, or all are so near 0 that they are of
    tokens that are forced already.
    """
    if (moved := _apart(first[:alike], second[:alike])) > _SAME:
        raise UnreadError(f"the same tokens in the same context differ by {moved:.3g} nats")
    if _apart(first[alike:], second[alike:]) == 0:
        raise UnreadError("two different sentences get the same log-probabilities")
    if max(sum(first), sum(second)) > -1:
        raise UnreadError("the log-probabilities are those of forced tokens, which are all near 0")
    return first


def _apart(first: Sequence[float], second: Sequence[float]) -> float:
    """Return the greatest difference of two lists, as far as both go."""
    return max((abs(a - b) for a, b in zip(first, second, strict=False)), default=0.0)


def _alike(first: Sequence[object], second: Sequence[object]) -> int:
    """Return how many items two sequences have in common at their beginning."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(first, second, strict=False)))


_NO_START = "the server does not reveal a start token before a text: use a scorer without one, such as ll-no-start"


def _require(route: "_TokenRoute | _EchoRoute", *, start: bool) -> None:
    if lacks := route.lacks(start=start):
        raise ModelError(lacks)


@contextmanager
def _believed(client: Client) -> Iterator[None]:
    """Raise ModelError where a way that was proven is there no more."""
    try:
        yield
    except (UnreadError, UnscoredError) as error:
        raise ModelError(f"{client.address.origin} no longer answers as in the probe: {error}") from None
