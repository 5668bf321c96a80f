"""Make a release of the files of a published benchmark, and import them again from the recipe of such a release.

The recipe is the files themselves (`sources/`), the parameters of the import (`import.json`), the notes on what was not
as the format requires (`import.csv`), and the paper to cite (`references.bib`).
"""

import csv
import io
import json
import re
import uuid
from collections import Counter
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from hashlib import sha256
from importlib.resources import files
from pathlib import Path
from typing import Any

import pyarrow as pa
from pydantic import BaseModel, ConfigDict, ValidationError

from senseprobe import project
from senseprobe.errors import ReleaseError, SenseprobeError
from senseprobe.importers.column_map import ColumnMap, mapped_format
from senseprobe.importers.formats import TABLES, Format, find_format
from senseprobe.importers.notes import Note, Notes, read_remarks
from senseprobe.importers.sentence_pairs import check_language, is_english
from senseprobe.importers.sources import Row, Source, Table, read_sources, slug
from senseprobe.importers.table_kinds import name_needed
from senseprobe.messages import counted, listed, printable
from senseprobe.records import Finding
from senseprobe.release.card import NAME as README
from senseprobe.release.card import read_section
from senseprobe.release.documents import mismatch
from senseprobe.release.freeze import ConfigPlan, Plan
from senseprobe.release.licences import alternatives
from senseprobe.release.manifest import CARDS, VERSION, Manifest
from senseprobe.release.parquet import FileCallback, Rows, write_rows
from senseprobe.release.release import Release
from senseprobe.release.restore import unused_files, verify_recipe
from senseprobe.release.schema import design_schema

READER = 2
"""The form of the reading; 1 compared sentences by their common ends alone, and knew no language but English."""

MAX_CONFIGS = 50
MAX_LICENSE = 100

NOTES = "import.csv"
_PARAMETERS = "import.json"
_SOURCES = "sources"

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,99}")
_NO_LICENSE = {"", "none", "noassertion", "unknown"}


def check_name(name: str, version: str) -> None:
    """Raise SenseprobeError where a release of an import cannot have this name or version."""
    if not _NAME.fullmatch(name):
        raise SenseprobeError(f"{name!r} cannot name a release: use letters, digits, hyphens and underscores")
    if not VERSION.fullmatch(version):
        raise SenseprobeError(f"{version!r} is not a version: expected MAJOR.MINOR.PATCH, such as 1.0.0")
    taken = {dataset.lower(): dataset for layer in project.layers() for dataset in layer.datasets()}
    if dataset := taken.get(name.lower()):
        reason = f"{dataset!r} is already a dataset of templates"
        raise SenseprobeError(f"{reason}: choose another name for the import")


def parse_license(license_: str | None) -> str | None:
    """Return the SPDX expression of a licence, None where none is stated; raise ReleaseError where it is not one.

    A licence that forbids changed versions is accepted: such a release is private, and `publish` refuses it.

    >>> parse_license("cc-by-4.0"), parse_license(None)
    ('CC-BY-4.0', None)
    """
    if license_ is None or license_.strip().lower() in _NO_LICENSE:
        return None
    if len(license_) > MAX_LICENSE:
        raise ReleaseError(f"the licence has {len(license_)} characters: write an SPDX expression such as CC-BY-4.0")
    expression = license_.strip()
    try:
        (name, *terms), *others = alternatives(expression)
    except ReleaseError:
        with suppress(ReleaseError):
            alternatives(f"{expression} OR MIT")  # with MIT there is an alternative that allows changes
            return expression
        raise
    return name if not others and not terms and name.lower() == expression.lower() else expression


