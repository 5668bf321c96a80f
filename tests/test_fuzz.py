"""Whatever stands in the files of a project, it is rows or findings: soon, in little memory, without a traceback.

Cases are judged by `injection/worker.py`, in processes whose time and memory are limited: a hang or a bomb fails the
test that made it. `generator/test_word_lists.py` reads hostile YAML; here are all kinds, and every call of an author.
"""

import csv
import io
import json
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from ruamel.yaml import YAML
from tests.injection.driving import (
    CARD,
    CLAIMS,
    DESCRIPTOR,
    FILES,
    LISTS,
    PAIRS,
    PROJECT,
    TEMPLATES,
    Case,
    alone,
    judged,
    read,
)
from tests.profiles import examples

# ---- Mutations ---------------------------------------------------------------------------------------------------

TOKENS = (
    *"\n\n\n \t:-[]{}?&*!|>%@\"'#,~0",
    *("---\n", "...\n", "\r\n", "\x00", "\ufeff", "\ud800", "\u2028", "\x85", "ß", "\u202e", "\x1b[2J"),
    *("<<: ", "!!float ", ".nan", "-.inf", "1e999", "2024-01-01", "0o17", "1_000", "\uff11", "=1+1", "''", '""'),
    *("slots", "roles", "where", "list: ", "word", "furry", "true", "false", "null", "animal.size", "quality"),
    *(
        "{{ ",
        " }}",
        "{% if ",
        "{% else %}",
        "{% endif %}",
        "{%- ",
        "{# ",
        " #}",
        "{# id: x #}",
        "\\x1f",
        " in ",
        " if ",
    ),
    *("| a", "| plural", "| past", "| third", "| upfirst", " < ", "==", "not ", " else ", "none", "subject", "member"),
)
BITS = st.one_of(
    st.binary(max_size=40),
    st.lists(st.sampled_from(TOKENS), max_size=12).map(lambda found: "".join(found).encode("utf-8", "surrogatepass")),
)


@st.composite
def spliced(draw: st.DrawFn) -> Case:
    """A file with other bytes in the place of some of its own, at any place: inside a character too."""
    file = draw(st.sampled_from(FILES))
    good = (PROJECT / file).read_bytes()
    begin = draw(st.integers(0, len(good)))
    return alone(file, good[:begin] + draw(BITS) + good[begin + draw(st.integers(0, 40)) :])


@st.composite
def shuffled(draw: st.DrawFn) -> Case:
    """A file whose lines are lost, doubled, moved, or from another file."""
    file, other = draw(st.sampled_from(FILES)), draw(st.sampled_from(FILES))
    lines = read(file).splitlines(keepends=True)
    for _ in range(draw(st.integers(1, 3))):
        at, to = draw(st.integers(0, len(lines) - 1)), draw(st.integers(0, len(lines)))
        taken = draw(st.sampled_from((lines[at], lines[at].strip(), *read(other).splitlines(keepends=True))))
        lines[to : to + draw(st.integers(0, 2))] = [taken]
    return alone(file, "".join(lines).encode())


SCALARS = st.one_of(
    st.sampled_from(
        ("animal", "quality.polarity", "animal.size", "member.role", "subject", "neutral", "", ".", "a.b.c")
    ),
    st.sampled_from(
        (None, True, False, 0, -1, 3, 2**63, -(2**70), 1e300, "inf", "nan", "__class__", "\u2028", "x" * 999)
    ),
    st.text(max_size=8),
    st.floats(allow_nan=False, allow_infinity=False),
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=5), inner, max_size=3)),
    max_leaves=6,
)


def _places(data: object) -> list[tuple[Any, Any]]:
    """Every key of mappings and every number of lists, each with what holds it."""
    found: list[tuple[Any, Any]] = []
    keys = data if isinstance(data, dict) else range(len(data)) if isinstance(data, list) else ()
    for key in keys:
        found += [(data, key), *_places(data[key])]  # type: ignore[index]
    return found


