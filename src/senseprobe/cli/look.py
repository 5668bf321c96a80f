"""Commands that show what templates will make, before it is made."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from senseprobe.cli.author import AsJson
from senseprobe.cli.console import print_json, print_line, print_table, progress
from senseprobe.errors import ModelError, SenseprobeError

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

    from senseprobe.generator.blocks import Config
    from senseprobe.generator.counting import Count, Tokenize
    from senseprobe.generator.previewing import Piece, Shown


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
        _tell(dataset["configs"], tokenizer, title="" if name else dataset["dataset"])
    if not all(config["exact"] for dataset in datasets for config in dataset["configs"]):
        print_line("\u2264 at most: too many to make them all, so what comes out alike is counted more than once")
    print_line(f"{rows} rows; verdicts leave out {out}, and {rows - out} are left" if out else f"{rows} rows")


def _counted(name: str, tokenize: "Tokenize | None") -> dict[str, Any]:
    """A dataset or one config of it, with the stable keys of ``--json``."""
    from senseprobe.api import open_catalogue
    from senseprobe.generator.counting import count

    catalogue = open_catalogue(name)
    with progress(f"counting {name}", None) as step:
        counts = [(config, count(config, tokenize, step), catalogue.left_out(config)) for config in catalogue.configs]
    configs = [_config(config, replace(found, left_out=len(out))) for config, found, out in counts]
    totals = {key: sum(config[key] for config in configs) for key in ("rows", "left_out")}
    return {"dataset": catalogue.dataset.name, "configs": configs, **totals}


def _config(config: "Config", found: "Count") -> dict[str, Any]:
    expect = config.blocks[0].block.front.expect
    told = {"config": config.name, "rows": found.rows, "published": expect.published, "cite": expect.cite}
    told |= {"frames": found.frames, "reason": expect.reason}
    return told | {key: value for key, value in asdict(found).items() if key not in told}


def _tell(configs: Sequence[Mapping[str, Any]], tokenizer: str | None, title: str) -> None:
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
    from senseprobe.generator.previewing import preview as draw

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


def _show(rows: "list[Shown]", title: str) -> None:
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
