"""The command line: each command parses, calls one function, prints, and returns an exit code.

Rooms that can be missing and plug-ins add their commands to the table. Exit codes: 0 fine, 1 findings, 2 misuse or
failure.
"""

import os
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from importlib.metadata import version as installed_version
from io import TextIOWrapper
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from senseprobe import api
from senseprobe.api import annotation, metrics, results
from senseprobe.api import author as author_api
from senseprobe.api.models import SOURCES
from senseprobe.cli import annotate, author, hub, release, report, score
from senseprobe.cli.command import COMMANDS, AddedCommand, Command, Group, as_dict, as_it_is, show_sections
from senseprobe.cli.console import complain, print_line, print_note
from senseprobe.cli.examples import USES
from senseprobe.errors import SenseprobeError
from senseprobe.messages import offered
from senseprobe.plugins import log_warning

_INTERRUPTED = 130
"""The exit code that typer gives to Ctrl-C."""


class _Group(TyperGroup):
    """The commands in the order of their table; where one lacks an argument, the message says which names there are.

    A command's old name still works, with a notice. Help and completion have the new names alone.
    """

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ANN401
        return [entry.title for entries in PANELS.values() for entry in entries]

    def resolve_command(self, ctx: Any, args: list[str]) -> tuple[str | None, Any, list[str]]:  # noqa: ANN401
        old, new, words = _renamed(args)
        if old and not ctx.resilient_parsing:  # as where a shell asks what completes a line
            print_note(f"`senseprobe {old}` is now `senseprobe {new}`")
        return super().resolve_command(ctx, [*words])

    def invoke(self, ctx: Any) -> Any:  # noqa: ANN401 - what a command returns
        try:
            return super().invoke(ctx)
        except typer.BadParameter as error:
            if type(error).__name__ != "MissingParameter" or error.param is None:
                raise
            name = error.param.metavar or error.param.opts[-1]
            raise SenseprobeError(f"{name} is missing: {_describe(name, error.param)}") from None


def _renamed(args: Sequence[str]) -> tuple[str, str, Sequence[str]]:
    """Return the old name that a line begins with, its new name, and the line as it is now; no names without one."""
    if args[:1] == ["lists"] and any(word.partition("=")[0] == "--add" for word in args):
        words = (part for word in args[1:] for part in (word.split("=", 1) if word.startswith("--add=") else [word]))
        return "lists --add", "words add", ["words", "add", *(word for word in words if word != "--add")]
    if args[:1] == ["wordnet"] and any(not word.startswith("-") for word in args[1:2]):
        return "wordnet WORD", "words show WORD", ["words", "show", *args[1:]]
    if args[:1] == ["join"]:
        return "join", "build DATASET VERSION --join FOLDER", args
    for length in (2, 1):
        old = " ".join(args[:length])
        if new := _OLD_NAMES.get(old):
            return old, new, [*new.split(), *args[length:]]
    return "", "", args


def _describe(name: str, parameter: Any) -> str:  # noqa: ANN401 - typer's own type is private
    """Return the names that an argument may be, where these are on this machine; else its help."""
    for what in ("DATASET", "RELEASE"):
        if name.startswith(what):
            from senseprobe.api.author import names_beginning

            return f"there is {', '.join(names_beginning('', releases=what == 'RELEASE')) or 'none'}"
    return str(getattr(parameter, "help", "") or "see --help").rstrip(".")


app = typer.Typer(
    name="senseprobe",
    cls=_Group,
    help="Build, annotate and publish datasets that measure social bias in language models, and score models on them.",
    epilog=str(USES[""]),
    invoke_without_command=True,
    pretty_exceptions_enable=False,
)


def _print_version(requested: bool) -> None:
    if requested:
        print_line(f"senseprobe {installed_version('senseprobe')}")
        raise typer.Exit


_BEGIN = """\
Where to begin:

  make a dataset    senseprobe init my-project
  score a model     senseprobe fetch smollm2, then senseprobe score smollm2 sssb:race
  read a result     senseprobe report results

`senseprobe --help` lists the commands; each has a --help with examples."""


