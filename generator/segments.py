"""Compiles a frame to segments: literal text, and small templates that each depend on few names.

There is one sandboxed, immutable environment; a frame is parsed and compiled once. The whitelist of syntax is the real
guard: the sandbox alone would let `'a' * 10**9` allocate gigabytes.
"""

import re
import unicodedata
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from math import isfinite

import jinja2
from jinja2 import nodes
from jinja2.sandbox import ImmutableSandboxedEnvironment

from senseprobe.generator.english import MARK
from senseprobe.generator.word_lists import Word
from senseprobe.messages import unprintable

MAX_SENTENCE = 10_000  # characters that a sentence may have

_ALLOWED = (
    nodes.Template, nodes.Output, nodes.TemplateData, nodes.Name, nodes.Getattr, nodes.Const, nodes.If, nodes.CondExpr,
    nodes.Compare, nodes.Operand, nodes.And, nodes.Or, nodes.Not, nodes.Filter, nodes.List, nodes.Tuple,
)  # fmt: skip

_OF_SUBJECT = "agree"  # the filter that has an argument

_TAG = re.compile(r"(?=\{[{%])")
_TAG_OR_TEXT = re.compile(r"(\{[{%].*?[%}]\})|.")


_LACKS_BRACE = re.compile(r"\{\{[^{}%#]*\}(?!\})|(?<!\{)\{[^{}%#]*\}\}")
"""An output that lacks one of its four braces."""


class FrameError(Exception):
    """The frame cannot be compiled; with a code, a message, the column from 1, and what `mends` it there."""

    def __init__(
        self, code: str, message: str, column: int = 1, hint: str = "", mends: tuple[str, str] | None = None
    ) -> None:
        self.code, self.message, self.column, self.hint, self.mends = code, message, column, hint, mends
        super().__init__(message)


class _Sandbox(ImmutableSandboxedEnvironment):
    """`slot.column` is a cell of the word's row and nothing else."""

    def getattr(self, obj: object, attribute: str) -> object:
        if not isinstance(obj, Word):
            return self.undefined(f"{attribute!r} needs a word in front of the dot")
        return obj.columns[attribute] if attribute in obj.columns else self.undefined(f"unknown column {attribute!r}")


def _printable(value: object) -> object:
    if value is None:
        raise jinja2.UndefinedError("an empty cell cannot be printed")
    if isinstance(value, (bool, list, tuple)):
        raise jinja2.TemplateRuntimeError(f"{value!r} is not text")
    return value


def environment(filters: Mapping[str, Callable[..., str]]) -> jinja2.Environment:
    """Return a strict and sandboxed environment for all frames, without globals and tests, with `filters` only."""
    env = _Sandbox(undefined=jinja2.StrictUndefined, keep_trailing_newline=True, finalize=_printable, cache_size=0)
    env.globals.clear()
    env.tests.clear()
    env.filters = {name: partial(_apply, name, work) for name, work in filters.items()}
    return env


def _apply(name: str, work: Callable[..., str], *values: object) -> str:
    for value in values:
        if not isinstance(value, str):
            raise jinja2.TemplateRuntimeError(f"filter {name!r} needs text, but got {value!r}")
    return work(*values)


@dataclass(frozen=True, slots=True)
class Segment:
    """A stretch of a frame: `source` evaluates it from the names in `reads`; `prints` are those that it outputs.

    A literal reads nothing. `block` is true for an `{% if %}`, whose text is more than a word. Where the segment is
    only a text or a word, `source` is that text or the word's name, `filters` are applied to the word, and Jinja, which
    takes ten times as long, is not used.
    """

    source: jinja2.Template | str
    reads: tuple[str, ...]
    prints: frozenset[str]
    block: bool = False
    filters: tuple[Callable[[object], str], ...] = ()

    def render(self, values: Mapping[str, Word]) -> tuple[str, int]:
        """Return the text, and how many of its characters are the article with its blank."""
        if isinstance(self.source, str):
            text = values[self.source] if self.reads else self.source
            for work in self.filters:
                text = work(text)
        else:
            text = self.source.render(values)
        return text.replace(MARK, ""), text.find(MARK) + 1


