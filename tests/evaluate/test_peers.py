"""Scores of minicons and lm-eval, run as they are, beside ours: where they are the same, and who is right where not.

Both are installed from PyPI into an environment of their own, and score the tiny models of `conformance/` there
(`peers/ask.py`). Where a definition differs, the difference itself is computed with transformers alone, or the texts
that it concerns are listed.
"""

import json
import math
import os
import runpy
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import TypeAlias

import numpy as np
import pytest
from numpy.typing import NDArray

from senseprobe.evaluate.scorers import get
from senseprobe.evaluate.units import Unit

pytestmark = pytest.mark.system

# What `peers/ask.py` prints: kind, model, score, a number per text.
Answers: TypeAlias = dict[str, dict[str, dict[str, list[float | None]]]]
Folders: TypeAlias = dict[str, dict[str, Path]]
Numbers: TypeAlias = NDArray[np.float64]

TESTS = Path(__file__).parents[1]
CASES = json.loads((TESTS / "conformance" / "masked_vectors.json").read_text("utf-8"))["cases"]
VECTORS = json.loads((TESTS / "conformance" / "causal_vectors.json").read_text("utf-8"))
MASKED = [text for text in dict.fromkeys(case["text"] for case in CASES) if 0 < len(text) < 60]
# The last three begin with the names of start tokens, or are a token too long.
CAUSAL = [
    *(text for text in VECTORS["texts"] if 0 < len(text) < 60),
    *("<|endoftext|> are kind", "<s> are kind", " ".join(["kind"] * 49)),
]
START = {
    **dict.fromkeys(("gpt2", "qwen2", "bloom", "mamba"), "<|endoftext|>"),
    **dict.fromkeys(("llama", "llama-end", "mistral"), "<s>"),
}
# These compute a part of what they do in single precision, where padding changes the last bits.
LOOSE = {"bloom": 2e-6, "mamba": 1e-4}
# A tokenizer reads the name as its own special token, except BERT's here, which reads it as text.
NAMED = "english people are [SEP] kind."


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> Folders:
    """Folders of the tiny models, by kind and name."""
    import torch

    torch.set_num_threads(1)
    made = {}
    for kind in ("masked", "causal"):
        build = runpy.run_path(str(TESTS / "conformance" / f"{kind}_models.py"))["build"]
        made[kind] = build(tmp_path_factory.mktemp(kind))
    return made


@pytest.fixture(scope="module")
def answers(peers: Path, folders: Folders) -> Answers:
    """What the two programs give for all models and texts."""
    named = {kind: {name: str(folder) for name, folder in some.items()} for kind, some in folders.items()}
    asked = json.dumps({**named, "texts": {"masked": MASKED, "causal": CAUSAL}})
    offline = {"HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1"}
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"} | offline
    command = [peers, TESTS / "peers" / "ask.py"]
    done = subprocess.run(command, input=asked, capture_output=True, text=True, env=environment, check=False)
    assert done.returncode == 0, done.stderr
    found: Answers = json.loads(done.stdout)
    return found


def _ours(kind: str, folder: Path, name: str, texts: Sequence[str]) -> Numbers:
    from senseprobe.evaluate.models import causal, masked

    load = {"masked": masked.load, "causal": causal.load}[kind]
    model = load(str(folder), device="cpu", dtype="float64")
    return get(name).numbers(model, [Unit(text) for text in texts])[:, 0]


def _theirs(values: Sequence[float | None]) -> Numbers:
    return np.array([math.nan if value is None else value for value in values])


def _other(texts: Sequence[str], ours: Numbers, theirs: Numbers, bound: float) -> set[str]:
    """The texts whose two numbers are further apart than `bound`, or of which only one is missing."""
    same = np.isclose(ours, theirs, rtol=0, atol=bound, equal_nan=True)
    return {text for text, is_same in zip(texts, same, strict=True) if not is_same}


@pytest.mark.parametrize("name", ["bert", "bert-bare", "bert-start", "distilbert", "roberta", "albert", "modernbert"])
def test_pll_is_that_of_minicons(name: str, folders: Folders, answers: Answers) -> None:
    """To 1e-5 (minicons returns single precision), but for a special token that the text itself names.

    minicons leaves out each token that has the id of one; we leave out what the tokenizer added. The text's own is one
    of the sentence's tokens, over which Salazar et al. (2020, equation 1) sum.
    """
    from transformers import AutoTokenizer

    folder = folders["masked"][name]
    ours = _ours("masked", folder, "pll", MASKED)
    theirs = _theirs(answers["masked"][name]["original"])
    tokenizer = AutoTokenizer.from_pretrained(folder)
    named = tokenizer.sep_token_id in tokenizer(NAMED, add_special_tokens=False)["input_ids"]
    assert named == (name not in {"bert", "roberta"})

    assert _other(MASKED, ours, theirs, 1e-5) == ({NAMED} if named else set())
    if named:
        difference = (ours - theirs)[MASKED.index(NAMED)]
        assert difference == pytest.approx(_log_p_of_named(folder), rel=0, abs=1e-5)


def _log_p_of_named(folder: Path) -> float:
    """Log P of the text's own [SEP] where it is masked, by transformers alone."""
    import torch
    from transformers import AutoModelForMaskedLM, AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(folder)
    model = AutoModelForMaskedLM.from_pretrained(folder, dtype=torch.float64).eval()
    ids = tokenizer(NAMED, return_tensors="pt")["input_ids"]
    place = int((ids[0] == tokenizer.sep_token_id).nonzero()[0])  # the first: one that was added stands at the end
    ids[0, place] = tokenizer.mask_token_id
    with torch.no_grad():
        logits = model(input_ids=ids).logits[0, place]
    return float(torch.log_softmax(logits, 0)[tokenizer.sep_token_id])


