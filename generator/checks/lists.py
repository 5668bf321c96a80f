"""Mistakes of a list's content, and files that belong to no list."""

from collections.abc import Iterator

from senseprobe.generator.cells import Cells
from senseprobe.generator.checks.registry import Folder, on_folder, on_list
from senseprobe.generator.wordlists import DESCRIPTOR, WordList, show
from senseprobe.records import Finding


@on_list("E205")
def in_two_splits(words: WordList) -> Iterator[Finding]:
    """A word is in two splits of a list with a column `split`.

    What was learnt on one split is then tested on itself. Dev et al. say that their lists do not intersect, and *man*,
    *woman*, *guy* and *girl* are in both (UPSTREAM 3.1). Words are the same whatever their capitals.
    """
    cells = Cells(words)
    first: dict[str, tuple[object, int]] = {}
    for word in words.words if "split" in words.columns else ():
        split = word.columns["split"]
        before, line = first.setdefault(word.lower(), (split, word.line))
        if split != before:
            message = f"{str(word)!r} is in split {split!r}, and on line {line} in {before!r}"
            column = cells.column(word, "split")
            yield Finding(
                path=words.shown, line=word.line, column=column, code="E205", message=message, hint="keep one"
            )


@on_folder("E206")
def undeclared(folder: Folder) -> Iterator[Finding]:
    """A CSV file beside `datapackage.yaml` that it does not declare.

    Nobody can use it, nothing checks it, and no release says where it comes from. Declare it with its source and
    licence, or remove it.
    """
    for path in sorted(folder.path.glob("*.csv")):
        if show(path) not in folder.declared:
            message, hint = f"{DESCRIPTOR} does not declare this file", "add it to `resources`, or remove it"
            yield Finding(path=show(path), code="E206", message=message, hint=hint)
