"""What changed between two releases, the number that it calls for, and what `build` refuses."""

import contextlib
import hashlib
import json
import re
import shutil
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.commands import Typed, typing
from tests.profiles import examples
from tests.tiny import DATASET, FRONT

import senseprobe
from senseprobe import api
from senseprobe.errors import DamagedRelease, DeclarationError, ReleaseError, SenseprobeError
from senseprobe.generator.checks import lint
from senseprobe.project import Layer
from senseprobe.records import Contrast, Design, Factor, LevelPair
from senseprobe.release.changelog import Bump, ReleaseDiff, lowest_version, render_entry
from senseprobe.release.diff import Side, diff_releases
from senseprobe.release.manifest import Manifest
from senseprobe.release.release import earlier_releases
from senseprobe.release.schema import design_schema

Row = dict[str, Any]

DESIGN = Design(
    kind="inference",
    sense_type="",
    bias_type="nationality",
    slots=("verb",),
    roles={"premise": {"filler": "quality"}, "hypothesis": {"filler": "demonym"}},
    factors=(Factor(name="verb", columns=("verb",)),),
    columns=(("taught", "boolean"),),
    estimands=("neutral",),
)


def _row(name: str, **other: object) -> Row:
    values = {"frame": "f1", "verb": "ate", "premise": "A.", "hypothesis": "B.", "gold": "neutral", "taught": None}
    spans = {"premise_span": {"start": 0, "end": 1}, "hypothesis_span": None}
    return {"id": name, **values, **spans, **other}


def _side(rows: Sequence[Row], version: str, design: Design = DESIGN, at_once: int = 2, **facts: object) -> Side:
    """A release of one config `c` in memory, whose rows come in batches; its content hash tells its rows apart."""
    config = {"rows": len(rows), "content": repr((rows, asdict(design))), "design": asdict(design), "levels": {}}
    told = {"dataset": "tiny", "version": version, "order": ["c"], "configs": {"c": config}, "contrasts": []}
    schema = design_schema(design)

    def batches(name: str) -> Iterator[pa.RecordBatch]:
        for start in range(0, len(rows), at_once):
            yield pa.RecordBatch.from_pylist(list(rows[start : start + at_once]), schema)

    return Side(Manifest.of({**told, "card": {}, "recipe": "r", "files": {}, **facts}), batches)


def _diff(old: Sequence[Row], new: Sequence[Row]) -> dict[str, Any]:
    """The one config of the diff as JSON has it; an empty dict where nothing changed."""
    configs = diff_releases(_side(old, "1.0.0"), _side(new, "2.0.0")).as_dict()["configs"]
    return json.loads(json.dumps(configs[0])) if configs else {}


COLUMNS = ("frame", "verb", "premise", "hypothesis", "premise_span", "hypothesis_span", "gold", "taught")


def _naive(old: Sequence[Row], new: Sequence[Row]) -> dict[str, Any]:
    """The same, row by row with dictionaries."""
    was, now = {row["id"]: row for row in old}, {row["id"]: row for row in new}
    both = [name for name in now if name in was]
    edited = [name for name in both if was[name] != now[name]]
    ids = {"added": [i for i in now if i not in was], "removed": [i for i in was if i not in now], "edited": edited}
    pairs = {c: [(was[i][c], now[i][c]) for i in both if was[i][c] != now[i][c]] for c in COLUMNS}
    change: dict[str, Any] = {key: len(names) for key, names in ids.items()}
    change["first"] = {key: names[:10] for key, names in ids.items() if names}
    change["columns"] = {column: len(changed) for column, changed in pairs.items() if changed}
    change["labels"] = {"gold": Counter(pairs["gold"])} if pairs["gold"] else {}
    change["moved"] = both != [name for name in was if name in now]
    change["words"] = {}
    for column in ("frame", "verb"):
        here, there = (Counter(row[column] for row in rows if row[column] is not None) for rows in (new, old))
        words = {
            "appeared": {word: n for word, n in here.items() if word not in there},
            "vanished": {word: n for word, n in there.items() if word not in here},
        }
        change["words"] |= {column: words} if any(words.values()) else {}
    return change


def _assert_as_naive(old: Sequence[Row], new: Sequence[Row]) -> None:
    expected, actual = _naive(old, new), _diff(old, new)
    if not actual:
        assert old == new
        return
    gold = {(label["was"], label["now"]): label["rows"] for label in actual["labels"].get("gold", ())}
    assert actual | {"labels": {"gold": gold} if gold else {}} == actual | expected


