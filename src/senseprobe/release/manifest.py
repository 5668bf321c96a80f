"""`release.json`: the manifest of a release, canonical JSON with a digest of itself.

Its author may mean harm, so its form and every value are checked before they are used.
"""

import errno
import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    NonNegativeInt,
    StringConstraints,
    ValidationError,
    model_validator,
)

from senseprobe.atomic_files import read_plain
from senseprobe.errors import DamagedRelease, ReleaseError
from senseprobe.messages import offered, printable
from senseprobe.records import Contrast, Design, Finding, Headline
from senseprobe.release.hashing import LEAF_ROWS, ContentHash, Leaf, RowHash, TreeHash, hash_tree
from senseprobe.release.kinds import why_unknown
from senseprobe.release.schema import COLUMN_TYPES, EXAMPLES, design_schema
from senseprobe.tables import read_json


def _inside(path: str) -> str:
    folders = path.split("/")
    if {"", ".", ".."} & set(folders) or "\\" in path:
        raise ValueError("path leaves the folder")
    if not path.isprintable() or max(len(folder.encode()) for folder in folders) > 200 or len(folders) > 10:
        raise ValueError("files of a release cannot have this name")
    return path


_Path = Annotated[str, AfterValidator(_inside)]
Name = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9_-]*$", max_length=100)]
VERSION = re.compile(r"(?:0|[1-9][0-9]{0,8})(?:\.(?:0|[1-9][0-9]{0,8})){2}")
"""MAJOR.MINOR.PATCH as a folder and a tag are named: digits only, without leading zeros."""
Version = Annotated[str, StringConstraints(pattern=f"^{VERSION.pattern}$")]
SentenceMaker = Literal["found", "crowdsourced", "expert-generated", "machine-generated", "other"]
"""The Hub's names of those who wrote sentences (`language_creators`)."""

LabelMaker = Literal["found", "crowdsourced", "expert-generated", "machine-generated", "no-annotation", "other"]
"""The Hub's names of those who made labels (`annotations_creators`)."""

ResponsibleAi = Literal[
    "dataCollection",
    "dataCollectionType",
    "dataCollectionMissingData",
    "dataCollectionRawData",
    "dataCollectionTimeframe",
    "dataImputationProtocol",
    "dataManipulationProtocol",
    "dataPreprocessingProtocol",
    "dataAnnotationPlatform",
    "dataAnnotationProtocol",
    "dataAnnotationAnalysis",
    "dataReleaseMaintenancePlan",
    "annotationsPerItem",
    "annotatorDemographics",
    "machineAnnotationTools",
    "personalSensitiveInformation",
    "dataBiases",
    "dataLimitations",
    "dataSocialImpact",
    "dataUseCases",
]
"""The fields of Croissant's vocabulary on responsible AI, version 1.0."""

_KIND = re.compile("[A-Za-z0-9][A-Za-z0-9._@+-]{0,99}")
Sha256 = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]


class _Strict(BaseModel):
    model_config = ConfigDict(strict=True)


class FileEntry(_Strict):
    """Size in bytes and sha256 of a file."""

    bytes: NonNegativeInt
    sha256: Sha256


def _checked_design(design: Design) -> Design:
    """Return the design; raise ValueError where no rows can be of it."""
    if not _KIND.fullmatch(design.kind):
        raise ValueError(f"unknown kind of rows: {design.kind[:80]!r}")
    if unknown := {kind for _, kind in design.columns} - {*COLUMN_TYPES}:
        raise ValueError(f"unknown column type: {min(unknown)[:80]!r}")
    columns = {*design.slots, *dict(design.columns)}
    if any(not {gap.slot, gap.column, gap.pair or gap.slot} <= columns for gap in design.gaps.values()):
        raise ValueError("a gap names a column that the rows do not have")
    return design


class _Makers(_Strict):
    who: str
    sentences: list[SentenceMaker]
    labels: list[LabelMaker]


