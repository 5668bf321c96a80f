"""Chat models of transformers in this process, asked with their own template: a `conversation.ChatModel`."""

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from itertools import groupby
from typing import TypeVar

import numpy as np
import torch
from transformers import GenerationConfig

from senseprobe.errors import ModelError
from senseprobe.evaluate.models.base import Ids
from senseprobe.evaluate.models.causal import PROMPTS, CausalLM, Query
from senseprobe.evaluate.models.checkpoint import Pretrained, quiet
from senseprobe.evaluate.served.chat_template import ChatTemplate
from senseprobe.evaluate.served.conversation import (
    CONSTRUCTS,
    REPLY_TOKENS,
    Answer,
    LabelQuestion,
    LabelWeights,
    ReplyQuestion,
    choice_questions,
    read_choice,
    variants_of,
)
from senseprobe.evaluate.units import TOO_LONG

T = TypeVar("T")

PORTION = 64
"""Units that are asked in one go: more share more of what they begin with, and fewer are lost where a run is killed."""

THOUGHT_TOKENS = 1024
"""Tokens that a model may think before it answers, where that cannot be switched off."""

# What the answers of models that think begin with (Qwen and DeepSeek, gpt-oss, Magistral), and what ends the thought.
_THINKS = re.compile(r"\s*(<think|<\|channel\|>|\[THINK\])")
_END_OF_THOUGHT = re.compile(r"</think(ing)?>|<\|channel\|>final<\|message\|>|\[/THINK\]")
_ROUNDED = (torch.bfloat16, torch.float16)
# Pairs on which it is measured how far rounding moves a content.
_TRIED = (
    ("The cat sat on the mat.", "The cat sat on the moon."),
    ("He is a nurse.", "She is a nurse."),
    ("The old man was kind to everybody in the village.", "The young man was kind to everybody in the village."),
    ("They drink tea.", "They drink ink."),
)


