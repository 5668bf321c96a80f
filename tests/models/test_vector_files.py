"""Files of vectors: each format written by hand or by another program, looked up, and damaged.

Expected vectors are those that were written; means are calculated by hand, beside the words that they are of.
"""

import json
import struct
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from numpy.typing import NDArray
from safetensors.numpy import save_file

from senseprobe.errors import ModelError
from senseprobe.evaluate.models import ModelSource, ability_of, load
from senseprobe.evaluate.models.encodings import EncodingOptions
from senseprobe.evaluate.models.vector_files import VectorFile
from senseprobe.evaluate.units import Unit

WORDS = ("the", "nurse", "was", "kind", "african_american", "short-term", "'s", "café")
# Binary fractions, so that float16 and bfloat16 hold them, and decimals have few digits.
MATRIX = np.array([[row + 1, 0.5 * row, -0.25] for row in range(len(WORDS))], dtype=np.float32)


def _lines(end: str = "\n", blank: str = " ") -> bytes:
    rows = zip(WORDS, MATRIX.tolist(), strict=True)
    return "".join(blank.join([word, *map(str, row)]) + end for word, row in rows).encode()


def _word2vec(end: bytes) -> bytes:
    """As word2vec.c writes it: the counts; each word, a blank, its numbers in float32; most versions put a newline."""
    rows = zip(WORDS, MATRIX.tolist(), strict=True)
    return b"8 3\n" + b"".join(word.encode() + b" " + struct.pack("<3f", *row) + end for word, row in rows)


def _npy(folder: Path, name: str, words: bytes | pa.Table, matrix: NDArray[Any] = MATRIX) -> Path:
    np.save(folder / "v.npy", matrix)
    if isinstance(words, bytes):
        (folder / name).write_bytes(words)
    else:
        pq.write_table(words, folder / name)
    return folder / "v.npy"


def _of_python_2(folder: Path) -> Path:
    """An array whose header has a long number of Python 2, ``3L``, of which NumPy warns."""
    path = _npy(folder, "vocab.txt", LIST)
    path.write_bytes(path.read_bytes().replace(b"(8, 3), } ", b"(8, 3L), }"))
    return path


def _npz(folder: Path, **arrays: NDArray[Any]) -> Path:
    np.savez_compressed(folder / "v.npz", **arrays)  # type: ignore[arg-type]
    return folder / "v.npz"


def _parquet(folder: Path, columns: Mapping[str, Any]) -> Path:
    pq.write_table(pa.table({"word": WORDS, **columns}), folder / "v.parquet", row_group_size=3)
    return folder / "v.parquet"


def _safetensors(folder: Path, dtype: str = "") -> Path:
    """With float32 as the library writes it; with bfloat16 by hand, and a header as long as a pickle's beginning."""
    (folder / "vocab.json").write_text(json.dumps({word: row for row, word in enumerate(WORDS)}))
    save_file({"embeddings": MATRIX}, folder / "v.safetensors")
    if dtype == "BF16":  # the upper half of a float32; NumPy has no such numbers
        data = (MATRIX.view("<u4") >> 16).astype("<u2").tobytes()
        header = json.dumps({"x": {"dtype": "BF16", "shape": MATRIX.shape, "data_offsets": [0, len(data)]}}).encode()
        header = header.ljust(0x0480)  # little-endian: 80 04, protocol 4
        (folder / "v.safetensors").write_bytes(struct.pack("<Q", len(header)) + header + data)
    return folder / "v.safetensors"


def _file(folder: Path, name: str, data: bytes) -> Path:
    (folder / name).write_bytes(data)
    return folder / name


