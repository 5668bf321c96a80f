"""Perplexity of causal models and pseudo-perplexity of masked ones, beside a loop over transformers' own logits."""

import hashlib
import json
import math
import shutil
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from tests.conformance import causal_models
from tests.mitigation.records import make_record

from senseprobe.errors import LexiconError, ModelError, SenseprobeError
from senseprobe.evaluate.mitigation import perplexity
from senseprobe.evaluate.mitigation.api import check_debias, debias
from senseprobe.evaluate.mitigation.perplexity import (
    EvaluationText,
    add_perplexity,
    choose_text,
    cut_windows,
    measure_perplexity,
    predicts_tokens,
    read_text,
    sample_glosses,
)
from senseprobe.evaluate.mitigation.record import Perplexity, read_record
from senseprobe.evaluate.models.alteration import RECORD
from senseprobe.evaluate.models.registry import load

LONG = " ".join(["She is a talented nurse and he judges the black dress."] * 16)
TEXT = EvaluationText("text.txt", ("Japanese people are kind.", "He judges the horses.", "a", LONG))
CAUSAL = ("gpt2", "llama", "bloom", "mamba")


@pytest.fixture(scope="session")
def causal_folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Folders of tiny causal models, by name."""
    return causal_models.build(tmp_path_factory.mktemp("causal"))


def choose_window(token: int, count: int, width: int) -> tuple[int, int]:
    """Return the window that predicts a token: the first that begins at a multiple of its half and has it."""
    starts = [start for start in range(0, count, width // 2) if start <= token < start + width]
    return starts[0], min(starts[0] + width, count)


def log_softmax(logits: Any) -> Any:  # noqa: ANN401
    """Return natural log-probabilities of a row of logits."""
    values = logits.double().numpy()
    return values - values.max() - math.log(np.exp(values - values.max()).sum())


def naive_causal(folder: Path, lines: tuple[str, ...], width: int) -> Iterator[float]:
    """Yield the log-probability of each token, one window and one forward pass for each."""
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32).eval()
    tokenizer = AutoTokenizer.from_pretrained(folder)
    for line in lines:
        own = tokenizer(line, add_special_tokens=False)["input_ids"]
        start = [tokenizer.bos_token_id] if tokenizer.bos_token_id is not None else [tokenizer.eos_token_id]
        start = [] if start == [None] else start
        for i in range(len(own)):
            first, _ = choose_window(i, len(own), width)
            before = [*start, *own[first:i]]
            if before:
                with torch.inference_mode():
                    logits = model(input_ids=torch.tensor([before])).logits[0, -1]
                yield float(log_softmax(logits)[own[i]])


def naive_masked(folder: Path, lines: tuple[str, ...], width: int) -> Iterator[float]:
    """Yield the log-probability of each token where it alone is masked, one forward pass for each."""
    import torch
    from transformers import AutoModelForMaskedLM, AutoTokenizer

    model = AutoModelForMaskedLM.from_pretrained(folder, dtype=torch.float32).eval()
    tokenizer = AutoTokenizer.from_pretrained(folder)
    for line in lines:
        own = tokenizer(line, add_special_tokens=False)["input_ids"]
        for i in range(len(own)):
            first, end = choose_window(i, len(own), width)
            ids = [tokenizer.cls_token_id, *own[first:end], tokenizer.sep_token_id]
            ids[1 + i - first] = tokenizer.mask_token_id
            with torch.inference_mode():
                logits = model(input_ids=torch.tensor([ids])).logits[0, 1 + i - first]
            yield float(log_softmax(logits)[own[i]])


# --- the numbers ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("window", [512, 8])
@pytest.mark.parametrize("name", CAUSAL)
def test_a_causal_model_has_the_perplexity_of_a_naive_loop(
    name: str, window: int, causal_folders: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """With start token and without, in windows of what the model takes, and in short ones."""
    monkeypatch.setattr(perplexity, "WINDOW", window)
    model: Any = load(str(causal_folders[name]))
    width = min(window, model.max_length + 1 - len(model.start))
    expected = [*naive_causal(causal_folders[name], TEXT.lines, width)]

    made = measure_perplexity(model, TEXT)

    assert (made.kind, made.tokens) == ("perplexity", len(expected))
    assert made.value == pytest.approx(math.exp(-np.mean(expected)), rel=1e-5)


@pytest.mark.parametrize("window", [512, 8])
@pytest.mark.parametrize("name", ["bert", "albert", "roberta"])
def test_a_masked_model_has_the_pseudo_perplexity_of_a_naive_loop(
    name: str, window: int, tiny_models: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each token is masked once, special tokens never."""
    monkeypatch.setattr(perplexity, "WINDOW", window)
    text = EvaluationText("text", (*TEXT.lines[:3], " ".join([LONG] * 2)))
    expected = [*naive_masked(tiny_models[name], text.lines, min(window, 94))]

    made = measure_perplexity(load(str(tiny_models[name])), text)

    assert (made.kind, made.tokens) == ("pseudo-perplexity", len(expected))
    assert made.value == pytest.approx(math.exp(-np.mean(expected)), rel=1e-5)


