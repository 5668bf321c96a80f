"""Whether a release is what its manifest says, with an explanation of every difference."""

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from operator import attrgetter
from pathlib import Path
from typing import NamedTuple

import jinja2
import pyarrow as pa

from senseprobe.atomic_files import read_plain
from senseprobe.errors import DamagedRelease, DeclarationError, ReleaseError, SenseprobeError
from senseprobe.messages import printable
from senseprobe.records import Finding
from senseprobe.release import card, citation, croissant
from senseprobe.release.documents import HINT, MAX_BYTES, DocumentInput, ReadSources, mismatch, read_recipe
from senseprobe.release.hashing import combine, file_finding, hash_leaves, memory_bytes
from senseprobe.release.manifest import CARDS, NAME, Manifest, read_manifest
from senseprobe.release.release import Release
from senseprobe.release.restore import RESTORED
from senseprobe.release.row_files import FileCheck, Part, RowFile, check_files, files_in, leaf_findings
from senseprobe.release.schema import design_schema, example_rows

_HINT = "fetch the release from its authors again"

_COMPARE = {card.NAME: card.compare, citation.NAME: citation.compare, croissant.NAME: croissant.compare}
"""By the name of a document, what yields its differences from the manifest."""

FOREIGN = (".gitattributes", ".gitignore", ".cache", ".huggingface", ".DS_Store", ".git")
"""Names that other tools leave in a downloaded folder; they are no part of a release."""

MAX_FOREIGN = 4 * 2**20
"""The most bytes of a file that another tool left: Finder's notes of a folder have some kB."""

_MAGIC = (b"PAR1", b"PARE", b"ARROW1")
"""The first bytes of files of rows, whatever their names: Parquet, Parquet encrypted, and Arrow."""

_ROWS = re.compile(
    r".*\.(parquet|arrow|feather|orc|avro|csv|tsv|jsonl?|ndjson|txt|xml|h5|hdf5|lance|tar|zip|gz|bz2|xz|zst|py|ya?ml)",
    re.I,
)
"""Names that a reader, or a query over all folders, takes for rows or for settings, in whatever folder."""

_TABLE = re.compile(r"test-[0-9]{5,}-of-([0-9]{5,})\.parquet")
_IMPORTED = re.compile(r"recipe/(?:import\.json|import\.csv|references\.bib|sources/[^/]+(?<!\.(?i:parquet)))")
_OF_PARQUET = re.compile(_IMPORTED.pattern.replace(r"(?<!\.(?i:parquet))", ""))  # the user's own table
_OF_TEMPLATES = (
    r"recipe/(?:english\.csv|templates/{}/(?:[^/.][^/]*\.(?:j2|yaml|csv)|annotation\.json)"
    r"|wordlists/(?:[A-Za-z0-9_-][A-Za-z0-9._-]*\.csv|datapackage\.yaml|references\.bib))"
)


def verify_release(
    folder: Path,
    progress: Callable[[int], None] | None = None,
    sources: ReadSources | None = None,
    *,
    rows: bool = True,
) -> tuple[Manifest | None, list[Finding]]:
    """Return the manifest, and everything in which the release differs from it.

    `progress` is called with the bytes checked. Without `sources`, which reads what the documents are made of, their
    hashes are compared, and what they say is not. Without `rows` those are not read, and need not be there. Raises
    ReleaseError where there is no release, or one of a newer form.
    """
    try:
        manifest = read_manifest(folder, any_kind=True)
    except DamagedRelease as error:
        return None, list(error.findings)
    return manifest, _release_findings(folder, manifest, progress, sources, rows=rows)


def verify_part(
    folder: Path, part: Part, progress: Callable[[int], None] | None = None, sources: ReadSources | None = None
) -> tuple[Manifest | None, list[Finding]]:
    """Return the same as `verify_release` of a part of the files of rows, and of all other files.

    Files of other parts need not be there. What is said of all rows together, their bytes in memory and the examples on
    the card, is not compared. Raises the same errors.
    """
    try:
        manifest = read_manifest(folder, any_kind=True)
    except DamagedRelease as error:
        return None, list(error.findings)
    return manifest, _release_findings(folder, manifest, progress, sources, rows=True, part=part)


def verify_checked(
    folder: Path, manifest: Manifest, checks: Mapping[RowFile, FileCheck], sources: ReadSources | None = None
) -> list[Finding]:
    """Return the findings on a release of which all files of rows were checked elsewhere."""
    return _release_findings(folder, manifest, None, sources, rows=True, checks=checks)


