"""Payloads of public lists of server-side template injection, and resource bombs, against templates and word lists.

Each is refused with the code that its row names, or comes out as the text that it is. Nothing is executed: a hook in
the worker (`injection/worker.py`) tells every file outside the project, program and connection that a case touches, and
its limits end what hangs or grows. Where payloads come from: PortSwigger's research on server-side template injection,
PayloadsAllTheThings and HackTricks list them by idea; the frames here were written for our names and filters.
"""

import base64
import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

HERE = Path(__file__).parents[1] / "injection"
TEMPLATES = "templates/small/"
Told = dict[str, Any]
Case = dict[str, str | None]


def _judged(cases: Mapping[str, Case]) -> dict[str, Told]:
    """What the worker tells of each case: the small project with some of its files replaced, or removed."""
    lines = []
    for name, case in cases.items():
        files = {path: text and base64.b64encode(text.encode()).decode() for path, text in case.items()}
        lines.append(json.dumps({"files": files, "thorough": "cell" in name or not case}) + "\n")
    command = [sys.executable, str(HERE / "worker.py")]
    done = subprocess.run(command, input="".join(lines), capture_output=True, text=True, check=True)
    return dict(zip(cases, map(json.loads, done.stdout.splitlines()), strict=True))


def _changed(file: str, *changes: tuple[str, str]) -> Case:
    """A file of the project with texts replaced that are there."""
    text = (HERE / "project" / file).read_text(encoding="utf-8")
    for old, new in changes:
        assert old in text, old
        text = text.replace(old, new)
    return {file: text}


def _frame(payload: str) -> Case:
    """The inference template alone in its dataset, with the payload in its sentence, or as its sentence."""
    card = _changed(
        f"{TEMPLATES}dataset.yaml",
        ("configs: [pairs, claims, members]", "configs: [claims]"),
        ("contrasts:\n  - {name: itself, estimand: preference, a: pairs, b: pairs}\n", ""),
    )
    sentence = payload if "subject" in payload else f"The {{{{ subject }}}} is {payload}."
    lost = dict.fromkeys((f"{TEMPLATES}pairs.j2", f"{TEMPLATES}members.j2"))
    return {**lost, **card, **_changed(f"{TEMPLATES}claims.j2", ("The {{ subject }} is {{ quality }}.", sentence))}


# ---- Frames that are refused -------------------------------------------------------------------------------------

RUN = "os.system('touch ran')"  # would be a file in the project, and an event that the worker tells
GLOBALS = "__init__.__globals__"

