"""A copy of a model of transformers in which the vectors of its tokens alone are others: its input embeddings.

The paper's subword projection: before positions, types and the first norm. All other tensors are the same bytes. Where
the output reads the same table (a tied head), the copy has two: what is removed from the input stays in the output.

Dev, Li, Phillips & Srikumar (2020). On measuring and mitigating biased inferences of word embeddings. AAAI.
"""

import json
import os
import re
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from huggingface_hub import snapshot_download

from senseprobe.atomic_files import new_folder
from senseprobe.errors import ModelError
from senseprobe.evaluate.mitigation.erasure import Erasure, divide_lengths
from senseprobe.evaluate.mitigation.record import Change, HeadChoice, Norms, read_record
from senseprobe.evaluate.mitigation.tensor_files import (
    FORMATS,
    StoredTensor,
    TensorFile,
    decode,
    encode,
    write_header,
)
from senseprobe.evaluate.models.alteration import find_store
from senseprobe.evaluate.models.base import TextTokens
from senseprobe.evaluate.models.checkpoint import INDEX, WHOLE, Pretrained, explained, open_outline, quiet
from senseprobe.evaluate.models.limits import MOST_CONFIG_BYTES, MOST_FILE_BYTES, Unloadable
from senseprobe.evaluate.models.limits import read_json as read_bounded_json
from senseprobe.evaluate.models.registry import FAMILIES, ability_of, claiming, class_of, opens
from senseprobe.evaluate.models.source import source_class
from senseprobe.messages import printable
from senseprobe.statistics.intervals import FloatArray

_BLOCK = 2**21  # numbers of a table that are in memory at once, as float64
_CONFIG = "config.json"
_TIED = "tie_word_embeddings"
_MODULES = "modules.json"  # of sentence-transformers: names the folders of its steps
_ADAPTER = "adapter_config.json"
_COPIED = re.compile(
    r"(generation_config|tokenizer(_config)?|special_tokens_map|added_tokens|vocab|modules|sentence_\w+_config"
    r"|config_sentence_transformers|chat_template)\.json|vocab\.txt|merges\.txt|[\w.-]+\.model|chat_template\.jinja"
    r"|(LICENSE|LICENCE|NOTICE|COPYING)(\.md|\.txt)?"
)
"""Files of a model that say how it is used, and its licence. Others are weights in another form, or say what it is."""

_STEP_FILES = ("config.json", "model.safetensors")


