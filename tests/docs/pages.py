"""What stands on the pages of docs/, and a reader who does it: saves the files, types the commands, runs the Python.

- A block of `console` is a terminal. `$ ` begins a command, `# exit code N` at its end is what it ends with, if not
  0, and under it stands what it prints: an ellipsis stands for any text, alone on a line for any lines.
- A block of `python` is run, and prints the block of `text` under it, if there is one.
- A block with a caption is a file.

A comment on the line before a block says that it is not run by the plain tests: `<!-- not run: WHY -->`, or
`<!-- system: WHAT IT NEEDS -->`.
"""

import contextlib
import io
import math
import os
import re
import shlex
import shutil
import sys
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from unittest import mock

from senseprobe.cli.application import main

DOCS = Path(__file__).parents[2] / "docs"

_BLOCK = re.compile(
    r"^(?:<!-- (?P<how>not run|system): (?P<reason>[^\n]*?) -->\n)?"
    r"```(?:\{code-block\} )?(?P<language>[\w+]*)\n(?::caption: (?P<caption>[^\n]*)\n\n)?(?P<text>.*?)^```$",
    re.M | re.S,
)


@dataclass(frozen=True)
class Block:
    """A fenced block of a page: where it is, what it is, and how it is run (``""`` is by the plain tests)."""

    line: int
    language: str
    caption: str
    text: str
    how: str
    reason: str

    @property
    def commands(self) -> list[tuple[str, str]]:
        """Of a console: each command, without what joins its lines, and what stands under it."""
        parts = re.split(r"^\$ ", self.text.replace("\\\n", ""), flags=re.M)[1:]
        return [(command, output) for command, _, output in (part.partition("\n") for part in parts)]


def blocks_of(page: Path) -> list[Block]:
    """The blocks of a page, in order."""
    text = page.read_text(encoding="utf-8")
    return [
        Block(
            1 + text.count("\n", 0, match.start()),
            *(match[key] or "" for key in Block.__annotations__ if key != "line"),
        )
        for match in _BLOCK.finditer(text)
    ]


class Reader:
    """Somebody who does what pages say, in the current folder. Names of Python live on from block to block."""

    def __init__(self, *, system: bool = False) -> None:
        self.ways = {"", "system"} if system else {""}
        self.names: dict[str, object] = {}

    def read(self, page: Path) -> None:
        """Do all that a page says; raises AssertionError, with the line, where something else comes of it."""
        blocks = blocks_of(page)
        for block, below in zip(blocks, [*blocks[1:], None], strict=True):
            if block.how not in self.ways:
                continue
            with _located(page, block):
                if block.caption:
                    save(block.caption, block.text)
                elif block.language == "console":
                    for command, expected in block.commands:
                        self._type(command, expected)
                elif block.language == "python":
                    printed = self._run(block.text)
                    if below and below.language == "text" and not below.caption:
                        compare(printed, below.text)

    def _run(self, code: str) -> str:
        with contextlib.redirect_stdout(io.StringIO()) as printed, warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # what our notes are in Python; readers get them, too
            exec(code, self.names)  # noqa: S102 - our own page
        return printed.getvalue()

    def _type(self, command: str, expected: str) -> None:
        printed, code = run_command(shlex.split(command, comments=True))
        stated = re.search(r"# exit code (\d)", command)
        assert code == int(stated[1] if stated else 0), f"{command}: exit code {code}\n{printed}"
        if expected.strip():
            compare(printed, expected)


@contextlib.contextmanager
def _located(page: Path, block: Block) -> Iterator[None]:
    try:
        yield
    except Exception as error:
        error.add_note(f"docs/{page.name}:{block.line}")
        raise


def save(caption: str, text: str) -> None:
    """Save a file as its caption says: whole, at the end of what is there, or instead of its last line."""
    name, _, where = caption.partition(", ")
    path = Path(name)
    path.parent.mkdir(parents=True, exist_ok=True)
    former = path.read_text(encoding="utf-8") if where else ""
    kept = {"": "", "added at the end": former, "instead of its last line": former[: former.rstrip().rfind("\n") + 1]}
    path.write_text(kept[where] + text, encoding="utf-8")


def run_command(words: list[str]) -> tuple[str, int]:
    """Type a command in the current folder: what it prints, in the order of a terminal, and its exit code."""
    program, *typed = words
    arguments = [found for word in typed for found in (sorted(map(str, Path().glob(word))) or [word])]
    if program == "cd":
        os.chdir(arguments[0])
        return "", 0
    if program == "rm":
        for path in (Path(argument) for argument in arguments if argument != "-r"):
            shutil.rmtree(path) if path.is_dir() else path.unlink()
        return "", 0
    assert program == "senseprobe", f"no reader of pages can run {program}"
    return _run_senseprobe(arguments)


def _run_senseprobe(arguments: list[str]) -> tuple[str, int]:
    terminal, former = io.StringIO(), sys.argv
    sys.argv = ["senseprobe", *arguments]
    code: object = 0
    try:
        # On a slow machine long work prints a line each minute; pages show what a fast one prints.
        with (
            contextlib.redirect_stdout(terminal),
            contextlib.redirect_stderr(terminal),
            mock.patch("senseprobe.progress.PERIOD", math.inf),
        ):
            main()
    except SystemExit as stop:
        code = stop.code
    finally:
        sys.argv = former
    return terminal.getvalue(), int(str(code or 0))


def compare(printed: str, expected: str) -> None:
    """Hold what was printed against what a page shows."""
    there, shown = (
        [line.rstrip() for line in text.strip().splitlines() if line.strip()] for text in (printed, expected)
    )
    assert _fits(there, shown), "the page shows\n" + "\n".join(shown) + "\nand printed was\n" + "\n".join(there)


def _fits(printed: list[str], shown: list[str]) -> bool:
    """Return whether lines are those shown, where `…` on a line is any text, and `…` alone any lines."""
    pattern = "".join(r"(?:.*\n)*?" if line == "…" else re.escape(line).replace("…", ".*") + r"\n" for line in shown)
    return re.fullmatch(pattern, "".join(f"{line}\n" for line in printed)) is not None
