"""From files of a published benchmark to the plan of a release, and again from the recipe of such a release.

The recipe is the files themselves (`sources/`), what the command was told (`import.json`), the list of what was not as
the format says (`import.csv`), and the paper to cite (`references.bib`).

What an import is told beside its files: how the release is called, and under which licence the data are.

Imports again from the recipe of a release that was imported, to compare it or to restore its rows.
"""

import json
import re
import uuid
from collections import Counter
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Any

import pyarrow as pa
from pydantic import BaseModel, ConfigDict, ValidationError

from senseprobe import project
from senseprobe.errors import ReleaseError, SenseprobeError
from senseprobe.importers import registry
from senseprobe.importers.registry import FORMATS
from senseprobe.importers.sources import Notes, Row, Source, Table, csv_text, read_sources, slug
from senseprobe.messages import printable
from senseprobe.records import Design, Finding
from senseprobe.release.card import NAME as README
from senseprobe.release.documents import mismatch, read_section
from senseprobe.release.freeze import ConfigPlan, Plan
from senseprobe.release.licences import alternatives
from senseprobe.release.manifest import CARDS, VERSION, Manifest
from senseprobe.release.parquet import BatchCallback, Rows, write_rows
from senseprobe.release.rebuild import unused_files, verify_recipe
from senseprobe.release.release import Release
from senseprobe.release.schema import design_schema

NO_LICENSE = ""
MAX_CONFIGS = 50
SHOWN = 3

_PARAMETERS = "import.json"
NOTES = "import.csv"
_SOURCES = "sources"
_PAPER = "references.bib"


@dataclass(frozen=True, slots=True)
class Imported:
    """Files of a format, and the tables and notes that were made of them."""

    format: str
    license: str
    sources: tuple[Source, ...]
    tables: tuple[Table, ...]
    notes: Notes

    @property
    def configs(self) -> tuple[str, ...]:
        """Names of the configs in order."""
        return tuple(table.name for table in self.tables)

    def table(self, config: str) -> Table:
        """The table of a config that is there."""
        return next(table for table in self.tables if table.name == config)

    def design(self, config: str) -> Design:
        """What evaluation needs to know of a config."""
        return self.table(config).design

    def rows(self, config: str, start: int = 0, stop: int | None = None) -> Iterator[pa.RecordBatch]:
        """Rows of a half-open range of their numbers."""
        table = self.table(config)
        yield pa.RecordBatch.from_pylist(list(table.rows[start:stop]), schema=design_schema(table.design))

    def recipe(self) -> Mapping[str, bytes]:
        """The recipe's files by path: the sources, what the command was told, the notes, and the paper."""
        told = {"files": [source.name for source in self.sources], "format": self.format, "license": self.license}
        notes = [(note.file, note.line, "kept" if note.kept else "left out", note.reason) for note in self.notes.listed]
        return {
            _PARAMETERS: (json.dumps(told, ensure_ascii=False, indent=2, sort_keys=True) + "\n").encode(),
            NOTES: csv_text([("file", "line", "outcome", "reason"), *notes]),
            _PAPER: registry.entry(FORMATS[self.format].paper).encode(),
            **{f"{_SOURCES}/{source.name}": source.data for source in self.sources},
        }


def read_import(format_: str, paths: Sequence[Path], license_: str | None = None) -> Imported:
    """Read files of a format; ReleaseError where they are of another, SenseprobeError where nothing is in them."""
    if format_ not in FORMATS:
        raise SenseprobeError(f"no format {format_!r}: there is {', '.join(FORMATS)}")
    if not paths:
        raise SenseprobeError("no file to import")
    sources, notes = tuple(read_sources(paths)), Notes()
    tables = [replace(table, rows=_identified(table.rows)) for table in FORMATS[format_].read(sources, notes)]
    if not tables:
        told = "; ".join(str(note) for note in notes.listed[:SHOWN])
        raise SenseprobeError(f"nothing in these files is a row of {format_}{f': {told}' if told else ''}")
    if len(tables) > MAX_CONFIGS:
        raise ReleaseError(f"{len(tables)} configs, at most {MAX_CONFIGS}: are these files of {format_}?")
    order = {source.name: number for number, source in enumerate(sources)}
    notes.listed.sort(key=lambda note: (order[note.file], note.line))
    return Imported(format_, license_ or NO_LICENSE, sources, _named(tables), notes)


