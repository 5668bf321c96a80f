"""Decomposable attention trained on vectors of words, which stay as they are."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from senseprobe.errors import SenseprobeError
from senseprobe.evaluate.mitigation.attention import DecomposableAttention
from senseprobe.evaluate.mitigation.attention_files import write_attention
from senseprobe.evaluate.mitigation.attention_model import WordTable
from senseprobe.evaluate.mitigation.nli_corpus import Corpus, Examples
from senseprobe.evaluate.mitigation.nli_training import Job, TrainedModel, TrainingOptions, train_and_write
from senseprobe.evaluate.mitigation.trainer import Numbers, Task, TrainingSettings
from senseprobe.evaluate.models.base import device_of
from senseprobe.evaluate.models.vector_files import VectorFile
from senseprobe.messages import counted, listed

NOT_THE_PAPERS = (
    "Decomposable attention with a projective encoder (Parikh et al. 2016). Dev et al. (2020) trained it with a "
    "BiLSTM encoder, so these numbers are not those of their Table 8."
)

DEFAULTS = TrainingSettings(epochs=6, batch=128, rate=1e-3, seed=0, dropout=0.2)
"""What is chosen where a user chooses nothing; the paper's dropout, and Adam in place of its Adagrad."""

HIDDEN = 100
"""Units of each layer; the paper has 200."""

_MOST_NAMED = 20


class VectorTask(Task):
    """The task of an attention model: pairs of `examples` whose texts both have a word with a vector."""

    def __init__(self, examples: Examples, words: WordTable) -> None:
        numbered = words.number(examples.texts)
        self.words, self.gold = words, examples.gold
        self._pairs = examples.pairs
        self._sizes = np.array([len(numbers) for numbers, _ in numbered])
        self._starts = np.concatenate([[0], np.cumsum(self._sizes)[:-1]])
        self._flat = np.array([number for numbers, _ in numbered for number in numbers], dtype=np.int64)
        self.missing = dict.fromkeys(word for _, missing in numbered for word in missing)
        self.usable: NDArray[np.bool_] = np.all(self._sizes[self._pairs] > 0, axis=1)

    def start(self, settings: TrainingSettings, hidden: int, device: torch.device) -> None:
        """Make the network, whose first weights the seed decides."""
        with torch.random.fork_rng():
            torch.manual_seed(settings.seed)
            self.network = DecomposableAttention(self.words.file.dimensions, hidden, drop=settings.dropout or 0.0)
        self.network.to(device)
        self._vectors = torch.from_numpy(self.words.vectors).to(device)

    def lengths(self, pairs: Numbers) -> NDArray[np.int64]:
        """Return the words of both texts of pairs."""
        return np.asarray(self._sizes[self._pairs[pairs]].sum(axis=1))

    def logits(self, pairs: Numbers) -> Tensor:
        """Return the logits of pairs; terms of words are computed once for each word of the batch."""
        padded = [self._pad(texts) for texts in self._pairs[pairs].T]
        distinct = np.unique(np.concatenate([texts[texts >= 0] for texts in padded]))
        places = [np.where(texts >= 0, np.searchsorted(distinct, texts), -1) for texts in padded]
        device = self._vectors.device
        premises, hypotheses = (torch.from_numpy(texts).to(device) for texts in places)
        logits: Tensor = self.network(self._vectors[torch.from_numpy(distinct).to(device)], premises, hypotheses)
        return logits

    def _pad(self, texts: NDArray[np.int32]) -> NDArray[np.int64]:
        sizes, starts = self._sizes[texts], self._starts[texts]
        columns = np.arange(sizes.max(initial=0))
        places = np.minimum(starts[:, None] + columns, len(self._flat) - 1)
        return np.where(columns < sizes[:, None], self._flat[places], -1)


def train_on_vectors(
    corpus: Corpus,
    dev: Corpus | None,
    vectors: VectorFile,
    out: Path,
    options: TrainingOptions,
    notify: Callable[[str], None],
    progress: Callable[[int, int], None],
) -> TrainedModel:
    """Train decomposable attention on vectors that stay as they are. Raises SenseprobeError, ModelError."""
    settings, hidden = options.settings(DEFAULTS), options.hidden or HIDDEN
    examples = options.split(corpus, dev)
    words = WordTable(vectors, 1.0)
    task = VectorTask(examples, words)
    if not len(words):
        raise SenseprobeError(f"no word of {corpus.name} has a vector in {vectors.name}")
    words.set_scale(float(np.linalg.norm(words.vectors, axis=1).mean()))
    device = device_of(options.device)
    task.start(settings, hidden, device)
    facts = {
        "method": NOT_THE_PAPERS,
        "on": {"name": vectors.name, **vectors.identity},
        "hidden": hidden,
        "scale": words.scale,
        "words": len(words),
        "words_without_vector": len(task.missing),
        "first_words_without_vector": [*task.missing][:_MOST_NAMED],
        "pairs_without_words": int((~task.usable).sum()),
    }
    if task.missing:
        named = listed([*task.missing][:_MOST_NAMED], len(task.missing))
        notify(f"{counted(len(task.missing), 'word')} of the corpus without a vector, left out of their texts: {named}")
    return train_and_write(
        task,
        examples.select(task.usable),
        settings,
        Job(corpus, dev, out, options, facts, device),
        lambda folder: write_attention(folder, task.network, words),
        notify,
        progress,
    )
