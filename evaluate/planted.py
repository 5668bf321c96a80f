"""A small model with a known preference: a BERT trained for under a minute on sentences some of which are frequent.

It is a model of no language. It shows what a scorer measures next to the truth that was planted.
"""

from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TypeAlias

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray
from safetensors import SafetensorError
from tokenizers.normalizers import BertNormalizer
from tokenizers.pre_tokenizers import BertPreTokenizer
from transformers import BertConfig, BertForMaskedLM, BertTokenizer

from senseprobe.atomic_files import new_folders
from senseprobe.errors import ModelError
from senseprobe.evaluate import models
from senseprobe.evaluate.models.checkpoint import Pretrained, quiet
from senseprobe.evaluate.pipeline import result_of, rows_of, units_of_rows
from senseprobe.evaluate.result import Result
from senseprobe.evaluate.scorers import Answers, Scorer
from senseprobe.evaluate.scoring_job import ScoringJob
from senseprobe.evaluate.units import Unit

Ids: TypeAlias = NDArray[np.int64]

EPOCHS = 30
# Copies in the corpus: of a stereotype that is planted, of one that is not, and of what both are compared with.
_HIGH, _LOW, _MIDDLE = 8, 1, 3
_SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
_MASK = 4
_BATCH = 64
_RATE = 1.5e-3
_WARM_UP = 0.1  # of all steps
_NOT_PREDICTED = -100  # the label of a position that is not to be predicted
_SIZES: Mapping[str, float] = {
    "hidden_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "intermediate_size": 128,
    # Wider than the usual 0.02: in so few steps the model else learns how frequent words are, and hardly pairs.
    "initializer_range": 0.1,
    # The frequencies are to be learnt by heart: there is nothing to generalise to.
    "hidden_dropout_prob": 0.0,
    "attention_probs_dropout_prob": 0.0,
}


def _refuse(_model: object, _units: Iterable[Unit], _done: Container[Unit]) -> Iterator[Answers]:
    raise ModelError("a planted truth is not computed from a model")


TRUTH = Scorer(
    id="planted",
    title="planted truth",
    ability="masked",
    unit="nats",
    range=(0.0, float(np.log(_HIGH))),
    direction="higher: the model saw the sentence more often",
    source="none",
    equation="log(copies)",
    says="The logarithm of how often a sentence occurs in the corpus that the model was trained on.",
    score=_refuse,
)
"""The truth as a scorer, so that it goes through the estimands like scores; no model can be scored with it."""


def result(job: ScoringJob, folder: Path, *, share: float, progress: Callable[[int], None] | None = None) -> Result:
    """Train a model on the contrast rows of a job, and put the truth through the estimands as if it were scores."""
    tables = rows_of(job, TRUTH)
    rows = pd.concat([table.assign(config=name) for name, table in tables.items()], ignore_index=True)
    truth = train(rows, folder, share=share, seed=job.seed, progress=progress)
    units = units_of_rows(job, TRUTH, tables)
    units.add_answers((Unit(str(text)), (float(score),)) for text, score in truth.items())
    identity = models.load(str(folder), ability=TRUTH.ability).identity
    return result_of(job, TRUTH.tabulate(units), TRUTH, {"name": str(folder), **identity, "planted": f"{share:g}"})


def plant(rows: pd.DataFrame, *, share: float = 0.7, seed: int = 0) -> "pd.Series[int]":
    """Count the copies that each sentence gets: a Series of 8, 1 or 3, indexed by sentence, sorted.

    `rows` has the columns `stereo` and `anti`, and `config` where there are several. Of the n distinct stereo
    sentences of each config, round(`share` * n), drawn at random, get 8 copies and the others 1; sentences that are
    only ever anti get 3. A sentence that several configs share belongs to the first of them in alphabetical order.

    >>> rows = pd.DataFrame({"stereo": ["He cooks.", "He bakes."], "anti": ["She cooks.", "She bakes."]})
    >>> sorted(plant(rows, share=0.5).to_dict().values())
    [1, 3, 3, 8]
    """
    generator = np.random.default_rng(seed)
    stereo = pd.DataFrame({"sentence": rows["stereo"], "config": rows.get("config", "")})
    copies = dict.fromkeys(rows["anti"], _MIDDLE)
    for _, group in stereo.sort_values(["config", "sentence"]).drop_duplicates("sentence").groupby("config"):
        sentences = group["sentence"].to_numpy()
        high = generator.permutation(len(sentences)) < round(share * len(sentences))
        copies.update(zip(sentences, np.where(high, _HIGH, _LOW).tolist(), strict=True))
    return pd.Series(copies, dtype=np.int64, name="copies").sort_index()


