"""Reads `templates/`: a `.j2` file is one or more blocks, each YAML front matter and then frames.

A later block inherits the first one's front matter and overrides keys: top-level keys replace, `slots` and `roles`
merge by name in the first one's order. An empty body inherits the first one's frames.
"""

import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from ruamel.yaml.comments import CommentedMap

from senseprobe.errors import DeclarationError
from senseprobe.generator import yaml_source
from senseprobe.generator.kinds import EXPANSIONS
from senseprobe.generator.schema import Block, Card, Dataset, Frame, Front, Template, kind_hint
from senseprobe.messages import offered
from senseprobe.records import Finding
from senseprobe.release.kinds import KINDS

_CONFIG = re.compile(r"[a-z][a-z0-9_-]*")

RELEASE_FILE_NAMES = frozenset(
    ["changelog", "citation", "croissant", "licence", "license", "readme", "recipe", "release", "restored", "shard"]
)
"""Names of other files of a release, without endings: the folder of a config is next to them."""


def read_dataset(folder: Path, only: str | None = None, *, frozen: bool = False) -> Dataset:
    """Return the dataset with all of its templates or `only` one; `frozen` is a release's, whose names may be older."""
    path = folder / "dataset.yaml"
    data = yaml_source.read_mapping(path)
    card = yaml_source.validate(Card, data, [data], yaml_source.format_path(path), "E102")
    findings = [finding for finding in _check_card(card, path, data) if not (frozen and finding.code == "E126")]
    templates = []
    for config in (name for name in card.configs if _CONFIG.fullmatch(name) and only in (None, name)):
        try:
            templates.append(read_template(folder / f"{config}.j2"))
        except DeclarationError as error:
            findings.extend(error.findings)
    findings.extend(_check_contrasts(card, templates, path, data))
    if findings:
        raise DeclarationError(findings)
    return Dataset(name=folder.name, folder=folder, card=card, templates=tuple(templates))


def _check_card(card: Card, path: Path, data: CommentedMap) -> Iterator[Finding]:
    def finding(message: str, *location: str | int, hint: str = "", code: str = "E102") -> Finding:
        line, column = yaml_source.locate([data], location)
        where = yaml_source.format_path(path)
        return Finding(path=where, line=line, column=column, code=code, message=message, hint=hint)

    for config in sorted({file.stem for file in path.parent.glob("*.j2")} - {*card.configs}):
        hint = "add it: every template in the folder is published"
        yield finding(f"{config}.j2 is not among `configs`", "configs", hint=hint)
    for number, config in enumerate(card.configs):
        if not _CONFIG.fullmatch(config):
            yield finding(f"{config!r} cannot be the name of a config", "configs", number)
        if config.casefold() in RELEASE_FILE_NAMES:
            message, hint = f"{config!r} is also the name of another file in a release", f"rename {config}.j2"
            yield finding(message, "configs", number, hint=hint, code="E126")
    for number, spec in enumerate(card.contrasts):
        for side, config in (("a", spec.a), ("b", spec.b)):
            if config not in card.configs:
                yield finding(f"contrast {spec.name}: unknown config {config!r}", "contrasts", number, side)


def _check_contrasts(card: Card, templates: Iterable[Template], path: Path, data: CommentedMap) -> Iterator[Finding]:
    """Yield the contrasts whose figure, or selection of rows, the kinds of their configs do not have.

    Only the templates that were read are looked at.
    """
    kinds = {template.config: template.blocks[0].front.kind for template in templates}
    for number, spec in enumerate(card.contrasts):
        sides = [kinds[config] for config in (spec.a, spec.b) if config in kinds]
        allowed = [
            name
            for name in (EXPANSIONS[sides[0]].contrasts if sides else ())
            if all(name in EXPANSIONS[kind].contrasts for kind in sides)
        ]
        of_kinds = " and ".join(dict.fromkeys(sides))
        lacks = [kind for kind in sides if "minimal" not in {name for name, _, _ in KINDS[kind].columns}]
        if sides and spec.estimand not in allowed:
            key, message = "estimand", f"rows of {of_kinds} have no figure {spec.estimand!r} that a contrast can be of"
            hint = offered(spec.estimand, allowed) if allowed else "no figure can be compared between these configs"
        elif lacks and (spec.minimal_only or not spec.matched):
            key = "minimal_only" if spec.minimal_only else "matched"
            message, hint = f"rows of {lacks[0]} are not pairs that differ in a word", "remove it"
        else:
            continue
        line, column = yaml_source.locate([data], ("contrasts", number, key))
        message = f"contrast {spec.name}: {message}"
        where = yaml_source.format_path(path)
        yield Finding(path=where, line=line, column=column, code="E102", message=message, hint=hint)