@dataclass(frozen=True, slots=True)
class ImportedDataset:
    """The files of an import, and the tables and notes that their format made of them.

    `reader` is the form of the reading that its recipe states. `lexicon` is where sense keys were looked up, empty
    where it was not there; None where no check read the rows.
    """

    format: Format
    license: str
    language: str
    sources: tuple[Source, ...]
    tables: tuple[Table, ...]
    notes: Notes
    reader: int = READER
    column_map: ColumnMap | None = None
    lexicon: str | None = None

    @property
    def configs(self) -> tuple[str, ...]:
        """The names of the configs, in order."""
        return tuple(table.name for table in self.tables)

    def table(self, config: str) -> Table:
        """Return the table of a config."""
        return next(table for table in self.tables if table.name == config)

    def rows(self, config: str, start: int = 0, stop: int | None = None) -> Iterator[pa.RecordBatch]:
        """Yield the rows of a config from number `start` to before `stop`."""
        table = self.table(config)
        yield pa.RecordBatch.from_pylist(list(table.rows[start:stop]), schema=design_schema(table.design))

    def recipe(self) -> Mapping[str, bytes]:
        """Return the files of the recipe by path: sources, parameters, notes, and the paper."""
        names = [source.name for source in self.sources]
        parameters: dict[str, Any] = {
            "files": names,
            "format": self.format.id,
            "language": self.language,
            "license": self.license,
            "reader": self.reader,
        }
        if self.column_map:
            facts = {"columns": dict(self.column_map.columns), "factors": [*self.column_map.factors]}
            parameters |= {**facts, "title": self.column_map.title}
            if self.column_map.labels:
                parameters["labels"] = {role: dict(names) for role, names in self.column_map.labels.items()}
        columns = ["file", "line", "outcome", "reason"]
        if self.lexicon is not None:
            parameters["lexicon"] = self.lexicon
            columns.append("code")
        citation = b""
        if self.column_map:
            citation = self.column_map.citation or b""
        elif self.format.paper:
            citation = files(self.format.citation).joinpath("papers", f"{self.format.paper}.bib").read_bytes()
        notes = io.StringIO()
        rows = ([getattr(note, column) for column in columns] for note in self.notes.listed)
        csv.writer(notes, lineterminator="\n").writerows([columns, *rows])
        return {
            _PARAMETERS: (json.dumps(parameters, ensure_ascii=False, indent=2, sort_keys=True) + "\n").encode(),
            NOTES: notes.getvalue().encode(),
            **({"references.bib": citation} if self.format.paper else {}),
            **{f"{_SOURCES}/{source.name}": source.data for source in self.sources},
        }


def read_import(
    name: str,
    paths: Sequence[Path],
    license_: str | None = None,
    language: str | None = None,
    column_map: ColumnMap | None = None,
    *,
    strict: bool = False,
) -> ImportedDataset:
    """Read the files of the format `name`, whose licence is the SPDX expression `license_`.

    `language` is that of their sentences, by default that of the format; a table of one's own needs a `column_map`.
    With `strict`, a line that makes no row is an error.
    Raise ReleaseError where they are of another format, SenseprobeError where no row can be made of them, or in that
    language, or where the map does not fit.
    """
    if name in TABLES and not column_map:
        raise SenseprobeError(f"{name} needs a map of its columns (--map): {name_needed((), '=COLUMN')}")
    format_ = mapped_format(name, column_map) if column_map else find_format(name)
    if format_.read is None:
        raise SenseprobeError(f"{name} makes a project, not a release: senseprobe import {name} FOLDER [NEW FOLDER]")
    if not paths:
        raise SenseprobeError(f"name the files to import: {format_.files}")
    paths = [file for path in paths for file in _files_in(path, format_)]
    language = _find_language(format_, language)
    sources, notes = tuple(read_sources(paths, language)), Notes()
    tables = [replace(table, rows=_with_unique_ids(table.rows)) for table in format_.read(sources, notes)]
    left_out = [note for note in notes.listed if not note.kept]
    if strict and left_out:
        lines = "; ".join(f"{note.file}:{note.line}: {note.reason}" for note in left_out[:3])
        raise SenseprobeError(f"{lines}: {counted(len(left_out), 'row')} cannot be used: correct or delete them")
    if strict and not tables:
        raise SenseprobeError(f"{listed(source.name for source in sources)}: has a header, and not one row")
    if not tables:
        first_notes = "; ".join(map(str, notes.listed[:3]))
        raise SenseprobeError(f"these files have none of the rows of {name}{f': {first_notes}' if first_notes else ''}")
    if len(tables) > MAX_CONFIGS:
        raise ReleaseError(f"{len(tables)} configs; the limit is {MAX_CONFIGS}: are these files of {name}?")
    for source in sources:
        notes.keep_spaces(source)
    notes.listed.sort(key=_position)
    named = _with_config_names(tables)
    return ImportedDataset(format_, license_ or "", language, sources, named, notes, column_map=column_map)