LIST = "\n".join(WORDS).encode()
FIXED = pa.FixedSizeListArray.from_arrays(pa.array(MATRIX.ravel()), 3)
FORMATS: Mapping[str, tuple[Callable[[Path], Path], str]] = {
    "GloVe": (lambda folder: _file(folder, "v.txt", _lines()), "text, as GloVe writes it"),
    "Windows": (lambda folder: _file(folder, "v.txt", _lines("\r\n")), "text, as GloVe writes it"),
    "tabs": (lambda folder: _file(folder, "v.txt", _lines(blank="\t")), "text, as GloVe writes it"),
    "fastText": (lambda folder: _file(folder, "v.vec", b"8 3\n" + _lines(" \n")), "text, as word2vec and fastText"),
    "no last newline": (lambda folder: _file(folder, "v.bin", b"8 3\n" + _lines()[:-1]), "text, as word2vec"),
    "word2vec": (lambda folder: _file(folder, "v.bin", _word2vec(b"\n")), "binary, as word2vec writes it"),
    "gensim": (lambda folder: _file(folder, "v.txt", _word2vec(b"")), "binary, as word2vec writes it"),
    "npy, txt": (lambda folder: _npy(folder, "v.txt", LIST + b"\n"), "npy"),
    "npy, list": (lambda folder: _npy(folder, "words.json", json.dumps(WORDS).encode()), "npy"),
    "npy, parquet": (lambda folder: _npy(folder, "index.parquet", pa.table({"n": [1] * 8, "w": WORDS})), "npy"),
    "npy, float16": (lambda folder: _npy(folder, "vocab.txt", LIST, MATRIX.astype(np.float16)), "npy"),
    "npy, big-endian": (lambda folder: _npy(folder, "vocab.txt", LIST, MATRIX.astype(">f8")), "npy"),
    "npy, Python 2": (_of_python_2, "npy"),
    "npz": (lambda folder: _npz(folder, words=np.array(WORDS), vectors=MATRIX), "npz"),
    "npz, bytes": (lambda folder: _npz(folder, v=MATRIX, k=np.array([w.encode() for w in WORDS])), "npz"),
    "Parquet, lists": (lambda folder: _parquet(folder, {"vector": MATRIX.tolist()}), "Parquet"),
    "Parquet, fixed": (lambda folder: _parquet(folder, {"n": range(8), "vector": FIXED}), "Parquet"),
    "Parquet, columns": (lambda folder: _parquet(folder, {str(d): MATRIX[:, d] for d in range(3)}), "Parquet"),
    "safetensors": (_safetensors, "safetensors"),
    "safetensors, bfloat16": (lambda folder: _safetensors(folder, "BF16"), "safetensors"),
}


def _vectors(file: VectorFile, level: str, *texts: str) -> dict[str, list[float]]:
    """The vectors of texts that have one."""
    answers = [answer for batch in file.encode(level, map(Unit, texts)) for answer in batch]
    assert all(vector.shape == (file.width(level),) and vector.dtype == np.float32 for _, vector in answers)
    return {unit.text: vector.tolist() for unit, vector in answers if not np.isnan(vector).all()}


def _open(path: Path | str, **options: Any) -> VectorFile:  # noqa: ANN401
    return VectorFile.load(f"vectors:{path}", EncodingOptions(**options))


@pytest.mark.parametrize("form", FORMATS)
def test_each_format_has_the_vectors_that_were_written(form: str, tmp_path: Path) -> None:
    """Whatever the file is called: what it holds says what it is."""
    write, title = FORMATS[form]
    file = _open(write(tmp_path))
    assert file.table.format.startswith(title)
    assert (file.dimensions, file.table.vocabulary.count, file.levels) == (3, 8, ("word", "sent"))
    assert _vectors(file, "word", *WORDS) == dict(zip(WORDS, MATRIX.tolist(), strict=True))
    assert [*file.table.vocabulary.rows] == [*WORDS]


def write_tokens(folder: Path, *, normalize: bool, **tensors: NDArray[Any]) -> Path:
    """A folder of model2vec: a tokenizer of words, of which 0 is what it does not know."""
    from tokenizers import Tokenizer
    from tokenizers.models import WordLevel
    from tokenizers.normalizers import Lowercase
    from tokenizers.pre_tokenizers import Whitespace

    tokenizer = Tokenizer(WordLevel({"[UNK]": 0, "kind": 1, "nurse": 2}, unk_token="[UNK]"))  # noqa: S106 - no password
    tokenizer.normalizer, tokenizer.pre_tokenizer = Lowercase(), Whitespace()
    tokenizer.save(str(folder / "tokenizer.json"))
    (folder / "config.json").write_text(json.dumps({"normalize": normalize}))
    save_file(tensors, folder / "model.safetensors")
    return folder


