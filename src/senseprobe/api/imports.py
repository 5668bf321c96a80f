"""Import published benchmarks, and users' own tables, as releases; published templates, as projects."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from importlib.metadata import version as installed_version
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from senseprobe import importers
from senseprobe.api.author import lint
from senseprobe.api.releases import freeze_plan, releases_folder
from senseprobe.errors import LexiconError, SenseprobeError
from senseprobe.options import RELEASES_FOLDER, Argument, Option
from senseprobe.progress import with_progress

if TYPE_CHECKING:
    from senseprobe.generator.checks import Report
    from senseprobe.importers.notes import Notes
    from senseprobe.importers.plan import ImportedDataset
    from senseprobe.release.release import Release

Progress = Callable[[int], None]

IMPORT_FORMATS = (*importers.FORMATS.ours, *importers.TABLES)
"""The names of our formats; the columns of the last three are mapped. Plug-ins may bring others."""
_FORMATS = f"{', '.join(IMPORT_FORMATS[:-1])} or {IMPORT_FORMATS[-1]}."


@with_progress("importing {name} {version}")
def import_release(
    format_: Annotated[str, Argument(metavar="FORMAT", help=_FORMATS)],
    files: Annotated[
        Sequence[str | Path], Argument(metavar="FILE...", help="The published files, their folder, or your own table.")
    ],
    name: Annotated[str, Option(default=None, help="Name of the release.")],
    version: Annotated[str, Option(default=None, help="MAJOR.MINOR.PATCH")],
    license_: Annotated[
        str | None,
        Option(
            "--license", metavar="SPDX", help="Licence of the data; a release without a licence cannot be published."
        ),
    ] = None,
    out: Annotated[str | Path | None, RELEASES_FOLDER] = None,
    progress: Progress | None = None,
    *,
    language: Annotated[
        str | None,
        Option(metavar="TAG", help="Language of the sentences, for example fr.", shown_default="that of the format"),
    ] = None,
    columns: Annotated[
        Mapping[str, str] | None,
        Option(
            "--map",
            type=list[str],
            metavar="ROLE=COLUMN,…",
            help="Map roles to columns of a csv, jsonl or parquet file.",
        ),
    ] = None,
    factors: Annotated[
        Sequence[str],
        Option(
            "--factor",
            metavar="COLUMN",
            help="Treat the levels of this column as a sample, and generalise beyond them; may be repeated.",
        ),
    ] = (),
    title: Annotated[str, Option(help="Title of the card of your own table.")] = "",
    citation: Annotated[str | Path | None, Option(metavar="FILE.bib", help="BibTeX entry of your own table.")] = None,
    labels: Annotated[
        Mapping[str, Mapping[str, str]] | None,
        Option(
            type=list[str],
            metavar="[ROLE:]0=NAME,1=…",
            help="Name the integers of a column; without a role, of the column gold.",
        ),
    ] = None,
) -> tuple[Release, Notes]:
    """Make a release from your copy of a published benchmark, or from your own table.

    Returns the release, with notes on unexpected content. A licence that forbids modified versions is allowed, but
    the release cannot be published. `columns` maps roles to columns, such as ``{"stereo": "sent_more", "anti":
    "sent_less"}``, and `labels` names the integers of a role: ``{"gold": {"0": "entailment", …}}``. Raises
    ReleaseError if a file has another format or the version exists. Raises SenseprobeError if the files are empty,
    a column is missing, or a dataset already has this name.
    """
    from senseprobe.importers.plan import release_plan

    folder = releases_folder(out) / name / version
    mapping: Any = {"columns": columns, "factors": factors, "title": title, "citation": citation, "labels": labels}
    imported = read_import(format_, files, name, version, license_, language=language, **mapping)
    plan = release_plan(imported, name, version, installed_version("senseprobe"))
    return freeze_plan(plan, folder, progress), imported.notes


def read_import(
    format_: str,
    files: Sequence[str | Path],
    name: str,
    version: str,
    license_: str | None = None,
    *,
    language: str | None = None,
    columns: Mapping[str, str] | None = None,
    factors: Sequence[str] = (),
    title: str = "",
    citation: str | Path | None = None,
    labels: Mapping[str, Mapping[str, str]] | None = None,
) -> ImportedDataset:
    """Return the tables and notes of what `import_release` would import, and write nothing; raise as it does."""
    from senseprobe.importers import plan
    from senseprobe.importers.column_map import map_columns

    plan.check_name(name, version)
    column_map = map_columns(columns, factors, title, None if citation is None else Path(citation), labels)
    paths = [Path(file) for file in files]
    return _with_remarks(plan.read_import(format_, paths, plan.parse_license(license_), language, column_map))


def _with_remarks(imported: ImportedDataset) -> ImportedDataset:
    """Return an import with what lint's checks say of its rows, and of their sense keys where WordNet is prepared."""
    from senseprobe.generator.checks.published_rows import check_rows
    from senseprobe.importers.notes import note_remarks
    from senseprobe.importers.plan import with_remarks
    from senseprobe.importers.sentence_pairs import is_english
    from senseprobe.lexicon.wordnet import LEXICONS, Lexicon

    try:
        lexicon = Lexicon.open(LEXICONS[0])
    except LexiconError:
        lexicon = None
    check = partial(check_rows, lexicon=lexicon, english=is_english(imported.language))
    remarks = (remark for table in imported.tables for remark in check(table.rows, table.design))
    return with_remarks(imported, note_remarks(remarks), lexicon.name if lexicon else "")


@dataclass(frozen=True, slots=True)
class ImportedProject:
    """A project that was made of published templates: its folder, what is to be said of it, and what lint finds."""

    folder: Path
    remarks: tuple[str, ...]
    report: Report


def makes_project(format_: str) -> bool:
    """Return whether a format makes a project of templates, not a release."""
    return format_ not in importers.TABLES and importers.find_format(format_).make_project is not None


def import_project(format_: str, folder: str | Path, out: str | Path | None = None) -> ImportedProject:
    """Make a project of the published templates and lists in a folder, and check it as `lint` does.

    The project is the new folder `out`, by default one in the working directory that is called like the format.
    Raises SenseprobeError if `folder` is not a folder, has no such files, or the project's folder exists.
    """
    from senseprobe.atomic_files import write_new_folder
    from senseprobe.project import MARKER
    from senseprobe.scaffold.template import fill_template_file

    about, source, final = importers.find_format(format_), Path(folder), Path(out or format_)
    if about.make_project is None:
        raise SenseprobeError(f"{format_} makes a release, not a project: senseprobe import {format_} FILE... --name …")
    if not source.is_dir():
        raise SenseprobeError(f"{source}: is not a folder: expected one with {about.files}")
    if final.exists():
        raise SenseprobeError(f"{final} exists and is not overwritten: name a new folder for the project")
    made = about.make_project(source)
    write_new_folder(final, {MARKER: fill_template_file("project/senseprobe.toml").encode(), **made.files})
    remarks = [*made.remarks, *(made.compare(source, final) if made.compare else ())]
    return ImportedProject(final, tuple(remarks), lint(final))
