"""Files as large, as deep or as odd as can be: rows or findings, each call in five seconds and a gigabyte.

What is judged, and how, is in `injection/worker.py`; `test_fuzz.py` makes files by chance.
"""

import json
import random
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from tests.injection.driving import (
    ANIMALS,
    CARD,
    CLAIMS,
    DESCRIPTOR,
    FILES,
    MEMBERS,
    PAIRS,
    QUALITIES,
    WORDS,
    Case,
    Told,
    alone,
    judged,
    read,
)


def _check(told: Told) -> None:
    """Rows, or findings that can be printed: in time, and in memory."""
    assert not told["escaped"], told["escaped"]
    assert not told["touched"]


def _check_rows_or_findings(told: Told) -> None:
    _check(told)
    assert told["codes"] or set(told["steps"].values()) == {"fine"}


def _with(file: str, old: str, new: str) -> Case:
    text = read(file)
    assert old in text
    return alone(file, text.replace(old, new).encode("utf-8", "surrogatepass"))


def _framed(frame: str) -> Case:
    return _with(CLAIMS, "The {{ subject }} is {{ quality }}.", frame)


def _noise(size: int, seed: int) -> bytes:
    return random.Random(seed).randbytes(size)  # noqa: S311 - the same noise each time


def _slots(n: int, words: int, frame: str) -> Case:
    """A template of n slots of one or two words, and as many rows as these make."""
    where = {1: {"list": "qualities", "where": {"word": "wild"}}, 2: {"list": "qualities"}}[words]
    slots = {f"s{number}": where for number in range(n)}
    text = read(CLAIMS).replace(
        "  quality: {list: qualities}", f"  {json.dumps(slots)[1:-1]}".replace('}, "', '}\n  "')
    )
    front = text.replace("generalise: [animal, quality]", "generalise: [animal]").replace(
        "pairs: 4", f"pairs: {2 * words**n}"
    )
    return {CLAIMS: front.replace("{{ quality }}", frame).encode()}


def _reads(n: int) -> str:
    return "{{ 'x' if " + " or ".join(f"s{number} == 'wild'" for number in range(n)) + " else 'y' }}"


def _word(word: str, filter_: str) -> Case:
    """A noun of a list that is printed through one of our filters."""
    return {**_with(MEMBERS, "member | a", f"member | {filter_}"), **_with(WORDS, "rose,", f'"{word}",')}


def _rows(n: int, tail: str = "") -> Case:
    """A list of so many words, of which the templates use the first."""
    rows = "".join(f"w{number},unpleasant\n" for number in range(n))
    return {QUALITIES: f"word,polarity\nwild,unpleasant\ntame,pleasant\n{rows}{tail}".encode()}


def _named(name: str) -> Case:
    """A slot of this name, which the frame prints."""
    text = read(CLAIMS).replace("quality: {", f"{json.dumps(name)}: {{").replace("{{ quality }}", f"{{{{ {name} }}}}")
    return {CLAIMS: text.replace("[animal, quality]", "[animal]").encode()}


def _ruined(file: str) -> Iterator[tuple[str, Case]]:
    """A file that is no text, or not the text that it was, or no file."""
    text = read(file)
    yield "noise", {file: _noise(4_096, FILES.index(file))}
    yield "cut inside a character", {file: f"{text}\u00e9".encode()[:-1]}
    yield "UTF-16", {file: text.encode("utf-16")}
    yield "CRLF", {file: text.replace("\n", "\r\n").encode("utf-8-sig")}
    yield "empty", {file: b""}
    yield "lost", {file: None}
    yield "zeros", {file: bytes(100_000)}
    yield "huge line", {file: text.encode() + b"x" * 500_000}
    yield "pipe", {file: "pipe:"}
    yield "link to endless zeros", {file: "link:/dev/zero"}
    yield "hole of 3 GiB", {file: f"hole:{3 * 2**30}"}


def _slow(n: int) -> dict[str, Case]:
    """Cases that take time in proportion to their size; `n` is a thousand where they are as large as may be."""
    twice = {**_rows(100 * n), **_with(PAIRS, "word: tame", "word: tamme")}
    return {
        "many groups": _with(CARD, "groups: [dogs, elks]", f"groups: [{', '.join(['dogs'] * 100 * n)}]"),
        "many lines": {CARD: (read(CARD) + "# a comment\n" * 100 * n).encode()},
        "many unknown keys": {CARD: (read(CARD) + "".join(f"key{k}: 1\n" for k in range(5 * n))).encode()},
        "title of many letters": _with(CARD, "title: A small dataset", f"title: {'a' * 1_000 * n}"),
        "many lists": {DESCRIPTOR: (read(DESCRIPTOR) + read(DESCRIPTOR).partition("resources:\n")[2] * n).encode()},
        "many columns": _with(DESCRIPTOR, "- {name: size,", "- {name: x}\n        " * 2 * n + "- {name: size,"),
        "many rows": _rows(100 * n),
        "many rows, a word misspelt": twice,
        "many rows, a word there twice": _rows(100 * n, "w5,pleasant\n"),
        "rows as short as they can be": {QUALITIES: b"word,polarity\n" + b"a,\n" * 1_000 * n},
        "many frames": _framed("".join(f"The {{{{ subject }}}} is {{{{ quality }}}} {k}.\n" for k in range(n))),
        "many blocks": {MEMBERS: (read(MEMBERS) + "---\ndescription: x\n---\n" * n).encode()},
    }