def read_template(path: Path) -> Template:
    """Return the template in `path`; raise DeclarationError with every mistake of its front matter."""
    display_path = yaml_source.format_path(path)
    sections = _sections(yaml_source.read_text(path, display_path), display_path)
    blocks: list[Block] = []
    findings: list[Finding] = []
    (top, _), body = sections[0]  # keys that are missing are reported in the first block
    first, inherited = CommentedMap(), tuple(_frames(body))
    for (line, front), body in sections:
        frames = tuple(_frames(body)) or inherited
        if not frames:
            message = "the block does not have frames"
            findings.append(Finding(path=display_path, line=body[0], column=1, code="E103", message=message))
        try:
            declared = yaml_source.parse(front, display_path, line)
            first = first or declared
            merged = {**first, **declared}
            for key in ("slots", "roles"):
                if isinstance(first.get(key), Mapping) and isinstance(declared.get(key), Mapping):
                    merged[key] = {**first[key], **declared[key]}
            model = _front(merged, (declared, first), display_path, top)
        except DeclarationError as error:
            findings.extend(error.findings)
            if not first:
                break  # without what they inherit, the other blocks would have findings without a reason
            continue
        blocks.append(Block(front=model, frames=frames, sources=(declared, first), line=line))
    if findings:
        raise DeclarationError(list(dict.fromkeys(findings)))
    return Template(config=path.stem, path=path, display_path=display_path, blocks=tuple(blocks))


def _front(merged: dict[str, Any], sources: tuple[CommentedMap, ...], display_path: str, line: int) -> Front:
    kind, findings = merged.get("kind"), []
    if not isinstance(kind, str) or kind not in EXPANSIONS:
        # The kind that front matter looks most like: the first one, unless a later one fits.
        names = [*EXPANSIONS]
        likely = next((name for name in reversed(names) if EXPANSIONS[name].is_likely(merged)), "")
        if kind is not None:
            at, column = yaml_source.locate(sources, ("kind",), line)
            message, hint = f"unknown kind {kind!r}", KINDS.fault(str(kind)) or kind_hint(kind, EXPANSIONS)
            if not likely:
                hint += "; if a plug-in brings it, install that"
            findings = [Finding(path=display_path, line=at, column=column, code="E102", message=message, hint=hint)]
            if not likely:  # nothing is known of the keys of its kind
                raise DeclarationError(findings)
            merged = {**merged, "kind": likely}
        kind = likely or names[0]
    try:
        form: type[Front] = EXPANSIONS[kind].front_type
        front = yaml_source.validate(form, merged, sources, display_path, "E102", line)
    except DeclarationError as error:
        raise DeclarationError([*findings, *error.findings]) from None
    if findings:
        raise DeclarationError(findings)
    return front


Section = tuple[int, str]  # the line where a part of the file begins, and its text


def _sections(text: str, display_path: str) -> list[tuple[Section, Section]]:
    """Return front matter and body of each block."""
    lines = text.split("\n")
    ends = [number for number, line in enumerate(lines) if line.rstrip() == "---"]
    bounds = zip([-1, *ends], [*ends, len(lines)], strict=True)
    first, *rest = [(start + 2, "\n".join(lines[start + 1 : end])) for start, end in bounds]
    if first[1].strip() or not rest or len(rest) % 2:
        message = "expected front matter between two lines of `---`, then frames"
        where = 1 if first[1].strip() or not rest else rest[-1][0] - 1
        raise DeclarationError([Finding(path=display_path, line=where, column=1, code="E101", message=message)])
    return list(zip(rest[::2], rest[1::2], strict=True))


_NAME = re.compile(r"\{#\s*id:\s*([a-z0-9][a-z0-9-]*)\s*#\}")


def _frames(body: Section) -> Iterator[Frame]:
    for line, text in enumerate(body[1].split("\n"), body[0]):
        if not (source := text.strip()):
            continue
        # The beginning of an id is searched from the end: a pattern for the whole is slow where there are many blanks.
        start = source.rfind("{#")
        named = _NAME.fullmatch(source, start) if start >= 0 else None
        source = source[:start].rstrip() if named else source
        code = named[1] if named else hashlib.sha256(source.encode()).hexdigest()[:6]
        yield Frame(source=source, code=code, line=line, column=len(text) - len(text.lstrip()) + 1)
