# ruff: noqa: D102 - methods are those of torch
"""Models whose answers are known, or that do what some architectures do. They need torch: tests import them `Later`."""

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import torch
import transformers

from senseprobe.evaluate.models.checkpoint import Pretrained


class Oracle(torch.nn.Module):
    """Gives the token that stands at a position probability 1/2, and where a mask stands every token the same."""

    device = torch.device("cpu")

    def __init__(self, size: int, mask_id: int) -> None:
        super().__init__()
        self.config = SimpleNamespace(max_position_embeddings=64)
        self.size, self.mask_id = size, mask_id

    def get_output_embeddings(self) -> None:
        return None

    def forward(self, input_ids: torch.Tensor, **_: torch.Tensor) -> SimpleNamespace:
        others = 0.5 / (self.size - 1)
        own = torch.nn.functional.one_hot(input_ids, self.size) * (0.5 - others) + others
        masked = torch.full_like(own, 1 / self.size)
        return SimpleNamespace(logits=torch.where((input_ids == self.mask_id)[..., None], masked, own).log())


class Reshaping(Oracle):
    """An oracle whose head is a layer, and which puts what comes out of it back into the shape of the input."""

    def __init__(self, size: int, mask_id: int) -> None:
        super().__init__(size, mask_id)
        self.head = torch.nn.Identity()

    def get_output_embeddings(self) -> torch.nn.Module:  # type: ignore[override]
        return self.head

    def forward(self, input_ids: torch.Tensor, **_: torch.Tensor) -> SimpleNamespace:
        logits = self.head(super().forward(input_ids).logits)
        return SimpleNamespace(logits=torch.nn.functional.pad(logits, (0, 0, 0, input_ids.shape[1] - logits.shape[1])))


class Knowing(torch.nn.Module):
    """Knows what stands where: P of it is 1/2 where one token is masked or none, 1/4 where two are, and so on."""

    device = torch.device("cpu")

    def __init__(self, truth: Sequence[int], size: int, mask_id: int) -> None:
        super().__init__()
        self.config = SimpleNamespace(max_position_embeddings=64)
        self.truth, self.size, self.mask_id = torch.tensor(truth), size, mask_id

    def get_output_embeddings(self) -> None:
        return None

    def forward(self, input_ids: torch.Tensor, **_: torch.Tensor) -> SimpleNamespace:
        own = 0.5 ** (input_ids == self.mask_id).sum(1, keepdim=True).clamp(min=1).double()[..., None]
        there = torch.nn.functional.one_hot(self.truth[: input_ids.shape[1]], self.size).double()
        return SimpleNamespace(logits=(there * own + (1 - there) * (1 - own) / (self.size - 1)).log())


class Starving(torch.nn.Module):
    """A model on a machine that has memory for so many tokens at a time."""

    def __init__(self, inner: Pretrained, tokens: int) -> None:
        super().__init__()
        self.inner, self.tokens = inner, tokens
        self.config, self.device = inner.config, inner.device

    def get_output_embeddings(self) -> Pretrained:
        return self.inner.get_output_embeddings()

    def set_attn_implementation(self, name: str) -> None:
        self.inner.set_attn_implementation(name)

    def forward(self, input_ids: torch.Tensor, **more: object) -> Pretrained:
        if input_ids.numel() > self.tokens:
            raise torch.OutOfMemoryError("out of memory")
        return self.inner(input_ids=input_ids, **more)


class Mixing(torch.nn.Module):
    """A head that looks at all positions: a row that is asked for alone gets other logits."""

    def __init__(self, width: int, size: int) -> None:
        super().__init__()
        self.layer = torch.nn.Linear(width, size)

    def forward(self, hidden: torch.Tensor) -> torch.Tensor:
        logits: torch.Tensor = self.layer(hidden) + hidden.mean(1, keepdim=True).sum(-1, keepdim=True) * self.layer.bias
        return logits


class WithHead(torch.nn.Module):
    """A table of tokens under a head."""

    device = torch.device("cpu")

    def __init__(self, head: torch.nn.Module) -> None:
        super().__init__()
        self.embedding, self.head = torch.nn.Embedding(20, 8), head

    def get_output_embeddings(self) -> torch.nn.Module:
        return self.head

    def forward(self, input_ids: torch.Tensor, **_: torch.Tensor) -> SimpleNamespace:
        return SimpleNamespace(logits=self.head(self.embedding(input_ids)))


class Looking(transformers.BertForMaskedLM):  # type: ignore[misc]
    """Looks at the weights of its layers itself, as some architectures do."""

    def forward(self, **inputs: object) -> object:
        """As the model does, after a change that a copy of the weights does not show."""
        layer = self.bert.encoder.layer[0].output.dense
        layer.register_parameter("weight", layer.weight)
        return super().forward(**inputs)


class Reading(transformers.BertForMaskedLM):  # type: ignore[misc]
    """Reads the weights of one of its layers in each pass, as MobileBERT and Mamba do."""

    def forward(self, **inputs: object) -> Any:  # noqa: ANN401 - of transformers
        """As the model does, with a look that changes nothing."""
        self.bert.encoder.layer[0].output.dense.weight.sum()
        return super().forward(**inputs)


class Wrong(torch.nn.Linear):
    """Derived from a linear layer, and no such layer."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Twice what the layer gives."""
        return 2 * super().forward(x)