# Name: frame, and the code of the finding, derived by hand from DESIGN section 4: syntax off the whitelist is E106,
# what Jinja cannot read E107, too long E108, a column that no list has E104, a name that nothing defines or a value
# that is no text E105. Jinja reads all of a frame before anything is looked at: E107 comes before E106, and that before
# names.
REFUSED: dict[str, tuple[str, str]] = {
    # classes, by attributes, items and filters
    "class of a word": ("{{ quality.__class__ }}", "E104"),
    "class of a word, between signs": ("{{- quality.__class__ -}}", "E104"),
    "class in a condition": ("{% if quality.__class__ %}wild{% else %}tame{% endif %}", "E104"),
    "class in an inline condition": ("{{ 'wild' if quality.__class__ else 'tame' }}", "E104"),
    "class of a text": ("{{ ''.__class__ }}", "E106"),
    "class of a list": ("{{ [].__class__ }}", "E106"),
    "class of a mapping": ("{{ {}.__class__ }}", "E106"),
    "class of true": ("{{ true.__class__ }}", "E106"),
    "class of a number": ("{{ 7 .__class__ }}", "E106"),
    "bases by attributes": ("{{ quality.__class__.__mro__ }}", "E106"),
    "subclasses called": ("{{ quality.__class__.__mro__[1].__subclasses__() }}", "E106"),
    "subclass by number": ("{{ ''.__class__.__base__.__subclasses__()[140]('touch ran', shell=true) }}", "E106"),
    "class by item": ("{{ quality['__class__'] }}", "E106"),
    "class by escaped item": (r"{{ quality['\x5f\x5fclass\x5f\x5f'] }}", "E106"),
    "class by unicode escapes": (r"{{ quality['\u005f\u005fclass\u005f\u005f'] }}", "E106"),
    "class by joined item": ("{{ quality['__cla'~'ss__'] }}", "E106"),
    "class by neighbouring texts": ("{{ quality['__cla' 'ss__'] }}", "E106"),
    "class by a sum": ("{{ quality['__cla' + 'ss__'] }}", "E106"),
    "class by attr": ("{{ quality|attr('__class__') }}", "E106"),
    "class by attr of joined": ("{{ quality|attr(['__cla', 'ss__']|join) }}", "E106"),
    "class by attr of reversed": ("{{ quality|attr('__ssalc__'|reverse) }}", "E106"),
    "class by attr of formatted": ("{{ quality|attr('%sclass%s'|format('__', '__')) }}", "E106"),
    "class by map": ("{{ [quality]|map(attribute='__class__')|list }}", "E106"),
    "class by groupby": ("{{ [quality]|groupby('__class__') }}", "E106"),
    "class in Cyrillic": ("{{ quality.__\u0441lass__ }}", "E104"),
    "class with a soft hyphen": ("{{ quality.__cla\u00adss__ }}", "E106"),
    "escape character in a text": (r"{{ quality if '\x1b[2J' else quality }}", "E106"),
    "word turned round": ("{{ quality if '\u202e' else quality }}", "E106"),
    # a word's own attributes, and methods of texts
    "columns of a word": ("{{ quality.columns }}", "E104"),
    "source of a word": ("{{ quality.source }}", "E104"),
    "method without a call": ("{{ quality.upper }}", "E104"),
    "html of a word": ("{{ quality.__html__ }}", "E104"),
    "html of nothing": ("{{ nothing.__html__ }}", "E105"),
    "format of a word": ("{{ quality.format }}", "E104"),
    "slice": ("{{ quality[0:2] }}", "E106"),
    "infinite number": ("{{ 1e999 }} and {{ quality }}", "E106"),
    "compared with an infinite number": ("{{ 'no' if subject.size < 1e999 else 'so' }} is {{ quality }}", "E106"),
    "number as attribute": ("{{ quality.0 }}", "E106"),
    "format string": ("{{ '{0.__class__}'.format(quality) }}", "E106"),
    "format map": ("{{ '{x.__class__}'.format_map({'x': quality}) }}", "E106"),
    "percent format": ("{{ '%s' % quality.__class__ }}", "E106"),
    "class of a format string": ("{{ '%s'.__class__ }}", "E106"),
    # what frameworks and Jinja put among the globals
    "self": (f"{{{{ self.{GLOBALS} }}}}", "E106"),
    "self, the context": ("{{ self._TemplateReference__context }}", "E105"),
    "cycler": (f"{{{{ cycler.{GLOBALS}.{RUN} }}}}", "E106"),
    "joiner": ("{{ joiner.__init__ }}", "E105"),
    "namespace": ("{{ namespace.__init__ }}", "E105"),
    "lipsum": ("{{ lipsum.__globals__ }}", "E105"),
    "lipsum, by item": (f"{{{{ lipsum['__globals__'].{RUN} }}}}", "E106"),
    "config": ("{{ config.items }}", "E105"),
    "config called": ("{{ config.from_pyfile('/etc/passwd') }}", "E106"),
    "request": ("{{ request.application }}", "E105"),
    "request, by attr": ("{{ request|attr(request.args.a) }}", "E106"),
    "session": ("{{ session.user }}", "E105"),
    "g": ("{{ g.pop }}", "E105"),
    "url_for": ("{{ url_for.__globals__ }}", "E105"),
    "get_flashed_messages": ("{{ get_flashed_messages.__globals__ }}", "E105"),
    "gettext": ("{{ _.__globals__ }}", "E105"),
    "loop": ("{{ loop.index }}", "E105"),
    "caller": ("{{ caller.__globals__ }}", "E105"),
    "super": ("{{ super() }}", "E106"),
    "dict": ("{{ dict(a=1) }}", "E106"),
    "environment": ("{{ environment.from_string }}", "E105"),
    "context": ("{{ context.environment }}", "E105"),
    "resolve": ("{{ resolve.__globals__ }}", "E105"),
    "builtins": ("{{ __builtins__.open }}", "E105"),
    "import function": ("{{ __import__('os').system('touch ran') }}", "E106"),
    "default of nothing": ("{{ nothing|default(cycler) }}", "E106"),
    # statements
    "import": ("{% import 'os' as os %}", "E106"),
    "from": ("{% from '../../../secret.txt' import x %}", "E106"),
    "include": ("{% include '../../../secret.txt' %}", "E106"),
    "include if there": ("{% include ['/etc/passwd', 'x'] ignore missing %}", "E106"),
    "extends": ("{% extends '../../../secret.txt' %}", "E106"),
    "block": ("{% block b %}{% endblock %}", "E106"),
    "set": ("{% set x = quality.__class__ %}", "E106"),
    "set block": ("{% set x %}{{ quality }}{% endset %}", "E106"),
    "with": ("{% with x = cycler %}{{ x }}{% endwith %}", "E106"),
    "macro": ("{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}", "E106"),
    "call": ("{% call m() %}{% endcall %}", "E106"),
    "filter block": ("{% filter upper %}wild{% endfilter %}", "E106"),
    "autoescape": ("{% autoescape false %}wild{% endautoescape %}", "E106"),
    "do": (f"{{% do {RUN} %}}", "E107"),
    "debug": ("{% debug %}", "E107"),
    "trans": ("{% trans %}wild{% endtrans %}", "E107"),
    "break": ("{% break %}", "E107"),
    "for": ("{% for c in quality %}{{ c }}{% endfor %}", "E106"),
    "for that calls itself": ("{% for c in quality recursive %}{{ loop(quality) }}{% endfor %}", "E106"),
    "for over subclasses": (
        f"{{% for c in [].__class__.__base__.__subclasses__() %}}{{{{ c.{RUN} }}}}{{% endfor %}}",
        "E106",
    ),
    "test of a name": ("{{ 'wild' if quality is defined else 'tame' }}", "E106"),
    "tag in a tag": ("{{ {{ quality }} }}", "E107"),
    "tag cut off": ("{{ quality.__class__", "E107"),
    "comment": ("{# {{ quality.__class__ }} #}{{ quality }}", "E106"),
    "comment in a comment": ("{# {# #}{{ quality }}", "E106"),
    "comment cut off": ("{# {{ quality }}", "E106"),
    "raw cut off": ("{% raw %}{{ quality }}", "E107"),
    "id that is a path": ("{{ quality }}. {# id: ../../../ran #}", "E106"),
    # lines
    "line separator in a tag": ("{{ quality\u2028.__class__ }}", "E106"),
    "vertical tab in a tag": ("{{ quality\x0b.__class__ }}", "E106"),
    # values that are no text
    "list printed": ("{{ [quality, quality] }}", "E105"),
    "true printed": ("{{ true }}", "E105"),
    "negation printed": ("{{ not quality }}", "E105"),
    "text in a number": ("{{ 'wild' if quality in 7 else 'tame' }}", "E105"),
    "text below a number": ("{{ 'wild' if quality < 7 else 'tame' }}", "E105"),
    # sums, and bombs
    "seven by seven": ("{{ 7*7 }}", "E106"),
    "negative number": ("{{ -1 }}", "E106"),
    "text a billion times": ("{{ 'a'*10**9 }}", "E106"),
    "tower of powers": ("{{ 10**10**10 }}", "E106"),
    "tower of powers in a condition": ("{% if 9**9**9 %}wild{% endif %}", "E106"),
    "tower of powers that is compared": ("{{ 'wild' if quality.size < 9**9**9 else 'tame' }}", "E106"),
    "wide format": ("{{ '%099999999d' % 1 }}", "E106"),
    "indent": ("{{ quality|indent(999999999) }}", "E106"),
    "lorem ipsum": ("{{ lipsum(n=999999) }}", "E106"),
    "range": ("{{ range(999999999)|list }}", "E106"),
    "loops in loops": ("{% for a in range(9999) %}" * 3 + "a" + "{% endfor %}" * 3, "E106"),
    "filter on a range": ("{{ quality | a(range(10**9)) }}", "E106"),
    "filters in a row": ("{{ quality" + "|upfirst" * 1_100 + " }}", "E107"),
    "deep parentheses": ("{{ " + "(" * 4_000 + "quality" + ")" * 4_000 + " }}", "E107"),
    "deep lists": ("{{ " + "[" * 4_000 + "]" * 4_000 + " }}", "E107"),
    "deep negation": ("{{ " + "not " * 2_000 + "quality }}", "E107"),
    "deep conditions": ("{% if quality %}" * 280 + "a" + "{% endif %}" * 280, "E107"),
    "chain of inline conditions": ("{{ " + "'a' if quality else " * 400 + "'b' }}", "E107"),
    "attributes in a row": ("{{ quality" + ".a" * 4_000 + " }}", "E106"),
    "number of 5,000 digits": ("{{ 'wild' if quality == " + "9" * 5_000 + " else 'tame' }}", "E107"),
    "frame of a million characters": ("{{ quality }}" + " very" * 200_000, "E108"),
    "a million tags": ("{{ quality }}" * 100_000, "E108"),
}

