"""The engine against a naive rendering, one row and one piece at a time; ranges, and ids."""

import hashlib
import itertools
import json
import re
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any, cast

import jinja2
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.profiles import examples

from senseprobe.errors import DeclarationError
from senseprobe.generator import expand, render
from senseprobe.generator.config import Config
from senseprobe.generator.english import English
from senseprobe.generator.resolve import resolve
from senseprobe.generator.segments import Segment, environment
from senseprobe.generator.templates import read_template
from senseprobe.generator.word_lists import WordLists

# Words that make every article, plural and slug rule work; the columns are drawn with each list.
POOL = (
    "engineer", "hour", "unicorn", "dog", "good looking", "X-ray", "Iraqi", "ürümqi", "8th", "sheep", "MP", "🙂 face",
)  # fmt: skip
COLUMNS = ("word", "kind", "big", "rank", "half", "article", "plural")


# --- what is drawn: a template as data, from which both the file and the naive rendering are made -------------------


@dataclass(frozen=True)
class Row:
    """A row of a list; empty texts are empty cells."""

    word: str
    kind: str
    big: bool
    rank: int
    half: str
    article: str
    plural: str

    def cell(self, column: str) -> object:
        """The typed value, as a template sees it."""
        return getattr(self, column)


@dataclass(frozen=True)
class Piece:
    """A stretch of a frame. `prints` are names that it puts out; a piece with `article` has `a` as its filter."""

    source: str
    prints: frozenset[str] = frozenset()
    bare: str = ""
    block: bool = False


@dataclass(frozen=True)
class DraftFrame:
    """A line of the body; `target` is the number of the piece that prints the target."""

    pieces: tuple[Piece, ...]
    target: int
    name: str

    @property
    def source(self) -> str:
        """The line without its name."""
        return "".join(piece.source for piece in self.pieces)

    @property
    def code(self) -> str:
        """DESIGN section 3: an id of its own, or 6 hexadecimal digits of its source."""
        return self.name or hashlib.sha256(self.source.encode()).hexdigest()[:6]


Binding = tuple[str, str]
"""("slot", its name), ("word", "list/word") or ("text", the text)."""


@dataclass(frozen=True)
class Draft:
    """A template and its lists: slot number i draws from list number i."""

    lists: tuple[tuple[Row, ...], ...]
    slots: tuple[str, ...]
    halves: bool
    roles: Mapping[str, Mapping[str, Binding]]
    target: str
    frames: tuple[DraftFrame, ...]
    later: tuple[DraftFrame, ...]
    flip: tuple[dict[str, Any], ...]
    contested: tuple[dict[str, Any], ...]


def _rows(size: int) -> st.SearchStrategy[tuple[Row, ...]]:
    row = st.builds(
        Row,
        word=st.sampled_from(POOL),
        kind=st.sampled_from(("x", "y")),
        big=st.booleans(),
        rank=st.integers(0, 3),
        half=st.sampled_from(("one", "two")),
        article=st.sampled_from(("", "", "", "a", "an", "none")),
        plural=st.sampled_from(("", "", "many")),
    )
    return st.lists(row, min_size=1, max_size=size, unique_by=lambda found: found.word).map(tuple)


@st.composite
def conditions(draw: st.DrawFn, slots: tuple[str, ...]) -> dict[str, Any]:
    """`{slot[.column]: value or [values]}`, one or two keys."""
    keys = draw(
        st.lists(st.sampled_from([(s, c) for s in slots for c in ("", "kind", "big", "rank")]), max_size=2, unique=True)
    )
    values: dict[str, st.SearchStrategy[Any]] = {
        "": st.sampled_from(POOL), "kind": st.sampled_from("xy"), "big": st.booleans(), "rank": st.integers(0, 3),
    }  # fmt: skip
    return {
        f"{slot}.{column}".rstrip("."): draw(
            st.one_of(values[column], st.lists(values[column], min_size=1, max_size=3))
        )
        for slot, column in keys
    }


