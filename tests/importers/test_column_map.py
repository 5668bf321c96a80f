"""Imports of a user's own table: the same figures as a draft of the same rows, in three forms; and what is refused."""

import csv
import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml  # type: ignore[import-untyped]
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.profiles import examples
from typer.testing import CliRunner

import senseprobe
from senseprobe import SenseprobeError, api
from senseprobe.cli.application import app
from senseprobe.importers.column_map import ColumnMap
from senseprobe.importers.draft import draft_of
from senseprobe.importers.integer_labels import NO_NAME
from senseprobe.importers.plan import ImportedDataset, read_import

PAIRS = pd.DataFrame(
    {
        "first, as written": ["He is a tidy baker.", "She is a rude pilot.", "He is a rude baker."],
        "second=other": ["She is a tidy baker.", "He is a rude pilot.", "She is a rude baker."],
        "job": ["baker", "pilot", "baker"],
        "note": ["a", "b", "c"],
    }
)
MAP = {"stereo": "first, as written", "anti": "second=other", "target": "job"}
BIBTEX = "@misc{own2026,\n  title = {Bakers and Pilots},\n  author = {Doe, Jo},\n  year = {2026}\n}\n"

Writer = Callable[[pd.DataFrame, Path], None]
WRITERS: Mapping[str, Writer] = {
    "csv": lambda table, path: table.to_csv(path, index=False),
    "jsonl": lambda table, path: table.to_json(path, orient="records", lines=True),
    "parquet": lambda table, path: table.to_parquet(path),
}


def _file(folder: Path, table: pd.DataFrame = PAIRS, form: str = "csv") -> Path:
    path = folder / f"own.{form}"
    WRITERS[form](table, path)
    return path


def _read(path: Path, columns: Mapping[str, str] = MAP, **more: Any) -> ImportedDataset:  # noqa: ANN401
    return read_import(path.suffix[1:], [path], column_map=ColumnMap(columns=columns, **more))


def _rows(imported: ImportedDataset) -> list[dict[str, Any]]:
    return [row for batch in imported.rows("rows") for row in batch.to_pylist()]


# ---- Figures ----


ROLES = (
    *("stereo", "anti", "target", "label_basis", "contested", "bias_type", "sense_type", "sense_key"),
    *("stereo_value", "anti_value", "minimal"),  # as declared: the sentences may share some of these words
)
FACTORS = {"noun-bare": ["target", "frame"], "language": ["nation", "good", "bad"]}
LABELS = {"noun-bare": ("valence", "stereotype"), "language": ()}

Figures = dict[tuple[str, str | None], tuple[Any, ...]]


def _table(config: str) -> pd.DataFrame:
    """Rows of a release with the columns that a table of one's own may have."""
    table = senseprobe.load("sssb@1.0.1").to_pandas(config)
    return table[[*dict.fromkeys([*ROLES, *LABELS[config], *FACTORS[config]])]]


def _figures(model: Path, rows: Any, **more: Any) -> Figures:  # noqa: ANN401 - a release or a table
    (result,) = senseprobe.score(str(model), rows, store=False, say=print, **more)
    return {(f.estimand, f.group): (f.value, f.low, f.high, f.neutral, f.p_holm, f.scored) for f in result.figures}


@pytest.fixture(scope="module", params=FACTORS)
def expected(request: pytest.FixtureRequest, tiny_models: dict[str, Path]) -> tuple[str, Figures]:
    """A config and its figures: of the release, whose design was declared, and of a draft of the same columns."""
    config: str = request.param
    frozen = _figures(tiny_models["bert"], "sssb@1.0.1", config=config)
    assert frozen == _figures(tiny_models["bert"], senseprobe.draft(_table(config), factors=FACTORS[config]))
    assert len(frozen) > 2
    return config, frozen


@pytest.mark.parametrize("form", WRITERS)
# Takes long: the first trains tokenizers and scores; the others read what it made.
def test_an_import_has_the_figures_of_a_draft_of_its_rows(
    expected: tuple[str, Figures], tiny_models: dict[str, Path], tmp_path: Path, form: str
) -> None:
    """Expected are the figures of a release, whose design was declared, and those of a draft of the same columns."""
    config, figures = expected
    roles = [*ROLES, *LABELS[config]]
    columns = {role: f"my {role}" for role in roles} | ({"frame": "frame"} if "frame" in FACTORS[config] else {})
    mapped = [f"my {name}" if name in roles else name for name in FACTORS[config]]
    path = _file(tmp_path, _table(config).rename(columns={name: f"my {name}" for name in roles}), form)

    release, _ = api.import_release(
        form, [path], "own", "1.0.0", None, tmp_path / "out", columns=columns, factors=mapped
    )
    assert api.verify(str(release.folder), rebuild=True) == []
    assert _figures(tiny_models["bert"], release) == figures


