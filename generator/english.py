"""English in templates: articles, plurals, verbs, capitals. The row's own columns first, then a table, then a library.

Whatever was not stated by a row is a guess; guesses are recorded, and a release freezes them in its recipe, so that an
upgrade of the library cannot change it. Spelling is American where the two differ (traveled).
"""

import re
import unicodedata
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Protocol, cast

import jinja2

from senseprobe.generator.wordlists import Word

__all__ = ["MARK", "English", "Guess", "no_article"]

MARK = "\x1f"
"""Stands between an article and its word until the sentence is whole: the target's span leaves the article out."""

Guess = tuple[str, str]
"""What was asked (`a`, `plural`, `past` or `third`) and of which text."""

_ARTICLES = ("a", "an", "the", "none")


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


class _Inflect(Protocol):
    def a(self, text: str) -> str: ...

    def plural_noun(self, text: str) -> str | bool: ...


@cache
def _inflect() -> _Inflect:
    import inflect  # takes a fifth of a second, and most commands need no English

    return cast("_Inflect", inflect.engine())


@dataclass(slots=True)
class English:
    """The filters of templates, and every guess that they made.

    `frozen` holds the guesses of a release: they win over table and library.
    """

    frozen: Mapping[Guess, str] = field(default_factory=dict)
    guesses: dict[Guess, str] = field(default_factory=dict)

    def filters(self) -> dict[str, Callable[[str], str]]:
        """The filters by the name that templates use."""
        return {"a": self.a, "plural": self.plural, "past": self.past, "third": self.third, "upfirst": self.upfirst}

    def a(self, text: str) -> str:
        """The text with its indefinite article; a row's column `article` overrides.

        The column holds ``a``, ``an``, ``the`` or ``none``; jinja2.TemplateRuntimeError where it holds anything else.
        """
        article = _stated(text, "article") or self._guess("a", text, _article)
        if article not in _ARTICLES:
            message = f"the article of {str(text)[:40]!r} is {article[:40]!r}, expected {', '.join(_ARTICLES)}"
            raise jinja2.TemplateRuntimeError(message)
        return text if article == "none" else f"{article}{MARK} {text}"

    def plural(self, text: str) -> str:
        """The plural of a noun, also of one with words around it (women of color); a row's column `plural` overrides.

        What is plural already stays as it is.
        """
        return _stated(text, "plural") or self._guess("plural", text, _plural)

    def past(self, text: str) -> str:
        """The simple past (after *she*) of an infinitive, words after it kept; a row's column `past` overrides.

        Raises jinja2.TemplateRuntimeError for a verb whose past depends on its sense (lie, hang) or that has none.
        """
        return _stated(text, "past") or self._guess("past", text, _past)

    def third(self, text: str) -> str:
        """The verb after *she*, in the present; a row's column `third` overrides."""
        return _stated(text, "third") or self._guess("third", text, _third)

    def unfrozen(self) -> list[Guess]:
        """Guesses that were made although a release's answers were given, sorted."""
        return sorted(self.guesses.keys() - self.frozen.keys())

    @staticmethod
    def upfirst(text: str) -> str:
        """The text with its first letter in upper case and the others as they were.

        >>> English.upfirst("an Iraqi")
        'An Iraqi'
        """
        return text[:1].upper() + text[1:]

    def _guess(self, kind: str, text: str, rule: Callable[[str], str]) -> str:
        asked = (kind, str(text))
        if asked not in self.guesses:
            self.guesses[asked] = self.frozen.get(asked) or rule(str(text))
        return self.guesses[asked]


def _stated(text: str, column: str) -> str:
    cell = text.columns.get(column) if isinstance(text, Word) else None
    return "" if cell is None else str(cell)


# ---- Articles go by the first sound ----

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
_SPOKEN = _words("FTSE HUD LAN MIG NOAA RAM REM ROM SCSI SIM")
_SPELT = _words("fbi hiv hr html http lgbt lgbtq mba mp mp3 mri nba nfl ngo rsvp sms suv uhf uk url usb usda ussr uv")

