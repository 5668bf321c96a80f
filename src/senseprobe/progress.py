"""Progress bars of long work, on standard error of a terminal and in notebooks."""

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import wraps
from importlib.util import find_spec
from inspect import signature
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

from senseprobe.messages import visible

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress

Parameters = ParamSpec("Parameters")
Returned = TypeVar("Returned")

_LONGEST = 80
_busy: ContextVar[bool] = ContextVar("busy", default=False)
"""Whether a bar is shown already: work within that work shows none."""


class Step:
    """A progress callback: work calls it to say how much more is done, or how much of how much.

    `done` and `total` are the last that it was told of.
    """

    def __init__(self, bar: "Progress", task: Any) -> None:  # noqa: ANN401 - rich's own id type
        self._bar, self._task = bar, task
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


@contextmanager
def progress_bar(label: str) -> Iterator[Step]:
    """Show a bar until the work is done, where there is a terminal, or a notebook with ipywidgets."""
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
        """How much was done per second lately."""

        def render(self, task: Task) -> Text:
            speed = task.finished_speed or task.speed
            return Text("" if speed is None else f"{speed:,.0f}/s" if speed >= 10 else f"{speed:.1f}/s")

    console = Console(highlight=False, emoji=False, stderr=True, soft_wrap=True)
    description = TextColumn("{task.description}", markup=False)
    columns = (description, BarColumn(), MofNCompleteColumn(), Rate(), TimeRemainingColumn())
    token, is_watched = _busy.set(True), _is_watched(console)
    try:
        with Progress(*columns, console=console, transient=True, disable=not is_watched) as bar:
            yield Step(bar, bar.add_task(_safe(label) if is_watched else "", total=None))
    finally:
        _busy.reset(token)


def _safe(label: str) -> str:
    """Return a label on a line, without control sequences or what is for the server alone in a URL of it.

    That is user and password, and what stands behind a question mark.
    """
    return visible(re.sub(r"//\S*@|\?\S*", "…", label)).replace("\n", " ")


def _is_watched(console: "Console") -> bool:
    if console.is_jupyter:
        return find_spec("ipywidgets") is not None
    return console.is_terminal


def with_progress(label: str) -> Callable[[Callable[Parameters, Returned]], Callable[Parameters, Returned]]:
    """Show a bar while a function works, unless it is called with a `progress` of its own.

    `label` names arguments in braces: ``building {dataset}``.
    """

    def decorate(function: Callable[Parameters, Returned]) -> Callable[Parameters, Returned]:
        parameters = signature(function)

        @wraps(function)
        def shown(*args: Parameters.args, **kwargs: Parameters.kwargs) -> Returned:
            given = parameters.bind(*args, **kwargs)
            given.apply_defaults()
            if _busy.get() or given.arguments.get("progress") is not None:
                return function(*args, **kwargs)
            texts = {name: _short(value) for name, value in given.arguments.items()}
            with progress_bar(label.format(**texts)) as step:
                if "progress" in given.arguments:
                    given.arguments["progress"] = step
                return function(*given.args, **given.kwargs)

        return shown

    return decorate


def _short(value: object) -> str:
    """Return the first line of an argument, which may be a whole model."""
    return str(value).partition("\n")[0][:_LONGEST]
