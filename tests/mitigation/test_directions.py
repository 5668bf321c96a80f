"""Directions of axes: closed forms, naive loops and hand-made vectors; the command; and GloVe, as it was measured."""

import json
import os
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from scipy.linalg import subspace_angles
from tests.commands import Typed, typing
from tests.conformance import masked_models

from senseprobe.errors import ModelError, SenseprobeError
from senseprobe.evaluate.mitigation import api
from senseprobe.evaluate.mitigation.directions import (
    DRAWS,
    SPLITS,
    Centring,
    Spectrum,
    chance_cosine,
    measure_spectrum,
    top_directions,
)
from senseprobe.evaluate.mitigation.erasure import random_directions
from senseprobe.statistics import leave_out_pairs, principal_direction


@pytest.fixture
def typed(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Typed:
    """What runs a command line, as it is typed."""
    return typing(monkeypatch, capfd)


def _spectrum(
    rows: np.ndarray, rank: int = 1, centring: Centring = "set", derived: np.ndarray | None = None
) -> Spectrum:
    names = [f"word {number}" for number in range(len(rows))]
    return measure_spectrum(rows, names, centring, rank, derived, rows.mean(axis=0), len(rows) // 2, seed=0)


def _first(rows: np.ndarray, rank: int = 1) -> np.ndarray:
    return np.linalg.svd(rows - rows.mean(axis=0), full_matrices=False)[2][:rank].T


def test_the_quantile_of_random_directions_is_that_of_draws() -> None:
    """And about 1.96 / √D."""
    drawn = [abs(float(random_directions(20, 1, seed)[0, 0])) for seed in range(4_000)]

    assert chance_cosine(20) == pytest.approx(np.quantile(drawn, 0.95), abs=0.015)
    assert chance_cosine(300) == pytest.approx(1.96 / np.sqrt(300), abs=1e-3)
    assert chance_cosine(1) == 1


def test_a_spectrum_is_what_a_singular_value_decomposition_has() -> None:
    """Ratios, the cosine with the mean, and the least cosine without one item, by a loop over all items."""
    rows = np.random.default_rng(0).standard_normal((12, 6)) * [5, 3, 1, 1, 1, 1] + 2

    spectrum = _spectrum(rows)

    values = np.linalg.svd(rows - rows.mean(axis=0), compute_uv=False)
    assert spectrum.ratios == pytest.approx(values[1:4] / values[0], rel=1e-5)
    first, mean = _first(rows)[:, 0], rows.mean(axis=0)
    assert spectrum.mean == pytest.approx(abs(first @ mean) / np.linalg.norm(mean), rel=1e-5)
    without = [abs(float(_first(np.delete(rows, item, axis=0))[:, 0] @ first)) for item in range(12)]
    assert spectrum.left_out == pytest.approx((min(without),), rel=1e-5)
    assert spectrum.least == f"word {np.argmin(without)}"
    assert (spectrum.derived, spectrum.angles) == (None, ())


def test_of_pairs_it_is_the_direction_of_bolukbasi() -> None:
    """Leaving out a pair is `leave_out_pairs`, which was there before."""
    rng = np.random.default_rng(0)
    first, second = rng.standard_normal((2, 8, 30)) + np.array([1.0, -1.0])[:, None, None] * rng.standard_normal(30)
    unit = [side / np.linalg.norm(side, axis=1, keepdims=True) for side in (first, second)]

    spectrum = _spectrum((unit[0] - unit[1]) / 2, centring="pairs")

    axis = principal_direction(first, second)
    assert spectrum.ratios[0] == pytest.approx(np.sqrt(axis.shares[1] / axis.shares[0]), rel=1e-5)
    assert spectrum.is_doubtful == axis.is_doubtful
    assert spectrum.left_out[0] == pytest.approx(
        np.abs(leave_out_pairs(first, second) @ axis.direction).min(), rel=1e-5
    )


def test_of_two_dimensions_cosines_are_of_principal_angles() -> None:
    """As SciPy has them."""
    rng = np.random.default_rng(0)
    rows, derived = rng.standard_normal((12, 6)) * [5, 4, 1, 1, 1, 1], np.linalg.qr(rng.standard_normal((6, 2)))[0]

    spectrum = _spectrum(rows, rank=2, derived=derived)

    whole = _first(rows, 2)
    assert spectrum.angles == pytest.approx(sorted(np.cos(subspace_angles(derived, whole)), reverse=True), rel=1e-4)
    assert spectrum.derived == pytest.approx(abs(float(whole[:, 0] @ derived[:, 0])), rel=1e-4)
    left = [np.cos(subspace_angles(_first(np.delete(rows, item, axis=0), 2), whole)) for item in range(12)]
    assert spectrum.left_out == pytest.approx(sorted(np.min(np.sort(left), axis=0), reverse=True), rel=1e-4)


def test_resamples_and_divisions_are_those_of_a_loop() -> None:
    """With other draws, so that quantiles agree but for the noise of the draws."""
    rng = np.random.default_rng(1)
    rows = rng.standard_normal((20, 10)) * [2, *[1] * 9]
    whole = _first(rows)[:, 0]

    spectrum = _spectrum(rows)

    resampled = [abs(float(_first(rows[rng.integers(20, size=20)])[:, 0] @ whole)) for _ in range(DRAWS)]
    orders = [rng.permutation(20) for _ in range(5 * SPLITS)]
    divided = [abs(float(_first(rows[order[:10]])[:, 0] @ _first(rows[order[10:]])[:, 0])) for order in orders]
    assert spectrum.resampled.median[0] == pytest.approx(np.median(resampled), abs=0.05)
    assert spectrum.resampled.low[0] == pytest.approx(np.quantile(resampled, 0.05), abs=0.1)
    assert spectrum.divided.median[0] == pytest.approx(np.median(divided), abs=0.1)


def test_a_planted_axis_is_above_chance_and_noise_is_not() -> None:
    """Of one dimension, and of two; noise of eighteen words in fifty dimensions is an axis for neither."""
    rng = np.random.default_rng(0)
    noise = rng.standard_normal((18, 50))
    planted = noise + 12 * np.outer(rng.standard_normal(18), np.eye(50)[3])

    assert [_spectrum(noise, rank).above_chance for rank in (1, 2)] == [False, False]
    assert [_spectrum(planted, rank).above_chance for rank in (1, 2)] == [True, False]
    assert not _spectrum(planted).is_doubtful


def test_not_centred_the_first_direction_is_the_mean() -> None:
    """It is stable for that alone."""
    rows = np.random.default_rng(0).standard_normal((18, 50)) + 3

    plain, centred = _spectrum(rows, centring="none"), _spectrum(rows)

    assert (plain.is_mean, plain.above_chance, plain.divided.low[0] > 0.9) == (True, True, True)
    assert (centred.is_mean, centred.above_chance) == (False, False)


def test_directions_of_fewer_rows_than_dimensions_are_told() -> None:
    """They span too little."""
    rows = np.array([[1.0, 0.0, 0.0], [1.0, 1.0, 0.0]])

    assert top_directions(rows, 1, True)[1]
    assert not top_directions(rows, 2, True)[1]
    assert not top_directions(rows[:1], 1, True)[1]
    assert not top_directions(rows, 4, False)[1]


# --- the command ------------------------------------------------------------------------------------------------------

_AGES = ("young", "old", "youth", "elder", "new", "ancient", "junior", "senior", "fresh", "aged", "teen", "retired")


@pytest.fixture
def vectors(tmp_path: Path) -> Path:
    """A file of vectors in which age is one dimension, and a file of its pairs."""
    rng = np.random.default_rng(0)
    sign = np.array([1.0, -1.0] * 6)
    rows = 0.2 * rng.standard_normal((12, 20)) + np.outer(sign, np.eye(20)[4])
    lines = [f"{word} {' '.join(f'{number:.5f}' for number in row)}" for word, row in zip(_AGES, rows, strict=True)]
    (tmp_path / "ages.txt").write_text(
        "\n".join([*lines, f"zero {'0 ' * 20}", f"he {'1 ' * 20}", ""]), encoding="utf-8"
    )
    pairs = "\n".join(f"{_AGES[number]},{_AGES[number + 1]}" for number in range(0, 12, 2))
    (tmp_path / "pairs.csv").write_text(f"first,second\n{pairs}\ngreen,old\nzero,old\n", encoding="utf-8")
    return tmp_path


def test_an_axis_of_ones_own(vectors: Path, typed: Typed) -> None:
    """Its pairs, the words that have no vector by name, and one row for each way to centre."""
    command = ("model", "directions", f"vectors:{vectors / 'ages.txt'}", "--direction", str(vectors / "pairs.csv"))

    done = typed(*command)
    read = typed(*command, "--json").told

    assert done.code == 0
    assert "6 pairs. Without a vector: green, zero." in done.out
    (axis,) = read["axes"]
    assert [spectrum["centring"] for spectrum in axis["spectra"]] == ["pairs", "set", "none"]
    assert axis["full"] == axis["derived"] == [f"{first}-{second}" for first, second in pairwise(_AGES)][::2]
    assert all(spectrum["above_chance"] for spectrum in axis["spectra"])
    assert axis["spectra"][0]["resampled"]["low"][0] > 0.9
    assert typed(*command, "--json").told == read
    assert typed(*command, "--json", "--seed", "1").told != read


def test_one_pair_is_not_measured(vectors: Path, typed: Typed) -> None:
    """Nor are lists whose words the file lacks; the command says why, and ends well."""
    file = f"vectors:{vectors / 'ages.txt'}"

    one = typed("model", "directions", file, "--direction", "young-old")
    lists = typed("model", "directions", file)

    assert "Not measured: 1 pair with vectors, and stability needs 5." in one.out
    assert "Without a vector: she, man, woman" in lists.out
    assert (one.code, lists.code) == (0, 0)


def test_after_its_direction_was_removed_an_axis_is_measured_without_it() -> None:
    """He and she have one vector then, but for rounding; the other pairs are there."""
    rng = np.random.default_rng(0)
    pairs = [("man", "woman"), ("boy", "girl"), ("father", "mother"), ("son", "daughter"), ("male", "female")]
    words = {word: rng.standard_normal(12) for pair in pairs for word in pair}
    words |= {"he": np.ones(12), "she": np.ones(12) + 1e-8}

    (axis,) = api.measure_directions(words, ["list:gendered", "list:gendered"]).axes

    assert axis.underived == "the two words of pair 1 have the same vector"
    assert [spectrum.derived for spectrum in axis.spectra] == [None, None, None]


def test_an_axis_of_very_many_words_is_not_measured(tmp_path: Path) -> None:
    """It would be derived once without each of them."""
    words = [f"w{number}" for number in range(501)]
    (tmp_path / "words.csv").write_text("\n".join(["word", *words]), encoding="utf-8")
    vectors = dict(zip(words, np.random.default_rng(0).standard_normal((501, 4)), strict=True))

    (axis,) = api.measure_directions(vectors, [str(tmp_path / "words.csv")]).axes

    assert axis.unmeasured == "501 words, and at most 500 are measured"


def test_names_of_others_do_not_control_a_terminal(tmp_path: Path) -> None:
    """Of files and of words."""
    path = tmp_path / "a\x1b[2J.csv"
    path.write_text("word\n" + "\n".join(f"w\x1b[{number}J" for number in range(6)), encoding="utf-8")
    vectors = {f"w\x1b[{number}J": row for number, row in enumerate(np.random.default_rng(0).standard_normal((5, 4)))}

    printed = str(api.measure_directions(vectors, [str(path)]))

    assert "\x1b" not in printed
    assert "Least alike without" in printed


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["vectors:missing.txt"], "missing.txt"),
        (["vectors:{folder}/ages.txt", "--direction", "old"], "old is not an axis"),
        (["vectors:{folder}/ages.txt", "--direction", "{folder}/ages.txt"], "the first line must name"),
        (["{folder}"], "{folder}"),
    ],
)
def test_what_cannot_be_measured_is_one_message(
    arguments: Sequence[str], message: str, vectors: Path, typed: Typed
) -> None:
    """With exit code 2."""
    done = typed("model", "directions", *(argument.format(folder=vectors) for argument in arguments))

    assert done.code == 2
    assert message.format(folder=vectors) in done.message


