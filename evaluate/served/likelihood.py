"""Exact log-likelihoods of sentences and of forced replies, by whatever way a server is proven to have.

`find_route` tries the ways in turn: ``prompt_logprobs``, ``echo``, a grammar of token literals, and tokens that are
forced one by one with ``logit_bias``. A server that answers 200 may have ignored what it was asked, so that each way is
believed only after `_prove`. A grammar of the text itself is no way: it lets a model cut the words as it never reads them.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice, takewhile
from typing import Any, NamedTuple, Protocol, TypeAlias

import numpy as np

from senseprobe.errors import ModelError
from senseprobe.evaluate.scorers.conversation import ReplyQuestion
from senseprobe.evaluate.served.client import Client, Response
from senseprobe.evaluate.served.wire import CHAT, DIALECTS, read_failure
from senseprobe.evaluate.units import EMPTY, NOT_FINITE, TOO_LONG

Ids: TypeAlias = tuple[int, ...]

PROMPT_LOGPROBS, ECHO, GRAMMAR, BIAS = "prompt_logprobs", "echo", "token grammar", "logit_bias"
PASSED, FAILED, NOT_ASKED = "passed", "failed", "not asked"

_COMPLETIONS, _NATIVE = "/v1/completions", "/completion"
_PROOF = ("The cat sat on the mat.", "The cat sat on the moon.")  # they begin alike, and end differently
_SAME = 0.1  # nats that a token may move between repeats: a server in 16 bits moves that much, one that lies far more
_FORCED_SAME = 1e-6  # between the grammar and logit_bias, which are two ways to the same number
_OVER_ZERO = 1e-6  # of a log-probability, by rounding
_BIAS = 1e4


class Query(NamedTuple):
    """Log P(`forced` | `given`) is asked for; neither is empty."""

    given: Ids
    forced: Ids


class Likelihood(NamedTuple):
    """The sum of log P over a text's tokens, in nats, how many tokens are in it, and bytes of UTF-8 they stand for."""

    log_prob: float
    tokens: float
    bytes: float


class Trial(NamedTuple):
    """How a way ended that was tried (`PASSED`, `FAILED`, `NOT_ASKED`), and what was read."""

    way: str
    state: str
    read: str


@dataclass(frozen=True, slots=True)
class Search:
    """What `find_route` came to: the route, None where no way is proven; and the trials, one for each way."""

    route: "Route | None"
    trials: tuple[Trial, ...]

    def trial(self, way: str) -> Trial:
        """Return the trial of a way."""
        return next(trial for trial in self.trials if trial.way == way)


class Route(Protocol):
    """A proven way to log-likelihoods.

    - `name`: of the way.
    - `start`: whether it knows what stands before a text (see `models.causal.CausalLM.start`); else only
      likelihoods without a start token are to be had.
    - `replies`: empty where replies can be forced; else why they cannot.
    """

    name: str
    start: bool
    replies: str

    def of_texts(self, texts: Sequence[str], *, start: bool = True) -> list[Likelihood | None]:
        """Return the likelihoods of texts; None where one has none (`why`). ModelError where `start` is unknown."""

    def of_replies(self, questions: Sequence[ReplyQuestion]) -> list[float | None]:
        """Return log P(reply | prompt) of each, in nats; None where it has none (`why`). ModelError without a way."""

    def why(self, text: str) -> str:
        """Return why a text, or a prompt, has no likelihood."""


def find_route(client: Client, kind: str) -> Search:
    """Return the first way to log-likelihoods that the server is proven to have; `kind`: as `wire.Dialect.kind`.

    Raise ModelError where the server does not answer at all.
    """
    raise NotImplementedError
