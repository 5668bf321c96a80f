"""Where parts are: a folder, or an address that fsspec opens, such as ``s3://bucket/parts``."""

import re
import secrets
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import Any, TypeAlias

from senseprobe.atomic_files import read_plain, whole_folder, write_whole
from senseprobe.errors import ResultError

# An address that was made a path has lost a slash.
_ADDRESS = re.compile(r"([a-z][a-z0-9+.-]+):(/{1,3})(?=[^/])")


@dataclass(frozen=True)
class Address:
    """A folder, or a file in it, that fsspec opens."""

    text: str

    def __str__(self) -> str:
        """Return it as it is typed."""
        return self.text

    def __truediv__(self, name: str) -> "Address":
        """Return the address of what has a name in this folder."""
        return Address(f"{self.text.rstrip('/')}/{name}")

    @property
    def name(self) -> str:
        """The last part of it."""
        return self.text.rstrip("/").rpartition("/")[2]

    @cached_property
    def opened(self) -> tuple[Any, str]:
        """The file system of fsspec, and the path in it. ResultError where it cannot be opened."""
        if find_spec("fsspec") is None:
            raise ResultError(f"{self.text} is an address, which fsspec opens: run pip install fsspec")
        import fsspec  # type: ignore[import-untyped]

        try:
            system, path = fsspec.core.url_to_fs(self.text)
        except Exception as error:
            raise ResultError(f"cannot open {self.text}: {str(error).partition(chr(10))[0]}") from error
        return system, str(path)


Place: TypeAlias = Path | Address


def place_of(given: "str | Path | Address") -> Place:
    """Return a folder, or an address where it begins like one.

    >>> place_of("parts"), place_of("memory://parts") / "plan"
    (PosixPath('parts'), Address(text='memory://parts/plan'))
    >>> place_of("file:///parts"), place_of("local:///parts")
    (PosixPath('/parts'), Address(text='local:///parts'))
    """
    if isinstance(given, Address):
        return given
    found = _ADDRESS.match(str(given))
    if found is None or found[1] == "file":
        return Path(str(given)[found.end() - 1 :] if found else given)
    return Address(f"{found[1]}:{max(found[2], '//', key=len)}{str(given)[found.end() :]}")


@contextmanager
def _as_system_errors(address: Address) -> Iterator[None]:
    """Turn what file systems of others raise into errors of the system, whose messages say what they say."""
    try:
        yield
    except (OSError, ResultError):
        raise
    except Exception as error:
        raise OSError(0, str(error).partition("\n")[0] or type(error).__name__, str(address)) from error


def is_there(place: Place) -> bool:
    """Return whether there is a file or a folder."""
    if isinstance(place, Path):
        return place.exists()
    system, path = place.opened
    with _as_system_errors(place):
        return bool(system.exists(path))


def names_in(place: Place) -> set[str]:
    """Return the names of files and folders in a folder; none without it."""
    if isinstance(place, Path):
        return {path.name for path in place.iterdir()} if place.is_dir() else set()
    system, path = place.opened
    with _as_system_errors(place):
        system.invalidate_cache()  # what others write meanwhile is to be seen
        if not system.exists(path):
            return set()
        return {str(name).rstrip("/").rpartition("/")[2] for name in system.ls(path, detail=False)}


def read_place(place: Place, most: int) -> bytes:
    """Return the bytes of a file; OSError where there is none, or it has more than `most`."""
    if isinstance(place, Path):
        return read_plain(place, most)
    system, path = place.opened
    with _as_system_errors(place), system.open(path, "rb") as file:
        data: bytes = file.read(most + 1)
    if len(data) > most:
        raise OSError(27, f"larger than {most >> 20} MiB", str(place))
    return data


def write_place(place: Place, data: bytes) -> None:
    """Write a file, as a whole or not at all; OSError where it cannot be written."""
    if isinstance(place, Path):
        write_whole(place, data, follow=False)
        return
    system, path = place.opened
    folder, _, name = path.rpartition("/")
    partial = f"{folder}/.{name}.partial-{secrets.token_hex(8)}"
    with _as_system_errors(place):
        try:
            system.makedirs(folder, exist_ok=True)
            system.pipe_file(partial, data)
            system.mv(partial, path)
        except BaseException:
            with suppress(Exception):
                system.rm(partial)
            raise


@contextmanager
def new_place(place: Place, last: str) -> Iterator[Path]:
    """Provide a folder to fill, which is written to a place when the block ends, the file `last` at the end.

    FileExistsError where the place is there, before the block or after it; OSError where it cannot be written.
    """
    if isinstance(place, Path):
        with whole_folder(place) as partial:
            yield partial
        return
    if is_there(place / last):
        raise FileExistsError(17, "exists", str(place))
    with tempfile.TemporaryDirectory(prefix="senseprobe-plan-") as folder:
        yield Path(folder)
        if is_there(place / last):
            raise FileExistsError(17, "exists", str(place))
        for path in sorted(Path(folder).iterdir(), key=lambda path: (path.name == last, path.name)):
            write_place(place / path.name, path.read_bytes())


@contextmanager
def local_file(place: Place) -> Iterator[Path]:
    """Provide a file on this machine with the bytes of one: itself, or a copy."""
    if isinstance(place, Path):
        yield place
        return
    system, path = place.opened
    with tempfile.TemporaryDirectory(prefix="senseprobe-part-") as folder:
        copied = Path(folder) / place.name
        with _as_system_errors(place), system.open(path, "rb") as source, copied.open("wb") as target:
            shutil.copyfileobj(source, target)
        yield copied