DRAFTS = {
    "quality": ({"stereo": "s", "anti": "a", "target": "t"}, ["t"]),
    "pronoun": ({"stereo": "s", "anti": "a", "target": "t", "stereotype": "c", "sense_type": "k"}, ["t"]),
    "inference": ({"premise": "s", "hypothesis": "a", "gender": "c", "pair": "t"}, ["t"]),
    "gold": ({"premise": "s", "hypothesis": "a", "gold": "g"}, []),
}
SENTENCES = {
    "quality": [
        (f"The {t} cook is {b}.", f"The {t} cook is {g}.") for t in ("Dunel", "Marsh") for b, g in [("rude", "kind")]
    ],
    "pronoun": [("He is a Dunel.", "She is a Dunel."), ("She is a Marsh.", "He is a Marsh.")],
    "inference": [("A Dunel slept.", "A man slept."), ("A Marsh slept.", "A woman slept.")],
    "gold": [("A Dunel slept.", "A Dunel rested."), ("A Marsh slept.", "A Marsh ran.")],
}


@pytest.mark.parametrize("what", DRAFTS)
def test_designs_and_needs_are_those_of_a_draft(tmp_path: Path, what: str) -> None:
    """One derivation: a table with the columns of releases as a draft, and with others as an import."""
    columns, factors = DRAFTS[what]
    labels = {"t": ["Dunel", "Marsh"], "c": ["male", "female"], "k": ["noun"] * 2, "g": ["entailment", "contradiction"]}
    pairs = dict(zip("sa", map(list, zip(*SENTENCES[what], strict=True)), strict=True))
    table = pd.DataFrame(pairs | labels)
    own = table[[*columns.values()]]
    roles = {column: role for role, column in columns.items()}
    draft = draft_of(own.rename(columns=roles), [roles[name] for name in factors])
    imported = _read(_file(tmp_path, own), columns, factors=factors)
    design = replace(imported.table("rows").design, columns=draft.manifest.design("rows").columns)

    assert design == draft.manifest.design("rows")
    assert imported.table("rows").levels() == draft.manifest.config("rows")["levels"]
    for needs in {*draft.left_out.values()}:
        names = [name for name, needed in draft.left_out.items() if needed == needs]
        assert f"left out: {', '.join(names)}, which would need {needs.replace('`', '')}" in imported.notes.facts


def test_without_a_factor_there_is_no_interval_which_is_told(tiny_models: dict[str, Path], tmp_path: Path) -> None:
    """Nothing says what the rows were sampled from: no figure has an interval, and the card says why."""
    path = _file(tmp_path)
    release, notes = api.import_release("csv", [path], "own", "1.0.0", None, tmp_path / "out", columns=MAP)
    (result,) = senseprobe.score(str(tiny_models["bert"]), release, store=False, say=print)
    told = "no factor is given (--factor), so figures have no interval"

    assert {(figure.low, figure.high) for figure in result.figures} == {(None, None)}
    assert told in notes.facts
    assert f"- {told}" in (release.folder / "README.md").read_text()


def test_groups_are_compared_where_a_group_is_mapped(tmp_path: Path) -> None:
    """Two qualities each said of two towns, by words that are not the towns' names; without the column none is left."""
    table = pd.DataFrame(
        {
            "s": [f"People of {town} are {bad}." for town in ("Dunel", "Marsh") for bad in ("rude", "late")],
            "a": [f"People of {town} are {good}." for town in ("Dunel", "Marsh") for good in ("kind", "tidy")],
            "town": ["Dunel", "Dunel", "Marsh", "Marsh"],
        }
    )
    path = _file(tmp_path, table)
    bare = _read(path, {"stereo": "s", "anti": "a"}).table("rows").design
    design = _read(path, {"stereo": "s", "anti": "a", "group": "town"}).table("rows").design

    assert (bare.group, bare.estimands) == (None, ("preference", "preference-half"))
    assert (design.group, design.estimands) == ("group", ("preference", "preference-half", "relative", "spread"))


# ---- Rows ----


