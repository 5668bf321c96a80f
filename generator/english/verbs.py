"""Verbs: the simple past, and the present after *she*, of an infinitive with or without words after it."""

import re

import jinja2

from senseprobe.generator.english.library import word_set

_PAST_PAIRS = word_set(
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
_NO_RULE = word_set("bid hang lie shine may might must shall should could would ought")
_MODALS = word_set("can could may might must shall should will would ought")
_MONOSYLLABLE = re.compile(r"(?:[^aeiou]*|[^aeiou]*qu)[aeiou][bdfgklmnprstvz]")
_STRESSED = word_set(
    """
    abet abhor acquit admit allot annul commit compel concur confer control debug defer demur deter dispel emit enrol
    enthral equip excel expel handicap impel incur infer kidnap occur omit outwit patrol permit prefer program propel
    rebel rebut recap recur refer regret remit repel submit transfer transmit unplug unwrap worship zigzag zip
    """
)
_THIRD = {"be": "is", "have": "has", "stomach": "stomachs"}


def past_of(text: str) -> str:
    """Return the simple past.

    Raise jinja2.TemplateRuntimeError for a verb that has none, or whose past depends on its sense.
    """
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
    """Return the verb, and the text after it."""
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
    """Return stopp for stop, mimick for mimic: before an ending the vowel stays short, or the c hard."""
    word = verb.lower().split("-")[-1]
    if word.endswith("ic"):
        return verb + "k"
    return verb + verb[-1] if _MONOSYLLABLE.fullmatch(word) or word in _STRESSED else verb


def third_of(text: str) -> str:
    """Return the form after *she*, in the present."""
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
