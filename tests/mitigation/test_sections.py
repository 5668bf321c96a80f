"""What pages say of a model that something was removed from: with its folder, without it, and in a comparison."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from tests.conformance import causal_models
from tests.mitigation.records import DIGEST, make_record

from senseprobe import api
from senseprobe.api import results
from senseprobe.document import render_terminal
from senseprobe.evaluate.mitigation.api import debias
from senseprobe.evaluate.mitigation.record import Axis, Norms, Omission, Perplexity, Probe, Record
from senseprobe.evaluate.mitigation.sections import (
    BROKEN,
    TITLE,
    TRAINED,
    UNAVAILABLE,
    compared_removal_section,
    find_altered,
    removal_section,
)
from senseprobe.evaluate.models.alteration import RECORD

PERPLEXITY = Perplexity(kind="perplexity", text="wiki.txt", sha256=DIGEST, tokens=4000, before=38.49, after=39.54)
READS: dict[str, Any] = {"words": 120, "low": 0.69, "high": 0.84, "majority": 0.5, "before": 1.0}


def write(folder: Path, record: Record) -> dict[str, str]:
    """Write a record into a folder; return the identity of the model that would be in it."""
    folder.mkdir(exist_ok=True)
    (folder / RECORD).write_bytes(record.to_bytes())
    return {"name": str(folder), "debias": record.digest, "removed": record.removed}


def scope_of(*models: dict[str, str], compared: bool = False, brief: bool = False) -> Any:  # noqa: ANN401
    """Return what a section reads of results of these models."""
    inputs = [SimpleNamespace(result=SimpleNamespace(model=model)) for model in models]
    return SimpleNamespace(inputs=inputs, comparisons=("any",) if compared else (), is_brief=brief)


@pytest.fixture
def record() -> Record:
    """A record with all that there is to say."""
    probes = (
        Probe(kind="linear", accuracy=0.773, **READS),
        Probe(kind="non-linear", accuracy=0.877, **READS | {"low": 0.81, "high": 0.92}),
    )
    return make_record(
        form="transformers",
        axis=Axis(direction="he-she", pairs=(("he", "she"),), labels_name="list:gender"),
        omitted=(
            Omission(word="businesswoman", reason="several tokens"),
            Omission(word="heir", reason="several tokens"),
        ),
        head="untied",
        norms=Norms(mean=0.982, least=0.796),
        probes=probes,
        perplexity=PERPLEXITY,
    )


def cells_of(section: Any) -> dict[str, list[tuple[str, str]]]:  # noqa: ANN401
    """Return the facts of a section's table, each with the texts and notes of its cells."""
    (table,) = section.tables
    return {row[0].text: [(cell.text, cell.note) for cell in row[1:]] for row in table.rows}


def test_a_page_says_what_was_removed_and_what_is_left(record: Record, tmp_path: Path) -> None:
    """From what, what probes still read, lengths, words left out, perplexity before and after."""
    section = removal_section(scope_of(write(tmp_path / "out", record)))

    assert section.title == TITLE
    assert BROKEN in section.paragraphs
    reference = "100 % before; the largest label is 50 %"
    assert cells_of(section) == {
        "removed": [("he-she (1 of 4 dimensions, projection)", "")],
        "from": [("vectors:parent.txt", "")],
        "changed": [("the input", "")],
        "output": [("has the vectors of the parent", "")],
        "left": [("at most 1e-07 of a direction", "in float32")],
        "lengths": [("0.982 of the former ones on average, 0.796 at least", "")],
        "words left out": [("several tokens: businesswoman, heir", "")],
        "labels": [("list:gender", "")],
        "a linear probe still reads": [("77 % of 120 words (69 to 84)", reference)],
        "a non-linear probe still reads": [("88 % of 120 words (81 to 92)", reference)],
        "prediction of a text": [("38.49 before, 39.54 after", "perplexity on wiki.txt")],
    }
    assert "debiased" not in " ".join(line.plain for line in render_terminal(section, ["out"]))


def test_a_terminal_says_what_is_still_read(record: Record, tmp_path: Path) -> None:
    """In sentences, of models that are compared, too."""
    model = write(tmp_path / "out", record)
    folder = tmp_path / "out"
    reference = "100 % before; the largest label is 50 %"
    lines = (
        f"{folder}: a linear probe still reads list:gender of 77 % of 120 words (69 to 84); {reference}.",
        f"{folder}: a non-linear probe still reads list:gender of 88 % of 120 words (81 to 92); {reference}.",
        f"{folder}: perplexity on wiki.txt (4,000 tokens): 38.49 before, 39.54 after (+2.7 %).",
    )
    assert removal_section(scope_of(model, brief=True)).paragraphs == lines
    assert compared_removal_section(scope_of(model, compared=True, brief=True)).paragraphs == lines