@pytest.mark.parametrize("form", WRITERS)
def test_the_three_forms_make_the_same_rows(tmp_path: Path, form: str) -> None:
    """Written by hand: a row's place is its line, the first after the header, and in Parquet its number."""
    imported = _read(_file(tmp_path, form=form), factors=["note"])
    rows = _rows(imported)

    assert [row["target"] for row in rows] == ["baker", "pilot", "baker"]
    assert rows[0]["stereo"] == "He is a tidy baker."
    assert rows[0]["stereo_span"] == {"start": 13, "end": 18}
    assert [row["note"] for row in rows] == ["a", "b", "c"]
    assert [row["source_line"] for row in rows] == (["2", "3", "4"] if form == "csv" else ["1", "2", "3"])
    assert imported.table("rows").design.differs == "pronoun"
    assert [factor.columns for factor in imported.table("rows").design.factors] == [("note",)]


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
def test_the_delimiter_is_read_off_the_header(tmp_path: Path, delimiter: str) -> None:
    """The cells hold the other delimiters, in quotation marks where there are any."""
    path = tmp_path / "own.csv"
    cells = ["He, a baker; came.", "She, a baker; came."]
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, delimiter=delimiter, quoting=csv.QUOTE_MINIMAL)
        writer.writerows([["s", "a"], cells])

    assert [[row["stereo"], row["anti"]] for row in _rows(_read(path, {"stereo": "s", "anti": "a"}))] == [cells]


def test_a_row_that_moves_keeps_its_id(tmp_path: Path) -> None:
    """Ids are of the sentences, or of a column of their own; two rows with one get a number."""
    table = pd.concat([PAIRS, PAIRS.iloc[:1]])
    first = [row["id"] for row in _rows(_read(_file(tmp_path, table)))]
    second = [row["id"] for row in _rows(_read(_file(tmp_path, table.iloc[::-1])))]
    named = _rows(_read(_file(tmp_path, PAIRS), {**MAP, "id": "note"}))

    assert first[3] == f"{first[0]}.2"
    assert {*first} == {*second}
    assert [row["id"] for row in named] == ["rows.a", "rows.b", "rows.c"]


@pytest.mark.parametrize("factor", ["source_file", "source_line", "stereo_span", "item", "context"])
def test_a_factor_may_have_the_name_of_a_column_of_rows(tmp_path: Path, factor: str) -> None:
    """Both can be read: the factor's levels, and where the row is from; no check takes a level for a sentence."""
    path = _file(tmp_path, PAIRS.rename(columns={"note": factor}))
    release, notes = api.import_release(
        "csv", [path], "own", "1.0.0", None, tmp_path / "out", columns=MAP, factors=[factor]
    )
    rows = release.to_pandas("rows")

    assert list(rows[f"published_{factor}"]) == ["a", "b", "c"]
    assert list(rows["source_line"]) == ["2", "3", "4"]
    assert [note.code for note in notes.listed if note.code] == []
    assert api.verify(str(release.folder), rebuild=True) == []


def test_inference(tmp_path: Path) -> None:
    """Gold labels in any case; another label leaves the row out; without the column every answer is neutral."""
    lines = [
        {"p": "A man slept.", "h": "A woman slept.", "label": "Neutral"},
        {"p": "A man ran.", "h": "A man moved.", "label": "entailment", "more": [1]},
        {"p": "A man ran.", "h": "A man sat.", "label": 2},
        {"p": "A man ran.", "h": "A man stood.", "label": None},
        {"p": ["A man ran."], "h": "A man stood.", "label": "neutral"},
    ]
    path = tmp_path / "own.jsonl"
    path.write_text("\n\n".join(map(json.dumps, lines)), encoding="utf-8")
    columns = {"premise": "p", "hypothesis": "h"}
    golden, bare = _read(path, {**columns, "gold": "label"}), _read(path, columns)

    assert [row["gold"] for row in _rows(golden)] == ["neutral", "entailment"]
    assert golden.table("rows").design.estimands == ("accuracy",)
    kinds = "is not entailment, neutral or contradiction"
    assert [str(note) for note in golden.notes.listed] == [
        f"own.jsonl:5: left out: gold: '2' {NO_NAME}",
        f"own.jsonl:7: left out: gold: '' {kinds}",
        "own.jsonl:9: left out: p holds a list or an object, not a text",
    ]
    assert [row["gold"] for row in _rows(bare)] == ["neutral"] * 4
    assert "gold is not given: every pair is taken for one whose right answer is neutral" in bare.notes.facts