def _files_in(path: Path, format_: Format) -> list[Path]:
    """Return a file, or the files of a folder that are called like those of a format; SenseprobeError where none is."""
    if not path.is_dir():
        return [path]
    if not format_.patterns:
        raise SenseprobeError(f"{printable(str(path))} is a folder: name the files, {format_.files}")
    files_in = {file for pattern in format_.patterns for file in path.glob(pattern) if file.is_file()}
    if not files_in:
        names = " or ".join(format_.patterns)
        raise SenseprobeError(f"{printable(str(path))}: has no file of {format_.id}: expected {names}")
    return sorted(files_in)


def _find_language(format_: Format, language: str | None) -> str:
    """Return the language of the files of a format; raise SenseprobeError where it is not known, or cannot be read."""
    if not (tag := language if language is not None else format_.language):
        raise SenseprobeError(f"files of {format_.id} exist in several languages: name yours (--language)")
    if format_.english_only and not is_english(tag):
        advice = "import a translation as your own table (csv, with --map)"
        raise SenseprobeError(f"{format_.id} must be English, but the language is {tag!r}: {advice}")
    return check_language(tag)


def _position(note: Note) -> tuple[str, int]:
    return note.file.casefold(), note.line


def with_remarks(imported: ImportedDataset, notes: Iterable[Note], lexicon: str) -> ImportedDataset:
    """Return an import with the notes of checks on its rows, which looked up keys in `lexicon`, if it is not empty."""
    added = [*notes]
    listed = sorted([*imported.notes.listed, *added], key=_position)
    facts = [*imported.notes.facts]
    keys = {row["sense_key"] for table in imported.tables for row in table.rows if row.get("sense_key")}
    if keys:
        state = f"looked up in {lexicon}" if lexicon else "not checked, as WordNet is not prepared (senseprobe wordnet)"
        facts.append(f"{counted(len(keys), 'sense key')} {state}")
    if codes := Counter(note.code for note in added):
        facts.append(f"remarks of lint's checks: {', '.join(f'{code} {codes[code]}' for code in sorted(codes))}")
    return replace(imported, notes=Notes(listed, facts), lexicon=lexicon)


def _with_unique_ids(rows: Sequence[Row]) -> list[Row]:
    """Return the rows with unique ids: the second row with an id gets `.2` after it, and so on."""
    seen: dict[str, int] = {}
    unique: list[Row] = []
    for row in rows:
        name = str(row["id"])
        while name in seen:
            seen[name] += 1
            name = f"{name}.{seen[name]}"
        seen[name] = 1
        unique.append({**row, "id": name})
    return unique


def _with_config_names(tables: Sequence[Table]) -> tuple[Table, ...]:
    """Rename a table called `recipe`, as a folder of the release is; raise ReleaseError where two have one name."""
    named = tuple(replace(table, name="sense-recipe") if table.name == "recipe" else table for table in tables)
    ((name, number),) = Counter(table.name for table in named).most_common(1)
    if number > 1:
        raise ReleaseError(f"two configs would be named {name!r}: import them separately, or rename one in the files")
    return named


