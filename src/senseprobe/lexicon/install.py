"""WordNet as a folder of files: where it lies, when it is whole, and how it is put there in one step.

NLTK wants ``<data folder>/corpora/wordnet/`` with the fifteen files of `FILES`. Their formats are in the manual pages
wndb(5WN), senseidx(5WN), cntlist(5WN) and lexnames(5WN).

Where WordNet 3.0 can come from on this machine, and `prepare`, which takes the first that is whole.
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

# lexnames(5WN): the 45 lexicographer files; a file's number is its place in this list.
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


def default_folder() -> Path:
    """Name senseprobe's NLTK data folder: ``$SENSEPROBE_WORDNET``, else in ``$XDG_DATA_HOME`` or ``~/.local/share``."""
    if chosen := os.environ.get("SENSEPROBE_WORDNET"):
        return Path(chosen)
    return Path(os.environ.get("XDG_DATA_HOME") or "~/.local/share") / "senseprobe" / "nltk_data"


def wordnet_in(folder: Path | None) -> tuple[Path, Path]:
    """Resolve an NLTK data folder, by default senseprobe's own, and WordNet's place in it; both are absolute."""
    home = (folder or default_folder()).expanduser().resolve()
    return home, home / "corpora" / "wordnet"


def damage(wordnet: Path, *, needed: tuple[str, ...] = FILES) -> str:
    """Say what keeps a folder from being a whole WordNet 3.0, having the files `needed`; empty where nothing does."""
    if not wordnet.is_dir():
        return "no such folder"
    try:
        return next(_damages(wordnet, needed), "")
    except OSError as error:
        return f"unreadable: {error.strerror}"


def _damages(wordnet: Path, needed: tuple[str, ...]) -> Iterator[str]:
    if missing := [name for name in needed if not (wordnet / name).is_file()]:
        yield f"lacks {', '.join(missing)}"
    for name in (*DATA_FILES, *INDEX_FILES):
        if not _ends_in_newline(wordnet / name):
            yield f"{name} is cut short"
    for name in DATA_FILES:
        if (found := _version(wordnet / name)) != VERSION:
            yield f"{name} is of WordNet {found or 'of no known version'}, not {VERSION}"


def _ends_in_newline(path: Path) -> bool:
    """Tell whether the last line is finished, as it is in WordNet's files; a copy that broke off rarely ends so."""
    with path.open("rb") as file:
        size = file.seek(0, os.SEEK_END)
        file.seek(max(size - 1, 0))
        return file.read(1) == b"\n"


def _version(path: Path) -> str:
    with path.open("rb") as file:
        found = _COPYRIGHT.search(file.read(_HEADER_BYTES))
    return found[1].decode("ascii") if found else ""


def install(files: Path, home: Path) -> None:
    """Copy WordNet from the folder `files` into the NLTK data folder `home`; it appears there whole or not at all.

    LexiconError where `home` cannot be written, or where something that is no whole WordNet is in the place already:
    that is somebody's, so it is not ours to remove.
    """
    target = home / "corpora" / "wordnet"
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with TemporaryDirectory(dir=target.parent, prefix=".wordnet-") as beside:
            _publish(_copy(files, Path(beside) / "wordnet"), target)
    except OSError as error:
        why = f"cannot write {target}: {error.strerror}"
        raise LexiconError(f"{why}; name another folder in $SENSEPROBE_WORDNET") from error


def _copy(files: Path, made: Path) -> Path:
    made.mkdir()
    for name in COPIED:
        shutil.copyfile(files / name, made / name)
    (made / "lexnames").write_text(_lexnames(), encoding="ascii", newline="\n")
    return made


def _lexnames() -> str:
    """Write the text of ``lexnames``, which Debian leaves out: number, name, syntactic category, with tabs between."""
    rows = ((number, name, _CATEGORIES[name.split(".")[0]]) for number, name in enumerate(_LEXICOGRAPHER_FILES))
    return "".join(f"{number:02d}\t{name}\t{category}\n" for number, name, category in rows)


def _publish(made: Path, target: Path) -> None:
    """Rename into place; a second process that was faster has put the same files there, which is as good."""
    try:
        made.rename(target)
    except OSError:
        if why := damage(target):
            raise LexiconError(
                f"{target} is in the way and no whole WordNet ({why}): remove it and run again"
            ) from None


DEBIAN = Path("/usr/share/wordnet")
PACKAGES = ("wordnet-base", "wordnet-sense-index")
_APT_SECONDS = 300

_ADVICE = (
    "install Debian's packages (apt-get install wordnet-base wordnet-sense-index; run apt-get update first if they are "
    "not found), or, as on macOS, download NLTK's copy (python -m nltk.downloader wordnet), and run again"
)


@dataclass(frozen=True, slots=True)
class PreparedWordNet:
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


def prepare(destination: Path | None = None, *, debian: Path = DEBIAN) -> PreparedWordNet:
    """Make `destination` an NLTK data folder with WordNet 3.0, if it is not one yet, and say from what.

    The default is ``$SENSEPROBE_WORDNET``, else ``senseprobe/nltk_data`` in ``$XDG_DATA_HOME`` or ``~/.local/share``.
    Sources, in order: the destination itself, NLTK downloads on NLTK's data path, Debian's files in the folder
    `debian`, and Debian's packages, downloaded with apt and unpacked without being root. LexiconError where none
    will do, or where the destination cannot be written.
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
