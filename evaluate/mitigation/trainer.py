"""Training by epochs: deterministic on one machine and number of threads, and resumable where it was interrupted.

After each epoch the state is written whole into a folder beside the model that is made. The same command reads it
again and goes on; with other settings it refuses to.
"""

import json
import os
import shutil
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from safetensors.torch import save_file
from torch import Tensor, nn

from senseprobe.arrays import explained, map_tensors
from senseprobe.atomic_files import locked, whole_folder, write_whole
from senseprobe.errors import ModelError, SenseprobeError
from senseprobe.evaluate.models.batching import out_of_memory
from senseprobe.messages import counted
from senseprobe.tables import UnreadableError, read_json

Numbers = NDArray[np.intp]

_SETTINGS, _PROGRESS, _STATE = "settings.json", "progress.json", "state.safetensors"


@dataclass(frozen=True, kw_only=True, slots=True)
class TrainingSettings:
    """How a model is trained; all of it changes the numbers.

    - `rate`: the learning rate of Adam with weight decay, which falls to 0 in a line after it rose over the first share
      `warm_up` of all steps; `clip`: the most that a gradient's norm may be, 0 for any.
    - `dropout`: None where it is the model's own.
    """

    epochs: int
    batch: int
    rate: float
    seed: int
    dropout: float | None = None
    warm_up: float = 0.0
    decay: float = 0.0
    clip: float = 0.0


@dataclass(frozen=True, kw_only=True, slots=True)
class Epoch:
    """What an epoch came to: mean loss and share of right answers while training, and right answers held out."""

    number: int
    loss: float
    accuracy: float
    dev_accuracy: float | None

    def describe(self, epochs: int, seconds: float) -> str:
        """Return the epoch in a line."""
        dev = "" if self.dev_accuracy is None else f", held out {self.dev_accuracy:.3f}"
        line = f"epoch {self.number} of {epochs}: loss {self.loss:.4f}, accuracy {self.accuracy:.3f}{dev}"
        return f"{line} ({seconds:.0f} s)"


class Task(Protocol):
    """What is trained: a network, its pairs, and their right answers."""

    network: nn.Module
    gold: NDArray[np.int8]

    def lengths(self, pairs: Numbers) -> NDArray[np.int64]:
        """Return how long pairs are, by which batches are made of pairs of similar length."""

    def logits(self, pairs: Numbers) -> Tensor:
        """Return the logits of pairs, shape (pairs, 3)."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Training:
    """A training that ended: its epochs, why it ended before the last one (else empty), right answers held out."""

    epochs: tuple[Epoch, ...]
    stopped: str
    dev_right: Mapping[str, float]


# --- steps ------------------------------------------------------------------------------------------------------------


class _Run:
    """A network in training: its optimizer, and how far it is."""

    def __init__(self, task: Task, pairs: Numbers, settings: TrainingSettings) -> None:
        self.task, self.pairs, self.settings = task, pairs, settings
        parameters = [parameter for parameter in task.network.parameters() if parameter.requires_grad]
        self.optimizer = torch.optim.AdamW(parameters, lr=settings.rate, weight_decay=settings.decay)
        self.steps = -(-len(pairs) // settings.batch)

    def train(self, number: int, progress: Callable[[int], None]) -> Epoch:
        """Train for an epoch, from 1; the seed and the number decide all that is random in it."""
        generator = np.random.default_rng([self.settings.seed, number])
        torch.manual_seed(int(generator.integers(2**31)))
        self.task.network.train()
        total, right = 0.0, 0
        for step, batch in enumerate(self._batches(generator), (number - 1) * self.steps):
            loss, correct = self._step(batch, step)
            total, right = total + loss * len(batch), right + correct
            progress(len(batch))
        if not np.isfinite(total):
            raise ModelError("training diverged: the loss is not finite; use a smaller --rate")
        count = len(self.pairs)
        return Epoch(number=number, loss=total / count, accuracy=right / count, dev_accuracy=None)

    def _batches(self, generator: np.random.Generator) -> Iterator[Numbers]:
        """Yield pairs in random order; those of a batch are of similar length, so that little is padded."""
        order, size = generator.permutation(self.pairs), self.settings.batch
        window = size * _BATCHES_SORTED
        lengths = self.task.lengths(order)
        for start in range(0, len(order), window):
            part = np.argsort(lengths[start : start + window], kind="stable") + start
            batches = [part[first : first + size] for first in range(0, len(part), size)]
            yield from (order[batches[index]] for index in generator.permutation(len(batches)))

    def _step(self, batch: Numbers, step: int) -> tuple[float, int]:
        for group in self.optimizer.param_groups:
            group["lr"] = self.settings.rate * self._share_of_rate(step)
        logits = self.task.logits(batch).float()
        gold = torch.from_numpy(self.task.gold[batch].astype(np.int64)).to(logits.device)
        loss = nn.functional.cross_entropy(logits, gold)
        self.optimizer.zero_grad(set_to_none=True)
        loss.backward()  # type: ignore[no-untyped-call]
        if self.settings.clip:
            nn.utils.clip_grad_norm_(self.optimizer.param_groups[0]["params"], self.settings.clip)
        self.optimizer.step()
        return float(loss.detach()), int((logits.argmax(1) == gold).sum())

    def _share_of_rate(self, step: int) -> float:
        total, rising = self.steps * self.settings.epochs, self.steps * self.settings.epochs * self.settings.warm_up
        return (step + 1) / rising if step + 1 < rising else (total - step) / (total - rising)

    def tensors(self) -> dict[str, Tensor]:
        """Return the state: the network's, and what the optimizer remembers of each parameter."""
        state = {f"network.{name}": tensor for name, tensor in self.task.network.state_dict().items()}
        for number, moments in self.optimizer.state_dict()["state"].items():
            state |= {f"optimizer.{number}.{name}": tensor for name, tensor in moments.items()}
        return {name: tensor.detach().cpu().contiguous().clone() for name, tensor in state.items()}

    def restore(self, tensors: Mapping[str, Tensor]) -> None:
        """Put a state back."""
        moments: dict[int, dict[str, Tensor]] = {}
        network: dict[str, Tensor] = {}
        for full_name, tensor in tensors.items():
            where, _, name = full_name.partition(".")
            if where == "network":
                network[name] = tensor
            else:
                number, _, moment = name.partition(".")
                moments.setdefault(int(number), {})[moment] = tensor
        self.task.network.load_state_dict(network)
        groups = self.optimizer.state_dict()["param_groups"]
        self.optimizer.load_state_dict({"state": moments, "param_groups": groups})


