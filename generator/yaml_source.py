"""Reads YAML whose values know their line and column, and reports every mistake of a file at once."""

import unicodedata
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError
from ruamel.yaml import YAML
from ruamel.yaml.comments import CommentedMap, CommentedSeq
from ruamel.yaml.composer import Composer, ComposerError
from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.nodes import ScalarNode

from senseprobe.errors import DeclarationError
from senseprobe.records import Finding

MAX_BYTES = 16 * 2**20  # of a file: a larger one is a mistake or an attack
MAX_YAML = 512 * 2**10  # characters in one piece: they take some seconds, and front matter needs a hundredth of them
MAX_DEPTH = 20  # levels of nesting; front matter needs five
MAX_DIGITS = 30  # of a number; Python refuses to print those with thousands


class Model(BaseModel):
    """A declaration: unknown keys are mistakes, and nothing changes after reading."""

    model_config = ConfigDict(extra="forbid", frozen=True)


ModelT = TypeVar("ModelT", bound=BaseModel)


class _PlainYAML(YAML):
    """Looks for no plug-ins of ruamel, which costs more than to read a small mapping: there is a reader for each."""

    def official_plug_ins(self) -> list[str]:
        """Return no plug-in."""
        return []


class _PlainComposer(Composer):
    """Refuses what only an attack needs, as aliases, with which a kilobyte can stand for gigabytes."""

    def compose_node(self, parent: Any, index: Any) -> Any:  # noqa: ANN401 - ruamel's own types
        event = self.parser.peek_event()
        if getattr(event, "anchor", None) is not None or getattr(event, "ctag", None) is not None:
            raise ComposerError(None, None, "anchors, aliases and tags are not allowed", event.start_mark)
        if self.depth > MAX_DEPTH:
            raise ComposerError(None, None, "nested too deeply", event.start_mark)
        node = super().compose_node(parent, index)
        if isinstance(node, ScalarNode):
            # Only an escape can put such a character into YAML, and only double quotes have escapes.
            if node.style == '"' and any(unicodedata.category(c) in ("Cc", "Cs") for c in node.value):
                raise ComposerError(None, None, "a control character, or half a surrogate pair", event.start_mark)
            if str(node.tag).endswith(":merge"):
                raise ComposerError(None, None, "merge keys are not allowed", event.start_mark)
            if str(node.tag).endswith((":int", ":float")) and len(node.value) > MAX_DIGITS:
                raise ComposerError(None, None, "a number with too many digits", event.start_mark)
        return node


def format_path(path: Path) -> str:
    """Return the path as messages print it: relative to the working directory where it lies below it."""
    try:
        return path.resolve().relative_to(Path.cwd().resolve()).as_posix()
    except (ValueError, OSError, RuntimeError):  # elsewhere, or a link that leads to itself
        return str(path)


def read_mapping(path: Path) -> CommentedMap:
    """Return the YAML mapping of a file; raise DeclarationError (E100, E101) where it cannot be read."""
    display_path = format_path(path)
    return parse(read_text(path, display_path), display_path)


def read_text(path: Path, display_path: str) -> str:
    """Return the text of a UTF-8 file, with line feeds at line ends; raise DeclarationError (E100) where it fails."""
    try:
        if path.exists() and not path.is_file():
            raise _error(display_path, "E100", "is not a plain file")
        if path.stat().st_size > MAX_BYTES:
            raise _error(display_path, "E100", f"the file is larger than {MAX_BYTES >> 20} MiB")
        return path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        hint = "save the file as UTF-8"
        raise _error(display_path, "E100", f"not UTF-8 at byte {error.start}", hint=hint) from None
    except OSError as error:
        raise _error(display_path, "E100", f"cannot be read: {error.strerror}") from None


@lru_cache(maxsize=64)
def _compose(text: str, first_line: int) -> object:
    """Return what YAML says, wherever it stands: copies of a recipe, as of a release, are read once."""
    yaml = _PlainYAML(typ="rt", pure=True)
    yaml.Composer = _PlainComposer
    # Blank lines in front make the positions those of the whole file.
    return yaml.load("\n" * (first_line - 1) + text)


def parse(text: str, display_path: str, first_line: int = 1) -> CommentedMap:
    """Return a YAML mapping whose nodes know their position; raise DeclarationError (E101) where it is not one.

    `first_line` is the line of the file on which `text` begins. The last mappings are cached, since several checks
    read the same file: do not change what is returned.
    """
    if len(text) > MAX_YAML:
        hint = "keep words in CSV files"
        raise _error(display_path, "E100", f"more than {MAX_YAML >> 10} KiB of YAML", first_line, hint=hint)
    try:
        data = _compose(text, first_line)
    except MarkedYAMLError as error:
        mark = error.problem_mark
        line, column = (mark.line + 1, mark.column + 1) if mark else (first_line, 0)
        message = " ".join(str(error.problem or error.context or "malformed YAML").split())
        hint = 'a sense key needs quotes: "guide%2:38:00::"' if "%" in text else ""
        raise _error(display_path, "E101", f"malformed YAML: {message}", line, column, hint) from None
    except (YAMLError, RecursionError, ValueError, KeyError, AttributeError, TypeError, AssertionError) as error:
        # On hostile input ruamel raises errors of its own code too; all of them mean that this is not valid YAML.
        raise _error(display_path, "E101", f"malformed YAML: {type(error).__name__}", first_line) from None
    if data is None:
        return CommentedMap()
    if not isinstance(data, CommentedMap):
        raise _error(display_path, "E101", "expected `key: value` lines", first_line)
    return data


def locate(sources: Sequence[CommentedMap], location: Sequence[str | int], default: int = 1) -> tuple[int, int]:
    """Return line and column, from 1, of the deepest node on the way to `location` in the mappings that were merged."""
    deepest = (0, default, 1)
    for source in sources:
        node: Any = source
        depth = 0
        for step in location:
            if isinstance(node, CommentedMap) and step in node:
                line, column = node.lc.key(step)
            elif isinstance(node, CommentedSeq) and isinstance(step, int) and step < len(node):
                line, column = node.lc.item(step)
            else:
                continue  # a step that pydantic added to name the member of a union
            node, depth = node[step], depth + 1
            if depth > deepest[0]:
                deepest = (depth, line + 1, column + 1)
    return deepest[1:]


def validate(
    model: type[ModelT], data: Mapping[str, Any], sources: Sequence[CommentedMap], path: str, code: str, line: int = 1
) -> ModelT:
    """Return `data`, merged from `sources`, as a record; raise DeclarationError with a finding for each mistake."""
    try:
        return model.model_validate(data)
    except RecursionError:
        raise _error(path, code, "nested too deeply", line) from None
    except ValidationError as error:
        mistakes = error.errors(include_url=False)
    findings: dict[tuple[int, int, str], Finding] = {}
    for mistake in mistakes:
        location, text = mistake["loc"], mistake["msg"]
        at, column = locate(sources, location, line)
        name = ".".join(str(step) for step in location if step != "[key]" and not str(step).startswith("function-"))
        message = f"{name}: {text[:1].lower()}{text[1:]}"
        # A union reports each of its members at the same position: the first is enough. A missing key has none.
        missing = name if mistake["type"] == "missing" and len(location) == 1 else ""
        finding = Finding(path=path, line=at, column=column, code=code, message=message)
        findings.setdefault((at, column, missing), finding)
    raise DeclarationError([*findings.values()])


def _error(path: str, code: str, message: str, line: int = 0, column: int = 0, hint: str = "") -> DeclarationError:
    return DeclarationError([Finding(path=path, line=line, column=column, code=code, message=message, hint=hint)])