def release_plan(imported: ImportedDataset, name: str, version: str, senseprobe: str) -> Plan:
    """Return the plan of a release of the imported tables."""
    return Plan(
        dataset=name,
        version=version,
        card=_card(imported, name),
        configs=tuple(_plan_config(imported, table) for table in imported.tables),
        contrasts=(),
        recipe=imported.recipe,
        senseprobe=senseprobe,
        creation=_describe_creation(imported),
    )


def _plan_config(imported: ImportedDataset, table: Table) -> ConfigPlan:
    def write(folder: Path, schema: pa.Schema, progress: FileCallback) -> None:
        write_rows(folder, schema, len(table.rows), partial(imported.rows, table.name), progress)

    return ConfigPlan(
        name=table.name,
        size=len(table.rows),
        schema=design_schema(table.design),
        write=write,
        design=table.design,
        levels=table.levels(),
        description=table.description,
        expect={table.unit: len(table.rows), "published": None, "reason": None, "cite": None},
        accept={},
    )


def _card(imported: ImportedDataset, name: str) -> dict[str, Any]:
    about, digest = imported.format, sha256()
    for source in imported.sources:
        digest.update(f"{printable(source.name)}\0{len(source.data)}\0".encode() + source.data)
    # An id that depends on the files alone, so that importing them again makes the same bytes.
    canary = uuid.UUID(bytes=digest.digest()[:16], version=4)
    title, origin = f"{name}: {about.title}, imported", f"copy of {about.title}"
    if imported.column_map:
        title, origin = imported.column_map.title or title, "table of pairs of sentences"
    return {
        "title": title,
        "summary": f"A user's own {origin}, imported without changes from {len(imported.sources)} file(s).",
        "license": imported.license,
        "languages": [imported.language],
        "authors": [],  # those of the paper made the data, not this release of them
        "citation": about.paper,
        "canary": f"senseprobe:{slug(name, 'import')}:{canary}",
        "content_warning": "The sentences state stereotypes. They are wrong and hurtful; they are here to measure "
        "whether a model prefers them.",
        "measured": about.measured,
        "groups": [],
        "intended_use": "Comparing models on the same release, and with published scores on the same data.",
        "out_of_scope": "Training or tuning; certifying a model as unbiased; any use that the licence of the data does "
        "not allow.",
        "who_could_be_harmed": "People of the groups that the sentences name, if a score is taken as permission to use "
        "a model on them.",
        "equivalence": {"margin": 5.0, "reason": "A convention: no harm-based bound is known."},
        "accept": {},
        "imported": about.id,
    }


def _describe_creation(imported: ImportedDataset) -> str:
    left_out = sum(not note.kept for note in imported.notes.listed)
    lines = [f"- {fact}" for fact in imported.notes.facts if "`" not in fact]
    counts = f"{left_out} omitted, {len(imported.notes.listed) - left_out} kept with a remark"
    columns = " `recipe/import.json` maps their columns." if imported.column_map else ""
    return f"""Sentences and labels come from the published files, which are in `recipe/sources/`; senseprobe does not
ship them.{columns} `recipe/import.csv` lists lines that deviate from the format: {counts}.
A column that the files do not fill is null. Sentences are as published, with their mistakes.

{chr(10).join(lines)}

`senseprobe verify` checks every file, the rows and the recipe. With `--rebuild` it also imports the files again."""


