"""Mitigation: directions, what is removed from vectors and models, and models of inference trained on what is left."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, cast

from senseprobe.api.models import DEVICE, open_vectors, source_of, warn
from senseprobe.api.releases import load, locate_release
from senseprobe.errors import ModelError, SenseprobeError
from senseprobe.messages import printable
from senseprobe.options import HEADER, SKIP_BAD, Argument, Option
from senseprobe.progress import with_progress

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from senseprobe.evaluate.mitigation.axis_vectors import AxisVectors
    from senseprobe.evaluate.mitigation.copy_check import CopyCheck
    from senseprobe.evaluate.mitigation.debias import AlteredCopy
    from senseprobe.evaluate.mitigation.direction_report import DirectionReport
    from senseprobe.evaluate.mitigation.nli_corpus import Corpus
    from senseprobe.evaluate.mitigation.nli_training import TrainedModel
    from senseprobe.evaluate.models import ModelSource
    from senseprobe.evaluate.models.vector_files import VectorFile

SOURCE = Argument(type=str, metavar="MODEL|vectors:FILE", help="A file of vectors, or a model of transformers.")
"""What something is removed from, or measured in."""

COPY = Option("--out -o", type=str, metavar="FOLDER", help="Write the copy to this new folder.")
CHECK = Option(
    type=str, metavar="FOLDER", help="Make the copy in this folder again as its record says, and compare the two."
)
PARENT = Option(type=str, metavar="MODEL|vectors:FILE", help="With --check: where the parent is now.")


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
    from senseprobe.evaluate.mitigation.nli_training import TrainingOptions
    from senseprobe.evaluate.models import load as load_model
    from senseprobe.evaluate.models import source_class
    from senseprobe.evaluate.models.registry import opens
    from senseprobe.evaluate.models.vector_files import PREFIX

    path = Path(out)
    if path.exists():
        raise SenseprobeError(f"{printable(str(path))} exists and is not overwritten: choose a new folder with --out")
    options = TrainingOptions(
        epochs=epochs,
        rate=rate,
        batch=batch,
        seed=seed,
        minutes=minutes,
        device=device,
        freeze_embeddings=freeze_embeddings,
    )
    if not str(on).startswith(PREFIX) and (opens(str(on)) or not source_class(str(on)).is_local):
        raise SenseprobeError(f"{on} cannot be trained on: name vectors:FILE, or a model of transformers")
    given = (columns, labels, license_)
    pairs, dev_pairs = _read_corpus(corpus, *given), None if dev is None else _read_corpus(dev, *given)
    pairs.check_labels()
    for part in filter(None, (pairs, dev_pairs)):
        say(part.describe())
    progress = progress or (lambda done, total: None)
    if str(on).startswith(PREFIX):
        from senseprobe.evaluate.mitigation.vector_training import train_on_vectors

        if freeze_embeddings:
            raise SenseprobeError("vectors always stay as they are: leave --freeze-embeddings out")
        return train_on_vectors(pairs, dev_pairs, cast("VectorFile", load_model(str(on))), path, options, say, progress)
    from senseprobe.evaluate.mitigation.fine_tuning import train_on_model

    return train_on_model(pairs, dev_pairs, str(on), path, options, say, progress)


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


@with_progress("removing directions")
def debias(
    model: Annotated[str | Path, SOURCE],
    out: Annotated[str | Path, COPY],
    *,
    direction: Annotated[
        str | None,
        Option(
            metavar="he-she|FILE.csv|list:NAME[:RANK]",
            help="Take directions from two words, a file of pairs (columns first, second) or words (word), or a list.",
        ),
    ] = None,
    method: Annotated[
        Literal["projection", "leace", "inlp", "random"],
        Option(help="Project directions out, fit a map to words with labels, or remove random directions."),
    ] = "projection",
    labels: Annotated[
        str | Path | None,
        Option(
            type=str,
            metavar="FILE.csv|list:gender",
            help="Words with labels (columns word, label), which leace and inlp are fitted to, and which probes read.",
        ),
    ] = None,
    rest: Annotated[
        int, Option(least=0, metavar="N", help="Add so many words without a label to the fit of leace.")
    ] = 0,
    forms: Annotated[
        Literal["all", "one"],
        Option(help="Use all forms of a word that are one token of a model (␣he, he, ␣He), or one."),
    ] = "all",
    head: Annotated[
        Literal["untied", "tied"],
        Option(help="Leave an output that shares the input's vectors as it was, or change both."),
    ] = "untied",
    layers: Annotated[
        Literal["input", "all"],
        Option(help="Alter the input alone, or also what each layer of an encoder puts out, when senseprobe loads it."),
    ] = "input",
    renormalise: Annotated[bool, Option("--renormalise", help="Give each vector the length that it had.")] = False,
    controls: Annotated[
        int,
        Option(
            least=0,
            most=999,
            metavar="K",
            help="Make K copies, too, from which random directions are removed: FOLDER-random-01…",
        ),
    ] = 0,
    seed: Annotated[int, Option(least=0, most=2**31 - 1, metavar="N", help="Decides all that is random.")] = 0,
    text: Annotated[
        str | Path | None,
        Option(
            type=str,
            metavar="FILE|none",
            help="Measure perplexity before and after on these lines, or not at all. Default: 300 glosses of WordNet.",
        ),
    ] = None,
    progress: Callable[[int, int], None] | None = None,
) -> AlteredCopy:
    """Remove directions from word vectors, or from the input embeddings of a model: a copy in a new folder.

    The copy is an ordinary model or file of vectors. `debias.json` in the folder says what was removed, what is left,
    what probes still read, and how well the model predicts a text before and after. Raises SenseprobeError where words
    do not have vectors, the model cannot be copied, a folder exists, or the text cannot be read.
    """
    from senseprobe.evaluate.mitigation.debias import alter
    from senseprobe.evaluate.mitigation.parents import open_parent
    from senseprobe.evaluate.mitigation.perplexity import choose_text
    from senseprobe.evaluate.mitigation.removal import choose_removal

    removal = choose_removal(
        direction=direction,
        method=method,
        labels=None if labels is None else str(labels),
        rest=rest,
        forms=forms,
        head=head,
        layers=layers,
        renormalise=renormalise,
        seed=seed,
    )
    parent = open_parent(str(model))
    chosen, unmeasured = choose_text(parent.name, text)
    copies = alter(parent, removal, Path(out), controls, chosen, progress or (lambda done, total: None))
    return replace(copies, unmeasured=unmeasured or copies.unmeasured)


def check_debias(check: Annotated[str | Path, CHECK], parent: Annotated[str | Path | None, PARENT] = None) -> CopyCheck:
    """Make a copy without directions again from its parent, as its record says, and compare all hashes.

    Raises ModelError where the folder has no record, or the parent cannot be opened.
    """
    from senseprobe.evaluate.mitigation.copy_check import check_copy

    return check_copy(Path(check), None if parent is None else str(parent))


TABLE_7 = ("list:gendered", "list:demonyms", "list:adherents")
"""The axes of table 7 of Dev et al. (2020)."""


def measure_directions(
    model: Annotated[
        str | Path | Mapping[str, ArrayLike] | ModelSource,
        Argument(type=str, metavar="vectors:FILE|MODEL", help="A file of vectors, or a model of transformers."),
    ],
    directions: Annotated[
        Sequence[str],
        Option(
            "--direction",
            metavar="NAME",
            type=list[str],
            help="Measure this axis: he-she, a CSV file of pairs (columns first, second) or of words (column word), or "
            "list:NAME (gendered, demonyms, adherents, definitional), where :RANK may end a file or list; repeatable. "
            "Default: the first three lists.",
            shown_default="",
        ),
    ] = TABLE_7,
    *,
    seed: Annotated[int, Option(least=0, metavar="N", help="Seed of resamples and divisions.")] = 0,
    header: Annotated[bool | None, HEADER] = None,
    skip_bad: Annotated[bool, SKIP_BAD] = False,
    say: Callable[[str], None] = warn,
) -> DirectionReport:
    """Measure whether an axis, such as gender, is there before it is removed from vectors or a model.

    That is table 7 of Dev et al. (2020), with what one cosine leaves out: without each word, of resampled words, and of
    words divided by chance. Of a model of transformers the input embeddings are read, of words that are single tokens.
    Raises ModelError where the model cannot be read, and SenseprobeError where an axis is none.
    """
    from senseprobe.evaluate.mitigation.axes import read_axis
    from senseprobe.evaluate.mitigation.direction_report import measure_directions

    axes = [read_axis(direction) for direction in dict.fromkeys(directions or TABLE_7)]
    options = {} if header is None else {"header": header}
    source = source_of(model, **options, **({"skip_bad": True} if skip_bad else {}))
    return measure_directions(str(source), _axis_vectors(source, say), axes, seed=seed)


def _axis_vectors(source: ModelSource, say: Callable[[str], None]) -> AxisVectors:
    """Return the vectors of words in what a source names. Raises ModelError where it has none."""
    from senseprobe.evaluate.mitigation.axis_vectors import FileVectors
    from senseprobe.evaluate.models.vector_files import VectorFile

    if source.reads_texts:
        from senseprobe.evaluate.mitigation.embeddings import open_parent
        from senseprobe.evaluate.mitigation.token_vectors import TokenVectors

        if source.model is not None:
            raise ModelError(
                f"{source} is a model in memory, whose embeddings are not read: save it, and name its folder"
            )
        return TokenVectors(open_parent(source.spec))
    model: Any = open_vectors(source, say)
    if not isinstance(model, VectorFile):
        raise ModelError(f"{source} has no vectors of words: give vectors:FILE, or a model of transformers")
    return FileVectors(model)