BIG = 200_000
EXTREMES: dict[str, Case] = {
    **_slow(30),
    **{f"{name}, {Path(file).name}": told for file in (PAIRS, DESCRIPTOR, ANIMALS) for name, told in _ruined(file)},
    "huge file that nothing names": {"wordlists/corpus.txt": f"hole:{3 * 2**30}"},
    "pipe that nothing names": {"wordlists/pipe.csv": "pipe:"},
    "template that is a circle of links": {PAIRS: "link:pairs.j2"},
    # YAML
    "deep flow": {CARD: b"a: " + b"[" * 100_000},
    "deep blocks": {CARD: "".join(f"{' ' * n}a:\n" for n in range(2_000)).encode()},
    "number of a million digits": _with(CARD, "margin: 5", f"margin: {'9' * 1_000_000}"),
    "number of a million digits in a count": _with(CLAIMS, "pairs: 4", f"pairs: {'9' * 1_000_000}"),
    "margin that is no number": _with(CARD, "margin: 5", "margin: .nan"),
    "margin without end": _with(CARD, "margin: 5", "margin: .inf"),
    "condition on no number": _with(CLAIMS, "furry: false", "weight: .nan"),
    "date": _with(CLAIMS, "furry: false", "word: 2024-01-01"),
    "date as a description": _with(PAIRS, "Animals, wild against tame.", "2024-01-01T00:00:00Z"),
    "negative count": _with(CLAIMS, "pairs: 4", "pairs: -4"),
    "published count of 30 digits": _with(CLAIMS, "pairs: 4", f"pairs: 4, published: {'9' * 30}, reason: so it was"),
    "config of 300 letters": _with(CARD, "configs: [pairs,", f"configs: [{'a' * 300}, pairs,"),
    "column of a million letters": _with(DESCRIPTOR, "name: size", f"name: {'s' * 1_000_000}"),
    "column that is a word's own": _with(DESCRIPTOR, "name: weight", "name: columns"),
    "two columns of one name": _with(DESCRIPTOR, "name: weight", "name: size"),
    # CSV
    "columns by the hundred thousand": {ANIMALS: b"word" + b",x" * 100_000 + b"\n" + b"," * 100_000},
    "quotation mark that never closes": {ANIMALS: read(ANIMALS).encode() + b'"' + b"a\n" * 500_000},
    "quotation marks": {ANIMALS: read(ANIMALS).encode() + b'"' * 1_000_001},
    "integer of a million digits": _with(ANIMALS, "elk,5", f"elk,{'9' * 1_000_000}"),
    "integer of 5,000 digits": _with(ANIMALS, "elk,5", f"elk,{'9' * 5_000}"),
    "integer of 4,000 digits": _with(ANIMALS, "elk,5", f"elk,{'9' * 4_000}"),
    "number that is none": _with(ANIMALS, "4e2", "nan"),
    "number without end": _with(ANIMALS, "4e2", "1e999"),
    "cell of a hundred thousand letters": _with(QUALITIES, "tame,", f"tame,pleasant\n{'a' * 100_000},"),
    "long words that are nearly alike": {
        **_rows(0, f"{'ab' * 30_000},pleasant\n"),
        **_with(PAIRS, "word: tame", f"word: {'ba' * 30_000}"),
    },
    "formulas": {**_with(QUALITIES, "tame", "=1+1"), **_with(PAIRS, "word: tame", 'word: "=1+1"')},
    # frames
    "blanks inside a frame": _framed(f"The {{{{ subject }}}}{' ' * BIG}is {{{{ quality }}}}."),
    "blanks before a frame": _framed(f"{' ' * BIG}The {{{{ subject }}}} is {{{{ quality }}}}."),
    "blanks before an id": _framed(f"The {{{{ subject }}}}.{' ' * BIG}{{# id: x{' ' * BIG}"),
    "braces that never close": _framed("{{ subject }} {% raw %}" + "{{" * 4_900 + "{% endraw %}"),
    "braces that never close, of statements": _framed("{{ subject }} {% raw %}" + "{%" * 4_900 + "{% endraw %}"),
    "ids that never end": _framed("{{ subject }} " + "{# id" * 1_900),
    "placeholders that never end": _framed("{{ subject }} " + "<a" * 2_400 + "$a" * 2_400),
    "hyphens": _framed("{{ subject }} " + "a-" * 4_900),
    "underscores": _framed("{{ subject }} " + "_-" * 4_900),
    "commas": _framed("{{ subject }} " + " ," * 4_900),
    "articles": _framed("{{ subject }} " + "an " * 3_200 + "{{ quality }}"),
    "tags that are all right": _framed("{{ subject }}" + " {{ quality }}" * 700),
    "rules by the hundred thousand": {PAIRS: b"---\n" * 100_000},
    # English
    **{
        f"{word[:6]} as {filter_}": _word(word, filter_)
        for word in ("BA" * 2_500, "ab-" * 1_600, "a " * 2_000 + "b", "8," * 2_000, "men of " * 500 + "war")
        for filter_ in ("a", "plural")
    },
    "long verb as past": _word("ab" * 2_500, "past"),
    "long verb as third": _word("to-" * 1_600, "third"),
    # products
    "seventy slots of one word": _slots(70, 1, "{{ s0 }}"),
    "seventy slots of one word, all read at once": _slots(70, 1, _reads(70)),
    "seventy slots of two words": _slots(70, 2, "{{ s0 }}"),
    "seventy slots of two words, all read": _slots(70, 2, " ".join(f"{{{{ s{n} }}}}" for n in range(70))),
    "twenty slots of two words, all read at once": _slots(20, 2, _reads(20)),
    "seventy slots of two words, all read at once": _slots(70, 2, _reads(70)),
    # names that mean something to Jinja, to Python, or to Arrow
    **{
        f"slot {name!r}": _named(name)
        for name in ("self", "loop", "super", "caller", "context", "environment", "missing", "class", "_", "l_0_x")
    },
    "slot with a ligature": _named("\ufb01eld"),
    "slot of a thousand letters": _named("s" * 1_000),
}  # fmt: skip