def make_causal(answers: dict[tuple[tuple[int, ...], int], float], start: tuple[int, ...] = (9,)) -> Any:  # noqa: ANN401
    """Return a causal model that cuts a line into its letters, and knows the answers to some queries."""
    return SimpleNamespace(
        name="stub",
        ability="causal",
        start=start,
        max_length=8,
        encode=lambda lines: [SimpleNamespace(ids=tuple("ab".index(letter) for letter in line)) for line in lines],
        log_likelihoods=lambda queries: np.array([answers[query] for query in queries]),
    )


def test_two_tokens_by_hand() -> None:
    """P(a | start) = 1/2 and P(b | start, a) = 1/8: the perplexity is the root of 16. Without start, b counts alone."""
    text = EvaluationText("ab", ("ab",))

    with_start = measure_perplexity(make_causal({((9, 0, 1), 1): math.log(1 / 2) + math.log(1 / 8)}), text)
    without = measure_perplexity(make_causal({((0, 1), 1): math.log(1 / 8)}, start=()), text)

    assert (with_start.tokens, without.tokens) == (2, 1)
    assert with_start.value == pytest.approx(4.0, rel=1e-12)
    assert without.value == pytest.approx(8.0, rel=1e-12)


@pytest.mark.parametrize("width", [2, 3, 4, 7])
@pytest.mark.parametrize("tokens", [0, 1, 2, 5, 8, 23])
def test_windows_predict_each_token_once(tokens: int, width: int) -> None:
    """All but those of the first window have half a window before them, at least."""
    predicted: list[int] = []
    for first, end, new in cut_windows(tokens, width):
        assert first <= new < end <= first + width
        assert first == 0 or new - first >= width // 2
        predicted += range(new, end)
    assert predicted == [*range(tokens)]


def test_the_number_does_not_depend_on_batches(causal_folders: dict[str, Path], tiny_models: dict[str, Path]) -> None:
    """Nor on the order of lines, which are texts by themselves."""
    for folder in (causal_folders["gpt2"], tiny_models["bert"]):
        text = EvaluationText("text", TEXT.lines[:3])
        first = measure_perplexity(load(str(folder)), text).value
        turned = EvaluationText("text", text.lines[::-1])
        assert measure_perplexity(load(str(folder), batch_tokens=8), turned).value == pytest.approx(first, rel=1e-6)


@pytest.mark.parametrize(("value", "message"), [(-math.inf, "0, or not a number"), (math.nan, "0, or not a number")])
def test_a_broken_model_has_no_perplexity(value: float, message: str) -> None:
    """One message, no number that looks like one."""
    with pytest.raises(ModelError, match=message):
        measure_perplexity(make_causal({((9, 0, 1), 1): value}), EvaluationText("ab", ("ab",)))


def test_where_no_token_is_predicted_there_is_no_number() -> None:
    """A line of one token without a start token."""
    with pytest.raises(ModelError, match="no token of a can be predicted"):
        measure_perplexity(make_causal({}, start=()), EvaluationText("a", ("a",)))


def test_other_models_have_none(tiny_models: dict[str, Path], tmp_path: Path) -> None:
    """Encoders, NLI models and files of vectors predict no tokens."""
    with pytest.raises(ModelError, match="does not predict tokens"):
        measure_perplexity(SimpleNamespace(name="x", ability="vectors"), TEXT)
    assert not predicts_tokens("vectors:x.txt")
    bert = tiny_models["bert"]
    assert predicts_tokens(str(bert))
    for architecture in ("BertModel", "BertForSequenceClassification"):
        encoder = shutil.copytree(bert, tmp_path / architecture)
        config = json.loads((bert / "config.json").read_text()) | {"architectures": [architecture]}
        (encoder / "config.json").write_text(json.dumps(config))
        assert not predicts_tokens(str(encoder))
        assert choose_text(str(encoder), None) == (None, "")
        with pytest.raises(ModelError, match="leave --text out"):
            choose_text(str(encoder), "text.txt")


