"""The folder of a trained attention model: config.json, model.safetensors, and the file of vectors that it reads.

The folder holds its vectors, so that it can be moved: a hard link to the file where that is possible, else a copy.
They are compared with their hash whenever the model is loaded. Where something was removed from them, the record of
that is here, too.
"""

import errno
import json
import os
import re
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

import torch
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from senseprobe.arrays import Unusable, explained, map_tensors, pack_tensors
from senseprobe.errors import ModelError
from senseprobe.evaluate.mitigation.attention import CLASSES, DecomposableAttention
from senseprobe.evaluate.mitigation.attention_model import AttentionModel, WordTable
from senseprobe.evaluate.models.alteration import ALTERATION_FILES, identify_alteration
from senseprobe.evaluate.models.base import device_of, dtype_of, hash_json
from senseprobe.evaluate.models.encodings import EncodingOptions
from senseprobe.evaluate.models.vector_files import PREFIX, VectorFile
from senseprobe.messages import printable
from senseprobe.release.hashing import file_sha256
from senseprobe.tables import read_json

CONFIG, WEIGHTS, VECTORS = "config.json", "model.safetensors", "vectors"
_MOST_CONFIG = 2**20
_NAME = re.compile(r"[^\x00-\x1f/\\]{1,200}")


class AttentionConfig(BaseModel):
    """What config.json of a trained model says.

    - `scale`: what vectors are divided by before they are read; `vectors`: their file in the folder `vectors`.
    - `weights`, `words`: hashes of that file, and of how words are looked up in it.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    model_type: Literal["senseprobe-attention"] = "senseprobe-attention"
    dimensions: Annotated[int, Field(ge=1, le=2**14)]
    hidden: Annotated[int, Field(ge=1, le=2**12)]
    scale: Annotated[float, Field(gt=0, allow_inf_nan=False)]
    vectors: Annotated[str, Field(max_length=200)]
    lower: bool | None = None
    header: bool | None = None
    skip_bad: bool = False
    weights: str
    words: str
    id2label: dict[int, str] = dict(enumerate(CLASSES))


def write_attention(folder: Path, network: DecomposableAttention, words: WordTable) -> None:
    """Write a trained network with its vectors into a folder that exists. Raises OSError."""
    file = words.file
    config = AttentionConfig(
        dimensions=file.dimensions,
        hidden=len(network.null),
        scale=words.scale,
        vectors=file.table.files[0].name,
        lower=file.options.lower,
        header=file.options.header,
        skip_bad=file.options.skip_bad,
        weights=file.identity["weights"],
        words=_hash_words(file),
    )
    tensors = {name: tensor.detach().cpu().float().numpy() for name, tensor in sorted(network.state_dict().items())}
    (folder / WEIGHTS).write_bytes(pack_tensors(tensors))
    (folder / CONFIG).write_text(json.dumps(config.model_dump(), indent=2) + "\n", encoding="utf-8")
    if identify_alteration(file.table.files[0]):
        for name in ALTERATION_FILES:
            if (record := file.table.files[0].with_name(name)).exists():
                _link(record.resolve(), folder / name)
    (folder / VECTORS).mkdir()
    for path in file.table.files:
        _link(path.resolve(), folder / VECTORS / path.name)


def _link(path: Path, copy: Path) -> None:
    try:
        os.link(path, copy)
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise
        shutil.copyfile(path, copy)  # another file system, or one without links


def _hash_words(file: VectorFile) -> str:
    return hash_json([file.identity["config"], file.identity["tokenizer"]])


def load_attention(
    spec: str,
    *,
    device: str = "auto",
    dtype: str = "float32",
    allow_pickle: bool = False,
    batch_tokens: int | None = None,
    labels: str | None = None,
) -> AttentionModel:
    """Load a model that `write_attention` wrote. Raises ModelError."""
    if labels is not None:
        raise ModelError(f"{spec} names its classes itself: leave --labels out")
    folder = Path(spec).expanduser()
    config = read_attention_config(folder)
    options = EncodingOptions(lower=config.lower, header=config.header, skip_bad=config.skip_bad)
    path = folder / VECTORS / config.vectors
    file = VectorFile.load(f"{PREFIX}{path}", options)
    if (file.identity["weights"], _hash_words(file)) != (config.weights, config.words):
        raise ModelError(f"{printable(str(path))} is not the file of vectors that {spec} was trained on")
    network = DecomposableAttention(config.dimensions, config.hidden)
    with explained(folder / WEIGHTS):
        _fill(network, folder / WEIGHTS)
    network.to(device_of(device), dtype_of(dtype))
    identity = {
        "weights": hash_json([file_sha256(folder / WEIGHTS), config.weights]),
        "config": hash_json(config.model_dump(exclude={"vectors", "weights", "words"})),
        "tokenizer": config.words,
        "dtype": dtype,
    }
    return AttentionModel(spec, network, WordTable(file, config.scale), identity, batch_tokens)


def read_attention_config(folder: Path) -> AttentionConfig:
    """Return config.json of a folder. Raises ModelError where it is none of ours."""
    path = folder / CONFIG
    with explained(path):
        data = path.read_bytes()
        if len(data) > _MOST_CONFIG:
            raise Unusable(f"it is larger than {_MOST_CONFIG >> 20} MiB")
        try:
            config = AttentionConfig.model_validate(read_json(data))
        except ValidationError as error:
            first = error.errors()[0]
            where = ".".join(map(str, first["loc"]))
            raise Unusable(f"{printable(where)}: {printable(first['msg'])}") from None
        if not _NAME.fullmatch(config.vectors) or config.vectors in {".", ".."}:
            raise Unusable("its file of vectors has a name that leads out of the folder")
        if config.id2label != dict(enumerate(CLASSES)):
            raise Unusable(f"its classes are not {', '.join(CLASSES)} in this order")
        return config


def _fill(network: DecomposableAttention, path: Path) -> None:
    """Give a network the weights of a file; raise Unusable where they are not its own."""
    tensors, _ = map_tensors(path)
    state = network.state_dict()
    shapes: Mapping[str, Any] = {name: tuple(tensor.shape) for name, tensor in tensors.items()}
    if shapes != {name: tuple(tensor.shape) for name, tensor in state.items()}:
        raise Unusable("its tensors do not have the names and shapes that config.json says")
    network.load_state_dict({name: torch.tensor(tensor) for name, tensor in tensors.items()})
    if not all(parameter.isfinite().all() for parameter in network.parameters()):
        raise Unusable("one of its numbers is not finite")
