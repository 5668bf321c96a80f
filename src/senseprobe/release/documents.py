"""The facts that the documents of a release (card, citation, Croissant) are made from, and how they are compared.

A forger of a release can list changed documents in a new manifest, with every hash right, and leave the rows as they
are. So the facts that readers and libraries take from the documents are compared with the manifest. The wording of
senseprobe's own texts is compared where the manifest records the current form of cards: it differs between versions.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import zip_longest
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from senseprobe.atomic_files import read_plain
from senseprobe.errors import DeclarationError
from senseprobe.records import Design, Finding
from senseprobe.release.annotation_record import ANNOTATION, Round, read_annotation
from senseprobe.release.licences import declared_licence
from senseprobe.release.manifest import Manifest, is_for_training
from senseprobe.release.verdicts import VERDICTS, Verdict, read_verdicts

MAX_BYTES = 32 * 2**20
"""The most bytes of a document: Croissant names every file up to three times, the manifest once in at most 8 MiB."""

MAX_BIBLIOGRAPHY = 4 * 2**20

HINT = "do not use this file: fetch the release from its authors again"


@dataclass(frozen=True, kw_only=True, slots=True)
class Source:
    """A list that rows are made of: `file` below the recipe, its words, its SPDX licence, keys of the bibliography."""

    name: str
    file: str
    words: int
    description: str
    licence: str
    cited: tuple[str, ...]


class Author(NamedTuple):
    """A person, or a group: then `given` is empty."""

    family: str
    given: str

    @classmethod
    def of(cls, name: str) -> "Author":
        """Read ``Family, Given`` as the name of a person; any other name is that of a group.

        >>> Author.of("Zhou, Yi")
        Author(family='Zhou', given='Yi')
        """
        family, _, given = (piece.strip() for piece in name.partition(","))
        return cls(family, given) if family and given else cls(name.strip(), "")

    def __str__(self) -> str:
        return f"{self.given} {self.family}".strip()


@dataclass(frozen=True, kw_only=True, slots=True)
class DocumentInput:
    """The facts of a release from which its documents are written.

    - `facts`: those of its manifest, but for its files.
    - `files`: size in bytes and sha256 of the files of rows and recipe.
    - `memory`: bytes of each config's rows in memory.
    - `creation`: how the rows came about, where they were not made from templates.
    - `verdicts`: decisions on single rows, by id; `left_out`: the ids of rows that they leave out, by config.
    - `annotation`: the rounds in which people looked at rows.
    """

    facts: Mapping[str, Any]
    files: Mapping[str, Mapping[str, int | str]]
    memory: Mapping[str, int]
    lists: tuple[Source, ...] = ()
    bibliography: str = ""
    changelog: str = ""
    creation: str = ""
    verdicts: Mapping[str, Verdict] = field(default_factory=dict)
    left_out: Mapping[str, Sequence[str]] = field(default_factory=dict)
    annotation: tuple[Round, ...] = ()

    @property
    def card(self) -> Mapping[str, Any]:
        """The dataset's card as its authors declared it."""
        return dict(self.facts["card"])

    @property
    def name(self) -> str:
        """``NAME@VERSION``."""
        return f"{self.facts['dataset']}@{self.facts['version']}"

    @property
    def licence(self) -> str:
        """The SPDX expression of the whole release; empty where it has no licence."""
        return declared_licence(self.card.get("license"))

    @property
    def authors(self) -> list[Author]:
        """Who made the dataset, without repetitions; others may have written the paper."""
        named = self.card.get("authors") or [f"{self.facts['dataset']} contributors"]
        return list(dict.fromkeys(map(Author.of, named)))

    @property
    def designs(self) -> dict[str, Design]:
        """The design of each config, in published order."""
        return {name: Design.from_dict(self.config(name)["design"]) for name in self.facts["order"]}

    def config(self, name: str) -> Mapping[str, Any]:
        """Return the manifest's facts of a config."""
        return dict(self.facts["configs"][name])

    @property
    def is_for_training(self) -> bool:
        """Whether models may learn the rows: they measure nothing then."""
        return is_for_training(self.card)

    @property
    def split(self) -> str:
        """The name of the one split of each config."""
        return "train" if self.is_for_training else "test"

    def rows(self) -> int:
        """Return the number of rows of all configs."""
        return sum(int(config["rows"]) for config in self.facts["configs"].values())

    def tables(self, config: str) -> dict[str, Mapping[str, int | str]]:
        """Return the files of a config's rows, in their order."""
        return {name: self.files[name] for name in sorted(self.files) if name.startswith(f"{config}/")}


@dataclass(frozen=True, slots=True)
class CardSources:
    """Facts of DocumentInput that stand in the recipe alone; `creation` is None where only a new import shows it."""

    lists: tuple[Source, ...] = ()
    left_out: Mapping[str, Sequence[str]] = field(default_factory=dict)
    creation: str | None = ""


ReadSources: TypeAlias = Callable[[Path, Manifest], CardSources]
"""Reads the recipe of the release in a folder, without making rows; raises SenseprobeError where it cannot be read."""


def read_recipe(folder: Path, dataset: str) -> dict[str, Any]:
    """Return the fields of DocumentInput that a release's recipe has; raise DeclarationError where it is unreadable."""
    verdicts, annotation = (f"recipe/templates/{dataset}/{name}" for name in (VERDICTS, ANNOTATION))
    return {
        "bibliography": read_bibliography(folder),
        "verdicts": read_verdicts(folder / verdicts, verdicts),
        "annotation": read_annotation(folder / annotation, annotation),
    }


def read_bibliography(folder: Path) -> str:
    """Return the BibTeX entries of a release's recipe, from its lists or an import; bytes not of UTF-8 are replaced."""
    names = [name for name in ("wordlists/references.bib", "references.bib") if (folder / "recipe" / name).is_file()]
    try:
        texts = [read_plain(folder / "recipe" / name, MAX_BIBLIOGRAPHY) for name in names]
    except OSError as error:
        message = f"cannot be read: {error.strerror}"
        raise DeclarationError([Finding(path=f"recipe/{names[0]}", code="E100", message=message)]) from None
    return "".join(text.decode("utf-8", "replace") for text in texts)


def mismatch(name: str, message: str, line: int = 0) -> Finding:
    """Return the finding that a document says otherwise than the manifest."""
    return Finding(path=name, line=line, column=int(line > 0), code="E409", message=message, hint=HINT)


def unlike(value: object, expected: object) -> str:
    """Describe a value of a document beside that of the manifest; ``...`` stands for none."""
    return f"{_rendered(value)} instead of {_rendered(expected)}, which is in the manifest"


def _rendered(value: object) -> str:
    if value is None or value is ...:
        return "nothing"
    if isinstance(value, dict | list):
        return "a list" if isinstance(value, list) else "an object"
    return repr(value[:160] if isinstance(value, str) else value)[:200]


def line_findings(
    name: str, text: str, expected: str, is_same: Callable[[str, str], bool] | None = None
) -> Iterator[Finding]:
    """Yield a finding at the first line that is not the expected one; `is_same` accepts other wordings of it."""
    for number, (line, other) in enumerate(zip_longest(text.split("\n"), expected.split("\n")), 1):
        if line != other and not (is_same and line and other and is_same(line, other)):
            yield mismatch(name, unlike(line, other), number)
            return
