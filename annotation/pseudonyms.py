"""Names that tell nobody who an annotator is, and stay the same from pull to pull: a keyed hash (HMAC-SHA256).

The key lies in the project's folder, is never published, and only who has it can find out whose name is whose.
"""

import hmac
import os
import re
import secrets
import stat
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from senseprobe.atomic_files import read_plain, write_whole
from senseprobe.errors import AnnotationError
from senseprobe.messages import printable

SECRET = "secret"  # noqa: S105 - the name of the file
_TABLES = ("groups.csv", "answers.csv", "skipped.csv", "decisions.csv", "agreement.json")
IGNORED = (SECRET, "exports/", *_TABLES, ".*.partial-*")
"""What `.gitignore` leaves out of a project's folder: raw exports hold accounts, and groups beside answers; single
answers, and figures for each annotator, can tell who is of a group that reported a row; and what is being written."""

SHEET = "sheet:"
"""Stands before the name of a sheet where it is somebody's identity: ``1.csv`` is not user 1 of Label Studio."""

_KEY = re.compile(rb"[0-9a-f]{64}\n?")
_DIGITS = 12
_FORM = re.compile(rf"p-[0-9a-f]{{{_DIGITS}}}")


def pseudonym(secret: bytes, name: str) -> str:
    """Return the pseudonym of somebody under a key.

    >>> pseudonym(bytes(32), "7")
    'p-306e9426d794'
    """
    return f"p-{hmac.digest(secret, name.encode('utf-8', 'surrogatepass'), 'sha256').hex()[:_DIGITS]}"


def is_pseudonym(name: str) -> bool:
    """Return whether a name has the form of a pseudonym."""
    return bool(_FORM.fullmatch(name))


def pseudonyms(folder: Path) -> Callable[[str], str]:
    """Return a function from annotators of the project in `folder` to pseudonyms; make the key where there is none."""
    secret = read_secret(folder)
    return lambda who: pseudonym(secret, who)


def read_secret(folder: Path) -> bytes:
    """Return the key of the project in `folder`, made where there is none, and kept from git.

    Raises AnnotationError where it cannot be read or made, is not a key, or others on the system may read it.
    """
    path, ignored = folder / SECRET, folder / ".gitignore"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        there = ignored.is_symlink() or ignored.exists()
        names = read_plain(ignored, 2**20).decode("utf-8", "surrogateescape").splitlines() if there else []
        if missing := [name for name in IGNORED if name not in names]:
            lines = "".join(f"{name}\n" for name in [*names, *missing])
            write_whole(ignored, lines.encode("utf-8", "surrogateescape"))
        if not path.is_symlink() and not path.exists():
            _make(path)
        raw, mode = read_plain(path, 100), path.stat().st_mode
    except OSError as error:
        raise AnnotationError(f"{printable(str(path))} cannot be used: {error.strerror}") from None
    display_path = printable(str(path))
    if mode & (stat.S_IRWXG | stat.S_IRWXO):
        raise AnnotationError(
            f"{display_path} may be read by others, who could tell who answered what: chmod 600 {display_path}"
        )
    if not _KEY.fullmatch(raw):
        raise AnnotationError(
            f"{display_path} is not a key: put back the one that was there, or all annotators get new names"
        )
    return bytes.fromhex(raw.decode().strip())


def _make(path: Path) -> None:
    """Write a new key; whoever is first to give it its name wins, and nobody sees half of one."""
    partial = path.with_name(f".{path.name}.partial-{secrets.token_hex(8)}")
    handle = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, stat.S_IRUSR | stat.S_IWUSR)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(f"{secrets.token_hex(32)}\n".encode())
            file.flush()
            os.fsync(file.fileno())
        with suppress(FileExistsError):
            os.link(partial, path)
    finally:
        partial.unlink()
