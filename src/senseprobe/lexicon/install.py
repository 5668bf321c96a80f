"""Install WordNet 3.0 as an NLTK data folder: check a folder for damage, find a source on this machine, and copy it.

NLTK expects ``<data folder>/corpora/wordnet/`` with the fifteen files of `FILES`. Their formats are in the manual pages
wndb(5WN), senseidx(5WN), cntlist(5WN) and lexnames(5WN).
"""

import os
import re
import shutil
import subprocess
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from senseprobe.errors import LexiconError

VERSION = "3.0"
DATA_FILES = ("data.adj", "data.adv", "data.noun", "data.verb")
INDEX_FILES = ("index.adj", "index.adv", "index.noun", "index.verb", "index.sense")
COPIED = (*DATA_FILES, *INDEX_FILES, "adj.exc", "adv.exc", "noun.exc", "verb.exc", "cntlist.rev")
FILES = (*COPIED, "lexnames")

_CATEGORIES = {"noun": 1, "verb": 2, "adj": 3, "adv": 4}

# lexnames(5WN): the 45 lexicographer files; a file's number is its position in this list.
_LEXICOGRAPHER_FILES = """
adj.all adj.pert adv.all noun.Tops noun.act noun.animal noun.artifact noun.attribute noun.body noun.cognition
noun.communication noun.event noun.feeling noun.food noun.group noun.location noun.motive noun.object noun.person
noun.phenomenon noun.plant noun.possession noun.process noun.quantity noun.relation noun.shape noun.state
noun.substance noun.time verb.body verb.change verb.cognition verb.communication verb.competition verb.consumption
verb.contact verb.creation verb.emotion verb.motion verb.perception verb.possession verb.social verb.stative
verb.weather adj.ppl
""".split()  # noqa: SIM905  a literal would take a line for each

# The licence that opens every data file is longer than 1 kB and names the version within that.
_HEADER_BYTES = 2048
_COPYRIGHT = re.compile(rb"WordNet (\d+\.\d+) Copyright")

DEBIAN = Path("/usr/share/wordnet")
PACKAGES = ("wordnet-base", "wordnet-sense-index")
_APT_SECONDS = 300

_ADVICE = (
    "install Debian's packages (apt-get install wordnet-base wordnet-sense-index; run apt-get update first if they are "
    "not found), or, as on macOS, download NLTK's copy (python -m nltk.downloader wordnet), and run again"
)


def default_folder() -> Path:
    """Return our NLTK data folder: ``$SENSEPROBE_WORDNET``, else in ``$XDG_DATA_HOME`` or ``~/.local/share``."""
    if chosen := os.environ.get("SENSEPROBE_WORDNET"):
        return Path(chosen)
    return Path(os.environ.get("XDG_DATA_HOME") or "~/.local/share") / "senseprobe" / "nltk_data"


def wordnet_in(folder: Path | None) -> tuple[Path, Path]:
    """Return an NLTK data folder, by default senseprobe's own, and the folder of WordNet in it, as absolute paths."""
    home = (folder or default_folder()).expanduser().resolve()
    return home, home / "corpora" / "wordnet"


@dataclass(frozen=True, slots=True)
class PreparedWordNet:
    """An NLTK data folder with WordNet, its source in words, and WordNet's version."""

    folder: Path
    source: str
    version: str


@dataclass(frozen=True, slots=True)
class _Candidate:
    """Files that may be WordNet 3.0, or `why` there are none; `source` is where they come from, in words."""

    source: str
    files: Path | None = None
    why: str = ""

    def refusal(self) -> str:
        return self.why if self.files is None else damage(self.files, needed=COPIED)


def prepare(destination: Path | None = None, *, debian: Path = DEBIAN) -> PreparedWordNet:
    """Make `destination` an NLTK data folder with WordNet 3.0, if it is not one yet; return it with its source.

    The default is ``$SENSEPROBE_WORDNET``, else ``senseprobe/nltk_data`` in ``$XDG_DATA_HOME`` or ``~/.local/share``.
    Sources, in order: the destination itself, NLTK downloads on NLTK's data path, Debian's files in the folder
    `debian`, and Debian's packages, downloaded with apt and unpacked without being root. Raise LexiconError where none
    is a whole WordNet 3.0, or where the destination cannot be written.
    """
    home, wordnet = wordnet_in(destination)
    if not damage(wordnet):
        return PreparedWordNet(home, "already there", VERSION)
    refused = []
    with TemporaryDirectory(prefix="senseprobe-") as scratch:
        for candidate in _candidates(Path(scratch), debian):
            if why := candidate.refusal():
                refused.append(f"{candidate.source}: {why}")
            elif candidate.files:
                install(candidate.files, home)
                return PreparedWordNet(home, candidate.source, VERSION)
    raise LexiconError(f"no WordNet {VERSION} on this machine ({'; '.join(refused)}): {_ADVICE}")


def _candidates(scratch: Path, debian: Path) -> Iterator[_Candidate]:
    yield from _find_nltk_downloads(scratch)
    yield _Candidate(f"debian {debian}", debian)
    yield _download_packages(scratch / "apt")


