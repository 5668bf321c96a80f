"""What scorers, figures and other measures declare: as data, as a page, and as tables."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Any

from senseprobe.options import Argument

if TYPE_CHECKING:
    from senseprobe.document import Section


def metrics(
    name: Annotated[
        str | None, Argument(metavar="NAME", help="A scorer or a figure, for example aul or gap.", shown_default="")
    ] = None,
) -> list[dict[str, Any]]:
    """Explain a scorer or a figure: definition, source and limits; without a name, list all.

    Returns their declarations. Raises ResultError for an unknown name.
    """
    from senseprobe.evaluate.reporting.metric_docs import describe_metric, find_metrics

    if name is not None:
        return [*map(describe_metric, find_metrics(name))]
    return [metric for kind in metrics_by_kind().values() for metric in kind]


def metrics_by_kind() -> dict[str, list[dict[str, Any]]]:
    """Return what ``senseprobe explain --json`` prints: ``scorers`` and ``estimands``."""
    from senseprobe.evaluate.reporting.metric_docs import describe_metrics

    return describe_metrics()


def metrics_page(name: str | None = None) -> str:
    """Return the documentation of all scorers and estimands in Markdown, or of those called `name`.

    Raises ResultError where nothing has that name.
    """
    from senseprobe.evaluate.reporting.metric_docs import build_page, find_metrics, format_metric

    return (build_page() if name is None else "\n".join(map(format_metric, find_metrics(name)))).rstrip("\n")


def metric_sections() -> Iterator[Section]:
    """Yield a table of all scorers, and one of all estimands."""
    from senseprobe.evaluate.reporting.metric_docs import metric_sections

    return metric_sections()
