"""Check, count and preview the datasets of a project before they are built."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from senseprobe import project
from senseprobe.errors import ModelError, SenseprobeError
from senseprobe.messages import counted, nearest, offered
from senseprobe.options import Argument, Option
from senseprobe.progress import with_progress

if TYPE_CHECKING:
    from senseprobe.document import Section
    from senseprobe.generator.checks import Report
    from senseprobe.generator.checks.fixes import Change
    from senseprobe.generator.count import Tokenize
    from senseprobe.generator.dataset import ResolvedDataset
    from senseprobe.generator.preview import PreviewRow
    from senseprobe.generator.word_lists import WordList
    from senseprobe.lexicon import PreparedWordNet
    from senseprobe.records import Finding


def open_catalogue(name: str, *, any_count: bool = False) -> ResolvedDataset:
    """Read, resolve and check the dataset ``DATASET[/CONFIG]``; with `any_count` not how many rows it expects.

    Raises DeclarationError with every mistake, and SenseprobeError where there is no such dataset or config.
    """
    from senseprobe.generator.dataset import open_dataset, open_word_lists

    dataset, _, config = name.partition("/")
    layer = project.find_dataset(dataset)
    catalogue = open_dataset(
        layer.templates / dataset, open_word_lists(layer), only=config or None, any_count=any_count
    )
    if not catalogue.configs:
        raise SenseprobeError(f"{dataset} has no config {config!r}: {offered(config, catalogue.dataset.card.configs)}")
    return catalogue


def names_beginning(text: str, *, releases: bool = False) -> list[str]:
    """Return the datasets, or the releases, on this machine whose name begins like a text, for shells to complete."""
    names = project.list_releases() if releases else project.list_datasets()
    return [name for name in names if name.startswith(text)]


def lint(
    paths: Annotated[
        str | Path | Sequence[str | Path],
        Argument(
            metavar="DATASET[/CONFIG]|PATH",
            shown_default="",
            help="Datasets by name, or templates, datasets, lists and folders by path; default: the whole project.",
        ),
    ] = (),
) -> Report:
    """Check word lists and templates, and print each mistake with its place and a remedy.

    A dataset is checked together with its lists. Returns findings, guesses and counts. Raises SenseprobeError for
    any other path.
    """
    from senseprobe.generator.checks import lint_paths

    several = [paths] if isinstance(paths, str | Path) else paths
    return lint_paths([Path(path) for path in several])


MOST_ROUNDS = 10
"""How often findings are looked for again after edits: a mistake may hide another."""


def fix(paths: str | Path | Sequence[str | Path] = ()) -> list[Change]:
    """Mend what is certain of what `lint` finds in files of the project, and return the files that changed.

    Each mistake that is mended has one meaning, as `{slot}` for `{{ slot }}`; warnings are the author's to weigh.
    Raises as `lint` does, SenseprobeError outside of a project, and OSError where a file cannot be written.
    """
    from senseprobe.generator.checks.fixes import Change, make_edits

    root, changed = _project_layer().root, dict[str, Change]()
    for _ in range(MOST_ROUNDS):
        if not (changes := make_edits(lint(paths).findings, root)):
            break
        for change in changes:
            first = changed.get(change.path, change)
            changed[change.path] = Change(change.path, first.before, change.after)
    return [*changed.values()]


def checks_page() -> str:
    """Return what each code of `lint` means, in Markdown."""
    from senseprobe.generator.checks import page

    return page().rstrip("\n")


def has_project() -> bool:
    """Return whether the working directory is in a project."""
    return project.user_layer() is not None


def display_path(path: Path) -> str:
    """Return a path as messages print it: relative to the working directory where it lies below it."""
    from senseprobe.generator.yaml_source import format_path

    return format_path(path)


@dataclass(frozen=True, slots=True)
class DatasetCounts:
    """How many rows, sentences and tokens the configs of a dataset have.

    `configs` holds a dictionary of counts for each config, with the keys of ``senseprobe count --json``; `rows` and
    `left_out` are their sums. `findings` are the numbers of rows that `expect` states otherwise (E109).
    """

    dataset: str
    configs: tuple[dict[str, Any], ...]
    rows: int
    left_out: int
    findings: tuple[Finding, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        """Return what ``senseprobe count --json`` prints of the dataset."""
        facts = asdict(self)
        return _with_findings({**facts, "configs": list(facts["configs"])}, self.findings)

    def section(self, title: str = "", tokenizer: str | None = None) -> Section:
        """Return the counts as a table, with why numbers of rows are not those published, and the senses."""
        from senseprobe.document import Section, Table

        columns = ["rows", "published", "frames", "sentences", "their tokens", "tokens in rows"]
        columns += [f"by {Path(tokenizer).name}"] if tokenizer else []
        rows = [_count_cells(config)[: len(columns) + 1] for config in self.configs]
        if any(config["left_out"] for config in self.configs):
            columns[1:1] = ["left out", "rows left"]
            for row, config in zip(rows, self.configs, strict=True):
                row[2:2] = [config["left_out"], config["rows"] - config["left_out"]]
        reasons = [f"{config['config']}: {config['reason']}" for config in self.configs if config["reason"]]
        senses = [
            f"{config['config']}, {sense.column}: {sense}, {counted(sense.rows, 'row')}"
            for config in self.configs
            for sense in config.get("senses", ())
        ]
        kinds = {"config": "name", **dict.fromkeys(columns, "number")}
        return Section(title, tables=(Table.of_texts(kinds, rows, title, "\n".join([*reasons, *senses])),))


def _count_cells(config: Mapping[str, Any]) -> list[object]:
    sizes = (config["sentences"], config["distinct_tokens"], config["tokens"])
    cells = ["not known" if size is None else size if config["exact"] else f"\u2264 {size}" for size in sizes]
    tokens = "not counted" if config["tokenizer_tokens"] is None else config["tokenizer_tokens"]
    return [*(config[key] for key in ("config", "rows", "published", "frames")), *cells, tokens]


@with_progress("counting rows")
def count(
    name: Annotated[
        str | None,
        Argument(metavar="DATASET[/CONFIG]", shown_default="every dataset of the project", completes="dataset"),
    ] = None,
    *,
    tokenizer: Annotated[
        str | None,
        Option(help="Also count tokens with this tokenizer: a name on the Hugging Face Hub, or a folder."),
    ] = None,
    senses: Annotated[
        bool, Option("--senses", help="Also list the sense of each word: key, gloss and number of rows.")
    ] = False,
    progress: Callable[[int], None] | None = None,
) -> list[DatasetCounts]:
    """Count the rows, distinct sentences and tokens of a dataset, and the rows that verdicts omit.

    With `senses`, each config has a list `senses` of its sense keys, with word, gloss, and number of rows before
    verdicts. Raises DeclarationError if the dataset has errors (except in `expect`), and ModelError if the
    tokenizer cannot be loaded.
    """
    tokenize = None if tokenizer is None else _tokenizer(tokenizer)
    names = [name] if name else project.layers()[0].datasets()
    return [_count(dataset, tokenize, progress, senses=senses) for dataset in names]


def _count(
    name: str, tokenize: Tokenize | None, progress: Callable[[int], None] | None, *, senses: bool
) -> DatasetCounts:
    from senseprobe.generator.count import count as count_config
    from senseprobe.generator.senses import find_senses, open_glosses

    catalogue = open_catalogue(name, any_count=True)
    configs, gloss = [], open_glosses()
    for config in catalogue.configs:
        left_out = len(catalogue.excluded_rows(config))
        counts = replace(count_config(config, tokenize, progress), left_out=left_out)
        expect = config.blocks[0].block.front.expect
        texts = {key: getattr(expect, key, None) for key in ("published", "cite", "reason")}
        first = {"config": config.name, "rows": counts.rows, "published": texts["published"], "cite": texts["cite"]}
        last = {"senses": find_senses(config, catalogue.lists, gloss)} if senses else {}
        configs.append({**first, "frames": counts.frames, "reason": texts["reason"], **asdict(counts), **last})
    totals = {key: sum(config[key] for config in configs) for key in ("rows", "left_out")}
    return DatasetCounts(catalogue.dataset.name, tuple(configs), **totals, findings=_unexpected_counts(catalogue))


def _unexpected_counts(catalogue: ResolvedDataset) -> tuple[Finding, ...]:
    from senseprobe.generator.dataset import check_expected

    return tuple(finding for config in catalogue.configs for finding in check_expected(config))


def _with_findings(data: dict[str, Any], findings: Sequence[Finding]) -> dict[str, Any]:
    """Return the data, whose key `findings` is there only if there are any."""
    added = {"findings": [finding.as_dict() for finding in findings]} if findings else {}
    return {**{key: value for key, value in data.items() if key != "findings"}, **added}


def _tokenizer(name: str) -> Tokenize:
    """Return what counts the tokens of texts, without those that a model wants at the ends of a sentence."""
    if find_spec("transformers") is None:
        raise SenseprobeError("transformers: not installed; run pip install 'senseprobe[models]'")
    from transformers import AutoTokenizer

    try:
        loaded = AutoTokenizer.from_pretrained(name, trust_remote_code=False)
    except (OSError, ValueError, RuntimeError, ImportError, LookupError, TypeError, AttributeError) as error:
        why = next(iter(str(error).splitlines()), type(error).__name__)
        raise ModelError(f"cannot load the tokenizer {name}: {why}") from error
    return lambda texts: sum(map(len, loaded([*texts], add_special_tokens=False)["input_ids"]))


@dataclass(frozen=True, slots=True, repr=False)
class Preview:
    """A sample of the rows of a config: `sample`, of `rows` in all, drawn with `seed`.

    `findings` has the number of rows where `expect` states it otherwise (E109).
    """

    dataset: str
    config: str
    rows: int
    seed: int
    sample: tuple[PreviewRow, ...]
    findings: tuple[Finding, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        """Return what ``senseprobe preview --json`` prints."""
        return _with_findings({**asdict(self), "sample": [_describe_row(row) for row in self.sample]}, self.findings)

    def __repr__(self) -> str:
        """Return the sentences of the rows, one a line."""
        sentences = (sentence for row in self.sample for sentence in row.sentences.values())
        return "\n".join("".join(piece.text for piece in sentence) for sentence in sentences)


def _describe_row(row: PreviewRow) -> dict[str, Any]:
    """Return a row with stable keys; `cells` only where there are some."""
    return {key: value for key, value in asdict(row).items() if key != "cells" or value}


def preview(
    name: Annotated[str, Argument(metavar="DATASET/CONFIG", completes="dataset")],
    n: Annotated[int, Option("-n", least=1, help="Number of rows.")] = 20,
    *,
    seed: Annotated[int, Option(least=0, help="Seed of the random sample.")] = 0,
) -> Preview:
    """Show a random sample of rows, with the slot and the sense of each word.

    Guesses are marked. Raises DeclarationError if the dataset has errors (except in `expect`), and SenseprobeError
    if `name` does not name exactly one config.
    """
    from senseprobe.generator.preview import preview as draw

    catalogue = open_catalogue(name, any_count=True)
    if len(catalogue.configs) > 1:
        names = ", ".join(config.name for config in catalogue.configs)
        raise SenseprobeError(
            f"{name} has {len(catalogue.configs)} configs: name one of them as {name}/CONFIG ({names})"
        )
    config = catalogue.configs[0]
    sample = tuple(draw(catalogue, config, n, seed))
    return Preview(catalogue.dataset.name, config.name, config.size, seed, sample, _unexpected_counts(catalogue))


def word_lists(
    name: Annotated[str | None, Argument(metavar="LIST", shown_default="all visible lists")] = None,
) -> list[WordList]:
    """List the word lists that templates can use, or the words of one list.

    Raises SenseprobeError where there is none of that name.
    """
    from senseprobe.generator.dataset import open_word_lists

    lists = open_word_lists(project.layers()[0])
    if name is not None and name not in lists.names():
        raise SenseprobeError(f"no word list {name!r}: {nearest(name, lists.names())}")
    tables = [lists.get(key) for key in lists.names() if name in (None, key)]
    return [table for table in tables if table]


def prepare_wordnet(
    folder: Annotated[
        str | Path | None, Option(help="Write to this NLTK data folder.", shown_default="senseprobe's own")
    ] = None,
) -> PreparedWordNet:
    """Prepare WordNet 3.0 for looking up senses, from a copy on this machine or from Debian's packages.

    Raises LexiconError where there is no copy.
    """
    from senseprobe.lexicon import prepare

    return prepare(None if folder is None else Path(folder))


def find_wordnet(notify: Callable[[str], None]) -> None:
    """Prepare WordNet 3.0 from a copy on this machine, without a download, if that was not done yet; `notify` hears it.

    Without a copy, and in a folder that ``$SENSEPROBE_WORDNET`` names, nothing is done.
    """
    from senseprobe.lexicon import prepare_local

    prepare_local(notify)


def init(folder: Annotated[str | Path, Argument(metavar="DIR", help="Folder of the new project.")]) -> list[Path]:
    """Make a project with a small example that works.

    Returns its files.
    """
    from senseprobe.scaffold import start

    return [*start(Path(folder))]


def first_steps() -> str:
    """Return the commands to try in a new project, in order, one a line with a comment."""
    from senseprobe.scaffold import render_steps

    return render_steps()


def new(
    name: Annotated[str, Argument(metavar="DATASET/CONFIG")],
    kind: Annotated[str, Option(metavar="KIND", help="Kind of rows: contrast, inference or association.")],
) -> list[Path]:
    """Add a commented template to your project, with the dataset and word lists that it needs.

    Returns the files that were written. Raises SenseprobeError outside of a project.
    """
    from senseprobe.scaffold import add

    return [*add(_project_layer(), name, kind)]


def add_word_list(
    file: Annotated[str | Path, Argument(metavar="FILE.csv", help="A CSV file with a column `word`.")],
) -> list[Path]:
    """Add a CSV file of words to the project's lists.

    Return the files that were written; fill in their `TODO`. Raises SenseprobeError outside of a project, and where
    the file cannot be a list or is one already.
    """
    from senseprobe.scaffold import add_list

    return add_list(_project_layer(), Path(file))


def _project_layer() -> project.Layer:
    layer = project.user_layer()
    if layer is None:
        where = f"not in a project (no parent folder has a {project.MARKER})"
        raise SenseprobeError(f"{where}: make one with `senseprobe init DIR`")
    return layer
