"""The probe of a server: what is asked before a row is, so that nothing is inferred from a status of 200."""

import math
import zlib
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import numpy as np

from senseprobe.errors import ModelError
from senseprobe.evaluate.served import likelihood, wire
from senseprobe.evaluate.served.address import key_of
from senseprobe.evaluate.served.capabilities import CHECKS, SAME, Check, Noise, ProbeReport
from senseprobe.evaluate.served.client import Client, Response
from senseprobe.evaluate.served.complaints import is_fixed_at_1
from senseprobe.evaluate.served.conversation import weights_of
from senseprobe.evaluate.served.fingerprint import (
    Fingerprint,
    fixed_questions,
    fixed_sentences,
    root_mean_square,
)
from senseprobe.evaluate.served.forced_tokens import BIAS, ECHO, GRAMMAR, PROMPT_LOGPROBS
from senseprobe.evaluate.served.json_values import model_name
from senseprobe.evaluate.served.label_places import count_lead_tokens, fault_of_places, fault_of_tops
from senseprobe.evaluate.served.likelihood import FAILED, PASSED, SKIPPED
from senseprobe.evaluate.served.server_facts import read_facts
from senseprobe.evaluate.served.wire import CHAT, ChatAnswer, chat_body, read_chat
from senseprobe.messages import counted

# More than this much between repeats is no noise: something else answers.
_ANOTHER = 1.0
_NEIGHBOURS = 4
# Longer prompts than this are not sent to see that they are refused.
_LONGEST_TRIED = 200_000
_OTHER_PROMPTS = ("Name three colours.", "What is the capital of France?")
_TRIED = 3
# Tokens that a model may think and answer with, where thinking cannot be switched off.
_THOUGHT = 2048


def probe(client: Client) -> ProbeReport:
    """Ask a server what shows what it does, in some thirty requests.

    ModelError where it does not answer at all, or does not say which of its models is meant.
    """
    return _Probe(client).report()


