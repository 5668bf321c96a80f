"""Commands of those who write templates and word lists."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from senseprobe.cli.console import print_findings, print_json, print_line, print_table
from senseprobe.errors import SenseprobeError
from senseprobe.project import user_layer
from senseprobe.wording import counted, offered

if TYPE_CHECKING:
    from senseprobe.generator.checks import Report


AsJson = Annotated[bool, typer.Option("--json", help="Print JSON with stable keys.")]


_FORMATS = ("text", "json", "github")
"""How findings are printed."""


def lint(
    paths: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="PATH",
            show_default=False,
            help="Templates, datasets, lists, or folders of them; default: the whole nearest project.",
        ),
    ] = None,
    strict: Annotated[bool, typer.Option(help="Count what could not be checked as a finding.")] = False,
    guesses: Annotated[bool, typer.Option("--guesses", help="Also print articles, plurals and verbs guessed.")] = False,
    codes: Annotated[bool, typer.Option("--codes", help="Print what each code means, and check nothing.")] = False,
    form: Annotated[
        str, typer.Option("--format", metavar="FORMAT", help="text, json, or github: for its workflows.")
    ] = "text",
    as_json: AsJson = False,
) -> None:
    """Check every word list and template: what is wrong, where, and what to do."""
    from senseprobe.generator.checks import lint_paths, page

    if form not in _FORMATS:
        raise SenseprobeError(f"no format {form!r}: {offered(form, _FORMATS)}")
    if codes:
        print_line(page().rstrip("\n"))
        return
    report = lint_paths(paths or [])
    if as_json or form == "json":
        print_json(report.as_dict())
    else:
        (_annotate if form == "github" else _tell)(report, guesses=guesses)
        print_line(_summary(report, strict=strict))
        if not paths and user_layer() is None:
            print_line("no project here (no senseprobe.toml in a parent folder): what was checked is the built-in data")
    raise typer.Exit(1 if report.findings or (strict and not report.complete) else 0)


def _tell(report: "Report", *, guesses: bool) -> None:
    print_findings(report.findings)
    if guesses and report.guesses:
        columns = {"guessed": "left", "of": "left", "as": "left"}
        print_table(
            columns, [("article" if asked == "a" else asked, text, said) for asked, text, said in report.guesses]
        )


def _annotate(report: "Report", *, guesses: bool) -> None:
    """GitHub's workflow commands, of which it makes notes beside the lines of a pull request."""
    for finding in report.findings:
        level = "warning" if finding.code.startswith("W") else "error"
        place = {"file": finding.path, "line": finding.line, "col": finding.column, "title": finding.code}
        told = ",".join(f"{key}={_property(str(value))}" for key, value in place.items() if value)
        message = f"{finding.message} ({finding.hint})" if finding.hint else finding.message
        print_line(f"::{level} {told}::{_data(message)}")
    for asked, text, said in report.guesses if guesses else ():
        print_line(f"::notice title=guess::{_data(f'{asked} of {text}: {said}')}")


def _data(text: str) -> str:
    """What may stand in a workflow command's message: its own signs would end it."""
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")


def _summary(report: "Report", *, strict: bool) -> str:
    counts = (counted(report.lists, "word list"), counted(report.configs, "config"))
    told = f"{counted(len(report.findings), 'finding')} in {' and '.join(counts)}; "
    if report.configs_not_checked:
        told += f"{counted(report.configs_not_checked, 'config')} not looked at; "
    told += f"{counted(report.keys_checked, 'sense key')} checked"
    missing = [f"{report.keys_not_checked} not checked"] if report.keys_not_checked else []
    missing += [f"no check for {', '.join(report.not_checked)}"] if report.not_checked else []
    if missing:
        told += f", {', '.join(missing)} (run `senseprobe wordnet`)" + (": a finding under --strict" if strict else "")
    if accepted := sum(each.findings for each in report.accepted):
        told += f"; {counted(accepted, 'warning')} accepted"
    return told


def lists(
    name: Annotated[str | None, typer.Argument(metavar="LIST", show_default="all lists in sight")] = None,
    as_json: AsJson = False,
) -> None:
    """Show the word lists that templates can use, those of the project first: their columns, and the words of one."""
    from senseprobe.generator.catalogue import lists_of
    from senseprobe.project import layers
    from senseprobe.wording import nearest

    known = lists_of(layers()[0])
    found = {each: known.get(each) for each in known.names() if name in (None, each)}
    if not found:
        raise SenseprobeError(f"no word list {name!r}: {nearest(name or '', known.names())}")
    tables = [table for table in found.values() if table]
    told = [
        {"list": t.resource.name, "words": [str(word) for word in t.words], "columns": [*t.columns], "file": t.shown}
        for t in tables
    ]
    if as_json:
        print_json(told if name is None else told[0])
    elif name is None:
        columns = {"list": "left", "words": "right", "columns": "left"}
        print_table(columns, [[each["list"], len(each["words"]), " ".join(each["columns"])] for each in told])
    else:
        rows = [[word.columns[column] for column in tables[0].columns] for word in tables[0].words]
        print_table(dict.fromkeys(tables[0].columns, "left"), rows)
        print_line(f"{tables[0].resource.description} ({tables[0].shown})")


def wordnet(
    folder: Annotated[
        Path | None, typer.Option(help="The NLTK data folder to make.", show_default="senseprobe's own")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Prepare WordNet 3.0 for checking sense keys, from whatever copy of it there is."""
    from senseprobe.lexicon import prepare

    made = prepare(folder)
    if as_json:
        print_json({"folder": str(made.folder), "source": made.source, "version": made.version})
    else:
        print_line(f"WordNet {made.version} in {made.folder} ({made.source})")