@st.composite
def questions(draw: st.DrawFn, names: tuple[str, ...], plain: frozenset[str]) -> str:
    """A condition as Jinja writes it; `plain` names have the column `word` only."""
    name = draw(st.sampled_from(names))
    simple = [
        f'{name} == "dog"',
        f'{name} != "hour"',
        f'{name} in ["dog", "Iraqi", "MP"]',
        f'{name} | upfirst == "Dog"',
    ]
    if name not in plain:
        simple += [
            f'{name}.kind == "x"',
            f"{name}.big",
            f"not {name}.big",
            f"{name}.rank < 2",
            f'{name}.kind in ("y",)',
        ]
    one = draw(st.sampled_from(simple))
    if draw(st.booleans()):
        return f"{one} {draw(st.sampled_from(('and', 'or')))} ({draw(st.sampled_from(simple))})"
    return one


@st.composite
def pieces(draw: st.DrawFn, names: tuple[str, ...], plain: frozenset[str], asks: tuple[str, ...]) -> Piece:
    """Anything that may stand beside the target; `names` may be printed, `asks` may be asked too."""
    kind = draw(st.sampled_from(("literal", "literal", "output", "output", "inline", "inline-print", "if")))
    asked, left, right = (
        draw(questions(asks, plain)),
        draw(st.sampled_from(("{{", "{{-"))),
        draw(st.sampled_from(("}}", "-}}"))),
    )
    if kind == "literal" or (not names and kind in ("output", "inline-print")):
        return Piece(draw(st.sampled_from((" is ", " ", ", ", " été ", "  "))))
    if kind == "inline":
        return Piece(f'{left} "are" if {asked} else "is" {right}')
    if kind == "if":
        return Piece(draw(_blocks(names, asked, draw(questions(asks, plain)))), block=True)
    name = draw(st.sampled_from(names))
    if kind == "inline-print":
        other = draw(st.sampled_from(names))
        return Piece(f"{left} {name} if {asked} else {other} {right}", frozenset((name, other)))
    return draw(_outputs(name, name in plain, left, right))


@st.composite
def _blocks(draw: st.DrawFn, names: tuple[str, ...], first: str, second: str) -> str:
    inner = st.sampled_from([f"{{{{ {name} | a }}}}" for name in names] + ["few ", " + "])
    dash = draw(st.sampled_from(("", "-")))
    otherwise = draw(st.sampled_from(("", f"{{% elif {second} %}} elif {draw(inner)}", "{% else %}none" + dash)))
    return f"{{%{dash} if {first} %}}{draw(inner)}{otherwise.rstrip('-')}{{% endif {dash}%}}"


@st.composite
def _outputs(draw: st.DrawFn, name: str, plain: bool, left: str = "{{", right: str = "}}") -> Piece:
    bare = draw(st.sampled_from([name, f"{name}.word", f"{name} | plural"] + ([] if plain else [f"{name}.kind"])))
    filters = draw(st.sampled_from(("", "", " | a", " | a | upfirst", " | upfirst")))
    return Piece(f"{left} {bare}{filters} {right}", frozenset((name,)), bare if "| a" in filters else "")


@st.composite
def frames(draw: st.DrawFn, draft: Draft, number: int) -> DraftFrame:
    """A line that prints the target once."""
    bindings = draft.roles["stereo"]
    plain = frozenset(n for n in bindings if any(draft.roles[role][n][0] == "text" for role in draft.roles))
    everything = (*draft.slots, *bindings)
    names = tuple(name for name in everything if name != draft.target)
    around = st.lists(pieces(names, plain, everything), max_size=3)
    before, after = draw(around), draw(around)
    target = draw(_outputs(draft.target, draft.target in plain))
    # Letters at both ends: a line is stripped, and this test is not about that.
    line = (Piece(f"S{number}"), *before, target, *after, Piece("."))
    return DraftFrame(line, len(before) + 1, draw(st.sampled_from(("", f"f-{number}"))))