def test_static_vectors_of_tokens(tmp_path: Path) -> None:
    """Means of tokens by hand; with weights and mapping, and made one of length 1, as model2vec 0.10 does."""
    (tmp_path / "plain").mkdir()
    plain = _open(write_tokens(tmp_path / "plain", normalize=False, embeddings=MATRIX[:3]))
    assert _vectors(plain, "word", "Kind", "unknown") == {"Kind": [2.0, 0.5, -0.25]}
    assert _vectors(plain, "sent", "Kind unknown nurse") == {"Kind unknown nurse": [2.5, 0.75, -0.25]}
    assert [*plain.reasons("word", [Unit("unknown")])] == ["no vector of unknown"]
    assert plain.encoding("word").text == "level=word;tokens=own;pooling=mean"
    parts = {"mapping": np.array([0, 1, 1]), "weights": np.array([9.0, 1.0, 3.0])}
    embeddings = np.array([[9.0, 9.0], [1.5, 2.0]], dtype=np.float32)
    weighted = _open(write_tokens(tmp_path, normalize=True, embeddings=embeddings, **parts))
    # (1 · (1.5, 2) + 3 · (1.5, 2)) / 2 = (3, 4), of length 5
    assert _vectors(weighted, "sent", "kind nurse") == {"kind nurse": pytest.approx([0.6, 0.8])}
    with pytest.raises(ModelError, match="its own tokenizer"):
        _open(tmp_path, lower=True)


# --- words and sentences --------------------------------------------------------------------------------------------


def _glove(folder: Path, *lines: str) -> Path:
    return _file(folder, "v.txt", "".join(f"{line}\n" for line in lines).encode())


def test_words_are_looked_up_by_a_stated_rule(tmp_path: Path) -> None:
    """In lower case where the file has no capitals; several words joined by _, else their mean; missing by name."""
    path = _glove(tmp_path, "african 1 2", "man 3 4", "african_american 5 6", "nil 0 0", "irish 7 8")
    file = _open(path)
    texts = ("African American", "Irish man", "Irish Irish Irish man", "Irish woman", "Irish", "nil")
    assert _vectors(file, "word", *texts) == {
        "African American": [5, 6],
        "Irish man": [5, 6],  # the mean of (7, 8) and (3, 4)
        "Irish Irish Irish man": [6, 7],  # a word that stands there three times counts three times
        "Irish": [7, 8],
    }
    reasons = [*file.reasons("word", [Unit("Irish woman"), Unit("nil")])]
    assert reasons == ["no vector of woman", "a vector of zeros for nil"]
    assert file.encoding("word").text == "level=word;lower=yes;multiword=_,mean"
    assert _vectors(_open(path, lower=False), "word", "Irish", "irish") == {"irish": [7, 8]}
    cased = _open(_glove(tmp_path, "Irish 1 2", "irish 3 4"))
    assert _vectors(cased, "word", "Irish", "irish") == {"Irish": [1, 2], "irish": [3, 4]}
    assert cased.encoding("word").text == "level=word;lower=no;multiword=_,mean"
    # One word in a thousand may have a capital: none of the tests' words is then looked up as it is written.
    most = [f"w{number} 1 2" for number in range(999)]
    assert [_open(_glove(tmp_path, *most, *more)).lower for more in (("A 1 2",), ("A 1 2", "B 1 2"))] == [True, False]


