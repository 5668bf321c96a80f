"""What DESIGN section 1 promises of the code's shape, read from syntax trees and from fresh interpreters."""

import ast
import importlib
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from graphlib import TopologicalSorter
from inspect import isfunction
from pathlib import Path

import pytest
import typer

import senseprobe
from senseprobe.cli.application import app
from senseprobe.evaluate.estimands import CATALOGUE
from senseprobe.evaluate.estimands.inference_rows import LABELS

ROOT = Path(__file__).parent.parent
SPINE = ROOT / "src" / "senseprobe"
CODE_FOLDERS = ("annotation", "evaluate", "generator")

# A room may import those below it. `errors` names `records` for types.
BELOW: dict[str, set[str]] = {"options": set(), "records": set(), "messages": set(), "errors": {"records"}}
BELOW |= {leaf: {"records", "errors", "messages"} for leaf in ("atomic_files", "project")}
BELOW |= {"charts": set(), "document": {"charts", "messages"}, "exchange": set()}
BELOW |= {"plugins": {"errors", "messages"}}
BELOW |= {"tables": {"atomic_files", "messages"}, "parquet_files": {"tables"}}
BELOW |= {"arrays": {"errors", "messages", "tables"}, "word_vectors": {"arrays", "messages"}}
BELOW |= {room: {*BELOW} for room in ("lexicon", "statistics")}
BELOW |= {"release": {*BELOW}}
BELOW |= {room: {*BELOW} for room in CODE_FOLDERS}
LEAVES = {"records", "errors", "messages", "atomic_files", "project", "tables", "parquet_files"}
BELOW |= {"scaffold": {*LEAVES, "lexicon", "generator"}}
BELOW |= {room: {*LEAVES, "exchange", "lexicon", "statistics", "release"} for room in ("hub", "importers")}
BELOW["importers"] |= {"plugins"}
BELOW |= {"recipes": {"records", "errors", "messages", "release", "generator", "importers"}}
BELOW |= {"release_pieces": {*BELOW["recipes"], "atomic_files", "recipes", "tables"}}
BELOW |= {"progress": {"messages"}}
BELOW |= {"engines": {"records", "errors", "messages", "tables", "plugins"}}
BELOW |= {"api": {*BELOW}}
BELOW |= {"cli": {*BELOW}}
# Rooms that register themselves stand above all that they use, and nobody imports them: each can be missing.
ROOMS_OF_EVALUATION = {
    "evaluate.exports",
    "evaluate.mitigation",
    "evaluate.senses",
    "evaluate.served",
    "evaluate.texts",
}
ROOMS_OF_KINDS = {"kinds.descriptor", "kinds.question"}
REGISTERED = ROOMS_OF_EVALUATION | ROOMS_OF_KINDS
BELOW |= {room: {*BELOW} for room in ROOMS_OF_EVALUATION}
BELOW["evaluate.exports"] |= {"evaluate.served"}  # by tasks of Inspect alone, which are refused without it
BELOW |= {"kinds": {*BELOW["evaluate"], "evaluate", "generator"}}
# Scorers of chat models alone need `evaluate.served`: without it the rest of the room is there.
BELOW |= {room: {*BELOW} - ROOMS_OF_EVALUATION | {"evaluate.served"} for room in ROOMS_OF_KINDS}
# "" is senseprobe/__init__.py, which exports the types that the API returns, and names of rooms that can be missing.
BELOW |= {"__main__": {"cli"}, "": {"records", "errors", "api", "release", "annotation", "evaluate", *REGISTERED}}

HEAVY = {"torch", "transformers", "datasets", "label_studio_sdk", "numpy", "pandas", "pyarrow", "scipy"}


def _modules() -> dict[str, Path]:
    """Our modules by dotted name below `senseprobe`, from real folders; the links that join them are not followed."""
    roots = {SPINE: SPINE, **{ROOT / folder: ROOT for folder in CODE_FOLDERS}}
    found = {
        path.relative_to(start).with_suffix(""): path
        for folder, start in roots.items()
        for path in folder.rglob("*.py")
        if not any((SPINE / linked) in path.parents for linked in CODE_FOLDERS)
    }
    return {".".join(name.parts).removesuffix("__init__").rstrip("."): path for name, path in sorted(found.items())}


MODULES = _modules()
COMMANDS = {command.name or "": command for command in typer.main.get_group(app).commands.values()}


@cache
def _tree(module: str) -> ast.Module:
    """The syntax tree of a module, parsed once."""
    return ast.parse(MODULES[module].read_text(encoding="utf-8"))


