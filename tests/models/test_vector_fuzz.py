"""Files of vectors that were damaged anyhow: what comes out is vectors of finite numbers, or one ModelError."""

import shutil
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.models.test_vector_files import FORMATS, MATRIX, WORDS, write_tokens
from tests.profiles import examples

from senseprobe.errors import ModelError
from senseprobe.evaluate.models.vector_files import VectorFile
from senseprobe.evaluate.units import Unit

PLACES = st.integers(0, 2000)
CHANGES = st.lists(
    st.one_of(
        st.tuples(st.just("cut"), PLACES, st.just(b"")),
        st.tuples(st.just("put"), PLACES, st.binary(min_size=1, max_size=8)),
        st.tuples(st.just("drop"), PLACES, st.binary(min_size=1, max_size=8)),
        st.tuples(
            st.just("set"), PLACES, st.sampled_from([b"\0", b"\xff", b" ", b"\n", b"9", b"nan", b"-1", b"\x7f" * 4])
        ),
    ),
    min_size=1,
    max_size=3,
)
"""What is done to the bytes of a file: where, modulo their number, and with which bytes."""


def _changed(data: bytes, what: str, place: int, new: bytes) -> bytes:
    place %= max(len(data), 1)
    if what == "cut":
        return data[:place]
    taken = 0 if what == "put" else len(new)
    return data[:place] + (b"" if what == "drop" else new) + data[place + taken :]


def _use(path: Path) -> None:
    """Everything that is done with a file: it is looked through, its words and numbers are read, it is summarised."""
    try:
        file = VectorFile.load(f"vectors:{path}")
        assert len(file.identity) == 4
        for level in file.levels:
            for answers in file.encode(level, map(Unit, (*WORDS, "the nurse was kind"))):
                for _, vector in answers:
                    assert vector.shape == (file.dimensions,)
                    assert np.isfinite(vector).all() or np.isnan(vector).all()
        file.summarize("", {})
    except ModelError:
        pass


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A whole file of each format, in a folder of its own."""
    folders = {form: tmp_path_factory.mktemp("form") for form in (*FORMATS, "model2vec")}
    tokens = write_tokens(folders["model2vec"], normalize=True, embeddings=MATRIX[:3], weights=MATRIX[:3, 0])
    files = {form: write(folders[form]) for form, (write, _) in FORMATS.items()}
    return {**files, "model2vec": tokens / "model.safetensors"}


@pytest.mark.parametrize("form", [*FORMATS, "model2vec"])
@settings(max_examples=examples(60), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(changes=CHANGES, number=st.integers(0, 9))
def test_damaged_files_raise_model_errors_alone(
    form: str, written: dict[str, Path], changes: list[tuple[str, int, bytes]], number: int
) -> None:
    """Bytes are put in, taken out, or others, or the end is missing: of the vectors, or of the list of words."""
    with TemporaryDirectory() as folder:
        copy = Path(shutil.copytree(written[form].parent, Path(folder) / "copy"))
        files = sorted(copy.iterdir())
        damaged = files[number % len(files)]
        data = damaged.read_bytes()
        for change in changes:
            data = _changed(data, *change)
        damaged.write_bytes(data)
        _use(copy / written[form].name)


@settings(max_examples=examples(200))
@given(start=st.sampled_from([b"", b"2 1\n", b"a 1\n", b"PAR1", b"\x93NUMPY\x01\x00", b"PK\x03\x04"]), rest=st.binary())
def test_any_bytes_raise_model_errors_alone(start: bytes, rest: bytes) -> None:
    """Also after the first bytes of a format."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "v"
        path.write_bytes(start + rest)
        _use(path)
