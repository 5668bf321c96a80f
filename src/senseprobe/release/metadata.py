"""The facts that the documents of a release (card, citation, Croissant) are made from."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from senseprobe.release.annotation_record import Round
from senseprobe.release.licences import declared_licence
from senseprobe.release.verdicts import Verdict


@dataclass(frozen=True, kw_only=True, slots=True)
class Source:
    """A list that rows are made of: `file` below the recipe, its words, its SPDX licence, keys of the bibliography."""

    name: str
    file: str
    words: int
    description: str
    licence: str
    cited: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Author:
    """A person, or a group: then `given` is empty."""

    family: str
    given: str

    @classmethod
    def of(cls, name: str) -> "Author":
        """Read ``Family, Given`` as the name of a person; any other name is that of a group."""
        family, _, given = (part.strip() for part in name.partition(","))
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
        card: Mapping[str, Any] = self.facts["card"]
        return card

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

    def config(self, name: str) -> Mapping[str, Any]:
        """Return the manifest's facts of a config."""
        config: Mapping[str, Any] = self.facts["configs"][name]
        return config

    def rows(self) -> int:
        """Return the number of rows of all configs."""
        return sum(int(config["rows"]) for config in self.facts["configs"].values())

    def tables(self, config: str) -> dict[str, Mapping[str, int | str]]:
        """Return the files of a config's rows, in their order."""
        return {name: self.files[name] for name in sorted(self.files) if name.startswith(f"{config}/")}
