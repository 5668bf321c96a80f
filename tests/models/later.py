"""Modules that are imported when a test first uses them.

Loading torch and transformers takes seconds, for which nobody should wait who collects tests, or runs others.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

__all__ = [
    "base", "causal", "chat", "chat_template", "checkpoint", "encoder", "layers", "limits", "masked", "nli",
    "odd_models", "pytorch_utils", "safetensors_torch", "torch", "transformers", "transformers_logging",
]  # fmt: skip


class _Later:
    """Stands for a module at the top of tests; type checkers see the module.

    It has no attributes of its own: what is to be patched is named in full, ``monkeypatch.setattr("torch.load", …)``.
    """

    __slots__ = ("_module",)

    def __init__(self, module: str) -> None:
        self._module = module

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - as of a module
        # Python and pytest, when it collects, ask everything for such names.
        if name.startswith(("__", "_mock_", "pytest_")):
            raise AttributeError(name)
        return getattr(import_module(self._module), name)


if TYPE_CHECKING:
    import torch
    import transformers
    from safetensors import torch as safetensors_torch
    from tests.models import odd_models
    from transformers import pytorch_utils
    from transformers.utils import logging as transformers_logging

    from senseprobe.evaluate.models import (
        base,
        causal,
        checkpoint,
        encoder,
        layers,
        limits,
        masked,
        nli,
    )
    from senseprobe.evaluate.served import chat_model as chat
    from senseprobe.evaluate.served import chat_template
else:
    odd_models = _Later("tests.models.odd_models")
    pytorch_utils = _Later("transformers.pytorch_utils")
    safetensors_torch = _Later("safetensors.torch")
    torch = _Later("torch")
    transformers = _Later("transformers")
    transformers_logging = _Later("transformers.utils.logging")

    base = _Later("senseprobe.evaluate.models.base")
    causal = _Later("senseprobe.evaluate.models.causal")
    chat = _Later("senseprobe.evaluate.served.chat_model")
    chat_template = _Later("senseprobe.evaluate.served.chat_template")
    checkpoint = _Later("senseprobe.evaluate.models.checkpoint")
    encoder = _Later("senseprobe.evaluate.models.encoder")
    layers = _Later("senseprobe.evaluate.models.layers")
    limits = _Later("senseprobe.evaluate.models.limits")
    masked = _Later("senseprobe.evaluate.models.masked")
    nli = _Later("senseprobe.evaluate.models.nli")
