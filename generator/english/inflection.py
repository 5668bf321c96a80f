"""Inflection: the plural of nouns, and the simple past and the present after *she* of verbs, from tables and rules."""

import re

import jinja2

from senseprobe.generator.english.library import library_plural, word_set

_AFTER_HEAD = re.compile(r"(?<=\w)\s+(?:of|in|with|without|for|from|at|on|who|whose)\s")
# The part that takes the ending stands first: passers-by, runners-up, sisters-in-law.
_FIRST_PART = re.compile(
    r"(?i)(\w+ers?(?=-by|-on)|passers?(?=by)|runners?(?=-up)|\w+(?=-in-law)|\w*(?:s|men)(?=-(?:in|of|at|de)-))(.+)"
)
# Ending in s, yet singular.
_SINGULAR_S = word_set("""
    alias always as asbestos atlas barracks bias biceps canvas chaos charles christmas contretemps corps
    cosmos crossroads cyclops does ethos forceps fracas gallows gas gasworks has headquarters herpes
    hers his honduras innings its james kansas lazybones lens mars means mercedes mrs
    netherlands overseas pancreas pathos perhaps philippines quadriceps rhinoceros sassafras schnapps series sometimes
    species steelworks subspecies summons sweepstakes texas theirs thermos thomas triceps triceratops tripos upstairs
    wales was whereas xmas yes
""")
_PLURAL_IS_US = word_set("""
    alibis beaus bikinis emiratis emus gurus hindus iraqis israelis khakis kiwis maoris menus nazis pakistanis qataris
    rabbis safaris saudis skis somalis sunnis swamis taxis thais tsunamis uzbekistanis yemenis zulus
""")
_PLURAL = re.compile(
    # Singular although they end like it.
    r"(?!(?:abdo|acu|a|albu|bitu|catechu|cogno|cycla|dol|hy|lu|o|ra|regi|ru|se|speci|sta|turk|ye)men$)"
    r"(?!norfolk|suffolk)"
    r"(?:.*men|.*children|brethren|.*(?:people|folk)|police|cattle|oxen|.*(?:feet|teeth)|geese|(?:dor)?mice|lice|dice"
    r"|data|media|criteria|phenomena|bacteria|alumni|alumnae|vertebrae|fungi|nuclei|stimuli)"
)
_MASS = word_set("""
    advice aids applause asbestos asparagus bacon baggage brass bravery bread broccoli butter cash chaos citrus
    clothing courage crockery cutlery debris dirt dust electricity equipment evidence flour footwear fun furniture
    garbage garlic gasoline gravel happiness hardware harm hiv homework honey housework hummus humus information
    jewellery jewelry knowledge laundry luck luggage machinery mail makeup merchandise money mud music nonsense oxygen
    pasta patience permission petrol popcorn pork poverty progress rice rubbish salt sand scenery seafood shopping
    silverware software spaghetti stuff sugar tennis toast tofu traffic transportation trash underwear unemployment
    violence water wealth weather
""")
_MEALS = word_set("breakfast brunch dinner lunch supper")  # but: a late lunch
_OES = word_set("""
    archipelago buffalo cargo domino echo embargo hero innuendo mango mosquito motto negro potato superhero tomato
    tornado torpedo veto volcano
""")
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
    """Return the text with its head noun in the plural; a plural stays as it is."""
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


_PAST_PAIRS = word_set("""
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
""")
_PAST = dict(pair.split(":") for pair in _PAST_PAIRS)
_PREFIX = re.compile(r".*-|over|under|out|re|un|mis(?:under)?|up|with|fore?|pre|baby|breast|proof|ghost|broad")
_NO_RULE = word_set("bid hang lie shine may might must shall should could would ought")
_MODALS = word_set("can could may might must shall should will would ought")
_MONOSYLLABLE = re.compile(r"(?:[^aeiou]*|[^aeiou]*qu)[aeiou][bdfgklmnprstvz]")
_STRESSED = word_set("""
    abet abhor acquit admit allot annul commit compel concur confer control debug defer demur deter dispel emit enrol
    enthral equip excel expel handicap impel incur infer kidnap occur omit outwit patrol permit prefer program propel
    rebel rebut recap recur refer regret remit repel submit transfer transmit unplug unwrap worship zigzag zip
""")
_THIRD = {"be": "is", "have": "has", "stomach": "stomachs"}


def past_of(text: str) -> str:
    """Return the simple past; raise jinja2.TemplateRuntimeError for a verb of which no rule gives it."""
    verb, word, rest = _split_verb(text)
    if word in _NO_RULE:
        message = f"no rule gives the past of {verb!r}: write it into the column past of its list"
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
    """Return the form after *she*, in the present."""
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
    """Return what an infinitive or a past is after *they*, *I* and *you*: own, are or am; owned, were."""
    verb, word, rest = _split_verb(text)
    return {"be": "am" if subject == "I" else "are", "was": "were"}.get(word, verb) + rest
