"""Annotators: names that tell nobody who they are, and the groups that they say they belong to.

A pseudonym stays the same from pull to pull: a keyed hash (HMAC-SHA256). The key lies in the project's folder, is never
published, and only who has it can find out whose name is whose. Rows that people of the targeted group report as
harmful are found here, which a majority must not overrule silently.
"""

import hmac
import os
import re
import secrets
import stat
import unicodedata
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from senseprobe.annotation.records import Annotation
from senseprobe.atomic_files import read_plain, write_whole
from senseprobe.errors import AnnotationError
from senseprobe.messages import printable
from senseprobe.release.annotation_record import FEWEST_IN_GROUP

SECRET = "secret"  # noqa: S105 - the name of the file
_TABLES = ("groups.csv", "answers.csv", "skipped.csv", "decisions.csv", "agreement.json", "report.html")
IGNORED = (SECRET, "exports/", *_TABLES, ".*.partial-*")
"""What `.gitignore` leaves out of a project's folder: raw exports hold accounts, and groups beside answers; single
answers, and figures for each annotator, can tell who is of a group that reported a row; and what is being written."""

SHEET = "sheet:"
"""Stands before the name of a sheet where it is somebody's identity: ``1.csv`` is not user 1 of Label Studio."""

_KEY = re.compile(rb"[0-9a-f]{64}\n?")
_DIGITS = 12
_FORM = re.compile(rf"p-[0-9a-f]{{{_DIGITS}}}")

QUESTION = "withhold"
HARMFUL = "yes"

MOST_GROUPS, LONGEST_GROUP = 20, 100
"""How many groups somebody may name of themselves in one annotation, and of how many characters each."""

_NOT = set("anti aren ex former formerly isn neither never no non nor not".split())  # noqa: SIM905 - read as one

# The ends of English plurals, what stands for them, and the letters that such a word has at least; "fe" is of the word
# alone, so that wife is as wives is.
_ENDS = [("children", "child", 8), ("men", "man", 3), ("ies", "y", 5), ("ves", "f", 5), ("fe", "f", 4), ("ss", "ss", 2)]
_ENDS += [*((f"{end}es", end, 5) for end in ("ss", "ch", "sh", "x", "z")), ("s", "", 4)]


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
    """Return the key of the project in `folder`, made where there is none, and kept from git and other users."""
    path, ignored = folder / SECRET, folder / ".gitignore"
    try:
        there = ignored.is_symlink() or ignored.exists()
        names = read_plain(ignored, 2**20).decode("utf-8", "surrogateescape").splitlines() if there else []
        if missing := [name for name in IGNORED if name not in names]:
            lines = "".join(f"{name}\n" for name in [*names, *missing])
            write_whole(ignored, lines.encode("utf-8", "surrogateescape"))  # which makes the folder
        if not path.is_symlink() and not path.exists():
            _make(path)
        raw, mode = read_plain(path, 100), path.stat().st_mode
    except OSError as error:
        raise AnnotationError(f"{printable(str(path))} cannot be used: {error.strerror}") from None
    display_path = printable(str(path))
    if mode & (stat.S_IRWXG | stat.S_IRWXO):
        raise AnnotationError(
            f"other users can read {display_path} and identify annotators: run chmod 600 {display_path}"
        )
    if not _KEY.fullmatch(raw):
        raise AnnotationError(f"{display_path} is not a key: restore the old one, or all annotators get new names")
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


def named_groups(text: str) -> tuple[tuple[str, ...], int]:
    """Return the groups of a text, split at commas, sorted, once each; and how many are left out: too long, too many.

    >>> named_groups("Women,  Japanese american ,women")
    (('japanese american', 'women'), 0)
    """
    parts = (" ".join(part.split()).casefold() for part in re.split("[,;\n]", text))
    named = [part for part in dict.fromkeys(parts) if part]
    allowed = [part for part in named if len(part) <= LONGEST_GROUP][:MOST_GROUPS]
    return tuple(sorted(allowed)), len(named) - len(allowed)


def groups_of(annotations: Iterable[Annotation]) -> dict[str, frozenset[str]]:
    """Return the groups that each annotator named of themselves, in any of their annotations."""
    named: dict[str, set[str]] = {}
    for annotation in annotations:
        named.setdefault(annotation.annotator, set()).update(annotation.groups)
    return {annotator: frozenset(groups) for annotator, groups in named.items()}


def people_by_group(annotations: Iterable[Annotation]) -> dict[str, frozenset[str]]:
    """Return the annotators who named each group of themselves, sorted by group: lower case, at most 200 characters."""
    people: dict[str, set[str]] = {}
    for annotator, groups in groups_of(annotations).items():
        for group in groups:
            signs = "".join(sign if sign.isprintable() else " " for sign in group.casefold())
            people.setdefault(" ".join(signs.split())[:200].strip(), set()).add(annotator)
    return {group: frozenset(named) for group, named in sorted(people.items()) if group}


def count_groups(annotations: Iterable[Annotation]) -> dict[str, int]:
    """Return how many annotators named each group, in whatever case, where they are five or more."""
    counts = {group: len(people) for group, people in people_by_group(annotations).items()}
    return {group: count for group, count in counts.items() if count >= FEWEST_IN_GROUP}


def find_reported(
    answered: Mapping[str, Sequence[Annotation]], targets: Mapping[str, Collection[str]]
) -> frozenset[str]:
    """Return the rows that an annotator of the targeted group would rather not have used.

    `answered`: annotations by row; `targets`: the words for the group that each row is about. How many report a row is
    not stated: beside single answers it would say who is of the group.
    """
    objections = _objections(answered)
    return frozenset(row for row, groups in objections if belongs(groups, targets.get(row, ())))


def unmatched_groups(answered: Mapping[str, Sequence[Annotation]], targets: Mapping[str, Collection[str]]) -> list[str]:
    """Return the groups of annotators who object to rows that no row is about; arguments as of `find_reported`."""
    words = {word for names in targets.values() for word in names}
    named = {group for _, groups in _objections(answered) for group in groups}
    return sorted(group for group in named if not belongs([group], words))


def _objections(answered: Mapping[str, Sequence[Annotation]]) -> list[tuple[str, frozenset[str]]]:
    """Return each row that somebody would rather not have used, with the groups of that annotator."""
    groups = groups_of(annotation for annotations in answered.values() for annotation in annotations)
    return [
        (row, groups[annotation.annotator])
        for row, annotations in answered.items()
        for annotation in annotations
        if annotation.answers.get(QUESTION) == HARMFUL
    ]


def belongs(groups: Iterable[str], targets: Collection[str]) -> bool:
    """Return whether one of the groups has all words of a target, in whatever case and number, and no word as *not*.

    >>> belongs(["Japanese American"], ["japanese"]), belongs(["Japan"], ["japanese"])
    (True, False)
    >>> belongs(["women who cycle"], ["woman"]), belongs(["non-Japanese"], ["japanese"])
    (True, False)
    """
    target_words = [words for words in map(_words, targets) if words]
    group_words = [words for words in map(_words, groups) if not words & _NOT]
    return any(target <= group for group in group_words for target in target_words)


def _words(text: str) -> frozenset[str]:
    """Return the words of a text, each in the form that stands for singular and plural."""
    return frozenset(map(_singular, re.findall(r"\w+", unicodedata.normalize("NFKC", text).casefold())))


def _singular(word: str) -> str:
    """Return the word without the end of an English plural: of any word, so that both numbers become the same."""
    for end, single, least in _ENDS:
        if word.endswith(end) and len(word) >= least:
            return f"{word.removesuffix(end)}{single}"
    return word
