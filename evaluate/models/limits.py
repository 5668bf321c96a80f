"""Limits for models from anywhere, checked before memory or time is spent on them.

A model may have no more parts than its weights account for, and a tokenizer may not make texts many times as long.
"""

import base64
import re
import unicodedata
from binascii import Error
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Any

import torch
from safetensors import safe_open
from torch.nn.modules import module as hooks

from senseprobe import tables
from senseprobe.errors import ModelError

MOST_CONFIG_BYTES = 2**22  # a config.json has some kB, those that name ten thousand classes less than one MB
MOST_PARTS = 100_000
"""Layers, experts, heads or labels that a config may ask for: lists of so many are made when it is read."""

CONFIG_MEMORY = 2**29
"""Bytes that a config may take while it is read, where names of its numbers do not say what they count."""

_PARTS = re.compile(r"(^|_)(n_)?(layers?|blocks|depths?|experts|groups|labels|heads|stages)$")
_SPARE_ELEMENTS = 2**26
_SPARE_PARTS = 10_000


class Unloadable(ModelError):
    """A model that cannot be loaded, with the reason in a clause; `explained` adds which one that is."""


@dataclass(frozen=True, slots=True)
class Weights:
    """The size of a model's weights in files: `tensors`, or a bound on how many, and `bytes`."""

    tensors: int
    bytes: int

    @classmethod
    def of(cls, files: Collection[Path]) -> "Weights":
        """Read the headers of safetensors; a pickle is not opened, and has a tensor for each 64 bytes at most."""
        return cls(sum(map(_tensors, files)), sum(path.stat().st_size for path in files))


LARGEST = Weights(tensors=20_000, bytes=2**42)
"""More than any model has whose weights are not read: so many parts are made in seconds, and take some 100 MB."""


def _tensors(path: Path) -> int:
    if path.suffix != ".safetensors":
        return path.stat().st_size // 64 + 1
    with safe_open(path, "pt") as file:
        return len(file.keys())


def read_json(path: Path, most_bytes: int) -> Any:  # noqa: ANN401 - JSON
    """Return what is in a file of a model; None where that is not JSON, as transformers says itself."""
    if path.stat().st_size > most_bytes:
        raise Unloadable(f"its {path.name} is larger than {most_bytes >> 20} MiB")
    try:
        return tables.read_json(path.read_bytes())
    except tables.UnreadableError:
        return None


def check_config(path: Path) -> None:
    """Raise Unloadable where a config.json is too long, or has lists made of more parts than any model has."""
    for key, number in _numbers(read_json(path, MOST_CONFIG_BYTES)):
        if _PARTS.search(key) and number > MOST_PARTS:
            raise Unloadable(f"its config.json says {key} {number}, more than any known model has ({MOST_PARTS})")


def _numbers(config: Any) -> Iterator[tuple[str, int]]:  # noqa: ANN401 - JSON
    """Yield every whole number of a config, however deep, with the key that it is under."""
    todo = [("", config)]
    while todo:
        key, value = todo.pop()
        if isinstance(value, dict):
            todo += [(str(name), below) for name, below in value.items()]
        elif isinstance(value, list):
            todo += [(key, below) for below in value]
        elif isinstance(value, int):
            yield key, value


@contextmanager
def bounded_by(weights: Weights) -> Iterator[None]:
    """Raise Unloadable as soon as a model that is built meanwhile has more parts or numbers than its weights allow.

    A model has a parameter for each tensor in its file, two where they are tied, and again when they are loaded; four
    bits of a file at least are a number. Buffers, such as masks, are in no file.
    """
    most = {
        "parameters": 4 * weights.tensors + _SPARE_PARTS,
        "modules": 64 * weights.tensors + _SPARE_PARTS,
        "numbers": 4 * weights.bytes + _SPARE_ELEMENTS,
        "buffers": 4 * weights.bytes + _SPARE_ELEMENTS,
    }
    counts = Counter[str]()

    def add(**numbers: int) -> None:
        counts.update(numbers)
        if any(counts[part] > most[part] for part in numbers):
            raise Unloadable(
                f"its config.json describes a much larger model than its weights ({weights.tensors} tensors "
                f"in {weights.bytes} bytes)"
            )

    def size(tensor: torch.Tensor | None) -> int:
        return 0 if tensor is None else tensor.numel()

    with ExitStack() as stack:
        stack.enter_context(
            hooks.register_module_parameter_registration_hook(lambda _, __, new: add(parameters=1, numbers=size(new)))
        )
        stack.enter_context(hooks.register_module_buffer_registration_hook(lambda _, __, new: add(buffers=size(new))))
        stack.enter_context(hooks.register_module_module_registration_hook(lambda _, __, ___: add(modules=1)))
        yield