# --- texts ----------------------------------------------------------------------------------------------------------


def test_lines_of_a_file_are_texts(tmp_path: Path) -> None:
    """Blank ones are left out; the hash is of what is left."""
    path = tmp_path / "text.txt"
    path.write_bytes("\ufeffOne line.\r\n\n  Zwei Bären.  \n".encode())

    text = read_text(path)

    assert text == EvaluationText("text.txt", ("One line.", "Zwei Bären."))
    assert text.sha256 == hashlib.sha256("One line.\nZwei Bären.\n".encode()).hexdigest()


@pytest.mark.parametrize(
    ("data", "message"), [(b"", "does not contain any text"), (b"\n \n", "any text"), (b"a\n\xff\n", "text.txt:2")]
)
def test_a_file_without_text_is_refused(tmp_path: Path, data: bytes, message: str) -> None:
    """In one message, with its name."""
    (tmp_path / "text.txt").write_bytes(data)
    with pytest.raises(SenseprobeError, match=message):
        read_text(tmp_path / "text.txt")
    with pytest.raises(SenseprobeError, match="cannot be read"):
        read_text(tmp_path / "none.txt")


def test_a_text_has_an_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A long one is refused, not cut."""
    monkeypatch.setattr(perplexity, "MOST_CHARACTERS", 10)
    (tmp_path / "text.txt").write_text("12345\n123456\n")
    with pytest.raises(SenseprobeError, match="more than 10 characters"):
        read_text(tmp_path / "text.txt")


@pytest.mark.usefixtures("prepared_wordnet")
def test_glosses_are_the_same_everywhere() -> None:
    """Those whose sha256 comes first, without examples."""
    text = sample_glosses()

    assert text.name == "300 glosses of WordNet 3.0"
    assert text.lines[0] == "refer to or be relevant or familiar to"
    assert text.lines[2] == "fall or come down violently"
    assert text.sha256 == "b83efb7b96ba3f3035becedc2fc938c75bba9951d48333080d2d1b5cfcaa7bed"
    assert not any('"' in line for line in text.lines)
    assert sample_glosses(10).lines == text.lines[:10]


def test_without_wordnet_there_are_no_glosses(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The message says how to prepare it."""
    monkeypatch.setenv("SENSEPROBE_WORDNET", str(tmp_path))
    with pytest.raises(LexiconError, match="senseprobe wordnet"):
        sample_glosses()


# --- records --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["gpt2", "bert"])
def test_a_record_gets_both_numbers(
    name: str, causal_folders: dict[str, Path], tiny_models: dict[str, Path], tmp_path: Path
) -> None:
    """Of the parent and of the folder, to six digits; the record's sha256 is another one then."""
    import torch
    from transformers import AutoModelForCausalLM, AutoModelForMaskedLM, AutoTokenizer

    parent = {**causal_folders, **tiny_models}[name]
    text = EvaluationText("text", TEXT.lines[:3])
    model: Any = (AutoModelForCausalLM if name == "gpt2" else AutoModelForMaskedLM).from_pretrained(parent)
    with torch.no_grad():
        model.get_input_embeddings().weight[:, 0] = 0
    folder = tmp_path / "out"
    model.save_pretrained(folder)
    AutoTokenizer.from_pretrained(parent).save_pretrained(folder)
    with pytest.raises(ModelError, match="does not have a record"):
        add_perplexity(str(parent), folder, text)
    (folder / RECORD).write_bytes(make_record(form="transformers").to_bytes())
    expected = [measure_perplexity(load(str(place)), text) for place in (parent, folder)]

    record = add_perplexity(str(parent), folder, text)

    assert record == read_record(folder)
    assert record.digest != make_record(form="transformers").digest
    made = record.perplexity
    assert made is not None
    assert (made.kind, made.text, made.sha256, made.tokens) == (
        expected[0].kind,
        "text",
        text.sha256,
        expected[0].tokens,
    )
    assert [made.before, made.after] == pytest.approx([value.value for value in expected], rel=1e-5)
    assert made.before != made.after


def test_models_that_cut_texts_otherwise_are_not_compared(causal_folders: dict[str, Path], tmp_path: Path) -> None:
    """Perplexities of other tokens say nothing of each other."""
    folder = shutil.copytree(causal_folders["llama"], tmp_path / "llama")
    (folder / RECORD).write_bytes(make_record(form="transformers").to_bytes())
    with pytest.raises(ModelError, match="into the same tokens"):
        add_perplexity(str(causal_folders["gpt2"]), folder, TEXT)


