"""The length of sentences in README.md and the tutorials: at most 35 words."""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from tests.docs.pages import DOCS

LIMIT = 35
PAGES = [DOCS.parent / "README.md", *sorted(DOCS.glob("start*.md"))]

EXCEPTIONS: Mapping[str, tuple[str, ...]] = {}
"""How a longer sentence begins, by page."""


def _sentences(text: str) -> Iterator[str]:
    """Split a page into sentences, without front matter, code, comments, tables, headings and link targets."""
    text = re.sub(r"\A---\n.*?^---\n", "", text, flags=re.M | re.S)
    text = re.sub(r"^ *(`{3,})[^\n]*\n.*?^ *\1$|<!--.*?-->", "\n\n", text, flags=re.M | re.S)
    text = re.sub(r"^(\||#+ | {4}).*$", "\n\n", text, flags=re.M)
    text = re.sub(r"^ *([-*]|\d+\.) ", "\n\n", text, flags=re.M)
    text = re.sub(r"\]\([^)]*\)", "]", text)
    for paragraph in re.split(r"\n\s*\n", text):
        for sentence in re.split(r"(?<=[.!?])\W*\s+(?=\W*[A-Z0-9`])", paragraph):
            if sentence.strip():
                yield " ".join(sentence.split())


def _long(text: str) -> list[str]:
    return [text for text in _sentences(text) if len(re.findall(r"\S*\w\S*", text)) > LIMIT]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_sentences_are_short(page: Path) -> None:
    found = _long(page.read_text(encoding="utf-8"))

    assert [sentence for sentence in found if not sentence.startswith(EXCEPTIONS.get(page.name, ()))] == []


def test_only_prose_is_counted() -> None:
    """A sentence of 36 words is found in a paragraph and in a list, and not in code, a table or a comment."""
    long = " ".join(["Word"] * (LIMIT + 1)) + "."
    page = f"---\ntitle: {long}\n---\n\n# {long}\n\n```text\n{long}\n```\n\n<!-- {long} -->\n\n| {long} |\n"
    page += f"\n    {long}\n"

    assert _long(page) == []
    assert _long(f"{page}\nShort. {long} Short (as *this*). *Short*\n\n- {long}\n- Short.\n") == [long, long]
    assert _long(f"[{' '.join(['word'] * LIMIT)}](https://example.org/a%20b) (*end*).") == [
        f"[{' '.join(['word'] * LIMIT)}] (*end*)."
    ]
