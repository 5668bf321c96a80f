"""Files of senses: formats by hand, headers that are taken for rows and the other way, and files that are no senses.

Expected vectors are those that were written; the counts of WordNet's keys are those of UPSTREAM 1.4 and 7.2.
"""

from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from safetensors.numpy import save_file
from tests.profiles import examples

from senseprobe.errors import ModelError
from senseprobe.evaluate.models import load
from senseprobe.evaluate.senses.files import open_senses
from senseprobe.evaluate.senses.vectors import SenseFile

ROWS = "judge%1:18:00:: 1 0\njudge%2:31:02:: 0 1\nblack%3:00:01:: 0.5 2\n"
KNOWN = frozenset(("judge%1:18:00::", "judge%2:31:02::", "black%3:00:01::"))


@pytest.mark.parametrize("header", ["", "3 2\n", "3\n", "sense d1 d2\n"])
def test_no_row_is_lost_or_invented(header: str, tmp_path: Path) -> None:
    """LMMS has no header, ARES has one, of whatever form."""
    (tmp_path / "s.txt").write_text(header + ROWS)
    table, unknown = open_senses(tmp_path / "s.txt", KNOWN.__contains__)
    assert (table.vocabulary.count, table.dimensions, unknown) == (3, 2, ())
    assert table.read([0, 2]).tolist() == [[1, 0], [0.5, 2]]


def test_bad_lines_and_headers_of_senses(tmp_path: Path) -> None:
    """A byte-order mark is no part of the first key; bad lines are passed over, and line 1 is what is stated."""
    path = tmp_path / "s.txt"
    path.write_text(ROWS + "lost\n", "utf-8-sig")
    table, _ = open_senses(path, KNOWN.__contains__, skip_bad=True)
    assert {*table.vocabulary.rows} == {*KNOWN}
    assert len(table.remarks) == 1
    assert "line 4 has 0 numbers" in table.remarks[0]
    path.write_text("3\n" + ROWS, "utf-8-sig")
    assert open_senses(path, KNOWN.__contains__)[0].read([0]).tolist() == [[1, 0]]
    with pytest.raises(ModelError, match="line 1 has 0 numbers"):
        open_senses(path, KNOWN.__contains__, header=False)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("5 2\n" + ROWS, "line 1 says 5 words"),
        ("7\n" + ROWS, "header says '7'"),
        (ROWS + ROWS[:20], "occur twice: judge%1:18:00::"),
        ("the 1 2\nnurse 1 2\n", "write vectors:FILE"),
        ("dog.n.01 1 2\n", "is a synset"),
        (ROWS + "nurse%1:18:00:: 1", "line 4 has 1 number"),
        ("".join(f"odd{n}%1:18:00:: 1 2\n" for n in range(5)), "another WordNet version"),
    ],
)
def test_what_is_no_file_of_senses_is_refused(text: str, message: str, tmp_path: Path) -> None:
    """Each with what is wrong."""
    (tmp_path / "s.txt").write_text(text)
    with pytest.raises(ModelError, match=message):
        open_senses(tmp_path / "s.txt", KNOWN.__contains__)


def test_an_archive_of_lmms(tmp_path: Path) -> None:
    """Its arrays are called labels and vectors."""
    np.savez(tmp_path / "s.npz", labels=np.array(sorted(KNOWN)), vectors=np.eye(3))
    table, _ = open_senses(tmp_path / "s.npz", KNOWN.__contains__)
    assert table.read([table.vocabulary.rows["judge%1:18:00::"]]).tolist() == [[0, 1, 0]]


def test_labels_that_are_objects(tmp_path: Path) -> None:
    """They are pickles; the message says how they are saved as texts."""
    labels = np.array(sorted(KNOWN), dtype=object)
    np.savez(tmp_path / "s.npz", labels=labels, vectors=np.eye(3))
    with pytest.raises(ModelError, match=r"array labels contains Python objects.*labels\.astype\(str\)"):
        open_senses(tmp_path / "s.npz", KNOWN.__contains__)