_VOWEL = re.compile(  # silent h: an honest heir
    r"heir|honest|honou?r|hour(?!i)|hors\b|y[b-df-hj-np-tv-xz]|xbox|euler|ewok|uni(?:d(?:e|io)|ll|m(?!o)|n(?!om|uc)|r[or]|ss)"
)
_CONSONANT = re.compile(
    r"""eu | ew | once\b | one(?![giro]) | ou[ai] | oax   # not onerous, oneiric, Oneida
    | uni | unanim[io] | unabom | unesco | uefa           # unless _VOWEL has it: un-important
    | ubi | ug(?!ali)[aeiou] | u[fkrstv][aeiou] | ukr | utr | ulys | u[iy]g""",
    re.VERBOSE,
)


def _article(text: str) -> str:
    if _SIGN.match(text):
        return "a"
    start = re.sub(r"^[\W_]+", "", _unaccented(text))
    if not start:
        return "a"
    if digits := _DIGITS.match(start):
        return _numeral_article(start, digits[0])
    if letter := _first_letter_spoken(start):
        return "an" if letter.lower() in _VOWEL_NAMES else "a"
    return _word_article(start.split()[0].lower())


def _unaccented(text: str) -> str:
    """Élite -> Elite: an accent leaves the vowel a vowel."""
    plain = text.translate(_LIGATURES)
    return "".join(c for c in unicodedata.normalize("NFD", plain) if not unicodedata.combining(c))


def _numeral_article(start: str, digits: str) -> str:
    """Eight, eighty, eight hundred; eleven and eighteen, alone or before thousand, million or a year's two digits."""
    if digits[0] == "8":
        return "an"
    if groups := _GROUPS.match(start):
        leading = groups[1]
    else:
        # 1100 and 1812 are eleven hundred and eighteen twelve; 11000 is eleven thousand, but 110000 is not.
        leading = digits[: 2 if len(digits) == 4 else (len(digits) - 1) % 3 + 1]
    return "an" if leading in ("11", "18") else "a"


def _first_letter_spoken(start: str) -> str:
    """The first letter where it is spoken by its name (FBI, X-ray, mRNA); empty where a word is spoken."""
    if single := _LETTER.match(start):
        return single[0]
    if capitals := _CAPITALS.match(start):
        return "" if _spoken_as_word(capitals[0]) else start[0]
    token = re.match(r"\w+", start)
    return start[0] if token and token[0] in _SPELT else ""


def _spoken_as_word(name: str) -> bool:
    if name in _SPOKEN:
        return True
    # In U the word begins as the letter does: UEFA and UCLA have the same article.
    return len(name) >= (6 if name[0] == "U" else 4) and bool(_SPEAKABLE.fullmatch(name))


def _word_article(word: str) -> str:
    if _VOWEL.match(word):
        return "an"
    if _CONSONANT.match(word):
        return "a"
    if word.startswith("u"):
        return "an"  # the library says "a usher", "a uber"
    return _inflect().a(word).split(" ", 1)[0]


# ---- Nouns ----

