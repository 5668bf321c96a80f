"""What a release is made of: the files that make its rows again, and the lists that it uses, with their licences."""

import csv
import io
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from ruamel.yaml import YAML

from senseprobe.errors import DeclarationError, ReleaseError
from senseprobe.generator import yaml_source
from senseprobe.generator.dataset import ResolvedDataset, open_dataset
from senseprobe.generator.english import Guess
from senseprobe.generator.exclusions import RETIRED
from senseprobe.generator.schema import Dataset, Fixed, Template
from senseprobe.generator.word_lists import DESCRIPTOR, WordList, WordLists
from senseprobe.records import Finding
from senseprobe.release.annotation_record import ANNOTATION
from senseprobe.release.documents import Source
from senseprobe.release.licences import alternatives, combine_licences
from senseprobe.release.verdicts import VERDICTS
from senseprobe.tables import UnreadableError, read_csv_file, table_objects

_HEADER = ["asked", "text", "answer"]
_MOST_BYTES = 2**26  # of english.csv
# Files that are read besides templates: others may be edited without changing the recipe.
_FILES = frozenset(["dataset.yaml", VERDICTS, RETIRED, ANNOTATION])


def recipe_files(resolved: ResolvedDataset) -> dict[str, bytes]:
    """Return the recipe's files by path; call it after all rows were made, when every guess is recorded."""
    dataset, lists = resolved.dataset, find_used_lists(resolved.dataset.templates, resolved.lists)
    paths = (path for path in sorted(dataset.folder.iterdir()) if path.suffix == ".j2" or path.name in _FILES)
    plain = [path for path in paths if not (path.name.startswith(".") or path.is_symlink()) and path.is_file()]
    names = [words.path.name for words in lists]
    if repeated := {name for name in names if names.count(name) > 1}:
        raise ReleaseError(f"two lists of {dataset.name} are in files named {min(repeated)}: rename one of them")
    files = {f"templates/{dataset.name}/{path.name}": path.read_bytes() for path in plain}
    files |= {f"wordlists/{words.path.name}": words.path.read_bytes() for words in lists}
    files[f"wordlists/{DESCRIPTOR}"] = _descriptor(lists)
    bibliographies = [folder / "references.bib" for folder in resolved.lists.folders]
    if texts := [path.read_bytes() for path in bibliographies if path.is_file()]:
        files["wordlists/references.bib"] = b"\n".join(texts)
    files["english.csv"] = _english(resolved.english.guesses)
    return files


def _descriptor(lists: list[WordList]) -> bytes:
    """Return a Frictionless descriptor of the lists, whichever layers they came from."""
    resources = [words.resource.model_dump(mode="json", by_alias=True, exclude_unset=True) for words in lists]
    text = io.BytesIO()
    yaml = YAML(typ="safe", pure=True)
    yaml.default_flow_style = False
    yaml.width = 120
    yaml.dump({"name": "recipe", "resources": resources}, text)
    return text.getvalue()


def _english(guesses: Mapping[Guess, str]) -> bytes:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerows([_HEADER, *sorted((*guess, answer) for guess, answer in guesses.items())])
    return text.getvalue().encode()


def join_recipes(folders: Sequence[Path]) -> dict[str, bytes]:
    """Return the recipe of rows made in parts; raise ReleaseError where two parts have different answers of English."""
    answers: dict[Guess, str] = {}
    for folder in folders:
        for guess, answer in _read_answers(folder).items():
            if (other := answers.setdefault(guess, answer)) != answer:
                difference = f"for {guess[0]} of {guess[1]!r}, {folder} has {answer!r} and another shard {other!r}"
                raise ReleaseError(f"{difference}: make the shards with one version of inflect")
    paths = sorted(path for path in folders[0].rglob("*") if path.is_file())
    files = {path.relative_to(folders[0]).as_posix(): path.read_bytes() for path in paths}
    return files | {"english.csv": _english(answers)}


def open_recipe(folder: Path, dataset: str) -> ResolvedDataset:
    """Return the dataset of a release's recipe, with its English; raise ReleaseError where it cannot be read."""
    return open_dataset(folder / "templates" / dataset, WordLists((folder / "wordlists",)), _read_answers(folder))


