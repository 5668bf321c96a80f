"""A user's own table of pairs as a release in the user's cache: it is scored, reported and replayed like any other."""

import hashlib
import json
import shutil
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

from senseprobe import project
from senseprobe.errors import DamagedRelease, ReleaseError, SenseprobeError
from senseprobe.importers.column_map import PAIR, ColumnMap, column_names, map_by_names
from senseprobe.importers.plan import NOTES, READER, ImportedDataset, read_import, release_plan
from senseprobe.importers.sources import read_sources, slug
from senseprobe.messages import counted, listed, printable
from senseprobe.records import Headline
from senseprobe.release.freeze import freeze
from senseprobe.release.release import Release
from senseprobe.release.verify import open_verified

FORMS: Mapping[str, str] = {
    ".csv": "csv",
    ".tsv": "csv",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".json": "jsonl",
    ".parquet": "parquet",
}
"""The forms of tables by the ending of a file's name."""

REPEATED = {"contrast": "target", "inference": "pair"}
"""What several pairs may be about: they are not independent then, and figures generalise over its levels."""


def is_table(spec: object) -> bool:
    """Return whether a name or path is that of a table: of a file, or of something that is called like one.

    >>> is_table("pairs.csv"), is_table("sssb@1.0.1:race")
    (True, False)
    """
    if not isinstance(spec, str | Path) or project.has_release(str(spec)):
        return False
    try:
        path = Path(spec)
        return path.is_file() or (path.suffix.lower() in FORMS and not path.is_dir())
    except (OSError, ValueError):
        return False


def read_table(path: Path, columns: Mapping[str, str] | None = None) -> ImportedDataset:
    """Read a table whose `columns` are mapped, or called as roles are; each of its lines has to be a pair.

    Figures generalise over pairs, or over what several pairs are about (`REPEATED`). Raise ReleaseError or
    SenseprobeError where it is no table, lacks a column, or has a line that is no pair.
    """
    form = FORMS.get(path.suffix.lower())
    if form is None:
        name = printable(str(path))
        raise SenseprobeError(f"{name}: is not a table of pairs: expected .csv, .tsv, .jsonl or .parquet")
    if columns is None:
        (source,) = read_sources([path])
        columns = map_by_names(source, column_names(form, source))

    def read(factor: str) -> ImportedDataset:
        column_map = ColumnMap(columns=columns, factors=[factor], title=printable(path.name))
        return read_import(form, [path], column_map=column_map, strict=True)

    imported = read(columns.get(PAIR, PAIR))
    (table,) = imported.tables
    repeated = REPEATED.get(table.design.kind, "template")
    levels = {row.get(repeated) for row in table.rows}
    if None not in levels and 1 < len(levels) < len(table.rows):
        imported = read(columns[repeated])
    # The config is called like the file, since reports call their question so.
    named = tuple(replace(table, name=_stem(path)) for table in imported.tables)
    return replace(imported, tables=named)


def release_of_table(
    path: Path,
    columns: Mapping[str, str] | None,
    senseprobe: str,
    describe: Callable[[Release], Mapping[str, Headline]],
    notify: Callable[[str], None],
) -> Release:
    """Return the release of a table in the cache, made where it is not there; `notify` hears how the table was read.

    It is named after the file, and its version is of what is in the table: the same content has the same version.
    Raise as `read_table` does, and ReleaseError where the cache cannot be written.
    """
    imported = read_table(path, columns)
    for line in _describe(path, imported):
        notify(line)
    column_map, (source,) = imported.column_map, imported.sources
    how = column_map and [sorted(column_map.columns.items()), *column_map.factors]
    digest = hashlib.sha256(json.dumps([READER, imported.format.id, how]).encode() + source.data).hexdigest()
    name, version = _name(path), f"0.0.{10**8 + int(digest[:16], 16) % (9 * 10**8)}"
    try:
        folder = project.table_release(name, version)
    except RuntimeError as error:
        raise ReleaseError(f"no folder for a copy of {path.name} ({error}): set XDG_CACHE_HOME to one") from None
    if release := _find(folder, imported):
        return release
    try:
        return Release(folder, freeze(release_plan(imported, name, version, senseprobe), folder, describe=describe))
    except ReleaseError as error:
        if release := _find(folder, imported):  # another process has made it meanwhile
            return release
        raise ReleaseError(f"{error}: set XDG_CACHE_HOME to a folder for copies of tables") from None


def _describe(path: Path, imported: ImportedDataset) -> list[str]:
    """Return which columns were read as what, which were not, and how many rows have remarks."""
    column_map, (table,) = imported.column_map, imported.tables
    if column_map is None:
        return []
    mapped = (role if role == name.casefold() else f"{role} ({name})" for role, name in column_map.columns.items())
    lines = [f"Read {counted(len(table.rows), table.unit.removesuffix('s'))} from {path.name}: {', '.join(mapped)}"]
    names = column_names(imported.format.id, imported.sources[0])
    if unread := [name for name in names if name not in column_map.sources().values()]:
        lines.append(f"Columns that were not read: {listed(unread)}")
    (factor,) = table.design.factors
    if factor.columns[0] != PAIR:
        levels = counted(table.levels()[factor.name], "value")
        share = f"{table.unit.capitalize()} share a {factor.name}"
        lines.append(f"{share}, so that intervals are over its {levels}, not over {table.unit}")
    if remarks := imported.notes.listed:
        lines.append(f"{counted(len(remarks), 'remark')}, such as {remarks[0]}")
    return lines


def _stem(path: Path) -> str:
    """Return the name of a file as a config can have it, which is not that of the folder of recipes."""
    stem = slug(path.name.partition(".")[0], "table")
    return "table" if stem == "recipe" else stem


def _name(path: Path) -> str:
    """Return the name of the release: that of the file, unless a dataset of templates has it."""
    name = _stem(path)
    datasets = {dataset.lower() for layer in project.layers() for dataset in layer.datasets()}
    return f"{name}-table" if name in datasets else name


def _find(folder: Path, imported: ImportedDataset) -> Release | None:
    """Return the release of a table where it is whole; what is damaged, or of another table, is removed."""
    if not folder.is_dir():
        return None
    try:
        release = open_verified(folder)
        recipe = {name: data for name, data in imported.recipe().items() if name != NOTES}
        same = all((folder / "recipe" / name).read_bytes() == data for name, data in recipe.items())
        if same and release.configs == imported.configs:
            return release
    except (DamagedRelease, ReleaseError, OSError):
        pass
    shutil.rmtree(folder, ignore_errors=True)
    return None
