"""How a model makes vectors of words and sentences: what a user asks for, and what a result states."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Self

from senseprobe.errors import ModelError

LEVELS: Mapping[str, str] = {
    "word": "the word alone",
    "sent": "the sentence that it stands in",
    "cword": "the word in its sentence",
}
"""What association tests have vectors of (Tan and Celis 2019, section 3.1), by the name of the level."""

STARTS = ("own", "bos", "eos", "off")
"""What stands before a text: what the tokenizer puts there, a token put there since it puts none, or nothing."""


@dataclass(frozen=True, slots=True)
class EncodingOptions:
    """What a user asks of vectors; None is the model's own way.

    - `pooling`: of tokens, ``cls``, ``mean``, ``max`` or ``last`` of a sentence; ``mean``, ``first``, ``last`` or
      ``head`` (the first token of its last word, as in Tan and Celis' code) of a word in its sentence.
    - `layer`: of hidden states; 0 is the table of tokens, and negative numbers count from the last.
    - `start`: ``off`` puts no token before a text where the tokenizer of a decoder puts none itself.
    - `lower`: whether words are looked up in lower case in a file of vectors.
    """

    pooling: str | None = None
    layer: int | None = None
    start: str | None = None
    lower: bool | None = None

    @classmethod
    def of_text(cls, text: str) -> Self:
        """Return options that ask for an encoding, as `Encoding.text` states it. ModelError where it states none."""
        parts = dict(part.split("=", 1) for part in text.split(";") if "=" in part)
        lower, layer, start = parts.get("lower"), parts.get("layer"), parts.get("start")
        try:
            return cls(
                pooling=parts.get("pooling"),
                layer=None if layer is None else int(layer),
                start="off" if start == "off" else None,
                lower=None if lower is None else lower == "yes",
            )
        except ValueError:
            raise ModelError(f"{text!r} is no encoding of words") from None


@dataclass(frozen=True, slots=True)
class Encoding:
    """How a model makes the vectors of a level, all of it resolved: names and what they are, in order."""

    level: str
    parts: tuple[tuple[str, str], ...] = ()

    @property
    def text(self) -> str:
        """The encoding as a signature states it: ``level=cword;pooling=mean;check=last;layer=12;start=bos``."""
        return ";".join(f"{name}={part}" for name, part in (("level", self.level), *self.parts))