def _read_answers(folder: Path) -> dict[Guess, str]:
    path = folder / "english.csv"
    try:
        rows = table_objects(read_csv_file(path, _MOST_BYTES, ","), _HEADER)
        return {(row["asked"], row["text"]): row["answer"] for _, row in rows}
    except UnreadableError as error:
        raise ReleaseError(error.at(path)) from None


def find_used_lists(templates: Iterable[Template], lists: WordLists) -> list[WordList]:
    """Return the lists that templates name, sorted; raise DeclarationError where one cannot be read."""
    names: set[str] = set()
    for front in (block.front for template in templates for block in template.blocks):
        bindings = (value for role in front.bindings.values() for value in role.values())
        names |= {slot.list for slot in front.slots.values()} | {b.list for b in bindings if isinstance(b, Fixed)}
    return [words for name in sorted(names) if (words := lists.get(name))]


def describe_sources(dataset: Dataset, lists: WordLists) -> tuple[Source, ...]:
    """Return what the card of a release says of the lists that its rows are made of."""
    return tuple(
        Source(
            name=words.resource.name,
            file=words.path.name,
            words=len(words.words),
            description=words.resource.description,
            licence=list_licence(words),
            cited=tuple(source.title for source in words.resource.sources),
        )
        for words in find_used_lists(dataset.templates, lists)
    )


def list_licence(words: WordList) -> str:
    """Return the SPDX expression of a list, all of whose licences apply; empty where it has the dataset's licence."""
    names = [licence.name for licence in words.resource.licenses]
    return names[0] if len(names) == 1 else " AND ".join(f"({name})" for name in names)


def release_licence(dataset: Dataset, lists: WordLists) -> str:
    """Return the most restrictive licence of dataset and lists; raise DeclarationError where they do not combine."""
    used = find_used_lists(dataset.templates, lists)
    findings = [finding for words in used for finding in check_list_licences(words)]
    if findings := findings or [*check_dataset_licence(dataset, used)]:
        raise DeclarationError(findings)
    return combine_licences(_licences(dataset, used))


def check_list_licences(words: WordList) -> Iterator[Finding]:
    """Yield E208 at each licence of a list that is not an SPDX expression, or forbids what a release does."""
    path = words.path.with_name(DESCRIPTOR)
    for at, licence in enumerate(words.resource.licenses):
        if error := _licence_error({licence.name: licence.name}):
            data = yaml_source.read_mapping(path)
            number = [resource["name"] for resource in data["resources"]].index(words.resource.name)
            yield _licence_finding(path, ("resources", number, "licenses", at, "name"), "E208", error)


def check_dataset_licence(dataset: Dataset, used: list[WordList]) -> Iterator[Finding]:
    """Yield E208 where the dataset's licence cannot be used, E209 where it cannot be combined with those of lists."""
    error_alone = _licence_error({"": dataset.card.license})
    # A list whose licence cannot be used has a finding of its own.
    usable = [words for words in used if not _licence_error({words.resource.name: list_licence(words)})]
    if error := error_alone or _licence_error(_licences(dataset, usable)):
        yield _licence_finding(dataset.folder / "dataset.yaml", ("license",), "E208" if error_alone else "E209", error)


def _licence_finding(path: Path, location: tuple[str | int, ...], code: str, message: str) -> Finding:
    line, column = yaml_source.locate([yaml_source.read_mapping(path)], location)
    return Finding(path=yaml_source.format_path(path), line=line, column=column, code=code, message=message)


def _licences(dataset: Dataset, used: list[WordList]) -> dict[str, str]:
    licences = {"dataset.yaml": dataset.card.license}
    return licences | {f"list {words.resource.name}": text for words in used if (text := list_licence(words))}


def _licence_error(licences: dict[str, str]) -> str | None:
    """Return what is wrong with one of the licences, or with all of them together."""
    try:
        for text in licences.values():
            alternatives(text)
        combine_licences(licences)
    except ReleaseError as error:
        return str(error)
    return None
