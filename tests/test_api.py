"""The Python API: its page is made of its docstrings, its examples run, and it does what the commands do."""

import re
import runpy
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest

import senseprobe
from senseprobe import ReleaseError, ResultError, SenseprobeError

ROOT = Path(__file__).parent.parent
PAGE = (ROOT / "docs" / "api.md").read_text(encoding="utf-8")
RELEASE = ROOT / "releases" / "sssb" / "1.0.1"


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in which the examples of the page have run, and what they left there."""
    from senseprobe.evaluate import planted

    folder = tmp_path_factory.mktemp("api")
    fit = planted._fit
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        # One round of training in place of thirty: how well the model learnt its preference is not the question here.
        patch.setattr(planted, "_fit", lambda model, corpus, _, *how: fit(model, corpus, 1, *how))
        names: dict[str, object] = {}
        for block in re.findall(r"```python\n(.*?)```", PAGE, flags=re.S):
            exec(block, names)  # noqa: S102 - our own page
    return folder


@pytest.fixture(scope="module")
def results(home: Path) -> list[senseprobe.Result]:
    """Results of two scorers of one model, with their rows."""
    model = str(home / "model")
    return senseprobe.score(model, str(RELEASE), ["aul", "pll"], config="noun-bare", store=False)


def test_the_page_is_the_one_that_the_docstrings_make() -> None:
    assert runpy.run_path(str(ROOT / "docs" / "make_api.py"))["page"]() == PAGE


def test_the_examples_leave_a_result_and_a_report(home: Path) -> None:
    assert (home / "report.html").read_text(encoding="utf-8").startswith("<!doctype html>")
    assert [path.name for path in home.glob("results/*/*/*.json")] == ["aul.noun-bare.json"]


def test_every_public_name_is_on_the_page_and_there() -> None:
    named = {*re.findall(r"^### senseprobe\.(\w+)", PAGE, flags=re.M), "__version__"}

    assert named == {*senseprobe.__all__}
    assert all(hasattr(senseprobe, name) for name in senseprobe.__all__)


def test_a_release_is_given_by_path_text_or_object() -> None:
    release = senseprobe.load(RELEASE)

    assert senseprobe.verify(RELEASE) == senseprobe.verify(str(RELEASE)) == senseprobe.verify(release) == []
    assert repr(release) == f"<Release sssb@1.0.1: 3,994 rows in 9 configs, {RELEASE}>"
    assert list(release.designs) == list(release.configs)
    assert release.to_datasets()["noun"].num_rows == len(release.to_pandas("noun")) == 186


def test_a_release_of_one_config_needs_no_name(tmp_path: Path) -> None:
    """An import has one config; of nine, one has to be named."""
    (tmp_path / "pairs.csv").write_text("good,bad\nA nice cat.,A bad cat.\nA nice dog.,A bad dog.\n")
    columns = {"stereo": "bad", "anti": "good"}
    one, _ = senseprobe.import_release("csv", [tmp_path / "pairs.csv"], "mine", "1.0.0", out=tmp_path, columns=columns)
    assert list(one.to_pandas()["anti"]) == ["A nice cat.", "A nice dog."]
    with pytest.raises(ReleaseError, match="nationality, language, race"):
        senseprobe.load(RELEASE).to_pandas()


def test_lint_takes_a_name() -> None:
    """One path or name needs no list."""
    assert senseprobe.lint("sssb/race").as_dict() == senseprobe.lint(["sssb/race"]).as_dict()


def test_a_config_is_named_once(home: Path) -> None:
    """In the name of the release or beside it; two that differ, and one that is not there, are refused."""
    model = str(home / "model")

    with pytest.raises(SenseprobeError, match="names the config noun, and not verb"):
        senseprobe.score(model, f"{RELEASE}:noun", config="verb")
    with pytest.raises(SenseprobeError, match="no config 'nouns'"):
        senseprobe.score(model, RELEASE, config="nouns")


def test_a_result_is_a_table(results: list[senseprobe.Result]) -> None:
    """A row for each figure; scores by config; short texts for notebooks."""
    result = results[0]
    frame = result.to_frame()

    assert [*frame["estimand"]] == [figure.estimand for figure in result.figures]
    assert frame["value"].tolist() == [figure.value for figure in result.figures]
    assert len(result.rows_of("noun-bare")) == 60  # as the card of sssb 1.0.1 counts them
    assert len(repr(result)) < 200
    assert "<table" in result._repr_html_()
    with pytest.raises(ResultError, match="rows of 'verb'"):
        result.rows_of("verb")


def test_a_result_is_drawn(results: list[senseprobe.Result]) -> None:
    """A Matplotlib figure with a line of text for each figure around 0."""
    labels = [label.get_text() for label in results[0].plot().axes[0].get_yticklabels()]

    assert labels[0] == f"noun-bare: {results[0].figures[0].estimand}"


def test_reports_of_results_in_memory_are_those_of_files(
    results: list[senseprobe.Result], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same page, byte by byte, from `Result`s and from the files that they are written to."""
    monkeypatch.chdir(tmp_path)
    files = [result.write(tmp_path / "written") for result in results]

    from_files = senseprobe.report(files, "files.html", release=str(RELEASE))
    from_memory = senseprobe.report(results, "memory.html", release=str(RELEASE))

    assert from_files.read_bytes() == from_memory.read_bytes()
    assert senseprobe.load_result(files[0]).rows_of("noun-bare").equals(results[0].rows_of("noun-bare"))