def test_sentences_are_means_of_their_words(tmp_path: Path) -> None:
    """A word with a hyphen or an apostrophe is one where the file has it, else its parts; unknown words are skipped."""
    file = _open(
        _glove(
            tmp_path,
            *("adam 1 0", "'s 3 0", "short-term 5 0", "short 7 0", "is 0 0", "well 2 2", "known 0 4"),
            *("do 4 0", "don 9 9", "t 9 9", "n't 0 2", "ca 2 0"),
        )
    )
    means = {
        "Adam's gladiola.": [2, 0],  # adam, 's
        "Short-term, short.": [6, 0],  # short-term, short
        "Well-known!": [1, 3],  # well, known
        "Don't!": [2, 1],  # do, n't, as the corpora of GloVe are split
        "DON\N{RIGHT SINGLE QUOTATION MARK}T": [2, 1],
        "can't": [1, 1],  # ca, n't
    }
    assert _vectors(file, "sent", *means, "A gladiola.", "Is") == means
    assert [*file.reasons("sent", [Unit("A gladiola."), Unit("Is")])] == [
        "no word that has a vector",
        "a vector of zeros",
    ]
    assert [file.lacks(word) for word in ("gladiola", "Adam")] == [True, False]
    assert file.encoding("sent").text == "level=sent;lower=yes;tokens=words,n't;pooling=mean"


def test_what_stands_twice_or_is_no_utf8(tmp_path: Path) -> None:
    """The first of two counts; a word that is no UTF-8 is counted, and is not looked up; words may hold blanks."""
    lines = b"cat 1 2\ncat 3 4\n\xff\xfe 5 6\n. . . 7 8\nat name@domain.com 9 10\n\xc2\x85 1 1\n"
    file = _open(_file(tmp_path, "v.txt", lines))
    assert _vectors(file, "word", "cat", ". . .") == {"cat": [1, 2], ". . .": [7, 8]}
    vocabulary = file.table.vocabulary
    assert (vocabulary.count, vocabulary.duplicates, vocabulary.not_utf8) == (6, ["cat"], 1)
    assert "at name@domain.com" in vocabulary.rows


def test_units_that_are_done_are_left_out(tmp_path: Path) -> None:
    """As of every model: the rest is computed, and no level that a file does not have."""
    file = _open(_glove(tmp_path, "a 1 2", "b 3 4"))
    answers = [answer for batch in file.encode("word", [Unit("a"), Unit("b")], {Unit("a")}) for answer in batch]
    assert [(unit.text, vector.tolist()) for unit, vector in answers] == [("b", [3, 4])]
    with pytest.raises(ModelError, match="does not have vectors at the level cword"):
        [*file.encode("cword", [Unit("a")])]


# --- vectors from Python --------------------------------------------------------------------------------------------


def test_vectors_from_python() -> None:
    """A dict or an array; whole sentences among the keys count first, and are then words in sentences, too."""
    file = VectorFile.wrap("mine", {"kind": np.array([1, 2]), "A kind man.": np.array([3, 4])})
    assert file.levels == ("word", "sent", "cword")
    assert _vectors(file, "word", "kind", "man") == {"kind": [1, 2]}
    assert _vectors(file, "sent", "A kind man.", "A kind boy.") == {"A kind man.": [3, 4], "A kind boy.": [1, 2]}
    assert _vectors(file, "cword", "A kind man.", "A kind boy.") == {"A kind man.": [3, 4, 3, 4]}
    assert file.encoding("cword").text == "level=cword;key=sentence;check=none"

    array = VectorFile.wrap("other", (["kind", "A kind man."], np.array([[1.0, 2.0], [3.0, 4.0]])))
    assert array.identity == file.identity
    assert VectorFile.wrap("other", (["kind"], np.array([[1.0, 2.5]]))).identity != file.identity
    assert VectorFile.wrap("words", {"kind": np.array([1, 2])}).levels == ("word", "sent")


@pytest.mark.parametrize(
    ("vectors", "message"),
    [
        ({}, "mine: 0 texts, and numbers of shape"),
        ({"a": np.ones(2), "b": np.ones(3)}, "mine: 'b' has 3 numbers, and 'a' has 2 numbers: give all vectors one"),
        ((["a"], np.ones((2, 2))), "1 texts, and numbers of shape"),
        ({"a": np.array([1.0, np.nan])}, "the vector of 'a' has a number that is not finite"),
        ({"a": np.array(["x", "y"])}, "numbers of shape"),
        ({3: np.ones(2)}, "some of its keys are not text"),
    ],
)
def test_vectors_from_python_that_do_not_fit(vectors: Any, message: str) -> None:  # noqa: ANN401
    """One message of them."""
    with pytest.raises(ModelError, match=message):
        VectorFile.wrap("mine", vectors)