class _Probe:
    """A probe at work: what it knows so far."""

    def __init__(self, client: Client) -> None:
        self.client = client
        self.before = client.requests
        self.facts = read_facts(client)
        self.model = _meant(client.address.model, self.facts.models, client.address.origin)
        self.dialect = wire.DIALECTS[self.facts.kind]
        self.questions = fixed_questions()
        self.heard: list[ChatAnswer] = []
        self.repeated: list[ChatAnswer] = []
        self.faults: list[str] = []
        self.checks: dict[str, Check] = {}

    def report(self) -> ProbeReport:
        """Send all requests of the probe, in this order."""
        opening = self._opening()
        alone: list[ChatAnswer | None] = [opening] if opening else []
        noise, concurrent, whole = Noise(), False, True
        if opening:
            whole = self._state("logprobs") != PASSED
            alone += [self._ask(question.prompt, whole=whole) for question in self.questions[1:]]
            if not whole and (fault := fault_of_places(alone, self.dialect.label_offset)):
                self._note("logprobs", FAILED, fault)
                whole, alone = True, [self._ask(question.prompt, whole=True) for question in self.questions]
            noise, concurrent = self._noise(alone)
            self._check_raw(opening)
            self._check_others(opening)
        self._check_answers()
        self._check_limits(opening is not None)
        route = self._route(opening)
        counts = (opening.read, opening.written) if opening else (None, None)
        tokens = None if counts[0] is None or counts[1] is None else (float(counts[0]), float(counts[1]))
        report = ProbeReport(
            origin=self.client.address.origin,
            model=self.model,
            facts=self.facts,
            dialect=self.dialect,
            checks=tuple(self.checks.get(id_, Check(id_, SKIPPED, "no chat")) for id_ in CHECKS),
            noise=noise,
            fingerprint=Fingerprint(()),
            answered=tuple(sorted({answer.model for answer in self.heard})),
            systems=tuple(sorted({answer.system for answer in self.heard})),
            tops=all(self._state(id_) == PASSED for id_ in ("logprobs", "raw", "thinking")),
            route=route,
            concurrent=concurrent,
            tokens=tokens,
            requests=0,
        )
        # A fingerprint is made either of whole answers or of one-token answers, never of both.
        if report.has_numbers and all(alone):
            fingerprint = Fingerprint.of_tops([answer.tops for answer in alone if answer])
        elif report.chats and all(alone) and whole:
            fingerprint = Fingerprint.of_texts([answer.text for answer in alone if answer])
        else:
            fingerprint = take_fingerprint(self.client, report)
        return replace(report, fingerprint=fingerprint, requests=self.client.requests - self.before)

    def _once(self, path: str, body: dict[str, Any], *, with_key: bool = True) -> Response:
        return self.client.post(path, body, store=False, retry=False, with_key=with_key)

    def _note(self, id_: str, state: str, read: str) -> None:
        self.checks[id_] = Check(id_, state, read)

    def _state(self, id_: str) -> str:
        return self.checks[id_].state if id_ in self.checks else SKIPPED

    # --- chat ---------------------------------------------------------------------------------------------------------

    def _opening(self) -> ChatAnswer | None:
        """Ask the first question in the same way as rows. Fields that the server refuses are never sent again."""
        while True:
            response = self.client.post(
                CHAT, chat_body(self.questions[0].prompt, self.model, self.dialect), store=False
            )
            if response.status == 200:
                break
            declined = response.status in (400, 403, 422)
            dialect = self.dialect.adapted(*self.client.complaint(response)) if declined else None
            if dialect is None:
                listed = self.facts.models
                hint = "" if self.model else " (add a model name to the address, as #NAME)"
                if self.model and listed and self.model not in listed:
                    hint = f" (the server lists {', '.join(listed[:10])})"
                self.faults.append(f"no chat: {self.client.reason(response)}{hint}")
                return None
            self.dialect = dialect
        try:
            label_offset = count_lead_tokens(response.body)
            opening = read_chat(response.body, label_offset)
        except ModelError as error:
            self.faults.append(str(error))
            return None
        self.dialect = replace(self.dialect, label_offset=label_offset)
        self.heard.append(opening)
        self._check_model(opening)
        self._check_tops(opening)
        if wire.thinks(opening):
            self._note("thinking", FAILED, "the answer begins with thinking, which the server cannot switch off")
            # Thinking counts as written tokens, and must end before the answer begins.
            self.dialect = replace(self.dialect, written=_THOUGHT)
        else:
            self._note("thinking", PASSED, "none")
        return opening

    def _ask(self, prompt: str, *, whole: bool = False, **more: Any) -> ChatAnswer | None:  # noqa: ANN401 - JSON
        """Return the answer to a prompt, up to its label or whole; None without a usable answer."""
        more |= {} if whole else self.dialect.to_label
        return self._hear(self.client.post(CHAT, chat_body(prompt, self.model, self.dialect, **more), store=False))

    def _hear(self, response: Response) -> ChatAnswer | None:
        try:
            answer = read_chat(response.body, self.dialect.label_offset) if response.status == 200 else None
            fault = "" if answer else self.client.reason(response)
        except ModelError as error:
            answer, fault = None, str(error)
        if answer:
            self.heard.append(answer)
            fault = "" if answer.text.strip() or answer.first or answer.refused else "an empty answer"
        self.faults += [fault] if fault else []
        return answer

    def _check_model(self, opening: ChatAnswer) -> None:
        requested, answered = model_name(self.model), opening.model
        if not answered:
            self._note("model", SKIPPED, "the server does not name the model that answers")
        elif answered.split("@")[0].removesuffix(".gguf").startswith(requested.split("@")[0].removesuffix(".gguf")):
            self._note("model", PASSED, f"{answered} answers")
        else:
            self._note("model", FAILED, f"requested {requested}, but {answered} answers")

    def _check_tops(self, opening: ChatAnswer) -> None:
        """Check the log-probabilities: if they are missing or impossible, only texts can be used."""
        complaint, order = self.dialect.complaint("logprobs"), opening.order
        if not order and complaint:
            self.checks["logprobs"] = Check("logprobs", FAILED, complaint.because, is_verbatim=True)
        elif fault := fault_of_tops(opening, self.questions[0].labels, greedy=self.dialect.greedy):
            self._note("logprobs", FAILED, fault)
        else:
            label_offset = self.dialect.label_offset
            behind = f", after {counted(label_offset, 'token')} without text" if label_offset else ""
            self._note("logprobs", PASSED, f"{len(order)}, with {sum(np.exp(order)):.3f} of all probability{behind}")

    def _check_raw(self, opening: ChatAnswer) -> None:
        if self._state("logprobs") != PASSED:
            return self._note("raw", SKIPPED, "no log-probabilities")
        if fixed := None if self.dialect.greedy else self.dialect.complaint("temperature"):
            is_raw = is_fixed_at_1(fixed.words)
            because = "the server fixes the temperature at 1" if is_raw else fixed.because
            self.checks["raw"] = Check("raw", PASSED if is_raw else FAILED, because, is_verbatim=True)
            return None
        tries = (self._ask(self.questions[0].prompt, temperature=1.5) for _ in range(_TRIED))
        # At this temperature, an answer may begin with another number of blanks than the first one.
        warm = next((attempt for attempt in tries if attempt and attempt.before == opening.before), None)
        apart = _moved(opening, warm) if warm else math.inf
        allowed = max(SAME, *(3 * _moved(opening, repeat) for repeat in self.repeated))
        return self._note(
            "raw", PASSED if apart <= allowed else FAILED, f"temperature 1.5 changes them by {apart:.3g} nat"
        )

    def _check_others(self, opening: ChatAnswer) -> None:
        """Ask other prompts, one of them with an unknown field, and check the counts of tokens."""
        short: dict[str, Any] = {**self.dialect.to_label, "senseprobe_nonsense": 1}
        body = chat_body(_OTHER_PROMPTS[0], self.model, self.dialect, **short)
        response = self._once(CHAT, body)
        refused = response.status in (400, 422)
        ignored = "" if refused else ": it may ignore unknown fields without a message"
        self._note("nonsense", PASSED if refused else FAILED, f"HTTP {response.status}{ignored}")
        answered = response.status == 200
        heard = [self._hear(response)] if answered else []
        heard += [self._ask(prompt) for prompt in _OTHER_PROMPTS[answered:]]
        counts = [(answer.read, answer.written) for answer in heard if answer]
        if opening.read is None or any(None in pair for pair in counts):
            self._note("usage", FAILED, "the server does not return token counts")
        elif all(
            read and read < opening.read and written in (1, self.dialect.label_offset + 1) for read, written in counts
        ):
            self._note("usage", PASSED, f"{opening.read} read")
        else:
            reported = ", ".join(f"{read}+{written}" for read, written in counts)
            self._note(
                "usage", FAILED, f"{opening.read} in a long prompt, and {reported} in short ones with their answers"
            )

    def _check_answers(self) -> None:
        faults = list(dict.fromkeys(self.faults))
        if len(names := {answer.model for answer in self.heard}) > 1:
            faults.insert(0, f"several models answer: {', '.join(sorted(names))}")
        if faults:
            self._note("answers", FAILED, "; ".join(faults[:2]))
        else:
            self._note("answers", PASSED, f"{len(self.heard)} answers")

    # --- noise --------------------------------------------------------------------------------------------------------

    def _odds(self, number: int, answer: ChatAnswer | None) -> float:
        """Return the log-odds of the labels of a fixed question; without log-probabilities, a hash of the text."""
        if answer is None:
            return math.nan
        if not answer.tops or self._state("logprobs") != PASSED:
            return float(zlib.crc32(answer.text.encode()))
        first, second = weights_of(answer.tops, self.questions[number].labels).log_probs
        return first - second

    def _repeat(self, number: int, **more: Any) -> float:  # noqa: ANN401 - JSON
        """Ask a fixed question once more, and return its log-odds."""
        whole = self._state("logprobs") != PASSED
        return self._odds(number, self._ask(self.questions[number].prompt, whole=whole, **more))

    def _noise(self, alone: Sequence[ChatAnswer | None]) -> tuple[Noise, bool]:
        """Repeat questions: at once, after others, in parallel with others, and with the prompt cache.

        Return the noise, and whether parallel requests leave an answer unchanged.
        """
        has_tops = self._state("logprobs") == PASSED
        slots = min(self.facts.slots or _NEIGHBOURS, _NEIGHBOURS)
        odds = [self._odds(number, answer) for number, answer in enumerate(alone[:slots])]
        count = len(self.heard)
        first, second = self._repeat(0), self._repeat(0)
        self.repeated = self.heard[count:]
        after, repeats = [first - odds[0]], [second - first]
        parallel: list[float] = []
        if slots > 1:
            with ThreadPoolExecutor(slots) as pool:
                answers = pool.map(self._repeat, range(slots))
                parallel = [odds_after - before for odds_after, before in zip(answers, odds, strict=True)]
        cached: list[float] = []
        if has_tops and "cache_prompt" in self.dialect.fields:
            cached = [self._repeat(number, cache_prompt=True) - odds[number] for number in range(min(2, slots))]
        changes = (repeats, after, parallel, cached)
        most = [float(np.max(np.abs(change))) if change else None for change in changes]
        if any(most_of is not None and math.isnan(most_of) for most_of in most):
            self._note("repeats", FAILED, "a repeated request that was answered before got no answer")
            return Noise(), False
        noise = Noise(most[0], most[1], most[2], most[3], max(map(root_mean_square, changes)))
        return self._noted(noise, has_numbers=has_tops), (noise.neighbours or 0) <= SAME

    def _noted(self, noise: Noise, *, has_numbers: bool) -> Noise:
        """Note the check of repeats. Texts have no numeric noise: they are the same, or they are not."""
        largest = max(noise.repeats or 0, noise.after or 0)
        if not has_numbers and (fixed := None if self.dialect.greedy else self.dialect.complaint("temperature")):
            self.checks["repeats"] = Check("repeats", FAILED, fixed.because, is_verbatim=True)
            return Noise()
        if not has_numbers:
            self._note(
                "repeats",
                FAILED if largest else PASSED,
                "the same prompt got a different text" if largest else "the same text",
            )
            return Noise()
        parts = {
            "again at once": noise.repeats,
            "after others": noise.after,
            "beside others": noise.neighbours,
            "with the prompt cache": noise.cache,
        }
        changes = ", ".join(f"{name} {most:.3g}" for name, most in parts.items() if most is not None)
        self._note("repeats", PASSED if largest <= _ANOTHER else FAILED, f"change of an answer in nats: {changes}")
        return noise

    # --- beside chat --------------------------------------------------------------------------------------------------

    def _check_limits(self, has_chat: bool) -> None:
        if not has_chat:
            return
        read: list[str] = []
        body = chat_body("Hello.", self.model, self.dialect, **self.dialect.to_label)
        if key_of(self.client.address, self.client.options):
            status = self._once(CHAT, body, with_key=False).status
            read.append("refused without the key" if status in (401, 403) else f"HTTP {status} without the key")
        context = self.facts.context
        state = PASSED if read else SKIPPED
        if context and context <= _LONGEST_TRIED:
            body = chat_body("word " * (context + 1), self.model, self.dialect, **self.dialect.to_label)
            status = self._once(CHAT, body).status
            state = FAILED if status == 200 else PASSED
            read.append(f"HTTP {status} for a prompt of more than {context} tokens")
        self._note(
            "limits", state, "; ".join(read) or ("no key is set, and the server does not state its context length")
        )

    def _route(self, opening: ChatAnswer | None) -> likelihood.Route | None:
        """Return the route for exact log-likelihoods; its trials are three of the checks."""
        turn = (self.questions[0].prompt, opening.read) if opening and opening.read else None
        search = likelihood.find_route(self.client, self.facts, turn)
        for id_, method in (("echo", ECHO), ("prompt-logprobs", PROMPT_LOGPROBS)):
            self._note(id_, search.trial(method).state, search.trial(method).read)
        forced = [search.trial(method) for method in (GRAMMAR, BIAS)]
        best = min(forced, key=lambda trial: (PASSED, FAILED, SKIPPED).index(trial.state))
        self._note("forced", best.state, f"{best.method}: {best.read}")
        return search.route


