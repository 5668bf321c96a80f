"""What a server calls a token, and which tokens of an answer stand before its label.

Most servers spell a token as its text. Some spell it as the vocabulary does, with a sign for a blank, or by its bytes.
"""

import re

_BLANKS = {"Ġ": " ", "▁": " ", "Ċ": "\n"}
"""Signs that stand for blanks in vocabularies of byte pairs (U+0120, U+010A) and of SentencePiece (U+2581)."""

_SIGNS = re.compile(f"[{''.join(_BLANKS)}]+")
_BYTE = re.compile(r"<0x([0-7][0-9A-Fa-f])>")
_SPECIAL = re.compile(r"<\|?[^<>|\s]{1,40}\|?>|<\uff5c[^<>\s]{1,40}\uff5c>|\[(?:BOS|CLS|SOS|/?INST)\]")
_THINKING = ("<|channel", "<think", "[THINK")


def token_text(token: str, raw: object = None) -> str:
    r"""Return the text that a token stands for: of its bytes in UTF-8 where a server tells them, else by its spelling.

    Bytes that are a part of a character are no text, and bytes of the spelling say no more than it does.

    >>> token_text("ĠA", [65]), token_text("ĠA"), token_text("<0x0A>"), token_text("token_id:65", [65])
    ('A', ' A', '\n', 'A')
    """
    decoded = _decoded(raw)
    if decoded is not None and decoded != token:
        return decoded
    if byte := _BYTE.fullmatch(token):
        return chr(int(byte.group(1), 16))
    signs = _SIGNS.match(token)
    return "".join(_BLANKS[sign] for sign in signs.group()) + token[signs.end() :] if signs else token


def _decoded(raw: object) -> str | None:
    """Return the text of a list of bytes; None where it is none."""
    if not isinstance(raw, list) or not raw or not all(type(byte) is int and 0 <= byte < 256 for byte in raw):
        return None
    try:
        return bytes(raw).decode()
    except UnicodeDecodeError:
        return None


def begins_thinking(text: str) -> bool:
    """Return whether a token begins what a model thinks before it answers."""
    return text.strip().startswith(_THINKING)


def is_special(text: str) -> bool:
    """Return whether a token has no text of its own, as one that starts a sequence: servers tell of it what they like.

    >>> is_special("<s>"), is_special("<|im_start|>"), is_special("<think>"), is_special("A")
    (True, True, False, False)
    """
    return bool(_SPECIAL.fullmatch(text.strip())) and not begins_thinking(text)


def leads(text: str) -> bool:
    r"""Return whether a token may stand before a label without being an answer: a blank, a new line, a special one.

    >>> leads("\n"), leads("<s>"), leads("A"), leads("**")
    (True, True, False, False)
    """
    return not text.strip() or is_special(text)