@dataclass(frozen=True)
class ParentModel:
    """A model of transformers whose embeddings are read, and copied without directions.

    - `spec`: its folder, or name on the Hub; `folder`: where its files are.
    - `model`: of transformers, with names and shapes, but without numbers; `tokens`: its tokenizer.
    - `key`: what the table of its input embeddings is called; `table`: where that is, a matrix with a row a token.
    - `heads`: names of tensors of its output that are the same table; `ties`: of others that are tensors of another
      name, such as biases. Files may have all names of a tensor, or one.
    - `copied`: paths of its other files that a copy has as they are; config.json apart.
    """

    spec: str
    folder: Path
    ability: str
    model: Pretrained
    tokens: TextTokens
    files: tuple[TensorFile, ...]
    key: str
    table: StoredTensor
    heads: frozenset[str]
    ties: Mapping[str, StoredTensor]
    copied: tuple[str, ...]

    @property
    def size(self) -> int:
        """How many rows its table has."""
        return self.table.shape[0]

    @property
    def dimensions(self) -> int:
        """How many numbers the vector of a token has; in a model that factorises them fewer than a hidden state."""
        return self.table.shape[1]

    @property
    def number_format(self) -> str:
        """The number format of its table: float32, float16, bfloat16 or float64."""
        return str(FORMATS[self.table.format]).removeprefix("torch.")

    @property
    def is_tied(self) -> bool:
        """Whether its output reads the table of its input."""
        return bool(self.heads)

    def vectors(self, ids: Sequence[int]) -> FloatArray:
        """Return the vectors of tokens: float64 of shape (tokens, dimensions)."""
        return np.concatenate([np.empty((0, self.dimensions)), *(self.table.rows(id_, id_ + 1) for id_ in ids)])

    def blocks(self) -> Iterator[tuple[int, FloatArray]]:
        """Yield the rows of the table in parts, each with the number of its first."""
        step = max(1, _BLOCK // self.dimensions)
        for first in range(0, self.size, step):
            block = self.table.rows(first, min(first + step, self.size))
            if not np.isfinite(block).all():
                raise ModelError(f"the model {self.spec} has embeddings that are not finite numbers")
            yield first, block


# --- a parent ---------------------------------------------------------------------------------------------------------


def open_parent(spec: str) -> ParentModel:
    """Open a model of transformers, in a folder or on the Hub, without loading its weights.

    Raises ModelError where it cannot be copied: a served or a plug-in's model, an encoder with a decoder, quantised or
    pickled weights, files that are links out of its folder.
    """
    with explained(spec):
        if opens(spec) or not getattr(source_class(spec), "is_local", True):
            raise Unloadable(
                "only a model of transformers in a folder or on the Hub has embeddings that can be changed"
            )
        if family := claiming(spec, FAMILIES.values()):
            raise Unloadable(f"it is of the family {family.id}, whose embeddings are not known")
        ability = ability_of(spec)
        auto_class = class_of(ability).auto_class
        model, tokenizer, paths = open_outline(auto_class, spec)
        folder = _complete_folder(spec, paths[0].parent)
        for path in paths:
            _plain(folder, path.name)
        if (record := read_record(folder)) and record.layers == "all":
            raise Unloadable("it is altered again as it is loaded (--layers all): use its parent")
        config = _read_object(folder, _CONFIG)
        if any(config.get(name) for name in ("quantization_config", "compression_config")):
            raise Unloadable("its weights are quantised, and vectors cannot be removed from them: use the full weights")
        if (folder / _ADAPTER).exists():
            raise Unloadable("it is an adapter of another model: merge the two first")
        if model.config.is_encoder_decoder:
            raise Unloadable("it has an encoder and a decoder: use a model with only one of them")
        files = tuple(map(TensorFile.read, paths))
        stored = {name: tensor for file in files for name, tensor in file.tensors.items()}
        key, heads, ties = _find_table(model, stored)
        table = next(stored[name] for name in (key, *heads) if name in stored)
        if table.format not in FORMATS:
            raise Unloadable(f"its embeddings are quantised ({table.format}), and cannot be changed")
        if len(table.shape) != 2:
            raise Unloadable("its table of embeddings is not a matrix")
        return ParentModel(
            spec=spec,
            folder=folder,
            ability=ability,
            model=model,
            tokens=TextTokens(tokenizer),
            files=files,
            key=key,
            table=table,
            heads=frozenset(heads),
            ties=ties,
            copied=_copied_names(folder),
        )


def _complete_folder(spec: str, folder: Path) -> Path:
    """Return the folder of a model; of one on the Hub, with its small files."""
    if Path(spec).expanduser().is_dir():
        return Path(spec).expanduser()
    name, _, _ = spec.partition("@")
    patterns = ["*.json", "*.txt", "*.model", "*.jinja", "LICENSE*", "NOTICE*", "*/config.json", "*/model.safetensors"]
    with quiet():
        snapshot_download(name, revision=folder.name, allow_patterns=patterns)
    return folder


def _plain(folder: Path, name: str) -> Path:
    """Return a file of a folder; raise Unloadable where it is a link that leads out of it.

    In the cache of the Hub all files are links into the store of their repository.
    """
    path = Path(os.path.realpath(folder / name))
    if not any(bound and path.is_relative_to(bound) for bound in (folder.resolve(), find_store(folder))):
        raise Unloadable(f"its {printable(name)} is a link out of the folder, which is not followed")
    if not path.is_file():
        raise Unloadable(f"its {printable(name)} is not a plain file")
    return path


def _find_table(
    model: Pretrained, stored: Mapping[str, StoredTensor]
) -> tuple[str, list[str], dict[str, StoredTensor]]:
    """Return what the input embeddings of a model are called in its files, the output's that are the same, and others.

    The others are tensors that are the same as one of another name: biases of an output that is tied.
    """
    embeddings, shapes = model.get_input_embeddings(), {name: part.shape for name, part in model.state_dict().items()}
    module = next((name for name, part in model.named_modules() if part is embeddings), "")
    if (parameter := f"{module}.weight") not in shapes:
        raise Unloadable("it does not have an embedding table")
    tied = {target: source for target, source in model.all_tied_weights_keys.items() if target in shapes}
    key = _stored_name(model, parameter, shapes, stored)
    heads, ties = list[str](), dict[str, StoredTensor]()
    body = f"{model.base_model_prefix}."
    of_head = {name for name in shapes if not name.startswith(body)} - {*tied, *tied.values()}
    if any(_stored_name(model, name, shapes, stored) not in stored for name in of_head):
        tied = {}  # files of a body alone, whose head transformers would make up
    for target, source in tied.items():
        names = [_stored_name(model, name, shapes, stored) for name in (target, source)]
        values = [stored[name] for name in names if name in stored]
        if len(values) == 2 and not values[0].has_bytes_of(values[1]):
            continue  # transformers ties those that are equal alone
        if source == parameter:
            heads.append(names[0])
        elif values:
            ties |= dict.fromkeys(names, values[0])
    if not any(name in stored for name in (key, *heads)):
        raise Unloadable("its files do not have the table of its embeddings under a name that transformers knows")
    return key, heads, ties


def _stored_name(
    model: Pretrained, name: str, shapes: Mapping[str, tuple[int, ...]], stored: Mapping[str, StoredTensor]
) -> str:
    """Return what a parameter is called in files, which may leave the prefix of the body out, or have it besides."""
    prefix = f"{model.base_model_prefix}."
    names = (name, name.removeprefix(prefix), f"{prefix}{name}")
    present = (key for key in names if key in stored and stored[key].shape == tuple(shapes[name]))
    is_bare = not any(key.startswith(prefix) for key in stored)
    return next(present, name.removeprefix(prefix) if is_bare else name)


# --- a copy -----------------------------------------------------------------------------------------------------------


@contextmanager
def copied_without(
    parent: ParentModel, erasure: Erasure, out: Path, *, head: HeadChoice = "untied", renormalise: bool = False
) -> Iterator[tuple[Path, Change]]:
    """Write a copy of a model without directions into a new folder, which is there as a whole when the block ends.

    The block gets the folder as it is filled, where it adds what says how it was made, and what was done. With `head`
    tied a head that reads the table of the input has the changed one, else its own, which is as it was. `renormalise`
    gives vectors the norms that they had. Raises SenseprobeError where the folder exists or cannot be written.
    """
    if erasure.dimensions != parent.dimensions:
        raise ModelError(
            f"the model {parent.spec} has embeddings of {parent.dimensions} dimensions, and the directions "
            f"have {erasure.dimensions}"
        )
    if head == "tied" and not parent.is_tied:
        raise ModelError(f"the head of {parent.spec} does not read the table of its input: leave --head out")
    with new_folder(out) as folder:
        copier = _Copier(parent, erasure, unties=parent.is_tied and head == "untied", renormalise=renormalise)
        copier.write(folder)
        yield folder, copier.change()


class _Copier:
    """Writes the copy of a model; what is removed of each token is noted on the way."""

    def __init__(self, parent: ParentModel, erasure: Erasure, *, unties: bool, renormalise: bool) -> None:
        self._parent, self._erasure, self._unties, self._renormalise = parent, erasure, unties, renormalise
        self._changed = {parent.key} if unties else {parent.key, *parent.heads}
        self._removed = np.empty((parent.size, erasure.rank), dtype=np.float32)
        self._scale, self._ratios = np.ones(parent.size, dtype=np.float32), np.ones(parent.size)
        self._residual = 0.0

    def write(self, folder: Path) -> None:
        """Write all files of the copy."""
        parent = self._parent
        present = {name for file in parent.files for name in file.tensors}
        added = {**dict.fromkeys([parent.key, *sorted(parent.heads)], parent.table), **parent.ties}
        added = {name: tensor for name, tensor in added.items() if self._unties and name not in present}
        for file in parent.files:
            tensors = {**file.tensors, **(added if file.path == parent.table.path else {})}
            with (folder / file.path.name).open("wb") as copy:
                for name in write_header(copy, tensors, file.metadata):
                    copy.writelines(self._changed_parts() if name in self._changed else tensors[name].parts())
        self._write_index(folder, added)
        self._write_config(folder)
        for name in parent.copied:
            (folder / name).parent.mkdir(exist_ok=True)
            shutil.copyfile(_plain(parent.folder, name), folder / name)

    def change(self) -> Change:
        """Return what was done."""
        return Change(
            removed=self._removed,
            scale=self._scale if self._renormalise else None,
            residual=self._residual,
            norms=Norms(mean=float(self._ratios.mean()), least=float(self._ratios.min())),
            head=("untied" if self._unties else "tied") if self._parent.is_tied else "none",
        )

    def _changed_parts(self) -> Iterator[bytes]:
        """Yield the bytes of the table without the directions."""
        erasure, table = self._erasure, self._parent.table
        for first, block in self._parent.blocks():
            rows = slice(first, first + len(block))
            removed, copy = erasure.read(block), erasure.apply(block)
            before, after = (np.linalg.norm(vectors, axis=1) for vectors in (block, copy))
            if self._renormalise:
                scales = divide_lengths(before, after)
                copy, self._scale[rows] = copy * scales[:, None], scales
                after = np.linalg.norm(copy, axis=1)
            data = encode(copy, table.format)
            rounded = decode(data, table.format, self._parent.dimensions) / self._scale[rows, None]
            self._removed[rows] = removed
            self._ratios[rows] = divide_lengths(after, before)
            self._residual = max(self._residual, float(np.abs(erasure.read(rounded)).max(initial=0.0)))
            yield data

    def _write_index(self, folder: Path, added: Mapping[str, StoredTensor]) -> None:
        """Copy the list of which file has which tensor, where there are several; tensors that are new stand in it."""
        parent = self._parent
        if {file.path.name for file in parent.files} == {WHOLE}:
            return
        source = _plain(parent.folder, INDEX)
        if not added:
            shutil.copyfile(source, folder / INDEX)
            return
        index = _read_object(parent.folder, INDEX)
        index["weight_map"] |= dict.fromkeys(added, parent.table.path.name)
        if isinstance(size := index["metadata"].get("total_size"), int):
            index["metadata"]["total_size"] = size + sum(tensor.size for tensor in added.values())
        (folder / INDEX).write_text(json.dumps(index, indent=2) + "\n", encoding="utf-8")

    def _write_config(self, folder: Path) -> None:
        """Copy the config; of an output that gets a table of its own it says so."""
        source = _plain(self._parent.folder, _CONFIG)
        if not self._unties:
            shutil.copyfile(source, folder / _CONFIG)
            return
        config = _read_object(self._parent.folder, _CONFIG)
        for part in (config, *(value for value in config.values() if isinstance(value, dict) and _TIED in value)):
            part[_TIED] = False
        (folder / _CONFIG).write_text(json.dumps(config, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def _copied_names(folder: Path) -> tuple[str, ...]:
    """Return the paths of files that a copy has as they are, below the folder of a model: config.json apart."""
    names = sorted(path.name for path in folder.iterdir() if _COPIED.fullmatch(path.name))
    steps = read_bounded_json(_plain(folder, _MODULES), MOST_CONFIG_BYTES) if _MODULES in names else None
    paths = [step.get("path") for step in steps if isinstance(step, dict)] if isinstance(steps, list) else []
    folders = sorted({path for path in paths if isinstance(path, str) and re.fullmatch(r"\w+", path)})
    names += [f"{path}/{name}" for path in folders for name in _STEP_FILES if (folder / path / name).exists()]
    for name in names:
        if _plain(folder, name).stat().st_size > MOST_FILE_BYTES:
            raise Unloadable(f"its {printable(name)} is larger than {MOST_FILE_BYTES >> 20} MiB")
    return tuple(names)


def _read_object(folder: Path, name: str) -> dict[str, Any]:
    """Return the object in a JSON file of a folder; empty where there is none."""
    if not (folder / name).exists():
        return {}
    value = read_bounded_json(_plain(folder, name), MOST_CONFIG_BYTES * 16)
    return value if isinstance(value, dict) else {}
