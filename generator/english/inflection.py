"""Inflection: the plural of nouns, and the simple past and the present after *she* of verbs, from tables and rules."""

import re
import tomllib
from functools import cache
from importlib.resources import files
from typing import Any

import jinja2


def word_set(text: str) -> frozenset[str]:
    """Return the words of a text: a table of words as a literal would take a line for each word."""
    return frozenset(text.split())


WORDS = tomllib.loads(files(__package__).joinpath("words.toml").read_text("utf-8"))

_AFTER_HEAD = re.compile(r"(?<=\w)\s+(?:of|in|with|without|for|from|at|on|who|whose)\s")
# The part that takes the ending stands first: passers-by, runners-up, sisters-in-law.
_FIRST_PART = re.compile(
    r"(?i)(\w+ers?(?=-by|-on)|passers?(?=by)|runners?(?=-up)|\w+(?=-in-law)|\w*(?:s|men)(?=-(?:in|of|at|de)-))(.+)"
)
_SINGULAR_S = word_set(WORDS["singular_s"])
_PLURAL_IS_US = word_set(WORDS["plural_is_us"])
_PLURAL = re.compile(
    # Singular although they end like it.
    r"(?!(?:abdo|acu|a|albu|bitu|catechu|cogno|cycla|dol|hy|lu|o|ra|regi|ru|se|speci|sta|turk|ye)men$)"
    r"(?!norfolk|suffolk)"
    r"(?:.*men|.*children|brethren|.*(?:people|folk)|police|cattle|oxen|.*(?:feet|teeth)|geese|(?:dor)?mice|lice|dice"
    r"|data|media|criteria|phenomena|bacteria|alumni|alumnae|vertebrae|fungi|nuclei|stimuli)"
)
_MASS = word_set(WORDS["mass"])
_MEALS = word_set("breakfast brunch dinner lunch supper")  # but: a late lunch
_OES = word_set(WORDS["oes"])
# Ending of the noun, letters to drop, letters to add.
_ENDINGS = (
    ("child", 0, "ren"), ("thief", 1, "ves"), ("brahman", 0, "s"), ("chairperson", 0, "s"), ("larva", 0, "e"),
    ("swiss", 0, ""), ("bison", 0, ""), ("swine", 0, ""), ("french", 0, ""), ("dutch", 0, ""), ("welsh", 0, ""),
)  # fmt: skip

PRONOUNS = word_set("i he she it we you they me him us them")
WITH_PLAIN_VERB = word_set("i we you they these those")


def no_article(text: str) -> bool:
    """Return whether the text looks plural or uncountable (jeans, advice) or is a pronoun: *a* is probably a mistake.

    The head noun decides (*a pair of jeans* is right); words that are often countable too (soup) are not uncountable.

    >>> no_article("headphones"), no_article("bus")
    (True, False)
    """
    before, head, _ = _split(text)
    word = head.lower()
    return word in _MASS | PRONOUNS or (word in _MEALS and not before.strip()) or _is_plural(head)


def _split(text: str) -> tuple[str, str, str]:
    """Return the text before the head noun, the noun, and the text after it; the noun is empty where there is none."""
    after = _AFTER_HEAD.search(text)
    phrase = text[: after.start()] if after else text
    end = next((n for n in range(len(phrase), 0, -1) if phrase[n - 1].isalnum()), 0)
    words = phrase[:end].split()
    head = re.sub(r"^[\W_]+", "", words[-1]) if words else ""
    return text[: end - len(head)], head, text[end:]


def _is_plural(noun: str) -> bool:
    word = noun.lower()
    if compound := _FIRST_PART.fullmatch(word):
        return _is_plural(compound[1])
    if not word.endswith("s"):
        return bool(_PLURAL.fullmatch(word))
    if re.search(r"(?:ss|us|is|['\u2019]s)$", word):
        return word in _PLURAL_IS_US
    return not noun.isupper() and word not in _SINGULAR_S and len(word) > 2  # GPS and SOS end in a letter of their own


def plural_of(text: str) -> str:
    """Return the text with its head noun in the plural; a plural stays as it is.

    >>> plural_of("head of state"), plural_of("nurse")
    ('heads of state', 'nurses')
    """
    before, noun, after = _split(text)
    return before + _plural_noun(noun) + after if noun else text