class _Card(_Strict):
    title: str
    summary: str
    content_warning: str
    measured: str
    intended_use: str
    out_of_scope: str
    who_could_be_harmed: str
    languages: list[str]
    canary: str
    use: Literal["evaluation", "training"] = "evaluation"
    authors: list[str] = []
    citation: str = ""
    license: str | None = None
    made_by: _Makers | None = None
    responsible_ai: dict[ResponsibleAi, str] = {}


def is_for_training(card: Mapping[str, Any]) -> bool:
    """Return whether models may learn the rows of a card: they measure nothing then."""
    return card.get("use") == "training"


class _Sense(_Strict):
    column: Literal["sense_key", "token_key"]
    word: str
    key: str
    lexicon: str
    gloss: str | None
    rows: NonNegativeInt


class _Config(_Strict):
    rows: NonNegativeInt
    expanded: NonNegativeInt = 0
    content: Sha256
    leaves: list[tuple[Annotated[int, Field(ge=0, le=LEAF_ROWS)], Sha256]] = []
    design: Annotated[Design, AfterValidator(_checked_design)]
    levels: dict[str, NonNegativeInt]
    description: str
    expect: dict[str, Any]
    asks: list[str] = []
    senses: list[_Sense] = []
    examples: Annotated[list[dict[str, str]], Field(max_length=len(EXAMPLES))] = []
    headline: Headline | None = None

    @model_validator(mode="after")
    def _some_left_out(self) -> Self:
        if "expanded" in self.model_fields_set and self.expanded <= self.rows:
            raise ValueError("`expanded` must be larger than `rows`")
        return self

    @model_validator(mode="after")
    def _leaves_make_the_content(self) -> Self:
        if "leaves" not in self.model_fields_set:
            return self
        leaves = [Leaf(*leaf) for leaf in self.leaves]
        if not 2 <= len(leaves) <= (self.expanded or self.rows):
            raise ValueError("`leaves` must be several, and not more than there are rows")
        if not self.expanded and any(not leaf.rows for leaf in leaves):
            raise ValueError("`leaves` has one without rows, but no row was left out")
        if sum(leaf.rows for leaf in leaves) != self.rows or hash_tree(leaves) != self.content:
            raise ValueError("`leaves` do not make the content hash of so many rows")
        return self


class _Manifest(_Strict):
    form: int = Field(alias="schema")
    dataset: Name
    version: Version
    senseprobe: str
    writer: dict[str, str]
    card: _Card
    cards: Annotated[int, Field(ge=3)] = 3
    order: list[Name]
    configs: dict[Name, _Config]
    contrasts: list[Contrast]
    lexicons: dict[str, Sha256] = {}
    content: Sha256
    files: dict[_Path, FileEntry]
    recipe: Sha256

    @model_validator(mode="after")
    def _configs_agree(self) -> Self:
        if sorted(self.order) != sorted(self.configs) or "recipe" in self.order:
            raise ValueError("`order` does not match the configs")
        if not {config for contrast in self.contrasts for config in (contrast.a, contrast.b)} <= set(self.order):
            raise ValueError("a contrast names a config that does not exist")
        if self.form < OF_LEAVES and any(config.leaves for config in self.configs.values()):
            raise ValueError(f"manifests of form {self.form} do not have `leaves`")
        return self


def first_error(error: ValidationError) -> tuple[str, str]:
    """Return where the first value of a wrong form is (`configs.a.rows`, safe to print), and what is wrong with it."""
    first = error.errors(include_url=False, include_input=False, include_context=False)[0]
    return printable(".".join(map(str, first["loc"])))[:200], first["msg"]


_OUR_WRITERS = {"pyarrow"}
"""The libraries that write every release; `writer` has, besides, the plug-ins that brought its kinds of rows."""