_BATCHES_SORTED = 50


@torch.no_grad()
def predict(task: Task, pairs: Numbers, batch: int) -> NDArray[np.int64]:
    """Return the most probable label of each pair, as a number."""
    task.network.eval()
    predicted = np.empty(len(pairs), dtype=np.int64)
    order = np.argsort(task.lengths(pairs), kind="stable")
    for start in range(0, len(order), batch):
        chosen = order[start : start + batch]
        predicted[chosen] = task.logits(pairs[chosen]).argmax(1).cpu().numpy()
    return predicted


def _right_by_label(task: Task, pairs: Numbers, batch: int, labels: Sequence[str]) -> dict[str, float]:
    """Return the share of right answers among pairs, of all and by label; nothing without pairs."""
    if not len(pairs):
        return {}
    gold, right = task.gold[pairs], predict(task, pairs, batch) == task.gold[pairs]
    shares = {label: right[gold == number] for number, label in enumerate(labels)}
    return {"all": float(right.mean())} | {label: float(share.mean()) for label, share in shares.items() if len(share)}


# --- epochs -----------------------------------------------------------------------------------------------------------


@contextmanager
def _deterministic() -> Iterator[None]:
    """Have torch compute the same numbers each time; what it draws at random leaves the caller's generator alone."""
    before, warned = torch.are_deterministic_algorithms_enabled(), torch.is_deterministic_algorithms_warn_only_enabled()
    if has_cuda := torch.cuda.is_available():
        os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")  # else matrix products may differ
    with torch.random.fork_rng():
        torch.use_deterministic_algorithms(True, warn_only=has_cuda)
        try:
            yield
        finally:
            torch.use_deterministic_algorithms(before, warn_only=warned)


