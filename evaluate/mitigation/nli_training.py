"""What trainings of models of inference have in common: options, the record, and the folder that is written.

corpus -> pairs that are trained on and held out -> epochs -> a folder with the model and `training.json`
"""

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from importlib.metadata import version as installed_version
from math import inf
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError

from senseprobe.atomic_files import whole_folder
from senseprobe.document import Section, Table
from senseprobe.errors import SenseprobeError
from senseprobe.evaluate.mitigation.nli_corpus import LABELS, Corpus, Examples
from senseprobe.evaluate.mitigation.record import TRAINING
from senseprobe.evaluate.mitigation.trainer import (
    Numbers,
    Task,
    TrainingSettings,
    TrainingState,
    train,
)
from senseprobe.messages import counted, printable


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

    def __post_init__(self) -> None:
        for name, least in {"epochs": 1, "batch": 1, "hidden": 1, "seed": 0}.items():
            value = getattr(self, name)
            if value is not None and value < least:
                raise SenseprobeError(f"{name} is {value}, but must be at least {least}")
        for name in ("rate", "minutes"):
            value = getattr(self, name)
            if value is not None and not 0 < value < inf:
                raise SenseprobeError(f"{name} is {value:g}, but must be above 0")

    def split(self, corpus: Corpus, dev: Corpus | None) -> Examples:
        """Return the pairs of a corpus, with those that are held out."""
        return Examples.join(corpus, dev) if dev else Examples.split(corpus, self.share)

    def settings(self, default: TrainingSettings) -> TrainingSettings:
        """Return the settings, of which those that nobody chose are the default's."""
        chosen = {name: getattr(self, name) for name in ("epochs", "batch", "rate", "dropout", "seed")}
        return TrainingSettings(
            **asdict(default) | {name: value for name, value in chosen.items() if value is not None}
        )


@dataclass(frozen=True, slots=True)
class Job:
    """What is trained, and where it is written; `facts` are those of the record that only this kind of training has."""

    corpus: Corpus
    dev: Corpus | None
    out: Path
    options: TrainingOptions
    facts: Mapping[str, Any]
    device: torch.device


def train_and_write(
    task: Task,
    splits: tuple[Numbers, Numbers],
    settings: TrainingSettings,
    job: Job,
    write: Callable[[Path], None],
    notify: Callable[[str], None],
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
        notify("no pair is held out, so the accuracy of the model is not known: hold pairs out with --dev")
    state = TrainingState(job.out.with_name(f".{job.out.name}.training"), record)
    with _explained_writing(job.out), state.opened():
        training = train(
            task, splits, settings, state, minutes=job.options.minutes, labels=LABELS, notify=notify, progress=progress
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
            (partial / TRAINING).write_text(text, encoding="utf-8")
        state.remove()
    return TrainedModel(job.out, record)


@contextmanager
def _explained_writing(out: Path) -> Iterator[None]:
    try:
        yield
    except (OSError, SafetensorError) as error:  # of a full disk, too, which safetensors calls an error of its own
        reason = getattr(error, "strerror", None) or printable(str(error))
        raise SenseprobeError(
            f"cannot write {printable(str(out))}: {reason}; the same command goes on after the last epoch that was kept"
        ) from error
