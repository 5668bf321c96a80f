"""What a server says of itself, which is believed nowhere: its kind, build, model and slots."""

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from senseprobe.evaluate.served.client import Client
from senseprobe.evaluate.served.json_values import count_of, model_name, object_or_empty, objects_in

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


def read_facts(client: Client) -> ServerFacts:
    """Ask a server what it is, in at most four requests."""
    models = objects_in(_get(client, "/v1/models").get("data"))
    names = tuple(own["id"] for own in models if isinstance(own.get("id"), str))
    props = _get(client, "/props")
    if isinstance(settings := props.get("default_generation_settings"), dict):
        file = model_name(props.get("model_path"))
        return ServerFacts(
            kind="llama.cpp",
            build=model_name(props.get("build_info")),
            models=names,
            quantisation=_quantisation([file, *names, client.address.model]),
            template=props["chat_template"] if isinstance(props.get("chat_template"), str) else "",
            slots=_positive(props.get("total_slots")),
            context=_positive(settings.get("n_ctx")),
            start=next(
                (name for key in ("bos_token", "eos_token") if isinstance(name := props.get(key), str) and name), ""
            ),
        )
    owners = {str(own.get("owned_by")).casefold() for own in models}
    kind = next((kind for owner, kind in _OWNERS.items() if owner in owners), "")
    version = model_name(_get(client, "/version").get("version")) if kind in ("", "vLLM") else ""
    if not kind:
        paths = _get(client, "/openapi.json").get("paths")
        kind = (
            "transformers serve" if isinstance(paths, dict) and {"/load_model", "/reset"} <= paths.keys() else "other"
        )
    asked = [own for own in models if own.get("id") == client.address.model] or models[:1]
    return ServerFacts(
        kind=kind,
        build=version,
        models=names,
        quantisation=_quantisation([client.address.model]),
        context=_positive(asked[0].get("max_model_len")) if asked else None,
    )


def _get(client: Client, path: str) -> Mapping[str, Any]:
    response = client.get(path, retry=False)
    return object_or_empty(response.body) if response.status == 200 else {}


def _quantisation(names: Sequence[str]) -> str:
    found = next(
        (match for name in names if (match := _QUANTISATION.search(model_name(name).removesuffix(".gguf")))), None
    )
    return found.group(1) if found else ""


def _positive(value: object) -> int | None:
    return count_of(value) or None