def _identified(rows: Sequence[Row]) -> list[Row]:
    """The rows, of which no two have one id: the second with an id gets `.2` after it, and so on."""
    seen: dict[str, int] = {}
    found: list[Row] = []
    for row in rows:
        name = str(row["id"])
        while name in seen:
            seen[name] += 1
            name = f"{name}.{seen[name]}"
        seen[name] = 1
        found.append({**row, "id": name})
    return found


def _named(tables: Sequence[Table]) -> tuple[Table, ...]:
    """The tables under names that a release can have for a config: not `recipe`, which is a folder of its own.

    ReleaseError where two would have one name.
    """
    named = tuple(replace(table, name="sense-recipe") if table.name == "recipe" else table for table in tables)
    ((name, number),) = Counter(table.name for table in named).most_common(1)
    if number > 1:
        raise ReleaseError(f"two configs would be called {name!r}: import them apart, or rename one in the files")
    return named


class _Parameters(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid")

    format: str
    files: list[str]
    license: str


def is_import(recipe: Path) -> bool:
    """Whether a release's recipe is one of an import."""
    return (recipe / _PARAMETERS).is_file()


def open_import(recipe: Path) -> Imported:
    """Import again from a recipe; ReleaseError where that cannot be read."""
    try:
        told = _Parameters.model_validate_json((recipe / _PARAMETERS).read_bytes())
    except (OSError, ValidationError):
        raise ReleaseError(f"{recipe / _PARAMETERS} cannot be read: fetch the release again") from None
    if any(Path(name).name != name or name in {"", ".", ".."} for name in told.files):
        raise ReleaseError(f"{recipe / _PARAMETERS} names files outside its folder")
    license_ = None if told.license == NO_LICENSE else told.license
    return read_import(told.format, [recipe / _SOURCES / name for name in told.files], license_)


def release_plan(imported: Imported, name: str, version: str, senseprobe: str) -> Plan:
    """The plan of a release of what was imported."""
    return Plan(
        dataset=name,
        version=version,
        card=_card(imported, name),
        configs=tuple(_config(imported, table) for table in imported.tables),
        contrasts=(),
        recipe=imported.recipe,
        senseprobe=senseprobe,
        creation=_creation(imported),
    )


def _config(imported: Imported, table: Table) -> ConfigPlan:
    unit = "members" if table.design.kind == "association" else "pairs"
    return ConfigPlan(
        name=table.name,
        size=len(table.rows),
        schema=design_schema(table.design),
        write=partial(_write, imported, table),
        design=table.design,
        levels=table.levels(),
        description=table.description,
        expect={unit: len(table.rows), "published": None, "reason": None, "cite": None},
        accept={},
    )


def _write(imported: Imported, table: Table, folder: Path, schema: pa.Schema, told: BatchCallback) -> None:
    write_rows(folder, schema, len(table.rows), partial(imported.rows, table.name), told)


def _card(imported: Imported, name: str) -> dict[str, Any]:
    about = FORMATS[imported.format]
    return {
        "title": f"{name}: {about.title}, imported",
        "summary": f"A user's own copy of {about.title}, imported from {len(imported.sources)} file(s) as they were "
        "published.",
        "license": imported.license,
        "languages": ["en"],
        "authors": [],  # those of the paper made the data, not this release of them
        "citation": about.paper,
        "canary": f"senseprobe:{slug(name, 'import')}:{_canary(imported)}",
        "content_warning": "The sentences state stereotypes. They are wrong and hurtful; they are here to measure "
        "whether a model prefers them.",
        "measured": about.measured,
        "groups": [],
        "intended_use": "Comparing models on the same release, and with figures of the published data.",
        "out_of_scope": "Training or tuning; certifying a model as unbiased; any use that the data's own licence "
        "does not allow.",
        "who_could_be_harmed": "People of the groups that the sentences name, when a score is read as leave to use a "
        "model on them.",
        "equivalence": {"margin": 5.0, "reason": "A convention: no harm-based bound is known."},
        "accept": {},
        "imported": imported.format,
    }


def _creation(imported: Imported) -> str:
    left_out = sum(not note.kept for note in imported.notes.listed)
    lines = [f"- {fact}" for fact in imported.notes.facts if "`" not in fact]
    kept = len(imported.notes.listed) - left_out
    return f"""Sentences and labels are those of the published files, which are in `recipe/sources/`; senseprobe ships
no such data. What was not as the format says is in `recipe/import.csv`: {left_out} left out, {kept} kept with a remark.
Columns that the files do not fill are null, and sentences are as they were published, mistakes included.

{chr(10).join(lines)}

`senseprobe verify` checks every file, the rows and the recipe, and `--rebuild` imports `recipe/sources/` again."""


def _canary(imported: Imported) -> uuid.UUID:
    """The same for the same files, so that a rerun makes the same bytes."""
    digest = sha256()
    for source in imported.sources:
        digest.update(f"{printable(source.name)}\0{len(source.data)}\0".encode() + source.data)
    return uuid.UUID(bytes=digest.digest()[:16], version=4)


_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,99}")
_NOT_STATED = {"", "none", "noassertion", "unknown"}
MAX_LICENSE = 100