@pytest.mark.parametrize("form", ["s.txt", "s.npz"])
def test_a_number_that_is_none_names_its_sense(form: str, tmp_path: Path) -> None:
    """With its line in a text, and its row in an archive."""
    path, vectors = tmp_path / form, np.array([[1, 2], [np.nan, 0], [3, np.inf]])
    if form == "s.npz":
        np.savez(path, labels=np.array(sorted(KNOWN)), vectors=vectors)
    else:
        rows = zip(sorted(KNOWN), vectors, strict=True)
        path.write_text("".join(f"{key} {' '.join(map(str, vector))}\n" for key, vector in rows))
    table, _ = open_senses(path, KNOWN.__contains__)
    with pytest.raises(ModelError, match=rf"2 has a number that is not finite in float32 \({sorted(KNOWN)[1]}\)"):
        table.read([0, 1])


def _write_own(path: Path, keys: str, vectors: NDArray[np.float32]) -> None:
    """Write tensors as `study senses build` does, by the library of safetensors."""
    tensors: dict[str, NDArray[Any]] = {"keys": np.frombuffer(keys.encode(), np.uint8), "embeddings": vectors}
    save_file(tensors, path, {"senseprobe": '{"gloss": "a form"}'})


def test_our_own_files(tmp_path: Path) -> None:
    """A key in each line; cut short, or with a row too many, it is refused."""
    path, vectors = tmp_path / "s.safetensors", np.arange(6, dtype=np.float32).reshape(3, 2)
    _write_own(path, "\n".join(sorted(KNOWN)), vectors)
    table, unknown = open_senses(path, KNOWN.__contains__)
    assert (table.header, unknown) == ('{"gloss": "a form"}', ())
    assert table.read([table.vocabulary.rows["judge%2:31:02::"]]).tolist() == [[4, 5]]
    path.write_bytes(path.read_bytes()[:-4])
    with pytest.raises(ModelError, match="was cut short"):
        open_senses(path, KNOWN.__contains__)
    _write_own(path, "\n".join(sorted(KNOWN)[:2]), vectors)
    with pytest.raises(ModelError, match="it has 3 vectors, and it 2 words"):
        open_senses(path, KNOWN.__contains__)


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """The bytes of a whole file of each format."""
    folder = tmp_path_factory.mktemp("written")
    np.savez(folder / "s.npz", labels=np.array(sorted(KNOWN)), vectors=np.eye(3))
    _write_own(folder / "s.own", "\n".join(sorted(KNOWN)), np.eye(3, dtype=np.float32))
    own = {name: (folder / name).read_bytes() for name in ("s.npz", "s.own")}
    return {**own, "lmms": ROWS.encode(), "ares": b"3 2\n" + ROWS.encode()}


@settings(max_examples=examples(150), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.sampled_from(["s.npz", "s.own", "lmms", "ares"]), st.integers(0, 10_000), st.binary(max_size=30))
def test_any_bytes_are_read_or_refused(
    tmp_path: Path, written: dict[str, bytes], form: str, place: int, new: bytes
) -> None:
    """A file that was changed somewhere raises nothing but ModelError, also when it is read; nor do its first bytes."""
    data, path = written[form], tmp_path / "s.bin"
    place %= len(data)
    for changed in (data[:place] + new + data[place + len(new) :], data[:place], new):
        path.write_bytes(changed)
        with suppress(ModelError):
            table, _ = open_senses(path, KNOWN.__contains__)
            assert np.isfinite(table.read(range(table.vocabulary.count))).all()


@pytest.mark.system
@pytest.mark.usefixtures("prepared_wordnet")
def test_a_word_is_the_mean_of_its_senses(tmp_path: Path) -> None:
    """By hand: judge is (1, 0) as a noun and (0, 1) as a verb; lengths of one do not change these."""
    (tmp_path / "s.txt").write_text(ROWS)
    model = load(f"senses:{tmp_path / 's.txt'}")
    assert isinstance(model, SenseFile)
    assert model.senses("judges") == ("judge%1:18:00::", "judge%2:31:02::")
    assert model.word_vector("judge").tolist() == [0.5, 0.5]
    assert np.isnan(model.word_vector("nurse")).all()
    assert "helium" in model.refuses("pronoun-subject")
    assert model.encoding("word").text == "level=word;senses=all;pooling=mean;unit=no;dimensions=2;lexicon=wordnet-3.0"