class _Parameters(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid")

    format: str
    files: list[str]
    license: str
    language: str = "en"
    reader: int = 1
    columns: dict[str, str] = {}
    factors: list[str] = []
    title: str = ""
    labels: dict[str, dict[str, str]] = {}
    lexicon: str | None = None

    def column_map(self, bibliography: Path) -> ColumnMap | None:
        """Return the map of a table of one's own, with its BibTeX, if there is any."""
        if not self.columns:
            return None
        citation = bibliography.read_bytes() if bibliography.is_file() else None
        return ColumnMap(
            columns=self.columns, factors=self.factors, title=self.title, citation=citation, labels=self.labels
        )


def is_import(recipe: Path) -> bool:
    """Return whether the recipe of a release is that of an import."""
    return (recipe / _PARAMETERS).is_file()


def open_import(recipe: Path) -> ImportedDataset:
    """Import again from a recipe; raise ReleaseError where it cannot be read."""
    try:
        parameters = _Parameters.model_validate_json((recipe / _PARAMETERS).read_bytes())
    except (OSError, ValidationError):
        raise ReleaseError(f"{recipe / _PARAMETERS} cannot be read: fetch the release again") from None
    if any(Path(name).name != name or name in {"", ".", ".."} for name in parameters.files):
        raise ReleaseError(f"{recipe / _PARAMETERS} names files outside its folder")
    column_map = parameters.column_map(recipe / "references.bib")
    paths = [recipe / _SOURCES / name for name in parameters.files]
    imported = read_import(parameters.format, paths, parameters.license, parameters.language, column_map)
    imported = replace(imported, reader=parameters.reader)
    if parameters.lexicon is None:
        return imported
    return with_remarks(imported, read_remarks(recipe / NOTES), parameters.lexicon)


def rows_of(recipe: Path) -> dict[str, Rows]:
    """Return what makes the rows of each config; raise ReleaseError where the recipe cannot be read."""
    imported = open_import(recipe)
    return {name: partial(imported.rows, name) for name in imported.configs}


def verify_import(folder: Path, manifest: Manifest, away: Container[str]) -> Iterator[Finding]:
    """Yield each difference between a release and what its recipe makes; the rows of configs in `away` are missing.

    Where another form of the reader made other rows of the same files, that is the only one.
    """
    try:
        imported = open_import(folder / "recipe")
    except SenseprobeError as error:
        yield Finding(path="recipe", code="E408", message=f"cannot be imported again: {error}")
        return
    findings = [*_differences(folder, manifest, away, imported)]
    if findings and imported.reader != READER:
        message = (
            f"reader {imported.reader} read these files, but this senseprobe has reader {READER}, which makes other "
            "rows from them. So rows and recipe cannot be compared; files and hashes were verified"
        )
        version = "senseprobe 0.1" if imported.reader < READER else "the senseprobe that made it"
        hint = f"import recipe/sources again as a new version, or rebuild it with {version}"
        findings = [Finding(path="recipe/import.json", code="E408", message=message, hint=hint)]
    yield from findings


def _differences(
    folder: Path, manifest: Manifest, away: Container[str], imported: ImportedDataset
) -> Iterator[Finding]:
    """Yield each difference between a release and what is imported again."""
    plan = release_plan(imported, *(str(manifest.data[key]) for key in ("dataset", "version", "senseprobe")))
    rows = {name: partial(imported.rows, name) for name in imported.configs}
    # The texts of the manifest: a later senseprobe may word them in another way.
    card = manifest.data["card"] | {key: plan.card[key] for key in ("license", "canary", "imported", "languages")}
    texts = {name: manifest.config(name)["description"] for name in manifest.configs}
    configs = [replace(config, description=texts.get(config.name, config.description)) for config in plan.configs]
    frozen = replace(plan, card=card, configs=tuple(configs))
    yield from verify_recipe(Release(folder, manifest), frozen, rows, away)
    if manifest.cards == CARDS:  # older cards lack the section, or word it otherwise
        text = (folder / README).read_text(encoding="utf-8", errors="replace")
        if read_section(text, "Creation") != plan.creation:
            yield mismatch(README, "the section on creation differs from a new import of the same files")
    notes = folder / "recipe" / NOTES
    if not notes.is_file() or imported.recipe()[NOTES] != notes.read_bytes():
        yield Finding(path=f"recipe/{NOTES}", code="E408", message="differs from a new import of the same files")
    yield from unused_files(manifest, imported.recipe())
