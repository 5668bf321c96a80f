"""Files of senses as models: what `model vectors` says of them, lengths of one, vectors from Python, and replay.

Counts of WordNet's adjectives are those of UPSTREAM 7.2, and of its keys those of 1.4; vectors are calculated by hand.
"""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from tests.commands import Typed, typing

from senseprobe.errors import ModelError
from senseprobe.evaluate.models.encodings import EncodingOptions
from senseprobe.evaluate.senses.vectors import SenseFile
from senseprobe.evaluate.units import Unit
from senseprobe.lexicon.wordnet import Vocabulary, senses_of

JUDGE = {"judge%1:18:00::": np.array([3.0, 4.0]), "judge%2:31:02::": np.array([0.0, 2.0])}


@pytest.fixture
def typed(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Typed:
    """What runs a command line, as it is typed."""
    return typing(monkeypatch, capfd)


@pytest.mark.system
@pytest.mark.usefixtures("prepared_wordnet")
def test_satellites_are_adjectives(tmp_path: Path, typed: Typed) -> None:
    """Of all keys of WordNet 30,002 are adjectives, and 20,336 of these are satellites (UPSTREAM 7.2)."""
    keys = sorted(Vocabulary.open().keys)
    (tmp_path / "ares.txt").write_text("".join([f"{len(keys)} 1\n", *(f"{key} 1\n" for key in keys)]))
    summary = typed("model", "vectors", f"senses:{tmp_path / 'ares.txt'}", "--json", "--release", "sssb@1.0.1").told
    assert (summary["parts"]["adjective"], summary["satellites"]) == (30_002, 20_336)
    assert summary["wordnet"] == {"data files": [206_949, 206_949], "index.sense": [206_941, 206_941]}
    assert (summary["header"], summary["norms"]) == ("206949 1", [1.0, 1.0])
    assert sum(summary["parts"].values()) == 206_949
    assert all(part["missing"] == [] for part in summary["coverage"])
    assert [part["role"] for part in summary["coverage"]][:1] == ["target"]


@pytest.mark.system
@pytest.mark.usefixtures("prepared_wordnet")
def test_a_file_is_described(tmp_path: Path, typed: Typed) -> None:
    """By hand: lengths 5 and 2, two keys that WordNet lacks; of the rows of sssb it has judge as a noun alone."""
    path = tmp_path / "lmms.txt"
    path.write_text("judge%1:18:00:: 3 4\nblack%3:00:01:: 0 2\nkind%5:00:00:good:01 0 0\nodd%1:00:77:: 1 0\n")
    done = typed("model", "vectors", f"senses:{path}", "--release", "sssb@1.0.1")
    assert "text of senses with no header, as LMMS" in done.out
    assert "lengths from 0 to 5; zero: 1 (kind%5:00:00:good:01)" in done.out
    assert "senses of 2 nouns, 0 verbs, 2 adjectives (1 of them satellites), 0 adverbs" in done.out
    assert "unknown: 2 (kind%5:00:00:good:01, odd%1:00:77::)" in done.out
    noun = next(line for line in done.out.splitlines() if line.startswith("noun "))
    assert noun.split()[:4] == ["noun", "1", "of", "6"]
    nan = tmp_path / "nan.txt"
    nan.write_text("judge%1:18:00:: 3 4\nblack%3:00:01:: 0 nan\n")
    assert "line 2 has a number that is not finite in float32 (black%3:00:01::)" in typed(
        "model", "vectors", f"senses:{nan}"
    ).message.replace("\n", " ")


@pytest.mark.system
@pytest.mark.usefixtures("prepared_wordnet")
def test_a_word_can_have_its_own_senses_alone() -> None:
    """In WordNet `depressed` is an adjective, and a form of the verb `depress`."""
    key = "depressed%5:00:00:low:02"
    senses = {key: np.array([1.0, 0.0]), "depress%2:37:00::": np.array([0.0, 1.0])}
    forms = SenseFile.wrap("senses:mine", senses)
    alone = SenseFile.wrap("senses:mine", senses, EncodingOptions(exact_lemma=True))

    assert (set(forms.senses("depressed")), alone.senses("depressed")) == ({*senses}, (key,))
    assert "lemma=exact" in alone.encoding("sense").text
    assert "lemma" not in forms.encoding("sense").text
    assert forms.identity["config"] != alone.identity["config"]
    assert EncodingOptions.of_text(alone.encoding("word").text).exact_lemma


@pytest.mark.system
@pytest.mark.usefixtures("prepared_wordnet")
def test_vectors_from_python() -> None:
    """By hand: the mean of (3, 4) and (0, 2); and of (.6, .8) and (0, 1) with lengths of one."""
    plain = SenseFile.wrap("senses:mine", JUDGE)
    assert plain.word_vector("judges").tolist() == [1.5, 3.0]
    unit = SenseFile.wrap("senses:mine", ([*JUDGE], np.array([*JUDGE.values()])), EncodingOptions(unit=True))
    assert unit.word_vector("judge") == pytest.approx([0.3, 0.9])
    assert unit.encoding("word").text == "level=word;senses=all;pooling=mean;unit=yes;dimensions=2;lexicon=wordnet-3.0"
    assert EncodingOptions.of_text(unit.encoding("word").text).unit is True
    assert unit.identity["weights"] == plain.identity["weights"]
    assert unit.identity["config"] != plain.identity["config"]
    assert np.isnan(plain.vectors(["nurse%1:18:00::"])).all()
    counts = dict(answer for answers in plain.encode("sense", [Unit("judge"), Unit("she")]) for answer in answers)
    assert counts[Unit("judge")].tolist() == [2.0]
    assert np.isnan(counts[Unit("she")]).all()
    assert len({*plain.reasons("word", [Unit("she"), Unit("nurse")])}) == 2
    with pytest.raises(ModelError, match="are not sense keys"):
        SenseFile.wrap("senses:mine", {"judge": np.ones(2)})
    with pytest.raises(ModelError, match="leave the options of pooling"):
        SenseFile.wrap("senses:mine", JUDGE, EncodingOptions(lower=True))


@pytest.mark.system
@pytest.mark.usefixtures("prepared_wordnet")
def test_a_result_is_replayed(tmp_path: Path, typed: Typed, monkeypatch: pytest.MonkeyPatch) -> None:
    """With lengths of one, as its signature says; another file is another model."""
    monkeypatch.chdir(tmp_path)
    generator = np.random.default_rng(0)
    wordnet = Vocabulary.open()
    flowers = ("aster", "clover", "hyacinth", "marigold", "poppy", "azalea", "ant", "caterpillar", "flea", "locust")
    words = (*flowers, "caress", "freedom", "health", "love", "peace", "abuse", "crash", "filth", "murder", "sickness")
    keys = dict.fromkeys(entry.key for word in words for entry in senses_of(wordnet, word))
    lines = (f"{key} {' '.join(map(str, generator.normal(size=8)))}\n" for key in keys)
    (tmp_path / "s.txt").write_text("".join(lines))
    done = typed("score", "senses:s.txt", "association@1.0.1", "-m", "weat-word", "--unit")
    assert done.code == 0, done.err
    (path,) = (tmp_path / "results").rglob("weat-word.json")
    result = json.loads(path.read_text())
    assert "unit=yes" in result["model"]["encoding"]
    assert len(result["unscored"]) == 2  # no word, no sense in the file
    replayed = typed("replay", str(path))
    assert (replayed.code, "the same" in replayed.out) == (0, True), replayed.err
    (tmp_path / "s.txt").write_text("".join(f"{key} {' '.join(['1'] * 8)}\n" for key in keys))
    assert typed("replay", str(path)).code == 1


# Reads a file of senses as `model vectors` does, and prints the most memory that it had, in kB.
READ = """
import resource, sys
from senseprobe import api
summary = api.vectors("senses:" + sys.argv[1]).describe(None)
print(summary.count, summary.norms[1], resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


@pytest.mark.soak
@pytest.mark.usefixtures("prepared_wordnet")
def test_a_file_larger_than_memory(tmp_path: Path) -> None:
    """Of all keys with 2,048 numbers, as ARES, 4 GB in less than 1 GB of memory."""
    path, keys = tmp_path / "ares.txt", sorted(Vocabulary.open().keys)
    numbers = " ".join(["0.1234567"] * 2_048)
    with path.open("w") as file:
        file.write("sense vector\n")
        file.writelines(f"{key} {numbers}\n" for key in keys)
    assert path.stat().st_size > 4e9
    done = subprocess.run([sys.executable, "-c", READ, str(path)], capture_output=True, text=True, check=True)
    path.unlink()
    count, norm, memory = map(float, done.stdout.split())
    assert count == 206_949
    assert norm == pytest.approx(0.1234567 * 2_048**0.5)
    assert memory < 1 << 20
