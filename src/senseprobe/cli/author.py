"""Commands that make a dataset: init, new, lint, lists, count, preview and wordnet."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Annotated, Any

import typer

from senseprobe.cli.console import (
    AsJson,
    complete_dataset,
    print_findings,
    print_json,
    print_line,
    print_note,
    print_table,
)
from senseprobe.errors import SenseprobeError
from senseprobe.messages import counted, offered

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

    from senseprobe.api.author import Preview
    from senseprobe.generator.checks import Report
    from senseprobe.generator.preview import Piece
    from senseprobe.records import Finding


def init(folder: Annotated[Path, typer.Argument(metavar="DIR", help="Folder of the new project.")]) -> None:
    """Make a project of your own, with a small example that works."""
    from senseprobe.api import author

    files = author.init(folder)
    print_line(f"made a project of {len(files)} files in {folder}; its README.md says what is where")
    print_line("Next, each as it stands:\n")
    print_line(f"    cd {quote(str(folder))}\n{author.first_steps()}")


def new(
    name: Annotated[str, typer.Argument(metavar="DATASET/CONFIG")],
    kind: Annotated[str, typer.Option(metavar="KIND", help="What a row is: contrast, inference or association.")],
) -> None:
    """Add a template with comments to your project, and the dataset and word lists that it needs."""
    from senseprobe.api import author

    for path in author.new(name, kind):
        print_line(f"wrote {author.display_path(path)}")
    dataset = name.partition("/")[0]
    print_line("The comments in the template say what each key changes in the figures. Next:\n")
    print_line(f"    senseprobe preview {name}  # what it makes")
    print_line(
        f"    senseprobe lint {dataset}  # what is still to be filled in, before `senseprobe build {dataset} 0.1.0`"
    )


# ---- lint ----

_FORMATS = ("text", "json", "github")


def lint(
    paths: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="DATASET[/CONFIG]|PATH",
            show_default=False,
            help="Datasets by name; templates, datasets or lists by path, or folders of them; "
            "default: the whole nearest project.",
        ),
    ] = None,
    strict: Annotated[bool, typer.Option(help="Count what could not be checked as a finding.")] = False,
    guesses: Annotated[
        bool, typer.Option("--guesses", help="Also print guessed articles, plurals and verb forms.")
    ] = False,
    fix: Annotated[
        bool, typer.Option("--fix", help="Mend what is certain in files of the project, and print what changed.")
    ] = False,
    codes: Annotated[bool, typer.Option("--codes", help="Print what each code means, and check nothing.")] = False,
    form: Annotated[
        str, typer.Option("--format", metavar="FORMAT", help="text, json, or github (workflow commands).")
    ] = "text",
    as_json: AsJson = False,
) -> None:
    """Check every word list and template, and print what is wrong, where, and what to do."""
    from senseprobe.api import author

    if form not in _FORMATS:
        raise SenseprobeError(f"no format {form!r}: {offered(form, _FORMATS)}")
    if codes:
        print_line(author.checks_page())
        return
    changes = author.fix(paths or []) if fix else []
    report = author.lint(paths or [])
    if as_json or form == "json":
        fixed = {"fixed": [{"path": change.path, "diff": change.diff} for change in changes]} if fix else {}
        print_json({**report.as_dict(), **fixed})
    else:
        for change in changes:
            print_line(change.diff.rstrip("\n"))
        (_print_github if form == "github" else _print_report)(report, guesses=guesses)
        print_line(_summary(report, strict=strict))
        if not paths and not author.has_project():
            print_line("no project here (no senseprobe.toml in a parent folder): what was checked is the built-in data")
    raise typer.Exit(1 if report.findings or (strict and not report.complete) else 0)


def _print_report(report: "Report", *, guesses: bool) -> None:
    print_findings(report.findings)
    if guesses and report.guesses:
        rows = [("article" if form == "a" else form, text, answer) for form, text, answer in report.guesses]
        print_table({"guessed": "left", "of": "left", "as": "left"}, rows)


def _print_github(report: "Report", *, guesses: bool) -> None:
    """Print GitHub's workflow commands, which become notes at the lines of a pull request."""
    for finding in report.findings:
        level = "warning" if finding.code.startswith("W") else "error"
        location = {"file": finding.path, "line": finding.line, "col": finding.column, "title": finding.code}
        properties = ",".join(f"{key}={_escape_property(str(value))}" for key, value in location.items() if value)
        message = f"{finding.message} ({finding.hint})" if finding.hint else finding.message
        print_line(f"::{level} {properties}::{_escape(message)}")
    for form, text, answer in report.guesses if guesses else ():
        print_line(f"::notice title=guess::{_escape(f'{form} of {text}: {answer}')}")