# --- identity, and models by name -----------------------------------------------------------------------------------


def test_the_identity_is_of_what_numbers_depend_on(tmp_path: Path) -> None:
    """The same in another folder; another with other numbers, other words, or another way to look them up."""

    def changed(*lines: str, **options: bool) -> set[str]:
        identity = _open(_glove(tmp_path, *lines), **options).identity
        return {part for part, text in first.items() if identity[part] != text}

    (tmp_path / "copy").mkdir()
    first = _open(_glove(tmp_path / "copy", "a 1 2", "b 3 4")).identity
    assert {*first} == {"weights", "config", "tokenizer", "dtype"}
    assert changed("a 1 2", "b 3 4") == set()
    assert changed("a 1 2", "b 3 5") == {"weights"}
    assert changed("a 1 2", "c 3 4") == {"weights", "tokenizer"}
    assert changed("a 1 2", "b 3 4", lower=False) == {"config"}
    path = _npy(tmp_path / "copy", "v.txt", b"a\nb", np.ones((2, 2)))
    before = _open(path).identity["weights"]
    (tmp_path / "copy" / "v.txt").write_text("a\nc")
    assert _open(path).identity["weights"] != before


def test_files_are_models(tmp_path: Path) -> None:
    """By ``vectors:FILE``, which has no revisions, layers or labels."""
    path = _glove(tmp_path, "a 1 2")
    model: Any = load(f"vectors:{path}")
    assert (ability_of(f"vectors:{path}"), model.ability, model.name) == ("vectors", "vectors", f"vectors:{path}")
    with pytest.raises(ModelError, match="a file, and revisions exist only on the Hub"):
        ModelSource(f"vectors:{path}", revision="main").spec  # noqa: B018 - a property
    for option in ({"layer": 3}, {"start": "off"}, {"pooling": "cls"}):
        with pytest.raises(ModelError, match="neither layers"):
            _open(path, **option)
    with pytest.raises(ModelError, match="--labels applies to NLI models"):
        load(f"vectors:{path}", labels="a,b,c")


# --- files as people have them --------------------------------------------------------------------------------------

ODD: Mapping[str, tuple[bytes, dict[str, list[float]], str]] = {
    "a blank token first": (b"  9 9\na 1 2\nb 3 4\n", {"a": [1, 2], "b": [3, 4]}, "a word is blank in line 1"),
    "a blank token, headed": (b"3 2\n  9 9\na 1 2\nb 3 4\n", {"a": [1, 2], "b": [3, 4]}, "a word is blank in line 2"),
    "a blank token, by tabs": (b" \t9\t9\na\t1\t2\nb\t3\t4\n", {"a": [1, 2], "b": [3, 4]}, "blank in line 1"),
    "two empty tokens": (b"a 1 2\n 9 9\n 8 8\nb 3 4\n", {"b": [3, 4]}, "2 lines, the first of them line 2"),
    "a tab after the word": (b"a\t1 2\nb c\t3 4\n", {"a": [1, 2], "b c": [3, 4]}, ""),
    "two blanks after the word": (b"a  1 2\nb  3  4\n", {"a": [1, 2], "b": [3, 4]}, ""),
    "a word of two": (b"a b 1 2\nto infinity 3 4\nc 5 6\n", {"a b": [1, 2], "to infinity": [3, 4], "c": [5, 6]}, ""),
    "a mark": (b"\xef\xbb\xbfa 1 2\nb 3 4\n", {"a": [1, 2], "b": [3, 4]}, ""),
    "a mark before the header": (b"\xef\xbb\xbf2 2\na 1 2\nb 3 4\n", {"a": [1, 2], "b": [3, 4]}, ""),
    "a number for a word": (b"1984 1 2\nb 3 4\n", {"1984": [1, 2], "b": [3, 4]}, ""),
    "years of one number": (b"1984 5\n1985 6\n", {"1984": [5], "1985": [6]}, ""),
    "a header of one more": (b"3 2\na 1 2\nb 3 4\n", {"a": [1, 2], "b": [3, 4]}, "line 1 says 3 words of 2 numbers"),
    "a header of one fewer": (b"1 2\na 1 2\nb 3 4", {"a": [1, 2], "b": [3, 4]}, "there are 2 words of 2 numbers"),
    "blank lines at the end": (b"2 2\na 1 2\nb 3 4\n\n \n", {"a": [1, 2], "b": [3, 4]}, ""),
    "an empty token in binary": (
        b"2 1\n \x00\x00\x80\x3fa \x00\x00\x00\x40",  # 1.0 and 2.0
        {"a": [2]},
        "a word is blank",
    ),
    "a word again": (b"a 1 2\nb 3 4\na 5 6\n", {"a": [1, 2], "b": [3, 4]}, "of which the first counts: 1 (a)"),
    "ConceptNet": (b"/c/en/a 1 2\n/c/fr/b 3 4\n", {}, "Numberbatch"),
}


