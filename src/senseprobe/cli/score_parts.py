"""The options of `score` for a scoring in parts: which of them go together, and what each does."""

from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from senseprobe import api
from senseprobe.cli.console import print_note
from senseprobe.errors import SenseprobeError

if TYPE_CHECKING:
    from collections.abc import Callable

    from senseprobe.evaluate.models import ModelSource
    from senseprobe.evaluate.result import Result

_OUT = Path("results")


@dataclass(frozen=True, slots=True)
class PartOptions:
    """What was typed of the options of a scoring in parts; none of them: it is scored as a whole.

    Raises SenseprobeError where they do not go together.
    """

    plan: Path | None
    join: Path | None
    shards: int | None
    shard: int | None
    without: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if (self.shards is None) != (self.shard is None):
            raise SenseprobeError("--shards N and --shard I go together")
        if self.without and self.join is None:
            raise SenseprobeError("--without goes with --join FOLDER: what to score is chosen with -e and -s")
        asked = {"--plan": self.plan, "--join": self.join, "--shards": self.shards}
        given = [option for option, value in asked.items() if value is not None]
        if len(given) > 1:
            raise SenseprobeError(f"{' and '.join(given)} are steps of their own: leave out one of them")

    @property
    def any(self) -> bool:
        """Whether it is scored in parts."""
        return (self.plan, self.join, self.shards) != (None, None, None)


def score_in_parts(
    options: PartOptions,
    source: "ModelSource | None",
    release: str | None,
    out: Path,
    asked: Mapping[str, Any],
    explain: "Callable[[api.Step], AbstractContextManager[None]]",
) -> "api.ScorePlan | api.ShardSummary | list[Result]":
    """Plan, answer or join a scoring in parts, as options say; `asked` are those of `api.plan_scores`."""
    if options.join is not None:
        with api.progress_bar(f"joining {options.join}") as step:
            places: dict[str, Any] = {"model": source, "release": release, "out": out}
            return api.join_scores(options.join, **places, without=options.without, say=print_note, progress=step)
    parts = options.plan or out
    if options.plan is None and out == _OUT:
        raise SenseprobeError("--shards needs --out FOLDER: one that all shards can read and write")
    if source is not None and release is not None:
        planned = api.plan_scores(source, release, parts=parts, say=print_note, **asked)
        if options.plan is not None:
            return planned
    if options.shards is None or options.shard is None:
        raise SenseprobeError("--plan needs MODEL and RELEASE")
    with api.progress_bar(f"shard {options.shard} of {options.shards}") as step, explain(step):
        return api.score_shard(parts, options.shard, options.shards, model=source, progress=step)
