"""Options that are declared on functions, and the commands that are made of them."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer
from typer.testing import CliRunner, Result

from senseprobe.cli.command import Command
from senseprobe.options import Argument, Option, parameters_of

if TYPE_CHECKING:
    from no_such_library import Tensor  # type: ignore[import-not-found]


def _tokens(text: str) -> int | None:
    if text != "auto" and not text.isdecimal():
        raise ValueError(f"{text}: expected auto, or a number of tokens")
    return None if text == "auto" else int(text)


def shorten(
    model: 'Annotated[Tensor | str | Path, Argument(metavar="MODEL", help="A model.")]',
    names: 'Annotated[str | Sequence[str], Option("--name -n", help="Names.")]' = (),
    *,
    tokens: 'Annotated[int | None, Option(old="--batch", type=str, default="auto", parse=_tokens, help="T.")]' = None,
    to: 'Annotated[str | Path | None, Option(help="Where.")]' = None,
    rule: 'Annotated[Literal["a", "b"], Option(help="How.")]' = "a",
    weights: "Sequence[Tensor] | Tensor.Kind[int] | None" = None,
    strict: 'Annotated[bool | None, Option("--strict", help="Whether.")]' = None,
) -> dict[str, object]:
    """Shorten ``things`` of a `model`.

    This is for Python alone.
    """
    return {"model": model, "names": names, "tokens": tokens, "to": to, "rule": rule, "w": weights, "strict": strict}


def _print(value: object) -> None:
    typer.echo(str(value))


def _run(*words: str, command: Command | None = None) -> Result:
    app = typer.Typer()
    (command or Command(shorten, _print, json=lambda value: value["tokens"])).add_to(app)
    return CliRunner().invoke(app, words)


def test_types_are_read_and_those_of_no_import_are_texts() -> None:
    """`Tensor` cannot be imported here: a name that only the type checker imports is never evaluated."""
    declared = {parameter.name: parameter.type for parameter in parameters_of(shorten)}

    assert declared == {
        "model": str,
        "names": list[str],
        "tokens": str,
        "to": Path,
        "rule": Literal["a", "b"],
        "strict": bool,
    }


def test_a_function_gets_its_own_defaults_where_nothing_is_typed() -> None:
    told = eval(_run("x").stdout)  # noqa: S307 - the dictionary that we printed

    assert told == {"model": "x", "names": (), "tokens": None, "to": None, "rule": "a", "w": None, "strict": None}


def test_what_is_typed_is_parsed_and_an_old_name_is_noted() -> None:
    """12 tokens by either name; the note is on standard error, and names the new one."""
    new, old = (_run("x", *words, "--json") for words in (("--tokens", "12"), ("--batch", "12")))

    assert json.loads(new.stdout) == json.loads(old.stdout) == 12
    assert (new.stderr, "--batch" in old.stderr, "--tokens" in old.stderr) == ("", True, True)


def test_what_cannot_be_parsed_is_misuse() -> None:
    refused = _run("x", "--tokens", "many")

    assert refused.exit_code == 2
    assert "--tokens" in refused.stderr
    assert "expected auto" in refused.stderr


def test_help_is_the_first_paragraph_without_its_marks() -> None:
    """The old name of an option is not in it."""
    shown = _run("--help").stdout

    assert "Shorten things of a model." in shown
    assert "Python alone" not in shown
    assert "--batch" not in shown


def test_a_command_has_options_of_its_own_and_an_exit_code() -> None:
    """`show` and `exit_code` name what they want to know."""

    def show(value: object, rule: str, loud: 'Annotated[bool, Option("--loud", help="Print more.")]' = False) -> None:
        typer.echo(f"{rule} {loud}")

    command = Command(shorten, show, exit_code=lambda value, rule: int(rule == "b"))
    ran = _run("x", "--rule", "b", "--loud", command=command)

    assert (ran.stdout, ran.exit_code) == ("b True\n", 1)


def test_who_takes_all_options_gets_those_of_the_api() -> None:
    """Neither ``--json`` nor what `show` declares is a parameter of `shorten`."""

    def call(model: str, **options: object) -> dict[str, object]:
        return {"tokens": sorted(options)}

    def show(value: object, loud: 'Annotated[bool, Option("--loud", help="Print more.")]' = False) -> None:
        raise AssertionError(value, loud)

    command = Command(shorten, show, json=lambda value: value["tokens"], call=call)

    assert json.loads(_run("x", "--json", command=command).stdout) == ["names", "rule", "strict", "to", "tokens"]
