"""What a release keeps of the lists that it was made of, where a user's project adds its own."""

import shutil
from pathlib import Path

import pytest
from tests.tiny import FRONT, lay_out

from senseprobe import api
from senseprobe.errors import DeclarationError, ReleaseError

TEMPLATE = FRONT.replace("PAIRS", "2") + "{{ pronoun.subject | upfirst }} is {{ job | a }}.\n"

PACKAGE = """
name: mine
resources:
  - name: jobs
    path: PATH
    sources: [{title: nobody}]
    licenses: [{name: MIT}]
    schema: {fields: [{name: word, type: string}]}
"""


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A user's project: a dataset with a list of its own, beside the built-in list of pronouns."""
    lay_out(tmp_path, TEMPLATE)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def _own_list(project: Path, name: str) -> None:
    (project / "wordlists" / "datapackage.yaml").write_text(PACKAGE.replace("PATH", name))
    (project / "wordlists" / name).write_text("word\nengineer\nnurse\n")


def test_lists_and_sources_of_both_layers_are_kept(project: Path) -> None:
    """The user's list and the built-in one are both in the recipe, and so are the references of both; it rebuilds."""
    _own_list(project, "jobs.csv")
    recipe = api.build("tiny", "1.0.0").folder / "recipe" / "wordlists"
    assert {path.name for path in recipe.iterdir()} == {
        "datapackage.yaml",
        "jobs.csv",
        "pronouns.csv",
        "references.bib",
    }
    references = (recipe / "references.bib").read_text()
    assert "{nobody," in references
    assert "{zhou2022," in references
    assert api.verify("tiny@1.0.0", rebuild=True) == []


def test_a_config_named_as_earlier_versions_allowed_is_still_remade(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A name that is taken now stops who builds anew, and not who verifies or restores what was frozen with it."""
    _own_list(project, "jobs.csv")
    folder = project / "templates" / "tiny"
    (folder / "job.j2").rename(folder / "shard.j2")
    (folder / "dataset.yaml").write_text((folder / "dataset.yaml").read_text().replace("[job]", "[shard]"))
    with pytest.raises(DeclarationError, match="E126"):
        api.build("tiny", "1.0.0")
    with monkeypatch.context() as earlier:
        earlier.setattr("senseprobe.generator.templates.RELEASE_FILE_NAMES", frozenset())
        release = api.build("tiny", "1.0.0").folder
    assert api.verify(str(release), rebuild=True) == []
    shutil.rmtree(release / "shard")
    api.restore(str(release))
    assert api.verify(str(release)) == []


def test_two_lists_in_files_of_one_name_are_refused(project: Path) -> None:
    """A user's file with the name of a built-in one would take its place in the recipe: the build says so instead."""
    _own_list(project, "pronouns.csv")
    with pytest.raises(ReleaseError, match=r"two lists of tiny are in files named pronouns\.csv: rename one of them"):
        api.build("tiny", "1.0.0")
    assert not (project / "releases" / "tiny").exists()
