"""What commands that make a dataset print: init, new, lint, words, count, preview and wordnet."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Annotated, Any

import typer

from senseprobe.api import author, word_senses
from senseprobe.api.models import vectors_of
from senseprobe.cli.command import Command, as_dict
from senseprobe.cli.console import print_findings, print_json, print_line, print_note, print_sections
from senseprobe.errors import SenseprobeError
from senseprobe.messages import counted, offered
from senseprobe.options import HEADER, SKIP_BAD, Option

if TYPE_CHECKING:
    from rich.text import Text

    from senseprobe.api.author import DatasetCounts, Preview
    from senseprobe.evaluate.reporting.word_senses import WordSenses
    from senseprobe.generator.checks import Report
    from senseprobe.generator.checks.fixes import Change
    from senseprobe.generator.preview import Piece
    from senseprobe.generator.word_lists import WordList
    from senseprobe.lexicon import PreparedWordNet


def show_project(files: Sequence[Path], folder: Path) -> None:
    """Print what `init` wrote, and what to try next."""
    print_line(f"made a project of {len(files)} files in {folder}; its README.md explains them")
    print_line("Next, run these commands as they are:\n")
    print_line(f"    cd {quote(str(folder))}\n{author.first_steps()}")


def show_template(files: Sequence[Path], name: str) -> None:
    """Print what `new` wrote, and what to do next."""
    for path in files:
        print_line(f"wrote {author.display_path(path)}")
    dataset = name.partition("/")[0]
    print_line("Comments in the template explain how each key changes the figures. Next:\n")
    print_line(f"    senseprobe preview {name}  # some rows")
    print_line(f"    senseprobe lint {dataset}  # fields to fill in before `senseprobe build {dataset} 0.1.0`")


# ---- lint ----

_FORMATS = ("text", "json", "github")


def lint(
    paths: Sequence[Path],
    fix: Annotated[
        bool, Option("--fix", help="Repair certain mistakes in the project's files, and print the changes.")
    ] = False,
    codes: Annotated[bool, Option("--codes", help="Explain each code, and check nothing.")] = False,
    form: Annotated[
        str, Option("--format", metavar="FORMAT", help="Print text, json, or github (workflow commands).")
    ] = "text",
) -> "tuple[Report, Sequence[Change]]":
    """Return what is found, after it was mended as far as was asked for, and what changed."""
    if form not in _FORMATS:
        raise SenseprobeError(f"no format {form!r}: {offered(form, _FORMATS)}")
    if codes:
        print_line(author.checks_page())
        raise typer.Exit
    changes = author.fix(paths) if fix else []
    return author.lint(paths), changes


def show_findings(
    linted: "tuple[Report, Sequence[Change]]",
    paths: Sequence[Path],
    strict: Annotated[bool, Option(help="Treat a skipped check as a finding.")] = False,
    guesses: Annotated[bool, Option("--guesses", help="Also print guessed articles, plurals and verb forms.")] = False,
    fix: bool = False,
    form: str = "text",
) -> None:
    """Print what changed, what is found, and how much was checked."""
    report, changes = linted
    if form == "json":
        print_json(describe_findings(linted, fix=fix))
        return
    for change in changes:
        print_line(change.diff.rstrip("\n"))
    (_print_github if form == "github" else _print_report)(report, guesses=guesses)
    print_line(_summary(report, strict=strict))
    if not paths and not author.has_project():
        print_line("not in a project (no parent folder has a senseprobe.toml): checked the built-in data")


def describe_findings(linted: "tuple[Report, Sequence[Change]]", *, fix: bool) -> dict[str, Any]:
    """Return what `lint --json` prints."""
    report, changes = linted
    fixed = {"fixed": [{"path": change.path, "diff": change.diff} for change in changes]} if fix else {}
    return {**report.as_dict(), **fixed}


def exit_code_of_lint(linted: "tuple[Report, Sequence[Change]]", *, strict: bool) -> int:
    """Return 1 where there are findings, or, if this is strict, where something could not be checked."""
    return 1 if linted[0].findings or (strict and not linted[0].complete) else 0


def _print_report(report: "Report", *, guesses: bool) -> None:
    from senseprobe.document import Section, Table

    print_findings(report.findings)
    if guesses and report.guesses:
        rows = [("article" if form == "a" else form, text, answer) for form, text, answer in report.guesses]
        table = Table.of_texts(dict.fromkeys(("guessed", "of", "as"), "words"), rows)
        print_sections([Section("", tables=(table,))])


def _print_github(report: "Report", *, guesses: bool) -> None:
    """Print GitHub's workflow commands, which become notes at the lines of a pull request."""
    for finding in report.findings:
        level = "warning" if finding.code.startswith("W") else "error"
        location = {"file": finding.path, "line": finding.line, "col": finding.column, "title": finding.code}
        texts = {key: _escape(str(value)) for key, value in location.items() if value}
        properties = ",".join(f"{key}={text.replace(':', '%3A').replace(',', '%2C')}" for key, text in texts.items())
        message = f"{finding.message} ({finding.hint})" if finding.hint else finding.message
        print_line(f"::{level} {properties}::{_escape(message)}")
    for form, text, answer in report.guesses if guesses else ():
        print_line(f"::notice title=guess::{_escape(f'{form} of {text}: {answer}')}")


