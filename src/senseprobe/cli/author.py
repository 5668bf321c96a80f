"""Commands of those who write templates and word lists.

Commands that show what templates will make, before it is made.

Commands of those who begin: a project, a template.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from senseprobe.cli.console import print_findings, print_json, print_line, print_table, progress
from senseprobe.errors import ModelError, SenseprobeError
from senseprobe.messages import counted, offered
from senseprobe.project import user_layer

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

    from senseprobe.generator.checks import Report
    from senseprobe.generator.config import Config
    from senseprobe.generator.count import Count, Tokenize
    from senseprobe.generator.preview import Piece, PreviewRow

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
        (_annotate if form == "github" else _print_report)(report, guesses=guesses)
        print_line(_summary(report, strict=strict))
        if not paths and user_layer() is None:
            print_line("no project here (no senseprobe.toml in a parent folder): what was checked is the built-in data")
    raise typer.Exit(1 if report.findings or (strict and not report.complete) else 0)


def _print_report(report: "Report", *, guesses: bool) -> None:
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
    from senseprobe.generator.dataset import open_word_lists
    from senseprobe.messages import nearest
    from senseprobe.project import layers

    known = open_word_lists(layers()[0])
    found = {each: known.get(each) for each in known.names() if name in (None, each)}
    if not found:
        raise SenseprobeError(f"no word list {name!r}: {nearest(name or '', known.names())}")
    tables = [table for table in found.values() if table]
    told = [
        {
            "list": t.resource.name,
            "words": [str(word) for word in t.words],
            "columns": [*t.columns],
            "file": t.display_path,
        }
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
        print_line(f"{tables[0].resource.description} ({tables[0].display_path})")


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


_COLOURS = ("cyan", "magenta", "yellow", "green", "blue", "red")

_GUESSED = "* guessed: where it is wrong, state it in a column article, plural, past or third of the word list"


def count(
    name: Annotated[
        str | None, typer.Argument(metavar="DATASET[/CONFIG]", show_default="every dataset of the project")
    ] = None,
    tokenizer: Annotated[
        str | None,
        typer.Option(help="Count tokens of this tokenizer as well: a name on the Hugging Face Hub, or a folder."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Say how many rows, distinct sentences and tokens a dataset makes, and how many rows verdicts leave out."""
    from senseprobe.project import layers

    tokenize = None if tokenizer is None else _tokenizer(tokenizer)
    datasets = [_counted(each, tokenize) for each in ([name] if name else layers()[0].datasets())]
    rows, out = (sum(dataset[key] for dataset in datasets) for key in ("rows", "left_out"))
    if as_json:
        print_json(datasets[0] if name else {"datasets": datasets, "rows": rows, "left_out": out})
        return
    for dataset in datasets:
        _print_counts(dataset["configs"], tokenizer, title="" if name else dataset["dataset"])
    if not all(config["exact"] for dataset in datasets for config in dataset["configs"]):
        print_line("\u2264 at most: too many to make them all, so what comes out alike is counted more than once")
    print_line(f"{rows} rows; verdicts leave out {out}, and {rows - out} are left" if out else f"{rows} rows")


def _counted(name: str, tokenize: "Tokenize | None") -> dict[str, Any]:
    """A dataset or one config of it, with the stable keys of ``--json``."""
    from senseprobe.api import open_catalogue
    from senseprobe.generator.count import count

    catalogue = open_catalogue(name)
    with progress(f"counting {name}", None) as step:
        counts = [
            (config, count(config, tokenize, step), catalogue.excluded_rows(config)) for config in catalogue.configs
        ]
    configs = [_config(config, replace(found, left_out=len(out))) for config, found, out in counts]
    totals = {key: sum(config[key] for config in configs) for key in ("rows", "left_out")}
    return {"dataset": catalogue.dataset.name, "configs": configs, **totals}


def _config(config: "Config", found: "Count") -> dict[str, Any]:
    expect = config.blocks[0].block.front.expected
    told = {"config": config.name, "rows": found.rows, "published": expect.published, "cite": expect.cite}
    told |= {"frames": found.frames, "reason": expect.reason}
    return told | {key: value for key, value in asdict(found).items() if key not in told}


def _print_counts(configs: Sequence[Mapping[str, Any]], tokenizer: str | None, title: str) -> None:
    headings = ["rows", "published", "frames", "sentences", "their tokens", "tokens in rows"]
    headings += [f"by {Path(tokenizer).name}"] if tokenizer else []
    rows = [_row(told)[: len(headings) + 1] for told in configs]
    if any(told["left_out"] for told in configs):
        headings[1:1] = ["left out", "rows left"]
        for row, told in zip(rows, configs, strict=True):
            row[2:2] = [told["left_out"], told["rows"] - told["left_out"]]
    print_table({"config": "left", **dict.fromkeys(headings, "right")}, rows, title=title)
    for told in configs:
        if told["reason"]:
            print_line(f"{told['config']}: {told['reason']}")


