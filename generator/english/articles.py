"""Indefinite articles, by the first sound: of numerals, letters, acronyms and words; from tables, else the library."""

import re
import unicodedata

from senseprobe.generator.english.inflection import library_article, word_set

_SIGN = re.compile(r"[\W_]*(?:[.+\u2212-](?=[0-9])|#)")  # point, plus, minus; number and hashtag
_GROUPS = re.compile(r"([0-9]{1,3})(?:,[0-9]{3})+(?![0-9])")
_DIGITS = re.compile(r"[0-9]+")

_VOWEL_NAMES = "aefhilmnorsx"  # letters whose names begin with a vowel: ef, aitch, el; but bee, you, why
_LETTER = re.compile(r"([A-Za-z])(?!\w|['\u2019]\w)|([a-z])(?=[A-Z])")  # X-ray, U.S., iPhone; not L'Oréal
_LIGATURES = str.maketrans(dict(zip("øØœŒæÆ", ("o", "O", "oe", "Oe", "ae", "Ae"), strict=True)))
_CAPITALS = re.compile(r"[A-Z][A-Z0-9&]+")
# Four capitals and more are spoken as a word if they can be. Three rarely are: HIV, MIT, SUV, LED.
_SPEAKABLE = re.compile(
    r"""(?:[BCFGPK][LR]? | [DT]R? | H | J | L | M | N | RH? | S(?:[CHKLMNPTW]|[CPT]R|PL|CH|HR)? | V | W | Z)?
    [AEIOU]{1,2}(?:[B-DF-HJ-NP-TV-Z]{1,3}[AEIOU]{1,2})*
    (?:[B-DF-HJ-NP-TV-Z] | [B-DF-HJ-NP-TV-Z]{1,2}Y | ST | N[DGKST] | L[DFKLPST] | R[BCDKLMNPRST] | MP | SK | [CST]H | CK
       | SS | [DF]F | [BDGKMPT]S | [CFP]T)?""",
    re.VERBOSE,
)
_SPOKEN = word_set("FTSE HUD LAN MIG NOAA RAM REM ROM SCSI SIM")
_SPELT = word_set("fbi hiv hr html http lgbt lgbtq mba mp mp3 mri nba nfl ngo rsvp sms suv uhf uk url usb usda ussr uv")

_VOWEL = re.compile(  # silent h: an honest heir
    r"heir|honest|honou?r|hour(?!i)|hors\b|y[b-df-hj-np-tv-xz]|xbox|euler|ewok"
    r"|uni(?:d(?:e|io)|ll|m(?!o)|n(?!om|uc)|r[or]|ss)"
)
_CONSONANT = re.compile(
    r"""eu | ew | once\b | one(?![giro]) | ou[ai] | oax   # not onerous, oneiric, Oneida
    | uni | unanim[io] | unabom | unesco | uefa           # unless _VOWEL has it: un-important
    | ubi | ug(?!ali)[aeiou] | u[fkrstv][aeiou] | ukr | utr | ulys | u[iy]g""",
    re.VERBOSE,
)
# Consonants that open English words, and a vowel after them. Where the first is silent (gnome, knee, psalm, wrist) the
# next is not, so the word begins with a consonant, and the library need not be loaded. It decides on clusters that may
# be spoken letter by letter or with a vowel before them (nth, mpeg), and on h where not everybody speaks it (herb).
_PLAIN_ONSET = re.compile(
    r"""(?: [bcdfgjklmnpqrtvwxz] | h(?!erb|omage|ombre) | [bcfgkp][lr] | [dtw]r | [cgkprtw]h | [cpt]hr | [gkmp]n
          | p[st] | dw | t[sw] | s(?:[cklmnpqtw] | [cpt]r | [cp]h | hr? | pl)? ) [aeiouy]
      | y[aeiou]""",
    re.VERBOSE,
)


def article_of(text: str) -> str:
    """Return ``a`` or ``an``: the article that an English speaker puts before the text.

    >>> article_of("honest nurse"), article_of("European"), article_of("FBI agent")
    ('an', 'a', 'an')
    """
    if _SIGN.match(text):
        return "a"
    # Elite for Élite: an accent leaves the vowel a vowel.
    letters = unicodedata.normalize("NFD", text.translate(_LIGATURES))
    start = re.sub(r"^[\W_]+", "", "".join(c for c in letters if not unicodedata.combining(c)))
    if not start:
        return "a"
    if digits := _DIGITS.match(start):
        return _numeral_article(start, digits[0])
    if letter := _first_letter_spoken(start):
        return "an" if letter.lower() in _VOWEL_NAMES else "a"
    return _word_article(start.split()[0].lower())


def _numeral_article(start: str, digits: str) -> str:
    # "an": eight, eighty, eight hundred; eleven and eighteen, alone or before thousand, million or a year's two digits.
    if digits[0] == "8":
        return "an"
    if groups := _GROUPS.match(start):
        leading = groups[1]
    else:
        # 1100 and 1812 are eleven hundred and eighteen twelve; 11000 is eleven thousand, but 110000 is not.
        leading = digits[: 2 if len(digits) == 4 else (len(digits) - 1) % 3 + 1]
    return "an" if leading in ("11", "18") else "a"


def _first_letter_spoken(start: str) -> str:
    """Return the first letter where it is spoken by its name (FBI, X-ray, mRNA); empty where a word is spoken."""
    if single := _LETTER.match(start):
        return single[0]
    if capitals := _CAPITALS.match(start):
        name = capitals[0]
        # In U the word begins as the letter does: UEFA and UCLA have the same article.
        speakable = len(name) >= (6 if name[0] == "U" else 4) and _SPEAKABLE.fullmatch(name)
        return "" if name in _SPOKEN or speakable else start[0]
    token = re.match(r"\w+", start)
    return start[0] if token and token[0] in _SPELT else ""


def _word_article(word: str) -> str:
    if _VOWEL.match(word):
        return "an"
    if _CONSONANT.match(word) or _PLAIN_ONSET.match(word):
        return "a"
    if word[0] in "aeiou":
        # Words that sound otherwise are in _CONSONANT. The library would say the same, but for "a usher", "a uber".
        return "an"
    return library_article(word)