@pytest.mark.parametrize("kind", ODD)
def test_odd_files_are_read_with_a_remark(kind: str, tmp_path: Path) -> None:
    """Vectors by hand, from the bytes; the last number of a line is the last of its word's vector."""
    data, vectors, remark = ODD[kind]
    file = _open(_file(tmp_path, "v", data))
    assert _vectors(file, "word", *vectors) == vectors
    assert remark in " ".join(file.remarks)
    assert len(file.remarks) == bool(remark)


BAD = b"a 1 2\nb 3\n\nc 4 x\nd 5 1e39\ne f 6 7\ng 8 9 10\nh 1_0 1\ni 11 12\n"


def test_bad_lines_are_passed_over_and_listed(tmp_path: Path) -> None:
    """Of nine lines, six are none: too few numbers, none, no number, not finite, too many, and an underscore."""
    path = _file(tmp_path, "v", BAD)
    file = _open(path, skip_bad=True)
    assert _vectors(file, "word", *"abcdghi", "e f") == {"a": [1, 2], "e f": [6, 7], "i": [11, 12]}
    (remark,) = file.remarks
    assert "6 lines: " in remark
    assert [number for number in range(1, 10) if f"line {number} " in remark] == [2, 3, 4, 5, 7, 8]
    assert file.encoding("word").text == "level=word;lower=yes;multiword=_,mean;bad=skipped"
    assert EncodingOptions.of_text(file.encoding("word").text).skip_bad
    with pytest.raises(ModelError, match=r"line 2 has 1 number, but most lines have 2: .*--skip-bad"):
        _open(path)
    # Many are counted, and the first twenty named.
    (remark,) = _open(
        _file(tmp_path, "w", b"a 1 2\n" + b"".join(b"b%d 3 4\nc 5\n" % n for n in range(30))), skip_bad=True
    ).remarks
    assert (remark.count("line "), "30 lines" in remark, "and 10 more" in remark) == (20, True, True)
    long = _file(tmp_path, "w", b"a 1 2\nb 3 4\nb " + b"1 " * 2**20 + b"\nc 5 6\n")
    assert _vectors(_open(long, skip_bad=True), "word", "c") == {"c": [5, 6]}


