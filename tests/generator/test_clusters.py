"""`generalise` names a column of clusters: the design and the rows have it, and levels are counted by it."""

from pathlib import Path

import pytest

import senseprobe
from senseprobe.errors import DeclarationError
from senseprobe.records import Factor

ROOT = Path(__file__).parents[2]


@pytest.fixture
def project(monkeypatch: pytest.MonkeyPatch) -> Path:
    """Senseprobe's own project."""
    monkeypatch.chdir(ROOT)
    return ROOT


def copy_project(to: Path) -> None:
    """Copy the dataset and all lists into a project of its own."""
    for folder in ("templates/sssb-clusters", "wordlists"):
        (to / folder).mkdir(parents=True)
        for file in (ROOT / folder).iterdir():
            (to / folder / file.name).write_bytes(file.read_bytes())
    (to / "senseprobe.toml").touch()


@pytest.mark.usefixtures("project")
def test_sssb_by_clusters_has_the_rows_of_sssb(tmp_path: Path) -> None:
    """Sentence by sentence; nine clusters of praise and eight of blame, counted by hand in attributes.csv."""
    release, paper = senseprobe.build("sssb-clusters", "1.0.0", tmp_path), senseprobe.load("sssb@1.1.0")
    for name in ("nationality", "race-groups"):
        rows, theirs = release.table(name), paper.table(name)
        assert rows[["id", "stereo", "anti"]].equals(theirs[["id", "stereo", "anti"]])
        good = rows.groupby("good")["good_cluster"].first()
        assert good[["beautiful", "good looking", "handsome"]].tolist() == ["beautiful"] * 3
        levels = release.manifest.config(name)["levels"]
        assert (levels["good.cluster"], levels["bad.cluster"]) == (9, 8)
    factors = release.design("nationality").factors
    assert factors[1:] == tuple(Factor(name=f"{s}.cluster", columns=(f"{s}_cluster",)) for s in ("good", "bad"))


def test_a_word_without_a_cluster_is_a_mistake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Which word it goes with is not guessed: the word itself is written where it stands alone."""
    copy_project(tmp_path)
    words = tmp_path / "wordlists" / "attributes.csv"
    words.write_text(words.read_text().replace("uppish%5:00:00:proud:00,,proud", "uppish%5:00:00:proud:00,,", 1))
    package = tmp_path / "wordlists" / "datapackage.yaml"
    text = package.read_text()
    required = '(beautiful for handsome).", constraints: {required: true}'
    assert required in text
    package.write_text(text.replace(required, required.partition(", constraints")[0]))
    monkeypatch.chdir(tmp_path)
    with pytest.raises(DeclarationError, match=r"bad\.cluster has empty cells"):
        senseprobe.build("sssb-clusters", "1.0.0", tmp_path / "out")


def test_a_column_of_the_name_of_the_clusters_is_a_mistake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows have one column `good_cluster`, which `generalise` makes."""
    copy_project(tmp_path)
    template = tmp_path / "templates" / "sssb-clusters" / "nationality.j2"
    template.write_text(
        template.read_text().replace("label_basis:", "columns: {good_cluster: good.polarity}\nlabel_basis:")
    )
    monkeypatch.chdir(tmp_path)
    with pytest.raises(DeclarationError, match="'good_cluster' occurs twice"):
        senseprobe.build("sssb-clusters", "1.0.0", tmp_path / "out")
