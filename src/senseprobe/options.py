"""Options: each is declared once, on the parameter of the API's function, and a command takes it from there.

`Annotated[int | None, Option("--limit -l", metavar="N", help="Score a sample of so many rows.")]` is a parameter of a
function and an option of its command. This module imports nothing heavy, and `parameters_of` evaluates no type that
only the type checker imports.
"""

import builtins
import inspect
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import GenericAlias, UnionType
from typing import Any, Literal, Union, get_args, get_origin

UNSTATED: Any = object()
"""In place of a default: the command's is the one of the function."""


@dataclass(frozen=True, slots=True)
class Option:
    """What a command's help says of an option, and what differs from the parameter of the function.

    - `flags`: its names with blanks between them, as ``--scorer -m`` or ``--header/--no-header``; empty: the
      parameter's name.
    - `metavar`: what stands for the value; `least` and `most`: its bounds.
    - `type`: what the command takes; None: what the function takes, a path or a text where that is one of several.
    - `default`: of the command; `shown_default`: what its help says instead, empty: nothing.
    - `parse`: makes the function's value of what was typed; its ValueError says what was expected.
    - `old`: names that it had, which still work, with a notice.
    - `also`: other names, which no help has.
    - `completes`: whether a shell completes names of a ``dataset`` or a ``release``.
    - `variable`: an environment variable that also sets it; `hidden`: whether the help leaves it out.
    """

    flags: str = ""
    help: str = ""
    metavar: str | None = None
    least: float | None = None
    most: float | None = None
    type: Any = None
    default: Any = UNSTATED
    shown_default: str | None = None
    parse: Callable[[Any], Any] | None = None
    old: str = ""
    also: str = ""
    completes: Literal["", "dataset", "release"] = ""
    variable: str | None = None
    hidden: bool = False


@dataclass(frozen=True, slots=True)
class Argument(Option):
    """An option that is known by its place; `flags` is empty."""


@dataclass(frozen=True, slots=True)
class DeclaredParameter:
    """A parameter of a function that a command has, too: its type there, and its default in the function."""

    name: str
    type: Any
    default: Any
    option: Option

    @property
    def flag(self) -> str:
        """The option's first name, as messages have it; of a switch that is on, the name that switches it off."""
        first, _, off = self.option.flags.partition("/")
        name = self.name.replace("_", "-")
        if self.default is True:
            return off or f"--no-{name}"
        return next(iter(first.split()), f"--{name}")


def parameters_of(function: Callable[..., Any]) -> Iterator[DeclaredParameter]:
    """Yield the parameters of a function that are declared as options or arguments, in order."""
    names = _Names(vars(sys.modules[function.__module__]))
    for parameter in inspect.signature(function, eval_str=True, locals=names).parameters.values():
        declared = [item for item in getattr(parameter.annotation, "__metadata__", ()) if isinstance(item, Option)]
        if declared:
            (option,) = declared
            kind = option.type or type_of_command(get_args(parameter.annotation)[0])
            yield DeclaredParameter(parameter.name, kind, parameter.default, option)


def type_of_command(annotation: Any) -> Any:  # noqa: ANN401 - a type, or what stands for several
    """Return the type that a command takes for a parameter: of several a path, else a text; of a sequence a list."""
    if get_origin(annotation) is Literal or annotation in (bool, int, float, str, Path):
        return annotation
    if get_origin(annotation) in (Union, UnionType):
        members = [type_of_command(member) for member in get_args(annotation) if member is not type(None)]
        several = (member for member in members if get_origin(member) is list)
        return next(several, Path if Path in members and _Unknown not in get_args(annotation) else members[0])
    if get_origin(annotation) is Sequence:
        return GenericAlias(list, (type_of_command(get_args(annotation)[0]),))
    return str


class _Anything(type):
    def __getitem__(cls, _: object) -> "type[_Unknown]":
        return _Unknown

    def __getattr__(cls, name: str) -> "type[_Unknown]":
        if name.startswith("__"):
            raise AttributeError(name)
        return _Unknown


class _Unknown(metaclass=_Anything):
    """Stands for a type that only the type checker imports, which is heavy."""


class _Names(dict[str, Any]):
    """The names of a module; `_Unknown` for one that it has not."""

    def __missing__(self, name: str) -> Any:  # noqa: ANN401
        return vars(builtins).get(name, _Unknown)


# --- what several functions take ------------------------------------------------------------------------------------


def _parse_yes(text: str) -> bool:
    if text not in ("yes", "no"):
        raise ValueError(f"{text}: expected yes or no")
    return text == "yes"


HEADER = Option(
    type=str,
    parse=_parse_yes,
    metavar="yes|no",
    help="Say whether line 1 of a text file of vectors is a header. Default: detect it.",
)
SKIP_BAD = Option("--skip-bad", help="Skip unreadable lines in a text file of vectors, and list them.")
RELEASE_HELP = "NAME@VERSION, hf://USER/NAME@VERSION, or a path; without @VERSION, the newest release."
RELEASE = Argument(metavar="RELEASE", help=RELEASE_HELP, completes="release")
RELEASE_OR_CONFIG = Argument(metavar="RELEASE[:CONFIG]", help=RELEASE_HELP, completes="release")
RELEASES_OF_RESULTS = Option(
    type=list[str],
    metavar="RELEASE",
    help="Read words, frames and sentences from this release, by name or path; may be repeated. Default: the "
    "release that the result names.",
)
RELEASES_FOLDER = Option(help="Write to this folder of releases.", shown_default="the project's releases/")
DATASET = Argument(metavar="DATASET", completes="dataset")
VERSION = Argument(metavar="VERSION", help="MAJOR.MINOR.PATCH")
FORCE = Option("--force", help="Write it even if it has more than 10^9 rows or may not fit on the disk.")
