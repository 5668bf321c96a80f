"""Score models on releases, replay results, and plant models whose preference is known."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from senseprobe.api.author import prepare_wordnet
from senseprobe.api.models import (
    ALLOW_PICKLE,
    BATCH_TOKENS,
    DEVICE,
    OLD_KEYWORDS,
    source_of,
    source_of_keywords,
    warn,
    with_old_keywords,
)
from senseprobe.api.scoring_jobs import control_job, draft, make_job, resolve_release
from senseprobe.api.worker_scoring import Request, score_with_workers
from senseprobe.api.workers import workers_of
from senseprobe.engines.work import WorkerOptions
from senseprobe.errors import SenseprobeError
from senseprobe.options import RELEASE_HELP, RELEASE_OR_CONFIG, Argument, Option
from senseprobe.progress import with_progress

if TYPE_CHECKING:
    from senseprobe.api.models import Loaded
    from senseprobe.api.releases import ReleaseSpec
    from senseprobe.evaluate.models import ModelSource
    from senseprobe.evaluate.models.source import Estimate
    from senseprobe.evaluate.replay import Replay
    from senseprobe.evaluate.result import Result
    from senseprobe.importers.draft import RowTable

Progress = Callable[[int], None]
RELEASE_OR_TABLE = Argument(
    metavar="RELEASE[:CONFIG]|FILE",
    default=None,
    help=f"{RELEASE_HELP} Or your own table: .csv, .tsv, .jsonl or .parquet with the columns stereo and anti, or "
    "premise and hypothesis.",
    completes="release",
)
COLUMN_MAP = Option(
    type=list[str],
    metavar="ROLE=COLUMN,…",
    help="Map roles to columns of your own table, for example stereo=sent_more,anti=sent_less.",
)
SEED = Option(metavar="N", least=0, help="Seed of permutations, of the sample of --limit, and of planting.")
RESULTS_FOLDER = Option(type=Path, default=Path("results"), metavar="DIR", help="Write to this folder of results.")


def with_exact(estimands: Sequence[str], *, exact: bool) -> Sequence[str]:
    """Return estimands, and with `exact` the one that counts every p, as `score` was asked for it in 0.2."""
    from senseprobe.evaluate.estimands import EXACT_P

    return [*estimands, EXACT_P.id] if exact else estimands


def with_orders(scorers: Sequence[str], orders: str) -> Sequence[str]:
    """Return scorers, or with ``cyclic`` `orders` the ids of those that show answers in three orders alone."""
    from senseprobe.evaluate.scorers import with_cyclic_orders

    return with_cyclic_orders(scorers) if orders == "cyclic" else scorers


def _switch(value: object, **renamed: object) -> object:
    """Return the value of a keyword that has another name now."""
    return next(iter(renamed.values()), value)


_OLD: dict[str, tuple[Callable[..., Any], Sequence[str]]] = {
    "model": (source_of_keywords, OLD_KEYWORDS),
    "release": (draft, ("factors",)),
    "store": (_switch, ("stored",)),
}


@with_old_keywords(**_OLD, estimands=(with_exact, ("exact",)))
@with_progress("scoring {model}")
def score(
    model: Annotated[
        str | Path | ModelSource | Loaded,
        Argument(
            metavar="MODEL",
            default=None,
            help="A folder, a fetched model, a name on the Hugging Face Hub, vectors:FILE, senses:FILE, or "
            "openai:URL#MODEL for a model server.",
        ),
    ],
    release: Annotated[ReleaseSpec | RowTable, RELEASE_OR_TABLE],
    scorers: Annotated[
        str | Sequence[str],
        Option(
            "--scorer -s",
            also="--metric -m",
            metavar="NAME",
            help="Use this scorer, for example aul, ll or weat; may be repeated. Default: the first that fits.",
        ),
    ] = (),
    *,
    level: Annotated[
        str | Sequence[str],
        Option(
            metavar="word|sent|cword|sense",
            help="With -s weat: compare words alone, sentences, words in sentences, or senses; may be repeated.",
        ),
    ] = (),
    estimands: Annotated[
        Sequence[str],
        Option(
            "--estimand -e",
            metavar="NAME",
            help="Also compute this figure, for example relative-mean, weat-pop, weat-exact (exact p for up to 52 "
            "targets), or one of a plug-in; may be repeated.",
        ),
    ] = (),
    config: str | None = None,
    map: Annotated[Mapping[str, str] | None, COLUMN_MAP] = None,  # noqa: A002 - as the option is called
    out: Annotated[str | Path | None, RESULTS_FOLDER] = None,
    seed: Annotated[int, SEED] = 0,
    limit: Annotated[
        int | None,
        Option(
            metavar="N",
            least=1,
            help="Score a random sample of this many rows, in proportion over configs, labels and targets.",
        ),
    ] = None,
    store: Annotated[bool, Option(help="Reuse the numbers of earlier runs, and keep new ones.")] = True,
    control: Annotated[
        bool,
        Option(help="With inference rows, also report nli-control; without a result on it, 2,000 rows are scored."),
    ] = True,
    show_failing: Annotated[
        bool, Option("--show-failing", help="Show figures, marked, even if a chat model fails the task.")
    ] = False,
    workers: int | WorkerOptions = 1,
    say: Callable[[str], None] = warn,
    progress: Callable[[int, int], None] | None = None,
) -> list[Result]:
    """Score a language model, an inference model or vectors on a frozen release, which is verified first.

    `model` is a name, an object made by `model`, `vectors` or `server`, or vectors in memory: a dict by word or
    sentence, or an array of shape (rows, dimensions) for the rows of a table. `say` gets a message before data leave
    this machine.

    ``weat-word``, ``weat-sent``, ``weat-cword`` and ``weat-sense`` score association tests. ``sc-weat-word`` and
    ``sc-weat-sense`` score the targets of contrasts. ``weat`` stands for those of each `level` (default: all levels of
    the model).

    `release` is a release or a table. A table is a file of pairs (CSV, TSV, JSON lines or Parquet) with the columns
    ``stereo`` and ``anti`` or ``premise`` and ``hypothesis``; `map` names other columns: ``{"stereo": "sent_more",
    "anti": "sent_less"}``. The cache keeps a copy as a release with the name of the file, for reports and replays, and
    `say` gets a summary of the columns. `release` can also be a `draft`, or a table in memory; then results have the
    name "not a release" and a hash of the rows. `config` is a config of the release, unless its name contains one.
    `say` also gets the version that a name without a version stands for, and the estimands that need more columns.

    Returns a result for each scorer, with its `figures` and `rows`, and writes it to `out`/RELEASE/MODEL if `out` is
    given. For number formats coarser than float32, `coarse` counts the rows (of up to 200) that change in float32. With
    `control`, results of inference probes are followed by the model's result on nli-control: the one below `out`, or a
    new one on 2,000 rows. `workers` is a number of processes, or what `senseprobe.api.workers` makes, which give the
    same results. `say` gets the omitted rows, and `progress` the number of scores so far, and of all scores.
    Raises DamagedRelease, ModelError, ResultError if `out` cannot be written, and SenseprobeError for an unknown scorer
    or estimand, or if none of the configs has rows for it.
    """
    from senseprobe.evaluate import scoring
    from senseprobe.evaluate.scorers import expand_levels
    from senseprobe.evaluate.scorers.association import WEAT
    from senseprobe.importers.draft import key_vectors

    levels = (level,) if isinstance(level, str) else tuple(level)
    source, team, folder = source_of(model), workers_of(workers), None if out is None else Path(out)
    if not team.is_one:
        asked = Request(
            release=release, scorers=scorers or (levels and [WEAT]), estimands=estimands, config=config, map=map,
            seed=seed, limit=limit, control=control,
        )  # fmt: skip
        return score_with_workers(source, asked, team, folder, say, progress)
    if source.reads_wordnet:
        prepare_wordnet()
    source = source.prepare(say, stored=store, levels=levels)
    are_vectors = source.model is not None and not source.reads_texts
    resolved = resolve_release(release, say, columns=map, level_named=are_vectors or bool(levels))
    job = make_job(resolved, seed, limit, estimands, config, source.libraries)
    run = scoring.RunOptions(folder, store, say, progress, show_failing)
    scoring.check_out(job, source.name, run.out)
    names = [scorers] if isinstance(scorers, str) else [*scorers]
    if are_vectors:
        keyed, usual = key_vectors(source.model, job.release)
        source, levels = replace(source, model=keyed), levels or (() if names not in ([], [WEAT]) else usual)
    names = [*source.choose_scorers(job, names, say, control=control)]
    if names or levels:
        job, names = replace(job, levels=levels), expand_levels(names, levels, {*job.kinds.values()})
    return scoring.score(job, source, names, run, control_job(source, seed) if control else None)


@with_old_keywords(**_OLD)
def estimate(
    model: str | ModelSource,
    release: ReleaseSpec | RowTable,
    scorers: str | Sequence[str] = (),
    *,
    config: str | None = None,
    map: Mapping[str, str] | None = None,  # noqa: A002 - as of `score`
    seed: int = 0,
    limit: int | None = None,
    store: bool = True,
    control: bool = True,
    say: Callable[[str], None] = warn,
) -> Estimate:
    """Return what `score` with the same arguments would ask of a served model: requests, tokens and money.

    The server is probed, and no row is scored. Up to 50 prompts go to its tokenizer, if it has one, unless the rows are
    not for distribution. Raises as `score` does, and ModelError where the model is not served.
    """
    source = source_of(model)
    source.check_estimable()
    source = source.prepare(say, stored=store)
    job = make_job(resolve_release(release, say, columns=map, level_named=False), seed, limit, (), config, ())
    names = [scorers] if isinstance(scorers, str) else [*scorers]
    return source.estimate(job, names, control_job(source, seed) if control else None)


def _serving_of(model: str | ModelSource | None, *, serving: object) -> ModelSource:
    if model is None:
        raise SenseprobeError("serving= also needs model=: replay(result, model=senseprobe.server(URL, …))")
    return source_of_keywords(model, serving=serving)


@with_old_keywords(model=(_serving_of, ("serving",)))
@with_progress("replaying {result}")
def replay(
    result: Annotated[str | Path, Argument(metavar="RESULT.json", help="A result that `score` wrote.")],
    *,
    release: Annotated[ReleaseSpec | None, Option(metavar="RELEASE", help="Read the release from here.")] = None,
    model: Annotated[str | ModelSource | None, Option(metavar="MODEL", help="Load the model from here.")] = None,
    device: Annotated[str, DEVICE] = "auto",
    batch_tokens: Annotated[int | None, BATCH_TOKENS] = None,
    allow_pickle: Annotated[bool, ALLOW_PICKLE] = False,
    progress: Callable[[int, int], None] | None = None,
) -> Replay:
    """Compute a result again without stored numbers, and compare the two.

    `release` and `model` must be unchanged. A `server` is used with its own options, and must give the same answers
    to fixed prompts before rows are sent. Raises ResultError if `result` is not a result or its release has
    changed, and the same errors as `score`.
    """
    from senseprobe.evaluate import replay as replays
    from senseprobe.evaluate.estimands import additional
    from senseprobe.evaluate.result import read_result

    first = read_result(Path(result))
    if retired := replays.describe_retired_result(first):
        return replays.Replay(first, None, (), (retired,))
    loading: dict[str, Any] = {"device": device, "batch_tokens": batch_tokens, "allow_pickle": allow_pickle}
    moved = None if model is None else source_of(model, **(loading if isinstance(model, str) else {}))
    source = replays.source_of(first, moved, **loading)
    if source.reads_wordnet:
        prepare_wordnet()
    estimands = additional(figure.estimand for figure in first.figures)
    where = release or str(first.release["name"])
    job = make_job(where, first.seed, first.limit, estimands, first.release["config"], source.libraries)
    source.check_consent(job)
    replayed = replays.replay(job, source, first, Path(result), progress)
    if replayed.result is None or first.verdicts == replayed.result.verdicts:
        return replayed
    from senseprobe.evaluate.reporting.verdict_table import list_changed_verdicts

    return replace(replayed, redefined=(*replayed.redefined, *list_changed_verdicts(replayed.result, str(where))))


@with_progress("training")
def plant(
    release: Annotated[ReleaseSpec, RELEASE_OR_CONFIG],
    folder: Annotated[str | Path, Argument(metavar="FOLDER", help="Write the model to this folder.")],
    *,
    share: Annotated[
        float,
        Option(metavar="SHARE", least=0, most=1, help="Share of pairs in which the model prefers the stereotype."),
    ] = 0.7,
    out: Annotated[str | Path | None, RESULTS_FOLDER] = None,
    seed: Annotated[int, SEED] = 0,
    progress: Progress | None = None,
) -> Result:
    """Train a small model with a known preference, to test the scorers.

    The result has the planted truth, computed by the same estimands as scores. Its scorer is ``planted``, and the
    score of a sentence is the logarithm of its frequency in training. Raises SenseprobeError if `folder` is not
    empty.
    """
    folder, out = Path(folder), None if out is None else Path(out)
    if folder.is_dir() and any(folder.iterdir()):
        raise SenseprobeError(f"{folder} is not empty: name a new folder for the model")
    job = make_job(release, seed, None)
    from senseprobe.evaluate import planted, scoring

    scoring.check_out(job, str(folder), out)
    return scoring.write(planted.result(job, folder, share=share, progress=progress), out)
