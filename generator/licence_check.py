"""The licence under which a dataset may be released, given the licences of the lists that it uses."""

from collections.abc import Iterator

from senseprobe.errors import DeclarationError, ReleaseError
from senseprobe.generator import yaml_source
from senseprobe.generator.schema import Dataset, Fixed
from senseprobe.generator.word_lists import DESCRIPTOR, WordList, WordLists
from senseprobe.records import Finding
from senseprobe.release.documents import Source
from senseprobe.release.licences import alternatives, combine_licences


def find_used_lists(dataset: Dataset, lists: WordLists) -> list[WordList]:
    """Return the lists that a dataset's templates name, sorted; raise DeclarationError where one cannot be read."""
    names: dict[str, None] = {}
    for front in (block.front for template in dataset.templates for block in template.blocks):
        names |= dict.fromkeys(slot.list for slot in front.slots.values())
        bindings = [value for role in front.bindings.values() for value in role.values()]
        names |= dict.fromkeys(value.list for value in bindings if isinstance(value, Fixed))
    return [words for name in sorted(names) if (words := lists.get(name))]


def list_licence(words: WordList) -> str:
    """Return the SPDX expression of a list, all of whose licences apply; empty where it has the dataset's licence."""
    names = [licence.name for licence in words.resource.licenses]
    return names[0] if len(names) == 1 else " AND ".join(f"({name})" for name in names)


def release_licence(dataset: Dataset, lists: WordLists) -> str:
    """Return the licence of a release: the most restrictive of the dataset's own and those of its lists.

    Raise DeclarationError where one of them cannot be used, or they cannot be combined.
    """
    used = find_used_lists(dataset, lists)
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
            line, column = yaml_source.locate([data], ("resources", number, "licenses", at, "name"))
            yield Finding(path=yaml_source.format_path(path), line=line, column=column, code="E208", message=error)


def check_dataset_licence(dataset: Dataset, used: list[WordList]) -> Iterator[Finding]:
    """Yield E208 where the dataset's licence cannot be used, E209 where it cannot be combined with those of lists."""
    own = _licence_error({"": dataset.card.license})
    # A list whose licence cannot be used has a finding of its own.
    usable = [words for words in used if not _licence_error({words.resource.name: list_licence(words)})]
    if error := own or _licence_error(_licences(dataset, usable)):
        path, code = dataset.folder / "dataset.yaml", "E208" if own else "E209"
        line, column = yaml_source.locate([yaml_source.read_mapping(path)], ("license",))
        yield Finding(path=yaml_source.format_path(path), line=line, column=column, code=code, message=error)


def _licences(dataset: Dataset, used: list[WordList]) -> dict[str, str]:
    own = {"dataset.yaml": dataset.card.license}
    return own | {f"list {words.resource.name}": text for words in used if (text := list_licence(words))}


def _licence_error(licences: dict[str, str]) -> str | None:
    """Return what is wrong with one of the licences, or with all of them together."""
    try:
        for text in licences.values():
            alternatives(text)
        combine_licences(licences)
    except ReleaseError as error:
        return str(error)
    return None


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
        for words in find_used_lists(dataset, lists)
    )