@app.callback()
def _options(
    context: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    if context.invoked_subcommand is None:
        print_line(_BEGIN)


_CORE: dict[str, tuple[Command | Group, ...]] = {
    "Author": (
        Command(author_api.init, author.show_project),
        Command(author_api.new, author.show_template),
        Command(
            author_api.lint,
            author.show_findings,
            author.describe_findings,
            author.exit_code_of_lint,
            call=author.lint,
            wordnet=True,
        ),
        Command(author_api.preview, author.show_preview, author.describe_preview, wordnet=True),
        Command(author_api.count, author.show_counts, author.describe_counts, wordnet=True),
        Group(
            "words",
            "List and add words, and look up their senses in WordNet.",
            (
                Command(author_api.word_lists, author.show_lists, author.describe_lists, name="list"),
                Command(author_api.add_word_list, author.show_added, author.describe_added, name="add"),
                author.SHOW_SENSES,
            ),
        ),
    ),
    "Release": (
        Command(
            api.build,
            release.show_built,
            release.describe_built,
            call=release.build,
            others=(api.build_shard, api.workers),
            wordnet=True,
        ),
        Command(
            api.verify,
            release.show_verified,
            release.describe_verified,
            release.exit_code_of_verify,
            call=release.verify,
            others=(api.verify_shard, api.workers),
        ),
        Command(
            api.diff,
            release.show_diff,
            as_dict,
            lambda changes: int(changes.enough is False),
            call=release.diff,
        ),
        Command(
            api.import_release,
            release.show_import,
            release.describe_import,
            release.exit_code_of_import,
            call=release.import_files,
            name="import",
            wordnet=True,
        ),
        Command(api.publish, hub.show_published, as_dict, call=hub.publish),
        Command(
            api.pull,
            hub.show_pulled,
            hub.describe_pulled,
            note="An interrupted download is resumed. verify, diff and score also accept "
            "hf://USER/NAME@VERSION[:CONFIG], without a pull.",
        ),
    ),
    "Score": (
        Command(api.fetch, score.show_fetched, score.describe_fetched),
        Command(
            api.score,
            score.show_scored,
            score.describe_results,
            score.exit_code_of_score,
            call=score.score,
            others=(*(kind.make for kind in SOURCES.values()), api.workers, api.score_shard, api.join_scores),
            wordnet=True,
        ),
        Command(
            results.report,
            report.show_report,
            as_it_is,
            call=report.report,
            note="With --json, print the figures, their values under randomly permuted polarity, and tests of "
            "equivalence.",
        ),
        Command(results.compare, report.show_comparison, as_dict, call=report.compare),
    ),
    "More": (
        Group(
            "annotate",
            "Ask people about a release, measure their agreement, and omit the rows that they reject.",
            (
                Command(
                    annotation.push,
                    annotate.show_pushed,
                    annotate.describe_pushed,
                    call=annotate.push,
                    others=(annotation.PlanOptions,),
                    wordnet=True,
                ),
                Command(
                    annotation.export,
                    annotate.show_exported,
                    annotate.describe_exported,
                    call=annotate.export,
                    others=(annotation.PlanOptions,),
                    wordnet=True,
                ),
                Command(annotation.status, show_sections, as_dict),
                Command(
                    annotation.pull,
                    annotate.show_pulled,
                    annotate.describe_pulled,
                    lambda pulled: 0 if pulled[1].usual else 1,
                ),
                Command(
                    annotation.ingest,
                    annotate.show_ingested,
                    as_dict,
                    lambda ingested: 0 if ingested.usual else 1,
                    name="import",
                ),
                Command(annotation.agreement, show_sections, as_dict, name="agree"),
                Command(
                    annotation.adjudicate,
                    show_sections,
                    as_dict,
                    annotate.exit_code_of_adjudication,
                    call=annotate.adjudicate,
                    name="apply",
                ),
                Command(annotation.report, annotate.show_report, annotate.describe_report),
                Command(annotation.queue, annotate.show_queue, annotate.describe_queue),
                Command(
                    annotation.publish_answers,
                    annotate.show_publication,
                    annotate.describe_publication,
                    name="release",
                ),
            ),
        ),
        Group(
            "model",
            "Describe vectors, test a model server, or plant a known bias in a model.",
            (
                Command(score.describe_vectors, show_sections, as_dict, name="vectors", wordnet=True),
                Command(api.plant, score.show_planted, score.describe_planted),
            ),
        ),
        Group(
            "study",
            "Measure bias in texts, word associations, word senses and parts of a result.",
            (
                Command(
                    results.slice_result,
                    show_sections,
                    report.describe_slices,
                    name="slice",
                    note="A slot is a placeholder of the template: senseprobe preview DATASET/CONFIG prints the "
                    "slot after each word, for example nurse:occupation.",
                ),
            ),
        ),
        Command(metrics.metrics, report.show_metrics, as_it_is, call=report.metrics, name="explain"),
        Command(
            results.gate,
            report.show_gate,
            exit_code=lambda checked: 0 if checked.passed else 1,
            note="The exit code is then 1. The interval of the growth must lie above the margin, so chance alone "
            "fails at most 5 % of gates.",
        ),
        Command(
            api.replay,
            score.show_replay,
            exit_code=lambda replayed: int(bool(replayed.differences)),
            call=score.replay,
            note="The exit code is 0 if they are the same, 1 if not. Figures with a new definition are listed only.",
        ),
    ),
}
_UNLISTED = (
    # `action.yml` calls it, and people do who want WordNet in a folder of their own; other commands prepare it
    # themselves.
    Command(author_api.prepare_wordnet, author.show_wordnet, author.describe_wordnet, name="wordnet"),
    Command(api.join, release.show_release, release.describe_release),
)
"""Commands that work and are in no help."""

_OLD_NAMES = {
    "lists": "words list",
    "restore": "verify --restore",
    "metrics": "explain",
    "vectors": "model vectors",
    "probe": "model check",
    "plant": "model plant",
    "bias-score": "study bias-score",
    "corpus": "study corpus",
    "wat": "study wat",
    "slice": "study slice",
    "senses": "study senses",
    "senses show": "words show",
}
"""Command lines as they were before 0.3.0. None is removed: cards of frozen releases say `senseprobe wordnet WORD`
(which is `words show`), READMEs of exported tasks `senseprobe probe`, papers `senseprobe corpus`, and messages of older
results the others."""


def _add(entries: Sequence[Command | Group], added: AddedCommand) -> Iterator[Command | Group]:
    """Yield the entries of a panel with one more: in its group, behind the other groups, or at the end."""
    groups = [number for number, entry in enumerate(entries) if isinstance(entry, Group)]
    last = max(groups, default=-1) if isinstance(added.command, Group) else len(entries) - 1
    for number, entry in enumerate(entries):
        if isinstance(entry, Group) and entry.title == added.group:
            yield replace(entry, commands=(*entry.commands, added.command))
        else:
            yield entry
        if number == last and not added.group:
            yield added.command


def _find_panel(added: AddedCommand) -> str:
    """Return the panel of a command's group, or else its own; empty, with a notice, where there is no such group."""
    if not added.group:
        return added.panel
    groups = {entry.title: panel for panel, entries in PANELS.items() for entry in entries if isinstance(entry, Group)}
    if added.group not in groups:
        origin = f" of {added.origin}" if added.origin else ""
        reason = f"there is no group {added.group!r}: {offered(added.group, groups)}"
        log_warning(f"the command {added.id}{origin} is ignored: {reason}")
    return groups.get(added.group, "")


PANELS = dict(_CORE)
"""The panels of `senseprobe --help`, with the commands that rooms and plug-ins add."""

for _added in sorted(COMMANDS.values(), key=lambda added: bool(added.group)):  # first what may be a group of others
    if _panel := _find_panel(_added):
        PANELS[_panel] = (*_add(PANELS.get(_panel, ()), _added),)
        USES.update(_added.uses)
for _panel, _entries in PANELS.items():
    for _entry in _entries:
        _entry.add_to(app, panel=_panel)
for _entry in _UNLISTED:
    _entry.add_to(app, hidden=True)


def main() -> None:
    """Run the command line; print every error as one message, never a traceback."""
    # Threads of torch that wait for others sleep: else they spin for milliseconds after each layer, on a busy machine
    # at the cost of all others, and of their own. It is read when torch is loaded.
    os.environ.setdefault("OMP_WAIT_POLICY", "passive")
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):  # what a terminal has no sign for is escaped: an interval's ±, a name
            stream.reconfigure(errors="backslashreplace")
    try:
        app()
    except SenseprobeError as error:
        complain(str(error))
        sys.exit(error.exit_code)
    except SystemExit as exit_:
        if exit_.code != _INTERRUPTED:
            raise
        complain("interrupted; nothing was left half-written")
        sys.exit(2)
    except BrokenPipeError:
        sys.stderr.close()
        sys.exit(2)
    except OSError as error:
        complain(f"{error.filename or 'a file'}: {error.strerror or error}")
        sys.exit(2)