def _plural_noun(noun: str) -> str:
    word = noun.lower()
    if _is_plural(noun) or re.fullmatch(r"[A-Z]\w+ish", noun):
        return noun
    if compound := _FIRST_PART.fullmatch(noun):
        return _plural_noun(compound[1]) + compound[2]
    for ending, dropped, added in _ENDINGS:
        if word.endswith(ending):
            return noun[: len(noun) - dropped] + added
    if re.fullmatch(r"[A-Z0-9]+", noun):
        return noun + "s"
    if re.search(r"[^aeiou]o$", word):
        return noun + ("es" if word.split("-")[-1] in _OES else "s")
    return library_plural(noun)


_PAST = dict(pair.split(":") for pair in word_set(WORDS["past"]))
_PREFIX = re.compile(r".*-|over|under|out|re|un|mis(?:under)?|up|with|fore?|pre|baby|breast|proof|ghost|broad")
_NO_RULE = word_set("bid hang lie shine may might must shall should could would ought")
_MODALS = word_set("can could may might must shall should will would ought")
_MONOSYLLABLE = re.compile(r"(?:[^aeiou]*|[^aeiou]*qu)[aeiou][bdfgklmnprstvz]")
_STRESSED = word_set(WORDS["stressed"])
_THIRD = {"be": "is", "have": "has", "stomach": "stomachs"}


def past_of(text: str) -> str:
    """Return the simple past; raise jinja2.TemplateRuntimeError for a verb of which no rule gives it.

    >>> past_of("stop at home"), past_of("teach")
    ('stopped at home', 'taught')
    """
    verb, word, rest = _split_verb(text)
    if word in _NO_RULE:
        message = f"the past of {verb!r} is irregular: write it into the column past of its list"
        raise jinja2.TemplateRuntimeError(message)
    if word in _PAST:
        return _PAST[word] + rest
    if (prefix := _PREFIX.match(word)) and (base := word[prefix.end() :]) in _PAST:
        return verb[: prefix.end()] + _PAST[base] + rest
    if verb.endswith("e"):
        return verb + "d" + rest
    if re.search(r"[^aeiou]y$", verb):
        return verb[:-1] + "ied" + rest
    return _doubled(verb) + "ed" + rest


def _split_verb(text: str) -> tuple[str, str, str]:
    """Return the verb, the verb in lower case, and the text after it."""
    verb = re.split(r"\s", text, maxsplit=1)[0]
    return verb, verb.lower(), text[len(verb) :]


def _doubled(verb: str) -> str:
    """Return stopp for stop, mimick for mimic: before an ending the vowel stays short, or the c hard."""
    word = verb.lower().split("-")[-1]
    if word.endswith("ic"):
        return verb + "k"
    return verb + verb[-1] if _MONOSYLLABLE.fullmatch(word) or word in _STRESSED else verb


def third_of(text: str) -> str:
    """Return the form after *she*, in the present.

    >>> third_of("carry on"), third_of("have")
    ('carries on', 'has')
    """
    verb, word, rest = _split_verb(text)
    if word in _MODALS:
        return text
    if word in _THIRD:
        return _THIRD[word] + rest
    if re.search(r"[^aeiou]y$", word):
        return verb[:-1] + "ies" + rest
    if re.search(r"[sz]$", word):
        return _doubled(verb) + "es" + rest
    return verb + ("es" if re.search(r"(?:x|ch|sh|[^aeiou]o)$", word) else "s") + rest


def plain_of(text: str, subject: str) -> str:
    """Return what an infinitive or a past is after *they*, *I* and *you*: own, are or am; owned, were.

    >>> plain_of("be", "they"), plain_of("was late", "you")
    ('are', 'were late')
    """
    verb, word, rest = _split_verb(text)
    return {"be": "am" if subject == "I" else "are", "was": "were"}.get(word, verb) + rest


# --- the library inflect, for words that no table decides -------------------------------------------------------------


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
    """Return ``a`` or ``an``, before a single word.

    >>> library_article("hour"), library_article("user")
    ('an', 'a')
    """
    return str(_inflect().a(word)).split(" ", 1)[0]


@cache
def library_plural(noun: str) -> str:
    """Return the plural of a single noun; the noun itself where the library has none.

    >>> library_plural("nurse"), library_plural("child")
    ('nurses', 'children')
    """
    return str(_inflect().plural_noun(noun) or noun)
