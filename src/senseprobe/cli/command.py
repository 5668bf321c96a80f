"""A command as a row of a table: its options come from functions of the API, its help from their docstrings."""

import inspect
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, get_origin

import typer

from senseprobe.api.author import find_wordnet
from senseprobe.cli.console import print_json, print_note, print_sections
from senseprobe.cli.examples import USES, Use
from senseprobe.options import UNSTATED, Argument, DeclaredParameter, Option, parameters_of
from senseprobe.plugins import Registry, Unfit

_JSON = DeclaredParameter("as_json", bool, False, Option("--json", help="Print JSON with stable keys."))


def fine(value: object) -> int:
    """Return 0, whatever a command found."""
    return 0


def show_sections(value: Any) -> None:  # noqa: ANN401
    """Print the sections, or the one section, that a value makes of itself."""
    print_sections(value.sections() if hasattr(value, "sections") else [value.section()])


def as_it_is(value: Any) -> Any:  # noqa: ANN401
    """Return a value that is JSON already."""
    return value


def as_dict(value: Any) -> Any:  # noqa: ANN401 - what a function of the API returns
    """Return the dictionary that a value makes of itself."""
    return value.as_dict()


@dataclass(frozen=True, slots=True)
class Command:
    """What a command calls, prints and returns.

    Each of `call`, `show`, `json` and `exit_code` gets, by name, whichever options its parameters name, those three
    after the value that `call` returned. Options are the parameters that are declared on `function`, then on `others`,
    then on `call` and `show`, which have the command's own.

    - `function`: of the API; the first paragraph of its docstring is the command's help, `name` its name by default.
    - `call`: what is called, where that is not `function` itself; `say`, if it has that, hears what is noted.
    - `show`: prints the value; `json` makes of it what ``--json`` prints, an option that there is with it.
    - `note`: what the help also says, of the command alone.
    - `wordnet`: whether WordNet is prepared first, if it is found on this machine and was not prepared yet.
    """

    function: Callable[..., Any]
    show: Callable[..., None]
    json: Callable[..., object] | None = None
    exit_code: Callable[..., int] = fine
    call: Callable[..., Any] | None = None
    others: tuple[Callable[..., Any], ...] = ()
    name: str = ""
    note: str = ""
    wordnet: bool = False

    @property
    def title(self) -> str:
        """The command's name."""
        return self.name or self.function.__name__.replace("_", "-")

    def add_to(self, app: typer.Typer, above: str = "", panel: str | None = None, *, hidden: bool = False) -> None:
        """Make it a command of an application, behind the name of a group, in a panel of its help."""
        summary = inspect.getdoc(self.function) or ""
        text = summary.partition("\n\n")[0].replace("`", "")
        text = f"{text}\n\n{self.note}".strip()
        end = str(USES.get(f"{above} {self.title}".strip(), ""))
        app.command(self.title, help=text, epilog=end, rich_help_panel=panel, hidden=hidden)(self._function())

    def _function(self) -> Callable[..., None]:
        """Return the function that the library of command lines reads, and calls with what was typed."""
        functions = (self.function, *self.others, *((self.call,) if self.call else ()), self.show)
        parameters = [parameter for function in functions for parameter in parameters_of(function)]
        declared = {parameter.name: parameter for parameter in (*parameters, *([_JSON] if self.json else ()))}

        def run(**typed: Any) -> None:  # noqa: ANN401
            self._run({name: _value(parameter, typed) for name, parameter in declared.items()})

        typed = [shape for parameter in declared.values() for shape in _as_typed(parameter)]
        run.__signature__ = inspect.Signature(typed)  # type: ignore[attr-defined]
        run.__annotations__ = {parameter.name: parameter.annotation for parameter in typed}
        return run

    def _run(self, options: Mapping[str, Any]) -> None:
        if self.wordnet:
            find_wordnet(print_note)
        value = self._call(self.call or self.function, {**options, "say": print_note})
        if self.json and options["as_json"]:
            print_json(self._call(self.json, options, value))
        else:
            self._call(self.show, options, value)
        if code := self._call(self.exit_code, options, value):
            raise typer.Exit(code)

    def _call(self, function: Callable[..., Any], options: Mapping[str, Any], *values: object) -> Any:  # noqa: ANN401
        """Call a function with values, and with options that it names; with all of the API's, if it takes any."""
        parameters = inspect.signature(function).parameters
        names = {*[*parameters][len(values) :]}
        if any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters.values()):
            names |= {option.name for source in (self.function, *self.others) for option in parameters_of(source)}
        return function(*values, **{name: option for name, option in options.items() if name in names})