def _imported(module: str) -> Iterator[str]:
    """Every module that a module imports, at any depth and under TYPE_CHECKING too; `from a import b` gives a.b."""
    for node in ast.walk(_tree(module)):
        if isinstance(node, ast.Import):
            yield from (name.name for name in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from (f"{'.' * node.level}{node.module or ''}.{name.name}" for name in node.names)


def _room_of(module: str) -> str:
    """Return the room of a module below `senseprobe`."""
    first, _, rest = module.partition(".")
    inner = f"{first}.{rest.partition('.')[0]}"
    return inner if inner in REGISTERED else first


def test_there_is_code_to_look_at() -> None:
    """The other tests of this file look at every room, not at an empty list."""
    assert {_room_of(name) for name in MODULES} == {*BELOW}


@pytest.mark.parametrize("module", MODULES)
def test_imports_go_one_way(module: str) -> None:
    """A room imports itself and the rooms below it, by full name, and nobody imports the package's root."""
    room = _room_of(module)
    ours = [name for name in _imported(module) if name.partition(".")[0] in {"senseprobe", ""}]
    rooms = {_room_of(name.removeprefix("senseprobe.")) for name in ours}

    assert rooms <= {room, *BELOW[room]}


def test_imports_make_no_circle() -> None:
    """A module can be understood after those that it imports, in functions and for the type checker, too."""
    names = {f"senseprobe.{module}": module for module in MODULES}
    graph: dict[str, set[str]] = {module: set() for module in MODULES}
    for module in MODULES:
        for name in _imported(module):
            imported = names.get(name, names.get(name.rpartition(".")[0], module))
            graph[module] |= {imported} - {module}

    TopologicalSorter(graph).prepare()  # which raises CycleError, with the circle


@pytest.mark.parametrize("module", [name for name in MODULES if name.startswith("cli")])
def test_commands_call_the_api_alone(module: str) -> None:
    """A command imports the API, what commands share, and the tables that they print; types for the checker apart."""
    tree = _tree(module)
    for_types = {
        id(node)
        for block in ast.walk(tree)
        if isinstance(block, ast.If) and ast.unparse(block.test) == "TYPE_CHECKING"
        for node in ast.walk(block)
    }
    imports = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and id(node) not in for_types]
    ours = {(node.module or "") for node in imports if (node.module or "").startswith("senseprobe.")}

    assert {name.split(".")[1] for name in ours} <= {
        "api",
        "cli",
        "document",
        "errors",
        "messages",
        "options",
        "plugins",
    }