_words = st.sampled_from(["a", "b", "", "é", None])
_spans = st.none() | st.fixed_dictionaries({key: st.none() | st.integers(0, 1) for key in ("start", "end")})
_rows = st.fixed_dictionaries(
    {
        "id": st.sampled_from(["", "a", "b", "ab", "ba", "é", "e\u0301", "a.b", *"cdefghijkl"]),
        **dict.fromkeys(("frame", "verb", "premise", "gold"), _words),
        "hypothesis": st.just("B."),
        **dict.fromkeys(("premise_span", "hypothesis_span"), _spans),
        "taught": st.none() | st.booleans(),
    }
)
_tables = st.lists(_rows, unique_by=lambda row: row["id"], max_size=12)


@st.composite
def successors(draw: st.DrawFn) -> tuple[list[Row], list[Row]]:
    """A table, and another one that shares many of its rows, in an order of its own."""
    old, fresh = draw(_tables), draw(_tables)
    remaining = [row for row in old if draw(st.booleans())]
    new = [*remaining, *(row for row in fresh if row["id"] not in {other["id"] for other in remaining})]
    return old, draw(st.permutations(new))


@settings(max_examples=examples(150))
@given(successors())
def test_diff_is_that_of_dictionaries(tables: tuple[list[Row], list[Row]]) -> None:
    """For random tables, with empty ids, missing values and spans, rows in any order."""
    _assert_as_naive(*tables)


def test_long_ids_and_many_rows() -> None:
    """Many rows in another order; and long ids."""
    old = [_row(f"r{n}") for n in range(80_000)]
    new = [*old[:70_000], _row("x"), *old[:70_000:-1]]
    sides = _side(old, "1.0.0", at_once=70_000), _side(new, "2.0.0", at_once=70_000)
    (change,) = diff_releases(*sides).configs
    assert (change.added, change.removed, change.edited, change.moved) == (1, 1, 0, True)
    assert change.first == {"added": ("x",), "removed": ("r70000",)}
    _assert_as_naive([_row("a" * 5000), _row("b")], [_row("b", gold=None), _row("a" * 5000), _row("c" * 2000)])


def test_a_label_that_is_swapped_is_reported() -> None:
    """A stereotype that becomes its counterpart, and it the stereotype, is no mere edit; by hand, 2 of 4."""
    contrast = replace(DESIGN, kind="contrast", roles={"stereo": {"q": "bad"}, "anti": {"q": "good"}}, columns=())
    names = design_schema(contrast).names

    def pair(name: str, stereo: str, anti: str) -> Row:
        values = {"id": name, "frame": "f1", "stereo": stereo, "anti": anti, "contested": False, "minimal": True}
        return {**dict.fromkeys(names), **values}

    old = [pair("a", "A.", "B."), pair("b", "C.", "D."), pair("c", "E.", "F."), pair("d", "G.", "H.")]
    new = [pair("a", "B.", "A."), pair("b", "D.", "C."), pair("c", "E.", "G."), pair("d", "H.", "H.")]
    diff = diff_releases(_side(old, "1.0.0", contrast), _side(new, "2.0.0", contrast))
    (change,) = diff.configs
    assert (change.edited, change.turned) == (4, 2)
    assert change.samples == {"stereo": ("A.", "B."), "anti": ("B.", "A.")}
    assert "the label of 2 rows of c is reversed" in [reason.text for reason in diff.reasons]
    assert "the label of 2 rows is reversed" in render_entry(diff)
    assert "`stereo`, for example `A.` → `B.`" in render_entry(diff)


def test_an_id_twice_is_reported() -> None:
    """Rows that cannot be told apart cannot be compared."""
    twice = [_row("a"), _row("b"), _row("a")]
    with pytest.raises(ReleaseError, match=r"tiny@2\.0\.0:c has the id a in more than one row"):
        _diff([_row("a")], twice)
    with pytest.raises(ReleaseError, match=r"tiny@2\.0\.0:c has rows without an id"):
        _diff([_row("a")], [{**_row("a"), "id": None}])