@dataclass(frozen=True, slots=True)
class Group:
    """Commands behind one name."""

    title: str
    help: str
    commands: "tuple[Command | Group, ...]"

    def add_to(self, app: typer.Typer, above: str = "", panel: str | None = None) -> None:
        """Make it a group of an application, behind the name of another group, in a panel of its help."""
        name = f"{above} {self.title}".strip()
        group = typer.Typer(help=self.help, epilog=str(USES.get(name, "")), no_args_is_help=True)
        for command in self.commands:
            command.add_to(group, name)
        app.add_typer(group, name=self.title, rich_help_panel=panel)


@dataclass(frozen=True, kw_only=True, slots=True)
class AddedCommand:
    """A command, or a group of commands, of a room that can be missing or of a plug-in.

    - `id`: its name in the registry; people type the name of the `command`.
    - `panel`: of `senseprobe --help`; `group`: the group that it stands in, empty where it stands in none.
    - `uses`: when it is used, with two examples, by the name that people type; of a group for each of its commands.
    """

    id: str
    command: Command | Group
    panel: str = "More"
    group: str = ""
    uses: Mapping[str, Use] = field(default_factory=dict)
    origin: str = ""


def _admit(added: AddedCommand) -> AddedCommand:
    if not isinstance(added.command, Command | Group):
        raise Unfit(f"its command is a {type(added.command).__name__}, not a Command or a Group")
    return added


COMMANDS = Registry("senseprobe.commands", AddedCommand, "command", (), _admit)
"""Commands of rooms that can be missing, then those of plug-ins, by id."""


def _value(parameter: DeclaredParameter, typed: Mapping[str, Any]) -> Any:  # noqa: ANN401
    """Return what a function gets for what was typed: its own default where nothing was."""
    option, value = parameter.option, typed[parameter.name]
    if option.also and (also := typed[f"also_{parameter.name}"]) is not None:
        value = [*(value or ()), *also] if isinstance(also, list) else also
    if option.old and (old := typed[f"old_{parameter.name}"]) is not None:
        if value not in (_default_of(parameter), old):
            raise typer.BadParameter(f"{option.old} is its old name: give one of the two", param_hint=parameter.flag)
        print_note(f"{option.old} is now called {option.flags or parameter.flag}")
        value = old
    if value is None or value == []:
        return None if parameter.default is inspect.Parameter.empty else parameter.default
    if option.parse is None:
        return value
    try:
        return option.parse(value)
    except ValueError as error:
        raise typer.BadParameter(str(error), param_hint=parameter.flag) from None


def _default_of(parameter: DeclaredParameter) -> Any:  # noqa: ANN401
    """Return what stands for an option in a command line that does not have it."""
    return parameter.default if parameter.option.default is UNSTATED else parameter.option.default


def _as_typed(parameter: DeclaredParameter) -> Iterator[inspect.Parameter]:
    """Yield a parameter as the library of command lines has it, and its other names."""
    option, kind = parameter.option, parameter.type
    kind_or_none: Any = kind | None
    default = _default_of(parameter)
    if default is None or (get_origin(kind) is list and default == ()):
        kind, default = kind_or_none, None
    facts: dict[str, Any] = {
        "help": option.help,
        "metavar": option.metavar,
        "min": option.least,
        "max": option.most,
        "show_default": option.shown_default or option.shown_default is None,
        "autocompletion": _COMPLETIONS[option.completes],
        "envvar": option.variable,
        "hidden": option.hidden,
    }
    make: Any = typer.Argument if isinstance(option, Argument) else typer.Option
    information = make(*option.flags.split(), **facts)
    keyword = inspect.Parameter.KEYWORD_ONLY
    yield inspect.Parameter(parameter.name, keyword, default=default, annotation=Annotated[kind, information])
    for name, names in (("old", option.old), ("also", option.also)):
        if names:
            information = typer.Option(*names.split(), **facts | {"hidden": True, "show_default": False})
            other = Annotated[kind_or_none, information]
            yield inspect.Parameter(f"{name}_{parameter.name}", keyword, default=None, annotation=other)


def _complete_dataset(incomplete: str) -> list[str]:
    from senseprobe.api.author import names_beginning

    return names_beginning(incomplete)


def _complete_release(incomplete: str) -> list[str]:
    from senseprobe.api.author import names_beginning

    return names_beginning(incomplete, releases=True)


_COMPLETIONS = {"": None, "dataset": _complete_dataset, "release": _complete_release}
