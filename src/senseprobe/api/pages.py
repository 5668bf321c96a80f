"""Write what people read: a page, or a text, whole and where it takes the place of nothing that was computed."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from senseprobe.errors import ResultError

if TYPE_CHECKING:
    from senseprobe.document import Document
    from senseprobe.evaluate.result import Result

_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_OTHER_FORMATS = {".csv", ".doc", ".docx", ".odt", ".pdf", ".png", ".rst", ".svg", ".tex", ".tsv", ".xlsx", ".yaml"}
"""Suffixes of which somebody expects another format; a page without any, or as /dev/stdout, is HTML."""


def refuse_results(path: Path, sources: Sequence[Path | Result]) -> None:
    """Raise ResultError where a page would be written over a result, or over its table of scores."""
    files = [source for source in sources if isinstance(source, Path) and source.name]
    protected = {os.path.realpath(file) for source in files for file in (source, source.with_suffix(".parquet"))}
    real = Path(os.path.realpath(path))  # a link is written through
    if {path.suffix, real.suffix} & {".json", ".parquet"} or str(real) in protected:
        raise ResultError(f"{path} is the name of a result: use a name that ends in .html or .md")
    if real.suffix in _OTHER_FORMATS:
        raise ResultError(f"cannot write a page as {real.suffix}: use a name that ends in .html or .md")


def write_page(path: Path, document: Document, *, markdown: bool = False) -> None:
    """Write a page whole, as Markdown where its name ends so. Raises ResultError where it cannot be written."""
    from senseprobe.document import render_html, render_markdown

    write_text(path, render_markdown(document) if markdown or path.suffix == ".md" else render_html(document))


def write_text(path: Path, text: str) -> None:
    """Write a text whole, control characters of others escaped. Raises ResultError where it cannot be written."""
    from senseprobe.atomic_files import write_whole

    text = _CONTROL.sub(lambda match: ascii(match[0])[1:-1], text)
    try:
        write_whole(path, text.encode("utf-8", "backslashreplace"))
    except OSError as error:
        raise ResultError(f"cannot write {path}: {error.strerror}") from error