def _release_findings(
    folder: Path,
    manifest: Manifest,
    progress: Callable[[int], None] | None,
    sources: ReadSources | None = None,
    *,
    rows: bool,
    part: Part = Part(),  # noqa: B008 - a value
    checks: Mapping[RowFile, FileCheck] | None = None,
) -> list[Finding]:
    """Return the findings on a manifest; where it has rows of an unknown kind, files are compared by their hashes."""
    mine = files_in(manifest, part)
    empty = [name for name in manifest.configs if manifest.config(name)["rows"] and not [*folder.glob(f"{name}/*")]]
    away = [name for name in empty if part.is_whole or any(file.config == name for file in mine)]
    hint = f"`senseprobe verify --restore {manifest.name}` makes its rows again"
    findings = [
        Finding(path=name, code="E402", message="the rows are not here", hint=hint) for name in sorted(away) if rows
    ]
    release, unread = Release(folder, manifest), away if rows else manifest.configs
    read = rows and not manifest.unknown_kinds
    tell = progress or (lambda size: None)
    files = [file for file in mine if file.config not in unread]
    checked = {file: check for file, check in (checks or {}).items() if file in files}
    for file, check in check_files(release, files, rows=read) if checks is None else ():
        checked[file] = check
        tell(manifest.files[file.name][0])
    damage = [check.damage for check in checked.values() if check.damage]
    findings += sorted([*damage, *_file_findings(release, tell)], key=attrgetter("path"))
    for config, why in manifest.unknown_kinds.items():
        message = f"configs.{config}.design: {why}; only the hashes of files are compared"
        findings.append(Finding(path=NAME, code="E401", message=message))
        sources = None
    findings += _set_and_document_findings(folder, manifest, findings, sources)
    memory = card.read_memory(folder, manifest) if sources else {}
    damaged = {finding.path.partition("/")[0] for finding in findings}
    for config in manifest.configs if read else ():
        if config not in damaged:
            of_config = {file: check for file, check in checked.items() if file.config == config}
            findings.extend(_row_findings(release, config, of_config, memory.get(config), part))
    contents = {config: str(manifest.config(config)["content"]) for config in manifest.configs}
    if combine(contents) != manifest.content:
        findings.append(Finding(path=NAME, code="E405", message="the content hash does not match the configs"))
    return findings


def open_verified(folder: Path, progress: Callable[[int], None] | None = None, *, rows: bool = True) -> Release:
    """Return the release in a folder if its files, and `rows` too, are those of its manifest by their hashes.

    What its documents say is not compared: see `verify_release`. Raises DamagedRelease with all findings, and
    ReleaseError where there is none, or its rows are of an unknown kind.
    """
    manifest = read_manifest(folder)
    if findings := _release_findings(folder, manifest, progress, rows=rows):
        raise DamagedRelease(findings)
    return Release(folder, manifest)


def _file_findings(release: Release, progress: Callable[[int], None]) -> Iterator[Finding]:
    """Compare every file of the manifest but those of rows."""
    files = release.manifest.files
    for name in sorted(name for name in files if name.partition("/")[0] not in release.configs):
        if finding := file_finding(release.folder, name, *files[name]):
            yield finding
        progress(files[name][0])


def _set_and_document_findings(
    folder: Path, manifest: Manifest, findings: Collection[Finding], sources: ReadSources | None
) -> list[Finding]:
    """Check which files there are, the recipe's hash, and with `sources` documents; `findings` are on single files."""
    further = [*_foreign_findings(folder, manifest), *unexpected_files(manifest)]
    recipe = {name: sha for name, (_, sha) in manifest.files.items() if name.startswith("recipe/")}
    if combine(recipe) != manifest.data["recipe"]:
        further.append(Finding(path=NAME, code="E406", message="the recipe hash does not match the recipe's files"))
    if sources and is_recipe_intact([*findings, *further]):
        damaged = {finding.path for finding in [*findings, *further]}
        names = [name for name in _document_names(manifest) if name not in damaged]
        further += _document_findings(folder, manifest, names, sources)
    return further


def _document_names(manifest: Manifest) -> list[str]:
    return [*_COMPARE] if manifest.cards > 1 else [card.NAME]


