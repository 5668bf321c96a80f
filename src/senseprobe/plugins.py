"""Registries of what we declare and what plug-ins add by entry points; docs/plugins.md has an example.

An entry point has the id of what it leads to, and is imported when that is requested, or when all are listed. What
cannot be used is left out and harms no other: requesting it raises an error with the reason, a listing warns once.

Our rooms that can be missing (`evaluate/served`, `evaluate/senses`, …) register in the same way, as pyproject.toml
lists. Their entry points have the name of the room, and lead to a tuple of declarations.
"""

import logging
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, MutableMapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import fields, replace
from functools import cached_property, lru_cache
from importlib.metadata import EntryPoint, PackageNotFoundError, distribution, entry_points, version
from typing import Any, ClassVar, Protocol, TypeAlias, TypeVar

from senseprobe.errors import SenseprobeError
from senseprobe.messages import offered

_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._@+-]{0,99}")  # of which files are named

HERE = "this process"  # what messages call the origin of what was added to a registry by hand


class Declared(Protocol):
    """A frozen record that is requested by its `id`; `origin` is its distribution, empty for our own."""

    __dataclass_fields__: ClassVar[dict[str, Any]]

    @property
    def id(self) -> str:
        """Its name."""

    @property
    def origin(self) -> str:
        """The distribution that declares it."""


D = TypeVar("D", bound=Declared)
T = TypeVar("T")
Entries: TypeAlias = Mapping[str, Sequence[EntryPoint]]

_ROOMS = "senseprobe."
"""What the object of an entry point of a room of ours begins with."""


class Unfit(Exception):
    """Raised, with the reason in a clause, where what a plug-in declares cannot be used; registries catch it."""


def log_warning(message: str) -> None:
    """Log in a line what is left out; where nobody has set up logging, it goes to standard error."""
    logging.getLogger("senseprobe").warning(message)


def without_tokens(text: str) -> str:
    """Return the text without the token of any account of the Hub."""
    return re.sub(r"hf_\w+", "hf_…", text)


def describe_error(error: BaseException) -> str:
    """Return what an error of somebody else's code says, in a line, without the token of any account."""
    try:
        message = str(error)
    except Exception:  # noqa: BLE001 - somebody else's code, which is to say what went wrong
        message = "without a message"
    first = without_tokens(next(iter(message.splitlines()), ""))[:200]
    return "".join(c if c.isprintable() else "?" for c in f"{type(error).__name__}: {first}").rstrip(": ")


@contextmanager
def blamed(failed: str, kind: type[Exception] = SenseprobeError) -> Iterator[None]:
    """Turn what somebody else's code raises, but errors of ours and Ctrl-C, into a `kind`: `failed`, and why."""
    try:
        yield
    except (SenseprobeError, Unfit, KeyboardInterrupt):
        raise
    except BaseException as error:
        raise kind(f"{failed} {describe_error(error)}".lstrip()) from error


def iterate_blamed(items: Iterator[T], failed: str, kind: type[Exception] = SenseprobeError) -> Iterator[T]:
    """Yield items; what is raised by the iterator, not by what is done with an item, is `blamed`."""
    while True:
        with blamed(failed, kind):
            try:
                item = next(items)
            except StopIteration:
                return
        yield item


def versions(declared: Iterable[Declared | None]) -> dict[str, str]:
    """Return the versions of the distributions of what is `declared`, of plug-ins only."""
    named = {record.origin: "unknown" for record in declared if record is not None and record.origin}
    for name in named:
        with suppress(PackageNotFoundError):
            named[name] = str(version(name) or "unknown")  # one whose metadata is not there has none
    return named


