"""Files of senses: formats by hand, headers that are taken for rows and the other way, and files that are no senses.

Expected vectors are those that were written; the counts of WordNet's keys are those of UPSTREAM 1.4 and 7.2.
"""

from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from senseprobe.errors import ModelError
from senseprobe.evaluate.models import load
from senseprobe.evaluate.models.sense_files import open_senses
from senseprobe.evaluate.models.sense_vectors import SenseFile

ROWS = "judge%1:18:00:: 1 0\njudge%2:31:02:: 0 1\nblack%3:00:01:: 0.5 2\n"
KNOWN = frozenset(("judge%1:18:00::", "judge%2:31:02::", "black%3:00:01::"))


@pytest.mark.parametrize("header", ["", "3 2\n", "3\n", "sense d1 d2\n"])
def test_no_row_is_lost_or_invented(header: str, tmp_path: Path) -> None:
    """LMMS has no header, ARES has one, of whatever form."""
    (tmp_path / "s.txt").write_text(header + ROWS)
    table, unknown = open_senses(tmp_path / "s.txt", KNOWN)
    assert (table.vocabulary.count, table.dimensions, unknown) == (3, 2, ())
    assert table.read([0, 2]).tolist() == [[1, 0], [0.5, 2]]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("4 2\n" + ROWS, "line 1 says 4 words"),
        ("7\n" + ROWS, "header says '7'"),
        (ROWS + ROWS[:20], "stand there twice: judge%1:18:00::"),
        ("the 1 2\nnurse 1 2\n", "named vectors:FILE"),
        ("dog.n.01 1 2\n", "is a synset"),
        (ROWS + "nurse%1:18:00:: 1", "line 4 has 1 number"),
        ("".join(f"odd{n}%1:18:00:: 1 2\n" for n in range(5)), "another WordNet version"),
    ],
)
def test_what_is_no_file_of_senses_is_refused(text: str, message: str, tmp_path: Path) -> None:
    """Each with what is wrong."""
    (tmp_path / "s.txt").write_text(text)
    with pytest.raises(ModelError, match=message):
        open_senses(tmp_path / "s.txt", KNOWN)


def test_an_archive_of_lmms(tmp_path: Path) -> None:
    """Its arrays are called labels and vectors."""
    np.savez(tmp_path / "s.npz", labels=np.array(sorted(KNOWN)), vectors=np.eye(3))
    table, _ = open_senses(tmp_path / "s.npz", KNOWN)
    assert table.read([table.vocabulary.rows["judge%1:18:00::"]]).tolist() == [[0, 1, 0]]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60, deadline=None)
@given(st.binary(max_size=200))
def test_any_bytes_are_read_or_refused(tmp_path: Path, data: bytes) -> None:
    """Whatever a file has, nothing but ModelError is raised."""
    (tmp_path / "s.bin").write_bytes(data)
    with suppress(ModelError):
        open_senses(tmp_path / "s.bin", KNOWN)


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