# By hand: Croissant 1.1's rules, and what docs/versions.md takes for designs, columns and contrasts.
OLD = [_row("a"), _row("b")]
C, D = Contrast(name="x", estimand="neutral", a="c", b="c"), Contrast(name="y", estimand="neutral", a="c", b="c")
GAP = LevelPair(slot="job", column="job", first="a", second="b")
CASES: list[tuple[str, Side, str]] = [
    ("none", _side(OLD, "9.0.0"), "1.2.3"),
    ("rows in another order", _side(OLD[::-1], "9.0.0"), "1.2.4"),
    ("recipe", _side(OLD, "9.0.0", files={"recipe/x": {"bytes": 1, "sha256": "s"}}), "1.2.4"),
    ("card", _side(OLD, "9.0.0", card={"title": "T"}), "1.2.4"),
    ("row added", _side([*OLD, _row("c")], "9.0.0"), "1.3.0"),
    ("row removed", _side(OLD[:1], "9.0.0"), "2.0.0"),
    ("row edited", _side([OLD[0], _row("b", taught=False)], "9.0.0"), "2.0.0"),
    ("id changed", _side([OLD[0], _row("c")], "9.0.0"), "2.0.0"),
    ("column added", _side(OLD, "9.0.0", replace(DESIGN, columns=(*DESIGN.columns, ("n", "string")))), "1.3.0"),
    ("column removed", _side(OLD, "9.0.0", replace(DESIGN, columns=())), "2.0.0"),
    ("column of another type", _side([], "9.0.0", replace(DESIGN, columns=(("taught", "string"),))), "2.0.0"),
    ("estimand added", _side(OLD, "9.0.0", replace(DESIGN, estimands=("neutral", "more"))), "1.3.0"),
    ("estimand removed", _side(OLD, "9.0.0", replace(DESIGN, estimands=())), "2.0.0"),
    ("gap added", _side(OLD, "9.0.0", replace(DESIGN, estimands=("neutral", "gap:x"), gaps={"x": GAP})), "1.3.0"),
    ("neutral value", _side(OLD, "9.0.0", replace(DESIGN, neutral=0.5)), "2.0.0"),
    ("contrast added", _side(OLD, "9.0.0", contrasts=[asdict(C)]), "1.3.0"),
]