def test_a_header_is_what_is_stated(tmp_path: Path) -> None:
    """No header: line 1 is a word; a header: it is none, whatever it says; and only texts have either."""
    path = _file(tmp_path, "v", b"2001 1\n2002 1\n")
    with pytest.raises(ModelError, match="--header no treats line 1 as a word"):
        _open(path)
    years = _open(path, header=False)
    assert _vectors(years, "word", "2001", "2002") == {"2001": [1], "2002": [1]}
    assert years.encoding("sent").text.endswith(";header=no")
    assert EncodingOptions.of_text(years.encoding("sent").text).header is False
    for first in (b"words", b"9 2", b"2 300", b"# made in 2024"):
        file = _open(_file(tmp_path, "v", first + b"\na 1 2\nb 3 4\n"), header=True)
        assert _vectors(file, "word", "a", "b") == {"a": [1, 2], "b": [3, 4]}
        assert len(file.remarks) == (first in (b"9 2", b"2 300"))
    for stated in (EncodingOptions(header=True), EncodingOptions(skip_bad=True)):
        with pytest.raises(ModelError, match="apply to text files only"):
            VectorFile.load(f"vectors:{_npy(tmp_path, 'v.txt', LIST)}", stated)
        with pytest.raises(ModelError, match="is not a file of vectors"):
            VectorFile.wrap("mine", {"kind": np.array([1, 2])}, stated)
    assert "the" in _open(_npy(tmp_path, "v.txt", b"\xef\xbb\xbf" + LIST)).table.vocabulary.rows


# --- files that cannot be used --------------------------------------------------------------------------------------


HEADER = b'{"x":{"dtype":"F32","shape":[1,2],"data_offsets":[0,80]}}'
DAMAGED: Mapping[str, tuple[bytes, str]] = {
    "empty": (b"", "it is empty"),
    "a text": (b"All happy families are alike.\n", "line 1 is not a word followed by numbers"),
    "a number too few": (b"a 1 2\nb 3\n", "line 2 has 1 number, but "),
    "a number too many": (b"a 1 2\nb 3 4 5\n", "line 2 has 3 numbers, but "),
    "an empty line": (b"a 1 2\n\nb 3 4\n", "line 2 has 0 numbers"),
    "a line of numbers alone": (b"a 1 2\n3 4\n", "line 2 has 1 number, but "),
    "a word in a header's place": (
        b"words below\na 1 2\nb 3 4\n",
        "line 1 has 0 numbers, but most lines have 2: --header",
    ),
    "UTF-16": ("a 1 2\n".encode("utf-16"), "it is UTF-16: save it as UTF-8"),
    "no number": (b"a 1 2\nb 3 x\n", "line 2 contains a value that is not a"),
    "an underscore": (b"a 1 2\nb 3 1_000\n", "line 2 contains a value that is not a"),
    "NaN": (b"a 1 2\nb 3 nan\n", "line 2 has a number that is not finite"),
    "too large": (b"2 2\na 1 2\nb 3 1e39\n", "line 3 has a number that is not finite"),
    "a header with two more": (b"4 2\na 1 2\nb 3 4\n", "line 1 says 4 words, but there are 2"),
    "a header with two fewer": (b"1 2\na 1 2\nb 3 4\nc 5 6\n", "(--header yes reads the lines that exist, --header no"),
    "cut short in a number": (b"3 2\na 1 2\nb 3 4", "line 1 says 3 words, but there are 2: it was cut short"),
    "cut short between numbers": (b"3 2\na 1 2\nb 3 4\nc 5", "line 4 has 1 number, but "),
    "a header with other dimensions": (
        b"2 3\na 1 2\nb 3 4\n",
        "line 2 has 2 numbers, but the header says 3: --header yes",
    ),
    "binary, cut short": (_word2vec(b"\n")[:-5], "word 8 of 8 is cut short"),
    "binary, half": (_word2vec(b"\n")[:70], "but it has 70 bytes: it was cut short"),
    "binary, a long word": (b"2 1\n" + b"a" * 9999 + b" " + b"\xff" * 4, "byte 4: word 1 of 2 is cut short"),
    "binary, with more": (_word2vec(b"\n") + b"more", "there are more bytes after its 8 words"),
    "binary, NaN": (b"1 1\na \x00\x00\xc0\x7f", "row 1 has a number that is not finite"),
    "gzip": (b"\x1f\x8b\x08", "gzip: unpack it first"),
    "zip": (b"PK\x03\x04nothing", "cannot be read as vectors"),
    "pickle": (b"\x80\x04\x95", "it is a pickle, which can run code"),
    "fastText's model": (b"\xba\x16\x4f\x2f\x0c", "use the .vec file"),
    "npy without words": (b"\x93NUMPY", "cannot be read as vectors"),
    "safetensors, cut short": (struct.pack("<Q", len(HEADER)) + HEADER + b"\0" * 8, "is outside the file"),
    "Parquet": (b"PAR1PAR1", "cannot be read as vectors"),
    "a long line": (b"a " + b"1 " * 2**20, "line 1 has more than 1 MiB"),
    "many dimensions": (b"a" + b" 1" * 16385 + b"\n", "it has 16,385 dimensions"),
}


