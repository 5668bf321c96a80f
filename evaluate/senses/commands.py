"""The commands of this room, what they print, and when they are used."""

from pathlib import Path
from typing import TYPE_CHECKING

from senseprobe.cli.author import SHOW_SENSES
from senseprobe.cli.command import AddedCommand, Command, Group
from senseprobe.cli.console import print_line, print_note
from senseprobe.cli.examples import Use
from senseprobe.evaluate.senses import api
from senseprobe.messages import listed

if TYPE_CHECKING:
    from senseprobe.evaluate.senses.glosses import BuiltSenses


def show_built(built: "BuiltSenses") -> None:
    """Print what was made, and what it is not good for."""
    if built.without:
        print_note(f"not in WordNet: {listed(built.without)}")
    print_line(f"{built.file}: {built.senses:,} senses, {built.texts:,} texts, {built.dimensions} dimensions")
    print_line(built.metadata["limits"])


def show_page(path: Path) -> None:
    """Print where a page is."""
    print_line(f"report in {path.resolve()}")


_USES = {
    "study senses": Use(
        "Work with vectors of word senses instead of words.",
        (
            "study senses build --encoder minilm --words sssb -o s.safetensors",
            "study senses show nurse --senses senses.safetensors",
        ),
    ),
    "study senses build": Use(
        "Make sense vectors if you have no file of them.",
        (
            "study senses build --encoder minilm --words sssb -o s.safetensors",
            "study senses build --encoder minilm --examples --words sssb -o s.safetensors",
        ),
    ),
    "study senses show": Use(
        "See where an embedding puts the senses of a word.",
        (
            "study senses show nurse --senses senses.safetensors",
            "study senses show nurse --senses senses.safetensors -n 3",
        ),
    ),
    "study senses report": Use(
        "Compare sense vectors with word vectors and models.",
        ("study senses report results", "study senses report results --wat wat.json -o senses.html"),
    ),
}

COMMANDS = (
    AddedCommand(
        id="senses",
        group="study",
        command=Group(
            "senses",
            "Make, show and report embeddings of word senses.",
            (
                Command(api.build_senses, show_built, name="build", wordnet=True),
                SHOW_SENSES,
                Command(api.report_senses, show_page, name="report"),
            ),
        ),
        uses=_USES,
    ),
)