_AFTER_HEAD = re.compile(r"(?<=\w)\s+(?:of|in|with|without|for|from|at|on|who|whose)\s")
# The part that takes the ending stands first: passers-by, runners-up, sisters-in-law.
_FIRST_PART = re.compile(
    r"(?i)(\w+ers?(?=-by|-on)|passers?(?=by)|runners?(?=-up)|\w+(?=-in-law)|\w+(?:s|men)(?=-(?:in|of|at|de)-))(.+)"
)
# Ending in s, yet singular.
_SINGULAR_S = _words(
    """
    alias always as asbestos atlas barracks bias biceps canvas chaos charles christmas contretemps corps
    cosmos crossroads cyclops does ethos forceps fracas gallows gas gasworks has headquarters herpes
    hers his honduras innings its james kansas lazybones lens mars means mercedes mrs
    netherlands overseas pancreas pathos perhaps philippines quadriceps rhinoceros sassafras schnapps series sometimes
    species steelworks subspecies summons sweepstakes texas theirs thermos thomas triceps triceratops tripos upstairs
    wales was whereas xmas yes
    """
)
_PLURAL_IS_US = _words(
    """
    alibis beaus bikinis emiratis emus gurus hindus iraqis israelis khakis kiwis maoris menus nazis pakistanis qataris
    rabbis safaris saudis skis somalis sunnis swamis taxis thais tsunamis uzbekistanis yemenis zulus
    """
)
_PLURAL = re.compile(
    # Singular although they end like it.
    r"(?!(?:abdo|acu|a|albu|bitu|catechu|cogno|cycla|dol|hy|lu|o|ra|regi|ru|se|speci|sta|turk|ye)men$)"
    r"(?!norfolk|suffolk)"
    r"(?:.*men|.*children|brethren|.*(?:people|folk)|police|cattle|oxen|.*(?:feet|teeth)|geese|(?:dor)?mice|lice|dice"
    r"|data|media|criteria|phenomena|bacteria|alumni|alumnae|vertebrae|fungi|nuclei|stimuli)"
)
_MASS = _words(
    """
    advice aids applause asbestos asparagus bacon baggage brass bravery bread broccoli butter cash chaos citrus
    clothing courage crockery cutlery debris dirt dust electricity equipment evidence flour footwear fun furniture
    garbage garlic gasoline gravel happiness hardware harm hiv homework honey housework hummus humus information
    jewellery jewelry knowledge laundry luck luggage machinery mail makeup merchandise money mud music nonsense oxygen
    pasta patience permission petrol popcorn pork poverty progress rice rubbish salt sand scenery seafood shopping
    silverware software spaghetti stuff sugar tennis toast tofu traffic transportation trash underwear unemployment
    violence water wealth weather
    """
)
_MEALS = _words("breakfast brunch dinner lunch supper")  # but: a late lunch
_OES = _words(
    """
    archipelago buffalo cargo domino echo embargo hero innuendo mango mosquito motto negro potato superhero tomato
    tornado torpedo veto volcano
    """
)
# Ending of the noun, letters to drop, letters to add.
_ENDINGS = (
    ("child", 0, "ren"), ("thief", 1, "ves"), ("brahman", 0, "s"), ("chairperson", 0, "s"), ("larva", 0, "e"),
    ("swiss", 0, ""), ("bison", 0, ""), ("swine", 0, ""), ("french", 0, ""), ("dutch", 0, ""), ("welsh", 0, ""),
)  # fmt: skip


def no_article(text: str) -> bool:
    """Whether the text looks plural or uncountable (jeans, advice), so that *a* before it is probably a mistake.

    By its head noun: *a pair of jeans* and *a news anchor* are right. Words that are often countable too (soup) are not
    counted as uncountable.

    >>> no_article("headphones"), no_article("bus")
    (True, False)
    """
    before, head, _ = _split(text)
    word = head.lower()
    return word in _MASS or (word in _MEALS and not before.strip()) or _is_plural(head)


def _split(text: str) -> tuple[str, str, str]:
    """What stands before the head noun, the noun, and what stands after it; the noun is empty where there is none."""
    after = _AFTER_HEAD.search(text)
    phrase = text[: after.start()] if after else text
    end = len(re.sub(r"[\W_]+$", "", phrase))
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


def _plural(text: str) -> str:
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
    return str(_inflect().plural_noun(noun) or noun)


# ---- Verbs ----