# --- model debias ---------------------------------------------------------------------------------------------------


def test_a_copy_has_both_numbers_and_its_controls_none(
    causal_folders: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Printed in a line; a check makes the copy again without the text."""
    (tmp_path / "text.txt").write_text("Japanese people are kind.\nHe judges the horses.\n")
    monkeypatch.chdir(tmp_path)

    made = debias(causal_folders["gpt2"], "out", direction="he-she", controls=1, text="text.txt")

    numbers = made.record.perplexity
    assert numbers is not None
    assert (numbers.kind, numbers.text) == ("perplexity", "text.txt")
    text = read_text(Path("text.txt"))
    expected = [measure_perplexity(load(str(place)), text).value for place in (causal_folders["gpt2"], "out")]
    assert [numbers.before, numbers.after] == pytest.approx(expected, rel=1e-5)
    assert read_record(Path("out")) == made.record
    assert numbers.describe() in str(made.section())
    (control,) = made.controls
    assert (record := read_record(control)) is not None
    assert record.perplexity is None
    assert not check_debias("out").differences


def test_numbers_are_told_in_a_line() -> None:
    """With the change in per cent."""
    usual: dict[str, Any] = {"kind": "pseudo-perplexity", "text": "a.txt", "sha256": "0" * 64, "tokens": 4321}
    made = Perplexity(before=40.0, after=41.0, **usual)
    assert made.describe() == "pseudo-perplexity on a.txt (4,321 tokens): 40 before, 41 after (+2.5 %)"
    assert Perplexity(before=40.0, after=30.0, **usual).describe().endswith("(-25.0 %)")


@pytest.mark.usefixtures("prepared_wordnet")
def test_glosses_are_the_default_of_models_that_predict(
    causal_folders: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without WordNet a line says so; ``none`` leaves the text out, and other models have none."""
    gpt2 = str(causal_folders["gpt2"])
    chosen, reason = choose_text(gpt2, None)
    assert (chosen, reason) == (sample_glosses(), "")
    assert choose_text(gpt2, "none") == choose_text("vectors:x.txt", None) == (None, "")

    monkeypatch.setenv("SENSEPROBE_WORDNET", str(tmp_path))
    made = debias(gpt2, tmp_path / "out", direction="he-she")
    assert made.record.perplexity is None
    assert "no perplexity: wordnet-3.0 is not prepared" in str(made.section())
    assert str(made.section()).endswith("run `senseprobe wordnet`, or give a --text")


def test_a_text_is_refused_before_anything_is_written(causal_folders: dict[str, Path], tmp_path: Path) -> None:
    """Where it is not there, or the model predicts no tokens."""
    (tmp_path / "vectors.txt").write_text("he 1 0 0\nshe 0 1 0\n")
    for model, message in (
        (causal_folders["gpt2"], "cannot be read"),
        (f"vectors:{tmp_path / 'vectors.txt'}", "leave --text out"),
    ):
        with pytest.raises(SenseprobeError, match=message):
            debias(model, tmp_path / "out", direction="he-she", text=tmp_path / "none.txt")
        assert not (tmp_path / "out").exists()


def test_a_broken_copy_is_written_without_a_number(
    causal_folders: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """That it has none is printed."""
    (tmp_path / "text.txt").write_text("He judges the horses.\n")
    monkeypatch.setattr(
        "senseprobe.evaluate.mitigation.perplexity._predict_causal", lambda model, lines: (-math.inf, 1)
    )

    made = debias(causal_folders["gpt2"], tmp_path / "out", direction="he-she", text=tmp_path / "text.txt")

    assert made.record.perplexity is None
    assert "no perplexity: " in str(made.section())
    assert (tmp_path / "out" / RECORD).exists()


def test_an_interrupted_measurement_leaves_nothing_behind(
    causal_folders: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A copy is there with all that is to be recorded, or not at all."""

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    (tmp_path / "text.txt").write_text("He judges the horses.\n")
    monkeypatch.setattr("senseprobe.evaluate.mitigation.perplexity.measure_perplexity", interrupt)

    with pytest.raises(KeyboardInterrupt):
        debias(causal_folders["gpt2"], tmp_path / "out", direction="he-she", text=tmp_path / "text.txt")

    assert [path.name for path in tmp_path.iterdir()] == ["text.txt"]