def train(
    rows: pd.DataFrame,
    folder: Path,
    *,
    share: float = 0.7,
    seed: int = 0,
    epochs: int = EPOCHS,
    progress: Callable[[int], None] | None = None,
) -> "pd.Series[float]":
    """Train a small BERT on the sentences of `rows`, as often as `plant` has them, and save it in `folder`.

    Returns the truth: the log of each sentence's copies, indexed by sentence, to be read by the estimands as if it were
    a model's scores. `progress` is called with 1 after each of the `epochs`. The same seed gives the same
    model on any processor, but for the last bit of some weights. Raises ModelError where the folder cannot be written.
    """
    copies = plant(rows, share=share, seed=seed)
    try:
        with new_folders(folder):  # before a minute is spent
            return _train(copies, folder, seed, epochs, progress)
    except (OSError, SafetensorError) as error:
        raise ModelError(f"cannot write a model to {folder}: {error}") from error


def _train(
    copies: "pd.Series[int]", folder: Path, seed: int, epochs: int, progress: Callable[[int], None] | None
) -> "pd.Series[float]":
    tokenizer = tokenizer_of(copies.index.tolist())
    encoded = tokenizer(copies.index.tolist())["input_ids"]
    corpus = [np.array(ids) for ids, n in zip(encoded, copies, strict=True) for _ in range(n)]
    with torch.random.fork_rng(), _single_threaded():
        torch.manual_seed(seed)
        longest = max(map(len, corpus))
        model = BertForMaskedLM(BertConfig(vocab_size=len(tokenizer), max_position_embeddings=longest, **_SIZES))
        _fit(model, corpus, epochs, seed, progress)
    with quiet():
        model.save_pretrained(folder)
        tokenizer.save_pretrained(folder)
    return pd.Series(np.log(copies.to_numpy()), index=copies.index, name="truth")


def tokenizer_of(sentences: Sequence[str]) -> Pretrained:
    """Make a lower-casing BERT tokenizer whose vocabulary is the words of the sentences, each of them one token."""
    normalise, split = BertNormalizer(), BertPreTokenizer()
    words = {word for text in sentences for word, _ in split.pre_tokenize_str(normalise.normalize_str(text))}
    return BertTokenizer(vocab={word: i for i, word in enumerate((*_SPECIAL, *sorted(words)))})


@contextmanager
def _single_threaded() -> Iterator[None]:
    """Compute on one thread for a while: the same model on any number of cores, and as fast for matrices so small."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)


def _fit(model: Pretrained, corpus: list[Ids], epochs: int, seed: int, progress: Callable[[int], None] | None) -> None:
    """Minimise the loss on masked tokens: AdamW, the rate rising over the first steps, then falling to zero.

    In float64, since in float32 each kind of processor ends with weights of its own.
    """
    generator = np.random.default_rng(seed)
    steps = epochs * len(list(_batches(corpus, np.random.default_rng(0))))
    warm = max(1, round(_WARM_UP * steps))
    model.double().train()
    optimiser = torch.optim.AdamW(model.parameters(), lr=_RATE, fused=True)
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimiser, lambda step: min((step + 1) / warm, (steps - step) / max(1, steps - warm))
    )
    for _ in range(epochs):
        for batch in _batches(corpus, generator):
            ids, labels = map(torch.from_numpy, _mask(batch, model.config.vocab_size, generator))
            predicted = labels != _NOT_PREDICTED
            hidden = model.bert(input_ids=ids).last_hidden_state[predicted]  # the head is half of the time
            loss: torch.Tensor = torch.nn.functional.cross_entropy(model.cls(hidden), labels[predicted])
            loss.backward()  # type: ignore[no-untyped-call]
            optimiser.step()
            schedule.step()
            optimiser.zero_grad()
        if progress is not None:
            progress(1)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.copy_(parameter.round(decimals=8))  # biases of keys have no gradient, and hold rounding errors
    model.float()


def _batches(corpus: list[Ids], generator: np.random.Generator) -> Iterator[Ids]:
    """Shuffle the corpus into batches of equal length, each of shape (at most 64, length), in random order."""
    lengths = np.array([len(ids) for ids in corpus])
    order = generator.permutation(len(corpus))
    chunks = []
    for length in np.unique(lengths):
        members = order[lengths[order] == length]
        chunks += np.split(members, range(_BATCH, len(members), _BATCH))
    for i in generator.permutation(len(chunks)):
        yield np.stack([corpus[member] for member in chunks[i]])


def _mask(ids: Ids, words: int, generator: np.random.Generator) -> tuple[Ids, Ids]:
    """Return inputs and labels, shaped as `ids`, with 15 % of each sentence, one token at least, to be predicted.

    Of these, 80 % are masked, 10 % replaced by a random word, and 10 % left (Devlin et al. 2019, appendix A.2).
    """
    count = max(1, round(0.15 * (ids.shape[1] - 2)))
    chosen = np.zeros(ids.shape, dtype=bool)  # the first and last token are [CLS] and [SEP]
    chosen[:, 1:-1] = generator.random((len(ids), ids.shape[1] - 2)).argsort(axis=1) < count
    draw = generator.random(ids.shape)
    inputs = np.where(chosen & (draw < 0.8), _MASK, ids)
    inputs = np.where(chosen & (draw >= 0.9), generator.integers(len(_SPECIAL), words, ids.shape), inputs)
    return inputs, np.where(chosen, ids, _NOT_PREDICTED)
