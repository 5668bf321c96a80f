"""Training: the same bytes each time, also where it was interrupted; a limit of minutes; what is refused."""

from __future__ import annotations

import errno
import hashlib
import json
import resource
import shutil
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.mitigation.nli_pairs import (
    DEEDS,
    OCCUPATIONS,
    SIZE,
    Pair,
    anybody_pairs,
    people_pairs,
    random_vectors,
    write_pairs,
    write_vectors,
)

from senseprobe.errors import SenseprobeError
from senseprobe.evaluate import models
from senseprobe.evaluate.mitigation import api
from senseprobe.evaluate.mitigation.erasure import Erasure

if TYPE_CHECKING:
    from senseprobe.evaluate.mitigation.nli_training import TrainedModel

EPOCHS = 3


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Pairs, with vectors beside them."""
    folder = tmp_path_factory.mktemp("corpus")
    write_vectors(folder / "vectors.txt", random_vectors())
    return write_pairs(folder / "pairs.jsonl", people_pairs())


def _train(
    corpus: Path,
    out: Path,
    say: list[str] | None = None,
    **options: Any,  # noqa: ANN401
) -> TrainedModel:
    lines = [] if say is None else say
    on = options.pop("on", f"vectors:{corpus.with_name('vectors.txt')}")
    options = {"epochs": EPOCHS, "batch": 16} | options
    return api.train_nli(corpus, on, out, say=lines.append, **options)


def _bytes(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def _interrupt(pairs: int) -> Callable[[int, int], None]:
    """A callback of progress that is Ctrl-C after so many pairs."""

    def progress(done: int, total: int) -> None:
        if done >= pairs:
            raise KeyboardInterrupt

    return progress


def test_the_same_training_makes_the_same_bytes(corpus: Path, tmp_path: Path) -> None:
    """Weights and record do not differ between two runs, and do between two seeds."""
    first, again, other = (
        _train(corpus, tmp_path / name / "m", seed=seed) for name, seed in (("a", 5), ("b", 5), ("c", 6))
    )

    assert _bytes(first.folder) == _bytes(again.folder)
    assert _bytes(first.folder)["model.safetensors"] != _bytes(other.folder)["model.safetensors"]


def test_an_interrupted_training_goes_on(corpus: Path, tmp_path: Path) -> None:
    """After Ctrl-C in the second epoch the first is kept, and the whole comes to the same bytes."""
    whole = _train(corpus, tmp_path / "a" / "m")
    pairs = whole.record["pairs"]["training"]
    with pytest.raises(SenseprobeError, match="1 epoch of 3 kept: the same command continues there"):
        _train(corpus, tmp_path / "b" / "m", progress=_interrupt(pairs + 20))
    assert not (tmp_path / "b" / "m").exists()
    lines: list[str] = []
    seen: list[int] = []
    continued = _train(corpus, tmp_path / "b" / "m", lines, progress=lambda done, total: seen.append(done))

    assert "going on after epoch 1 of 3" in lines
    assert min(seen) > pairs
    assert _bytes(continued.folder) == _bytes(whole.folder)
    assert [path.name for path in (tmp_path / "b").iterdir()] == ["m"]


def test_nothing_is_left_of_a_training_without_an_epoch(corpus: Path, tmp_path: Path) -> None:
    """Ctrl-C in the first epoch leaves no file behind."""
    with pytest.raises(SenseprobeError, match="no epoch was finished, so nothing is kept"):
        _train(corpus, tmp_path / "m", progress=_interrupt(20))
    assert [*tmp_path.iterdir()] == []


def test_other_settings_do_not_go_on(corpus: Path, tmp_path: Path) -> None:
    """A state is that of one training alone, and a damaged one is named."""
    with pytest.raises(SenseprobeError, match="interrupted"):
        _train(corpus, tmp_path / "m", progress=_interrupt(300))
    with pytest.raises(SenseprobeError, match="holds an interrupted training of something else"):
        _train(corpus, tmp_path / "m", seed=1)
    (state,) = tmp_path.glob(".m.training/epoch-*")
    (state / "state.safetensors").write_bytes(b"damaged")
    with pytest.raises(SenseprobeError, match=r"epoch-00001 is damaged|cannot be read|not a safetensors file"):
        _train(corpus, tmp_path / "m")
    shutil.rmtree(state.parent)
    assert _train(corpus, tmp_path / "m").folder.is_dir()


def test_a_limit_of_minutes_stops_at_an_epoch(corpus: Path, tmp_path: Path) -> None:
    """The first epoch is finished however short the time is, and the record says that it was the last."""
    record = _train(corpus, tmp_path / "m", minutes=1e-6).record

    assert record["stopped"] == "after epoch 1 of 3, by the limit of 1e-06 minutes"
    assert len(record["epochs"]) == 1
    assert record == json.loads((tmp_path / "m" / "training.json").read_text())


def test_the_record_says_what_was_trained(corpus: Path, tmp_path: Path) -> None:
    """It has corpus, vectors, settings, right answers held out, and says whose numbers these are not."""
    dev = write_pairs(tmp_path / "dev.jsonl", [*people_pairs()][::5])
    trained = _train(corpus, tmp_path / "m", license_="MIT", dev=dev, epochs=20)
    record = trained.record

    assert record["corpus"]["license"] == "MIT"
    assert record["corpus"]["pairs"] == record["pairs"]["training"] == 288
    assert record["dev"]["pairs"] == record["pairs"]["held_out"] == 58
    assert record["dev_accuracy"]["all"] == record["epochs"][-1]["dev_accuracy"] > 0.9
    assert record["settings"]["rate"] == 1e-3
    assert "not those of their Table 8" in record["method"]
    assert "Trained on" in str(trained.section())


def test_a_model_on_altered_vectors_is_loaded_with_their_record(corpus: Path, tmp_path: Path) -> None:
    """Its identity is not that of a model on the vectors as they were."""
    pairs = tmp_path / "pairs.csv"
    pairs.write_text("first,second\nman,woman\n", encoding="utf-8")
    altered = api.debias(f"vectors:{corpus.with_name('vectors.txt')}", tmp_path / "altered", direction=str(pairs))
    lines = list[str]()
    model = api.train_nli(corpus, f"vectors:{altered.folder}", tmp_path / "model", epochs=1, say=lines.append)

    loaded = models.load(str(model.folder))
    assert loaded.identity["debias"] == hashlib.sha256((altered.folder / "debias.json").read_bytes()).hexdigest()
    assert model.record["on"]["debias"] == loaded.identity["debias"]


def test_a_folder_that_exists_is_not_overwritten(corpus: Path, tmp_path: Path) -> None:
    """It is refused before anything is read."""
    with pytest.raises(SenseprobeError, match="exists and is not overwritten"):
        _train(tmp_path / "missing.jsonl", tmp_path)


def test_a_full_disk_is_explained(corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the model cannot be written, no part of it is there, and the epochs are kept for the next try."""
    from senseprobe.evaluate.mitigation import attention_files

    def fail(*_: object) -> bytes:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(attention_files, "pack_tensors", fail)
        with pytest.raises(SenseprobeError, match=r"cannot write .*No space left on device"):
            _train(corpus, tmp_path / "m")
    assert [path.name for path in tmp_path.iterdir()] == [".m.training"]
    lines: list[str] = []
    assert _train(corpus, tmp_path / "m", lines).folder.is_dir()
    assert "going on after epoch 3 of 3" in lines


