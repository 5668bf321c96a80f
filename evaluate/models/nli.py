"""Models of natural language inference: how probable it is that a hypothesis follows, or contradicts its premise.

Which output is entailment, neutral or contradiction is decided by its name, never by its position.
"""

import inspect
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from transformers import AutoModelForSequenceClassification

from senseprobe.errors import ModelError
from senseprobe.evaluate.models.base import Ids, PretrainedModel
from senseprobe.evaluate.models.checkpoint import Pretrained
from senseprobe.evaluate.models.limits import tokenized
from senseprobe.evaluate.units import EMPTY, TOO_LONG
from senseprobe.messages import counted

CLASSES = ("entailment", "neutral", "contradiction")
"""The order in which probabilities are given, whatever the model's own."""

# Compared in lower case, letters only: CONTRADICTION, Entails, "contradiction " are all read.
_SPELLINGS: Mapping[str, str] = {
    **dict.fromkeys(("entailment", "entail", "entails", "entailed"), "entailment"),
    **dict.fromkeys(("neutral",), "neutral"),
    **dict.fromkeys(("contradiction", "contradict", "contradicts", "contradictory", "contradicted"), "contradiction"),
}
_REMEDY = "labels='entailment,neutral,contradiction'"


def class_columns(config: Pretrained, option: str | None = None) -> tuple[int, ...]:
    """Return the model's output for each of `CLASSES`, by the names that its config gives to outputs (``id2label``).

    `option` names all outputs in the model's order, separated by commas, where the config does not. ModelError where
    the two contradict each other, do not say which class is which, or classes do not exclude one another.
    """
    if getattr(config, "problem_type", None) not in (None, "single_label_classification"):
        raise ModelError(f"its classes are not mutually exclusive ({config.problem_type})")
    names = config.id2label
    labels = [str(names[i]) for i in sorted(names)]
    listed = ", ".join(labels)
    if len(labels) != len(CLASSES):
        classes = counted(len(labels), "class", "classes")
        raise ModelError(f"it has {classes} ({listed}), but needs entailment, neutral and contradiction")
    if sorted(names) != [*range(len(CLASSES))]:
        numbers = ", ".join(map(str, sorted(names)))
        raise ModelError(f"its config.json numbers its classes {numbers}, but a model's outputs are 0, 1 and 2")
    order = declared = [_class_of(name) for name in labels]
    if option is not None:
        order = [_class_of(name) for name in option.split(",")]
        if sorted(map(str, order)) != sorted(CLASSES):
            raise ModelError(
                "--labels must name entailment, neutral and contradiction once each, in the order of the "
                f"model, as in {_REMEDY}; it says {option}"
            )
    if any(name not in (None, order[i]) for i, name in enumerate(declared)):
        raise ModelError(
            f"--labels says {option}, but its config.json says {listed}: leave --labels out, or correct config.json"
        )
    if set(order) != {*CLASSES}:
        raise ModelError(
            f"its classes are called {listed}, which does not show which is entailment, neutral and "
            f"contradiction: state them in the model's order, as in {_REMEDY}"
        )
    return tuple(map(order.index, CLASSES))


def _class_of(name: str) -> str | None:
    return _SPELLINGS.get("".join(filter(str.isalpha, name.casefold())))


# --- two texts as one input -----------------------------------------------------------------------------------------
# Each distinct text is tokenized once: the 323,000 premises and 12,000 hypotheses of nli-occupation make 1.9 million
# pairs. A tokenizer reads the two texts apart from one another and puts special tokens around them, so what it puts
# there is looked up once.

Texts = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Pair:
    """Two texts as a model reads them.

    - `ids`: vocabulary ids, special tokens included; `types`: segment ids, None where the model has none.
    - `whole`: whether both texts have a token of their own.
    """

    ids: Ids
    types: Ids | None
    whole: bool


class Part(NamedTuple):
    """A stretch of an input: one of the two texts (`owner` 0 or 1), or special tokens (None); of one segment."""

    owner: int | None
    ids: Ids
    kind: int