def _escape(text: str) -> str:
    """Escape the characters that would end the message of a workflow command."""
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _summary(report: "Report", *, strict: bool) -> str:
    counts = (counted(report.lists, "word list"), counted(report.configs, "config"))
    parts = [f"{counted(len(report.findings), 'finding')} in {' and '.join(counts)}"]
    if report.configs_not_checked:
        parts.append(f"{counted(report.configs_not_checked, 'config')} not checked")
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


def show_wordnet(prepared: "PreparedWordNet") -> None:
    """Print where WordNet is, and from where."""
    print_line(str(prepared))


def describe_wordnet(prepared: "PreparedWordNet") -> dict[str, str]:
    """Return what `wordnet --json` prints."""
    return {"folder": str(prepared.folder), "source": prepared.source, "version": prepared.version}


def show_lists(listed: "Sequence[WordList]", name: str | None) -> None:
    """Print the lists, or the words of one."""
    from senseprobe.document import Section, Table

    if name is None:
        rows = ((d["list"], len(d["words"]), " ".join(d["columns"])) for d in describe_lists(listed, None))
        table = Table.of_texts({"list": "name", "words": "number", "columns": "words"}, rows)
        print_sections([Section("", tables=(table,))])
    else:
        print_sections(table.section() for table in listed)


def describe_lists(listed: "Sequence[WordList]", name: str | None) -> Any:  # noqa: ANN401 - JSON
    """Return what `words list --json` prints."""
    descriptions = [
        {
            "list": table.resource.name,
            "words": [str(word) for word in table.words],
            "columns": [*table.columns],
            "file": table.display_path,
        }
        for table in listed
    ]
    return descriptions if name is None else descriptions[0]


def show_added(written: Sequence[Path], file: Path) -> None:
    """Print what was written to add a list."""
    for path in written:
        print_line(f"wrote {author.display_path(path)}")
    print_line(f"fill in description, sources and licence of {file.stem}, check the types, then run senseprobe lint")


def describe_added(written: Sequence[Path], file: Path) -> dict[str, Any]:
    """Return what `words add --json` prints."""
    return {"list": file.stem, "written": [author.display_path(path) for path in written]}


# ---- count ----


def show_counts(datasets: "Sequence[DatasetCounts]", name: str | None, tokenizer: str | None) -> None:
    """Print a table of each dataset, and how many rows that is."""
    note_findings(datasets)
    print_sections(dataset.section("" if name else dataset.dataset, tokenizer) for dataset in datasets)
    if not all(config["exact"] for dataset in datasets for config in dataset.configs):
        print_line("\u2264 means at most: there are too many rows to find duplicates")
    rows, left_out = sum(dataset.rows for dataset in datasets), sum(dataset.left_out for dataset in datasets)
    remaining = f"; verdicts omit {left_out}, and {rows - left_out} remain" if left_out else ""
    print_line(f"{rows} rows{remaining}")


