"""Embeddings of WordNet's senses that are made of its glosses: texts, vectors, bytes, and runs that were killed.

Texts are held against NLTK's reading of WordNet, vectors against one text at a time through transformers itself.
"""

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from tests.commands import typing

from senseprobe.errors import ModelError, SenseprobeError
from senseprobe.evaluate.models import load
from senseprobe.evaluate.senses import api
from senseprobe.evaluate.senses.glosses import build_senses, gloss_texts
from senseprobe.evaluate.senses.vectors import SenseFile
from senseprobe.lexicon.install import wordnet_in
from senseprobe.lexicon.wordnet import SenseEntry, Vocabulary

WORDS = "judge\nnurse\nice cream\nblack\nnonesuchword\n"

# A program of its own: builds into the file of its first argument, and kills itself at the third step of progress.
BUILD = """
import os, signal, sys
from senseprobe.evaluate.senses import api
encoder, out, words = sys.argv[1:]
calls = []
def progress(done, count):
    calls.append(done)
    if len(calls) == 3:
        os.kill(os.getpid(), signal.SIGKILL)
api.build_senses(encoder, out, words=[words], pooling="mean", progress=progress)
"""


@pytest.fixture(scope="module")
def encoder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny BERT with room for any gloss."""
    import tokenizers
    import torch
    from transformers import BertConfig, BertModel, BertTokenizer

    torch.set_num_threads(1)
    folder = tmp_path_factory.mktemp("encoder") / "bert"
    raw = tokenizers.BertWordPieceTokenizer()
    raw.train_from_iterator(["a judge, or a nurse - of the black ice"] * 9, vocab_size=90, show_progress=False)
    tokenizer = BertTokenizer(vocab=raw.get_vocab())
    torch.manual_seed(0)
    sizes = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 32}
    config = BertConfig(vocab_size=len(tokenizer), initializer_range=0.3, **sizes)
    BertModel(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


@pytest.fixture
def words(tmp_path: Path) -> Path:
    """A file of words."""
    (tmp_path / "words.txt").write_text(WORDS)
    return tmp_path / "words.txt"


@pytest.fixture(scope="module")
def few_senses(prepared_wordnet: None) -> list[tuple[SenseEntry, str, tuple[str, ...]]]:
    """WordNet's senses, less the synsets without any of the words here: to read all of them takes two seconds."""
    parts = {part for word in [*WORDS.splitlines(), *_gendered()] for part in word.split()}
    return [
        sense
        for sense in Vocabulary.open().every_sense()
        if parts & {part for lemma in sense[0].lemmas for part in lemma.lower().split()}
    ]


@pytest.fixture
def small_wordnet(few_senses: list[tuple[SenseEntry, str, tuple[str, ...]]], monkeypatch: pytest.MonkeyPatch) -> None:
    """A WordNet of the words here, and of all that share a part or a synset with them."""
    monkeypatch.setattr(Vocabulary, "every_sense", lambda _: iter(few_senses))


@pytest.fixture
def wordnet(monkeypatch: pytest.MonkeyPatch) -> Iterator[object]:
    """NLTK's WordNet."""
    import nltk

    monkeypatch.setattr(nltk.data, "path", [str(wordnet_in(None)[1].parent.parent)])
    yield nltk.corpus.wordnet
    nltk.corpus.wordnet._unload()


@pytest.mark.system
@pytest.mark.usefixtures("prepared_wordnet")
def test_texts_are_those_of_nltk(wordnet: object) -> None:
    """LMMS's text of each member of each synset of the words, by NLTK; of all senses as many as UPSTREAM 1.4 says."""
    synsets = {synset for word in ("judge", "ice_cream") for synset in wordnet.synsets(word)}  # type: ignore[attr-defined]
    expected = {}
    for synset in synsets:
        names = [name.replace("_", " ") for name in synset.lemma_names()]
        for lemma, name in zip(synset.lemmas(), names, strict=True):
            expected[lemma.key()] = f"{name} - {' , '.join(names)} - {synset.definition()}"
    assert gloss_texts(["judge", "ice cream", "nonesuchword"], examples=False) == (expected, ("nonesuchword",))
    assert len(gloss_texts(None, examples=False)[0]) == 206_949
    dire, _ = gloss_texts(["fateful%5:00:00:unfortunate:00"], examples=False)
    assert {text.partition(" - ")[2].partition(" - ")[2] for text in dire.values()} == {
        "(of events) having extremely unfortunate or dire consequences; bringing ruin"  # and no "; - Charles Darwin"
    }
    quoted, _ = gloss_texts(["nurse%2:29:00::", "x%1:00:00::"], examples=True)
    assert quoted == {"nurse%2:29:00::": "nurse - nurse - try to cure by special care of treatment, of an illness or "
                      "injury; He nursed his cold with Chinese herbs"}  # fmt: skip


@pytest.mark.system
@pytest.mark.usefixtures("small_wordnet")
def test_vectors_are_means_of_tokens(encoder: Path, words: Path, tmp_path: Path) -> None:
    """Each gloss by itself through transformers in float64; rounded to 2^-18 of the largest number of a vector."""
    import torch
    from transformers import AutoModel, AutoTokenizer

    built = api.build_senses(encoder, tmp_path / "s.safetensors", words=[words], pooling="mean")
    assert built.without == ("nonesuchword",)
    texts, _ = gloss_texts([*WORDS.splitlines(), *_gendered()], examples=False)
    model = SenseFile.load(f"senses:{built.file}")
    assert [*model.table.vocabulary.rows] == sorted(texts)
    assert model.senses("nonesuchword") == ()
    tokenizer, body = AutoTokenizer.from_pretrained(encoder), AutoModel.from_pretrained(encoder).double()
    for key in ("judge%1:18:00::", "black%3:00:01::", "ice_cream%1:13:00::", "gal%1:18:00::"):
        tokens = tokenizer(texts[key], return_tensors="pt")
        with torch.inference_mode():
            hidden = body(**tokens).last_hidden_state[0]
        naive = hidden[1:-1].mean(dim=0).numpy()  # without [CLS] and [SEP]
        [vector] = model.vectors([key])
        assert np.abs(vector - naive).max() <= np.abs(naive).max() * 2.0**-18
        assert np.abs(vector - naive).max() > 0