@st.composite
def drafts(draw: st.DrawFn) -> Draft:
    """A template of one to three slots, one or two bindings, up to two blocks of up to three frames."""
    lists = tuple(draw(st.lists(_rows(4), min_size=1, max_size=3)))
    slots = tuple(f"slot{number}" for number in range(len(lists)))
    bound = tuple(f"bound{number}" for number in range(draw(st.integers(1, 2))))
    words = [(n, row.word) for n, rows in enumerate(lists) for row in rows]
    binding = st.one_of(
        st.sampled_from([("slot", slot) for slot in slots]),
        st.sampled_from([("word", f"{n}/{word}") for n, word in words]),
        st.sampled_from([("text", "someone"), ("text", "an owl")]),
    )
    roles = {role: {name: draw(binding) for name in bound} for role in ("stereo", "anti")}
    halves = {row.half for row in lists[0]} == {"one", "two"} and draw(st.booleans())
    target = draw(st.sampled_from((*slots, *bound)))
    bare = Draft(lists, slots, halves, roles, target, (), (), (), ())
    count, more = draw(st.integers(1, 3)), 0 if halves else draw(st.integers(0, 2))
    return replace(
        bare,
        frames=tuple(draw(frames(bare, number)) for number in range(count)),
        later=tuple(draw(frames(bare, number)) for number in range(count, count + more)),
        flip=tuple(draw(st.lists(conditions(slots), max_size=2))),
        contested=tuple(draw(st.lists(conditions(slots), max_size=2))),
    )


# --- the files ------------------------------------------------------------------------------------------------------


def _yaml_binding(binding: Binding) -> object:
    kind, value = binding
    number, _, word = value.partition("/")
    return {"slot": value, "text": {"text": value}, "word": {"list": f"list{number}", "word": word}}[kind]


def _front(draft: Draft) -> dict[str, Any]:
    slots: dict[str, dict[str, Any]] = {slot: {"list": f"list{n}"} for n, slot in enumerate(draft.slots)}
    if draft.halves:
        slots["slot0"]["where"] = {"half": "one"}
    return {
        "kind": "contrast", "bias_type": "b", "construct": "c", "description": "d", "source": "s",
        "slots": slots,
        "roles": {role: {n: _yaml_binding(b) for n, b in names.items()} for role, names in draft.roles.items()},
        "target": draft.target, "sense": {"type": "t", "key": "slot0.kind"}, "valence": "slot0.rank",
        "label_basis": "none", "generalise": [], "expect": {"pairs": 0},
        "flip": list(draft.flip), "contested": list(draft.contested),
    }  # fmt: skip


def _body(lines: tuple[DraftFrame, ...]) -> str:
    return "".join(f"{line.source}{f' {{# id: {line.name} #}}' if line.name else ''}\n" for line in lines)


def _write(draft: Draft, folder: Path) -> None:
    types = {"big": "boolean", "rank": "integer"}
    fields = [{"name": column, "type": types.get(column, "string")} for column in COLUMNS]
    facts = {"sources": [], "licenses": [], "schema": {"fields": fields}}
    resources = [{"name": f"list{n}", "path": f"list{n}.csv", **facts} for n in range(len(draft.lists))]
    (folder / "datapackage.yaml").write_text(json.dumps({"resources": resources}))
    for n, rows in enumerate(draft.lists):
        lines = [
            ",".join(str(row.cell(c)).lower() if c == "big" else str(row.cell(c)) for c in COLUMNS) for row in rows
        ]
        (folder / f"list{n}.csv").write_text("\n".join([",".join(COLUMNS), *lines, ""]))
    blocks = [f"---\n{json.dumps(_front(draft), ensure_ascii=False)}\n---\n{_body(draft.frames)}"]
    if draft.halves:
        blocks.append('---\n{"slots": {"slot0": {"list": "list0", "where": {"half": "two"}}}}\n---\n')
    elif draft.later:
        blocks.append(f"---\n---\n{_body(draft.later)}")
    (folder / "x.j2").write_text("".join(blocks))


def _config(draft: Draft) -> tuple[Config, WordLists]:
    with tempfile.TemporaryDirectory() as folder:
        _write(draft, Path(folder))
        lists = WordLists((Path(folder),))
        return resolve(read_template(Path(folder) / "x.j2"), lists, environment(English().filters())), lists


def _expand(config: Config, lists: WordLists, *range_: int) -> list[dict[str, Any]]:
    return [row for batch in expand.expand(config, lists, *range_) for row in batch.to_pylist()]


