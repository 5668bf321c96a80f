"""The form of a manifest: which values it holds. Whoever wrote it may have meant harm, so nothing is taken on trust."""

import re
from typing import Annotated, Any, Self

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

from senseprobe.records import Contrast, Design
from senseprobe.release.schema import COLUMN_TYPES, KINDS
from senseprobe.wording import printable


def _inside(path: str) -> str:
    parts = path.split("/")
    if {"", ".", ".."} & set(parts) or "\\" in path:
        raise ValueError("path leaves the folder")
    if not path.isprintable() or max(len(part.encode()) for part in parts) > 200 or len(parts) > 10:
        raise ValueError("no file of a release has such a name")
    return path


_Path = Annotated[str, AfterValidator(_inside)]
Name = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9_-]*$", max_length=100)]
VERSION = re.compile(r"(?:0|[1-9][0-9]{0,8})(?:\.(?:0|[1-9][0-9]{0,8})){2}")
"""MAJOR.MINOR.PATCH as a folder and a tag are named: digits only, without leading zeros."""
Version = Annotated[str, StringConstraints(pattern=f"^{VERSION.pattern}$")]
Sha256 = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]


class _Strict(BaseModel):
    model_config = ConfigDict(strict=True)


class FileEntry(_Strict):
    """Size in bytes and sha256 of a file."""

    bytes: NonNegativeInt
    sha256: Sha256


def _readable(design: Design) -> Design:
    """ValueError where no rows can be of a design."""
    if design.kind not in KINDS:
        raise ValueError(f"no kind of rows is called {design.kind[:80]!r}")
    if strange := {kind for _, kind in design.columns} - {*COLUMN_TYPES}:
        raise ValueError(f"no column is of type {min(strange)[:80]!r}")
    return design


def _carded(card: dict[str, Any]) -> dict[str, Any]:
    """ValueError where a card has no canary, which is in every file of rows."""
    if type(card.get("canary")) is not str:
        raise ValueError("no canary")
    return card


class _Config(_Strict):
    rows: NonNegativeInt
    expanded: NonNegativeInt = 0
    content: Sha256
    design: Annotated[Design, AfterValidator(_readable)]
    levels: dict[str, NonNegativeInt]
    description: str
    expect: dict[str, Any]

    @model_validator(mode="after")
    def _some_left_out(self) -> Self:
        if "expanded" in self.model_fields_set and self.expanded <= self.rows:
            raise ValueError("`expanded` is not more than `rows`")
        return self


class _Manifest(_Strict):
    dataset: Name
    version: Version
    senseprobe: str
    writer: dict[str, str]
    card: Annotated[dict[str, Any], AfterValidator(_carded)]
    cards: Annotated[int, Field(ge=3)] = 3
    order: list[Name]
    configs: dict[Name, _Config]
    contrasts: list[Contrast]
    content: Sha256
    files: dict[_Path, FileEntry]
    recipe: Sha256

    @model_validator(mode="after")
    def _configs_agree(self) -> Self:
        if sorted(self.order) != sorted(self.configs) or "recipe" in self.order:
            raise ValueError("`order` does not name the configs")
        if not {config for contrast in self.contrasts for config in (contrast.a, contrast.b)} <= set(self.order):
            raise ValueError("a contrast names no config")
        return self


def mistake(raw: bytes) -> str | None:
    """The first thing in which a manifest's JSON has not the form that version 1 has; None where it has."""
    try:
        _Manifest.model_validate_json(raw)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False, include_context=False)[0]
        place = printable(".".join(str(step) for step in first["loc"]))
        return f"{place[:200]}: {first['msg']}" if place else first["msg"]
    return None
