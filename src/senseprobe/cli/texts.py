"""What commands on texts and word senses print: bias-score, corpus, senses (build, show and report) and wat."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from senseprobe import api
from senseprobe.cli.console import print_line, print_note, print_sections
from senseprobe.messages import listed
from senseprobe.options import HEADER, SKIP_BAD

if TYPE_CHECKING:
    from senseprobe.evaluate.reporting.word_senses import WordSenses
    from senseprobe.evaluate.senses.glosses import BuiltSenses


def show_built(built: "BuiltSenses") -> None:
    """Print what was made, and what it is not good for."""
    if built.without:
        print_note(f"not in WordNet: {listed(built.without)}")
    print_line(f"{built.file}: {built.senses:,} senses, {built.texts:,} texts, {built.dimensions} dimensions")
    print_line(built.metadata["limits"])


def place(
    senses: Path | None,
    say: Callable[[str], None],
    header: Annotated[bool | None, HEADER] = None,
    skip_bad: Annotated[bool, SKIP_BAD] = False,
    **options: Any,  # noqa: ANN401
) -> "WordSenses":
    """Return the senses of a word, placed by an embedding that is read as the options say."""
    source = None if senses is None else api.vectors_of(senses, "senses:", header=header, skip_bad=skip_bad)
    return api.show_senses(senses=source, say=say, **options)


def show_placed(placed: "WordSenses", out: Path | None) -> None:
    """Print the senses, and where the page is."""
    print_sections(placed.sections("brief"))
    if out is not None:
        print_line(f"page in {out.resolve()}")


def show_page(path: Path) -> None:
    """Print where a page is."""
    print_line(f"report in {path.resolve()}")