# --- the naive rendering: plain Jinja, one row, one role and one piece at a time ------------------------------------


class Naive(str):  # noqa: SLOT000 - columns are set as attributes, for Jinja to find
    """A word whose columns are attributes."""

    row: Row

    @classmethod
    def of(cls, row: Row) -> "Naive":
        """The word of a row."""
        word = cls(row.word)
        word.__dict__.update({"row": row, **{column: row.cell(column) for column in COLUMNS}})
        return word


ENGLISH = English()


def _article(text: str) -> str:
    """The engine's own rule: this test is about how sentences are put together, test_english about rules."""
    stated = getattr(text, "article", "")
    return stated or ENGLISH.a(str(text)).split("\x1f")[0]


def _a(text: str) -> str:
    return text if _article(text) == "none" else f"{_article(text)} {text}"


def _plural(text: str) -> str:
    return getattr(text, "plural", "") or ENGLISH.plural(str(text))


PLAIN = jinja2.Environment(undefined=jinja2.StrictUndefined, autoescape=False)  # noqa: S701 - sentences are no HTML
PLAIN.filters.update(a=_a, plural=_plural, upfirst=lambda text: text[:1].upper() + text[1:])


_template = cache(PLAIN.from_string)
_expression = cache(PLAIN.compile_expression)


def _render(source: str, values: Mapping[str, str]) -> str:
    return _template(source).render(values)


def _printed(piece: Piece, values: Mapping[str, str]) -> str:
    return cast("str", _expression(piece.bare)(**values))


def _slug(word: str) -> str:
    return "-".join(re.findall(r"[^\W_]+", word.lower()))


def _held(condition: Mapping[str, Any], values: Mapping[str, Naive]) -> bool:
    for key, wanted in condition.items():
        slot, _, column = key.partition(".")
        if values[slot].row.cell(column or "word") not in (wanted if isinstance(wanted, list) else [wanted]):
            return False
    return True


def _values(draft: Draft, role: str, chosen: Mapping[str, Naive]) -> dict[str, str]:
    def bound(binding: Binding) -> str:
        kind, value = binding
        number, _, word = value.partition("/")
        if kind == "slot":
            return chosen[value]
        if kind == "text":
            text = Naive(value)
            text.__dict__["word"] = value
            return text
        return Naive.of(next(row for row in draft.lists[int(number)] if row.word == word))

    return {**chosen, **{name: bound(binding) for name, binding in draft.roles[role].items()}}


def _span(frame: DraftFrame, values: Mapping[str, str]) -> dict[str, int]:
    piece = frame.pieces[frame.target]
    # Dashes of the piece in front eat into what stands before it, so an empty output stands for the target.
    begin = len(_render("".join(p.source for p in frame.pieces[: frame.target]) + '{{ "" }}', values))
    printed = _render(piece.source, values)
    article = ""
    if piece.bare:
        article = _article(_printed(piece, values))
    skipped = len(article) + 1 if article not in ("", "none") else 0
    return {"start": begin + skipped, "end": begin + len(printed)}


def _minimal(frame: DraftFrame, stereo: Mapping[str, str], anti: Mapping[str, str], bound: list[str]) -> bool:
    """Exactly one binding differs; what does not print it is the same, and so is the article of what does."""
    differing = [name for name in bound if stereo[name] != anti[name]]
    if len(differing) != 1:
        return False
    for piece in frame.pieces:
        if _render(piece.source, stereo) == _render(piece.source, anti):
            continue
        if differing[0] not in piece.prints or piece.block:
            return False
        if piece.bare and _article(_printed(piece, stereo)) != _article(_printed(piece, anti)):
            return False
    return True


def _naive(draft: Draft) -> Iterator[dict[str, Any]]:
    blocks = [(draft.frames, "one"), (draft.frames, "two")] if draft.halves else [(draft.frames, ""), (draft.later, "")]
    for lines, half in blocks:
        words = [[Naive.of(row) for row in rows] for rows in draft.lists]
        if half:
            words[0] = [word for word in words[0] if word.row.half == half]
        for frame in lines:
            for combination in itertools.product(*words):
                yield _naive_row(draft, frame, dict(zip(draft.slots, combination, strict=True)))


