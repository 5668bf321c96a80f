"""Models of natural language inference: how probable it is that a hypothesis follows, or contradicts its premise.

Which output is entailment, neutral or contradiction is decided by its name, never by its position.
"""

import inspect
from collections.abc import Mapping, Sequence
from functools import cached_property

import numpy as np
import torch
from numpy.typing import NDArray
from transformers import AutoModelForSequenceClassification

from senseprobe.errors import ModelError
from senseprobe.evaluate.models.batching import Budget
from senseprobe.evaluate.models.checkpoint import Pretrained, TextTokens, open_checkpoint
from senseprobe.evaluate.models.errors import guarded
from senseprobe.evaluate.models.identity import fingerprint
from senseprobe.evaluate.models.pair_encoding import Joiner, Pair
from senseprobe.evaluate.models.placement import batch_tokens_on, device_of, dtype_of, longest_input, placed
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


def class_columns(spec: str, names: Mapping[int, str], stated: str | None = None) -> tuple[int, int, int]:
    """Return the model's output for each of `CLASSES`, by the names that its config gives to outputs (``id2label``).

    `stated` names all outputs in the model's order, separated by commas, where the config does not. It may not
    contradict the config. Raises ModelError, with the names, where these do not say which class is which.
    """
    labels = [str(names[i]) for i in sorted(names)]
    if len(labels) != len(CLASSES):
        raise ModelError(
            f"cannot use the model {spec} for inference: it has {counted(len(labels), 'class', 'classes')}"
            f" ({', '.join(labels)}), where entailment, neutral and contradiction are needed"
        )
    if sorted(names) != [*range(len(CLASSES))]:
        raise ModelError(
            f"cannot use the model {spec} for inference: its config.json numbers its classes"
            f" {', '.join(map(str, sorted(names)))}, where a model's outputs are 0, 1 and 2"
        )
    declared = [_class_of(name) for name in labels]
    order = _stated_order(spec, stated) if stated is not None else declared
    if any(name not in (None, order[i]) for i, name in enumerate(declared)):
        raise ModelError(
            f"cannot use the model {spec} for inference: labels says {stated}, its config.json {', '.join(labels)}:"
            " leave labels out, or correct config.json"
        )
    if set(order) != {*CLASSES}:
        raise ModelError(
            f"cannot use the model {spec} for inference: its classes are called {', '.join(labels)}, which does not"
            f" tell entailment, neutral and contradiction apart: state them in the model's order, as in {_REMEDY}"
        )
    first, second, third = (order.index(name) for name in CLASSES)
    return first, second, third


def _class_of(name: str) -> str | None:
    return _SPELLINGS.get("".join(filter(str.isalpha, name.casefold())))


def _stated_order(spec: str, stated: str) -> Sequence[str | None]:
    order = [_class_of(name) for name in stated.split(",")]
    if sorted(map(str, order)) != sorted(CLASSES):
        raise ModelError(
            f"cannot use the model {spec} for inference: labels must name entailment, neutral and contradiction once"
            f" each, in the order of the model, as in {_REMEDY}; it says {stated}"
        )
    return order


class Classifier:
    """A model with the ability of inference: it tells entailment, neutral and contradiction apart.

    `columns` are its outputs for these three, in this order; `budget` bounds the tokens of a forward pass;
    `tokens` are those of texts by themselves.
    """

    ability = "inference"

    def __init__(
        self, name: str, model: Pretrained, tokenizer: Pretrained, *, columns: Sequence[int], batch_tokens: int
    ) -> None:
        self.name = name
        self.budget = Budget(batch_tokens)
        self.max_length = longest_input(model, tokenizer)
        self.tokens = TextTokens(tokenizer)
        self._model, self._tokenizer, self._columns = model, tokenizer, list(columns)
        self._joiner = Joiner(tokenizer, typed="token_type_ids" in inspect.signature(model.forward).parameters)

    @cached_property
    def identity(self) -> dict[str, str]:
        """What scores depend on: sha256 of ``weights``, ``config`` (it names the classes), ``tokenizer``; ``dtype``."""
        return fingerprint(self._model, self._tokenizer)

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
            raise ModelError(f"the model {self.name} gives no logits")
        if tuple(logits.shape) != (len(batch), len(CLASSES)):
            raise ModelError(
                f"the model {self.name} gives logits of shape {tuple(logits.shape)} for {counted(len(batch), 'pair')}"
            )
        return list(logits.cpu().double().softmax(1)[:, self._columns].numpy())  # not every device has float64

    def _tensor(self, values: object) -> torch.Tensor:
        return torch.from_numpy(np.array(values, dtype=np.int64)).to(self._model.device)


@guarded
def load(
    spec: str,
    *,
    device: str = "auto",
    dtype: str = "float32",
    allow_pickle: bool = False,
    batch_tokens: int | None = None,
    labels: str | None = None,
) -> Classifier:
    """Load the model of inference in the folder, or under the Hub name, `spec`; for the rest see `models.load`.

    Its three classes are identified by the names in its config. `labels` states them, in the model's order, where the
    config has none: ``"contradiction,entailment,neutral"``; it is part of the model's identity. Raises ModelError.
    """
    target, number_format = device_of(device), dtype_of(dtype)
    model, tokenizer = open_checkpoint(
        AutoModelForSequenceClassification, spec, dtype=number_format, allow_pickle=allow_pickle
    )
    return wrap(spec, model, tokenizer, device=target, batch_tokens=batch_tokens, labels=labels)


@guarded
def wrap(
    spec: str,
    model: Pretrained,
    tokenizer: Pretrained,
    *,
    device: torch.device,
    batch_tokens: int | None = None,
    labels: str | None = None,
) -> Classifier:
    """Wrap a model of transformers that is in memory, called `spec`; raises ModelError as `load` does."""
    if getattr(model.config, "problem_type", None) not in (None, "single_label_classification"):
        raise ModelError(
            f"cannot use the model {spec} for inference: its classes do not exclude one another"
            f" ({model.config.problem_type})"
        )
    columns = class_columns(spec, model.config.id2label, labels)
    # The identity covers what was stated.
    model.config.id2label = {column: name for name, column in zip(CLASSES, columns, strict=True)}
    _let_decoders_batch(model)
    return Classifier(
        spec, placed(model, device), tokenizer, columns=columns, batch_tokens=batch_tokens or batch_tokens_on(device)
    )


def _let_decoders_batch(model: Pretrained) -> None:
    """Name as padding a token that does not exist, where there is none.

    Models that read from left to right classify by their last token that is not padding, and refuse several rows where
    they have no name for it. Here nothing is padded.
    """
    config = model.config.get_text_config()
    if getattr(config, "pad_token_id", None) is None:
        config.pad_token_id = -1