@st.composite
def revalued(draw: st.DrawFn) -> Case:
    """Front matter or a descriptor with other values, without some keys, or with others: well-formed YAML."""
    file = draw(st.sampled_from((CARD, *TEMPLATES, DESCRIPTOR)))
    text = read(file)
    front, body = text.split("---\n")[1:3] if file in TEMPLATES else (text, "")
    data = YAML(typ="safe", pure=True).load(front)
    for _ in range(draw(st.integers(1, 2))):
        holder, key = draw(st.sampled_from(_places(data)))
        match draw(st.sampled_from(("other", "other", "lose", "rename"))):
            case "other":
                holder[key] = draw(VALUES)
            case "rename" if isinstance(holder, dict):
                holder[draw(st.text(max_size=9))] = holder.pop(key)
            case _:
                holder.pop(key)
        if not _places(data):
            break
    written = json.dumps(data, ensure_ascii=draw(st.booleans()))
    made = f"---\n{written}\n---\n{body}" if file in TEMPLATES else written
    return alone(file, made.encode("utf-8", "surrogatepass"))


NAMES = st.sampled_from(
    (
        "subject",
        "quality",
        "animal",
        "other",
        "animal.size",
        "animal.weight",
        "animal.furry",
        "other.article",
        "nothing",
    )
)
EXPRESSIONS = st.recursive(
    st.one_of(
        NAMES, st.sampled_from(("1", "1e999", "0.0", "'a'", '"x y"', "true", "none", "[]", "()", "''", "[1, 'dog']"))
    ),
    lambda inner: st.one_of(
        st.tuples(
            inner, st.sampled_from((" == ", " < ", " in ", " not in ", " and ", " or ", " ~ ", " + ")), inner
        ).map("".join),
        st.tuples(
            inner, st.sampled_from((" | a", " | plural", " | past", " | third", " | upfirst", " | join", ".x", "[0]"))
        ).map("".join),
        st.tuples(inner, inner, inner).map(lambda found: "({} if {} else {})".format(*found)),
        inner.map("not {}".format),
        inner.map("({})".format),
        st.lists(inner, max_size=3).map(lambda found: f"[{', '.join(found)}]"),
    ),
    max_leaves=5,
)
RIGHT = st.sampled_from(
    (
        *("{{ quality }}", "{{ other | a }}", "{{ 'big' if animal.size > 2 else 'small' }}", "{{ quality | upfirst }}"),
        *("{% if animal.furry and quality == 'wild' %}furry{% endif %}", "{{- animal.size -}}", "{{ other | plural }}"),
        *("{% if other in ['snake'] %} no {% else %}{{ animal }}{% endif %}", "{# x #}", "{{ animal.article or 'a' }}"),
    )
)
PIECES = st.recursive(
    st.one_of(
        st.sampled_from(("The ", " is ", ".", " ", "{", "}", "a ", "an ", "\u00e9", "{# x #}", "{{", "%}", "[MASK]")),
        EXPRESSIONS.map("{{{{ {} }}}}".format),
        EXPRESSIONS.map("{{{{- {} -}}}}".format),
    ),
    lambda inner: st.tuples(EXPRESSIONS, inner, inner).map(
        lambda found: "{{% if {} %}}{}{{% else %}}{}{{% endif %}}".format(*found)
    ),
    max_leaves=4,
)


@st.composite
def framed(draw: st.DrawFn) -> Case:
    """The inference template with frames of a grammar that is a little larger than ours."""
    tail = "".join(draw(st.lists(draw(st.sampled_from((PIECES, RIGHT, RIGHT))), max_size=5)))
    frame = draw(st.sampled_from((f"The {{{{ subject }}}} {tail}", f"{tail} {{{{ subject }}}}.", tail)))
    return {CLAIMS: read(CLAIMS).replace("The {{ subject }} is {{ quality }}.", frame).encode("utf-8", "surrogatepass")}


CELLS = st.one_of(
    st.sampled_from(
        (
            "dog",
            "Dog",
            "an elk",
            "heir",
            "8",
            "11th",
            "FBI",
            "\u00e9lite",
            "rose",
            "tame",
            "wild",
            "true",
            "3",
            "-0",
            "1e5",
        )
    ),
    st.sampled_from(
        (
            "=1+1",
            "+cmd|' /C calc'!A1",
            "@SUM(A1)",
            "{{ 7*7 }}",
            "[red]",
            "a,b",
            '"',
            "nan",
            "inf",
            "1_0",
            "\uff13",
            " x",
            "",
        )
    ),
    st.text(max_size=6),
)


