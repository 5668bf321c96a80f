"""What a release keeps so that anyone can make its rows again: templates, the lists they use, English as guessed."""

import csv
import io
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from ruamel.yaml import YAML

from senseprobe.errors import ReleaseError
from senseprobe.generator.dataset import ResolvedDataset, open_dataset
from senseprobe.generator.english import Guess
from senseprobe.generator.licence_check import find_used_lists
from senseprobe.generator.retired_ids import RETIRED
from senseprobe.generator.word_lists import DESCRIPTOR, WordList, WordLists
from senseprobe.release.annotation_record import ANNOTATION
from senseprobe.release.verdicts import VERDICTS

_HEADER = ["asked", "text", "answer"]
_PARTS = frozenset(["dataset.yaml", VERDICTS, RETIRED, ANNOTATION])
"""What is read beside templates: other files may be edited without changing the recipe."""


def recipe_files(catalogue: ResolvedDataset) -> dict[str, bytes]:
    """The recipe's files by path; ask after all rows were made, when every guess is known."""
    dataset = catalogue.dataset
    parts = sorted(path for path in dataset.folder.iterdir() if _is_part(path))
    files = {f"templates/{dataset.name}/{path.name}": path.read_bytes() for path in parts}
    lists = find_used_lists(dataset, catalogue.lists)
    if clash := {each.path.name for each in lists if [other.path.name for other in lists].count(each.path.name) > 1}:
        raise ReleaseError(f"two lists of {dataset.name} are in files called {min(clash)}: rename one of them")
    files |= {f"wordlists/{each.path.name}": each.path.read_bytes() for each in lists}
    files[f"wordlists/{DESCRIPTOR}"] = _descriptor(lists)
    bibliographies = [folder / "references.bib" for folder in catalogue.lists.folders]
    if texts := [path.read_bytes() for path in bibliographies if path.is_file()]:
        files["wordlists/references.bib"] = b"\n".join(texts)
    files["english.csv"] = _english(catalogue.english.guesses)
    return files


def _is_part(path: Path) -> bool:
    hidden = path.name.startswith(".") or path.is_symlink() or not path.is_file()
    return not hidden and (path.suffix == ".j2" or path.name in _PARTS)


def _descriptor(lists: list[WordList]) -> bytes:
    """A Frictionless descriptor of the lists that are used, from whichever layers they came."""
    resources = [each.resource.model_dump(mode="json", by_alias=True, exclude_unset=True) for each in lists]
    text = io.BytesIO()
    yaml = YAML(typ="safe", pure=True)
    yaml.default_flow_style = False
    yaml.width = 120
    yaml.dump({"name": "recipe", "resources": resources}, text)
    return text.getvalue()


def _english(guesses: Mapping[Guess, str]) -> bytes:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerows([_HEADER, *sorted((*asked, answer) for asked, answer in guesses.items())])
    return text.getvalue().encode()


def recipe_of_parts(folders: Sequence[Path]) -> dict[str, bytes]:
    """The recipe of a release whose rows were made in parts: theirs is the same but for the answers in `english.csv`.

    Raises ReleaseError where two parts had different answers.
    """
    first, answers = folders[0], dict[Guess, str]()
    for folder in folders:
        for guess, answer in _frozen(folder).items():
            if answers.setdefault(guess, answer) != answer:
                message = (
                    f"{folder} was made with {guess[0]} {answer!r} of {guess[1]!r}, another with {answers[guess]!r}"
                )
                raise ReleaseError(f"{message}: make the shards with one version of inflect")
    paths = sorted(path for path in first.rglob("*") if path.is_file())
    return {
        **{path.relative_to(first).as_posix(): path.read_bytes() for path in paths},
        "english.csv": _english(answers),
    }


def open_recipe(folder: Path, dataset: str) -> ResolvedDataset:
    """The dataset as a release's recipe has it, with its English; ReleaseError where the recipe cannot be read."""
    return open_dataset(folder / "templates" / dataset, WordLists((folder / "wordlists",)), _frozen(folder))


def _frozen(folder: Path) -> dict[Guess, str]:
    """The answers that a recipe holds."""
    try:
        rows = list(_read_english((folder / "english.csv").read_text(encoding="utf-8")))
    except (OSError, UnicodeDecodeError, csv.Error, ValueError) as error:
        raise ReleaseError(f"{folder / 'english.csv'} cannot be read: {error}") from None
    return {(asked, text): answer for asked, text, answer in rows}


def _read_english(text: str) -> Iterator[tuple[str, str, str]]:
    header, *rows = csv.reader(io.StringIO(text), strict=True)
    if header != _HEADER:
        raise ValueError(f"columns are not {','.join(_HEADER)}")
    yield from ((asked, word, answer) for asked, word, answer in rows)
