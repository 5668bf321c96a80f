"""Tables of words are written as text: a literal would take a line for each word."""


def word_set(text: str) -> frozenset[str]:
    """The words of a text, which white space separates."""
    return frozenset(text.split())