# Name: frame, what it says of the tame dog, and the codes of lint's findings: those of E115 look as if a tool had been
# to fill them in. A frame may hold what means something to other engines, or to Jinja with extensions.
HARMLESS: dict[str, tuple[str, str, list[str]]] = {
    "raw": ("{% raw %}{{ 7*7 }}{% endraw %} and {{ quality }}", "The dog is {{ 7*7 }} and tame.", []),
    "text of a tag": ("{{ '{{ 7*7 }}' }} and {{ quality }}", "The dog is {{ 7*7 }} and tame.", []),
    "print statement": ("{% print quality %}", "The dog is tame.", []),
    "neighbouring texts": ("{{ '__cla' 'ss__' }} and {{ quality }}", "The dog is __class__ and tame.", []),
    "hexadecimal escapes": (r"{{ '\x41\u0042' }} and {{ quality }}", "The dog is AB and tame.", []),
    "html": ("{{ '<script>x()</script>' }} and {{ quality }}", "The dog is <script>x()</script> and tame.", []),
    "other engines'": ("${7*7} #{7*7} *{7*7} @(7*7) {{ quality }}", "The dog is ${7*7} #{7*7} *{7*7} @(7*7) tame.", []),
    "ERB's": ("<%= 7*7 %> and {{ quality }}", "The dog is <%= 7*7 %> and tame.", []),
    "line statement": ("# for x in range(9) and {{ quality }}", "The dog is # for x in range(9) and tame.", []),
    "percent signs": ("%s%n%099999999d and {{ quality }}", "The dog is %s%n%099999999d and tame.", []),
    "braces": ("{0.__class__} and {{ quality }}", "The dog is {0.__class__} and tame.", ["E115"]),
    "braces with a name": ("{quality} and {{ quality }}", "The dog is {quality} and tame.", ["E115"]),
    "markup of our console": ("[red]hot[/red] [/] and {{ quality }}", "The dog is [red]hot[/red] [/] and tame.", []),
}