@pytest.mark.parametrize("mistake", DAMAGED)
def test_damaged_files_are_named_with_the_line(mistake: str, tmp_path: Path) -> None:
    """One message, which begins with the file."""
    data, message = DAMAGED[mistake]
    path = _file(tmp_path, "v", data)
    with pytest.raises(ModelError) as caught:
        _vectors(_open(path), "word", "a", "b")
    assert str(caught.value).startswith(f"{path}: ")
    assert message in str(caught.value)


NO_PARTS = ("objects", "many", "few", "lost", "two", "ragged", "model", "bomb", "endless", "rowless")


def _misfits(folder: Path) -> dict[str, Path]:
    """Files whose parts do not go together."""
    folders = {name: folder / name for name in NO_PARTS}
    for path in folders.values():
        path.mkdir()
    np.save(folders["objects"] / "v.npy", np.array([{}], dtype=object), allow_pickle=True)
    (folders["objects"] / "v.txt").write_text("a")
    np.savez(folders["many"] / "v.npz", a=MATRIX, b=MATRIX, words=np.array(WORDS))
    _npy(folders["few"], "v.txt", b"a\nb")
    np.save(folders["lost"] / "v.npy", MATRIX)
    for name in ("a.npy", "b.npy"):
        np.save(folders["two"] / name, MATRIX)
    _parquet(folders["ragged"], {"vector": [[1.0, 2.0]] * 7 + [[1.0]]})
    np.save(folders["endless"] / "v.npy", MATRIX)
    (folders["endless"] / "list.txt").symlink_to("/dev/zero")
    pq.write_table(
        pa.table({"word": pa.array([], pa.string()), "v": pa.array([], pa.list_(pa.float32()))}),
        folders["rowless"] / "v.parquet",
    )
    save_file({"a": MATRIX, "b": MATRIX}, folders["model"] / "model.safetensors")
    np.savez_compressed(folders["bomb"] / "v.npz", words=np.array(["a"]), v=np.zeros((1, 2**25), dtype=np.float32))
    return folders


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("objects/v.npy", "Python objects"),
        ("many/v.npz", "none of its arrays (a, b, words) has vectors"),
        ("few/v.npy", "it has 8 vectors, and v.txt 2 words"),
        ("lost/v.npy", "its words are missing: put v.txt next to it"),
        ("two", "does not have exactly one file of vectors (found: a.npy, b.npy)"),
        ("ragged/v.parquet", "some vectors do not have 2 numbers"),
        ("model", "it has 2 tensors of two dimensions, and none is called embeddings"),
        ("bomb/v.npz", "it unpacks to far more data than vectors need"),
        ("endless/v.npy", "its words are missing"),
        ("rowless/v.parquet", "it has no words"),
        ("nothing", "no file of vectors"),
    ],
)
def test_parts_that_do_not_go_together(name: str, message: str, tmp_path: Path) -> None:
    """A message of one line; a word of the last row is asked for, so that all of the file is read."""
    _misfits(tmp_path)
    with pytest.raises(ModelError) as caught:
        _vectors(_open(tmp_path / name), "word", WORDS[-1])
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_line_ends_of_once_are_named(tmp_path: Path) -> None:
    """CR alone: four words would be one line, of which the last numbers are a vector."""
    with pytest.raises(ModelError, match="CR only"):
        _open(_file(tmp_path, "v.txt", b"he 1 0 2\rshe 0 1 2\rman 1 .1 2\r"))
