"""A model of transformers with a new classification head, trained on pairs; the result is an ordinary folder."""

import inspect
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from transformers import AutoModelForSequenceClassification

from senseprobe.errors import ModelError
from senseprobe.evaluate.mitigation.nli_corpus import LABELS, Corpus, Examples
from senseprobe.evaluate.mitigation.nli_training import Job, TrainedModel, TrainingOptions, train_and_write
from senseprobe.evaluate.mitigation.record import read_record
from senseprobe.evaluate.mitigation.trainer import Numbers, Task, TrainingSettings
from senseprobe.evaluate.models.alteration import MAP, RECORD
from senseprobe.evaluate.models.base import device_of, fingerprint, longest_input
from senseprobe.evaluate.models.checkpoint import Pretrained, explained, open_checkpoint, quiet, read_config
from senseprobe.evaluate.models.nli import Joiner
from senseprobe.evaluate.models.source import ModelSource
from senseprobe.messages import counted

DEFAULTS = TrainingSettings(epochs=3, batch=32, rate=3e-5, seed=0, dropout=0.1, warm_up=0.1, decay=0.01, clip=1.0)
"""What is chosen where a user chooses nothing: epochs, rate and dropout of Dev et al. (2020), who do not say more."""

_DROPOUTS = (
    *("hidden_dropout_prob", "attention_probs_dropout_prob", "embd_pdrop", "attn_pdrop", "resid_pdrop"),
    *("attention_dropout", "dropout", "classifier_dropout", "classifier_dropout_prob", "seq_classif_dropout"),
)
"""What architectures call their dropout in config.json."""

_HEADS = ("classifier", "pre_classifier", "score", "pooler")
"""What names of weights of a new head begin with, some after the name of the architecture."""


class ModelTask(Task):
    """The task of a model of transformers: pairs as its tokenizer joins them, padded on the right within a batch."""

    def __init__(self, examples: Examples, network: Pretrained, tokenizer: Pretrained) -> None:
        self.network, self.gold = network, examples.gold
        parameters = inspect.signature(network.forward).parameters
        joiner = Joiner(tokenizer, typed="token_type_ids" in parameters)
        self._pairs = joiner.join([(examples.texts[a], examples.texts[b]) for a, b in examples.pairs])
        self._sizes = np.array([len(pair.ids) for pair in self._pairs])
        self._padding = next((id_ for id_ in (tokenizer.pad_token_id, tokenizer.eos_token_id) if id_ is not None), 0)
        longest = longest_input(network, tokenizer)
        self.usable = np.array([pair.whole for pair in self._pairs], dtype=np.bool_) & (self._sizes <= longest)

    @contextmanager
    def _padded(self) -> Iterator[None]:
        """Let a decoder know meanwhile which token is padding, for it classifies by the last token that is not."""
        config = self.network.config.get_text_config()
        before, config.pad_token_id = config.pad_token_id, self._padding
        try:
            yield
        finally:
            config.pad_token_id = before

    def lengths(self, pairs: Numbers) -> NDArray[np.int64]:
        """Return the tokens of pairs."""
        return np.asarray(self._sizes[pairs])

    def logits(self, pairs: Numbers) -> Tensor:
        """Return the logits of pairs."""
        batch, longest = [self._pairs[number] for number in pairs], int(self._sizes[pairs].max())
        inputs = {"input_ids": self._pad([pair.ids for pair in batch], longest, self._padding)}
        inputs["attention_mask"] = self._pad([(1,) * len(pair.ids) for pair in batch], longest, 0)
        if batch[0].types is not None:
            inputs["token_type_ids"] = self._pad([pair.types or () for pair in batch], longest, 0)
        with self._padded():
            logits: Tensor = self.network(**inputs).logits
        return logits

    def _pad(self, rows: Sequence[tuple[int, ...]], longest: int, padding: int) -> Tensor:
        padded = [(*row, *[padding] * (longest - len(row))) for row in rows]
        return torch.tensor(padded, device=self.network.device)


def train_on_model(
    corpus: Corpus,
    dev: Corpus | None,
    on: str,
    out: Path,
    options: TrainingOptions,
    notify: Callable[[str], None],
    progress: Callable[[int, int], None],
) -> TrainedModel:
    """Put a new classification head on a model, and train all of it, or all but its input embeddings.

    Raises SenseprobeError, and ModelError where the model has such a head, or cannot have one.
    """
    settings, examples = options.settings(DEFAULTS), options.split(corpus, dev)
    spec = ModelSource(on).spec
    altered = _find_alteration(spec, notify, freeze=options.freeze_embeddings)
    model, tokenizer = open_with_head(spec, settings)
    device = device_of(options.device)
    model.to(device)
    facts = {
        "method": "A model of transformers with a new classification head.",
        "on": {"name": on, **fingerprint(model, tokenizer)},
        "freeze_embeddings": options.freeze_embeddings,
    }
    if options.freeze_embeddings:
        model.get_input_embeddings().weight.requires_grad_(requires_grad=False)
    task = ModelTask(examples, model, tokenizer)
    facts["pairs_too_long_or_empty"] = int((~task.usable).sum())
    if not task.usable.all():
        notify(f"{counted(int((~task.usable).sum()), 'pair')} too long for the model, or without a token: left out")

    def write(folder: Path) -> None:
        with quiet():
            model.save_pretrained(folder)
            tokenizer.save_pretrained(folder)
        for path in altered:
            shutil.copyfile(path, folder / path.name)

    job = Job(corpus, dev, out, options, facts, device)
    return train_and_write(task, examples.select(task.usable), settings, job, write, notify, progress)


def _find_alteration(spec: str, notify: Callable[[str], None], *, freeze: bool) -> list[Path]:
    """Return the files that say what was removed from a model, for they go on with it; none where nothing was."""
    folder = Path(spec).expanduser()
    record = read_record(folder) if folder.is_dir() else None
    if record is None:
        return []
    if record.layers == "all":
        raise ModelError(
            f"{spec} is altered in all layers as senseprobe loads it, which training would not do: "
            "train a model whose input alone is altered"
        )
    if not freeze:
        notify(
            "the input embeddings are trained, too, so what was removed may come back: --freeze-embeddings keeps it out"
        )
    return [folder / name for name in (RECORD, MAP) if (folder / name).is_file()]


def open_with_head(spec: str, settings: TrainingSettings) -> tuple[Pretrained, Pretrained]:
    """Open a model with a new head, whose weights the seed decides, and its tokenizer."""
    config = read_config(spec)
    heads = [name for name in config.architectures or () if str(name).endswith("ForSequenceClassification")]
    if heads:
        raise ModelError(f"{spec} has a classification head already ({heads[0]}): name the model that it was made from")
    names = {label: number for number, label in enumerate(LABELS)}
    changes: dict[str, object] = {"id2label": dict(enumerate(LABELS)), "label2id": names}
    changes |= {"problem_type": "single_label_classification"}
    if settings.dropout is not None:
        changes |= {name: settings.dropout for name in _DROPOUTS if getattr(config, name, None) is not None}
    prefix = str(config.model_type).replace("-", "_")
    with torch.random.fork_rng(), explained(spec):
        torch.manual_seed(settings.seed)
        model, tokenizer = open_checkpoint(
            AutoModelForSequenceClassification,
            spec,
            dtype=torch.float32,
            allow_pickle=False,
            unused=(*_HEADS, f"{prefix}.pooler"),
            settings=changes,
        )
    return model, tokenizer