def _naive_row(draft: Draft, frame: DraftFrame, chosen: dict[str, Naive]) -> dict[str, Any]:
    bound = list(draft.roles["stereo"])
    stereo, anti = (_values(draft, role, chosen) for role in ("stereo", "anti"))
    differing = [name for name in bound if stereo[name] != anti[name]]
    sides = [
        {"": _render(frame.source, v), "_span": _span(frame, v), "_value": ", ".join(v[name] for name in differing)}
        for v in (stereo, anti)
    ]
    if sum(_held(condition, chosen) for condition in draft.flip) % 2:
        sides.reverse()
    return {
        "id": ".".join(("x", frame.code, *(_slug(word) for word in chosen.values()))),
        "frame": frame.code,
        **{slot: str(word) for slot, word in chosen.items()},
        **{f"{role}{key}": side[key] for role, side in zip(("stereo", "anti"), sides, strict=True) for key in side},
        "target": str(stereo[draft.target]),
        "sense_key": chosen["slot0"].row.kind,
        "valence": str(chosen["slot0"].row.rank),
        "contested": any(_held(condition, chosen) for condition in draft.contested),
        "minimal": _minimal(frame, stereo, anti, bound),
    }


# --- the properties -------------------------------------------------------------------------------------------------

QUICK = settings(max_examples=examples(80), suppress_health_check=list(HealthCheck))
LONG = settings(QUICK, max_examples=3_000)


def _agrees(draft: Draft) -> None:
    config, lists = _config(draft)
    expected = list(_naive(draft))
    rows = _expand(config, lists)
    assert config.size == len(expected)
    assert [{key: row[key] for key in naive} for row, naive in zip(rows, expected, strict=True)] == expected
    for row in rows:
        for role in ("stereo", "anti"):
            assert 0 <= row[f"{role}_span"]["start"] < row[f"{role}_span"]["end"] <= len(row[role])


@QUICK
@given(drafts())
def test_rows_are_those_of_a_naive_rendering(draft: Draft) -> None:
    """In the same order, with the same labels, spans, ids and `minimal`."""
    _agrees(draft)


@pytest.mark.soak
@pytest.mark.timeout(1800)
@LONG
@given(drafts())
def test_rows_are_those_of_a_naive_rendering_at_length(draft: Draft) -> None:
    """The same, for 3,000 templates."""
    _agrees(draft)


@settings(QUICK, max_examples=examples(40))
@given(drafts(), st.data(), st.integers(3, 50))
def test_any_partition_into_ranges_is_the_whole(draft: Draft, data: st.DataObject, batch: int) -> None:
    """Whatever the size of batches."""
    config, lists = _config(draft)
    whole = _expand(config, lists)
    cuts = sorted(data.draw(st.lists(st.integers(0, config.size), max_size=5)))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(expand, "BATCH_ROWS", batch)
        parts = [_expand(config, lists, low, high) for low, high in itertools.pairwise([0, *cuts, config.size])]
        assert all(found.num_rows <= batch for found in expand.expand(config, lists))
    assert list(itertools.chain(*parts)) == whole


@settings(QUICK, max_examples=examples(40))
@given(drafts(), st.data())
def test_adding_a_word_leaves_the_other_rows_alone(draft: Draft, data: st.DataObject) -> None:
    """Ids and rows of the words that were there before, in the same order, wherever the new word stands."""
    number = data.draw(st.integers(0, len(draft.lists) - 1))
    rows = draft.lists[number]
    added = replace(data.draw(st.sampled_from(rows)), word="newcomer")
    place = data.draw(st.integers(0, len(rows)))
    longer = replace(
        draft, lists=(*draft.lists[:number], (*rows[:place], added, *rows[place:]), *draft.lists[number + 1 :])
    )
    before, after = _expand(*_config(draft)), _expand(*_config(longer))
    assert [row for row in after if row[f"slot{number}"] != "newcomer"] == before
    assert len(after) > len(before)
    assert len({row["id"] for row in after}) == len(after)


