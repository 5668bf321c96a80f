"""A model behind a server, as scorers know models."""

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, Self, TypeVar

from senseprobe.errors import ModelError
from senseprobe.evaluate.served import address, wire
from senseprobe.evaluate.served.address import DEFAULT, ServingOptions
from senseprobe.evaluate.served.answer_store import AnswerStore
from senseprobe.evaluate.served.capabilities import LIKELIHOODS, SAME, ProbeReport
from senseprobe.evaluate.served.client import Client
from senseprobe.evaluate.served.conversation import (
    PROMPTS,
    Answer,
    LabelQuestion,
    LabelWeights,
    ReplyQuestion,
    weights_of,
)
from senseprobe.evaluate.served.fingerprint import Fingerprint, change
from senseprobe.evaluate.served.json_values import model_name
from senseprobe.evaluate.served.probe import probe, take_fingerprint
from senseprobe.evaluate.served.task_records import TaskCheck
from senseprobe.evaluate.served.wire import CHAT, ChatAnswer, chat_body, read_chat, read_failure

T = TypeVar("T")
Notify = Callable[[str], None]

REFUSED = "refused by the server"
NO_ANSWER = "an empty answer"
ELSEWHERE = "its answer begins with other blanks than in the probe"
STOPPED = "not asked, since the model had changed"

# Requests after which the fingerprint is taken again.
_OFTEN = 1000
_UNREPORTED = "not told"


