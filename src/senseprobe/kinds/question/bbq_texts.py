"""The texts of BBQ's templates (Parrish et al. 2022), written as lines of a question template.

BBQ fills placeholders such as ``{{NAME1}}`` by replacing text, and then mends articles and two words in the whole text
(`utils.py` of its repository). A line has to print the same, with its faults, so that texts can be compared.
"""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from senseprobe.generator.english.articles import article_of

PLACEHOLDER = re.compile(r"\{\{((?:NAME|GEN|OCC|WORD)[12])\}\}")
_BROKEN = re.compile(r"(?:NAME|GEN|OCC|WORD)\s?[12](?!\d)", re.IGNORECASE)
_VOWELS = tuple("aeiouAEIOU")
_ARTICLE = re.compile(r"(?<=\s)([aA])(\s)$")
_AN = re.compile(r"(?<=\s)an(\s)$")
_BEFORE_VOWEL = re.compile(r"(?<=\s)([aA])(?=\s[aeiouAEIOU])")


class TextError(ValueError):
    """Raised where a text of a template cannot be written as a line; the text says why."""


@dataclass(frozen=True, slots=True)
class Fill:
    """What stands in for a placeholder: the name or ``name.column`` that a line outputs, and all texts it may print.

    `mends`: whether BBQ looks at its first letter when it mends articles, as it does at names and not at other words.
    """

    output: str
    texts: tuple[str, ...]
    mends: bool = True


def write_line(text: str, fills: Mapping[str, Fill]) -> str:
    """Return the line of a question template that prints what BBQ makes of a text.

    Raise TextError where a placeholder is broken, or `fills` lacks it.

    >>> fill = Fill("first", ("old", "young"))
    >>> write_line("I saw a {{NAME1}} man.", {"NAME1": fill})
    'I saw {{ first | a }} man.'
    """
    literals, names = [*PLACEHOLDER.split(text)[::2]], PLACEHOLDER.findall(text)
    for literal in literals:
        if broken := _BROKEN.search(literal):
            raise TextError(f"the placeholder {broken[0]} lacks a brace, or has another sign in its place")
    if lacking := next((name for name in names if name not in fills), ""):
        raise TextError(f"nothing is said of what stands in for {lacking}")
    return "".join(_pieces(literals, [fills[name] for name in names], _mends(fills))).strip()


def _mends(fills: Mapping[str, Fill]) -> str:
    """Return the condition under which BBQ mends articles, that a name begins with a vowel; empty: never."""
    conditions = {}
    for fill in (fill for fill in fills.values() if fill.mends):
        begin = [text for text in fill.texts if text.startswith(_VOWELS)]
        if begin and len(begin) == len(fill.texts):
            return "true"
        if begin:
            conditions[_one_of(fill.output, begin)] = True
    return " or ".join(conditions)


def _pieces(literals: list[str], fills: list[Fill], mends: str) -> Iterator[str]:
    for number, literal in enumerate(literals):
        fill = fills[number] if number < len(fills) else None
        following = literals[number + 1] if fill else ""
        after = fills[number + 1] if fill and number + 1 < len(fills) else None
        before = fills[number - 1] if number else None
        head, literal = _lesbian_woman(literal, before) if before else ("", literal)
        output = _output(fill, following, after, literal[-1:].isspace()) if fill else ""
        start, article, output = _article(literal, fill, output, mends)
        yield head
        yield _mended(start, mends)
        yield article
        yield output


def _with_an(text: str) -> str:
    return re.sub(r"^([aA])(?=\s[aeiouAEIOU])", r"\1n", text)