@pytest.mark.parametrize("range_", [(-1, 1), (2, 1), (0, 10**6)])
def test_a_range_outside_the_config_is_refused(range_: tuple[int, int]) -> None:
    """A shard that asks for too much has a mistake in its arithmetic."""
    config, lists = _config(SIMPLE)
    with pytest.raises(ValueError, match=f"rows {range_[0]} to {range_[1]} of a config with 2"):
        _expand(config, lists, *range_)


ROWS = (Row("dog", "x", True, 1, "one", "", ""), Row("hour", "y", False, 2, "two", "", ""))
SIMPLE = Draft(
    (ROWS,), ("slot0",), False, {"stereo": {"bound0": ("text", "kind")}, "anti": {"bound0": ("text", "idle")}},
    "slot0", (DraftFrame((Piece("{{ slot0 }} "), Piece("{{ bound0 }}")), 0, ""),), (), (), (),
)  # fmt: skip


def test_a_segment_is_rendered_once_for_each_word_that_it_reads(monkeypatch: pytest.MonkeyPatch) -> None:
    """3 slots of 10 words are 1,000 rows; both roles print the slots, whose 10 words are rendered once for both."""
    rows = tuple(Row(f"word{n}", "x", True, 0, "one", "", "") for n in range(10))
    slots = ("slot0", "slot1", "slot2")
    pieces_ = tuple(Piece(f"{{{{ {name} | upfirst }}}} ") for name in (*slots, "bound0"))
    draft = replace(SIMPLE, lists=(rows,) * 3, slots=slots, frames=(DraftFrame(pieces_, 0, ""),))
    config, lists = _config(draft)
    rendered: list[tuple[str, ...]] = []
    real = render.FrameRows._render

    def counting(self: object, segment: Segment, *rest: object) -> tuple[str, int]:
        rendered.append(segment.reads)
        return real(self, segment, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(render.FrameRows, "_render", counting)
    assert len(_expand(config, lists)) == 1000
    assert {slot: rendered.count((slot,)) for slot in slots} == dict.fromkeys(slots, 10)


def test_a_sentence_that_is_too_long_is_a_finding_before_it_is_made(monkeypatch: pytest.MonkeyPatch) -> None:
    """10,000 characters are allowed; 1,000 rows of three words of 100,000 would be 600 MB."""
    rows = tuple(Row(f"{n}" + "w" * 99_999, "x", True, 0, "one", "", "") for n in range(10))
    line = tuple(Piece(f"{{{{ {name} }}}} ") for name in ("slot0", "slot1", "slot2", "bound0"))
    slots = ("slot0", "slot1", "slot2")
    config, lists = _config(replace(SIMPLE, lists=(rows,) * 3, slots=slots, frames=(DraftFrame(line, 0, ""),)))
    joined: list[int] = []
    monkeypatch.setattr(render, "Side", lambda *parts: joined.append(len(parts)))
    with pytest.raises(DeclarationError, match=r"x\.j2:4:1: E108 a sentence has 100000 characters; the limit is 10000"):
        _expand(config, lists)
    assert joined == []


def test_more_rows_than_numbers_that_machines_count_with() -> None:
    """3 to the power of 45 rows, some 3e21: any of them can be asked for. Its words are the digits of its number."""
    rows = tuple(Row(f"word{n}", "x", True, 0, "one", "", "") for n in range(3))
    slots = tuple(f"slot{n}" for n in range(45))
    pieces_ = tuple(Piece(f"{{{{ {name} }}}} ") for name in (*slots, "bound0"))
    draft = replace(SIMPLE, lists=(rows,) * 45, slots=slots, frames=(DraftFrame(pieces_, 0, ""),))
    config, lists = _config(draft)
    assert config.size == 3**45
    number = 3**45 * 5 // 7
    for row, at in zip(_expand(config, lists, number, number + 5), range(number, number + 5), strict=True):
        digits = [at // 3**place % 3 for place in reversed(range(45))]
        assert [row[slot] for slot in slots] == [f"word{digit}" for digit in digits]
        assert row["stereo"] == "".join(f"word{digit} " for digit in digits) + "kind"