NAME = "release.json"
SCHEMA = 6
"""Version of the manifest's own form; readers accept every older one. 2 added `columns` to a design.

3 added `expanded` to a config: its rows before verdicts. A release without such a config is still of form 2, which
versions that do not know verdicts read correctly.

4 added the column `reported` to the verdicts of the recipe, which readers of form 3 refuse. A release whose verdicts
have no such column is of form 2 or 3.

5 added `gaps` to a design: the levels that its template compares. A release without such a config is of form 2, 3 or 4.

6 added `leaves` to a config of several files: the ranges of rows of which its content hash is a tree. Older releases,
and those of small configs, are hashed as one range.
"""

OF_LEAVES = 6
"""The form since which configs have `leaves`."""

CARDS = 6
"""Form of the documents (card, citation, Croissant) that are written now; a manifest records it in `cards`.

Forms before 3 are not recorded: 1 is a card alone, 2 has citation and Croissant too. Cards of form 4 list the senses of
words; of those of form 5, the manifest holds examples of rows and the figure that each config is read by; those of form
6 are worded anew. Raise it whenever the wording of one of the documents changes, so that older releases are not
compared with the new wording.
"""

MAX_BYTES = 8 * 2**20
"""Enough for some 50,000 files: a larger manifest is a mistake or an attack."""


@dataclass(frozen=True, slots=True)
class Manifest:
    """The facts of a release, as its manifest holds them.

    `files` maps every file but the manifest to its size in bytes and sha256; `configs` maps a config to its `rows`,
    `content` (content hash), `design` and `expect`, and where verdicts left some rows out, how many were `expanded`.
    """

    data: Mapping[str, Any]

    @classmethod
    def of(cls, facts: Mapping[str, Any], *, reported: bool = False) -> "Manifest":
        """Return the manifest with these facts; `reported`: whether its verdicts have the column of that name."""
        configs = facts["configs"].values()
        filtered, compared = any("expanded" in c for c in configs), any("gaps" in c["design"] for c in configs)
        form = 5 if compared else 4 if reported else 3 if filtered else 2
        data = {**facts, "schema": OF_LEAVES if any("leaves" in c for c in configs) else form}
        return cls({**data, "digest": _digest(data)})

    @property
    def name(self) -> str:
        """``NAME@VERSION``."""
        return f"{self.data['dataset']}@{self.data['version']}"

    @property
    def configs(self) -> tuple[str, ...]:
        """Names of the configs in published order."""
        return tuple(self.data["order"])

    @property
    def files(self) -> dict[str, tuple[int, str]]:
        """Size in bytes and sha256 of every file but the manifest."""
        return {path: (entry["bytes"], entry["sha256"]) for path, entry in self.data["files"].items()}

    @property
    def cards(self) -> int:
        """The form of its documents, from 1 to CARDS."""
        return int(self.data.get("cards", 2 if "croissant.json" in self.files else 1))

    @property
    def content(self) -> str:
        """The content hash of all configs together."""
        return str(self.data["content"])

    @property
    def contrasts(self) -> tuple[Contrast, ...]:
        """The matched sense contrasts that were declared."""
        return tuple(Contrast(**entry) for entry in self.data["contrasts"])

    def config(self, name: str) -> Mapping[str, Any]:
        """Return the facts of a config; raise ReleaseError, naming those that exist, if there is no such config."""
        if name not in self.data["configs"]:
            raise ReleaseError(f"{self.name} has no config {name!r}: {offered(name, self.configs)}")
        return dict(self.data["configs"][name])

    def expanded(self, name: str) -> int:
        """Return the number of a config's rows before verdicts, which ranges and the files of its rows count."""
        facts = self.config(name)
        return int(facts.get("expanded", facts["rows"]))

    def leaves(self, name: str) -> list[Leaf]:
        """Return the ranges of rows of which the content hash of a config is a tree; none: it is of all rows."""
        return [Leaf(*leaf) for leaf in self.config(name).get("leaves", ())]

    def content_hash(self, name: str) -> RowHash:
        """Return a hash that is to be fed the rows of a config, and is its content hash then."""
        schema, counts = design_schema(self.design(name)), [leaf.rows for leaf in self.leaves(name)]
        return TreeHash(schema, counts) if counts else ContentHash(schema)

    def asks(self, name: str) -> tuple[str, ...]:
        """Return the ids of the questions that people are asked of a config's rows; empty: all of its kind."""
        return tuple(self.config(name).get("asks", ()))

    def design(self, name: str) -> Design:
        """Return what evaluation needs to know of a config."""
        return Design.from_dict(self.config(name)["design"])

    @property
    def unknown_kinds(self) -> dict[str, str]:
        """By config why its rows are of a kind that nothing here knows: that of a plug-in which is not installed."""
        kinds = {name: str(config["design"]["kind"]) for name, config in self.data["configs"].items()}
        builder = ", ".join(
            f"{name} {version}" for name, version in self.data["writer"].items() if name not in _OUR_WRITERS
        )
        built = f" (the release was built with {printable(builder)[:200]})" if builder else ""
        return {name: f"{why}{built}" for name, kind in kinds.items() if (why := why_unknown(kind))}

    def dump(self) -> bytes:
        """Return canonical JSON: sorted keys, UTF-8, two blanks of indent, one line feed at the end."""
        return (json.dumps(self.data, ensure_ascii=False, indent=2, sort_keys=True, allow_nan=False) + "\n").encode()


