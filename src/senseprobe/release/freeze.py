"""How a release is written: rows, recipe, documents and manifest, into a folder that gets its name when it is whole."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa

from senseprobe.atomic_files import whole_folder
from senseprobe.errors import ReleaseError
from senseprobe.plugins import versions
from senseprobe.records import Contrast, Design, Headline
from senseprobe.release import card, citation, croissant
from senseprobe.release.documents import DocumentInput, Source, read_recipe
from senseprobe.release.hashing import Leaf, combine, file_entry, hash_leaves
from senseprobe.release.kinds import KINDS
from senseprobe.release.manifest import CARDS, NAME, Manifest, read_manifest
from senseprobe.release.parquet import BatchCallback, FileCallback, WrittenFile, read_rows
from senseprobe.release.release import Release
from senseprobe.release.schema import example_numbers, example_rows
from senseprobe.release.verdicts import VERDICTS, has_reported

Write = Callable[[Path, pa.Schema, FileCallback], None]
"""Writes a config's files into a folder, with the schema's metadata, and passes each in order to the callback."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ConfigPlan:
    """A config to be frozen: a function that writes its rows, and the facts of them.

    `size` counts its rows before verdicts, as files and ranges do; `left_out` are the ids of those that are left out.
    `senses` are the sense keys of its words: column, word, key, lexicon, gloss (None without the lexicon), rows.
    `asks` are the ids of the questions that people are asked of its rows; none: all of its kind.
    """

    name: str
    size: int
    schema: pa.Schema
    write: Write
    design: Design
    levels: Mapping[str, int]
    description: str
    expect: Mapping[str, Any]
    accept: Mapping[str, str]
    left_out: Sequence[str] = ()
    senses: Sequence[Mapping[str, Any]] = ()
    asks: Sequence[str] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class Plan:
    """A dataset to be frozen at a version.

    - `card`: what the authors declare; its `license` is that of the whole release.
    - `recipe`: returns bytes by path; it is called after all rows were made.
    - `watch`: is called with all rows, and may refuse them with a ReleaseError.
    - `lists`: the word lists that the rows are made of, for the card.
    - `creation`: how the rows came about, in Markdown, where they were not made from templates.
    - `lexicons`: the sha256 of each lexicon that the glosses are from.
    """

    dataset: str
    version: str
    card: Mapping[str, Any]
    configs: tuple[ConfigPlan, ...]
    contrasts: tuple[Contrast, ...]
    recipe: Callable[[], Mapping[str, bytes]]
    senseprobe: str
    watch: BatchCallback = lambda rows: None
    lists: tuple[Source, ...] = ()
    creation: str = ""
    lexicons: Mapping[str, str] = field(default_factory=dict)


def freeze(
    plan: Plan,
    folder: Path,
    progress: Callable[[int], None] | None = None,
    approve: Callable[[Release], str | None] | None = None,
    describe: Callable[[Release], Mapping[str, Headline]] | None = None,
) -> Manifest:
    """Write the release into `folder`, which must not exist; `progress` is called with how many rows were written.

    `approve` is called with rows and recipe before the release gets its name, may refuse it with a ReleaseError, and
    returns the text of its changelog; `describe` returns the figure that each config is read by. Raises ReleaseError
    where the version exists or cannot be written, and leaves nothing behind then.
    """
    with whole_release(folder, f"{plan.dataset} {plan.version}") as partial:
        describe = describe or (lambda release: {})
        return _write(plan, partial, progress or (lambda rows: None), approve or (lambda release: None), describe)


class _WrittenRows(NamedTuple):
    content: str
    leaves: Sequence[Leaf]
    memory: int
    examples: list[dict[str, str]]
    entries: Mapping[str, tuple[int, str]]  # size and sha256 of its files, by path


@contextmanager
def whole_release(folder: Path, name: str) -> Iterator[Path]:
    """Yield a folder like `whole_folder`, for a release or a part of one; raise ReleaseError where that fails."""
    try:
        with whole_folder(folder) as partial:
            yield partial
    except (OSError, pa.ArrowException) as error:
        if isinstance(error, FileExistsError) and folder.is_dir():
            message = f"{name} exists in {folder}: a release is never overwritten, raise the version"
            raise ReleaseError(message) from error
        reason = getattr(error, "strerror", None) or error
        raise ReleaseError(f"cannot write {folder}: {reason}; nothing was changed") from error


