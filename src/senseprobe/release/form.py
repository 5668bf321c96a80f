"""The form of a manifest: which values it holds. Whoever wrote it may have meant harm, so nothing is taken on trust."""

import re
from typing import Annotated, Any, Self

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    NonNegativeInt,
    StringConstraints,
    ValidationError,
    model_validator,
)

from senseprobe.records import Contrast, Design

__all__ = ["VERSION", "FileEntry", "Name", "Sha256", "Version", "mistake", "printable"]


def printable(text: str) -> str:
    r"""The text as it is safe to print: names and values of others may hold what steers a terminal.

    >>> printable("noun/a.csv"), printable("a\x1b[2J")
    ('noun/a.csv', "'a\\x1b[2J'")
    """
    return text if text.isprintable() else ascii(text)


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


class _Config(_Strict):
    rows: NonNegativeInt
    content: Sha256
    design: Design
    levels: dict[str, NonNegativeInt]
    description: str
    expect: dict[str, Any]


class _Manifest(_Strict):
    dataset: Name
    version: Version
    senseprobe: str
    writer: dict[str, str]
    card: dict[str, Any]
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