def _row(told: Mapping[str, Any]) -> list[object]:
    sizes = (told["sentences"], told["distinct_tokens"], told["tokens"])
    shown = ["not known" if size is None else size if told["exact"] else f"\u2264 {size}" for size in sizes]
    asked = "not counted" if told["tokenizer_tokens"] is None else told["tokenizer_tokens"]
    return [*(told[key] for key in ("config", "rows", "published", "frames")), *shown, asked]


def _tokenizer(name: str) -> "Tokenize":
    """How many tokens texts have, those apart that a model wants at the ends of a sentence."""
    if find_spec("transformers") is None:
        raise SenseprobeError("transformers not installed: pip install 'senseprobe[models]'")
    from transformers import AutoTokenizer

    try:
        loaded = AutoTokenizer.from_pretrained(name, trust_remote_code=False)
    except (OSError, ValueError, RuntimeError, ImportError, LookupError, TypeError, AttributeError) as error:
        why = next(iter(str(error).splitlines()), type(error).__name__)
        raise ModelError(f"cannot load the tokenizer {name}: {why}") from error
    return lambda texts: sum(map(len, loaded([*texts], add_special_tokens=False)["input_ids"]))


def preview(
    name: Annotated[str, typer.Argument(metavar="DATASET/CONFIG")],
    n: Annotated[int, typer.Option("-n", min=1, help="How many rows.")] = 20,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the sample.")] = 0,
    as_json: AsJson = False,
) -> None:
    """Show some rows of a config, drawn by chance: which words come from which slot, and what was guessed."""
    from senseprobe.api import open_catalogue
    from senseprobe.generator.preview import preview as draw

    catalogue = open_catalogue(name)
    if len(catalogue.configs) > 1:
        names = ", ".join(config.name for config in catalogue.configs)
        raise SenseprobeError(f"{name} has {len(catalogue.configs)} configs: name one as {name}/CONFIG ({names})")
    config = catalogue.configs[0]
    rows = [*draw(catalogue, config, n, seed)]
    if as_json:
        about = {"dataset": catalogue.dataset.name, "config": config.name, "rows": config.size, "seed": seed}
        print_json({**about, "sample": [asdict(row) for row in rows]})
    else:
        _show(rows, f"{catalogue.dataset.name}/{config.name}: {len(rows)} of {config.size} rows, seed {seed}")


def _show(rows: "list[PreviewRow]", title: str) -> None:
    from rich.console import Console
    from rich.text import Text

    console = Console(highlight=False, emoji=False, soft_wrap=True)
    console.print(Text(title))
    pieces = [piece for row in rows for sentence in row.sentences.values() for piece in sentence]
    slots = [*dict.fromkeys(piece.slot for piece in pieces if piece.slot)]
    colours = {slot: _COLOURS[number % len(_COLOURS)] for number, slot in enumerate(slots)} if _colour(console) else {}
    for row in rows:
        note = ", which a verdict leaves out" if row.left_out else ""
        console.print(Text(f"\n{row.id}{note}", style="dim" if colours else ""))
        for role, sentence in row.sentences.items():
            marked = (_marked(piece, colours) for piece in sentence)
            console.print(Text.assemble(f"  {role:<{max(map(len, row.sentences))}}  ", *marked))
    legend = [Text(" ").join(Text(slot, style=f"bold {colour}") for slot, colour in colours.items())] if colours else []
    legend += [Text(_GUESSED)] if any(piece.guessed for piece in pieces) else []
    if legend:
        console.print(Text("\n").join([Text(), *legend]))


def _colour(console: "Console") -> bool:
    return console.is_terminal and console.color_system is not None and not console.no_color


def _marked(piece: "Piece", colours: Mapping[str, str]) -> "Text":
    """A word in the colour of its slot, or beside its name where there are no colours; a star where it was guessed."""
    from rich.text import Text

    text, star = piece.text, "*" if piece.guessed else ""
    if piece.slot is None:
        word = text.rstrip()
        return Text(word + star + text[len(word) :])
    if colours:
        return Text(text + star, style=f"bold {colours[piece.slot]}")
    return Text(f"[{text}{star}:{piece.slot}]")


def init(folder: Annotated[Path, typer.Argument(metavar="DIR", help="Where the project goes.")]) -> None:
    """Make a project of your own, with a small example that works."""
    from senseprobe.scaffold import start

    files = start(folder)
    print_line(f"made a project of {len(files)} files in {folder}; its README.md says what is where")
    print_line("try there: senseprobe lint, and senseprobe preview example/hobbies")


def new(
    name: Annotated[str, typer.Argument(metavar="DATASET/CONFIG")],
    kind: Annotated[str, typer.Option(metavar="KIND", help="What a row is: contrast, inference or association.")],
) -> None:
    """Add a template with comments to your project, and the dataset and word lists that it needs."""
    from senseprobe.generator.yaml_source import format_path
    from senseprobe.project import MARKER, user_layer
    from senseprobe.scaffold import add

    layer = user_layer()
    if layer is None:
        raise SenseprobeError(f"no project here (no {MARKER} in a parent folder): make one with `senseprobe init DIR`")
    for path in add(layer, name, kind):
        print_line(f"wrote {format_path(path)}")
    print_line(f"edit them, and see what you have: senseprobe lint, and senseprobe preview {name}")
