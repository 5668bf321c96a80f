"""What a release stores so that its rows can be made again: templates, the lists they use, guesses of English."""

import csv
import io
from collections.abc import Mapping, Sequence
from pathlib import Path

from ruamel.yaml import YAML

from senseprobe.errors import ReleaseError
from senseprobe.generator.dataset import ResolvedDataset, open_dataset
from senseprobe.generator.english import Guess
from senseprobe.generator.exclusions import RETIRED
from senseprobe.generator.licence_check import find_used_lists
from senseprobe.generator.word_lists import DESCRIPTOR, WordList, WordLists
from senseprobe.release.annotation_record import ANNOTATION
from senseprobe.release.verdicts import VERDICTS

_HEADER = ["asked", "text", "answer"]
_PARTS = frozenset(["dataset.yaml", VERDICTS, RETIRED, ANNOTATION])
"""Files that are read besides templates: others may be edited without changing the recipe."""


def recipe_files(resolved: ResolvedDataset) -> dict[str, bytes]:
    """Return the recipe's files by path; call it after all rows were made, when every guess is recorded."""
    dataset = resolved.dataset
    parts = sorted(path for path in dataset.folder.iterdir() if _is_part(path))
    files = {f"templates/{dataset.name}/{path.name}": path.read_bytes() for path in parts}
    lists = find_used_lists(dataset, resolved.lists)
    names = [words.path.name for words in lists]
    if repeated := {name for name in names if names.count(name) > 1}:
        raise ReleaseError(f"two lists of {dataset.name} are in files called {min(repeated)}: rename one of them")
    files |= {f"wordlists/{words.path.name}": words.path.read_bytes() for words in lists}
    files[f"wordlists/{DESCRIPTOR}"] = _descriptor(lists)
    bibliographies = [folder / "references.bib" for folder in resolved.lists.folders]
    if texts := [path.read_bytes() for path in bibliographies if path.is_file()]:
        files["wordlists/references.bib"] = b"\n".join(texts)
    files["english.csv"] = _english(resolved.english.guesses)
    return files


def _is_part(path: Path) -> bool:
    hidden = path.name.startswith(".") or path.is_symlink() or not path.is_file()
    return not hidden and (path.suffix == ".j2" or path.name in _PARTS)


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


def recipe_of_parts(folders: Sequence[Path]) -> dict[str, bytes]:
    """Return the recipe of a release whose rows were made in parts, whose recipes differ in `english.csv` only.

    Raise ReleaseError where two parts had different answers.
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
    """Return the dataset of a release's recipe, with its English; raise ReleaseError where it cannot be read."""
    return open_dataset(folder / "templates" / dataset, WordLists((folder / "wordlists",)), _frozen(folder))


def _frozen(folder: Path) -> dict[Guess, str]:
    """Return the answers in a recipe."""
    try:
        text = (folder / "english.csv").read_text(encoding="utf-8")
        header, *rows = csv.reader(io.StringIO(text), strict=True)
        if header != _HEADER:
            raise ValueError(f"columns are not {','.join(_HEADER)}")  # noqa: TRY301 - reported like a broken file
        return {(kind, word): answer for kind, word, answer in rows}
    except (OSError, UnicodeDecodeError, csv.Error, ValueError) as error:
        raise ReleaseError(f"{folder / 'english.csv'} cannot be read: {error}") from None