def _document_findings(
    folder: Path, manifest: Manifest, names: Iterable[str], sources: ReadSources
) -> Iterator[Finding]:
    """Yield the first difference of each document from the manifest; older cards' text is not compared."""
    what = "the documents are"
    try:
        about = DocumentInput(
            facts=manifest.data,
            files={name: entry for name, entry in manifest.data["files"].items() if name != croissant.NAME},
            memory=dict.fromkeys(manifest.configs, 0),
            **read_recipe(folder, str(manifest.data["dataset"])),
        )
        what = "the card's text is"
        read = sources(folder, manifest) if manifest.cards == CARDS else None
    except SenseprobeError as error:
        yield from _unread(folder, what, error)
        return
    for name in names:
        try:
            text = read_plain(folder / name, MAX_BYTES).decode()
            yield from _COMPARE[name](text, about, manifest.cards, read)
        except UnicodeDecodeError:
            yield mismatch(name, "is not UTF-8")
        except OSError as error:
            yield Finding(path=name, code="E404", message=f"cannot be read ({error.strerror})")
        except (jinja2.TemplateError, AttributeError, LookupError, TypeError, ValueError) as error:
            message = f"lacks facts that {name} needs: {printable(str(error))[:200]}"
            yield Finding(path=NAME, code="E401", message=message, hint="fetch the release again")


def _unread(folder: Path, what: str, error: SenseprobeError) -> Iterator[Finding]:
    """Yield findings on a recipe that cannot be read: a declaration's, with their own files, or one for the recipe."""
    if isinstance(error, DeclarationError):
        for finding in error.findings:
            yield replace(finding, path=finding.path.removeprefix(f"{folder}/"))
        return
    reason = printable(str(error).replace(f"{folder}/", ""))[:300]
    message = f"cannot be read, so {what} not compared: {reason}"
    yield Finding(path="recipe", code="E408", message=message, hint=HINT)


def unexpected_files(manifest: Manifest) -> Iterator[Finding]:
    """Yield findings on files that no release of the form has, which a forger lists to be read, or that it lacks."""
    is_import = "recipe/import.json" in manifest.files
    imported = _OF_PARQUET if manifest.data["card"].get("imported") == "parquet" else _IMPORTED
    recipe = imported if is_import else re.compile(_OF_TEMPLATES.format(re.escape(str(manifest.data["dataset"]))))
    documents = _document_names(manifest)
    expected = {*documents, *(name for config in manifest.configs for name in _tables(manifest, config))}
    for name in sorted(manifest.files):
        if name not in expected and not recipe.fullmatch(name):
            message = "is listed in the manifest, but releases of this form do not have such a file"
            yield Finding(path=name, code="E403", message=message, hint=_HINT)
    for name in documents:
        if name not in manifest.files:
            yield Finding(path=name, code="E402", message="is not listed in the manifest", hint=_HINT)


def _tables(manifest: Manifest, config: str) -> set[str]:
    """Return the files of a config's rows if their numbers are 0 to the one that each name states; else none."""
    names = {name.partition("/")[2] for name in manifest.files if name.startswith(f"{config}/")}
    tables = {name for name in names if _TABLE.fullmatch(name)}
    numbered = {f"test-{number:05d}-of-{len(tables):05d}.parquet" for number in range(len(tables))}
    return {f"{config}/{name}" for name in tables} if tables == numbered else set()


def content_hash_findings(manifest: Manifest, content: str) -> Iterator[Finding]:
    """Yield a finding where the content hash does not begin with `content`, the 12 to 64 digits that somebody cites."""
    if not re.fullmatch(r"[0-9a-fA-F]{12,64}", content):
        expected = "expected 64 hexadecimal digits, or the first 12 or more"
        raise ReleaseError(f"{content!r} is not a content hash: {expected}")
    if not manifest.content.startswith(content.lower()):
        yield Finding(path=NAME, code="E405", message=f"the content hash is {manifest.content}, not {content}")


def is_recipe_intact(findings: Iterable[Finding]) -> bool:
    """Return whether recipe and manifest are as they were frozen, so that a rebuild can say which rows are not."""
    return not {finding.path.partition("/")[0] for finding in findings} & {NAME, "recipe"}


