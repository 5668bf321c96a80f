"""The command line: each command parses, calls one function, prints, and returns an exit code.

Exit codes: 0 fine, 1 findings, 2 misuse or failure.
"""

import sys

import typer

from senseprobe.cli import (
    annotate,
    author,
    bring,
    compare,
    export,
    hub,
    look,
    project,
    release,
    reporting,
    score,
    slicing,
)
from senseprobe.cli.console import complain
from senseprobe.errors import SenseprobeError

__all__ = ["app", "main"]

_INTERRUPTED = 130
"""What typer makes of Ctrl-C."""

app = typer.Typer(
    name="senseprobe",
    help="Build, annotate and publish datasets that measure social bias in language models, and score models on them.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=False,
)
for _room, _names in (
    (project, "init new"),
    (author, "lint lists"),
    (look, "count preview"),
    (author, "wordnet"),
    (release, "build join restore verify"),
    (compare, "diff"),
    (hub, "publish pull"),
    (score, "score replay plant"),
    (reporting, "report compare metrics"),
    (export, "export"),
):
    for _name in _names.split():
        app.command()(getattr(_room, _name))
app.command("import")(bring.import_files)  # names that Python keeps for itself
app.command("slice")(slicing.slice_result)
app.add_typer(annotate.annotate, name="annotate")


def main() -> None:
    """Run the command line; whatever goes wrong is one message, never a traceback."""
    try:
        app()
    except SenseprobeError as error:
        complain(str(error))
        sys.exit(error.exit_code)
    except SystemExit as left:
        if left.code != _INTERRUPTED:
            raise
        complain("interrupted; nothing was left half-written")
        sys.exit(2)
    except BrokenPipeError:
        sys.stderr.close()
        sys.exit(2)
    except OSError as error:
        complain(f"{error.filename or 'a file'}: {error.strerror or error}")
        sys.exit(2)