def train(
    task: Task,
    splits: tuple[Numbers, Numbers],
    settings: TrainingSettings,
    state: "TrainingState",
    *,
    minutes: float | None,
    labels: Sequence[str],
    notify: Callable[[str], None],
    progress: Callable[[int, int], None],
) -> Training:
    """Train on pairs of the first split, and measure right answers on those of the second after each epoch.

    Where `minutes` is given, no epoch is begun that would probably end after it; the first one always is. Raises
    ModelError where memory does not suffice or the loss is not finite.
    """
    training, dev = splits
    run, began, dev_right = _Run(task, training, settings), time.monotonic(), dict[str, float]()
    epochs, spent = state.restore(run.restore)
    done, total = len(epochs) * len(training), settings.epochs * len(training)
    stopped = ""

    def advance(pairs: int) -> None:
        nonlocal done
        done += pairs
        progress(done, total)

    if epochs:
        notify(f"going on after epoch {len(epochs)} of {settings.epochs}")
    try:
        with _deterministic(), _explained_memory():
            while len(epochs) < settings.epochs and not stopped:
                start = time.monotonic()
                epoch = run.train(len(epochs) + 1, advance)
                dev_right = _right_by_label(task, dev, 4 * settings.batch, labels)
                epochs.append(replace(epoch, dev_accuracy=dev_right.get("all")))
                notify(epochs[-1].describe(settings.epochs, time.monotonic() - start))
                elapsed = spent + time.monotonic() - began
                state.write(run.tensors(), epochs, elapsed)
                if minutes and len(epochs) < settings.epochs and elapsed * (1 + 1 / len(epochs)) > 60 * minutes:
                    stopped = f"after epoch {len(epochs)} of {settings.epochs}, by the limit of {minutes:g} minutes"
            dev_right = dev_right or _right_by_label(task, dev, 4 * settings.batch, labels)
    except KeyboardInterrupt:
        finished = f"{counted(len(epochs), 'epoch')} of {settings.epochs} kept: the same command continues there"
        raise SenseprobeError(
            f"interrupted; {finished if epochs else 'no epoch was finished, so nothing is kept'}"
        ) from None
    return Training(epochs=tuple(epochs), stopped=stopped, dev_right=dev_right)


@contextmanager
def _explained_memory() -> Iterator[None]:
    try:
        yield
    except (RuntimeError, MemoryError) as error:
        if not out_of_memory(error):
            raise
        raise ModelError("there is not enough memory to train: use a smaller --batch") from error


class TrainingState:
    """The folder that has the state after the last finished epoch; `facts` say what is trained, and how."""

    def __init__(self, folder: Path, facts: Mapping[str, Any]) -> None:
        self.folder, self._facts = folder, facts

    @contextmanager
    def opened(self) -> Iterator[None]:
        """Lock the folder, and compare what it was made for; raise SenseprobeError where that is something else."""
        try:
            with locked(self.folder):
                self._check()
                try:
                    yield
                finally:
                    if not any(self.folder.glob("epoch-*")):
                        self.remove()
        except BlockingIOError:
            raise SenseprobeError(f"{self.folder} is in use: the same model is being trained") from None

    def _check(self) -> None:
        file = self.folder / _SETTINGS
        facts = json.dumps(self._facts, indent=2, sort_keys=True, ensure_ascii=False) + "\n"
        if not file.exists():
            write_whole(file, facts.encode("utf-8", "surrogatepass"))
        elif file.read_bytes() != facts.encode("utf-8", "surrogatepass"):
            raise SenseprobeError(
                f"{self.folder} holds an interrupted training of something else, or with other settings: "
                "remove that folder, or choose another --out"
            )

    def restore(self, put: Callable[[Mapping[str, Tensor]], None]) -> tuple[list[Epoch], float]:
        """Put the state after the last finished epoch back; return the epochs, and the seconds that they took."""
        folders = sorted(self.folder.glob("epoch-*"))
        if not folders:
            return [], 0.0
        try:
            progress = read_json((folders[-1] / _PROGRESS).read_bytes())
            epochs = [Epoch(**epoch) for epoch in progress["epochs"]]
            with explained(folders[-1] / _STATE):
                tensors, _ = map_tensors(folders[-1] / _STATE)
                put({name: torch.tensor(np.array(tensor)) for name, tensor in tensors.items()})
            return epochs, float(progress["seconds"])
        except (OSError, UnreadableError, LookupError, TypeError, ValueError, RuntimeError) as error:
            raise SenseprobeError(f"{folders[-1]} is damaged ({error}): remove {self.folder}") from None

    def write(self, tensors: Mapping[str, Tensor], epochs: Sequence[Epoch], seconds: float) -> None:
        """Write the state after an epoch, whole, and remove those before it."""
        folder = self.folder / f"epoch-{len(epochs):05d}"
        progress = {"epochs": [asdict(epoch) for epoch in epochs], "seconds": seconds}
        with whole_folder(folder) as partial:
            save_file(dict(tensors), partial / _STATE)
            (partial / _PROGRESS).write_text(json.dumps(progress), encoding="utf-8")
        for path in self.folder.glob("epoch-*"):
            if path != folder:
                shutil.rmtree(path)

    def remove(self) -> None:
        """Remove the folder, when the model is written."""
        shutil.rmtree(self.folder, ignore_errors=True)