class Joiner:
    """Joins two texts as a tokenizer does; `typed` says whether the model has segments."""

    def __init__(self, tokenizer: Pretrained, *, typed: bool) -> None:
        self._tokenizer = tokenizer
        self._probe = tokenizer(["a"], ["a"], verbose=False)
        self._typed = typed and "token_type_ids" in self._probe

    def join(self, pairs: Sequence[Texts]) -> list[Pair]:
        """Return the pairs as the model reads them, in order, neither padded nor cut."""
        if not pairs:
            return []
        texts = sorted({text for pair in pairs for text in pair})
        portions = tokenized(self._tokenizer, texts, add_special_tokens=False, return_attention_mask=False)
        tokens = (tuple(row) for columns in portions for row in columns["input_ids"])
        ids = dict(zip(texts, tokens, strict=True))
        # The tokenizer decides: where it does not join as was looked up, it joins all pairs itself.
        probes = [choose(pairs, key=lambda pair: len(ids[pair[0]]) + len(ids[pair[1]])) for choose in (min, max)]
        if self._parts and [self._put(ids[a], ids[b]) for a, b in probes] == self._joined(probes):
            return [self._put(ids[a], ids[b]) for a, b in pairs]
        return self._joined(pairs)

    def _put(self, first: Ids, second: Ids) -> Pair:
        """Put the two texts between what stands around them."""
        ids: list[int] = []
        types: list[int] = []
        for owner, special, kind in self._parts:
            piece = special if owner is None else (first, second)[owner]
            ids += piece
            types += [kind] * len(piece)
        return Pair(tuple(ids), tuple(types) if self._typed else None, bool(first and second))

    def _joined(self, pairs: Sequence[Texts]) -> list[Pair]:
        """Return the pairs as the tokenizer itself joins them."""
        portions = tokenized(self._tokenizer, [a for a, _ in pairs], [b for _, b in pairs])
        return [
            Pair(
                tuple(ids),
                tuple(columns["token_type_ids"][row]) if self._typed else None,
                {0, 1} <= {*columns.sequence_ids(row)},
            )
            for columns in portions
            for row, ids in enumerate(columns["input_ids"])
        ]

    @cached_property
    def _parts(self) -> tuple[Part, ...]:
        """What a pair consists of; empty where each text is not in one piece."""
        ids, owners = self._probe["input_ids"][0], self._probe.sequence_ids(0)
        types = self._probe["token_type_ids"][0] if self._typed else [0] * len(ids)
        stretches = groupby(zip(owners, types, ids, strict=True), key=lambda token: token[:2])
        parts = tuple(Part(owner, tuple(id_ for *_, id_ in tokens), kind) for (owner, kind), tokens in stretches)
        return parts if sorted(part.owner for part in parts if part.owner is not None) == [0, 1] else ()


# --- models ---------------------------------------------------------------------------------------------------------


class Classifier(PretrainedModel):
    """A model with the ability of inference; `columns` are its outputs for entailment, neutral and contradiction."""

    ability = "inference"
    auto_class = AutoModelForSequenceClassification
    predicts_tokens = False
    takes_encoder_decoder = True  # BART classifies by the last </s> of its decoder, which is one answer

    def __init__(
        self, name: str, model: Pretrained, tokenizer: Pretrained, *, columns: Sequence[int], batch_tokens: int
    ) -> None:
        super().__init__(name, model, tokenizer, batch_tokens=batch_tokens)
        self._columns = list(columns)
        self._joiner = Joiner(tokenizer, typed="token_type_ids" in inspect.signature(model.forward).parameters)

    @classmethod
    def prepare(
        cls,
        name: str,
        model: Pretrained,
        tokenizer: Pretrained,
        *,
        labels: str | None = None,
        **settings: Any,  # noqa: ANN401
    ) -> dict[str, Any]:
        """Return the `columns` of the three classes, by their names in the config or the stated `labels`."""
        try:
            columns = class_columns(model.config, labels)
        except ModelError as error:
            raise ModelError(f"cannot use the model {name} for inference: {error}") from None
        # The identity covers what was stated.
        model.config.id2label = dict(zip(columns, CLASSES, strict=True))
        # Models that read from left to right classify by their last token that is not padding, and refuse several rows
        # where they have no name for it. Nothing is padded: any token that does not exist will do.
        config = model.config.get_text_config()
        if getattr(config, "pad_token_id", None) is None:
            config.pad_token_id = -1
        return {"columns": columns}

    def encode(self, pairs: Sequence[tuple[str, str]]) -> list[Pair]:
        """Return pairs of premise and hypothesis as the model reads them, in order, neither padded nor cut."""
        return self._joiner.join(pairs)

    def can_score(self, pair: Pair) -> bool:
        """Return whether both texts have a token of their own and the pair is not too long for the model."""
        return not self.obstacle(pair)

    def obstacle(self, pair: Pair) -> str:
        """Return why the pair cannot be scored, in a few words; empty where it can."""
        if not pair.whole:
            return EMPTY
        return TOO_LONG if len(pair.ids) > self.max_length else ""

    def probabilities(self, pairs: Sequence[Pair]) -> NDArray[np.float64]:
        """Return the probabilities of entailment, neutral and contradiction: float64 of shape (pairs, 3), in order.

        The pairs are of one length: nothing is ever padded. They share a forward pass as far as the budget allows.
        """
        answers = self.budget.spend(pairs, len(pairs[0].ids), self._answer) if pairs else []
        return np.array(answers, dtype=np.float64).reshape(len(pairs), len(CLASSES))

    @torch.inference_mode()
    def _answer(self, batch: Sequence[Pair]) -> list[NDArray[np.float64]]:
        """Answer pairs of one length in one forward pass."""
        inputs = {"input_ids": self._tensor([pair.ids for pair in batch])}
        inputs["attention_mask"] = torch.ones_like(inputs["input_ids"])
        if batch[0].types is not None:
            inputs["token_type_ids"] = self._tensor([pair.types for pair in batch])
        logits = getattr(self._model(**inputs), "logits", None)
        if logits is None:
            raise ModelError(f"the model {self.name} does not return logits")
        if tuple(logits.shape) != (len(batch), len(CLASSES)):
            raise ModelError(
                f"the model {self.name} returned logits of shape {tuple(logits.shape)} for "
                f"{counted(len(batch), 'pair')}"
            )
        return list(logits.cpu().double().softmax(1)[:, self._columns].numpy())  # not every device has float64


load = Classifier.load
