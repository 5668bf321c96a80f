"""`senseprobe wordnet` and `senseprobe lint` against Debian's real WordNet 3.0."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.system

DESCRIPTOR = """\
resources:
  - name: people
    path: people.csv
    sources: [{title: senseprobe}]
    licenses: [{name: CC-BY-4.0}]
    schema:
      primaryKey: [word]
      fields:
        - {name: word, type: string}
        - {name: sense_person, type: string, lexicon: wordnet-3.0, pos: noun}
        - {name: lemma_person, type: string}
"""


def run(*args: str, home: Path, folder: Path) -> subprocess.CompletedProcess[str]:
    """The command in a folder, with its WordNet in `home`; without one, in our own folder."""
    env = {**os.environ, "SENSEPROBE_WORDNET": str(home) if home.name else ""}
    command = [sys.executable, "-m", "senseprobe", *args]
    return subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, check=False, timeout=120)


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An NLTK data folder that `senseprobe wordnet` made of Debian's files."""
    folder = tmp_path_factory.mktemp("wordnet")
    made = run("wordnet", "--json", home=folder / "data", folder=folder)

    assert made.returncode == 0, made.stderr
    assert json.loads(made.stdout)["version"] == "3.0"
    return folder / "data"


def test_every_key_of_the_built_in_data_is_right(home: Path, tmp_path: Path) -> None:
    """`lint --strict` of the built-in data checks every key against real WordNet and finds nothing."""
    done = run("lint", "--strict", "--json", home=home, folder=tmp_path)
    report = json.loads(done.stdout)

    assert done.returncode == 0, done.stdout + done.stderr
    assert report["findings"] == []
    assert report["keys_not_checked"] == 0
    # At least 16 nations x 3 keys, 6 occupations x 2, 5 nouns, 4 races, a colour, and the 15 meanings of verb frames.
    assert report["keys_checked"] >= 16 * 3 + 6 * 2 + 5 + 4 + 1 + 15


def test_lint_prepares_wordnet_by_itself(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In our own folder of a new user, from Debian's files; one line says so, once."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    first, second = (run("lint", "sssb", home=Path(), folder=tmp_path) for _ in range(2))
    assert (first.returncode, first.stdout) == (0, second.stdout)
    assert f"prepared WordNet 3.0 in {tmp_path}/senseprobe/nltk_data" in first.stderr
    assert (second.stderr, "not checked" in second.stdout) == ("", False)


@pytest.mark.parametrize(
    ("row", "codes"),
    [
        # UPSTREAM 1.4: the published person keys of four nations do not exist; those of the person nouns do.
        ("Arabic,arabic%1:18:00::,", "E302"),
        ("Polish,polish%1:18:00::,", "E302"),
        ("Polish,pole%1:18:00::,", "E304"),
        ("Polish,polish%3:01:00::,", "E303"),
        ("Polish,$SENSE-ID$,", "E115 E301"),
        ("Polish,pole%1:18:00::,Pole", ""),
    ],
)
def test_a_key_is_told_with_its_line(home: Path, tmp_path: Path, row: str, codes: str) -> None:
    """A key that does not exist, or of another word or part of speech, is told with its line; a right one is not."""
    (tmp_path / "senseprobe.toml").touch()
    (tmp_path / "wordlists").mkdir()
    (tmp_path / "wordlists" / "datapackage.yaml").write_text(DESCRIPTOR)
    (tmp_path / "wordlists" / "people.csv").write_text(f"word,sense_person,lemma_person\n{row}\n")
    done = run("lint", "--strict", "--json", home=home, folder=tmp_path)
    found = [(finding["code"], finding["path"], finding["line"]) for finding in json.loads(done.stdout)["findings"]]

    assert found == [(one, "wordlists/people.csv", 2) for one in codes.split()]
    assert done.returncode == (1 if codes else 0)


def test_without_wordnet_keys_are_not_checked(tmp_path: Path) -> None:
    """Where there is no WordNet, keys are counted as not checked, and `--strict` exits 1."""
    missing = tmp_path / "nothing"
    plain, strict = (run("lint", "--json", *more, home=missing, folder=tmp_path) for more in ([], ["--strict"]))

    assert (plain.returncode, strict.returncode) == (0, 1)
    assert json.loads(plain.stdout)["keys_checked"] == 0
    assert json.loads(plain.stdout)["keys_not_checked"] > 0
