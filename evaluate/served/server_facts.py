"""What a server says of itself, which is believed nowhere: its kind, build, model and slots."""

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, TypeVar

from pydantic import BeforeValidator, Field

from senseprobe.evaluate.served.client import Client
from senseprobe.evaluate.served.json_values import (
    Body,
    ModelName,
    model_name,
    object_or_empty,
    objects_in,
    or_else,
)

T = TypeVar("T", bound=Body)
Positive = Annotated[int | None, Field(gt=0, lt=10**9), or_else(None)]
Text = Annotated[str, or_else("")]

_QUANTISATION = re.compile(
    r"(?:^|[-_.:])(I?Q\d(?:_[0-9A-Z]+)*|MXFP4|NVFP4|BF16|F16|F32|FP16|FP32|FP8|AWQ|GPTQ|INT[48])(?=$|[-_.@])",
    re.IGNORECASE,
)
_OWNERS = {"vllm": "vLLM", "sglang": "SGLang", "llamacpp": "llama.cpp"}


@dataclass(frozen=True, slots=True)
class ServerFacts:
    """What a server says of itself; empty, or None, where it does not tell.

    - `kind`: as `wire.Dialect.kind`; `build`: its version; `models`: the names it lists, which may be paths.
    - `quantisation`: as the model's name spells it (``Q4_1``); `template`: the chat template.
    - `slots`: requests at a time; `context`: tokens that a prompt may have.
    - `start`: how the token is spelt that begins a sequence, else the one that ends it.
    """

    kind: str
    build: str = ""
    models: tuple[str, ...] = ()
    quantisation: str = ""
    template: str = ""
    slots: int | None = None
    context: int | None = None
    start: str = ""

    @property
    def template_hash(self) -> str:
        """The sha256 of the chat template, empty where the server does not tell it."""
        return hashlib.sha256(self.template.encode()).hexdigest() if self.template else ""


class _Listed(Body):
    id: Annotated[str | None, or_else(None)] = None
    owned_by: object = None
    max_model_len: Positive = None


class _Models(Body):
    data: Annotated[list[_Listed], BeforeValidator(objects_in)] = Field(default=[])


class _Settings(Body):
    n_ctx: Positive = None


class _Properties(Body):
    """What llama.cpp tells of itself; another server has no settings."""

    default_generation_settings: Annotated[_Settings | None, or_else(None)] = None
    model_path: ModelName = ""
    build_info: ModelName = ""
    chat_template: Text = ""
    total_slots: Positive = None
    bos_token: Text = ""
    eos_token: Text = ""


class _Version(Body):
    version: ModelName = ""


class _OpenApi(Body):
    paths: Annotated[dict[str, Any], or_else({})] = Field(default={})


def read_facts(client: Client) -> ServerFacts:
    """Ask a server what it is, in at most four requests."""
    models = _get(client, "/v1/models", _Models).data
    names = tuple(model.id for model in models if model.id is not None)
    properties = _get(client, "/props", _Properties)
    if settings := properties.default_generation_settings:
        return ServerFacts(
            kind="llama.cpp",
            build=properties.build_info,
            models=names,
            quantisation=_quantisation([properties.model_path, *names, client.address.model]),
            template=properties.chat_template,
            slots=properties.total_slots,
            context=settings.n_ctx,
            start=properties.bos_token or properties.eos_token,
        )
    owners = {str(model.owned_by).casefold() for model in models}
    kind = next((kind for owner, kind in _OWNERS.items() if owner in owners), "")
    version = _get(client, "/version", _Version).version if kind in ("", "vLLM") else ""
    if not kind:
        paths = _get(client, "/openapi.json", _OpenApi).paths
        kind = "transformers serve" if {"/load_model", "/reset"} <= paths.keys() else "other"
    meant = [model for model in models if model.id == client.address.model] or models[:1]
    return ServerFacts(
        kind=kind,
        build=version,
        models=names,
        quantisation=_quantisation([client.address.model]),
        context=meant[0].max_model_len if meant else None,
    )


def _get(client: Client, path: str, form: type[T]) -> T:
    response = client.get(path, retry=False)
    return form.of(object_or_empty(response.body) if response.status == 200 else {})


def _quantisation(names: Sequence[str]) -> str:
    first = next(
        (match for name in names if (match := _QUANTISATION.search(model_name(name).removesuffix(".gguf")))), None
    )
    return first.group(1) if first else ""
