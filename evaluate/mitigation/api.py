"""Mitigation: what is removed from vectors and models, and models of inference trained on what is left."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from senseprobe.api.models import DEVICE, warn
from senseprobe.api.releases import load, locate_release
from senseprobe.errors import SenseprobeError
from senseprobe.messages import printable
from senseprobe.options import Argument, Option
from senseprobe.progress import with_progress

if TYPE_CHECKING:
    from senseprobe.evaluate.mitigation.nli_corpus import Corpus
    from senseprobe.evaluate.mitigation.nli_training import TrainedModel


@with_progress("training {out}")
def train_nli(
    corpus: Annotated[
        str | Path,
        Argument(
            type=str,
            metavar="CORPUS",
            help="Pairs with gold labels: a release such as nli-train, or a file of JSON lines or Parquet, as SNLI.",
        ),
    ],
    on: Annotated[
        str | Path,
        Option(
            type=str,
            metavar="vectors:FILE|MODEL",
            help="Train on these word vectors, which stay as they are, or fine-tune this model of transformers.",
        ),
    ],
    out: Annotated[str | Path, Option("--out -o", metavar="FOLDER", help="Write the model to this new folder.")],
    *,
    columns: Annotated[
        Mapping[str, str] | None,
        Option(
            "--map",
            type=list[str],
            metavar="ROLE=COLUMN,…",
            help="Map premise, hypothesis and gold to columns of a file. Default: the usual names.",
        ),
    ] = None,
    labels: Annotated[
        Mapping[str, str] | None,
        Option(type=str, metavar="0=NAME,1=…", help="Name the labels of a file that has integers."),
    ] = None,
    license_: Annotated[
        str | None, Option("--license", metavar="TEXT", help="Licence of a file, for the record of the model.")
    ] = None,
    dev: Annotated[
        str | Path | None,
        Option(type=str, metavar="CORPUS", help="Hold these pairs out, instead of a twentieth of the corpus."),
    ] = None,
    epochs: Annotated[
        int | None, Option(least=1, most=1000, metavar="N", help="Default: 6 on vectors, 3 of a model.")
    ] = None,
    rate: Annotated[
        float | None, Option(metavar="RATE", help="Learning rate. Default: 1e-3 on vectors, 3e-5 of a model.")
    ] = None,
    batch: Annotated[
        int | None, Option(least=1, most=65536, metavar="N", help="Pairs per step. Default: 128 on vectors, 32.")
    ] = None,
    freeze_embeddings: Annotated[
        bool, Option("--freeze-embeddings", help="Leave the input embeddings of a model as they are.")
    ] = False,
    minutes: Annotated[
        float | None, Option(metavar="MINUTES", help="Stop after the last epoch that ends within this time.")
    ] = None,
    seed: Annotated[int, Option(least=0, most=2**31 - 1, metavar="N", help="Decides all that is random.")] = 0,
    device: Annotated[str, DEVICE] = "auto",
    say: Callable[[str], None] = warn,
    progress: Callable[[int, int], None] | None = None,
) -> TrainedModel:
    """Train a model of inference on pairs with gold labels, on word vectors or on a model of transformers.

    A training that was interrupted goes on after its last finished epoch. On one machine, with as many threads, the
    same command makes the same model. `training.json` in the folder says on what it was trained, and its accuracy on
    pairs that were held out. Raises SenseprobeError where the corpus cannot be used or `out` exists, and ModelError.
    """
    from senseprobe.evaluate.mitigation.nli_training import TrainingOptions, train_model

    path = Path(out)
    if path.exists():
        raise SenseprobeError(f"{printable(str(path))} exists and is not overwritten: choose a new folder with --out")
    given = (columns, labels, license_)
    pairs, held_out = _read_corpus(corpus, *given), None if dev is None else _read_corpus(dev, *given)
    pairs.check_labels()
    for each in filter(None, (pairs, held_out)):
        say(each.describe())
    options = TrainingOptions(
        epochs=epochs, rate=rate, batch=batch, seed=seed, minutes=minutes, device=device,
        freeze_embeddings=freeze_embeddings,
    )  # fmt: skip
    return train_model(pairs, held_out, str(on), path, options, say, progress or (lambda done, total: None))


def _read_corpus(
    corpus: str | Path, columns: Mapping[str, str] | None, labels: Mapping[str, str] | None, license_: str | None
) -> Corpus:
    from senseprobe.evaluate.mitigation.nli_corpus import read_file, read_release

    if (path := Path(corpus).expanduser()).is_file():
        return read_file(path, columns or {}, labels or {}, license_ or "")
    if columns or labels or license_:
        raise SenseprobeError(f"{corpus} is not a file: --map, --labels and --license apply to files")
    folder, config = locate_release(corpus)
    return read_release(load(folder), config)