def test_rows_that_cannot_be_used_are_left_out(tmp_path: Path) -> None:
    """Each with its line; what a factor does not say, and what is no flag, too."""
    path = tmp_path / "own.csv"
    path.write_text(
        "s,a,f,c\nHe ran.,She ran.,x,TRUE\nHe ran.,He ran.,x,\nHe sat.,,x,0\nHe lay.,She lay.,,0\nHe ate.,She,x,?\n"
    )
    imported = _read(path, {"stereo": "s", "anti": "a", "contested": "c"}, factors=["f"])

    assert [(row["stereo"], row["contested"]) for row in _rows(imported)] == [("He ran.", True)]
    assert [str(note) for note in imported.notes.listed] == [
        "own.csv:3: left out: its two sentences are the same",
        "own.csv:4: left out: anti: an empty sentence",
        "own.csv:5: left out: no value in the factor f",
        "own.csv:6: left out: contested: '?' is not true or false",
    ]


# ---- What is refused ----


def _refused(path: Path, columns: Mapping[str, str] = MAP, **more: Any) -> str:  # noqa: ANN401
    with pytest.raises(SenseprobeError) as caught:
        _read(path, columns, **more)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_maps_that_do_not_fit_are_refused(tmp_path: Path) -> None:
    """What is wrong, what there is, and the nearest."""
    path, pair = _file(tmp_path), {"stereo": "first, as written", "anti": "second=other"}

    assert _refused(path, {"stereo": "job"}).startswith("the map lacks anti=")
    assert _refused(path, {"target": "job"}).startswith("the map lacks stereo= and anti=, or premise= and hypothesis=")
    assert _refused(path, {"sterio": "job", **pair}).startswith(
        "unknown role 'sterio' in the map: did you mean 'stereo'?"
    )
    assert _refused(path, {"gold": "job", **pair}) == "rows of stereo and anti do not have gold: remove it from the map"
    assert _refused(path, {**pair, "target": "jobb"}).startswith(
        "own.csv: lacks the column 'jobb' for target=: did you mean 'job'? "
        "there is first, as written, second=other, job"
    )
    assert "lacks the column 'Job' for a factor" in _refused(path, factors=["Job"])
    assert "the factor 'stereotype' is also a role" in _refused(path, factors=["stereotype"])
    assert "two factors would share a column" in _refused(path, factors=["note", "note"])
    assert "0 readable BibTeX entries" in _refused(path, citation=b"no entry")
    assert "2 readable BibTeX entries" in _refused(path, citation=(BIBTEX * 2).encode())
    assert "0 readable BibTeX entries" in _refused(path, citation=b"")
    assert "lacks a title or an author" in _refused(path, citation=b"@misc{a, title = {Bakers}}")
    assert "the citation:3: is not UTF-8" in _refused(path, citation=BIBTEX.replace("Jo", "J\xf6").encode("latin-1"))
    assert "unprintable" in _refused(path, citation=BIBTEX.replace("and", "\x1b[2J").encode())


def test_files_that_cannot_be_read_are_refused(tmp_path: Path) -> None:
    """One message each: nested columns, a key twice, what is no object, no Parquet, and what unfolds into too much."""
    pair = {"stereo": "s", "anti": "a"}

    def written(name: str, data: bytes) -> Path:
        (tmp_path / name).write_bytes(data)
        return tmp_path / name

    nested = tmp_path / "nested.parquet"
    pq.write_table(pa.table({"s": [["x"]], "a": ["y"]}), nested)
    large = tmp_path / "large.parquet"
    pq.write_table(pa.table({"s": ["x" * 100_000] * 1_500, "a": ["y"] * 1_500}), large)

    for nothing in (b"", b"s,a\rHe ran.,She ran.\r"):
        message = "t.csv: does not have columns: expected a header or objects, in lines that end in a line feed"
        assert _refused(written("t.csv", nothing), pair) == message
    odd = written("odd.jsonl", b'{"s": "x", "a": "y", "\\ud800": "z"}')
    assert "is not UTF-8: rename it" in _refused(odd, {**pair, "target": "\ud800"})
    assert _refused(nested, pair).endswith("its column 's' contains list<element: string>, not text")
    assert "holds more than 128 MiB" in _refused(large, pair)
    assert "cannot be read as Parquet" in _refused(written("no.parquet", b"PAR1 no"), pair)
    assert _refused(written("t.jsonl", b'{"s": "x", "a": "y", "s": "z"}'), pair) == (
        "t.jsonl:1: an object has a key twice: remove one of them"
    )
    for line in (b"[1]", b"{", b"[" * 99_999, b"9" * 99_999):
        message = _refused(written("o.jsonl", b'{"s": "x", "a": "y"}\n' + line), pair)
        assert message.startswith("o.jsonl:2: is not ")
        assert "JSON" in message