# --- tokenizers -----------------------------------------------------------------------------------------------------

# How much longer a normaliser may make a text is computed from its file. A memory cap cannot stand in for that:
# tokenizers is written in Rust, which ends the whole process where it gets no memory (24 doublings of a letter under a
# cap of 256 MiB: exit code 134), and nothing can catch that.

MOST_FILE_BYTES = 2**28  # of a tokenizer.json; the largest vocabularies have some 40 MB
MOST_GROWTH = 256
"""How many times as long a text may get by what a file itself puts in: the first step of most puts in nothing."""

MOST_GROWTH_IN_ALL = 2**20
"""The same with what Unicode's own forms may add, at most: ALBERT's steps could make 1,944 characters of one."""

MOST_ADDED = 64  # special tokens that a tokenizer may put around two texts
PORTION = 2**14  # characters tokenized at once, unless one text has more; 400 bytes each meanwhile
TOKENS_PER_BYTE = 8
"""Of a text in UTF-8. Byte-level tokenizers make one of each; a character of three bytes may be 18 by Unicode."""

# Characters that one may become, by Unicode's tables (U+FDFA has 18 in the compatibility forms).
_UNICODE = {"NFKD": 18, "NFKC": 18, "NFD": 4, "NFC": 4, "Lowercase": 3, "BertNormalizer": 12}
# Steps that put in text of the file's, or bytes for characters: the same step may stand there many times.
_UNKNOWN = 4
# Steps after which a text has the letters it had, but for case, accents and Unicode's forms.
_KEEP_LETTERS = frozenset(("Sequence", "NFD", "NFC", "NFKD", "NFKC", "Lowercase", "StripAccents", "Strip"))
# A regular expression that is signs, classes of signs or blanks in turn, each of which is there at least once.
_PIECE = r"(?:\[[^\\\[\]^&-]+\]|\\s|[^\\\[\](){}.*+?^$|])"
_PLAIN_REGEX = re.compile(rf"(?:{_PIECE}(?:\+|\{{[1-9]\d*,?\d*\}})?(?![*?+{{]))+")
_BLANKS = "".join(chr(code) for code in range(0x3001) if chr(code).isspace())


def check_tokenizer(path: Path) -> None:
    """Check the steps in a tokenizer.json before it is loaded, which sends the added tokens through them."""
    check_steps(read_json(path, MOST_FILE_BYTES))


def check_steps(pieces: Any) -> None:  # noqa: ANN401 - JSON
    """Raise Unloadable where the steps of a tokenizer, as its JSON has them, would make texts many times as long."""
    if not isinstance(pieces, dict):
        return
    steps = [*_steps(pieces.get("normalizer")), *_steps(pieces.get("pre_tokenizer"))]
    put_in, by_unicode = _grown(steps), prod(_UNICODE.get(str(step.get("type")), 1) for step in steps)
    if put_in > MOST_GROWTH or put_in * by_unicode > MOST_GROWTH_IN_ALL:
        times = min(put_in * by_unicode, 10**12)
        raise Unloadable(f"the normaliser of its tokenizer could make texts {times:,} times as long")


def _steps(step: Any) -> Iterator[dict[str, Any]]:  # noqa: ANN401 - JSON
    """Yield the steps of a normaliser or pre-tokenizer, those in sequences too, however deep."""
    todo = [step]
    while todo:
        step = todo.pop()
        if isinstance(step, dict):
            below = [part for key in ("normalizers", "pretokenizers") for part in step.get(key) or ()]
            todo += reversed(below)
            yield step


