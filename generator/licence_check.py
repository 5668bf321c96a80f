"""Under which licence a dataset may be released, given those of the lists that it uses."""

from collections.abc import Iterator

from senseprobe.errors import DeclarationError, ReleaseError
from senseprobe.generator import yaml_source
from senseprobe.generator.schema import Fixed
from senseprobe.generator.templates import Dataset
from senseprobe.generator.word_lists import DESCRIPTOR, WordList, WordLists, show
from senseprobe.records import Finding
from senseprobe.release.licences import alternatives, combine_licences
from senseprobe.release.metadata import Source


def used_lists(dataset: Dataset, lists: WordLists) -> list[WordList]:
    """The lists that the templates of a dataset name, by name; DeclarationError where one cannot be read."""
    names: dict[str, None] = {}
    for front in (block.front for template in dataset.templates for block in template.blocks):
        names |= dict.fromkeys(slot.list for slot in front.slots.values())
        bindings = [value for role in front.roles.values() for value in role.values()]
        names |= dict.fromkeys(value.list for value in bindings if isinstance(value, Fixed))
    return [found for name in sorted(names) if (found := lists.get(name))]


def licences_of_list(words: WordList) -> str:
    """The SPDX expression of a list: all of its licences apply. Empty where it names none, and the dataset's holds."""
    names = [licence.name for licence in words.resource.licenses]
    return names[0] if len(names) == 1 else " AND ".join(f"({name})" for name in names)


def licence_of(dataset: Dataset, lists: WordLists) -> str:
    """The licence of a release of the dataset: the most restrictive of its own and those of its lists.

    DeclarationError where one of them cannot be used, or they cannot be combined.
    """
    used = used_lists(dataset, lists)
    findings = [finding for words in used for finding in mistakes_of_list(words)]
    if findings := findings or [*mistake_of_dataset(dataset, used)]:
        raise DeclarationError(findings)
    return combine_licences(_told(dataset, used))


def mistakes_of_list(words: WordList) -> Iterator[Finding]:
    """E208 at each licence of a list that is no SPDX expression, or forbids what a release does."""
    path = words.path.with_name(DESCRIPTOR)
    for at, licence in enumerate(words.resource.licenses):
        if wrong := _wrong({licence.name: licence.name}):
            data = yaml_source.parse(yaml_source.read_text(path, show(path)), show(path))
            number = [resource["name"] for resource in data["resources"]].index(words.resource.name)
            line, column = yaml_source.place([data], ("resources", number, "licenses", at, "name"))
            yield Finding(path=show(path), line=line, column=column, code="E208", message=wrong)


def mistake_of_dataset(dataset: Dataset, used: list[WordList]) -> Iterator[Finding]:
    """E208 where the dataset's own licence cannot be used, E209 where it and those of its lists cannot be one."""
    own = _wrong({"": dataset.card.license})
    # A list whose licence cannot be used is told for itself.
    usable = [words for words in used if not _wrong({words.resource.name: licences_of_list(words)})]
    if wrong := own or _wrong(_told(dataset, usable)):
        path = dataset.folder / "dataset.yaml"
        data = yaml_source.parse(yaml_source.read_text(path, show(path)), show(path))
        line, column = yaml_source.place([data], ("license",))
        yield Finding(path=show(path), line=line, column=column, code="E208" if own else "E209", message=wrong)


def _told(dataset: Dataset, used: list[WordList]) -> dict[str, str]:
    own = {"dataset.yaml": dataset.card.license}
    return own | {f"list {words.resource.name}": text for words in used if (text := licences_of_list(words))}


def _wrong(licences: dict[str, str]) -> str | None:
    """What is wrong with licences, each for itself or all together; an empty one, of a list, is left out."""
    try:
        for text in licences.values():
            alternatives(text)
        combine_licences(licences)
    except ReleaseError as error:
        return str(error)
    return None


def sources_of(dataset: Dataset, lists: WordLists) -> tuple[Source, ...]:
    """What the card of a release says of the lists that its rows are made of."""
    return tuple(
        Source(
            name=words.resource.name,
            file=words.path.name,
            words=len(words.words),
            description=words.resource.description,
            licence=licences_of_list(words),
            cited=tuple(source.title for source in words.resource.sources),
        )
        for words in used_lists(dataset, lists)
    )