# ---- Other places ------------------------------------------------------------------------------------------------

BOMB = "{{ cycler.__init__.__globals__.os.system('touch ran') or 'a' * 7 }}"
FORMULA = "=cmd|' /C calc'!A1"


def _cell(text: str) -> Case:
    """A word list, and with it each sentence, with this in the place of *tame*; the templates name it too."""
    quoted, written = '"' + text.replace('"', '""') + '"', json.dumps(text)
    return {
        **_changed("wordlists/qualities.csv", ("tame,", f"{quoted},")),
        **_changed(f"{TEMPLATES}pairs.j2", ("word: tame", f"word: {written}")),
    }


def _card(key: str, value: object) -> Case:
    """The dataset with another value of a key that is on one line."""
    text = (HERE / "project" / TEMPLATES / "dataset.yaml").read_text(encoding="utf-8")
    lines = [f"{key}: {json.dumps(value)}" if line.startswith(f"{key}:") else line for line in text.splitlines()]
    return {f"{TEMPLATES}dataset.yaml": "\n".join(lines) + "\n"}


def _front(key: str, value: object) -> Case:
    """The contrast template with another value of a key that is on one line."""
    lines = (HERE / "project" / TEMPLATES / "pairs.j2").read_text(encoding="utf-8").splitlines()
    assert any(line.startswith(f"{key}:") for line in lines)
    changed = [f"{key}: {json.dumps(value)}" if line.startswith(f"{key}:") else line for line in lines]
    return {f"{TEMPLATES}pairs.j2": "\n".join(changed) + "\n"}