def _output(fill: Fill, following: str, after: Fill | None, at_blank: bool) -> str:
    """Return the output of a placeholder: Latina before a woman, as BBQ has it; `at_blank`: a blank is before it."""
    whole = f"{{{{ {fill.output} }}}}"
    if at_blank and fill.mends and (mended := {text: _with_an(text) for text in fill.texts if _with_an(text) != text}):
        # BBQ makes an article of a name's own, as in "a one percenter", one before a vowel.
        choices = "".join(f"{_quoted(new)} if {fill.output} == {_quoted(text)} else " for text, new in mended.items())
        return f"{{{{ {choices}{fill.output} }}}}"
    if "Latino" not in fill.texts:
        return whole
    latina = f"{fill.output} == 'Latino'"
    if following.startswith(" woman"):
        return f"{{{{ 'Latina' if {latina} else {fill.output} }}}}"
    women = [text for text in after.texts if text.startswith("woman")] if after and following == " " else []
    if after and women:
        also = "" if len(women) == len(after.texts) else f" and {_one_of(after.output, women)}"
        return f"{{{{ 'Latina' if {latina}{also} else {fill.output} }}}}"
    return whole


def _lesbian_woman(literal: str, before: Fill) -> tuple[str, str]:
    """Return the noun at the beginning of a text behind a name, and the rest: BBQ makes "lesbian man" a woman."""
    if not literal.startswith(" man") or not any(text.endswith("lesbian") for text in before.texts):
        return "", literal
    named = _one_of(before.output, [text for text in before.texts if text.endswith("lesbian")])
    return f" {{{{ 'woman' if {named} else 'man' }}}}", literal.removeprefix(" man")


def _article(literal: str, fill: Fill | None, output: str, mends: str) -> tuple[str, str, str]:
    """Return a text without the article at its end, that article, and the output before which it stands."""
    if fill and (match := _AN.search(literal)):
        european = [text for text in fill.texts if text.startswith("European")]
        article = _chosen("a", european, "an", fill) if european else "an"
        return literal[: match.start()], f"{article}{match[1]}", output
    match = _ARTICLE.search(literal) if fill and mends else None
    if not fill or not match:
        return literal, "", output
    start, letter, blank = literal[: match.start()], match[1], match[2]
    vowels = [text for text in fill.texts if text.startswith(_VOWELS)]
    if letter == "a":
        vowels = [text for text in vowels if not text.startswith("European")]
    if not fill.mends:
        also = "" if mends == "true" else f" and ({mends})"
        article = f"{{{{ '{letter}n' if {_one_of(fill.output, vowels)}{also} else '{letter}' }}}}" if vowels else letter
        return start, f"{article}{blank}", output
    is_plain = letter == "a" and output == f"{{{{ {fill.output} }}}}"
    if is_plain and vowels and all((article_of(text) == "an") == (text in vowels) for text in fill.texts):
        return start, "", f"{{{{ {fill.output} | a }}}}"
    return start, f"{_chosen(f'{letter}n', vowels, letter, fill)}{blank}", output


def _chosen(article: str, texts: list[str], other: str, fill: Fill) -> str:
    if len(texts) in (0, len(fill.texts)):
        return article if texts else other
    return f"{{{{ '{article}' if {_one_of(fill.output, texts)} else '{other}' }}}}"


def _mended(literal: str, mends: str) -> str:
    """Return a text with its braces printed, and articles before its own words mended as BBQ mends them."""
    texts, end = [], 0
    for match in _BEFORE_VOWEL.finditer(literal) if mends else ():
        article = f"{match[1]}n" if mends == "true" else f"\0'{match[1]}n' if {mends} else '{match[1]}'\1"
        texts += [literal[end : match.start()], article]
        end = match.end()
    text = re.sub("[{}]", lambda brace: f"\0'{brace[0]}'\1", "".join([*texts, literal[end:]]))
    return text.replace("\0", "{{ ").replace("\1", " }}")


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def _one_of(output: str, texts: list[str]) -> str:
    """Return the condition that an output is one of some texts."""
    quoted = [*map(_quoted, texts)]
    return f"{output} == {quoted[0]}" if len(quoted) == 1 else f"{output} in [{', '.join(quoted)}]"
