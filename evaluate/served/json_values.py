"""JSON of a server, of which nothing is believed unseen: how it is read, and what its values may be."""

import math
import re
from collections.abc import Iterable
from typing import Annotated, Any, Self

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PlainValidator,
    ValidationError,
    ValidatorFunctionWrapHandler,
    WrapValidator,
)

from senseprobe import tables
from senseprobe.errors import ModelError
from senseprobe.evaluate.served.address import HIDDEN
from senseprobe.tables import DepthError

DEEPEST = 64
"""Levels of a body's JSON; answers have ten."""

_SECRET = 8  # letters from which on a key is hidden in answers, too: "EMPTY" and "x" are words, and no secrets
# Rounding of single precision, or of decimals, may bring the sum of twenty probabilities this much over 1.
ROUNDING = 1e-4
LONGEST_NAME = 200
"""Characters of a server's words that are shown."""


def read_json(data: bytes, key: str | None = None) -> Any:  # noqa: ANN401 - JSON
    """Return JSON in UTF-8 that any program may read: its numbers finite, its texts Unicode, and without the key.

    ValueError where it is none, or nested more than `DEEPEST` deep.
    """
    value = tables.read_json(data, parse_constant=_refuse, parse_float=_finite, parse_int=_whole)
    return _clean_json(value, key if key and len(key) >= _SECRET else None, DEEPEST)


def _clean_json(value: Any, key: str | None, levels: int) -> Any:  # noqa: ANN401 - JSON
    if isinstance(value, str):
        text = value if value.isascii() else value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        return text.replace(key, HIDDEN) if key else text
    if not isinstance(value, list | dict):
        return value
    if not levels:
        raise DepthError("is nested too deeply")
    if isinstance(value, list):
        return [_clean_json(item, key, levels - 1) for item in value]
    return {_clean_json(name, key, 1): _clean_json(item, key, levels - 1) for name, item in value.items()}


def _refuse(name: str) -> float:
    raise ValueError(name)


def _finite(text: str) -> float:
    if not math.isfinite(value := float(text)):
        raise ValueError(text)
    return value


def _whole(text: str) -> int:
    _finite(text)  # what no float holds ends a calculation later, wherever that is
    return int(text)


# --- values that may be missing, or other than they should be ---------------------------------------------------------


def object_or_empty(value: object) -> dict[str, Any]:
    """Return an object; an empty one of any other value."""
    return value if isinstance(value, dict) else {}


def list_or_empty(value: object) -> list[Any]:
    """Return a list; an empty one of any other value."""
    return value if isinstance(value, list) else []


def objects_in(values: object) -> list[dict[str, Any]]:
    """Return the objects in a list, or in any iterable of ours; none of any other value."""
    items = values if isinstance(values, Iterable) and not isinstance(values, str | dict) else ()
    return [value for value in items if isinstance(value, dict)]


def model_name(value: object) -> str:
    """Return the name of a model as a server gives it, the path of a file cut to its name; empty where it is none.

    >>> model_name("/models/qwen-Q4_1.gguf"), model_name("qwen/qwen3"), model_name(None)
    ('qwen-Q4_1.gguf', 'qwen/qwen3', '')
    """
    name = short_name(value)
    is_path = name.startswith(("/", ".", "~")) or "\\" in name or name.endswith(".gguf")
    return re.split(r"[/\\]", name)[-1] if is_path else name


def short_name(value: object) -> str:
    """Return a short printable text as a server gives it, empty where it is none."""
    return "".join(letter for letter in value if letter.isprintable())[:LONGEST_NAME] if isinstance(value, str) else ""


# --- models of answers ------------------------------------------------------------------------------------------------


ABSENT: Any = None
"""The default of a field without which an answer cannot be used: `must_be` refuses it."""


class Body(BaseModel):
    """An answer, or an object in one. No value is converted, and what is not a field here is left out.

    A field without which an answer cannot be used has a problem (`must_be`), any other one has a default (`or_else`).

    >>> class Settings(Body):
    ...     n_ctx: Count = None
    >>> Settings.of({"n_ctx": 512, "n_keep": 1}), Settings.of({"n_ctx": "512"})
    (Settings(n_ctx=512), Settings(n_ctx=None))
    """

    model_config = ConfigDict(strict=True, frozen=True, validate_default=True, protected_namespaces=())

    @classmethod
    def of(cls, value: object, problem: str = "no JSON object") -> Self:
        """Return what an object of JSON holds; ModelError says its first problem, or `problem` where it is none."""
        if not isinstance(value, dict):
            raise impossible(problem)
        return cls.model_validate(value)


def impossible(what: str) -> ModelError:
    """Return the error of an answer that has what no answer can have."""
    return ModelError(f"the server's answer cannot be used: it has {what}")


def must_be(kind: type, problem: str) -> BeforeValidator:
    """Return the rule that a field is of a kind; else the answer cannot be used, and ModelError says the problem."""

    def check(value: object) -> object:
        if not isinstance(value, kind):
            raise impossible(problem)  # pydantic collects ValueError alone: the first problem ends the reading
        return value

    return BeforeValidator(check)


def or_else(default: object) -> WrapValidator:
    """Return the rule that a field has a default where its value is of another kind."""

    def check(value: object, validate: ValidatorFunctionWrapHandler) -> object:
        try:
            return validate(value)
        except ValidationError:
            return default

    return WrapValidator(check)


def text_of(value: object) -> str:
    """Return the text of a message: a text, a list of objects with texts, or none."""
    if value is None:
        return ""
    if isinstance(value, list):
        return "".join(text_of(object_or_empty(item).get("text")) for item in value)
    if not isinstance(value, str):
        raise impossible("a value that is not text")
    return value


def log_probability(value: object) -> float:
    """Return a log-probability, 0 where rounding brought it above; ModelError where it is none."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise impossible("a log-probability that is not a number")
    if value > ROUNDING:
        raise impossible("a log-probability above 0")
    return min(float(value), 0.0)


MessageText = Annotated[str, BeforeValidator(text_of)]
LogProbability = Annotated[float, PlainValidator(log_probability)]
ModelName = Annotated[str, BeforeValidator(model_name)]
ShortName = Annotated[str, BeforeValidator(short_name)]
Count = Annotated[int | None, Field(ge=0, lt=10**9), or_else(None)]
"""A whole number that can be believed; None of any other value."""


class Usage(Body):
    """Tokens of a prompt and of its answer, by the names of chat and of other routes; None where they are not told."""

    prompt_tokens: Count = None
    completion_tokens: Count = None
    input_tokens: Count = None
    output_tokens: Count = None


class Counted(Body):
    """An answer with the tokens that it cost."""

    usage: Annotated[Usage, or_else(Usage())] = Usage()