# Name: files, and the codes of lint's findings; none where the payload is text like any other.
ELSEWHERE: dict[str, tuple[Case, list[str]]] = {
    "name of a config": (_card("configs", [BOMB, "pairs", "claims", "members"]), ["E102"]),
    "config that is a path": (_card("configs", ["../../../secret", "pairs", "claims", "members"]), ["E102"]),
    "languages": (_card("languages", [{"a": BOMB}]), ["E102"]),
    "margin": (_card("equivalence", {"margin": BOMB, "reason": "a test"}), ["E102"]),
    "unknown key": (_card("title", "x") | _front("bias_type", "x") | _front("kind", BOMB), ["E102"]),
    "list of a slot": (_changed(f"{TEMPLATES}claims.j2", ("list: qualities", f"list: {json.dumps(BOMB)}")), ["E110"]),
    "list that is a path": (_changed(f"{TEMPLATES}claims.j2", ("list: qualities", "list: ../../secret")), ["E110"]),
    "value of where": (_changed(f"{TEMPLATES}claims.j2", ("furry: false", f"word: {json.dumps(BOMB)}")), ["E111"]),
    "column of where": (_changed(f"{TEMPLATES}claims.j2", ("furry: false", "__class__: x")), ["E104"]),
    "word of a binding": (_changed(f"{TEMPLATES}pairs.j2", ("word: tame", f"word: {json.dumps(BOMB)}")), ["E111"]),
    "binding": (_changed(f"{TEMPLATES}claims.j2", ("subject: animal", "subject: __class__")), ["E105"]),
    "reference to a class": (_changed(f"{TEMPLATES}members.j2", ("member.test", "member.__class__")), ["E104"]),
    "reference in braces": (_changed(f"{TEMPLATES}members.j2", ("member.test", json.dumps(BOMB))), ["E105"]),
    "gold": (_changed(f"{TEMPLATES}claims.j2", ("gold: neutral", f"gold: {json.dumps(BOMB)}")), ["E105"]),
    "target": (_front("target", "animal.__class__"), ["E105"]),
    "expected rows": (_changed(f"{TEMPLATES}claims.j2", ("pairs: 4", "pairs: 9e999999")), ["E102"]),
    "name of a list": (
        _changed("wordlists/datapackage.yaml", ("name: animals", f"name: {json.dumps(BOMB)}")),
        ["E201"],
    ),
    "path of a list": (_changed("wordlists/datapackage.yaml", ("animals.csv", "../../secret.csv")), ["E201"]),
    "name of a column": (_changed("wordlists/datapackage.yaml", ("name: size", "name: __class__")), ["E202"]),
    "slug": (_changed("wordlists/members.csv", ("t1-bad", "../../ran")), ["E203"]),
    "type that is Python's": (_changed("wordlists/datapackage.yaml", ("type: integer", "type: eval")), ["E201"]),
    "tag of Python": (
        _front("description", "x")
        | {f"{TEMPLATES}members.j2": "---\na: !!python/object/apply:os.system [touch ran]\n---\n{{ member }}.\n"},
        ["E101"],
    ),
    "escape character in a title": (_card("title", "\x1b[2J"), ["E101"]),
    "escape character in a cell": (_changed("wordlists/qualities.csv", ("tame", "\x1b]0;owned\x07tame")), ["E203"]),
}

# What may hold any text: the card and the sentences show it as it is.
TEXTS: dict[str, tuple[Case, str]] = {
    "title": (_card("title", BOMB), BOMB),
    "summary": (_card("summary", BOMB), BOMB),
    "summary that includes": (_card("summary", "{% include '/etc/passwd' %}"), "{% include '/etc/passwd' %}"),
    "content warning": (_card("content_warning", BOMB), BOMB),
    "construct": (_card("construct", BOMB), BOMB),
    "groups": (_card("groups", [BOMB, "elks"]), BOMB),
    "intended use": (_card("intended_use", BOMB), BOMB),
    "out of scope": (_card("out_of_scope", BOMB), BOMB),
    "who could be harmed": (_card("who_could_be_harmed", BOMB), BOMB),
    "canary": (_card("canary", BOMB), BOMB),
    "citation": (_card("citation", BOMB), BOMB),
    "reason of a margin": (_card("equivalence", {"margin": 5, "reason": BOMB}), BOMB),
    "reason to accept": (_card("accept", {"W506": f"a test of {BOMB}"}), BOMB),
    "description": (_front("description", BOMB), BOMB),
    "reason of a count": (_front("expect", {"pairs": 4, "published": 5, "reason": BOMB}), BOMB),
    "type of a sense": (_front("sense", {"type": BOMB}), BOMB),
    "cell that is a bomb": (_cell(BOMB), BOMB),
    "cell that is a class": (_cell("__class__"), "__class__"),
    "cell that is a formula": (_cell(FORMULA), FORMULA),
    "cell that is a statement": (_cell("{% include '/etc/passwd' %}"), "{% include '/etc/passwd' %}"),
    "cell that formats": (_cell("%s%n{0.__class__}"), "%s%n{0.__class__}"),
    "cell that is markup": (_cell("[red]hot[/red] [/]"), "[red]hot[/red] [/]"),
    "cell that is a comment": (_cell("{# id: x #}"), "{# id: x #}"),
    "cell that is HTML": (_cell('"><script src=x>'), '"><script src=x>'),
    "text of a binding": (
        _changed(f"{TEMPLATES}pairs.j2", ("{list: qualities, word: tame}", json.dumps({"text": BOMB}))),
        BOMB,
    ),
}