def test_own_tables_and_published_formats_take_their_own_options(tmp_path: Path) -> None:
    """A table needs a map, and a published format takes none; what goes with a map is not dropped silently."""
    with pytest.raises(SenseprobeError, match="csv needs a map of its columns"):
        api.read_import("csv", [_file(tmp_path)], "own", "1.0.0")
    with pytest.raises(SenseprobeError, match="sssb does not take a map of columns"):
        api.read_import("sssb", [_file(tmp_path)], "own", "1.0.0", columns=MAP)
    with pytest.raises(SenseprobeError, match="factors, title, citation and labels apply to your own tables"):
        api.read_import("sssb", [_file(tmp_path)], "own", "1.0.0", factors=["job"])


# ---- The command ----


def test_the_command(tmp_path: Path) -> None:
    """Columns with a comma and `=` in their names; own citation, title and licence; imported again to the same."""
    (tmp_path / "own.bib").write_text(BIBTEX)
    options = ["--map", '"stereo=first, as written", anti=second=other', "--map", "target=job", "--factor", "job"]
    options += ["--citation", str(tmp_path / "own.bib"), "--title", "Bakers", "--license", "CC-BY-4.0"]
    command = ["import", "csv", str(_file(tmp_path)), "--name", "own", "--version", "1.0.0", *options]
    dry = CliRunner().invoke(app, [*command, "--dry-run"])
    done = CliRunner().invoke(app, [*command, "--out", str(tmp_path / "out")])
    folder = tmp_path / "out" / "own" / "1.0.0"

    assert (dry.exit_code, done.exit_code) == (0, 0), done.output
    assert "left out: lms, ss, icat, which would need a column unrelated" in dry.output
    assert "own.csv: 1 of its 4 columns not imported, as nothing maps them" in dry.output
    assert "Published as *Bakers and Pilots*, 2026: `own2026`" in (folder / "README.md").read_text()
    assert (folder / "README.md").read_text().count("# Bakers, 1.0.0") == 1
    assert (folder / "recipe" / "references.bib").read_text() == BIBTEX
    assert api.verify(str(folder), rebuild=True) == []


def test_a_card_counts_no_genders_in_sentences_of_others(tmp_path: Path) -> None:
    """A bias type may be gender, and yet nobody here knows how many genders its sentences name."""
    path = _file(tmp_path, PAIRS.assign(kind="gender"))
    columns = {**MAP, "bias_type": "kind"}
    release, _ = api.import_release("csv", [path], "own", "1.0.0", None, tmp_path / "out", columns=columns)

    assert release.design("rows").bias_type == "gender"
    assert "two genders only" not in (release.folder / "README.md").read_text()


def test_a_citation_needs_no_year(tmp_path: Path) -> None:
    """The card says what there is; names that the entry leaves out are not silently dropped."""
    (tmp_path / "own.bib").write_text("@misc{own,\n  title = {Bakers},\n  author = {Doe, Jo and others}\n}\n")
    release, _ = api.import_release(
        "csv",
        [_file(tmp_path)],
        "own",
        "1.0.0",
        None,
        tmp_path / "out",
        columns=MAP,
        citation=tmp_path / "own.bib",
    )
    cff = yaml.safe_load((release.folder / "CITATION.cff").read_text())

    assert "Published as *Bakers*: `own`" in (release.folder / "README.md").read_text()
    assert cff["references"][0]["authors"] == [{"family-names": "Doe", "given-names": "Jo"}, {"name": "others"}]


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("stereo", "--map 'stereo': expected ROLE=COLUMN"),
        ("stereo=a, b", "put a part with a comma in quotation marks"),
        ("stereo=a,stereo=b", "--map has 'stereo' twice"),
    ],
)
def test_a_map_that_cannot_be_read(tmp_path: Path, value: str, message: str) -> None:
    """Exit code 2, and one message."""
    command = ["import", "csv", str(_file(tmp_path)), "--name", "own", "--version", "1.0.0", "--dry-run"]
    done = CliRunner().invoke(app, [*command, "--map", value])

    assert isinstance(done.exception, SenseprobeError)
    assert message in str(done.exception)