@st.composite
def tabled(draw: st.DrawFn) -> Case:
    """A list with other rows, most of them as long as they must be."""
    file = draw(st.sampled_from(LISTS))
    header, *rows = csv.reader(io.StringIO(read(file)))
    for _ in range(draw(st.integers(1, 4))):
        if draw(st.booleans()):
            row = draw(st.sampled_from(rows))
            row[draw(st.integers(0, min(1, len(row) - 1)))] = draw(CELLS)
        else:
            rows.append(draw(st.lists(CELLS, min_size=len(header) - 1, max_size=len(header))))
    out = io.StringIO()
    csv.writer(out, lineterminator=draw(st.sampled_from(("\n", "\r\n")))).writerows([header, *rows])
    return {file: out.getvalue().encode("utf-8", "surrogatepass")}


CASES = st.one_of(spliced(), shuffled(), revalued(), framed(), framed(), tabled())
KEPT = settings(
    derandomize=True,
    database=None,
    phases=(Phase.generate,),
    suppress_health_check=list(HealthCheck),
)


def _fuzz(cases: int, *, thorough: bool) -> Counter[str]:
    """How many cases made rows, and how many did not; the shortest that did neither fails."""
    drawn: list[Case] = []

    @settings(KEPT, max_examples=cases)
    @given(CASES)
    def draw(case: Case) -> None:
        drawn.append(case)

    draw()
    assert len(drawn) >= cases
    told = judged(drawn, thorough=thorough)
    wrong = [(str(case), one) for case, one in zip(drawn, told, strict=True) if one["escaped"] or one["touched"]]
    assert not wrong, min(wrong, key=lambda each: len(each[0]))
    return Counter("rows" if one["card"] else "findings" for one in told)


def test_broken_projects_are_rows_or_findings() -> None:
    """200 of them; enough of each that both ways are tried."""
    cases = examples(200)  # each in a process of its own, a tenth of a second
    became = _fuzz(cases, thorough=False)
    assert min(became["rows"], became["findings"]) >= cases // 10, became


@pytest.mark.soak
@pytest.mark.timeout(3600)
def test_broken_projects_are_rows_or_findings_at_length() -> None:
    """2,000 of them; rows are shown too, and made again from the recipe."""
    became = _fuzz(2_000, thorough=True)
    assert min(became["rows"], became["findings"]) >= 200, became


# ---- The command, as users run it ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "files", "code"),
    [
        (("lint",), {}, 0),
        pytest.param(("count", "small"), {}, 0, marks=pytest.mark.slow),
        pytest.param(("preview", "small/claims", "-n", "3"), {}, 0, marks=pytest.mark.slow),
        pytest.param(("build", "small", "1.0.0", "--out", "made"), {}, 0, marks=pytest.mark.slow),
        pytest.param(("lint", "--format", "github"), {PAIRS: b"\x00"}, 1, marks=pytest.mark.slow),
        (("build", "small", "1.0.0", "--out", "made"), {CLAIMS: b"\xff"}, 1),
        (("preview", "small/\x1b[2J"), {}, 2),
        pytest.param(("count", "../small"), {}, 2, marks=pytest.mark.slow),
    ],
)
def test_the_command_ends_with_its_code(
    tmp_path: Path, arguments: tuple[str, ...], files: dict[str, bytes], code: int
) -> None:
    """In a process of its own: what no test sees of a call inside one."""
    for file in (*FILES, "senseprobe.toml", "wordlists/references.bib"):
        (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / file).write_bytes(files.get(file, (PROJECT / file).read_bytes()))
    command = [sys.executable, "-m", "senseprobe", *arguments]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == code, done.stderr
    assert "Traceback" not in done.stdout + done.stderr
    assert "\x1b" not in done.stdout + done.stderr