def test_a_disk_that_is_full_at_the_state_is_explained(corpus: Path, tmp_path: Path) -> None:
    """What safetensors raises of it is no OSError."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (3_000, hard))
    try:
        with pytest.raises(SenseprobeError, match=r"cannot write .*File too large"):
            _train(corpus, tmp_path / "m")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert not [*tmp_path.iterdir()]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"freeze_embeddings": True}, "vectors always stay as they are"),
        ({"rate": 1e30}, "training diverged"),
        ({"columns": {"premise": "nowhere"}}, "lacks the column 'nowhere'"),
        ({"rate": -1.0}, "rate is -1, but must be above 0"),
        ({"minutes": float("nan")}, "minutes is nan, but must be above 0"),
        ({"epochs": 0}, "epochs is 0, but must be at least 1"),
        ({"batch": 0}, "batch is 0, but must be at least 1"),
        ({"seed": -1}, "seed is -1, but must be at least 0"),
        ({"on": "senses:file"}, "senses:file cannot be trained on"),
        ({"on": "openai:http://127.0.0.1:9/v1#m"}, "cannot be trained on: name vectors:FILE"),
    ],
)
def test_bad_options_are_refused(corpus: Path, tmp_path: Path, options: dict[str, Any], message: str) -> None:
    """One message says why, and nothing is left behind."""
    with pytest.raises(SenseprobeError, match=message):
        _train(corpus, tmp_path / "m", **options)
    assert [*tmp_path.iterdir()] == []


# --- a bias that is planted -------------------------------------------------------------------------------------------


def _gap(folder: Path) -> float:
    """How much more an occupation entails its planted gender than the other, on average; every other one is a man's."""
    model: Any = models.load(str(folder))
    pairs = [
        (f"The {occupation} {deed}.", f"The {gender} {deed}.")
        for occupation in OCCUPATIONS
        for deed in DEEDS
        for gender in ("man", "woman")
    ]
    entailed = model.probabilities(model.encode(pairs))[:, 0].reshape(-1, 2, len(DEEDS), 2)
    return float((np.array([[-1], [1]]) * (entailed[..., 0] - entailed[..., 1])).mean())