class Registry(MutableMapping[str, D]):
    """Our declarations by id, those of our rooms, then those of plug-ins.

    `group` is that of their entry points, `kind` the class of what is declared, `noun` what messages call it. `admit`
    makes of a plug-in's declaration what is used, or raises `Unfit`. Setting an item adds one for this process.
    """

    def __init__(self, group: str, kind: type[D], noun: str, core: Iterable[D], admit: Callable[[D], D]) -> None:
        self._group, self._kind, self._noun, self._admit = group, kind, noun, admit
        self._core = {declared.id: declared for declared in core}
        self._added: dict[str, D] = {}
        self._loaded: dict[EntryPoint, D | str] = {}  # what an entry point leads to, or why that cannot be used
        self._logged: set[str] = set()

    @cached_property
    def ours(self) -> dict[str, D]:
        """What we declare, by id: of the core, then of the rooms that are there, in the order of their names.

        A declaration that names another in its `after` stands behind that one, and those that follow it in its room do.
        """
        ours = [*self._core.values()]
        for room in _find_entries(self._group, tuple(sys.path))[0]:
            number = len(ours)
            for declared in _load_room(room):
                if after := getattr(declared, "after", ""):
                    ids = [each.id for each in ours]
                    number = ids.index(after) + 1 if after in ids else len(ours)
                ours.insert(number, declared)
                number += 1
        return {declared.id: declared for declared in ours}

    def __getitem__(self, name: str) -> D:
        declared = self._added.get(name) or self._core.get(name) or self.ours.get(name) or self._plugged(name)
        if declared is None or isinstance(declared, str):
            raise KeyError(name)
        return declared

    def __setitem__(self, name: str, declared: D) -> None:
        self._added[name] = declared

    def __delitem__(self, name: str) -> None:
        del self._added[name]

    def __iter__(self) -> Iterator[str]:
        yield from list(self.ours | self._added)
        yield from (declared.id for declared in self.plugged())

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def find(self, name: str) -> D:
        """Return what has the id `name`; SenseprobeError where nothing has, or a plug-in that cannot be used."""
        plugged = self._plugged(name)
        if declared := self._added.get(name) or self.ours.get(name):
            self._log_once(plugged)
            return declared
        if plugged is None:
            raise SenseprobeError(f"unknown {self._noun} {name}: {offered(name, self)}")
        if isinstance(plugged, str):
            raise SenseprobeError(plugged)
        return plugged

    def fault(self, name: str) -> str:
        """Return why what a plug-in declares under a name cannot be used; empty where it can, or none has the name."""
        plugged = self._plugged(name)
        return plugged if isinstance(plugged, str) else ""

    def plugged(self) -> Iterator[D]:
        """Yield what plug-ins declare, in order of ids. What cannot be used is logged, once."""
        for plugged in map(self._plugged, self._entries):
            self._log_once(plugged)
            if plugged is not None and not isinstance(plugged, str):
                yield plugged

    @property
    def _entries(self) -> Entries:
        """The entry points of plug-ins by name."""
        return _find_entries(self._group, tuple(sys.path))[1]

    def _plugged(self, name: str) -> D | str | None:
        """Return what a plug-in declares under a name, or why that is left out; None where there is none."""
        if not (entries := self._entries.get(name)):
            return None
        entry, origin = entries[0], " and ".join(map(_distribution, entries))
        left_out = f"the {self._noun} {name} of {origin} is ignored"
        if name in self._added or name in self.ours:
            return f"{left_out}: senseprobe has one of that name"
        if len(entries) > 1:
            return f"the {self._noun} {name} is ignored: {origin} both bring one of that name; uninstall one"
        if entry not in self._loaded:
            try:
                with blamed("its import failed with", Unfit):
                    declared = entry.load()
                with blamed("inspecting it failed with", Unfit):
                    self._loaded[entry] = self._checked(name, declared, origin)
            except Unfit as unfit:
                self._loaded[entry] = f"{left_out}: {unfit}"
        return self._loaded[entry]

    def _checked(self, name: str, declared: object, origin: str) -> D:
        if not isinstance(declared, self._kind):
            raise Unfit(f"its entry point leads to a {type(declared).__name__}, not to a {self._kind.__name__}")
        texts = [field.name for field in fields(declared) if field.type in {str, "str"}]
        if invalid := [field for field in texts if not isinstance(getattr(declared, field), str)]:
            raise Unfit(f"its {invalid[0]} is not text")
        if declared.id != name:
            raise Unfit(f"its entry point is named {name}, but the object's id is {declared.id}")
        if not _ID.fullmatch(name):
            raise Unfit("its id may contain only letters, digits and .-_@+")
        return replace(self._admit(declared), origin=origin)

    def _log_once(self, plugged: D | str | None) -> None:
        """Log why something of a plug-in is left out, if it is."""
        if isinstance(plugged, str) and plugged not in self._logged:
            self._logged.add(plugged)
            log_warning(plugged)


def _load_room(room: EntryPoint) -> Iterable[Any]:
    """Return what a room of ours declares: nothing where it, or a room that the entry point's module needs, is missing.

    What of a room needs another one lies in modules of its own, so that the rest of it is there without the other one.
    """
    try:
        declared: Iterable[Any] = room.load()
    except ModuleNotFoundError as error:
        ours = filter(_is_ours, distribution("senseprobe").entry_points)
        if error.name in {entry.module.rpartition(".")[0] for entry in ours}:
            return ()
        raise
    return declared


def _is_ours(entry: EntryPoint) -> bool:
    """Return whether an entry point is one of a room of ours."""
    return entry.group.startswith(_ROOMS) and entry.value.startswith(_ROOMS)


@lru_cache(maxsize=64)
def _find_entries(group: str, path: tuple[str, ...]) -> tuple[Sequence[EntryPoint], Entries]:
    """Return the entry points of our rooms in a group, and those of plug-ins by name, in order of names.

    They are read anew only for another path: it takes 10 ms.
    """
    rooms, plugged = list[EntryPoint](), dict[str, list[EntryPoint]]()
    for entry in sorted(entry_points(group=group), key=lambda entry: (entry.name, _distribution(entry))):
        if _is_ours(entry):
            rooms.append(entry)
        else:
            plugged.setdefault(entry.name, []).append(entry)
    return rooms, plugged


def _distribution(entry: EntryPoint) -> str:
    return (entry.dist.name if entry.dist is not None else None) or "an unknown distribution"