@pytest.mark.parametrize(("new", "version"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
def test_the_version_that_a_change_calls_for(new: Side, version: str) -> None:
    """One change at a time."""
    diff = diff_releases(_side(OLD, "1.2.3"), new)
    assert diff.version == version
    assert diff.enough is True


def test_a_gap_of_other_words_is_another_figure() -> None:
    """Its name stays, and its value does not."""
    old, new = (_side(OLD, "1.2.3", replace(DESIGN, gaps={"x": gap})) for gap in (GAP, replace(GAP, second="c")))
    assert diff_releases(old, new).version == "2.0.0"


def test_contrasts_and_configs_that_go_are_major() -> None:
    """A config or a contrast that is gone or another one; each is named."""
    old, new = _side(OLD, "1.0.0", contrasts=[asdict(C)]), _side(OLD, "1.0.1", contrasts=[asdict(D)])
    diff = diff_releases(old, new)
    assert diff.contrasts == {"added": ("y",), "removed": ("x",)}
    assert (diff.version, diff.enough) == ("2.0.0", False)

    other = asdict(replace(C, minimal_only=True))
    assert diff_releases(old, _side(OLD, "1.0.1", contrasts=[other])).contrasts == {"changed": ("x",)}

    told = {"c": old.manifest.data["configs"]["c"]}
    more = _side(OLD, "1.1.0", order=["c", "d"], configs={**told, "d": told["c"]})
    gain, loss = diff_releases(_side(OLD, "1.0.0"), more), diff_releases(more, _side(OLD, "1.2.0"))
    assert [(each.config, each.before, each.after, each.first) for each in gain.configs] == [
        ("d", None, 2, {"added": ("a", "b")})
    ]
    assert (gain.bump, loss.bump) == (Bump.MINOR, Bump.MAJOR)
    assert [reason.text for reason in loss.reasons] == ["config d removed (2 rows)"]


def test_numbers_are_compared_as_numbers(tmp_path: Path) -> None:
    """1.10.0 follows 1.9.0; what is no version, or holds no release, is passed over."""
    for name in ("1.9.0", "1.10.0", "2.0.0", "01.0.0", "1.11.0", "notes", ".2.0.0.partial-1"):
        (tmp_path / name).mkdir()
        if name != "1.11.0":
            (tmp_path / name / "release.json").touch()
    assert earlier_releases([tmp_path], "2.0.0") == [tmp_path / "1.9.0", tmp_path / "1.10.0"]
    assert earlier_releases([tmp_path], "1.10.0") == [tmp_path / "1.9.0"]
    assert earlier_releases([tmp_path], "1.9.0") == []
    assert earlier_releases([tmp_path / "gone"], "1.0.0") == []
    assert lowest_version("1.9.9", Bump.MINOR) == "1.10.0"


@pytest.mark.parametrize(
    ("new", "lowest"),
    [
        ([], "0.3.0"),  # a row removed
        ([_row("a", premise="Other."), _row("b")], "0.3.0"),  # a row edited
        ([_row("a"), _row("b"), _row("c")], "0.2.5"),  # a row added
    ],
)
def test_below_1_0_0_rows_removed_need_a_minor_number_and_rows_added_a_patch(new: list[Row], lowest: str) -> None:
    """SemVer 2.0.0, item 4, as the issue states it: 0.(y+1).0 and 0.y.(z+1); 1.0.0 is above either."""
    old = _side([_row("a"), _row("b")], "0.2.4")
    assert diff_releases(old, _side(new, "1.0.0")).version == lowest
    assert diff_releases(old, _side(new, lowest)).enough
    assert diff_releases(old, _side(new, "1.0.0")).enough
    assert diff_releases(old, _side(new, "0.2.5")).enough == (lowest == "0.2.5")


def test_a_card_that_says_something_else_is_a_patch_below_1_0_0() -> None:
    """Rewritten, not edited."""
    diff = diff_releases(_side([_row("a")], "0.2.4", card={"title": "A"}), _side([_row("a")], "0.2.5"))
    assert (diff.bump, diff.version) == (Bump.PATCH, "0.2.5")


def test_an_older_release_has_no_say() -> None:
    """Held against an older one, or one of another name, a number is neither enough nor too low."""
    assert diff_releases(_side(OLD, "2.0.0"), _side([], "1.0.0")).enough is None
    assert diff_releases(_side(OLD, "2.0.0"), _side([], "3.0.0", dataset="other")).enough is None


TEMPLATE = FRONT + "{# #}{{ pronoun.subject | upfirst }} is {{ job | a }}. {# id: is #}\n"

PACKAGE = """
name: mine
resources:
  - name: jobs
    path: jobs.csv
    sources: [{title: nobody}]
    licenses: [{name: MIT}]
    schema: {fields: [{name: word, type: string}, {name: article, type: string}]}
"""


class Project:
    """A user's project with one dataset, `tiny`, of one row for each job."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.templates = root / "templates" / "tiny"
        for folder in (self.templates, root / "wordlists", root / "releases"):
            folder.mkdir(parents=True)
        (root / "senseprobe.toml").touch()
        (self.templates / "dataset.yaml").write_text(DATASET)
        (root / "wordlists" / "references.bib").write_text("@misc{nobody, title = {Nothing}}\n")
        (root / "wordlists" / "datapackage.yaml").write_text(PACKAGE)
        self.jobs("engineer,an", "nurse,a")

    def jobs(self, *rows: str) -> None:
        """The list with these jobs, and a template that expects them."""
        (self.root / "wordlists" / "jobs.csv").write_text("\n".join(["word,article", *rows, ""]))
        (self.templates / "job.j2").write_text(TEMPLATE.replace("PAIRS", str(len(rows))).replace("{# #}", ""))

    def built(self) -> list[str]:
        """What is in the dataset's folder of releases, partial folders too."""
        return sorted(path.name for path in (self.root / "releases" / "tiny").iterdir())


@pytest.fixture
def tiny(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    """The project as the working directory, with tiny@1.0.0: engineer and nurse."""
    project = Project(tmp_path)
    monkeypatch.chdir(tmp_path)
    api.build("tiny", "1.0.0")
    return project


def _elsewhere(tiny: Project, version: str, *rows: str) -> Path:
    """The dataset with these jobs, built in a project of its own, where no older release is."""
    other = Project(tiny.root / "elsewhere")
    other.jobs(*rows)
    with contextlib.chdir(other.root):
        return api.build("tiny", version).folder


def _refused(version: str) -> str:
    with pytest.raises(ReleaseError) as caught:
        api.build("tiny", version)
    return str(caught.value)


def test_build_refuses_a_number_that_is_too_low(tiny: Project) -> None:
    """A row more is MINOR, a row changed or gone is MAJOR; what was refused leaves nothing behind."""
    tiny.jobs("engineer,an", "nurse,a", "guide,a")
    assert _refused("1.0.1") == (
        "tiny@1.0.1 is too low: since tiny@1.0.0, 1 row of job added (MINOR). Use 1.1.0 or higher; nothing was written"
    )
    assert _documented(_refused("1.0.1"))
    assert tiny.built() == ["1.0.0"]
    api.build("tiny", "1.1.0")
    tiny.jobs("engineer,a", "nurse,a", "guide,a")
    assert "since tiny@1.1.0, 1 row of job edited (MAJOR). Use 2.0.0 or higher" in _refused("1.2.0")
    tiny.jobs("engineer,an", "guide,a")
    assert "1 row of job removed (MAJOR). Use 2.0.0 or higher" in _refused("1.9.9")
    api.build("tiny", "2.0.0")
    assert tiny.built() == ["1.0.0", "1.1.0", "2.0.0"]


def test_releases_elsewhere_count_too(tiny: Project) -> None:
    """Those of the project whose templates are built, wherever the new one goes."""
    tiny.jobs("engineer,an")
    with pytest.raises(ReleaseError, match=r"since tiny@1\.0\.0, 1 row of job removed"):
        api.build("tiny", "1.0.1", tiny.root / "out")
    card = api.build("tiny", "2.0.0", tiny.root / "out").folder / "README.md"
    assert "Since tiny@1.0.0: MAJOR" in card.read_text()


def test_a_recipe_without_end_is_not_expanded(tiny: Project) -> None:
    """Rows that are not kept are made again no further than the manifest says, however many the recipe would make."""
    later = _elsewhere(tiny, "2.0.0", "engineer,an")
    folder = tiny.root / "releases" / "tiny" / "1.0.0"
    shutil.rmtree(folder / "job")
    template = folder / "recipe" / "templates" / "tiny" / "job.j2"
    slots = "".join(f"\n  s{number}: {{list: jobs}}" for number in range(60))
    text = template.read_text().replace("\nslots:", f"\nslots:{slots}", 1)
    template.write_text(re.sub(r"pairs: \d+", f"pairs: {2**61}", text))
    _resealed(folder)
    for use in (lambda: api.diff("tiny@1.0.0", str(later)), lambda: api.restore("tiny@1.0.0")):
        with pytest.raises(ReleaseError, match="the rows have other columns than their design"):
            use()


def test_the_newest_lower_release_counts(tiny: Project) -> None:
    """A repair of 1.0 is held against 1.0.0, though 2.0.0 is there; and the same rows may have any higher number."""
    tiny.jobs("engineer,an")
    api.build("tiny", "2.0.0")
    tiny.jobs("engineer,an", "nurse,a")
    api.build("tiny", "1.0.1")
    assert "since tiny@2.0.0" in _refused("2.0.1")
    diff = api.diff("tiny@1.0.0", "tiny@1.0.1")
    assert (diff.bump, diff.reasons) == (Bump.NONE, ())


def test_build_says_that_nothing_has_changed(tiny: Project) -> None:
    """And writes what was wanted; where something has changed, it says nothing of the kind."""
    heard: list[str] = []
    api.build("tiny", "1.0.1", say=heard.append)
    expected = "tiny@1.0.1 has the same rows, card and recipe as tiny@1.0.0"
    assert [text for text in heard if "the same rows" in text] == [expected]
    tiny.jobs("engineer,an")
    api.build("tiny", "2.0.0", say=heard.append)
    assert sum("the same rows" in text for text in heard) == 1
    assert tiny.built() == ["1.0.0", "1.0.1", "2.0.0"]


def test_senses_that_a_card_lists_anew_are_a_patch() -> None:
    """The rows of sssb 1.0.2 are those of 1.0.1; its card lists keys and glosses, which that of 1.0.1 does not."""
    diff = api.diff("sssb@1.0.1", "sssb@1.0.2")
    assert (diff.bump, [reason.text for reason in diff.reasons]) == (Bump.PATCH, ["the card changed: senses"])


def test_a_name_without_a_version_is_the_newest_release(tiny: Project) -> None:
    """By number: 1.10.0 is above 1.9.0. A folder with a release has precedence, as it has over NAME@VERSION."""
    for version in ("1.9.0", "1.10.0"):
        api.build("tiny", version)
    assert api.load("tiny").manifest.name == "tiny@1.10.0"
    assert api.load("sssb").manifest.name == "sssb@1.1.2"  # built in
    shutil.copytree(tiny.root / "releases/tiny/1.9.0", tiny.root / "tiny")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tiny.root)
        assert api.load("tiny").manifest.name == "tiny@1.9.0"
    for name in ("nothing", "", "tiny@", ".."):
        with pytest.raises(ReleaseError, match=r"is not a release|unknown release"):
            api.load(name)


def test_every_command_takes_a_name_without_a_version(
    tiny: Project, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """verify, restore and export take the newest, diff the two newest; a version alone is compared with nothing."""
    api.build("tiny", "1.10.0")
    monkeypatch.chdir(tiny.root)
    typed = typing(monkeypatch, capfd)
    assert typed("verify", "tiny").out.startswith("tiny@1.10.0: unchanged")
    assert typed("verify", "tiny", "--json").told["release"] == "tiny@1.10.0"
    assert typed("verify", "--restore", "tiny", "--out", "copies").code == 0
    assert (tiny.root / "copies/tiny/1.10.0/release.json").is_file()
    assert typed("diff", "tiny", "--json").told == typed("diff", "tiny@1.0.0", "tiny@1.10.0", "--json").told
    assert typed("diff", "tiny:job", "--json").told == typed("diff", "tiny@1.0.0:job", "tiny@1.10.0:job", "--json").told
    assert typed("verify", "tiny:").out.startswith("tiny@1.10.0: ")
    for name, reason in (
        ("tiny@1.0.0", "only a NAME without a version"),
        ("nothing", "'nothing' is not a release folder"),
    ):
        assert reason in typed("diff", name).message
    shutil.rmtree(tiny.root / "releases/tiny/1.0.0")
    assert "tiny@1.10.0 is its only release" in typed("diff", "tiny").message


def test_an_older_release_without_rows_is_made_again(tiny: Project) -> None:
    """What keeps only manifest and recipe is compared row by row all the same, and stays as it is."""
    folder = tiny.root / "releases" / "tiny" / "1.0.0"
    shutil.rmtree(folder / "job")
    tiny.jobs("engineer,an", "nurse,a", "guide,a")
    assert "1 row of job added (MINOR)" in _refused("1.0.1")
    api.build("tiny", "1.1.0")
    (change,) = senseprobe.diff("tiny@1.0.0", "tiny@1.1.0").configs
    assert (change.added, change.first) == (1, {"added": ("job.is.guide",)})
    assert not (folder / "job").exists()


def _resealed(folder: Path) -> None:
    """A manifest that says of the recipe's files what they are now, as a forger would have it."""
    facts = json.loads((folder / "release.json").read_text())
    for name in [name for name in facts["files"] if name.startswith("recipe/")]:
        data = (folder / name).read_bytes()
        facts["files"][name] = {"bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}
    facts.pop("digest")
    (folder / "release.json").write_bytes(Manifest.of(facts).dump())


def test_an_older_release_that_cannot_be_compared_is_reported(tiny: Project) -> None:
    """Where rows are gone and the recipe makes others or none, or the manifest is damaged, nothing is built."""
    folder = tiny.root / "releases" / "tiny" / "1.0.0"
    shutil.rmtree(folder / "job")
    tiny.jobs("engineer,an")
    words = folder / "recipe" / "wordlists" / "jobs.csv"
    words.write_text(words.read_text().replace("nurse", "guide"))
    assert "cannot tell what changed since" in _refused("2.0.0")
    later = _elsewhere(tiny, "2.0.0", "engineer,an")
    with pytest.raises(DamagedRelease, match=r"recipe/wordlists/jobs\.csv: E404 differs from the frozen file"):
        api.diff("tiny@1.0.0", str(later))
    _resealed(folder)
    with pytest.raises(DamagedRelease, match=r"recipe of job: E408 the rows of tiny@1\.0\.0 do not match"):
        api.diff("tiny@1.0.0", str(later))
    words.write_text("word\n")
    _resealed(folder)
    assert "does not contain its rows, and its recipe cannot be used" in _refused("2.0.0")
    (folder / "release.json").write_text("{}")
    assert "cannot tell what changed since" in _refused("2.0.0")
    assert tiny.built() == ["1.0.0"]


def test_joined_shards_are_held_to_the_same_rule(tiny: Project) -> None:
    """Shards know nothing of other releases; joining them does."""
    tiny.jobs("engineer,an", "nurse,a", "guide,a")
    parts = [api.build_shard("tiny", "1.0.1", shard, 2) for shard in range(2)]
    with pytest.raises(ReleaseError, match=r"tiny@1\.0\.1 is too low"):
        api.join(parts)


def test_a_retired_id_never_comes_back(tiny: Project) -> None:
    """The row is refused with place and reason, built whole or as a shard; the list is part of the recipe."""
    retired = tiny.templates / "retired.csv"
    retired.write_text('id,reason\njob.is.nurse,"a slur, in one dialect"\n')
    message = "row job.is.nurse was retired: a slur, in one dialect (templates/tiny/retired.csv:2): a retired id never"
    assert _refused("2.0.0").startswith(message)
    with pytest.raises(ReleaseError, match=r"row job\.is\.nurse was retired"):
        api.build_shard("tiny", "2.0.0", 0, 1)
    tiny.jobs("engineer,an")
    api.build("tiny", "2.0.0")
    assert (tiny.root / "releases/tiny/2.0.0/recipe/templates/tiny/retired.csv").read_bytes() == retired.read_bytes()
    assert api.verify("tiny@2.0.0", rebuild=True) == []

    retired.write_text(f"{retired.read_text()}job.is.nrse,\n")
    api.build("tiny", "2.0.2")
    retired.write_text("id\njob.is.nurse\n")
    api.build("tiny", "2.0.3")  # nobody ever had that id, so it may be taken out again
    retired.write_text("id,version,reason\njob.is.guide,2.0.0,\n")
    assert "job.is.nurse is in the retired.csv of tiny@2.0.3 but not in yours: put it back" in _refused("3.0.0")
    retired.write_text("id\njob.is.guide\njob.is.nurse\n")
    api.build("tiny", "2.0.4")
    assert tiny.built() == ["1.0.0", "2.0.0", "2.0.2", "2.0.3", "2.0.4"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "columns are not id and optionally version and reason"),
        ("name\nx\n", "columns are not id"),
        ("id,id\nx,y\n", "columns are not id"),
        ("id,why\nx,y\n", "columns are not id"),
        ("id,reason\nx\n", "1 cells, expected 2"),
        ("id\nx\nx\n", "'x' is retired twice"),
        ("id\n x\n", "' x' begins or ends with a space"),
        ('id\n""\n', "the row has an empty id"),
        ('id\n"x\n', "malformed CSV"),
    ],
)
def test_a_malformed_list_of_retired_ids_is_reported(tiny: Project, text: str, message: str) -> None:
    """As any declaration, by lint as by build: file, line, and what is wrong."""
    (tiny.templates / "retired.csv").write_text(text)
    with pytest.raises(DeclarationError) as caught:
        api.build("tiny", "1.0.1")
    finding = caught.value.findings[0]
    assert finding in lint(Layer(tiny.root)).findings
    assert (finding.path, finding.code) == ("templates/tiny/retired.csv", "E202")
    assert message in finding.message


def test_a_link_to_retired_ids_is_reported(tiny: Project) -> None:
    """Links are no part of a recipe, so a list behind one would be lost."""
    (tiny.templates / "retired.csv").symlink_to(tiny.root / "elsewhere.csv")
    with pytest.raises(DeclarationError, match=r"retired\.csv: E100 is not a plain file"):
        api.build("tiny", "1.0.1")


def test_rows_that_are_not_those_of_the_manifest_are_reported(tiny: Project) -> None:
    """What was read is held against its content hash, so that no diff rests on rows that somebody changed."""
    tiny.jobs("engineer,an", "nurse,a", "guide,a")
    folder = api.build("tiny", "1.1.0").folder
    rows = "job/test-00000-of-00001.parquet"
    shutil.copy(tiny.root / "releases" / "tiny" / "1.0.0" / rows, folder / rows)
    with pytest.raises(DamagedRelease, match=r"job: E405 the rows of tiny@1\.1\.0 do not match"):
        api.diff("tiny@1.0.0", "tiny@1.1.0")


DOCS = (Path(__file__).parents[2] / "docs" / "versions.md").read_text(encoding="utf-8")


def _documented(text: str) -> bool:
    """Whether docs/versions.md shows this output."""
    return "".join(line.rstrip() + "\n" for line in text.splitlines()) in DOCS


@pytest.fixture
def typed(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Typed:
    """Runs a command line."""
    return typing(monkeypatch, capfd)


def test_the_command(tiny: Project, typed: Typed) -> None:
    """Text, JSON and Markdown; 0 where the number is high enough, 1 where it is not, 2 for misuse."""
    tiny.jobs("engineer,a", "guide,a")
    api.build("tiny", "2.0.0")
    lowered = _elsewhere(tiny, "1.1.0", "engineer,a", "guide,a")

    text = typed("diff", "tiny@1.0.0", "tiny@2.0.0")
    assert (text.code, text.err) == (0, "")
    assert [line for line in text.out.splitlines()[2:] if line] == [
        "Added",
        "job: 1 row added (job.is.guide); appeared: job guide (1)",
        "Changed",
        "job: 1 row edited (job.is.engineer) in stereo (1), anti (1), stereo_span (1), anti_span (1)",
        "job: stereo, for example He is an engineer. → He is a engineer.",
        "job: anti, for example She is an engineer. → She is a engineer.",
        "Removed",
        "job: 1 row removed (job.is.nurse); vanished: job nurse (1)",
        "Version",
        "MAJOR: 1 row of job edited",
        "MAJOR: 1 row of job removed",
        "MINOR: 1 row of job added",
        "PATCH: the recipe changed: wordlists/jobs.csv",
        "tiny@1.0.0 -> tiny@2.0.0: MAJOR, so 2.0.0 or higher",
    ]
    assert _documented(text.out)
    low = typed("diff", "tiny@1.0.0", str(lowered), "--json")
    data = low.told
    assert (low.code, data["bump"], data["version"], data["enough"]) == (1, "major", "2.0.0", False)
    assert data["configs"][0]["first"] == {
        "added": ["job.is.guide"],
        "removed": ["job.is.nurse"],
        "edited": ["job.is.engineer"],
    }
    same = typed("diff", "tiny@1.0.0:job", "tiny@1.0.0")
    assert (same.code, same.out) == (0, "tiny@1.0.0 -> tiny@1.0.0: nothing changed\n")
    for wrong in (["tiny@1.0.0", "tiny@9.0.0"], ["tiny@1.0.0:jobs", "tiny@2.0.0"], ["tiny@1.0.0"]):
        assert typed("diff", *wrong).code == 2
    assert typed("diff", "tiny@1.0.0", "tiny@2.0.0", "--json", "--markdown").code == 2


MARKDOWN = """## tiny 2.0.0

Since tiny@1.0.0: MAJOR (2.0.0 or higher).

### Added

- `job`: 1 row added (`job.is.guide`); appeared: `job` `guide` (1)

### Changed

- `job`: 1 row edited (`job.is.engineer`) in `stereo` (1), `anti` (1), `stereo_span` (1), `anti_span` (1)
- `job`: `stereo`, for example `He is an engineer.` → `He is a engineer.`
- `job`: `anti`, for example `She is an engineer.` → `She is a engineer.`

### Removed

- `job`: 1 row removed (`job.is.nurse`); vanished: `job` `nurse` (1)
"""


def test_the_changelog(tiny: Project, typed: Typed) -> None:
    """Written by hand; it is also what the newer release's own card says."""
    tiny.jobs("engineer,a", "guide,a")
    release = api.build("tiny", "2.0.0")
    assert typed("diff", "tiny@1.0.0", "tiny@2.0.0", "--markdown").out == MARKDOWN
    assert _documented(MARKDOWN)
    assert "`job`: 1 row added (`job.is.guide`)" in (release.folder / "README.md").read_text()


def test_the_changelog_cannot_be_written_by_a_release() -> None:
    """Names and words of others stand in code spans, whatever signs they hold."""
    old = _side([_row("a")], "1.0.0")
    new = _side([_row("x`\n# y`` <b>", verb="![](http://evil)")], "2.0.0", card={"k\n# <b>": 1})
    text = render_entry(diff_releases(old, new))
    assert "\n# " not in text
    assert "``` 'x`\\n# y`` <b>' ```" in text
    assert "`![](http://evil)` (1)" in text
    assert "`'k\\n# <b>'`" in text


def test_people_read_what_a_changelog_leaves_out() -> None:
    """By hand: b ate and now bit, so that a word is another without a row more; a new config is read with its ids."""
    edited = diff_releases(_side(OLD, "1.0.0"), _side([_row("a"), _row("b", verb="bit")], "2.0.0"))
    texts = {text for section in edited.sections() for text in section.paragraphs}
    assert "c: appeared: verb bit (1)" in texts
    assert "appeared" not in edited.to_markdown()
    before = replace(edited.configs[0], before=None, added=2, edited=0, first={"added": ("a", "b")})
    new = replace(edited, configs=(before,)).sections()
    assert "config c: 2 rows (a, b)" in {text for section in new for text in section.paragraphs}


def test_a_table_for_notebooks() -> None:
    """One row for each config that changed."""
    diff = diff_releases(_side(OLD, "1.0.0"), _side([_row("a", gold=None), _row("c")], "2.0.0"))
    assert diff.table().to_dict("records") == [
        {"config": "c", "before": 2, "after": 2, "added": 1, "removed": 1, "edited": 1}
    ]
    assert isinstance(diff, ReleaseDiff)


def test_two_configs_are_refused() -> None:
    """What changed is told of one config or of all."""
    with pytest.raises(SenseprobeError, match=r"'noun' and 'race'"):
        api.diff("sssb@1.0.0:noun", "sssb@1.0.0:race")


def test_older_forms_of_manifests_are_read() -> None:
    """Releases that were frozen by older senseprobes, kept as they were: the newer form alone changes no row."""
    forms = Path(__file__).parents[1] / "fixtures" / "releases"
    diff = api.diff(str(forms / "form-1"), str(forms / "form-2"))
    assert {change.config: (change.before, change.after) for change in diff.configs}
    assert api.diff(str(forms / "form-1"), str(forms / "form-1")).reasons == ()
    assert api.diff("sssb@1.0.0", "sssb@1.0.0").bump is Bump.NONE