class ServedModel:
    """A chat model (and, where its server gives exact log-likelihoods, a causal one) behind an address.

    `name`: its address; `report`: the report of the probe; `noise`: the difference of contents between repeats, in
    nats. To be used as a context manager, or closed.
    """

    keeps_answers = True
    task_check = TaskCheck

    def __init__(
        self, client: Client, report: ProbeReport, *, ability: str, store: Path | None, notify: Notify
    ) -> None:
        self.client, self.report, self.ability, self._notify = client, report, ability, notify
        self.name = client.address.text
        self.noise = report.noise.rms
        self._reasons: dict[str, str] = {}
        self._changed = ""
        self._first_body: dict[str, Any] | None = None
        self._fingerprint = report.fingerprint
        self._book: _Book | None = None
        if client.options.stored:
            server_key = _hash(_describe_server(report))
            self._book = _Book(store, server_key, notify)
            number, self._fingerprint = self._book.find(report.fingerprint, self.tolerance)
            client.store = AnswerStore(store, f"{server_key} {number}", notify)
        self._compared_at = client.requests

    @classmethod
    def open(
        cls,
        spec: str,
        *,
        ability: str,
        options: ServingOptions = DEFAULT,
        store: Path | None = None,
        notify: Notify = lambda text: None,
    ) -> Self:
        """Open the model at an address, and probe its server; `store`: the folder of its answers, by default the cache.

        Raise ModelError without a server, or if the server supports no scorer of the ability; the message says why.
        """
        client = Client(address.parse(spec), options, notify=notify)
        try:
            report = probe(client)
            _require(report, ability)
            for complaint in report.dialect.complaints:
                if complaint.cost:
                    notify(complaint.text)
            _limit(client, report, notify)
            return cls(client, report, ability=ability, store=store, notify=notify)
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
        for store in (self._book, self.client.store):
            if store is not None:
                store.close()

    @property
    def tolerance(self) -> float:
        """Return by how much the fingerprint may change, in nats.

        With few repeats, the largest change is known better than their spread, and is rarely small by chance.
        """
        return max(SAME, 3 * self.report.noise.most)

    @cached_property
    def identity(self) -> dict[str, str]:
        """Return what its answers depend on, as far as the server states it.

        ``weights``, ``config`` and ``tokenizer`` are hashes of the server's statements; ``vector`` is the fingerprint.
        """
        # A server may alternate between systems, so answers are stored and found without them.
        systems = ", ".join(filter(None, self.report.systems))
        return {**_describe_server(self.report), "system": systems or _UNREPORTED, "vector": self._fingerprint.text}

    def lacking(self, scorer: str) -> str:
        """Return what the server lacks for a scorer; empty if the scorer can be used."""
        return self.report.lacking(scorer)

    def _demand(self, scorer: str) -> None:
        if lacking := self.lacking(scorer):
            raise ModelError(f"{self.name} cannot be scored with {scorer}: {lacking}")

    def portions(self, items: Sequence[T]) -> Iterator[Sequence[T]]:
        """Yield batches of as many units as there are parallel requests."""
        size = max(1, self.client.concurrency)
        yield from (items[start : start + size] for start in range(0, len(items), size))

    # --- chat ---------------------------------------------------------------------------------------------------------

    def weigh_labels(self, questions: Sequence[LabelQuestion]) -> list[LabelWeights | None]:
        """Return the weights of the labels of each question; None without an answer (`why` has the reason)."""
        self._demand("choice-likely")
        answers = zip(questions, self._chat(questions), strict=True)
        return [self._weights(question, answer) if answer else None for question, answer in answers]

    def _weights(self, question: LabelQuestion, answer: ChatAnswer) -> LabelWeights | None:
        """Return the weights of labels in an answer. Raise ModelError if the server behaves unlike in the probe."""
        if wire.thinks(answer):
            raise ModelError(f"{self.name} thinks before it answers, as it did not in the probe: score text-likely")
        label_offset = self.report.dialect.label_offset
        if label_offset and answer.before != label_offset and not answer.refused:
            self._reasons[question.prompt] = ELSEWHERE
            return None
        if answer.tops and not answer.refused:
            return weights_of(answer.tops, question.labels)
        if not answer.refused and answer.text.strip():
            raise ModelError(f"{self.name} returned an answer without log-probabilities, unlike in the probe")
        self._reasons[question.prompt] = REFUSED if answer.refused else NO_ANSWER
        return None

    def answer(self, prompts: Sequence[LabelQuestion]) -> list[Answer | None]:
        """Return greedy answers, without what is thought before; None where there is none (`why`)."""
        self._demand("text-likely")
        answers: list[Answer | None] = []
        for question, answer in zip(prompts, self._chat(prompts), strict=True):
            # To decline a prompt is an answer, too, but where it is too long.
            declined = Answer("", refused=True) if self._reasons.get(question.prompt) == REFUSED else None
            answers.append(declined if answer is None else Answer(answer.text, answer.refused))
        return answers

    def _has_stopped(self, prompts: Iterable[str]) -> bool:
        """Return whether the model changed, so that nothing more is asked, and note of prompts that they are not."""
        if self._changed:
            self._reasons.update(dict.fromkeys(prompts, STOPPED))
        return bool(self._changed)

    def _chat(self, questions: Sequence[LabelQuestion]) -> list[ChatAnswer | None]:
        if self._has_stopped(question.prompt for question in questions):
            return [None] * len(questions)
        bodies = [chat_body(question.prompt, self.report.model, self.report.dialect) for question in questions]
        self._first_body = self._first_body or next(iter(bodies), None)
        responses = self.client.map(CHAT, bodies)
        self._compare_often()
        answers: list[ChatAnswer | None] = []
        for question, response in zip(questions, responses, strict=True):
            answer = read_chat(response.body, self.report.dialect.label_offset) if response.status == 200 else None
            if answer is not None:
                self._recognise(answer, stored=response.stored)
            else:
                try:
                    failure = read_failure(response.status, response.body)
                except ModelError:
                    raise ModelError(f"{self.name} declines a request: {self.client.reason(response)}") from None
                self._reasons[question.prompt] = REFUSED if failure.refused else failure.reason
            answers.append(answer)
        return answers

    # --- likelihoods --------------------------------------------------------------------------------------------------

    def weigh_replies(self, questions: Sequence[ReplyQuestion]) -> list[float | None]:
        """Return log P(reply | prompt) of each forced reply, in nats; None without one (`why` has the reason)."""
        self._demand("answer-likely")
        route = self.report.route
        if route is None:
            raise ModelError(f"{self.name} has no likelihoods")
        if self._has_stopped(question.prompt for question in questions):
            return [None] * len(questions)
        logs = route.of_replies(questions)
        for question, log in zip(questions, logs, strict=True):
            if log is None:
                self._reasons[question.prompt] = route.why(question.prompt)
        self._compare_often()
        return logs

    def likelihoods(self, texts: Sequence[str], *, start: bool) -> list[tuple[float, float, float] | None]:
        """Return for each text the sum of log P in nats, tokens and bytes; None without them (`why` has the reason)."""
        self._demand("ll" if start else "ll-no-start")
        route = self.report.route
        if route is None:
            raise ModelError(f"{self.name} has no likelihoods")
        if self._has_stopped(texts):
            return [None] * len(texts)
        scored = route.of_texts(texts, start=start)
        for text, answer in zip(texts, scored, strict=True):
            if answer is None:
                self._reasons[text] = route.why(text)
        self._compare_often()
        return [None if answer is None else (answer.log_prob, answer.tokens, answer.bytes) for answer in scored]

    # --- what it is ---------------------------------------------------------------------------------------------------

    def why(self, prompt: str) -> str:
        """Return why a prompt or a text has no answer; empty if it has one."""
        return self._reasons.get(prompt, "")

    def dump_first_prompt(self) -> str:
        """Return the first prompt as it was sent, as JSON; empty if none was sent."""
        return json.dumps(self._first_body, ensure_ascii=False, indent=2) if self._first_body else ""

    def drift(self) -> str:
        """Take the fingerprint again, and return what changed since the model was opened; empty without a change."""
        if not self._changed and self.client.requests > self._compared_at:
            self._compare()
        return self._changed

    def _compare_often(self) -> None:
        if self.client.requests - self._compared_at >= _OFTEN:
            self._compare()

    def _compare(self) -> None:
        """Take the fingerprint again. If it changed, stop storing answers, and never reuse the stored ones."""
        try:
            now = take_fingerprint(self.client, self.report).text
            changed = change(self._fingerprint.text, now, self.tolerance)
        except ModelError as error:
            changed = f"its fixed prompts are not answered any more: {error}"
        self._compared_at = self.client.requests
        if changed:
            self._note_change(changed)

    def _recognise(self, answer: ChatAnswer, *, stored: bool) -> None:
        """Check the name of the model that answered: a name that the probe did not see is another model."""
        named = [(answer.model, self.report.answered)]
        if not stored and len(self.report.systems) == 1:
            named.append((answer.system, self.report.systems))
        for name, before in named:
            if name not in before:
                self._note_change(
                    f"{before[0] or 'a model without a name'} answered first, {name or 'a model without a name'} later"
                )

    def _note_change(self, changed: str) -> None:
        if self._changed:
            return
        self._changed = changed
        self._notify(
            f"the model behind {self.name} changed: {changed}. No more requests are sent, and the figures are withheld"
        )
        if self._book is not None:
            self._book.retire()
        if self.client.store is not None:
            self.client.store.close()
            self.client.store = None


