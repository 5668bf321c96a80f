"""The output head of a language model, computed at the positions that are requested and nowhere else."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from senseprobe.errors import ModelError
from senseprobe.evaluate.models.checkpoint import Pretrained, quiet

# Logits beyond are marks (the lowest number, for a token that cannot be), not scores, and say nothing of the scale.
_MARK = 1e4


def agree(a: torch.Tensor, b: torch.Tensor, part: float) -> bool:
    """Return whether logits of one shape differ by at most `part` of the largest of them; a mark by `part` of itself.

    Infinities and NaN agree with themselves. Where nothing is finite, they do not agree.
    """
    if a.shape != b.shape or not a.isfinite().any():
        return False
    a, b = a.detach().cpu().double(), b.detach().cpu().double()
    usual = (a.abs() <= _MARK) & (b.abs() <= _MARK)
    bound = part * float(a[usual].abs().max()) if usual.any() else 0.0
    alike = torch.allclose(a[usual], b[usual], rtol=0, atol=bound)
    return alike and torch.allclose(a[~usual], b[~usual], rtol=part, atol=0, equal_nan=True)


# So far may logits be apart that were computed for some rows and for all, as a part of the largest of them.
_SAME = {torch.float64: 1e-9, torch.float32: 1e-3}
_SAME_IN_HALF = 3e-2
# Rows of logits that sums over the vocabulary are made of at a time.
_CACHED = 16


class Head:
    """Runs a language model whose product with the vocabulary is computed for requested (text, position) rows only.

    Whether the architecture allows it is tried once, on three tokens: where logits of a row that is requested alone are
    not those of the whole pass (a head that is no layer, or that reshapes), all logits are computed and then looked up.
    """

    def __init__(self, name: str, model: Pretrained) -> None:
        self.name = name
        self._model = model
        self._layer: torch.nn.Module | None = model.get_output_embeddings()
        with quiet():
            if self._layer is not None and not self._serves_rows():
                self._layer = None

    def run(self, inputs: Mapping[str, Any], rows: torch.Tensor) -> tuple[torch.Tensor, Pretrained]:
        """Return the logits, shape (rows, vocabulary), at `rows` of one forward pass, and all that the pass gave.

        `inputs`, with ``input_ids`` of shape (texts, length), go to the model as they are. A row is numbered text by
        text: text * length + position. Raises ModelError where the logits are not one per position.
        """
        shape = tuple(inputs["input_ids"].shape)
        with self._only(shape, rows) as was_cut:
            output = self._model(**inputs)
        expected = (1, len(rows)) if was_cut() else shape
        if tuple(output.logits.shape[:2]) != expected:
            raise ModelError(
                f"the model {self.name} gives logits of shape {tuple(output.logits.shape)} for input of shape {shape}"
            )
        return (output.logits[0] if was_cut() else output.logits.flatten(0, 1)[rows]), output

    @contextmanager
    def _only(self, shape: tuple[int, ...], rows: torch.Tensor) -> Iterator[Callable[[], bool]]:
        """Give the head `rows` alone meanwhile, as one text; what is yielded says whether it got them."""
        cut: list[bool] = []

        def select_rows(_: torch.nn.Module, args: tuple[torch.Tensor, ...]) -> tuple[torch.Tensor] | None:
            if not args or args[0].ndim != 3 or args[0].shape[:2] != shape:
                return None
            cut.append(True)
            return (args[0].flatten(0, 1)[rows].unsqueeze(0),)

        hook = self._layer.register_forward_pre_hook(select_rows) if self._layer is not None else None
        try:
            yield lambda: bool(cut)
        finally:
            if hook is not None:
                hook.remove()

    @torch.inference_mode()
    def _serves_rows(self) -> bool:
        """Return whether logits of one row of three, requested alone, are what the whole pass has there."""
        ids = torch.arange(3, device=self._model.device)[None]
        inputs = {"input_ids": ids, "attention_mask": torch.ones_like(ids)}
        whole = self._model(**inputs).logits
        try:
            alone, _ = self.run(inputs, torch.tensor([1], device=ids.device))
        except (ModelError, RuntimeError):  # what comes out of the head is given a shape that three rows would have
            return False
        if whole.shape[:2] != ids.shape:
            return False
        return agree(whole[0, 1], alone[0], _SAME.get(whole.dtype, _SAME_IN_HALF))


def own_log_probabilities(logits: torch.Tensor, rows: torch.Tensor, targets: torch.Tensor) -> NDArray[np.float64]:
    """Return natural log-probabilities, at most 0, of `targets`[k] in row `rows`[k] of `logits` (rows, vocabulary)."""
    # Half precision is too coarse for a sum over the vocabulary.
    logits = logits if logits.dtype == torch.float64 else logits.float()
    # On a CPU a part that stays in the cache is several times as fast, and the numbers are the same.
    size = _CACHED if logits.device.type == "cpu" else len(logits)
    totals = torch.cat([part.logsumexp(1) for part in torch.split(logits, size)])
    differences = logits[rows, targets] - totals[rows]
    values: NDArray[np.float64] = differences.cpu().double().numpy()  # not every device has float64
    return values