@dataclass(frozen=True, slots=True)
class CompiledFrame:
    """The segments of a frame, and every reference in it as (name, column or None, column of the line from 1)."""

    segments: tuple[Segment, ...]
    references: tuple[tuple[str, str | None, int], ...]


def compile_frame(env: jinja2.Environment, source: str) -> CompiledFrame:
    """Parse a frame, check it against the whitelist and cut it into segments; raise FrameError where it is invalid."""
    if (at := unprintable(source)) is not None:
        odd = source[at]
        name = unicodedata.name(odd, "a control character").lower()
        hint = "write an ordinary space" if odd.isspace() else "remove it"
        raise FrameError("E106", f"the frame contains U+{ord(odd):04X}, {name}", at + 1, hint)
    if (at := source.find("{#")) >= 0:
        hint = "write an id at the end of the frame, with lower-case letters, digits and hyphens: {# id: bridge #}"
        raise FrameError("E106", "a comment in a frame, or an invalid id", at + 1, hint)
    if len(source) > MAX_SENTENCE:
        raise FrameError("E108", f"the frame has {len(source)} characters; the limit is {MAX_SENTENCE}")
    try:
        return _compile(env, source)
    except jinja2.TemplateSyntaxError as error:
        if match := _LACKS_BRACE.search(source):
            whole = f"{{{{ {match[0].strip('{}').strip()} }}}}"
            hint = f"write {whole}, with two braces on each side"
            raise FrameError("E107", f"not a frame: {match[0]}", match.start() + 1, hint, (match[0], whole)) from None
        unclosed = max(source.rfind("{{"), source.rfind("{%"), 0) + 1
        raise FrameError("E107", f"not a frame: {error.message}", unclosed) from None
    except jinja2.TemplateError as error:
        raise FrameError("E107", f"not a frame: {error.message}") from None
    except (RecursionError, SyntaxError, ValueError):
        # Jinja writes Python code, which has limits of its own on nesting and on digits.
        raise FrameError("E107", "not a frame: nested too deeply, or a number with too many digits") from None


def _compile(env: jinja2.Environment, source: str) -> CompiledFrame:
    tree = env.parse(source)
    for node in tree.find_all(nodes.Node):
        if not isinstance(node, _ALLOWED):
            hint = "allowed: output, if, inline if, comparisons, and, or, not, in, and filters"
            message = f"{type(node).__name__} is not allowed in a frame"
            raise FrameError("E106", message, _tag(node, env, source), hint)
        _check(node, env, source)
    pieces = (piece for node in tree.body for piece in (node.nodes if isinstance(node, nodes.Output) else [node]))
    segments = tuple(_segment(env, piece) for piece in pieces)
    if not segments:
        raise FrameError("E107", "not a frame: it does not print anything")
    return CompiledFrame(segments, tuple(_references(tree, source)))


def _tag(node: nodes.Node, env: jinja2.Environment, source: str) -> int:
    """Return the column from 1 of the tag with the first node of this type."""
    # Jinja's nodes know their line only, so each tag gets a line of its own.
    starts = [0, *(tag.start() for tag in _TAG.finditer(source))]
    tree = env.parse(_TAG.sub("\n", source))
    line = next((same.lineno for same in tree.find_all(nodes.Node) if type(same) is type(node)), 1)
    return starts[min(line or 1, len(starts)) - 1] + 1  # some nodes have no line at all