# minicons takes for a word what a tokenizer's pre-tokenizer does, so that one sentence has other words under another
# tokenizer. Kauf and Ivanova (2023) speak of words, and senseprobe reads them off the text, as runs of letters, marks
# and digits: the same for all models. So ours is what the paper says where a pre-tokenizer knows no words
# (SentencePiece: a word with its full stop; byte-level BPE: white space, and an accent or a 't on its own). For Chinese
# characters, of which BERT's makes a word each, and we one of 日本, it says nothing.
CHINESE = {"日本"}
BYTES = {"\u0301", "\u200d", "  ", "n't"}
OTHER_WORDS = {
    **dict.fromkeys(("bert", "bert-bare", "bert-start", "distilbert"), CHINESE),
    **dict.fromkeys(("roberta", "modernbert"), BYTES),
    "albert": {".", "👩", "  ", "n't"},
}


@pytest.mark.parametrize("name", OTHER_WORDS)
def test_words_are_those_of_minicons_where_its_tokenizer_has_words(
    name: str, folders: Folders, answers: Answers
) -> None:
    """`pll-word-l2r` to 1e-5, but for texts that a pre-tokenizer cuts otherwise, each of which is another number."""
    ours = _ours("masked", folders["masked"][name], "pll-word-l2r", MASKED)
    theirs = _theirs(answers["masked"][name]["within_word_l2r"])
    named = {NAMED} - ({NAMED} if name in {"bert", "roberta"} else set())
    cut = {text for text in MASKED if any(what in text for what in OTHER_WORDS[name])}

    assert _other(MASKED, ours, theirs, 1e-5) == cut | named
    assert len(MASKED) - len(cut | named) >= 5


@pytest.mark.parametrize("name", START)
def test_ll_is_the_loglikelihood_of_lm_eval(name: str, folders: Folders, answers: Answers) -> None:
    """To 1e-6, for every kind of start token, padded in batches of four; but for two kinds of text.

    A text that spells the start token out: lm-eval takes that for the context, which leaves the text's first token
    without a probability, so that is not the likelihood of this text. A text that is too long: lm-eval stops there
    with an AssertionError, we leave it unscored.
    """
    ours = _ours("causal", folders["causal"][name], "ll", CAUSAL)
    theirs = _theirs(answers["causal"][name]["lm-eval"])
    spelt = f"{START[name]} are kind"
    assert _other(CAUSAL, ours, theirs, LOOSE.get(name, 1e-6)) == {spelt}

    place = CAUSAL.index(spelt)
    without = _ours("causal", folders["causal"][name], "ll-no-start", [spelt])
    assert theirs[place] == pytest.approx(without[0], rel=0, abs=LOOSE.get(name, 1e-6))
    # Models with positions that reach as far as one likes read it; both of the others give up, each in its way.
    assert math.isfinite(theirs[-1]) == math.isfinite(ours[-1]) == (name in {"bloom", "mamba"})


SHORT = [text for text in CAUSAL if len(text) < 60]


@pytest.mark.parametrize("name", START)
def test_sums_of_minicons_are_ll_where_one_start_token_stands_before_the_text(
    name: str, folders: Folders, answers: Answers
) -> None:
    """To 1e-6: minicons leaves out the first token of what the tokenizer gives, whatever it is, and never the last.

    - Where the tokenizer adds nothing, that is `ll-no-start`, and `ll` with its `bos_token=True`. A text of one token
      is 0 then, which would be the best of all; ours is unscored.
    - Where the tokenizer puts a start token, that is `ll`; with `bos_token=True` two stand there, as in no training
      text.
    - Where the tokenizer puts an end token after a text, it counts as one of the text's: that the sentence ends there
      is another question, so ours leaves it out.
    """
    folder = folders["causal"][name]
    asked = answers["causal"][name]
    plain = _theirs(asked["minicons"])[: len(SHORT)]
    sums = {scorer: _ours("causal", folder, scorer, SHORT) for scorer in ("ll", "ll-no-start")}
    bound = LOOSE.get(name, 1e-6)
    if name == "llama-end":
        ends = np.array([_log_p_of_end(folder, text) for text in SHORT])
        assert _other(SHORT, sums["ll"] + ends, plain, bound) == set()
    elif START[name] == "<s>":
        assert _other(SHORT, sums["ll"], plain, bound) == set()
    else:
        single = {"kind", " "}
        assert _other(SHORT, sums["ll-no-start"], plain, bound) == single
        assert [plain[SHORT.index(text)] for text in single] == [0, 0]
    if "minicons-start" in asked:
        started = _theirs(asked["minicons-start"])[: len(SHORT)]
        assert _other(SHORT, sums["ll"], started, bound) == (set() if START[name] != "<s>" else {*SHORT})
    assert ("minicons-start" in asked) == (name not in {"qwen2", "bloom"})  # whose tokenizer has no such token


def _log_p_of_end(folder: Path, text: str) -> float:
    """Log P of the end token after a text, by transformers alone."""
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(folder)
    model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float64).eval()
    ids = tokenizer(text, return_tensors="pt")["input_ids"]
    assert ids[0, -1] == tokenizer.eos_token_id
    with torch.no_grad():
        logits = model(input_ids=ids[:, :-1]).logits[0, -1]
    return float(torch.log_softmax(logits, 0)[tokenizer.eos_token_id])