def _grown(steps: Iterable[Mapping[str, Any]]) -> int:
    """Return how many characters steps may make of one; two multiply where one may match what an earlier put in."""
    by_letter, anywhere, most = dict[str, int](), 1, 1
    for step in steps:
        if (kind := str(step.get("type"))) in _KEEP_LETTERS:
            continue
        pattern = _Pattern.of(step.get("pattern") if kind == "Replace" else None)
        before = most
        if pattern.letters is not None:
            before = max((anywhere, *(by_letter.get(letter, 1) for letter in pattern.letters)))
        grown = min(before * _put_in(kind, step, pattern), 10**12)
        most = max(most, grown)
        if kind != "Replace":
            anywhere = most
            continue
        for letter in _folded(str(step.get("content"))):
            by_letter[letter] = max(by_letter.get(letter, 1), grown)
    return most


@dataclass(frozen=True, slots=True)
class _Pattern:
    """What a replacement matches: at least `shortest` characters, with no other `letters`; None: any, or none."""

    shortest: int
    letters: set[str] | None

    @classmethod
    def of(cls, pattern: Any) -> "_Pattern":  # noqa: ANN401 - JSON
        """Read a pattern as the file has it; one that may match nothing does so between characters, too."""
        parts = pattern if isinstance(pattern, dict) else {}
        text, regex = parts.get("String"), parts.get("Regex")
        if isinstance(text, str) and text:
            return cls(len(text), _folded(text))
        if isinstance(regex, str) and len(regex) <= 200 and _PLAIN_REGEX.fullmatch(regex):
            return cls(1, _folded(regex + (_BLANKS if "\\s" in regex else "")))
        return cls(0, None)


def _folded(text: str) -> set[str]:
    """Return the letters of a text, without what the steps that keep letters may change."""
    return set(unicodedata.normalize("NFKD", unicodedata.normalize("NFKD", text).casefold()))


def _put_in(kind: str, step: Mapping[str, Any], pattern: _Pattern) -> int:
    """Return how many characters a step may make of one, by what it puts in; 1 where it puts nothing in."""
    if kind == "Replace":
        size = len(str(step.get("content")))
        return max(1, -(-size // pattern.shortest)) if pattern.shortest else 1 + size
    if kind == "Prepend":
        return 1 + len(str(step.get("prepend")))
    if kind == "Precompiled":
        return max(1, _longest_entry(str(step.get("precompiled_charsmap"))) // 18)
    return _UNKNOWN if kind == "ByteLevel" else 1


def _longest_entry(charsmap: str) -> int:
    """Return the longest text, in bytes, that a map of SentencePiece has for a character: they are a plain list."""
    try:
        data = base64.b64decode(charsmap, validate=True)
    except (Error, ValueError):
        return 0  # it cannot be loaded either
    entries = data[4 + int.from_bytes(data[:4], "little") :]
    return max(map(len, entries.split(b"\0")), default=0)


def tokenized(
    tokenizer: Any,  # noqa: ANN401 - of transformers
    texts: Sequence[str],
    others: Sequence[str] | None = None,
    **options: bool,
) -> Iterator[Any]:
    """Yield, in portions, what a tokenizer makes of texts, or of pairs. ModelError where that is far too much."""
    for start, end in _portions(texts, others):
        second = None if others is None else list(others[start:end])
        columns = tokenizer(list(texts[start:end]), second, verbose=False, **options)
        size = sum(len(text.encode("utf-8", "replace")) for text in (*texts[start:end], *(second or ())))
        tokens = sum(map(len, columns["input_ids"]))
        if tokens > TOKENS_PER_BYTE * size + MOST_ADDED * (end - start):
            raise ModelError(f"the model's tokenizer makes {tokens:,} tokens from {size:,} bytes of text")
        yield columns


def _portions(texts: Sequence[str], others: Sequence[str] | None) -> Iterator[tuple[int, int]]:
    start, used = 0, 0
    for number, text in enumerate(texts):
        length = len(text) + (len(others[number]) if others is not None else 0)
        if number > start and used + length > PORTION:
            yield start, number
            start, used = number, 0
        used += length
    if texts:
        yield start, len(texts)