def _gendered() -> list[str]:
    """The words of equation 8's pairs, which are always made (VECTORS.md)."""
    return ["man", "boy", "father", "son", "guy", "male", "woman", "girl", "mother", "daughter", "gal", "female"]


@pytest.mark.system
@pytest.mark.usefixtures("small_wordnet")
def test_bytes_are_the_same(encoder: Path, words: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the folder of the encoder, the tokens of a forward pass, the threads, and the order of words."""
    import torch

    copied, other = tmp_path / "copy", tmp_path / "other.txt"
    shutil.copytree(encoder, copied)
    other.write_text("".join(sorted(WORDS.splitlines(keepends=True))))
    first = api.build_senses(encoder, tmp_path / "1.safetensors", words=[words])
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    second = api.build_senses(copied, tmp_path / "2.safetensors", words=[other])
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "another"))
    model = load(str(encoder), ability="vectors", dtype="float64", batch_tokens=64)
    chosen = [*WORDS.splitlines(), *_gendered()]
    torch.set_num_threads(2)
    try:
        third = build_senses(
            model, tmp_path / "3.safetensors", chosen, examples=False, version=first.metadata["senseprobe"], warn=print
        )
    finally:
        torch.set_num_threads(1)
    assert len({built.file.read_bytes() for built in (first, second, third)}) == 1
    assert str(tmp_path) not in json.dumps(dict(first.metadata))


@pytest.mark.system
@pytest.mark.usefixtures("small_wordnet")
def test_a_killed_run_goes_on(encoder: Path, words: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Killed after the second forward pass, there is no file; then only the rest is encoded, to the same bytes."""
    # Takes seconds: a process that loads torch and reads WordNet.
    command = [sys.executable, "-c", BUILD, str(encoder), str(tmp_path / "a.safetensors"), str(words)]
    environment = {**os.environ, "XDG_CACHE_HOME": str(tmp_path / "cache"), "OMP_NUM_THREADS": "1"}
    killed = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == ["cache", "words.txt"]

    def steps(cache: str, out: str) -> list[int]:
        """How many vectors there are after each step of a run with this cache."""
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / cache))
        made = list[int]()

        def progress(done: int, _: int) -> None:
            made.append(done)

        api.build_senses(encoder, tmp_path / out, words=[words], pooling="mean", progress=progress)
        return made

    resumed, whole = steps("cache", "a.safetensors"), steps("new", "b.safetensors")
    assert len(resumed) == len(whole) - 2  # the first step is what has no vector, and no forward pass
    assert resumed[0] > whole[0]
    assert (tmp_path / "a.safetensors").read_bytes() == (tmp_path / "b.safetensors").read_bytes()


def test_words_that_are_no_text(encoder: Path, tmp_path: Path) -> None:
    """A file in Latin-1 is refused with its line, before anything is encoded: of é, Latin-1 has the byte E9."""
    (tmp_path / "words.txt").write_bytes(b"nurse\nfianc\xe9\n")
    with pytest.raises(SenseprobeError, match=r"words\.txt:2: is not UTF-8"):
        api.build_senses(encoder, tmp_path / "s.safetensors", words=[tmp_path / "words.txt"], pooling="mean")


@pytest.mark.system
@pytest.mark.usefixtures("small_wordnet")
def test_commands(
    encoder: Path, words: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """What is printed of an embedding that was made; an existing file stays."""
    typed, out = typing(monkeypatch, capfd), tmp_path / "s.safetensors"
    build = ("study", "senses", "build", "--encoder", str(encoder), "-o", str(out), "--words", str(words))
    done = typed(*build)
    assert done.code == 0, done.err
    assert "not in WordNet: nonesuchword" in done.err
    assert "no embedding that anybody published" in done.out
    before = out.read_bytes()
    again = typed(*build)
    assert (again.code, "exists: choose a new file" in again.err, out.read_bytes()) == (2, True, before)
    assert "lemma - lemma , lemma - definition" in typed("model", "vectors", f"senses:{out}").out
    summary = typed("model", "vectors", f"senses:{out}", "--json").told
    assert summary["metadata"]["encoder_dtype"] == "float64"
    assert (summary["header"], summary["unknown"], summary["count"]) == ("", 0, summary["wordnet"]["data files"][0])


@pytest.mark.system
@pytest.mark.usefixtures("small_wordnet")
def test_nothing_to_make(encoder: Path, tmp_path: Path, tiny_models: dict[str, Path]) -> None:
    """Words that WordNet lacks are no embedding, nor is one of an encoder with 96 positions whole."""
    short = load(str(tiny_models["bert"]), ability="vectors", dtype="float64")
    with pytest.raises(ModelError, match=r"not have vectors for [0-9]+ glosses, .*too long for the model"):
        build_senses(short, tmp_path / "s", ["black"], examples=False, version="", warn=print)
    model = load(str(encoder), ability="vectors", dtype="float64")
    with pytest.raises(ModelError, match="WordNet does not contain any of the words"):
        build_senses(model, tmp_path / "s", ["nonesuchword"], examples=False, version="", warn=print)