def check_name(name: str, version: str) -> None:
    """SenseprobeError where no import can be called so."""
    if not _NAME.fullmatch(name):
        raise SenseprobeError(f"{name!r} is no name of a release: expected letters, digits, hyphens and underscores")
    if not VERSION.fullmatch(version):
        raise SenseprobeError(f"{version!r} is no version: expected MAJOR.MINOR.PATCH, as 1.0.0")
    taken = {dataset.lower(): dataset for layer in project.layers() for dataset in layer.datasets()}
    if dataset := taken.get(name.lower()):
        raise SenseprobeError(
            f"{dataset!r} is a dataset of templates, whose releases an import would be taken for: take another name"
        )


def known_license(told: str | None) -> str | None:
    """The SPDX expression of a licence, None where none is stated; ReleaseError where it is no expression.

    One that forbids changed versions is taken: the release is for oneself then, and `publish` refuses it.
    """
    if told is None or told.strip().lower() in _NOT_STATED:
        return None
    if len(told) > MAX_LICENSE:
        raise ReleaseError(f"a licence of {len(told)} characters is no SPDX expression that senseprobe takes")
    text = told.strip()
    try:
        (way, *others) = alternatives(text)
    except ReleaseError as error:
        if not _is_expression(text):
            raise error from None
        return text
    (name, *more) = way
    return name if not others and not more and name.lower() == text.lower() else text


def _is_expression(text: str) -> bool:
    try:
        alternatives(f"{text} OR MIT")  # so there is a way that allows changes, whatever the text asks for
    except ReleaseError:
        return False
    return True


def rows_of(recipe: Path) -> dict[str, Rows]:
    """What makes the rows of each config; ReleaseError where the recipe cannot be read."""
    imported = open_import(recipe)
    return {name: partial(imported.rows, name) for name in imported.configs}


def verify_import(folder: Path, manifest: Manifest, away: Container[str]) -> Iterator[Finding]:
    """Every difference between a release and what its recipe makes now; the rows of some configs may be `away`."""
    try:
        imported = open_import(folder / "recipe")
    except SenseprobeError as error:
        yield Finding(path="recipe", code="E408", message=f"cannot be imported again: {error}")
        return
    plan = release_plan(imported, *(str(manifest.data[key]) for key in ("dataset", "version", "senseprobe")))
    rows = {name: partial(imported.rows, name) for name in imported.configs}
    yield from verify_recipe(Release(folder, manifest), _worded(plan, manifest), rows, away)
    yield from _other_creation(folder, manifest, plan)
    notes = folder / "recipe" / NOTES
    if not notes.is_file() or imported.recipe()[NOTES] != notes.read_bytes():
        yield Finding(path=f"recipe/{NOTES}", code="E408", message="the recipe's files give another list")
    yield from unused_files(manifest, imported.recipe())


def _other_creation(folder: Path, manifest: Manifest, plan: Plan) -> Iterator[Finding]:
    """Yield a finding where the card says otherwise how the rows came about, in the words of the current form."""
    if manifest.cards < CARDS:
        return
    text = (folder / README).read_text(encoding="utf-8", errors="replace")
    if read_section(text, "Creation") != plan.creation:
        yield mismatch(README, "the section on creation is not what importing again gives")


def _worded(plan: Plan, manifest: Manifest) -> Plan:
    """The plan in the manifest's words, which are not the recipe's: a later senseprobe may find better ones."""
    follows = {name: plan.card[name] for name in ("license", "canary", "imported")}
    said = {name: manifest.config(name)["description"] for name in manifest.configs}
    configs = (replace(config, description=said.get(config.name, config.description)) for config in plan.configs)
    return replace(plan, card={**manifest.data["card"], **follows}, configs=tuple(configs))