def test_vectors_from_python_are_measured() -> None:
    """A dict of words; the report prints itself. A model in memory is refused."""
    rng = np.random.default_rng(0)
    words = {word: rng.standard_normal(8) for word in ("he", "she", "man", "woman", "boy", "girl", "son", "daughter")}
    words |= {word: rng.standard_normal(8) for word in ("father", "mother", "male", "female")}

    report = api.measure_directions(words, ["list:definitional"])

    assert report.axes[0].full == ("man-woman", "boy-girl", "he-she", "father-mother", "son-daughter", "male-female")
    assert "guy" in report.axes[0].missing
    assert "list:definitional" in str(report)
    assert json.dumps(report.as_dict())
    with pytest.raises(SenseprobeError, match="no file of vectors"):
        api.measure_directions("senses:missing.safetensors")


@pytest.fixture(scope="module")
def bert(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny model of transformers whose tokenizer has a few words."""
    import torch

    torch.set_num_threads(1)
    return masked_models.build(tmp_path_factory.mktemp("masked"))["bert"]


def test_of_a_model_the_input_embeddings_are_read(bert: Path, tmp_path: Path, typed: Typed) -> None:
    """Of words that are one token, in one form; the figures are those of its table's rows."""
    from safetensors.torch import load_file
    from transformers import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(bert)
    words = [word for word in tokenizer.get_vocab() if word.isalpha()][:12]
    (tmp_path / "words.csv").write_text("\n".join(["word", *words, "uncharacteristically"]), encoding="utf-8")

    (axis,) = typed("model", "directions", str(bert), "--direction", str(tmp_path / "words.csv"), "--json").told["axes"]

    table = load_file(bert / "model.safetensors")["bert.embeddings.word_embeddings.weight"].double().numpy()
    assert axis["missing"] == ["uncharacteristically"]
    assert axis["form"].lower() == "␣word"
    rows = table[[tokenizer.get_vocab()[word] for word in axis["full"]]]
    values = np.linalg.svd(rows - rows.mean(axis=0), compute_uv=False)
    assert axis["spectra"][0]["ratios"] == pytest.approx(values[1:4] / values[0], rel=1e-4)


def test_a_model_in_memory_is_refused(bert: Path) -> None:
    """Its embeddings are read from its files."""
    from transformers import AutoModelForMaskedLM, AutoTokenizer

    import senseprobe

    model, tokenizer = AutoModelForMaskedLM.from_pretrained(bert), AutoTokenizer.from_pretrained(bert)

    with pytest.raises(ModelError, match="save it, and name its folder"):
        api.measure_directions(senseprobe.model(model, tokenizer=tokenizer))


@pytest.mark.system
def test_glove_is_as_it_was_measured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, typed: Typed) -> None:
    """Section A2 of MITIGATION.md: ratios, and cosines with the derived direction, not centred and centred."""
    monkeypatch.chdir(tmp_path)
    for name, value in {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": os.environ["SENSEPROBE_TEST_PACKAGES"]}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    assert typed("fetch", "glove").code == 0

    axes = typed("model", "directions", "vectors:glove", "--json").told["axes"]

    read = {
        (axis["name"].partition(":")[2], spectrum["centring"]): spectrum
        for axis in axes
        for spectrum in axis["spectra"]
    }
    figures = {
        key: [*(round(ratio, 2) for ratio in spectrum["ratios"]), round(spectrum["derived"], 2)]
        for key, spectrum in read.items()
    }
    assert figures == {
        ("gendered", "pairs"): [0.90, 0.32, 0.25, 0.78],
        ("gendered", "set"): [0.86, 0.72, 0.66, 0.24],
        ("gendered", "none"): [0.39, 0.30, 0.26, 0.27],
        ("demonyms", "set"): [0.81, 0.76, 0.69, 0.83],
        ("demonyms", "none"): [0.46, 0.36, 0.33, 0.96],
        ("adherents", "set"): [0.94, 0.86, 0.58, 0.01],
        ("adherents", "none"): [0.45, 0.44, 0.33, 0.96],
    }
    pairs = read["gendered", "pairs"]
    assert round(pairs["left_out"][0], 2) == 0.76
    assert pairs["resampled"]["median"][0] == pytest.approx(0.90, abs=0.02)
    assert pairs["resampled"]["low"][0] == pytest.approx(0.49, abs=0.05)
    divided = read["adherents", "none"]["divided"]
    assert divided["median"] == pytest.approx([0.94, 0.11], abs=0.03)
    assert divided["low"] == pytest.approx([0.86, 0.01], abs=0.03)
    assert not read["adherents", "set"]["above_chance"]
    assert all(axis["missing"] == [] for axis in axes)