class ChatLM(CausalLM):
    """A causal language model with a chat template, asked as its template has it; see `conversation.ChatModel`.

    Prompts have more tokens than sentences, and begin alike: rows are longer. Labels are weighed by the tokens that are
    one of `variants_of` as a whole, so that none is censored. Raises ModelError where there is no template, and
    where labels or replies are to be weighed of a model that thinks first, unless the template can switch that off.
    """

    ability = "chat"
    layout = PROMPTS

    def __init__(self, name: str, model: Pretrained, tokenizer: Pretrained, *, batch_tokens: int) -> None:
        self._template = ChatTemplate(tokenizer)  # first, since the rest takes longer
        super().__init__(name, model, tokenizer, batch_tokens=batch_tokens)
        special = (id_ for id_, token in tokenizer.added_tokens_decoder.items() if token.special)
        ends = (*special, tokenizer.eos_token_id, tokenizer.pad_token_id)
        self._ends = sorted({id_ for id_ in ends if id_ is not None})
        self._vocabulary_ids: Mapping[str, int] = tokenizer.get_vocab()
        self._space = "Ġ" if self.tokens.spells_bytes else "▁"
        model.generation_config = GenerationConfig()  # a checkpoint's own may draw answers at random

    @cached_property
    def identity(self) -> dict[str, str]:
        """What answers depend on: that of `CausalLM`, and the sha256 of the ``template``."""
        return {**super().identity, "template": self._template.hash}

    @cached_property
    def noise(self) -> float:
        """The root mean square by which contents differ between prompts asked alone and together, in nats.

        It is 0 in float32 and float64, where they differ by less than 1e-4: nothing is random here, and no other
        prompt changes more than the last digits.
        """
        if self._model.dtype not in _ROUNDED:
            return 0.0
        pairs = [choice_questions(CONSTRUCTS["likely"], *pair) for pair in _TRIED]
        together = self.weigh_labels([question for orders in pairs for question in orders])
        alone = [weights for orders in pairs for question in orders for weights in self.weigh_labels([question])]
        moved = np.subtract(_contents(together, len(pairs)), _contents(alone, len(pairs)))
        return float(np.sqrt(np.mean(moved**2))) if len(moved) else 0.0

    def portions(self, items: Sequence[T]) -> Iterator[Sequence[T]]:
        """Yield units in the portions that are asked in one go."""
        return (items[start : start + PORTION] for start in range(0, len(items), PORTION))

    def render_example(self) -> str:
        """Return a prompt as the model gets it."""
        (question, *_) = choice_questions(CONSTRUCTS["likely"], *_TRIED[0])
        return self._template.render(question.prompt)

    def why(self, prompt: str) -> str:
        """Return why a prompt has no answer; empty where nothing is known that would keep it from having one."""
        (ids,) = self._encode([(prompt, "")])
        if not ids:
            return f"it contains {self._template.mark_in(prompt)}, a token of the chat template"
        return TOO_LONG if len(ids) + REPLY_TOKENS > self.max_length else ""

    # --- labels and replies

    def weigh_labels(self, questions: Sequence[LabelQuestion]) -> list[LabelWeights | None]:
        """Return log P of each label at the first place of the answer; None where a prompt is too long.

        Raises ModelError where a label is no token, or the model thinks first.
        """
        self._refuse_thinking()
        prompts = self._encode([(question.prompt, "") for question in questions])
        tokens = [[self._tokens_of(label) for label in question.labels] for question in questions]
        queries = [
            ((*ids, token), len(ids))
            for ids, labels in zip(prompts, tokens, strict=True)
            if self._can_read(ids)
            for label in labels
            for token in label
        ]
        logs = iter(self.log_likelihoods(queries).tolist())
        weighed = [
            [[next(logs) for _ in label] for label in labels] if self._can_read(ids) else None
            for ids, labels in zip(prompts, tokens, strict=True)
        ]
        return [None if labels is None else _weights(labels) for labels in weighed]

    def weigh_replies(self, questions: Sequence[ReplyQuestion]) -> list[float | None]:
        """Return log P(reply | prompt), in nats; None where it is too long.

        It is None, too, where the tokens of both do not begin with those of the prompt. Raises ModelError where the
        model thinks first.
        """
        self._refuse_thinking()
        prompts = self._encode([(question.prompt, "") for question in questions])
        whole = self._encode([(question.prompt, question.reply) for question in questions])
        places, queries = list[int](), list[Query]()
        for number, (before, ids) in enumerate(zip(prompts, whole, strict=True)):
            if before and len(before) < len(ids) <= self.max_length + 1 and ids[: len(before)] == before:
                places.append(number)
                queries.append((ids, len(before)))
        values: list[float | None] = [None] * len(questions)
        for number, value in zip(places, self.log_likelihoods(queries).tolist(), strict=True):
            values[number] = value if np.isfinite(value) else None
        return values

    def _tokens_of(self, label: str) -> list[int]:
        """Return the tokens that are a variant of a label as a whole. Raises ModelError where there are none."""
        spelt = (variant.replace(" ", self._space) for variant in variants_of(label))
        if tokens := [self._vocabulary_ids[text] for text in spelt if text in self._vocabulary_ids]:
            return tokens
        raise ModelError(f"the tokenizer of {self.name} does not have a token for the label {label}: use answer-likely")

    def _encode(self, turns: Sequence[tuple[str, str]]) -> list[Ids]:
        """Return the tokens of turns; none where a text cannot be read as text. ModelError where the template fails."""
        try:
            return self._template.encode(turns)
        except ModelError as error:
            raise ModelError(f"cannot prompt the model {self.name}: {error}") from error

    def _can_read(self, ids: Ids) -> bool:
        return 0 < len(ids) <= self.max_length

    # --- answers

    def answer(self, prompts: Sequence[LabelQuestion]) -> list[Answer | None]:
        """Return greedy answers of at most `REPLY_TOKENS` tokens, without what the model thinks before.

        They end before the first special token. An answer is empty where the model is still thinking at its end; None
        where a prompt is too long.
        """
        most = REPLY_TOKENS + (THOUGHT_TOKENS if self._thinks else 0)
        encoded = self._encode([(question.prompt, "") for question in prompts])
        answers: list[Answer | None] = [None] * len(prompts)
        fitting = [number for number, ids in enumerate(encoded) if ids and len(ids) + REPLY_TOKENS <= self.max_length]
        for number, ids in zip(fitting, self._continued([encoded[number] for number in fitting], most), strict=True):
            answers[number] = Answer(self._without_thought(ids))
        return answers

    def _continued(self, prompts: Sequence[Ids], most: int) -> list[Ids]:
        """Return the likeliest tokens after each prompt, up to the first special one.

        Prompts of one length go together, so that none is padded: padding changes last digits, and the state of Mamba.
        """
        continued: dict[Ids, Ids] = {}
        for length, same in groupby(sorted({*prompts}, key=lambda ids: (len(ids), ids)), key=len):
            distinct = list(same)
            new = min(most, self.max_length - length)

            def generate(part: Sequence[Ids], new: int = new) -> list[Ids]:
                return self._generate(part, new)

            continued |= zip(distinct, self.budget.spend(distinct, length + new, generate), strict=True)
        return [continued[ids] for ids in prompts]

    def _generate(self, prompts: Sequence[Ids], new: int) -> list[Ids]:
        """Return the likeliest `new` tokens after prompts of one length, each up to its first special token."""
        ends = {*self._ends}
        rows = self._greedy(prompts, new, eos_token_id=self._ends or None)
        return [tuple(row[: next((at for at, id_ in enumerate(row) if id_ in ends), len(row))]) for row in rows]

    @torch.inference_mode()
    def _greedy(self, prompts: Sequence[Ids], new: int, **options: list[int] | None) -> list[list[int]]:
        """Return the likeliest tokens after prompts of one length, with what fills up rows that have ended."""
        ids = self._tensor(prompts)
        fill = self._ends[0] if self._ends else 0
        config = GenerationConfig(do_sample=False, num_beams=1, max_new_tokens=new, pad_token_id=fill, **options)
        with quiet():
            output = self._model.generate(ids, attention_mask=torch.ones_like(ids), generation_config=config)
        rows: list[list[int]] = output[:, ids.shape[1] :].tolist()
        return rows

    def _without_thought(self, ids: Ids) -> str:
        """Return the text of the first `REPLY_TOKENS` tokens after what the model thinks; empty where that goes on."""
        if not self._thinks:
            return self._text(ids[:REPLY_TOKENS]).strip()
        text = ""
        for number, id_ in enumerate(ids):
            text += self._text([id_])
            if _END_OF_THOUGHT.search(text):
                return self._text(ids[number + 1 :][:REPLY_TOKENS]).strip()
        return ""

    def _text(self, ids: Sequence[int]) -> str:
        return str(self._tokenizer.decode(list(ids), clean_up_tokenization_spaces=False))

    # --- thinking

    @cached_property
    def _thinks(self) -> bool:
        """Whether the model thinks before it answers, although the template was told not to: tried once."""
        if self._template.opens_thought:
            return True
        (ids,) = self._encode([(choice_questions(CONSTRUCTS["likely"], *_TRIED[0])[0].prompt, "")])
        room = self.max_length - len(ids)
        return room > 0 and bool(_THINKS.match(self._text(self._greedy([ids], min(4, room))[0])))

    def _refuse_thinking(self) -> None:
        if self._thinks:
            raise ModelError(
                f"{self.name} thinks before it answers, and its chat template cannot switch that off "
                "(enable_thinking). Its first token is not an answer, so use text-likely or ll"
            )


def _weights(labels: Sequence[Sequence[float]]) -> LabelWeights | None:
    """Return the weights of labels, of log P of the tokens of each; None where one is not finite."""
    logs = [float(np.logaddexp.reduce(label_logs)) for label_logs in labels]
    if not np.isfinite(logs).all():
        return None
    return LabelWeights(tuple(logs), (False,) * len(logs), float(min(np.exp(logs).sum(), 1.0)))


def _contents(weights: Sequence[LabelWeights | None], pairs: int) -> list[float]:
    """Return the content of each of so many pairs; none where the model is too short for any."""
    answered = [weight for weight in weights if weight is not None]
    size = len(weights) // pairs
    if len(answered) < len(weights):
        return []
    return [read_choice(answered[start : start + size])[0] for start in range(0, len(answered), size)]