FEW = (
    *(f"{name}, {Path(PAIRS).name}" for name, _ in _ruined(PAIRS)),
    *("many rows, a word there twice", "pipe that nothing names", "template that is a circle of links", "deep blocks"),
    *("number of a million digits", "margin that is no number", "date", "config of 300 letters", "formulas"),
    *("quotation mark that never closes", "integer of 5,000 digits", "number that is none", "hyphens"),
    *("blanks inside a frame", "braces that never close", "ab-ab- as plural", "seventy slots of two words"),
    *("slot 'loop'", "slot with a ligature"),
)
"""Some of each kind; `.ci/run` has the others, each of which takes a build, or as long as may be."""
OTHERS = [name for name in EXTREMES if name not in FEW]

LARGE = {
    **{
        f"{name}, {Path(file).name}": told
        for file in (CARD, CLAIMS, MEMBERS, QUALITIES, WORDS)
        for name, told in _ruined(file)
    },
    **_slow(1_000),
}


@pytest.fixture(scope="module")
def few() -> Mapping[str, Told]:
    """What became of a few extremes, and of a name that is two."""
    return _judged({name: EXTREMES[name] for name in FEW} | {"two names": _two_names()})


@pytest.fixture(scope="module")
def others() -> Mapping[str, Told]:
    """What became of the other extremes."""
    return _judged({name: EXTREMES[name] for name in OTHERS})


@pytest.fixture(scope="module")
def large() -> Mapping[str, Told]:
    """What became of the same at full size, and in the other files."""
    return _judged(LARGE)


def _judged(cases: Mapping[str, Case]) -> Mapping[str, Told]:
    return dict(zip(cases, judged(cases.values()), strict=True))


@pytest.mark.parametrize("name", FEW)
# Takes long: the first waits for all cases, each in a process of its own.
def test_an_extreme_is_rows_or_findings(few: Mapping[str, Told], name: str) -> None:
    """Nothing else comes of it."""
    _check_rows_or_findings(few[name])


@pytest.mark.slow
@pytest.mark.parametrize("name", OTHERS)
def test_another_extreme_is_rows_or_findings(others: Mapping[str, Told], name: str) -> None:
    """Nor of these."""
    _check_rows_or_findings(others[name])


@pytest.mark.soak
@pytest.mark.parametrize("name", LARGE)
def test_a_large_extreme_is_rows_or_findings(large: Mapping[str, Told], name: str) -> None:
    """Nor of these."""
    _check(large[name])


def _two_names() -> Case:
    """Slots of which *fi* is tame, and the ligature wild. Where the quality is tame, the frame says the ligature's."""
    slots = "  \ufb01: {list: qualities, where: {word: wild}}\n  fi: {list: qualities, where: {word: tame}}\n"
    frame = "is {{ \ufb01 if quality == fi else fi }} where it is {{ quality }}"
    text = read(CLAIMS).replace("  quality:", f"{slots}  quality:").replace("is {{ quality }}", frame)
    return alone(CLAIMS, text.encode())


def test_what_python_takes_for_one_name_are_two(few: Mapping[str, Told]) -> None:
    """Jinja writes Python, which makes names uniform: the ligature of *fi* becomes two letters."""
    told = few["two names"]
    _check(told)
    said = {"The dog is wild where it is tame.", "The dog is tame where it is wild."}
    assert any(code in told["codes"] for code in ("E102", "E105")) or said <= set(told["sentences"]), told["sentences"]