class _Book:
    """The numbered fingerprints under which answers of a server were stored; one within the tolerance is used again.

    Noise changes the digits of a fingerprint, so it cannot be its own key.
    """

    def __init__(self, folder: Path | None, server_key: str, notify: Notify) -> None:
        self._store = AnswerStore(folder, f"fingerprints of {server_key}", notify)
        self._number = 0

    def find(self, fingerprint: Fingerprint, tolerance: float) -> tuple[int, Fingerprint]:
        """Return number and digits of the fingerprint that matches `own`; without a match, add `own`."""
        while isinstance(text := self._get("seen"), str):
            if self._get("retired") is None and not change(text, fingerprint.text, tolerance):
                return self._number, Fingerprint.parse(text)
            self._number += 1
        self._add("seen", fingerprint.text)
        return self._number, fingerprint

    def retire(self) -> None:
        """Never use the found one again, because answers of another model were stored under it."""
        self._add("retired", True)

    def close(self) -> None:
        """Close the file."""
        self._store.close()

    def _key(self, what: str) -> bytes:
        return self._store.key(what, str(self._number), b"")

    def _get(self, what: str) -> object:
        return self._store.get(self._key(what))

    def _add(self, what: str, value: object) -> None:
        self._store.add(self._key(what), value)


def _hash(value: object) -> str:
    """Return the sha256 of a value as JSON; that of `models.base` would load torch, which a server makes needless."""
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()


def _describe_server(report: ProbeReport) -> dict[str, str]:
    """Return what a server states about itself; long values are hashed, and paths cut to the file name."""
    facts = report.facts
    requested, answered = model_name(report.model), ", ".join(report.answered)
    form, dialect = facts.quantisation or _UNREPORTED, report.dialect
    # Left out where it is as with most servers: the answers of these are kept under a name without it.
    more = [dialect.temperature, dialect.label_offset] if dialect.temperature or dialect.label_offset else []
    return {
        "origin": report.origin,
        "asked": requested,
        "answered": answered,
        "server": " ".join(filter(None, (facts.kind, facts.build))),
        "weights": _hash([report.origin, requested, answered, form]),
        "config": _hash([facts.kind, facts.build, PROMPTS, dialect.limit, dialect.without, *more]),
        "tokenizer": facts.template_hash or _UNREPORTED,
        "dtype": form,
        "prompts": str(PROMPTS),
    }


def _require(report: ProbeReport, ability: str) -> None:
    """Raise ModelError if a server supports no scorer of an ability."""
    scorers = {"causal": LIKELIHOODS, "chat": ("choice-likely", "text-likely", "answer-likely")}[ability]
    lacking = [report.lacking(scorer) for scorer in scorers]
    if all(lacking):
        why = (report.why_none() if ability == "chat" else "") or ". ".join(dict.fromkeys(lacking))
        raise ModelError(f"{report.origin} cannot be scored: {why}")


def _limit(client: Client, report: ProbeReport, notify: Notify) -> None:
    """Limit parallel requests to the server's slots, and to one if parallel requests change answers."""
    if report.facts.slots:
        client.limit_slots(report.facts.slots)
    if client.concurrency > 1 and not report.concurrent and not client.options.accept_noise:
        client.limit_slots(1)
        notify(
            "sending one request at a time: parallel requests may change an answer "
            f"({report.check('repeats').read}); --accept-noise sends several"
        )
