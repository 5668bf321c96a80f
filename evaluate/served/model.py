"""A model behind a server, as scorers know models."""

import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any, Self, TypeVar

from senseprobe.errors import ModelError
from senseprobe.evaluate.models.base import hash_json
from senseprobe.evaluate.scorers.conversation import (
    PROMPTS,
    Answer,
    LabelQuestion,
    LabelWeights,
    ReplyQuestion,
    weights_of,
)
from senseprobe.evaluate.served import address, wire
from senseprobe.evaluate.served.address import DEFAULT, ServingOptions
from senseprobe.evaluate.served.answer_store import AnswerStore
from senseprobe.evaluate.served.capabilities import SAME, ProbeReport
from senseprobe.evaluate.served.client import Client, Response
from senseprobe.evaluate.served.fingerprint import Fingerprint, change
from senseprobe.evaluate.served.probe import probe, take_fingerprint
from senseprobe.evaluate.served.wire import CHAT, ChatAnswer, Unanswered, chat_body, read_chat, read_failure

T = TypeVar("T")
Say = Callable[[str], None]

REFUSED = "refused by the server"
NO_LABEL = "an empty answer"

# Requests after which the fingerprint is taken again.
_OFTEN = 1000
_NOT_TOLD = "not told"


class ServedModel:
    """A chat model (and, where its server gives exact log-likelihoods, a causal one) behind an address.

    `name`: its address; `report`: what the probe saw; `noise`: what contents differ by between repeats, in nats. To be
    used as a context manager, or closed.
    """

    keeps_answers = True

    def __init__(self, client: Client, report: ProbeReport, *, ability: str, store: Path | None, say: Say) -> None:
        self.client, self.report, self.ability, self._say = client, report, ability, say
        self.name = client.address.text
        self.noise = report.noise.rms
        self._reasons: dict[str, str] = {}
        self._changed = ""
        self._shown: dict[str, Any] | None = None
        self._fingerprint = report.fingerprint
        if client.options.stored:
            self._keep(store)
        self._compared_at = client.requests

    @classmethod
    def open(
        cls,
        spec: str,
        *,
        ability: str,
        options: ServingOptions = DEFAULT,
        store: Path | None = None,
        say: Say = lambda text: None,
    ) -> Self:
        """Open the model at an address, and probe its server; `store`: the folder of its answers, by default the cache.

        ModelError where there is no server, or one that can do no scorer of an ability: it names what it does not do.
        """
        client = Client(address.parse(spec), options, say=say)
        try:
            report = probe(client)
            _require(report, ability)
            _limit(client, report, say)
            return cls(client, report, ability=ability, store=store, say=say)
        except BaseException:
            client.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def close(self) -> None:
        """Close its connections, and the store of its answers."""
        self.client.close()
        if self.client.store is not None:
            self.client.store.close()

    @property
    def tolerance(self) -> float:
        """By how much the fingerprint may change, in nats."""
        return max(SAME, 3 * self.noise)

    @cached_property
    def identity(self) -> dict[str, str]:
        """What its answers depend on, as far as a server tells.

        ``weights``, ``config`` and ``tokenizer`` are hashes of what it says of itself; ``vector`` is the fingerprint.
        """
        return {**_stated(self.report), "vector": self._fingerprint.text}

    def lacking(self, scorer: str) -> str:
        """Return what its server does not do that a scorer needs; empty where it can be used."""
        return self.report.lacking(scorer)

    def portions(self, items: Sequence[T]) -> Iterator[Sequence[T]]:
        """Yield what is asked in one go: as many units as there are requests at a time."""
        size = max(1, self.client.concurrency)
        yield from (items[start : start + size] for start in range(0, len(items), size))

    # --- chat ---------------------------------------------------------------------------------------------------------

    def weigh_labels(self, questions: Sequence[LabelQuestion]) -> list[LabelWeights | None]:
        """Return what the model gives to the labels of each question; None where it has no answer (`why`)."""
        self._demand("choice-likely")
        if not self.report.tops:
            return self._decide(questions)
        weights: list[LabelWeights | None] = []
        for question, answer in zip(questions, self._chat(questions), strict=True):
            if answer is not None and answer.reasoning:
                raise ModelError(f"{self.name} thinks before it answers, which the probe did not see: score text-likely")
            if answer is not None and answer.text.strip() and not answer.tops:
                raise ModelError(f"{self.name} gave no log-probabilities, as it did in the probe")
            if answer is not None and not answer.tops:
                self._reasons[question.prompt] = REFUSED if answer.refused else NO_LABEL
            usable = answer is not None and answer.tops and not answer.refused
            if answer is not None and answer.refused:
                self._reasons[question.prompt] = REFUSED
            weights.append(weights_of(answer.tops, question.labels) if answer and usable else None)
        return weights

    def answer(self, prompts: Sequence[LabelQuestion]) -> list[Answer | None]:
        """Return greedy answers, without what is thought before; None where there is none (`why`)."""
        self._demand("text-likely")
        return [
            Answer(answer.text, answer.refused) if answer is not None else self._refusal(question.prompt)
            for question, answer in zip(prompts, self._chat(prompts), strict=True)
        ]

    def _refusal(self, prompt: str) -> Answer | None:
        """Return the answer to a prompt that the server declines, None where it is too long."""
        return Answer("", refused=True) if self._reasons.get(prompt) == REFUSED else None

    def _chat(self, questions: Sequence[LabelQuestion]) -> list[ChatAnswer | None]:
        bodies = [chat_body(question.prompt, self.report.model, self.report.dialect) for question in questions]
        answers: list[ChatAnswer | None] = []
        for question, response in zip(questions, self._map(CHAT, bodies), strict=True):
            read = read_chat(response.body) if response.status == 200 else self._declined(response)
            if isinstance(read, Unanswered):
                self._reasons[question.prompt] = REFUSED if read.refused else read.reason
                answers.append(None)
            else:
                self._recognise(read)
                answers.append(read)
        return answers

    def _decide(self, questions: Sequence[LabelQuestion]) -> list[LabelWeights | None]:
        decision = self.report.decision
        if decision is None:
            raise ModelError(f"{self.name}: {self.report.failed('logprobs', 'decisions')}")
        bodies = [wire.decision_body(decision, own.prompt, own.labels, self.report.model) for own in questions]
        weights: list[LabelWeights | None] = []
        for question, response in zip(questions, self._map(decision.path, bodies), strict=True):
            read: LabelWeights | Unanswered
            if response.status == 200:
                read = wire.read_decision(response.body, question.labels)
            else:
                read = self._declined(response)
            if isinstance(read, Unanswered):
                self._reasons[question.prompt] = REFUSED if read.refused else read.reason
            weights.append(None if isinstance(read, Unanswered) else read)
        return weights

    def _map(self, path: str, bodies: Sequence[dict[str, Any]]) -> list[Response]:
        """Ask, show the first as it was sent, and look from time to time whether it is still the same model."""
        self._shown = self._shown or next(iter(bodies), None)
        responses = self.client.map(path, bodies)
        if self.client.requests - self._compared_at >= _OFTEN:
            self._compare()
        return responses

    def _declined(self, response: Response) -> Unanswered:
        try:
            return read_failure(response.status, response.body)
        except ModelError:
            raise ModelError(f"{self.name} declines a request: {self.client.reason(response)}") from None

    # --- likelihoods --------------------------------------------------------------------------------------------------

    def weigh_replies(self, questions: Sequence[ReplyQuestion]) -> list[float | None]:
        """Return log P(reply | prompt) of each forced reply, in nats; None where it has none (`why`)."""
        self._demand("answer-likely")
        route = self.report.route
        if route is None:
            raise ModelError(f"{self.name} has no likelihoods")
        logs = route.of_replies(questions)
        for question, log in zip(questions, logs, strict=True):
            if log is None:
                self._reasons[question.prompt] = route.why(question.prompt)
        self._compare_often()
        return logs

    def likelihoods(self, texts: Sequence[str], *, start: bool) -> list[tuple[float, float, float] | None]:
        """Return of each text the sum of log P of its tokens in nats, its tokens and its bytes; None without (`why`)."""
        self._demand("ll")
        route = self.report.route
        if route is None:
            raise ModelError(f"{self.name} has no likelihoods")
        found = route.of_texts(texts, start=start)
        for text, own in zip(texts, found, strict=True):
            if own is None:
                self._reasons[text] = route.why(text)
        self._compare_often()
        return [None if own is None else (own.log_prob, own.tokens, own.bytes) for own in found]

    # --- what it is ---------------------------------------------------------------------------------------------------

    def why(self, prompt: str) -> str:
        """Return why a prompt, or a text, has no answer; empty where it has one."""
        return self._reasons.get(prompt, "")

    def shown(self) -> str:
        """Return the first prompt as it was sent, as JSON; empty where none was."""
        return json.dumps(self._shown, ensure_ascii=False, indent=2) if self._shown else ""

    def drift(self) -> str:
        """Take the fingerprint again, and return what changed since the model was opened; empty where nothing did."""
        if not self._changed and self.client.requests > self._compared_at:
            self._compare()
        return self._changed
