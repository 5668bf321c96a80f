"""A model of inference trained on a corpus: on vectors of words, or on a model of transformers.

corpus -> pairs that are trained on and held out -> epochs -> a folder with the model and `training.json`
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from importlib.metadata import version as installed_version
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from senseprobe.atomic_files import whole_folder
from senseprobe.document import Section, Table
from senseprobe.errors import SenseprobeError
from senseprobe.evaluate.mitigation.attention import CLASSES, DecomposableAttention, WordTable
from senseprobe.evaluate.mitigation.attention_files import write_attention
from senseprobe.evaluate.mitigation.nli_corpus import Corpus, Examples
from senseprobe.evaluate.mitigation.trainer import (
    Numbers,
    Task,
    TrainingSettings,
    TrainingState,
    train,
)
from senseprobe.evaluate.models.base import device_of
from senseprobe.evaluate.models.vector_files import PREFIX, VectorFile
from senseprobe.messages import counted, listed

RECORD = "training.json"

NOT_THE_PAPERS = (
    "Decomposable attention with a projective encoder (Parikh et al. 2016). Dev et al. (2020) trained it with a "
    "BiLSTM encoder, so these numbers are not those of their Table 8."
)

_VECTOR_DEFAULTS = TrainingSettings(epochs=6, batch=128, rate=1e-3, seed=0, dropout=0.2)
_HIDDEN = 100
_MOST_NAMED = 20


@dataclass(frozen=True, slots=True)
class TrainedModel:
    """A model that was trained: its folder, and the record that `training.json` in it has."""

    folder: Path
    record: Mapping[str, Any]

    def section(self) -> Section:
        """Return what people read: right answers by label, what was trained, and what that is not."""
        rows = [[label, f"{100 * share:.1f}"] for label, share in self.record["dev_accuracy"].items()]
        columns = {"held-out pairs": "name", "right answers, %": "number"}
        tables = (Table.of_texts(columns, rows),) if rows else ()
        stopped = [f"Stopped {self.record['stopped']}."] if self.record["stopped"] else []
        method = [self.record["method"]] if self.record.get("method") else []
        counts = self.record["pairs"]
        trained = (
            f"Trained on {counts['training']:,} pairs, with {counts['held_out']:,} held out, for "
            f"{counted(len(self.record['epochs']), 'epoch')} (seed {self.record['settings']['seed']})."
        )
        return Section(f"Model in {self.folder}", (trained, *stopped, *method), tables=tables)

    def as_dict(self) -> dict[str, Any]:
        """Return it as JSON has it."""
        return {"folder": str(self.folder), **self.record}


@dataclass(frozen=True, kw_only=True, slots=True)
class TrainingOptions:
    """What a user may choose of a training; None is the default of what is trained.

    - `dev`: pairs to hold out, None for a `share` of the corpus; `minutes`: a limit; `device`: as `models.load` has it.
    - `freeze_embeddings`: of a model of transformers, whether its input embeddings stay as they are.
    """

    epochs: int | None = None
    batch: int | None = None
    rate: float | None = None
    dropout: float | None = None
    hidden: int | None = None
    seed: int = 0
    minutes: float | None = None
    share: float = 0.05
    device: str = "auto"
    freeze_embeddings: bool = False

    def settings(self, default: TrainingSettings) -> TrainingSettings:
        """Return the settings, of which those that nobody chose are the default's."""
        chosen = {name: getattr(self, name) for name in ("epochs", "batch", "rate", "dropout", "seed")}
        return TrainingSettings(
            **asdict(default) | {name: value for name, value in chosen.items() if value is not None}
        )


# --- vectors of words -------------------------------------------------------------------------------------------------


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
    say: Callable[[str], None],
    progress: Callable[[int, int], None],
) -> TrainedModel:
    """Train decomposable attention on vectors that stay as they are. Raises SenseprobeError, ModelError."""
    settings, hidden = options.settings(_VECTOR_DEFAULTS), options.hidden or _HIDDEN
    examples = Examples.join(corpus, dev) if dev else Examples.split(corpus, options.share)
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
        say(f"{counted(len(task.missing), 'word')} of the corpus without a vector, left out of their texts: {named}")
    return _train(
        task,
        (examples.training[task.usable[examples.training]], examples.held_out[task.usable[examples.held_out]]),
        settings,
        _Job(corpus, dev, out, options, facts, device),
        lambda folder: write_attention(folder, task.network, words),
        say,
        progress,
    )


def train_model(
    corpus: Corpus,
    dev: Corpus | None,
    on: str,
    out: Path,
    options: TrainingOptions,
    say: Callable[[str], None],
    progress: Callable[[int, int], None],
) -> TrainedModel:
    """Train on what `on` names: a file of vectors, or a model of transformers. Raises SenseprobeError, ModelError."""
    if not on.startswith(PREFIX):
        raise SenseprobeError(f"{on} is not a file of vectors (vectors:FILE)")
    if options.freeze_embeddings:
        raise SenseprobeError("vectors always stay as they are: leave --freeze-embeddings out")
    return train_on_vectors(corpus, dev, VectorFile.load(on), out, options, say, progress)


# --- what both have in common -----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Job:
    corpus: Corpus
    dev: Corpus | None
    out: Path
    options: TrainingOptions
    facts: Mapping[str, Any]
    device: torch.device


def _train(
    task: Task,
    splits: tuple[Numbers, Numbers],
    settings: TrainingSettings,
    job: _Job,
    write: Callable[[Path], None],
    say: Callable[[str], None],
    progress: Callable[[int, int], None],
) -> TrainedModel:
    """Train, and write the folder: what `write` puts there, and the record."""
    record = {
        "senseprobe": installed_version("senseprobe"),
        **job.facts,
        "corpus": job.corpus.as_dict(),
        "dev": job.dev.as_dict() if job.dev else {"share": job.options.share},
        "pairs": {"training": len(splits[0]), "held_out": len(splits[1])},
        "settings": asdict(settings),
        "device": job.device.type,
        "threads": torch.get_num_threads(),
        "torch": torch.__version__,
    }
    if not len(splits[0]):
        raise SenseprobeError(f"{job.corpus.name} leaves no pair to train on")
    if not len(splits[1]):
        say("no pair is held out, so the accuracy of the model is not known: hold pairs out with --dev")
    state = TrainingState(job.out.with_name(f".{job.out.name}.training"), record)
    with state.opened():
        training = train(
            task, splits, settings, state, minutes=job.options.minutes, labels=CLASSES, say=say, progress=progress
        )
        record |= {
            "minutes": job.options.minutes,
            "stopped": training.stopped,
            "epochs": [asdict(epoch) for epoch in training.epochs],
            "dev_accuracy": dict(training.dev_right),
        }
        text = json.dumps(record, indent=2, ensure_ascii=False, sort_keys=True) + "\n"
        with whole_folder(job.out) as partial:
            write(partial)
            (partial / RECORD).write_text(text, encoding="utf-8")
        state.remove()
    return TrainedModel(job.out, record)