def _gendered_vectors() -> dict[str, Any]:
    """Vectors whose first number is the gender of a word, and that of half of the occupations the other's."""
    vectors = random_vectors(3)
    for words, sign in ((("father", "uncle", "king", "man"), 1.5), (("mother", "aunt", "queen", "woman"), -1.5)):
        for word in words:
            vectors[word][0] = sign
    for number, occupation in enumerate(OCCUPATIONS):
        vectors[occupation][0] = 1.5 if number % 2 else -1.5
    return vectors


def _without(vectors: dict[str, Any], direction: NDArray[np.float64]) -> dict[str, Any]:
    erasure = Erasure.onto(direction[:, None])
    return dict(zip(vectors, erasure.apply([*vectors.values()]), strict=True))


def _trained_gap(folder: Path, vectors: dict[str, Any], pairs: Iterable[Pair]) -> float:
    folder.mkdir()
    on = write_vectors(folder / "vectors.txt", vectors)
    corpus = write_pairs(folder / "pairs.jsonl", pairs)
    api.train_nli(corpus, on, folder / "m", epochs=20, batch=16, say=lambda line: None)
    return _gap(folder / "m")


def test_a_bias_of_the_vectors_falls_with_them(tmp_path: Path) -> None:
    """Occupations are in no pair of the corpus: only their vectors can say which gender they are."""
    vectors = _gendered_vectors()
    before = _trained_gap(tmp_path / "before", vectors, people_pairs())
    after = _trained_gap(tmp_path / "after", _without(vectors, np.eye(SIZE)[0]), people_pairs())
    draw = np.random.default_rng(0)
    directions = [np.append(0, draw.normal(size=SIZE - 1)) for _ in range(2)]
    controls = [
        _trained_gap(tmp_path / f"control{number}", _without(vectors, direction), people_pairs())
        for number, direction in enumerate(directions)
    ]

    assert before > 0.8
    assert after < before / 2 < min(controls)


def test_a_bias_of_the_corpus_stays(tmp_path: Path) -> None:
    """Where pairs say which gender an occupation has, a direction that is removed from the vectors changes nothing."""

    def pairs() -> Iterator[Pair]:
        yield from people_pairs()
        for number, occupation in enumerate(OCCUPATIONS):
            same, other = ("man", "woman") if number % 2 else ("woman", "man")
            for place, deed in enumerate(DEEDS):
                yield f"The {occupation} {deed}.", f"The {same} {deed}.", "entailment"
                yield f"The {occupation} {deed}.", f"The {other} {deed}.", "contradiction"
                yield from anybody_pairs(occupation, place)

    vectors = _gendered_vectors()
    before = _trained_gap(tmp_path / "before", vectors, pairs())
    after = _trained_gap(tmp_path / "after", _without(vectors, np.eye(SIZE)[0]), pairs())

    assert before > 0.8
    assert after > 0.8
