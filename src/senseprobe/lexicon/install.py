"""Install WordNet 3.0 as an NLTK data folder: check a folder for damage, find a source on this machine, and copy it.

NLTK expects ``<data folder>/corpora/wordnet/`` with the fifteen files of `FILES`. Their formats are in the manual pages
wndb(5WN), senseidx(5WN), cntlist(5WN) and lexnames(5WN).
"""

import os
import re
import shutil
import subprocess
import sys
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from senseprobe.atomic_files import whole_folder
from senseprobe.errors import LexiconError

VERSION = "3.0"
DATA_FILES = ("data.adj", "data.adv", "data.noun", "data.verb")
INDEX_FILES = ("index.adj", "index.adv", "index.noun", "index.verb", "index.sense")
COPIED = (*DATA_FILES, *INDEX_FILES, "adj.exc", "adv.exc", "noun.exc", "verb.exc", "cntlist.rev")
FILES = (*COPIED, "lexnames")

_CATEGORIES = {"noun": 1, "verb": 2, "adj": 3, "adv": 4}

# lexnames(5WN): the 45 lexicographer files; a file's number is its position in this list.
LEXICOGRAPHER_FILES = """
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

    def __str__(self) -> str:
        """Return what was prepared, where, and from what."""
        return f"WordNet {self.version} in {self.folder} ({self.source})"


def prepare(destination: Path | None = None, *, debian: Path = DEBIAN, download: bool = True) -> PreparedWordNet:
    """Make `destination` an NLTK data folder with WordNet 3.0, if it is not one yet; return it with its source.

    The default is ``$SENSEPROBE_WORDNET``, else ``senseprobe/nltk_data`` in ``$XDG_DATA_HOME`` or ``~/.local/share``.
    Sources, in order: the destination itself, NLTK downloads on NLTK's data path, Debian's files in the folder
    `debian`, and, with `download`, Debian's packages from apt, unpacked without being root. Raise LexiconError if none
    is a whole WordNet 3.0, or where the destination cannot be written.
    """
    home, wordnet = wordnet_in(destination)
    if not damage(wordnet):
        return PreparedWordNet(home, "already there", VERSION)
    refused = []
    with TemporaryDirectory(prefix="senseprobe-") as scratch:
        for source, files in _sources(Path(scratch), debian, download=download):
            why = files if isinstance(files, str) else damage(files, needed=COPIED)
            if isinstance(files, Path) and not why:
                install(files, home)
                return PreparedWordNet(home, source, VERSION)
            refused.append(f"{source}: {why}")
    raise LexiconError(f"no WordNet {VERSION} on this machine ({'; '.join(refused)}): {_ADVICE}")


def prepare_local(notify: Callable[[str], None], *, debian: Path = DEBIAN) -> None:
    """Prepare WordNet in our own folder from a copy on this machine, once; `notify` hears its source.

    Nothing is downloaded. Without a copy, nothing happens. A folder in ``$SENSEPROBE_WORDNET`` is the user's, where
    only `prepare` writes.
    """
    if os.environ.get("SENSEPROBE_WORDNET") or wordnet_in(None)[1].exists():
        return
    with suppress(LexiconError):
        notify(f"prepared {prepare(debian=debian, download=False)}")


def _sources(scratch: Path, debian: Path, *, download: bool) -> Iterator[tuple[str, Path | str]]:
    """Yield where files may be WordNet 3.0, in words, and their folder, or why there is none."""
    for number, folder in enumerate(_nltk_folders(every=download)):
        files, archive = (folder / "corpora" / name for name in ("wordnet", "wordnet.zip"))
        if files.is_dir():
            yield f"nltk download {files}", files
        if archive.is_file():
            yield f"nltk download {archive}", _unzip(archive, scratch / str(number))
    yield f"debian {debian}", debian
    if download:
        yield "apt download", _download_packages(scratch / "apt")


def _nltk_folders(*, every: bool) -> list[Path]:
    """Return NLTK's data path. It takes NLTK a second to say it: unless `every` is wanted, only if one may be there."""
    folders = (Path(prefix, name) for prefix in (sys.prefix, "/usr", "/usr/local") for name in ("", "share", "lib"))
    usual = any((folder / "nltk_data").is_dir() for folder in (Path.home(), *folders))
    if not (every or usual or os.environ.get("NLTK_DATA")):
        return []
    import nltk.data

    return [*map(Path, nltk.data.path)]


def _unzip(archive: Path, into: Path) -> Path | str:
    """Extract the files of `COPIED`, by name, from NLTK's archive, and no other member."""
    into.mkdir()
    try:
        with zipfile.ZipFile(archive) as opened:
            for name in COPIED:
                (into / name).write_bytes(opened.read(f"wordnet/{name}"))
    except (OSError, KeyError, RuntimeError, zipfile.BadZipFile, zlib.error) as error:
        return str(error)
    return into


def _download_packages(into: Path) -> Path | str:
    apt, dpkg = shutil.which("apt-get"), shutil.which("dpkg-deb")
    if not apt or not dpkg:
        return "no apt-get here"
    into.mkdir()
    why = _run([apt, "download", *PACKAGES], into)
    for package in sorted(into.glob("*.deb")):
        why = why or _run([dpkg, "-x", str(package), "root"], into)
    return why or into / "root/usr/share/wordnet"


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
        return f"{command[0]} did not answer within {_APT_SECONDS} seconds"
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
        with (wordnet / name).open("rb") as file:
            file.seek(max(file.seek(0, os.SEEK_END) - 1, 0))
            if file.read(1) != b"\n":  # in a copy that was cut short the last line is rarely complete
                yield f"{name} is cut short"
    for name in DATA_FILES:
        with (wordnet / name).open("rb") as file:
            match = _COPYRIGHT.search(file.read(_HEADER_BYTES))
        version = match[1].decode("ascii") if match else "of no known version"
        if version != VERSION:
            yield f"{name} is of WordNet {version}, not {VERSION}"


def install(files: Path, home: Path) -> None:
    """Copy WordNet from the folder `files` into the NLTK data folder `home`; it appears there whole or not at all.

    Raise LexiconError where `home` cannot be written, or where it has a damaged WordNet already, which is not removed:
    it may be the user's.
    """
    target = home / "corpora" / "wordnet"
    # Lines of ``lexnames``, which Debian leaves out: number, name, syntactic category, with tabs between.
    names = enumerate(LEXICOGRAPHER_FILES)
    lines = (f"{number:02d}\t{name}\t{_CATEGORIES[name.split('.')[0]]}\n" for number, name in names)
    try:
        with suppress(OSError):
            target.rmdir()  # where it is empty
        with whole_folder(target) as folder:
            for name in COPIED:
                shutil.copyfile(files / name, folder / name)
            (folder / "lexnames").write_text("".join(lines), encoding="ascii", newline="\n")
    except OSError as error:
        if not target.exists():
            reason = f"cannot write {target}: {error.strerror}"
            raise LexiconError(f"{reason}; set another folder in $SENSEPROBE_WORDNET") from error
        # Unless a second process was faster, and has put the same files there.
        if why := damage(target):
            advice = "remove it and run again"
            raise LexiconError(f"{target} exists and is not a complete WordNet ({why}): {advice}") from None