def _digest(data: Mapping[str, Any]) -> str:
    facts = {key: value for key, value in data.items() if key != "digest"}
    text = json.dumps(facts, ensure_ascii=False, separators=(",", ":"), sort_keys=True, allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()


def read_manifest(folder: Path, *, any_kind: bool = False) -> Manifest:
    """Return a manifest; raise ReleaseError for none or one of a newer form, DamagedRelease for a changed one.

    ReleaseError, too, where rows are of a kind that nothing here knows; not with `any_kind`, for whom reads no rows.
    """
    raw = _read(folder / NAME)
    try:
        data = read_json(raw)
        # Bytes that `dump` would not write (other blanks, a key twice, NaN) are not its own.
        canonical = isinstance(data, dict) and Manifest(data).dump() == raw
    except (ValueError, RecursionError):
        raise _damaged("not JSON") from None
    schema = data.get("schema") if isinstance(data, dict) else None
    if type(schema) is not int or schema < 1:
        raise _damaged("not a manifest")
    if schema > SCHEMA:
        newer = f"form {schema}, but this senseprobe reads forms up to {SCHEMA}: upgrade senseprobe"
        raise ReleaseError(f"{folder / NAME} has {newer}")
    if not canonical or data.get("digest") != _digest(data):
        raise _damaged("its digest does not match its contents")
    if type(cards := data.get("cards")) is int and cards > CARDS:
        newer = f"cards of form {cards}, but this senseprobe reads cards up to form {CARDS}: upgrade senseprobe"
        raise ReleaseError(f"{folder / NAME} has {newer}")
    manifest = Manifest(data)
    try:
        _Manifest.model_validate_json(raw)
        _ = manifest.contrasts, [manifest.design(name) for name in manifest.configs]
    except ValidationError as error:
        raise _damaged(": ".join(filter(None, first_error(error)))) from None
    except TypeError:
        raise _damaged("a design or a contrast has unknown keys") from None
    if not any_kind and (unknown := manifest.unknown_kinds):
        raise ReleaseError(f"{manifest.name} cannot be used: {next(iter(unknown.values()))}")
    return manifest


def _read(path: Path) -> bytes:
    """Return the bytes of a manifest; a link, a pipe or a device without end is not read."""
    try:
        return read_plain(path, MAX_BYTES)
    except OSError as error:
        if error.errno in (errno.EINVAL, errno.EFBIG):
            raise _damaged(str(error.strerror)) from None
        raise ReleaseError(f"{path.parent} is not a release: {path.name} cannot be read ({error.strerror})") from None


def _damaged(message: str) -> DamagedRelease:
    return DamagedRelease([Finding(path=NAME, code="E401", message=message, hint="fetch the release again")])
