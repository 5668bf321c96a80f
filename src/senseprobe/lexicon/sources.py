"""Where WordNet 3.0 can come from on this machine, and `prepare`, which takes the first that is whole."""

import os
import shutil
import subprocess
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from senseprobe.errors import LexiconError
from senseprobe.lexicon.folder import COPIED, VERSION, damage, install, wordnet_in

DEBIAN = Path("/usr/share/wordnet")
PACKAGES = ("wordnet-base", "wordnet-sense-index")
_APT_SECONDS = 300

_ADVICE = (
    "install Debian's packages (apt-get install wordnet-base wordnet-sense-index; run apt-get update first if they are "
    "not found), or, as on macOS, download NLTK's copy (python -m nltk.downloader wordnet), and run again"
)


@dataclass(frozen=True, slots=True)
class Prepared:
    """An NLTK data folder that holds WordNet, the source that it was made from, in words, and WordNet's version."""

    folder: Path
    source: str
    version: str


@dataclass(frozen=True, slots=True)
class _Candidate:
    """Files that may be WordNet 3.0, or `why` there are none; `source` says in words where they come from."""

    source: str
    files: Path | None = None
    why: str = ""

    def refusal(self) -> str:
        return self.why if self.files is None else damage(self.files, needed=COPIED)


def prepare(destination: Path | None = None, *, debian: Path = DEBIAN) -> Prepared:
    """Make `destination` an NLTK data folder with WordNet 3.0, if it is not one yet, and say from what.

    The default is ``$SENSEPROBE_WORDNET``, else ``senseprobe/nltk_data`` in ``$XDG_DATA_HOME`` or ``~/.local/share``.
    Sources, in order: the destination itself, NLTK downloads on NLTK's data path, Debian's files in the folder
    `debian`, and Debian's packages, downloaded with apt and unpacked without being root. LexiconError where none
    will do, or where the destination cannot be written.
    """
    home, wordnet = wordnet_in(destination)
    if not damage(wordnet):
        return Prepared(home, "already there", VERSION)
    refused = []
    with TemporaryDirectory(prefix="senseprobe-") as scratch:
        for candidate in _candidates(Path(scratch), debian):
            if why := candidate.refusal():
                refused.append(f"{candidate.source}: {why}")
            elif candidate.files:
                install(candidate.files, home)
                return Prepared(home, candidate.source, VERSION)
    raise LexiconError(f"no WordNet {VERSION} on this machine ({'; '.join(refused)}): {_ADVICE}")


def _candidates(scratch: Path, debian: Path) -> Iterator[_Candidate]:
    yield from _nltk_downloads(scratch)
    yield _Candidate(f"debian {debian}", debian)
    yield _apt_download(scratch / "apt")


def _nltk_downloads(scratch: Path) -> Iterator[_Candidate]:
    import nltk.data

    for folder in map(Path, nltk.data.path):
        files, archive = (folder / "corpora" / name for name in ("wordnet", "wordnet.zip"))
        if files.is_dir():
            yield _Candidate(f"nltk download {files}", files)
        if archive.is_file():
            yield _unzipped(archive, Path(f"{scratch}/{len(list(scratch.iterdir()))}"))


def _unzipped(archive: Path, into: Path) -> _Candidate:
    """Take the files that we need, by name, out of NLTK's archive; any other member stays in it."""
    source = f"nltk download {archive}"
    into.mkdir()
    try:
        with zipfile.ZipFile(archive) as opened:
            for name in COPIED:
                (into / name).write_bytes(opened.read(f"wordnet/{name}"))
    except (OSError, KeyError, RuntimeError, zipfile.BadZipFile, zlib.error) as error:
        return _Candidate(source, why=str(error))
    return _Candidate(source, into)


def _apt_download(into: Path) -> _Candidate:
    apt, dpkg = shutil.which("apt-get"), shutil.which("dpkg-deb")
    if not apt or not dpkg:
        return _Candidate("apt download", why="no apt-get here")
    into.mkdir()
    why = _run([apt, "download", *PACKAGES], into)
    for package in sorted(into.glob("*.deb")):
        why = why or _run([dpkg, "-x", str(package), "root"], into)
    return _Candidate("apt download", None if why else into / "root/usr/share/wordnet", why)


def _run(command: list[str], folder: Path) -> str:
    """Run in `folder`; empty where that went well, else the last line of what the command complained about."""
    try:
        done = subprocess.run(  # noqa: S603  the command is ours, its path from shutil.which
            command,
            cwd=folder,
            env={**os.environ, "LC_ALL": "C"},
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_APT_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return f"{command[0]} gave no answer in {_APT_SECONDS} seconds"
    except OSError as error:
        return f"{command[0]}: {error.strerror}"
    if done.returncode == 0:
        return ""
    said = done.stderr.strip().splitlines()
    return said[-1] if said else f"{command[0]} exited with {done.returncode}"