def _moved(first: ChatAnswer, second: ChatAnswer) -> float:
    """Return by how many nats the log-probability of a token differs at most between two answers."""
    both = first.tops.keys() & second.tops.keys()
    return max((abs(first.tops[token] - second.tops[token]) for token in both), default=math.inf)


def _meant(requested: str, listed: Sequence[str], origin: str) -> str:
    """Return the model that is meant: as it is asked for, or the only one. ModelError where there are several."""
    if requested or not listed:
        return requested
    if len(listed) > 1:
        raise ModelError(
            f"{origin} serves several models: add one of {', '.join(listed[:10])} to the address, as #NAME"
        )
    return listed[0]


def take_fingerprint(client: Client, report: ProbeReport) -> Fingerprint:
    """Ask the fixed prompts, and return what answers them: first tokens, texts, or likelihoods.

    A prompt without an answer has an empty part, which is like no other. ModelError where the server does not answer.
    """
    questions = fixed_questions()
    if not report.chats:
        likelihoods = report.route.of_texts(fixed_sentences(), start=report.route.start) if report.route else []
        return Fingerprint(tuple({"": round(item.log_prob, 6)} if item else {} for item in likelihoods))
    limit, label_offset = report.dialect.to_label if report.has_numbers else {}, report.dialect.label_offset
    bodies = [chat_body(item.prompt, report.model, report.dialect, **limit) for item in questions]
    heard = client.map(CHAT, bodies, store=False)
    answers = [read_chat(item.body, label_offset) if item.status == 200 else None for item in heard]
    if report.has_numbers:
        return Fingerprint.of_tops([answer.tops if answer else {} for answer in answers])
    return Fingerprint.of_texts([answer.text if answer else "" for answer in answers])