def test_a_comparison_has_one_of_the_two_sections(record: Record, tmp_path: Path) -> None:
    """After the ranks where models are compared, else after the verdicts; with a column for each model."""
    plain = {"name": "parent"}
    models = [write(tmp_path / name, made) for name, made in (("a", record), ("b", make_record(unprobed="too few")))]
    scope = scope_of(plain, *models, models[0], compared=True)

    assert not removal_section(scope)
    assert not compared_removal_section(scope_of(*models))
    section = compared_removal_section(scope)
    assert section.tables[0].headings == ("fact", 1, 2)
    assert cells_of(section)["a linear probe still reads"][1] == ("not probed: too few", "")
    assert cells_of(section)["prediction of a text"][1] == ("not measured", "")
    assert cells_of(section)["words left out"][1] == ("none", "")
    assert not removal_section(scope_of(plain))
    assert not compared_removal_section(scope_of(plain, compared=True))


def test_a_model_that_was_trained_since_has_the_numbers_of_its_parent(record: Record, tmp_path: Path) -> None:
    """A line says so, on the page and in a terminal."""
    model = write(tmp_path / "out", record)
    (tmp_path / "out" / "training.json").write_text("{}")
    line = f"{tmp_path / 'out'}: {TRAINED}."
    assert removal_section(scope_of(model)).paragraphs[-1] == line
    assert removal_section(scope_of(model, brief=True)).paragraphs[0] == line
    parent = write(tmp_path / "parent", record)
    assert [altered.is_trained for altered in find_altered(scope_of(parent, model, model))] == [False, True]


def test_without_its_folder_a_result_says_what_it_knows(record: Record, tmp_path: Path) -> None:
    """The line of what was removed: where the folder is gone, was made again, or the name is nonsense."""
    model = write(tmp_path / "out", record)
    (tmp_path / "out" / RECORD).write_bytes(make_record().to_bytes())
    names = (str(tmp_path / "out"), str(tmp_path / "none"), "vectors:none", "~nobody/x", "a\0b", "x" * 5000, "hub/name")

    for name in names:
        (altered,) = find_altered(scope_of(model | {"name": name}))
        assert altered.record is None
        section = removal_section(scope_of(model | {"name": name}))
        assert section.paragraphs[-1] == f"{name}: {UNAVAILABLE}."
        assert BROKEN not in section.paragraphs
        assert cells_of(section) == {"removed": [("he-she (1 of 4 dimensions, projection)", "")]}
    brief = removal_section(scope_of(model | {"name": "a\x1b[2J"}, brief=True))
    assert brief.paragraphs == (f"'a\\x1b[2J': {UNAVAILABLE}.",)


def test_a_damaged_record_is_as_one_that_is_gone(record: Record, tmp_path: Path) -> None:
    """Its sha256 is another one; the page is written all the same."""
    model = write(tmp_path / "out", record)
    (tmp_path / "out" / RECORD).write_text("{")
    assert removal_section(scope_of(model)).paragraphs[-1] == f"{tmp_path / 'out'}: {UNAVAILABLE}."


def test_scored_models_are_shown_on_pages_and_in_comparisons(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """From the command to the page, Markdown and terminal."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    parent = causal_models.build(tmp_path / "models")["gpt2"]
    Path("text.txt").write_text("He judges the horses.\n")
    made = debias(parent, "out", direction="he-she", text="text.txt")
    assert made.record.perplexity is not None
    (before,), (after,) = (
        api.score(spec, "sssb@1.0.1", "ll", config="noun", limit=20, out=Path("results"))
        for spec in (str(parent), "out")
    )
    line = made.record.perplexity.describe()

    page = results.report([after], tmp_path / "page.html").read_text("utf-8")
    compared = results.compare([before, after])

    assert TITLE.replace("'", "&#39;") in page
    assert page.count("prediction of a text") == 1
    assert "prediction of a text" not in results.report([before], tmp_path / "plain.html").read_text("utf-8")
    assert line in " ".join(str(compared.document()).split())
    assert line in " ".join(str(results.summarize_results([after], tmp_path)).split())
    Path("out").rename("moved")
    assert UNAVAILABLE in results.report([after], tmp_path / "gone.html").read_text("utf-8")
