"""Writes docs/commands.md from the help of commands: `python docs/make_commands.py > docs/commands.md`."""

import sys
from collections.abc import Iterator
from copy import copy
from typing import Any

import typer

from senseprobe.cli.application import app
from senseprobe.cli.examples import USES

HEAD = """\
# The commands

`--help` after a command prints the same text and examples. Exit codes: 0 success, 1 findings, 2 misuse or failure.
`senseprobe --install-completion` makes your shell complete commands, options, datasets and releases. In the examples,
`example` is the dataset that `senseprobe init` makes, `base` and `tuned` are folders with models, and `old.json` and
`new.json` are results. `python docs/make_commands.py` writes this page.
"""
WIDTH = 110


def page() -> str:
    """Return the page, in Markdown: a section for each panel of `senseprobe --help`, an entry for each command."""
    panels: dict[str, list[str]] = {}
    for name, panel, command in _commands(typer.main.get_command(app), "senseprobe", ""):
        use = USES[name.removeprefix("senseprobe ")]
        examples = "\n".join(f"senseprobe {example}" for example in use.examples)
        entry = f"### {name}\n\n{use.when}\n\n```bash\n{examples}\n```\n\n```text\n{_help(name, command)}\n```\n"
        panels.setdefault(panel, []).append(entry)
    return "\n".join([HEAD, *("\n".join([f"## {panel}\n", *entries]) for panel, entries in panels.items())])


def _commands(group: Any, path: str, above: str) -> Iterator[tuple[str, str, Any]]:  # noqa: ANN401 - click's, untyped
    """Yield each command with its name as it is typed and its panel, those of a group of commands in its place."""
    for name in group.list_commands(None):
        command = group.commands[name]
        panel = above or command.rich_help_panel
        if hasattr(command, "commands"):
            yield from _commands(command, f"{path} {name}", panel)
        else:
            yield f"{path} {name}", panel, command


def _help(name: str, command: Any) -> str:  # noqa: ANN401
    """Return what `--help` prints, without the frames and colours that a terminal gets."""
    command = copy(command)
    command.rich_markup_mode = command.epilog = None
    context = command.make_context(name, [], resilient_parsing=True, terminal_width=WIDTH, max_content_width=WIDTH)
    return "\n".join(line.rstrip() for line in command.get_help(context).splitlines())


if __name__ == "__main__":
    sys.stdout.write(page())