def _check(node: nodes.Node, env: jinja2.Environment, source: str) -> None:
    if isinstance(node, nodes.Filter):
        column = _column(source, node.name)
        if node.name not in env.filters:
            raise FrameError(
                "E106", f"unknown filter {node.name!r}", column, f"filters: {', '.join(sorted(env.filters))}"
            )
        plain = not (node.kwargs or node.dyn_args or node.dyn_kwargs)
        if node.name == _OF_SUBJECT and not (plain and [type(name) for name in node.args] == [nodes.Name]):
            raise FrameError("E106", f"filter {node.name!r} needs the name of its subject", column, "verb | agree(who)")
        if node.name != _OF_SUBJECT and not (plain and not node.args):
            raise FrameError("E106", f"filter {node.name!r} does not take arguments", column)
    changes = isinstance(node, nodes.Compare) or (isinstance(node, nodes.Filter) and node.name != "upfirst")
    if changes and any(inner.name in ("a", "the") for inner in node.find_all(nodes.Filter)):
        raise FrameError("E106", "the article must be the last filter", _tag(node, env, source), "plural | a")
    if isinstance(node, nodes.Const):
        if unprintable(str(node.value)) is not None:
            raise FrameError("E106", "the frame contains a control character", _tag(node, env, source))
        if isinstance(node.value, float) and not isfinite(node.value):
            raise FrameError("E106", "the number is too large", _tag(node, env, source))
        if node.value is None:
            raise FrameError("E106", "none cannot be printed or compared", _column(source, "none"))
    if isinstance(node, nodes.CondExpr) and node.expr2 is None:
        raise FrameError("E106", "an inline if needs an else", _column(source, "if"))
    if isinstance(node, nodes.Getattr) and not isinstance(node.node, nodes.Name):
        message = f"{node.attr!r} can only be read from a slot"
        raise FrameError("E106", message, source.find(f".{node.attr}") + 2)


def _column(source: str, word: str) -> int:
    """Return the column from 1 of the first such word inside a `{{ }}` or `{% %}`."""
    inside = _TAG_OR_TEXT.sub(lambda tag: tag[1] or " ", source)
    match = re.search(rf"(?<![\w.]){re.escape(word)}(?!\w)", inside)
    return match.start() + 1 if match else 1


def _segment(env: jinja2.Environment, node: nodes.Node) -> Segment:
    block = not isinstance(node, nodes.Expr)
    tree = nodes.Template([node if block else nodes.Output([node], lineno=1)], lineno=1)
    reads = dict.fromkeys(name.name for name in tree.find_all(nodes.Name))
    filters: list[Callable[[object], str]] = []
    inner: nodes.Node | None = node
    while isinstance(inner, nodes.Filter) and not inner.args:
        filters.insert(0, env.filters[inner.name])
        inner = inner.node
    if isinstance(inner, nodes.Name | nodes.TemplateData):
        source: jinja2.Template | str = inner.name if isinstance(inner, nodes.Name) else inner.data
    else:
        source, filters = env.from_string(tree), []
    return Segment(source, tuple(reads), frozenset(_prints(node)), block, tuple(filters))


def _prints(node: nodes.Node) -> Iterator[str]:
    """Yield the names whose words reach the output; those that only choose between outputs do not."""
    children: list[nodes.Node | None] = []
    match node:
        case nodes.Name():
            yield node.name
        case nodes.Getattr() | nodes.Filter():
            children = [node.node]
        case nodes.CondExpr():
            children = [node.expr1, node.expr2]
        case nodes.If():
            children = [*node.body, *node.elif_, *node.else_]
        case nodes.Output():
            children = [*node.nodes]
    for child in children:
        if child is not None:
            yield from _prints(child)


def _references(tree: nodes.Template, source: str) -> Iterator[tuple[str, str | None, int]]:
    slots = set()
    for node in tree.find_all(nodes.Getattr):
        assert isinstance(node.node, nodes.Name)  # noqa: S101 - _check refused everything else
        slots.add(id(node.node))
        yield node.node.name, node.attr, _column(source, f"{node.node.name}.{node.attr}")
    alone = (name.name for name in tree.find_all(nodes.Name) if id(name) not in slots)
    yield from ((name, None, _column(source, name)) for name in alone)