@pytest.fixture(scope="module")
def told() -> dict[str, Told]:
    """What became of every case: dear, since each of the 188 has a process of its own, and is linted in it twice."""
    cases = {name: _frame(frame) for name, (frame, _) in REFUSED.items()}
    cases |= {name: _frame(frame) for name, (frame, _, _) in HARMLESS.items()}
    cases |= {name: files for name, (files, _) in ELSEWHERE.items()}
    cases |= {name: files for name, (files, _) in TEXTS.items()}
    assert len(cases) == len(REFUSED) + len(HARMLESS) + len(ELSEWHERE) + len(TEXTS), "two cases of one name"
    return _judged(cases | {"the project itself": {}})


def _untouched(told: Told) -> None:
    """Nothing was executed, and nothing but findings came of it."""
    assert not told["escaped"]
    assert not told["touched"]
    assert "the secret" not in json.dumps(told)


# Takes long: the first waits for all 188 hostile projects, each in a process of its own.
def test_the_project_itself_has_no_findings(told: dict[str, Told]) -> None:
    """What the cases find is theirs, and every call gets to its end."""
    base = told["the project itself"]
    _untouched(base)
    assert base["codes"] == []
    assert base["steps"] == dict.fromkeys(("lint", "command", "count", "preview", "build", "show"), "fine")
    assert "The dog is tame." in base["sentences"]


def test_there_are_more_payloads_than_the_issue_asks_for() -> None:
    """At least 40."""
    assert len(REFUSED) >= 40


@pytest.mark.parametrize("name", REFUSED)
def test_a_payload_in_a_frame_is_refused(told: dict[str, Told], name: str) -> None:
    """With the code that its row names, in lint and in all else."""
    _untouched(told[name])
    assert told[name]["codes"] == [REFUSED[name][1]], told[name]["findings"]
    assert told[name]["steps"]["count"] == "DeclarationError"
    assert not told[name]["card"]


@pytest.mark.parametrize("name", HARMLESS)
def test_text_that_only_looks_like_code_is_text(told: dict[str, Told], name: str) -> None:
    """It is printed as it is, or as Jinja reads a text."""
    _, sentence, codes = HARMLESS[name]
    _untouched(told[name])
    assert told[name]["codes"] == codes, told[name]["findings"]
    assert sentence in told[name]["sentences"]


@pytest.mark.parametrize("name", ELSEWHERE)
def test_a_payload_elsewhere_is_refused(told: dict[str, Told], name: str) -> None:
    """In names, references, paths and types."""
    _untouched(told[name])
    assert told[name]["codes"] == ELSEWHERE[name][1], told[name]["findings"]
    assert not told[name]["card"]


@pytest.mark.parametrize("name", TEXTS)
def test_a_payload_is_text_on_the_card_and_in_sentences(told: dict[str, Told], name: str) -> None:
    """It is not rendered: what is shown is the payload, letter by letter."""
    files, payload = TEXTS[name]
    _untouched(told[name])
    assert told[name]["card"], told[name]["findings"]
    shown = told[name]["sentences"] if "cell" in name or "binding" in name else [told[name]["card"].replace("\\", "")]
    assert any(payload in text for text in shown), files
    assert "aaaaaaa" not in json.dumps(told[name])


def test_the_front_matter_of_a_card_holds_nothing_else(told: dict[str, Told]) -> None:
    """The Hub reads it as YAML: a value that breaks out of its line would say what it likes."""
    plain = YAML(typ="safe").load(told["the project itself"]["card"].split("---\n")[1])
    for name in TEXTS:
        front = YAML(typ="safe").load(told[name]["card"].split("---\n")[1])
        assert front.keys() == plain.keys(), name