_PAST_PAIRS = _words(
    """
    arise:arose awake:awoke be:was bear:bore beat:beat become:became befall:befell begin:began behold:beheld bend:bent
    bet:bet bind:bound bite:bit bleed:bled blow:blew break:broke breed:bred bring:brought build:built burst:burst
    buy:bought can:could cast:cast catch:caught choose:chose cling:clung come:came cost:cost creep:crept cut:cut
    deal:dealt dig:dug do:did draw:drew drink:drank drive:drove eat:ate fall:fell feed:fed feel:felt fight:fought
    find:found flee:fled fling:flung fly:flew forbid:forbade forget:forgot freeze:froze get:got give:gave go:went
    grind:ground grow:grew have:had hear:heard hide:hid hit:hit hold:held hurt:hurt keep:kept kneel:knelt know:knew
    lay:laid lead:led leave:left lend:lent let:let light:lit lose:lost make:made mean:meant meet:met pay:paid put:put
    quit:quit read:read relay:relayed rid:rid ride:rode ring:rang rise:rose run:ran say:said see:saw seek:sought
    sell:sold send:sent set:set shake:shook shed:shed shoot:shot shrink:shrank shut:shut sing:sang sink:sank sit:sat
    sleep:slept slide:slid sling:slung slit:slit speak:spoke spend:spent spin:spun split:split spread:spread
    spring:sprang stand:stood steal:stole stick:stuck sting:stung stink:stank strike:struck string:strung strive:strove
    swear:swore sweep:swept swim:swam swing:swung take:took teach:taught tear:tore tell:told think:thought throw:threw
    thrust:thrust tread:trod wake:woke wear:wore weave:wove weep:wept will:would win:won wind:wound wring:wrung
    write:wrote
    """
)
_PAST = dict(pair.split(":") for pair in _PAST_PAIRS)
_PREFIX = re.compile(r".*-|over|under|out|re|un|mis(?:under)?|up|with|fore?|pre|baby|breast|proof|ghost|broad")
_NO_RULE = _words("bid hang lie shine may might must shall should could would ought")
_MODALS = _words("can could may might must shall should will would ought")
_ONE_SYLLABLE = re.compile(r"(?:[^aeiou]*|[^aeiou]*qu)[aeiou][bdfgklmnprstvz]")
_STRESSED = _words(
    """
    abet abhor acquit admit allot annul commit compel concur confer control debug defer demur deter dispel emit enrol
    enthral equip excel expel handicap impel incur infer kidnap occur omit outwit patrol permit prefer program propel
    rebel rebut recap recur refer regret remit repel submit transfer transmit unplug unwrap worship zigzag zip
    """
)
_THIRD = {"be": "is", "have": "has", "stomach": "stomachs"}


def _past(text: str) -> str:
    verb, rest = _verb(text)
    word = verb.lower()
    if word in _NO_RULE:
        message = f"no rule gives the past of {verb!r}: write it into the column past of its list"
        raise jinja2.TemplateRuntimeError(message)
    if word in _PAST:
        return _PAST[word] + rest
    if (prefix := _PREFIX.match(word)) and (base := word[prefix.end() :]) in _PAST:
        return verb[: prefix.end()] + _PAST[base] + rest
    return _regular_past(verb) + rest


def _verb(text: str) -> tuple[str, str]:
    """The verb, and what follows it: spoke, to."""
    verb = re.match(r"\S*", text)
    end = verb.end() if verb else 0
    return text[:end], text[end:]


def _regular_past(verb: str) -> str:
    if verb.endswith("e"):
        return verb + "d"
    if re.search(r"[^aeiou]y$", verb):
        return verb[:-1] + "ied"
    return _doubled(verb) + "ed"


def _doubled(verb: str) -> str:
    """Stop -> stopp, mimic -> mimick: what keeps the vowel short, or the c hard, before an ending."""
    word = verb.lower().split("-")[-1]
    if word.endswith("ic"):
        return verb + "k"
    return verb + verb[-1] if _ONE_SYLLABLE.fullmatch(word) or word in _STRESSED else verb


def _third(text: str) -> str:
    verb, rest = _verb(text)
    word = verb.lower()
    if word in _MODALS:
        return text
    if word in _THIRD:
        return _THIRD[word] + rest
    if re.search(r"[^aeiou]y$", word):
        return verb[:-1] + "ies" + rest
    if re.search(r"[sz]$", word):
        return _doubled(verb) + "es" + rest
    return verb + ("es" if re.search(r"(?:x|ch|sh|[^aeiou]o)$", word) else "s") + rest