@pytest.mark.parametrize("module", MODULES)
def test_sizes_stay_in_their_budgets(module: str) -> None:
    """No file has more than 450 lines, and no function a body of more than 60."""
    text = MODULES[module].read_text(encoding="utf-8")
    nodes = [node for node in ast.walk(_tree(module)) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    long = {node.name: _body_lines(node) for node in nodes if _body_lines(node) > 60}

    assert len(text.splitlines()) <= 450
    assert long == {}


def _body_lines(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """Lines of a function from its docstring on."""
    return (function.end_lineno or 0) - function.body[0].lineno + 1


def test_code_lies_two_folders_deep_at_most() -> None:
    """Code lies in a room or in one folder of it: evaluate/models/x.py, and no deeper."""
    assert [name for name, path in MODULES.items() if len(name.split(".")) + (path.name == "__init__.py") > 3] == []


@pytest.mark.parametrize("module", [name for name, path in MODULES.items() if "__all__" in path.read_text()])
def test_exported_names_are_sorted_and_exist(module: str) -> None:
    """`__all__` lists constants, classes and functions, each sorted, once, and each name is there."""
    home = importlib.import_module(f"senseprobe.{module}" if module else "senseprobe")
    order = sorted(set(home.__all__), key=lambda name: (not name.isupper(), not name[0].isupper(), name))

    assert home.__all__ == order
    assert [name for name in order if not hasattr(home, name)] == []


def test_the_public_api_is_small() -> None:
    """`senseprobe` has at most 40 public names, those that notebooks need, and `annotate` at most 10 functions."""
    assert len(senseprobe.__all__) <= 50
    assert {*senseprobe.__all__} >= {"load", "build", "verify", "score", "load_result", "report", "lint", "annotate"}
    assert {*dir(senseprobe)} == {*senseprobe.__all__}
    functions = filter(isfunction, vars(senseprobe.annotate).values())
    own = {function.__name__ for function in functions if function.__module__ == senseprobe.annotate.__name__}
    assert len([name for name in own if name[0] != "_"]) <= 10


# The only modules that open a file of a format. `cli.release` splits the values of an option; `limits` counts the
# tensors of a checkpoint with the library that loads it next, so that both call the same files damaged. What plug-ins,
# transformers and torch open themselves is none of ours.
READERS = {
    r"csv\.(reader|DictReader)": {"tables", "cli.release"},
    r"json\.loads?": {"tables"},
    r"numpy\.(load|memmap|fromfile|loadtxt|genfromtxt)": {"arrays", "word_vectors"},
    r"safetensors\.(.*\.)?(safe_open|load|load_file)": {"evaluate.models.limits"},
    r"pyarrow\.(parquet\.(ParquetFile|ParquetDataset|read_\w+)|csv|json|feather|dataset)": {"parquet_files"},
    r"pandas\.(read_\w+|json_normalize)": set(),
}


@cache
def _called(module: str) -> set[str]:
    """Full names of what a module calls, or hands on to be called: ``np.load`` is ``numpy.load``."""
    names: dict[str, str] = {}
    parts: list[ast.expr] = []
    for node in ast.walk(_tree(module)):
        if isinstance(node, ast.Import):
            names |= {name.asname: name.name for name in node.names if name.asname}
        elif isinstance(node, ast.ImportFrom):
            names |= {name.asname or name.name: f"{node.module}.{name.name}" for name in node.names}
        elif isinstance(node, ast.Call):
            parts += [node.func, *node.args, *(keyword.value for keyword in node.keywords)]
        elif isinstance(node, ast.arguments):
            parts += filter(None, (*node.defaults, *node.kw_defaults))
    dotted = [ast.unparse(part).partition(".") for part in parts if isinstance(part, ast.Name | ast.Attribute)]
    return {names.get(first, first) + dot + rest for first, dot, rest in dotted}


@pytest.mark.parametrize(("pattern", "modules"), READERS.items())
def test_each_format_has_one_reader(pattern: str, modules: set[str]) -> None:
    """Files of others are read where bounds, byte-order marks and line numbers are seen to, and nowhere else."""
    assert {module for module in MODULES if any(re.fullmatch(pattern, name) for name in _called(module))} == modules


# Where a design lists its estimands; then names that mean something else (a string in a message, a key of JSON).
LISTING_ESTIMANDS = {
    "generator.kinds.association", "generator.kinds.contrast", "generator.kinds.inference", "generator.schema",
    "importers.sentence_pairs", "importers.sssb", "importers.stereoset",
    "importers.table_kinds",
}  # fmt: skip
OTHER_MEANINGS = {
    "annotation.annotators",
    "evaluate.scorers.association",
    "evaluate.senses.scorers",
    "evaluate.served.gates",
    "generator.checks.codes",
}


def test_nobody_compares_the_name_of_an_estimand() -> None:
    """What differs by estimand is its behaviour: no other module has an id of one, but to list those of a design.

    The three labels of inference are ids, too, and are left out.
    """
    ids = {*CATALOGUE} - {*LABELS}

    def named(node: ast.AST) -> bool:
        return any(isinstance(part, ast.Constant) and str(part.value) in ids for part in ast.walk(node))

    declaring = ("evaluate.estimands", "evaluate.senses.estimands", "evaluate.served.content", "kinds.")
    outside = {name for name in MODULES if not name.startswith(declaring) and named(_tree(name))}
    nodes = [node for name in LISTING_ESTIMANDS for node in ast.walk(_tree(name))]

    assert outside == LISTING_ESTIMANDS | OTHER_MEANINGS
    assert [ast.unparse(node) for node in nodes if isinstance(node, ast.Compare) and named(node)] == []


# A fresh interpreter tells what it has loaded after the import, after the help of all commands, then after that of
# each, which is asked for in a fork, and so has loaded nothing for another. Each line: modules as JSON.
LOADED = """
import json, os, sys
import senseprobe

def tell():
    os.write(report, json.dumps([*sys.modules]).encode() + b"\\n")

def help(*command):
    try:
        app([*command, "--help"])
    except SystemExit as end:
        if not end.code:
            tell()

report = os.dup(1)
sys.stdout = open(os.devnull, "w")
dir(senseprobe), senseprobe.SenseprobeError, senseprobe.Finding
tell()
from senseprobe.cli.application import app
help()
for command in sys.argv[1:]:
    child = os.fork()
    if not child:
        help(command)
        os._exit(0)
    os.waitpid(child, 0)
"""
IMPORT = "import senseprobe"


@pytest.fixture(scope="module")
def loaded() -> dict[str, set[str]]:
    """The modules that are loaded by `import senseprobe`, and by the help of each command."""
    command = [sys.executable, "-P", "-c", LOADED, *COMMANDS]
    ran = subprocess.run(command, capture_output=True, text=True, check=True)
    lines = [{*json.loads(line)} for line in ran.stdout.splitlines()]
    return dict(zip((IMPORT, "", *COMMANDS), lines, strict=True))


# Takes long: the first waits for the process that asks every command for help.
def test_importing_senseprobe_is_light(loaded: dict[str, set[str]]) -> None:
    """`import senseprobe` and looking at its errors and records loads no heavy library."""
    assert "senseprobe.records" in loaded[IMPORT]
    assert "senseprobe.cli" not in loaded[IMPORT]
    assert loaded[IMPORT] & HEAVY == set()


@pytest.mark.parametrize("command", ["", *COMMANDS])
def test_help_is_light(loaded: dict[str, set[str]], command: str) -> None:
    """`senseprobe --help`, and that of each command, loads no heavy library."""
    assert "senseprobe.cli.score" in loaded[command]
    assert loaded[command] & HEAVY == set()


@pytest.mark.parametrize("name", [name for name, command in COMMANDS.items() if not command.hidden])
def test_commands_are_documented(name: str) -> None:
    """Every command has a help text, and README, or a page that somebody wrote, has a line that runs it."""
    assert (COMMANDS[name].help or "").strip().endswith(".")
    pages = {ROOT / "README.md", *(ROOT / "docs").glob("*.md")} - {
        ROOT / "docs" / "commands.md",
        ROOT / "docs" / "api.md",
    }
    assert any(f"senseprobe {name}" in page.read_text(encoding="utf-8") for page in pages)