def _write(
    plan: Plan,
    folder: Path,
    progress: Callable[[int], None],
    approve: Callable[[Release], str | None],
    describe: Callable[[Release], Mapping[str, Headline]],
) -> Manifest:
    written = {config.name: _write_rows(plan, config, folder, progress) for config in plan.configs}
    contents = {name: rows.content for name, rows in written.items()}
    write_recipe(plan, folder)
    declared = manifest_facts(plan)
    facts = {
        **declared,
        "dataset": plan.dataset,
        "version": plan.version,
        "senseprobe": plan.senseprobe,
        "writer": {"pyarrow": pa.__version__, **versions(KINDS[config.design.kind] for config in plan.configs)},
        "configs": {
            name: {
                **config,
                "content": contents[name],
                **({"leaves": [[*leaf] for leaf in leaves]} if len(leaves := written[name].leaves) > 1 else {}),
                "examples": written[name].examples,
            }
            for name, config in declared["configs"].items()
        },
        "content": combine(contents),
        "cards": CARDS,
    }
    entries = file_entries(folder, {path: entry for rows in written.values() for path, entry in rows.entries.items()})
    release = Release(folder, _manifest(facts, entries, folder))
    changelog = approve(release) or ""
    for name, headline in describe(release).items():
        facts["configs"][name]["headline"] = asdict(headline)
    about = DocumentInput(
        facts=facts,
        files=entries,
        memory={name: rows.memory for name, rows in written.items()},
        lists=plan.lists,
        changelog=changelog,
        creation=plan.creation,
        left_out={config.name: config.left_out for config in plan.configs if config.left_out},
        **read_recipe(folder, plan.dataset),
    )
    # Croissant last, which has the hashes of the others.
    for name, render in (
        (card.NAME, card.render),
        (citation.NAME, citation.render_cff),
        (croissant.NAME, croissant.render),
    ):
        (folder / name).write_bytes(render(about).encode())
        about = replace(about, files={**about.files, name: _entry(*file_entry(folder / name))})
    (folder / NAME).write_bytes(_manifest(facts, about.files, folder).dump())
    return read_manifest(folder)  # so that nothing is frozen that readers would refuse


def _manifest(facts: Mapping[str, Any], entries: Mapping[str, Mapping[str, int | str]], folder: Path) -> Manifest:
    recipe = {name: str(entry["sha256"]) for name, entry in entries.items() if name.startswith("recipe/")}
    reported = has_reported(folder / "recipe" / "templates" / facts["dataset"] / VERDICTS)
    return Manifest.of({**facts, "files": dict(entries), "recipe": combine(recipe)}, reported=reported)


def write_recipe(plan: Plan, folder: Path) -> None:
    """Write the recipe's files below `folder`; all rows must have been made."""
    for path, data in plan.recipe().items():
        target = folder / "recipe" / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(data)


def file_entries(folder: Path, known: Mapping[str, tuple[int, str]] | None = None) -> dict[str, dict[str, int | str]]:
    """Return size in bytes and sha256 of every file below a folder, by path; those that are `known` are not read."""
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    named = ((path.relative_to(folder).as_posix(), path) for path in files)
    return {name: _entry(*((known or {}).get(name) or file_entry(path))) for name, path in named}


def _entry(size: int, sha256: str) -> dict[str, int | str]:
    return {"bytes": size, "sha256": sha256}


def metadata(dataset: str, version: str, card: Mapping[str, Any]) -> dict[str, str]:
    """Return the metadata of every Parquet file of a release."""
    return {"canary": card["canary"], "release": f"{dataset}@{version}"}


def manifest_facts(plan: Plan) -> dict[str, Any]:
    """Return the manifest's facts of a dataset and its configs that need no rows."""
    configs = {
        config.name: {
            "rows": config.size - len(config.left_out),
            **({"expanded": config.size} if config.left_out else {}),
            "design": config.design.as_dict(),
            "levels": dict(config.levels),
            "description": config.description,
            "expect": dict(config.expect),
            "accept": dict(config.accept),
            **({"asks": list(config.asks)} if config.asks else {}),
            **({"senses": [dict(sense) for sense in config.senses]} if config.senses else {}),
        }
        for config in plan.configs
    }
    return {
        "card": dict(plan.card),
        "order": [*configs],
        "configs": configs,
        "contrasts": [asdict(contrast) for contrast in plan.contrasts],
        **({"lexicons": dict(plan.lexicons)} if plan.lexicons else {}),
    }


def _write_rows(plan: Plan, config: ConfigPlan, folder: Path, progress: Callable[[int], None]) -> _WrittenRows:
    """Write a config's Parquet files; return what the manifest says of them."""
    leaves, memory, entries = list[Leaf](), 0, dict[str, tuple[int, str]]()
    examples, first, total = list[dict[str, str]](), 0, config.size - len(config.left_out)

    def on_file(file: WrittenFile) -> None:
        nonlocal memory, first
        if file.group is not None:
            plan.watch(file.group)
            examples.extend(example_rows(file.group, first, config.design, total))
        else:  # a shard made it, who cannot know which rows of all these are
            examples.extend(_read_examples(config, folder / config.name / file.name, first, file.leaf.rows))
        if file.entry:
            entries[f"{config.name}/{file.name}"] = file.entry
        leaves.append(file.leaf)
        memory += file.memory
        first += file.leaf.rows
        progress(file.leaf.rows)

    (folder / config.name).mkdir()
    marks = metadata(plan.dataset, plan.version, plan.card)
    config.write(folder / config.name, config.schema.with_metadata(marks), on_file)
    return _WrittenRows(hash_leaves(leaves, config.schema), leaves, memory, examples, entries)


def _read_examples(config: ConfigPlan, path: Path, first: int, rows: int) -> Iterator[dict[str, str]]:
    """Yield those of the rows that the card shows that are in a file, whose first row has number `first`."""
    total, columns = config.size - len(config.left_out), ["id", *KINDS[config.design.kind].readable]
    wanted = [number for number in example_numbers(total) if 0 <= number - first < rows]
    for batch in read_rows(path, config.schema, path.name, rows, columns) if wanted else ():
        yield from example_rows(batch, first, config.design, total)
        first += batch.num_rows
        if first > wanted[-1]:
            break