def test_a_table_in_another_language(tmp_path: Path) -> None:
    """Words are found as they stand, a no-break space is a blank, and English articles and pronouns are no matter."""
    lines = [
        {"s": "Elle a emmen\u00e9 les boulangers.", "a": "Il a emmen\u00e9 les boulangers.", "t": "boulanger"},
        {"s": "Qui a emmen\u00e9 le boulanger\u00a0?", "a": "Qui emm\u00e8ne le boulanger\u202f?", "t": "boulanger"},
    ]
    path = tmp_path / "own.jsonl"
    path.write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    columns = {"stereo": "s", "anti": "a", "target": "t"}
    release, notes = api.import_release(
        "jsonl", [path], "own", "1.0.0", None, tmp_path / "out", language="fr", columns=columns
    )
    rows = release.to_pandas("rows")

    assert release.manifest.data["card"]["languages"] == ["fr"]
    assert list(rows["stereo"]) == ["Elle a emmen\u00e9 les boulangers.", "Qui a emmen\u00e9 le boulanger ?"]
    assert [span and span["start"] for span in rows["stereo_span"]] == [None, 16]
    assert release.design("rows").differs == "group"
    assert [note.code for note in notes.listed if note.code] == []
    assert api.verify(str(release.folder), rebuild=True) == []


# ---- Fuzz ----


@pytest.mark.parametrize("form", WRITERS)
def test_whatever_stands_in_a_table_is_rows_or_one_message(form: str, tmp_path: Path) -> None:
    """Two hundred tables with other bytes in the place of some of their own, or cut off."""
    path = _file(tmp_path, form=form)
    whole = path.read_bytes()

    @settings(max_examples=examples(200), database=None, derandomize=True, suppress_health_check=[*HealthCheck])
    @given(
        cuts=st.lists(
            st.tuples(
                st.integers(0, len(whole)),
                st.integers(0, 9),
                st.one_of(
                    st.binary(max_size=9),
                    st.sampled_from(
                        [b'"', b",", b"\n", b"\r", b"{", b"[1]", b'{"a":', b"1e999", b"\xff", b"\x00", b";"]
                    ),
                ),
            ),
            max_size=3,
        ),
        end=st.integers(0, len(whole)),
    )
    def judge(cuts: list[tuple[int, int, bytes]], end: int) -> None:
        data = whole
        for begin, lost, bits in cuts:
            data = data[:begin] + bits + data[begin + lost :]
        path.write_bytes(data if cuts else data[:end])
        try:
            imported = _read(path, factors=["job"])
        except SenseprobeError as error:
            message = str(error)
            assert message.isprintable()
        else:
            rows = _rows(imported)
            assert len({row["id"] for row in rows}) == len(rows) > 0
            assert all(row["stereo"].strip() and row["anti"].strip() for row in rows)

    judge()


@pytest.mark.parametrize("sign", [";", "|", "\t"])
def test_a_first_line_for_spreadsheets(tmp_path: Path, sign: str) -> None:
    """`sep=;` says what stands between cells, and is no header; rows keep the numbers of their lines."""
    lines = [
        f"sep={sign}",
        sign.join(["one", "two"]),
        sign.join(["He is rude, too.", "She is rude, too."]),
        "no row",
        "",
    ]
    path = tmp_path / "own.csv"
    path.write_text("\n".join(lines), encoding="utf-8-sig")
    imported = _read(path, {"stereo": "one", "anti": "two"})
    assert [(row["stereo"], row["source_line"]) for row in _rows(imported)] == [("He is rude, too.", "3")]
    assert [note.line for note in imported.notes.listed] == [4]
    published = ["sent_more", "sent_less", "stereo_antistereo", "bias_type"]
    rows = [published, ["He is rude, too.", "She is rude, too.", "stereo", "gender"]]
    path.write_text("\n".join([f"sep={sign}", *map(sign.join, rows), ""]))
    (table,) = read_import("crows-pairs", [path]).tables
    assert [row["bias_type"] for row in table.rows] == ["gender"]


@pytest.mark.parametrize("text", ["sep=;", "sep=;\n", "sep=,\n\n", "sep=;\none,two\n"])
def test_a_first_line_for_spreadsheets_alone(tmp_path: Path, text: str) -> None:
    """A file without a header below it, or with another sign there, is one message."""
    path = tmp_path / "own.csv"
    path.write_text(text)
    with pytest.raises(SenseprobeError, match=r"own\.csv: (lacks the column|does not have columns)"):
        _read(path, {"stereo": "one", "anti": "two"})