def _foreign_findings(folder: Path, manifest: Manifest) -> Iterator[Finding]:
    expected = {*manifest.files, NAME, RESTORED}
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder)
        if (path.is_symlink() or not path.is_dir()) and name.as_posix() not in expected:
            if not is_foreign(name.as_posix()):
                message = "is not part of the release"
            elif not (message := _why_read(path, name.as_posix())):
                continue
            yield Finding(path=printable(name.as_posix()), code="E403", message=message)


def is_foreign(name: str) -> bool:
    """Return whether other tools leave a file of this name, and readers do not take it for rows or settings.

    >>> is_foreign(".DS_Store"), is_foreign("rows.parquet")
    (True, False)
    """
    top, *below = name.split("/")
    if below and top in (".cache", ".huggingface", ".git"):
        return not _ROWS.fullmatch(below[-1])
    # eval.yaml makes a dataset of the Hub a benchmark there (`export hub-eval`), and says nothing of its rows.
    return name in (".gitattributes", ".gitignore", ".git", "eval.yaml") or [top, *below][-1] == ".DS_Store"


def _why_read(path: Path, name: str) -> str:
    """Return why a reader of all files of a folder may take a foreign one for rows; empty where none does."""
    if path.is_symlink() or not path.is_file():
        return "is not a plain file"
    # Git's folder, and files that were fetched only in part, are hidden from readers and may hold copies of rows.
    if name.startswith(".git/") or (name.startswith((".cache/", ".huggingface/")) and name.endswith(".incomplete")):
        return ""
    try:
        if path.stat().st_size > MAX_FOREIGN:
            return f"is larger than {MAX_FOREIGN >> 20} MiB, which is too large for a file of another tool"
        with path.open("rb") as file:
            return "contains rows but is not part of the release" if file.read(6).startswith(_MAGIC) else ""
    except OSError as error:
        return f"cannot be read ({error.strerror})"


def _row_findings(
    release: Release, config: str, checks: Mapping[RowFile, FileCheck], card_memory: int | None, part: Part
) -> Iterator[Finding]:
    """Compare the rows of a config with the manifest, and their bytes in memory with the card's `card_memory`."""
    manifest, facts = release.manifest, release.manifest.config(config)
    if not part.is_whole:
        yield from leaf_findings(manifest, checks)
        return
    if findings := [finding for check in checks.values() for finding in check.findings]:
        yield from findings
        return
    leaves = [check.leaf for check in checks.values() if check.leaf]
    counts = [leaf.rows for leaf in manifest.leaves(config)]
    try:
        if len(leaves) == len(checks) and counts in ([], [leaf.rows for leaf in leaves]):
            read = _join_checks(checks.values(), design_schema(release.design(config)))
        else:  # an older form, or files that end elsewhere than leaves
            read = _read_stream(release, config)
    except DamagedRelease as error:
        yield from error.findings
        return
    if read.rows != facts["rows"]:
        yield Finding(path=config, code="E405", message=f"has {read.rows} rows, the manifest says {facts['rows']}")
    elif read.content != facts["content"]:
        yield Finding(path=config, code="E405", message="the content hash does not match the rows")
    elif card_memory not in (None, read.memory):
        states = f"states {card_memory} bytes in memory for the rows of {config}, which take {read.memory}"
        yield mismatch(card.NAME, states)
    elif facts.get("examples", read.examples) != read.examples:
        yield Finding(path=NAME, code="E405", message=f"the examples of {config} are not among its rows")


class _ReadRows(NamedTuple):
    rows: int
    content: str
    memory: int
    examples: list[dict[str, str]]


def _join_checks(checks: Collection[FileCheck], schema: pa.Schema) -> _ReadRows:
    leaves = [check.leaf for check in checks if check.leaf]
    return _ReadRows(
        rows=sum(leaf.rows for leaf in leaves),
        content=hash_leaves(leaves, schema),
        memory=sum(check.memory for check in checks),
        examples=[example for check in checks for example in check.examples],
    )


def _read_stream(release: Release, config: str) -> _ReadRows:
    """Read the rows of a config from its first file to its last; raises DamagedRelease where they cannot be read."""
    content, rows, memory, examples = release.manifest.content_hash(config), 0, 0, []
    design, total = release.design(config), int(release.manifest.config(config)["rows"])
    for batch in release.batches(config):
        content.update(batch)
        examples += example_rows(batch, rows, design, total)
        rows += batch.num_rows
        memory += memory_bytes(batch)
    return _ReadRows(rows, content.hexdigest(), memory, examples)