def test_a_report_is_of_a_folder_or_of_a_release(
    results: list[senseprobe.Result], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The folder of results, one in it, the release's name and the release itself stand for the files below them."""
    monkeypatch.chdir(tmp_path)
    files = sorted(result.write(Path("results/sssb@1.0.1/model")) for result in results)
    expected = senseprobe.report(files, "files.html", release=str(RELEASE)).read_bytes()
    Path("results/counts.json").write_text('{"counts": {}}')  # as `study corpus` writes them
    Path("results/folder.json").mkdir()
    Path("results/link.json").symlink_to("nothing")
    for what in ("results", files[0].parent, "sssb@1.0.1", senseprobe.load(RELEASE)):
        assert senseprobe.report(what, "page.html", release=str(RELEASE)).read_bytes() == expected
    with pytest.raises(ResultError, match=r"no results in results/sssb@1\.0\.2"):
        senseprobe.report("sssb@1.0.2")
    with pytest.raises(ResultError, match="nothing cannot be read"):
        senseprobe.report("nothing")


def test_a_page_has_no_sequences_that_control_a_terminal(results: list[senseprobe.Result], tmp_path: Path) -> None:
    """ESC and BEL in a note, which the rows do not make, are printed as what they are."""
    figures = (replace(results[0].figures[0], note="\x1b]0;pwn\x07"), *results[0].figures[1:])
    for name in ("page.html", "page.md"):
        page = senseprobe.report(replace(results[0], figures=figures), tmp_path / name, release=str(RELEASE))
        text = page.read_text(encoding="utf-8")
        assert not {"\x1b", "\x07"} & {*text}
        assert "\\x1b" in text
        assert "pwn\\x07" in text


def test_readings_that_are_taken_out_are_missed(results: list[senseprobe.Result], tmp_path: Path) -> None:
    """They are part of the family over which p is corrected: without them a p would count alone."""
    assert any(figure.readings for figure in results[0].figures)
    figures = tuple(replace(figure, readings={}) for figure in results[0].figures)
    with pytest.raises(ResultError, match="readings"):
        senseprobe.report(replace(results[0], figures=figures), tmp_path / "page.html", release=str(RELEASE))


def test_models_are_compared(home: Path, results: list[senseprobe.Result], tmp_path: Path) -> None:
    """A model with itself differs nowhere: every difference is 0, from results in memory and in files."""
    (again,) = senseprobe.score(str(home / "model"), RELEASE, "aul", config="noun-bare", store=False)
    comparison = senseprobe.compare(results[0], again, release=str(RELEASE))
    assert comparison.as_dict() == senseprobe.compare([results[0], again], release=str(RELEASE)).as_dict()
    frame = comparison.to_frame()

    assert {*frame["first"]} == {*frame["second"]}
    assert (frame["difference"].dropna() == 0).all()
    assert comparison.as_dict()["differences"][0]["a"] == 1
    assert len(repr(comparison)) < 400


def test_results_of_pairs_are_sliced(results: list[senseprobe.Result]) -> None:
    """By the columns of their rows; only labels of inference have words with the largest mean."""
    (part, *_) = senseprobe.slice(results[0], {"occupation": "nurse"}, release=str(RELEASE))
    assert part.words == "occupation=nurse"
    with pytest.raises(ResultError, match="cannot slice by 'quality': there is occupation"):
        senseprobe.slice(results[0], {"quality": "rude"}, release=str(RELEASE))
    with pytest.raises(ResultError, match="not a scorer of inference"):
        senseprobe.slice(results[0], largest="entailment", release=str(RELEASE))


def test_what_authors_do() -> None:
    """Counts, a preview, findings and metrics, without a command."""
    (counts,) = senseprobe.count("sssb/noun")
    preview = senseprobe.preview("sssb/noun", 2, seed=1)

    assert (counts.rows, counts.configs[0]["published"]) == (186, 192)  # 192: Zhou et al. 2022, table 1
    assert len(preview.sample) == 2
    assert len(repr(preview).splitlines()) == 4
    assert senseprobe.metrics("aul")[0]["id"] == "aul"
    assert senseprobe.lint([ROOT / "templates" / "sssb" / "noun.j2"]).configs == 1


def test_frames_are_pandas(results: list[senseprobe.Result]) -> None:
    assert isinstance(results[0].to_frame(), pd.DataFrame)