def _find_nltk_downloads(scratch: Path) -> Iterator[_Candidate]:
    import nltk.data

    for folder in map(Path, nltk.data.path):
        files, archive = (folder / "corpora" / name for name in ("wordnet", "wordnet.zip"))
        if files.is_dir():
            yield _Candidate(f"nltk download {files}", files)
        if archive.is_file():
            yield _unzip(archive, Path(f"{scratch}/{len(list(scratch.iterdir()))}"))


def _unzip(archive: Path, into: Path) -> _Candidate:
    """Extract the files of `COPIED`, by name, from NLTK's archive, and no other member."""
    source = f"nltk download {archive}"
    into.mkdir()
    try:
        with zipfile.ZipFile(archive) as opened:
            for name in COPIED:
                (into / name).write_bytes(opened.read(f"wordnet/{name}"))
    except (OSError, KeyError, RuntimeError, zipfile.BadZipFile, zlib.error) as error:
        return _Candidate(source, why=str(error))
    return _Candidate(source, into)


def _download_packages(into: Path) -> _Candidate:
    apt, dpkg = shutil.which("apt-get"), shutil.which("dpkg-deb")
    if not apt or not dpkg:
        return _Candidate("apt download", why="no apt-get here")
    into.mkdir()
    why = _run([apt, "download", *PACKAGES], into)
    for package in sorted(into.glob("*.deb")):
        why = why or _run([dpkg, "-x", str(package), "root"], into)
    return _Candidate("apt download", None if why else into / "root/usr/share/wordnet", why)


def _run(command: list[str], folder: Path) -> str:
    """Run a command in `folder`; return the last line of its errors, empty where it succeeded."""
    try:
        completed = subprocess.run(  # noqa: S603  the command is ours, its path from shutil.which
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
    if completed.returncode == 0:
        return ""
    lines = completed.stderr.strip().splitlines()
    return lines[-1] if lines else f"{command[0]} exited with {completed.returncode}"


def damage(wordnet: Path, *, needed: tuple[str, ...] = FILES) -> str:
    """Return why a folder is not a whole WordNet 3.0 with the files `needed`; empty where it is."""
    if not wordnet.is_dir():
        return "no such folder"
    try:
        return next(_find_damage(wordnet, needed), "")
    except OSError as error:
        return f"unreadable: {error.strerror}"


def _find_damage(wordnet: Path, needed: tuple[str, ...]) -> Iterator[str]:
    if missing := [name for name in needed if not (wordnet / name).is_file()]:
        yield f"lacks {', '.join(missing)}"
    for name in (*DATA_FILES, *INDEX_FILES):
        if not _ends_in_newline(wordnet / name):
            yield f"{name} is cut short"
    for name in DATA_FILES:
        if (version := _read_version(wordnet / name)) != VERSION:
            yield f"{name} is of WordNet {version or 'of no known version'}, not {VERSION}"


def _ends_in_newline(path: Path) -> bool:
    """Return whether the last line is complete, as in WordNet's files; in a copy that was cut short it rarely is."""
    with path.open("rb") as file:
        size = file.seek(0, os.SEEK_END)
        file.seek(max(size - 1, 0))
        return file.read(1) == b"\n"


def _read_version(path: Path) -> str:
    with path.open("rb") as file:
        match = _COPYRIGHT.search(file.read(_HEADER_BYTES))
    return match[1].decode("ascii") if match else ""


def install(files: Path, home: Path) -> None:
    """Copy WordNet from the folder `files` into the NLTK data folder `home`; it appears there whole or not at all.

    Raise LexiconError where `home` cannot be written, or where it has a damaged WordNet already, which is not removed:
    it may be the user's.
    """
    target = home / "corpora" / "wordnet"
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with TemporaryDirectory(dir=target.parent, prefix=".wordnet-") as scratch:
            _rename_folder(_copy(files, Path(scratch) / "wordnet"), target)
    except OSError as error:
        reason = f"cannot write {target}: {error.strerror}"
        raise LexiconError(f"{reason}; name another folder in $SENSEPROBE_WORDNET") from error


def _copy(files: Path, folder: Path) -> Path:
    folder.mkdir()
    for name in COPIED:
        shutil.copyfile(files / name, folder / name)
    (folder / "lexnames").write_text(_lexnames_text(), encoding="ascii", newline="\n")
    return folder


def _lexnames_text() -> str:
    """Return the text of ``lexnames``, which Debian leaves out: number, name, syntactic category, with tabs between."""
    rows = ((number, name, _CATEGORIES[name.split(".")[0]]) for number, name in enumerate(_LEXICOGRAPHER_FILES))
    return "".join(f"{number:02d}\t{name}\t{category}\n" for number, name, category in rows)


def _rename_folder(folder: Path, target: Path) -> None:
    """Rename into place, unless a second process was faster and has put the same files there."""
    try:
        folder.rename(target)
    except OSError:
        if reason := damage(target):
            raise LexiconError(
                f"{target} is in the way and no whole WordNet ({reason}): remove it and run again"
            ) from None
