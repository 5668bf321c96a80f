"""What the library inflect answers, for words that no table decides."""

from functools import cache
from typing import Any


def word_set(text: str) -> frozenset[str]:
    """Return the words of a text: a table of words as a literal would take a line for each word."""
    return frozenset(text.split())


@cache
def _inflect() -> Any:  # noqa: ANN401 - the library is not typed to the type checker
    """Return the library without type checks, which take two seconds to compile: its arguments are always text here."""
    import typeguard

    checked = typeguard.typechecked
    setattr(typeguard, "typechecked", lambda method: method)  # noqa: B010  it has overloads, which no lambda has
    try:
        import inflect
    finally:
        setattr(typeguard, "typechecked", checked)  # noqa: B010
    return inflect.engine()


@cache
def library_article(word: str) -> str:
    """Return ``a`` or ``an``, before a single word."""
    return str(_inflect().a(word)).split(" ", 1)[0]


@cache
def library_plural(noun: str) -> str:
    """Return the plural of a single noun; the noun itself where the library has none."""
    return str(_inflect().plural_noun(noun) or noun)
