"""Licences that cannot be used, or not together."""

from collections.abc import Iterator

from senseprobe.errors import DeclarationError
from senseprobe.generator.checks.registry import Published, on_dataset, on_list
from senseprobe.generator.licensing import mistake_of_dataset, mistakes_of_list, used_lists
from senseprobe.generator.wordlists import WordList
from senseprobe.records import Finding


@on_list("E208")
def of_a_list(words: WordList) -> Iterator[Finding]:
    """A licence is no SPDX expression, or forbids changed versions.

    A release says under which licence it may be used, so its parts must: write an identifier of
    https://spdx.org/licenses, or several joined by `AND` and `OR`. Where a list has several licences, all of them
    apply; one whose `licenses` are an empty list has the dataset's. A `LicenseRef-` says nothing of what is allowed.
    Sentences made of words are a changed version of what the words are from, which `CC-BY-ND-4.0` and its like forbid.
    Looked at are `licenses` of each list in `datapackage.yaml`, and `license` in `dataset.yaml`.
    """
    yield from mistakes_of_list(words)


@on_dataset("E208")
def of_a_dataset(published: Published) -> Iterator[Finding]:
    """The licence of a dataset is no SPDX expression, or forbids changed versions."""
    yield from (finding for finding in _found(published) if finding.code == "E208")


@on_dataset("E209")
def of_lists_together(published: Published) -> Iterator[Finding]:
    """The licences of a dataset and of the lists that it uses cannot be one.

    A release bears the most restrictive of them. There is none where two share-alike licences differ (CC-BY-SA-4.0 and
    CC-BY-NC-SA-4.0), where a share-alike one allows commerce and another forbids it, or where senseprobe does not know
    how one goes with others. Leave out one of the lists, or ask its authors for another licence.
    """
    yield from (finding for finding in _found(published) if finding.code == "E209")


def _found(published: Published) -> Iterator[Finding]:
    try:
        used = used_lists(published.dataset, published.lists)
    except DeclarationError:
        return  # a list that cannot be read is told for itself
    yield from mistake_of_dataset(published.dataset, used)