def describe_counts(datasets: "Sequence[DatasetCounts]", name: str | None) -> dict[str, Any]:
    """Return what `count --json` prints."""
    note_findings(datasets)
    descriptions = [dataset.as_dict() for dataset in datasets]
    rows, left_out = sum(dataset.rows for dataset in datasets), sum(dataset.left_out for dataset in datasets)
    return descriptions[0] if name else {"datasets": descriptions, "rows": rows, "left_out": left_out}


def note_findings(datasets: "Sequence[DatasetCounts | Preview]") -> None:
    """Print findings that keep `build` from working, and the command that prints them not."""
    for dataset in datasets:
        for finding in dataset.findings:
            print_note(str(finding))


# ---- preview ----

_COLOURS = ("cyan", "magenta", "yellow", "green", "blue", "red")

_GUESSED = "* guessed: if it is wrong, add a column article, plural, past or third to the word list"


def describe_preview(preview: "Preview") -> dict[str, Any]:
    """Return what `preview --json` prints."""
    note_findings([preview])
    return preview.as_dict()


def show_preview(preview: "Preview") -> None:
    """Print sentences, with the slot of each word and what was guessed."""
    from rich.console import Console
    from rich.text import Text

    note_findings([preview])
    rows = preview.sample
    console = Console(highlight=False, emoji=False, soft_wrap=True)
    console.print(Text(f"{preview.dataset}/{preview.config}: {len(rows)} of {preview.rows} rows, seed {preview.seed}"))
    pieces = [piece for row in rows for sentence in row.sentences.values() for piece in sentence]
    slots = [*dict.fromkeys(piece.slot for piece in pieces if piece.slot)]
    is_coloured = console.is_terminal and console.color_system is not None and not console.no_color
    colours = {slot: _COLOURS[number % len(_COLOURS)] for number, slot in enumerate(slots)} if is_coloured else {}
    for row in rows:
        note = ", omitted by a verdict" if row.left_out else ""
        console.print(Text(f"\n{row.id}{note}", style="dim" if colours else ""))
        for role, sentence in row.sentences.items():
            head = f"  {role:<{max(map(len, row.sentences))}}  "
            for line in Text.assemble(*(_marked(piece, colours) for piece in sentence)).split("\n"):
                console.print(Text.assemble(head, line))
                head = " " * len(head)
        for name, cell in row.cells.items():
            console.print(Text(f"  {name}: {cell}"))
        for sense in row.senses:
            console.print(Text(f"  {sense.column}: {sense}", style="dim" if colours else ""))
    legend = [Text(" ").join(Text(slot, style=f"bold {colour}") for slot, colour in colours.items())] if colours else []
    legend += [Text(_GUESSED)] if any(piece.guessed for piece in pieces) else []
    if legend:
        console.print(Text("\n").join([Text(), *legend]))


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


def look_up_senses(
    senses: Path | None,
    header: Annotated[bool | None, HEADER] = None,
    skip_bad: Annotated[bool, SKIP_BAD] = False,
    **options: Any,  # noqa: ANN401
) -> "WordSenses":
    """Return the senses of a word, placed by an embedding that is read as the options say."""
    source = None if senses is None else vectors_of(senses, "senses:", header=header, skip_bad=skip_bad)
    return word_senses.show_senses(senses=source, say=print_note, **options)


def show_senses(placed: "WordSenses", out: Path | None) -> None:
    """Print the senses of a word, and where their page is."""
    print_sections(placed.sections("brief"))
    if out is not None:
        print_line(f"page in {out.resolve()}")


SHOW_SENSES = Command(word_senses.show_senses, show_senses, as_dict, call=look_up_senses, name="show", wordnet=True)
"""A command of two groups: of words, and of embeddings of senses."""
