"""Writes docs/api.md from signatures and docstrings: `python docs/make_api.py > docs/api.md`."""

import ast
import inspect
import re
import sys
import types
from collections.abc import Callable, Iterator
from typing import Any

import senseprobe
from senseprobe.options import parameters_of

HEAD = """\
# The Python API

Every command is also a function. This page lists all public names of `senseprobe`. Some functions are elsewhere:
`senseprobe.api.author` has `words list` and `words add`, `senseprobe.api` has `score --dry-run` (`estimate`), `--plan`,
`--shard` and `--join` (`plan_scores`, `score_shard`, `join_scores`), and `--workers` with its options (`workers`), and
`senseprobe.api.results` has `report --brief` (`brief`). Each name is loaded at its first use, so `import senseprobe` is
fast. `python docs/make_api.py` generates this page from signatures and docstrings; the tests run its examples.

```python
import senseprobe

release = senseprobe.load("sssb@1.0.2")
print(release)
rows = release.to_pandas("noun-bare")
print(rows[["stereo", "anti"]].head(2).to_string())
```

This example trains a small model with a known preference. You can use any model of the Hugging Face Hub instead:

```python
senseprobe.plant("sssb@1.0.2:noun-bare", "model")
(result,) = senseprobe.score("model", release, "aul", config="noun-bare", out="results")
print(result.to_frame()[["estimand", "value", "low", "high"]].to_string())
page = senseprobe.report(result, "report.html")
```

`report`, `compare(out=...)` and `annotate.report` write whole pages. The methods `sections()` and `document()` return
text, tables and charts that are not rendered yet. For a section, `print(section)` shows it as text, and
`senseprobe.document.render_section(section)` returns Markdown. For a document, `senseprobe.document` has
`render_html(document)` and `render_markdown(document)`.
"""

GROUPS = {
    "Releases": "load build build_shard join verify diff restore publish pull import_release import_project export"
    " Release Diff",
    "Authoring": "init new lint count preview Finding",
    "Scores": "fetch model vectors server draft score plant replay load_result compare gate slice report metrics Result"
    " Comparison Figure Design",
    "Annotation": "annotate Agreement Adjudication",
    "Errors": "SenseprobeError AnnotationError DamagedRelease DeclarationError LexiconError ModelError ReleaseError"
    " ResultError",
}


def page() -> str:
    """Return the page, in Markdown."""
    return "\n".join([HEAD, *_sections()])


def _sections() -> Iterator[str]:
    for title, names in GROUPS.items():
        yield f"## {title}\n"
        for name in names.split():
            yield from _entry(f"senseprobe.{name}", getattr(senseprobe, name))


def _entry(name: str, thing: Any) -> Iterator[str]:  # noqa: ANN401 - a function, a class or a module
    """Yield the Markdown of a function, a class with what it offers, or a namespace with its functions."""
    yield f"### {name}\n"
    if inspect.ismodule(thing):
        yield _text(thing.__doc__)
        for function in _functions(thing):
            yield from _function(f"{name}.{function.__name__}", function, "####")
    elif inspect.isclass(thing):
        yield _text(thing.__doc__)
        if not issubclass(thing, Exception):
            yield from _members(thing)
    else:
        yield from _function("", thing, "")


def _functions(module: types.ModuleType) -> list[types.FunctionType]:
    """Return the public functions that a module defines."""
    functions = [thing for name, thing in vars(module).items() if inspect.isfunction(thing) and name[0] != "_"]
    return [function for function in functions if function.__module__ == module.__name__]


def _members(kind: type) -> Iterator[str]:
    for name, member in vars(kind).items():
        doc = inspect.getdoc(member)
        if name.startswith("_") or not doc or not (inspect.isfunction(member) or isinstance(member, property)):
            continue
        signature = "" if isinstance(member, property) else _signature(member)
        yield f"- `.{name}{signature}`: {doc.partition(chr(10) * 2)[0].replace(chr(10), ' ')}"
    yield ""


def _function(name: str, function: Callable[..., Any], level: str) -> Iterator[str]:
    if level:
        yield f"{level} {name}\n"
    short = getattr(function, "__name__", "")
    yield f"```text\n{short}{_signature(function)}\n```\n"
    yield _text(function.__doc__)
    if helps := [f"- `{each.name}`: {each.option.help}" for each in parameters_of(function) if each.option.help]:
        yield "\n".join(helps) + "\n"


def _signature(function: Callable[..., Any]) -> str:
    """Return a signature as it is written, with the types as they are in the source."""
    signature = inspect.signature(function)
    parameters = [
        parameter.replace(annotation=_type(parameter.annotation))
        for parameter in signature.parameters.values()
        if parameter.name != "self"
    ]
    text = str(signature.replace(parameters=parameters)).replace("'", "")
    text = re.sub(r"<function (\w+) at 0x[0-9a-f]+>|<built-in function (\w+)>", r"\1\2", text)
    return re.sub(r"\b(?:collections\.abc|typing|pathlib|senseprobe(?:\.\w+)*)\.", "", text)


def _type(annotation: object) -> object:
    """Return a type as it is written, without what is declared of an option."""
    if not (isinstance(annotation, str) and annotation.startswith("Annotated[")):
        return annotation
    parts: Any = ast.parse(annotation, mode="eval").body
    return ast.unparse(parts.slice.elts[0])


def _text(doc: str | None) -> str:
    """Return a docstring as Markdown: names in one pair of backticks, and examples as code."""
    text = inspect.cleandoc(doc or "").replace("``", "`")
    return re.sub(r"^>>> .*?(?=\n\n|\Z)", r"```pycon\n\g<0>\n```", text, flags=re.M | re.S) + "\n"


if __name__ == "__main__":
    sys.stdout.write(page())
