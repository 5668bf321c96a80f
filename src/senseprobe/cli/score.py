"""Commands that fetch and score models: fetch, score, replay, and model vectors and plant."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias

from senseprobe import api
from senseprobe.api.author import names_beginning
from senseprobe.api.results import describe_scored, result_paths, summarize_results
from senseprobe.api.scoring import with_exact, with_orders
from senseprobe.cli.console import print_document, print_line, print_note, print_sections
from senseprobe.cli.release import parse_map
from senseprobe.cli.score_parts import PartOptions, score_in_parts
from senseprobe.errors import FindingsError, SenseprobeError
from senseprobe.messages import counted
from senseprobe.options import HEADER, SKIP_BAD, Argument, Option

if TYPE_CHECKING:
    from senseprobe.evaluate.models.packages import Fetched
    from senseprobe.evaluate.models.source import Estimate
    from senseprobe.evaluate.models.vector_files import FileSummary
    from senseprobe.evaluate.replay import Replay
    from senseprobe.evaluate.result import Result

    Scored: TypeAlias = Estimate | list[Result] | api.ScorePlan | api.ShardSummary


def show_fetched(fetched: "Fetched") -> None:
    """Print what was fetched, and how it is scored."""
    package = f"from the package {fetched.package} ({fetched.url})"
    print_line(f"{fetched.name}: {fetched.description}")
    if fetched.kind == "model":
        print_line(f"{package}, licence {fetched.licence}")
    else:
        stated = f"{fetched.licence}, by the {fetched.licence_source}" if fetched.licence else "unknown"
        refused = ", so `publish` refuses it" if api.why_unpublishable(fetched.licence) else ""
        print_line(package)
        print_line(f"licence of the data: {stated}{refused}")
    if fetched.rows:
        rows = ", ".join(f"{config} {count}" for config, count in fetched.rows.items())
        print_line(f"{fetched.release}: {rows} rows")
    print_line(f"{'already' if fetched.was_there else 'saved'} in {fetched.folder}")
    print_line(f"{'build' if fetched.kind == 'project' else 'score'} it with `{fetched.usage}`")


def describe_fetched(fetched: "Fetched") -> dict[str, Any]:
    """Return what `fetch --json` prints."""
    return {**asdict(fetched), "folder": str(fetched.folder)}


def describe_vectors(
    file: Annotated[str, Argument(metavar="FILE", help="A file of vectors, senses:FILE, or glove after a fetch.")],
    release: Annotated[
        str,
        Option(
            metavar="RELEASE",
            help="Look up the words of this release; an empty name looks up none.",
            completes="release",
        ),
    ] = "association",
    header: Annotated[bool | None, HEADER] = None,
    skip_bad: Annotated[bool, SKIP_BAD] = False,
) -> "FileSummary":
    """Describe a file of vectors: format, size, and the words of a release that it lacks."""
    return api.vectors(file, header=header, skip_bad=skip_bad).describe(release or None)


def score(
    model: str | None,
    release: str | None,
    scorers: Sequence[str],
    level: Sequence[str],
    estimands: Sequence[str],
    map: Sequence[str] | None,  # noqa: A002 - as of the API
    out: Path,
    seed: int,
    limit: int | None,
    store: bool,
    control: bool,
    show_failing: bool,
    orders: Annotated[
        Literal["all", "cyclic"],
        Option(
            metavar="all|cyclic",
            help="Show the answers of a question in all six orders, or in the three cyclic ones, at half the cost.",
        ),
    ] = "all",
    exact: Annotated[bool | None, Option("--exact", hidden=True)] = None,
    plan: Annotated[
        Path | None,
        Option("--plan", metavar="FOLDER", help="Write the plan of a scoring in parts to this folder, and stop."),
    ] = None,
    shards: int | None = None,
    shard: int | None = None,
    join: Annotated[
        Path | None,
        Option(
            "--join",
            metavar="FOLDER",
            help="Make the results of the parts in this folder, the --out of each; MODEL and RELEASE are those of its "
            "plan.",
        ),
    ] = None,
    without: Sequence[str] = (),
    dry_run: Annotated[
        bool, Option("--dry-run", help="Count the requests, tokens and cost of a model server, and score nothing.")
    ] = False,
    **options: Any,  # noqa: ANN401 - of loading, reading or serving
) -> "Scored":
    """Score a model, or some of it, or estimate the cost of a server."""
    workers = api.take_workers(options)
    parts = PartOptions(plan, join, shards, shard, tuple(without or ()))
    whole = {"--dry-run": dry_run, "--level": bool(level), "--workers": not workers.is_one}
    if parts.any and any(whole.values()):
        option = next(option for option, given in whole.items() if given)
        raise SenseprobeError(f"{option} is for scoring as a whole: leave it out")
    if not parts.any or (plan is not None and None in (model, release)):
        _check_arguments(model, release)
    if parts.any:
        asked = {"scorers": with_orders(scorers, orders), "estimands": estimands, "map": parse_map(map), "seed": seed}
        asked |= {"limit": limit, "control": control}
        source_or_none = None if model is None else api.source_of(model, **options)
        return score_in_parts(parts, source_or_none, release, out, asked, _explain_shard)
    assert model is not None  # noqa: S101 - checked
    assert release is not None  # noqa: S101
    source = api.source_of(model, **options)
    rows: dict[str, Any] = {"seed": seed, "limit": limit, "store": store, "control": control, "say": print_note}
    rows["map"] = parse_map(map)
    scorers = with_orders(scorers, orders)
    if dry_run:
        return api.estimate(source, release, scorers, **rows)
    if exact:
        print_note("--exact is now -e weat-exact")
        estimands = with_exact(estimands, exact=True)
    with api.progress_bar(f"scoring {model}") as step, _explain_interruption(step, stored=store or not workers.is_one):
        rows |= {"level": level, "estimands": estimands, "out": out, "show_failing": show_failing, "progress": step}
        return api.score(source, release, scorers, **rows, workers=workers)


def _check_arguments(model: str | None, release: str | None) -> None:
    """Raise SenseprobeError where the model or the release is missing."""
    if model is None:
        raise SenseprobeError("MODEL is missing: name a folder, a fetched model, or one on the Hugging Face Hub")
    if release is None:
        there = ", ".join(names_beginning("", releases=True)) or "none"
        raise SenseprobeError(f"RELEASE[:CONFIG]|FILE is missing: there is {there}")


def show_scored(scored: "Scored", out: Path, release: str | None, join: Path | None = None) -> None:
    """Print the figures, the estimated cost, or what was planned or answered."""
    release = release or (api.planned_release(join) if join else None)
    if isinstance(scored, api.ScorePlan | api.ShardSummary):
        print_line(str(scored))
    elif isinstance(scored, list):
        print_document(summarize_results(scored, out, release))
        for path in result_paths(scored, out):
            print_line(f"result in {path}")
    else:
        print_sections([scored.section()])


def describe_results(scored: "Scored", out: Path, release: str | None, join: Path | None = None) -> Any:  # noqa: ANN401 - JSON
    """Return what `score --json` prints."""
    release = release or (api.planned_release(join) if join else None)
    return describe_scored(scored, out, release) if isinstance(scored, list) else scored.as_dict()


def exit_code_of_score(scored: "Scored") -> int:
    """Return 1 if a served model changed meanwhile, so that its figures are withheld."""
    results = scored if isinstance(scored, list) else []
    return int(any(task.changed for result in results for task in result.tasks.values()))


@contextmanager
def _explain_shard(step: api.Step) -> Iterator[None]:
    """Turn Ctrl-C into a message: how much is done, and how to continue."""
    try:
        yield
    except KeyboardInterrupt:
        done = f"interrupted with {step.done:,} of {counted(step.total or 0, 'unit')} answered"
        raise SenseprobeError(f"{done}; finished windows are kept, and the same command continues there") from None


@contextmanager
def _explain_interruption(step: api.Step, *, stored: bool) -> Iterator[None]:
    """Turn Ctrl-C into a message: how much is done, and how to continue."""
    try:
        yield
    except KeyboardInterrupt:
        if not step.total:
            raise  # nothing was computed yet
        done = f"interrupted with {step.done:,} of {counted(step.total, 'number')} computed"
        outcome = (
            "they are kept, and the same command continues there" if stored else "none are kept, because of --no-store"
        )
        raise SenseprobeError(f"{done}; {outcome}") from None


def replay(result: Path, **options: Any) -> "Replay":  # noqa: ANN401
    """Compute a result again; a damaged release is no finding, which would say that the numbers are others."""
    try:
        return api.replay(result, **options)
    except FindingsError as damaged:
        raise SenseprobeError(
            f"{damaged}\nnothing was replayed: name a whole copy of the release with --release PATH"
        ) from None


def show_replay(replayed: "Replay") -> None:
    """Print how the two results differ, and what was compared."""
    for line in (*replayed.differences, *replayed.redefined, *_replay_lines(replayed)):
        print_line(line)


def _replay_lines(replayed: "Replay") -> Iterator[str]:
    """Yield what was compared, and possible reasons for differences."""
    if replayed.result is None:
        yield "this is another model: nothing was computed" if replayed.differences else "nothing was computed"
        return
    first, now = replayed.first, replayed.result
    if first.scorer_version != now.scorer_version:
        yield f"nothing was compared: {first.scorer} has a new definition, so its scores and figures are others now"
        return
    rows = "without a table of rows" if replayed.rows is None else counted(replayed.rows, "row")
    figures = f"{counted(len(first.figures), 'figure')}, {rows}, largest difference of a score {replayed.largest:.1e}"
    besides = " except for new definitions" if replayed.redefined and not replayed.differences else ""
    yield f"{'not ' if replayed.differences else ''}the same{besides}: {figures}"
    then = {"senseprobe": first.senseprobe, **first.libraries}
    today = {"senseprobe": now.senseprobe, **now.libraries}
    if changed := [f"{name} {was}, now {today.get(name)}" for name, was in then.items() if today.get(name) != was]:
        yield f"the result was computed with {'; '.join(changed)}"


def show_planted(result: "Result", out: Path, release: str) -> None:
    """Print the planted truth."""
    show_scored([result], out, release)


def describe_planted(result: "Result", out: Path, release: str) -> Any:  # noqa: ANN401 - JSON
    """Return what `model plant --json` prints."""
    return describe_scored([result], out, release)
