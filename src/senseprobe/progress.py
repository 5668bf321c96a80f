"""Progress of long work on standard error: a bar in terminals and notebooks, elsewhere a line each minute."""

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import wraps
from importlib.util import find_spec
from inspect import signature
from time import monotonic
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

from senseprobe.messages import visible

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress

Parameters = ParamSpec("Parameters")
Returned = TypeVar("Returned")

_LONGEST = 80
PERIOD = 60.0
"""Seconds between two lines where no bar is shown."""
LATELY = 300.0
"""Seconds over which the rate is taken: steps of slow work are minutes apart."""
_busy: ContextVar[bool] = ContextVar("busy", default=False)
"""Whether a bar is shown already: work within that work shows none."""


class Step:
    """A progress callback: work calls it to say how much more is done, or how much of how much.

    `done` and `total` are the last that it was told of. Without a bar, `write_line` is called each minute.
    """

    def __init__(self, bar: "Progress", task: Any, write_line: Callable[[], None] | None = None) -> None:  # noqa: ANN401 - rich's own id type
        self._bar, self._task, self._write_line = bar, task, write_line
        self._next = bar.get_time() + PERIOD if write_line else 0.0
        self.done, self.total = 0, 0

    def __call__(self, amount: int = 1, total: int | None = None) -> None:
        """Advance by an amount; with `total`, be at that amount, of which what the first call names was done before."""
        if total is None:
            self._bar.update(self._task, advance=amount)
        elif total != self.total or amount < self.done:
            self._bar.reset(self._task, total=total, completed=amount)
        else:
            self._bar.update(self._task, completed=amount)
        self.done, self.total = (self.done + amount, self.total) if total is None else (amount, total)
        if self._write_line and (now := self._bar.get_time()) >= self._next:
            self._next = now + PERIOD
            self._write_line()


def expect(progress: Callable[[int], None] | None, total: int) -> None:
    """Tell a bar how much there will be, so that it says how long is left; callbacks of others are not told."""
    if isinstance(progress, Step):
        progress(progress.done, total)


@contextmanager
def progress_bar(label: str, clock: Callable[[], float] = monotonic) -> Iterator[Step]:
    """Show a bar with rate and remaining time until the work is done, in a terminal or a notebook with ipywidgets.

    Elsewhere write a line each minute of the `clock`, so that short work writes nothing.
    """
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        ProgressColumn,
        Task,
        TextColumn,
        TimeRemainingColumn,
    )
    from rich.text import Text

    class Rate(ProgressColumn):
        """How much was done per second lately, or per minute."""

        def render(self, task: Task) -> Text:
            speed = task.finished_speed or task.speed
            if speed is None:
                return Text("")
            slow = f"{speed:.1f}/s" if speed >= 0.1 else f"{60 * speed:.1f}/min"
            return Text(f"{speed:,.0f}/s" if speed >= 10 else slow)

    console = Console(highlight=False, emoji=False, stderr=True, soft_wrap=True)
    count, rate, left = MofNCompleteColumn(separator=" of "), Rate(), TimeRemainingColumn()
    columns = (TextColumn("{task.description}", markup=False), BarColumn(), count, rate, left)
    token, is_watched = _busy.set(True), _is_watched(console)
    bar = Progress(
        *columns,
        console=console,
        transient=True,
        disable=not is_watched,
        get_time=clock,
        speed_estimate_period=LATELY,
    )

    def write_line() -> None:
        (task,) = bar.tasks
        amounts = (column.render(task).plain.strip() for column in (count, rate))
        remaining = f"{left.render(task).plain} left" if task.time_remaining is not None else ""
        console.print(Text(f"{_safe(label)}: {', '.join(filter(None, (*amounts, remaining)))}"))

    try:
        with bar:
            task = bar.add_task(_safe(label) if is_watched else "", total=None)
            yield Step(bar, task, None if is_watched else write_line)
    finally:
        _busy.reset(token)


def _safe(label: str) -> str:
    """Return a label on a line, without control sequences or what is for the server alone in a URL of it.

    That is user and password, and what stands behind a question mark.
    """
    return visible(re.sub(r"//\S*@|\?\S*", "…", label)).replace("\n", " ")


def _is_watched(console: "Console") -> bool:
    return find_spec("ipywidgets") is not None if console.is_jupyter else console.is_terminal


def with_progress(label: str) -> Callable[[Callable[Parameters, Returned]], Callable[Parameters, Returned]]:
    """Show a bar while a function works, unless it is called with a `progress` of its own.

    `label` names arguments in braces: ``building {dataset}``.
    """

    def decorate(function: Callable[Parameters, Returned]) -> Callable[Parameters, Returned]:
        parameters = signature(function)

        @wraps(function)
        def wrapped(*args: Parameters.args, **kwargs: Parameters.kwargs) -> Returned:
            given = parameters.bind(*args, **kwargs)
            given.apply_defaults()
            if _busy.get() or given.arguments.get("progress") is not None:
                return function(*args, **kwargs)
            texts = {name: str(value).partition("\n")[0][:_LONGEST] for name, value in given.arguments.items()}
            with progress_bar(label.format(**texts)) as step:
                if "progress" in given.arguments:
                    given.arguments["progress"] = step
                return function(*given.args, **given.kwargs)

        return wrapped

    return decorate