def _escape(text: str) -> str:
    """Escape the characters that would end the message of a workflow command."""
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _escape_property(text: str) -> str:
    return _escape(text).replace(":", "%3A").replace(",", "%2C")


def _summary(report: "Report", *, strict: bool) -> str:
    counts = (counted(report.lists, "word list"), counted(report.configs, "config"))
    parts = [f"{counted(len(report.findings), 'finding')} in {' and '.join(counts)}"]
    if report.configs_not_checked:
        parts.append(f"{counted(report.configs_not_checked, 'config')} not looked at")
    checked = f"{counted(report.keys_checked, 'sense key')} checked"
    missing = [f"{report.keys_not_checked} not checked"] if report.keys_not_checked else []
    missing += [f"no check for {', '.join(report.not_checked)}"] if report.not_checked else []
    if missing:
        checked += f", {', '.join(missing)} (run `senseprobe wordnet`)"
        checked += ": a finding under --strict" if strict else ""
    parts.append(checked)
    if accepted := sum(waiver.findings for waiver in report.accepted):
        parts.append(f"{counted(accepted, 'warning')} accepted")
    return "; ".join(parts)


def wordnet(
    word: Annotated[str | None, typer.Argument(hidden=True)] = None,
    folder: Annotated[
        Path | None, typer.Option(help="NLTK data folder to write.", show_default="senseprobe's own")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Prepare WordNet 3.0 for checking sense keys, from any copy of it on this machine."""
    from senseprobe.api import author

    if word is not None:
        raise SenseprobeError(f"the senses of a word are shown by `senseprobe senses show {quote(word)}`")
    prepared = author.prepare_wordnet(folder)
    if as_json:
        print_json({"folder": str(prepared.folder), "source": prepared.source, "version": prepared.version})
    else:
        print_line(f"WordNet {prepared.version} in {prepared.folder} ({prepared.source})")


def lists(
    name: Annotated[str | None, typer.Argument(metavar="LIST", show_default="all visible lists")] = None,
    add: Annotated[
        Path | None, typer.Option("--add", metavar="FILE.csv", help="Add this file to the project's lists instead.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Show the word lists that templates can use, the project's own first, with their columns; or the words of one."""
    from senseprobe.api import author

    if add is not None:
        if name is not None:
            raise SenseprobeError(f"--add {add} goes without a LIST: its name is that of the file")
        files = [author.display_path(path) for path in author.add_word_list(add)]
        print_json({"list": add.stem, "written": files}) if as_json else _print_added(add.stem, files)
        return
    tables = author.word_lists(name)
    descriptions: list[dict[str, Any]] = [
        {
            "list": t.resource.name,
            "words": [str(word) for word in t.words],
            "columns": [*t.columns],
            "file": t.display_path,
        }
        for t in tables
    ]
    if as_json:
        print_json(descriptions if name is None else descriptions[0])
    elif name is None:
        columns = {"list": "left", "words": "right", "columns": "left"}
        print_table(columns, [[d["list"], len(d["words"]), " ".join(d["columns"])] for d in descriptions])
    else:
        rows = [[word.columns[column] for column in tables[0].columns] for word in tables[0].words]
        print_table(dict.fromkeys(tables[0].columns, "left"), rows)
        print_line(f"{tables[0].resource.description} ({tables[0].display_path})")


def _print_added(name: str, files: Sequence[str]) -> None:
    for file in files:
        print_line(f"wrote {file}")
    print_line(f"fill in description, sources and licence of {name}, and see that the types are right: senseprobe lint")


# ---- count ----


def count(
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="DATASET[/CONFIG]", show_default="every dataset of the project", autocompletion=complete_dataset
        ),
    ] = None,
    tokenizer: Annotated[
        str | None,
        typer.Option(help="Also count the tokens of this tokenizer: a name on the Hugging Face Hub, or a folder."),
    ] = None,
    senses: Annotated[
        bool, typer.Option("--senses", help="Also list the senses of words: key, gloss and rows.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Count the rows, distinct sentences and tokens of a dataset, and the rows that verdicts leave out."""
    from senseprobe.api import author

    datasets = author.count(name, tokenizer=tokenizer, senses=senses)
    rows, left_out = sum(dataset.rows for dataset in datasets), sum(dataset.left_out for dataset in datasets)
    _note_findings([finding for dataset in datasets for finding in dataset.findings])
    if as_json:
        descriptions = [dataset.as_dict() for dataset in datasets]
        print_json(descriptions[0] if name else {"datasets": descriptions, "rows": rows, "left_out": left_out})
        return
    for dataset in datasets:
        _print_counts(dataset.configs, tokenizer, title="" if name else dataset.dataset)
    if not all(config["exact"] for dataset in datasets for config in dataset.configs):
        print_line("\u2264 at most: too many to make them all, so what comes out alike is counted more than once")
    remaining = f"; verdicts leave out {left_out}, and {rows - left_out} are left" if left_out else ""
    print_line(f"{rows} rows{remaining}")


def _note_findings(findings: "Sequence[Finding]") -> None:
    """Print findings that keep `build` from working, and the command that prints them not."""
    for finding in findings:
        print_note(str(finding))


def _print_counts(configs: Sequence[Mapping[str, Any]], tokenizer: str | None, title: str) -> None:
    headings = ["rows", "published", "frames", "sentences", "their tokens", "tokens in rows"]
    headings += [f"by {Path(tokenizer).name}"] if tokenizer else []
    rows = [_count_row(config)[: len(headings) + 1] for config in configs]
    if any(config["left_out"] for config in configs):
        headings[1:1] = ["left out", "rows left"]
        for row, config in zip(rows, configs, strict=True):
            row[2:2] = [config["left_out"], config["rows"] - config["left_out"]]
    print_table({"config": "left", **dict.fromkeys(headings, "right")}, rows, title=title)
    for config in configs:
        if config["reason"]:
            print_line(f"{config['config']}: {config['reason']}")
    for config in configs:
        for sense in config.get("senses", ()):
            print_line(f"{config['config']}, {sense.column}: {sense}, {counted(sense.rows, 'row')}")


def _count_row(config: Mapping[str, Any]) -> list[object]:
    sizes = (config["sentences"], config["distinct_tokens"], config["tokens"])
    cells = ["not known" if size is None else size if config["exact"] else f"\u2264 {size}" for size in sizes]
    tokens = "not counted" if config["tokenizer_tokens"] is None else config["tokenizer_tokens"]
    return [*(config[key] for key in ("config", "rows", "published", "frames")), *cells, tokens]


# ---- preview ----

_COLOURS = ("cyan", "magenta", "yellow", "green", "blue", "red")

_GUESSED = "* guessed: where it is wrong, state it in a column article, plural, past or third of the word list"


def preview(
    name: Annotated[str, typer.Argument(metavar="DATASET/CONFIG", autocompletion=complete_dataset)],
    n: Annotated[int, typer.Option("-n", min=1, help="How many rows.")] = 20,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the sample.")] = 0,
    as_json: AsJson = False,
) -> None:
    """Show a random sample of rows of a config: which words come from which slot, with their senses."""
    from senseprobe.api import author

    sample = author.preview(name, n, seed=seed)
    _note_findings(sample.findings)
    print_json(sample.as_dict()) if as_json else _print_preview(sample)


def _print_preview(preview: "Preview") -> None:
    from rich.console import Console
    from rich.text import Text

    rows = preview.sample
    console = Console(highlight=False, emoji=False, soft_wrap=True)
    console.print(Text(f"{preview.dataset}/{preview.config}: {len(rows)} of {preview.rows} rows, seed {preview.seed}"))
    pieces = [piece for row in rows for sentence in row.sentences.values() for piece in sentence]
    slots = [*dict.fromkeys(piece.slot for piece in pieces if piece.slot)]
    colours = {slot: _COLOURS[number % len(_COLOURS)] for number, slot in enumerate(slots)} if _colour(console) else {}
    for row in rows:
        note = ", which a verdict leaves out" if row.left_out else ""
        console.print(Text(f"\n{row.id}{note}", style="dim" if colours else ""))
        for role, sentence in row.sentences.items():
            marked = (_marked(piece, colours) for piece in sentence)
            console.print(Text.assemble(f"  {role:<{max(map(len, row.sentences))}}  ", *marked))
        for sense in row.senses:
            console.print(Text(f"  {sense.column}: {sense}", style="dim" if colours else ""))
    legend = [Text(" ").join(Text(slot, style=f"bold {colour}") for slot, colour in colours.items())] if colours else []
    legend += [Text(_GUESSED)] if any(piece.guessed for piece in pieces) else []
    if legend:
        console.print(Text("\n").join([Text(), *legend]))


def _colour(console: "Console") -> bool:
    return console.is_terminal and console.color_system is not None and not console.no_color


def _marked(piece: "Piece", colours: Mapping[str, str]) -> "Text":
    """Return a word in the colour of its slot, or with its slot's name; with a star where it was guessed."""
    from rich.text import Text

    text, star = piece.text, "*" if piece.guessed else ""
    if piece.slot is None:
        word = text.rstrip()
        return Text(word + star + text[len(word) :])
    if colours:
        return Text(text + star, style=f"bold {colours[piece.slot]}")
    return Text(f"[{text}{star}:{piece.slot}]")
