"""What each config of a result shows: a stand-in until the verdicts are written."""

from dataclasses import dataclass

from senseprobe.evaluate.estimands import lookup
from senseprobe.evaluate.reporting import notation
from senseprobe.evaluate.reporting.figure_tables import align_figures, find_headlines
from senseprobe.evaluate.reporting.inputs import ReportInput
from senseprobe.records import Design, Figure


@dataclass(frozen=True, kw_only=True, slots=True)
class Verdict:
    """One config or bias type of one result."""

    config: str
    bias_type: str
    figure: Figure | None
    kind: str
    text: str
    basis: str
    sharper: str = ""


def build_verdicts(source: ReportInput) -> list[Verdict]:
    """Return a verdict for each config, those with a neutral value first."""
    verdicts = []
    for row in find_headlines(align_figures([source.result.figures])):
        figure = row.first
        design = source.release.design(row.config) if source.release and row.config in source.release.configs else None
        bias = design.bias_type if design and design.bias_type != "none" else ""
        if figure.neutral is None or figure.low is None or figure.high is None:
            kind, text = "cannot be read", "no value is known to be neutral"
        elif figure.low <= figure.neutral <= figure.high:
            kind, text = "not shown", f"a preference of up to {notation.format_points(figure.high)} could hide"
        else:
            kind, text = "shown", direction_labels(figure, design)[(figure.value or 0) > figure.neutral]
        basis = ", ".join(f"{count} {name}" for name, count in figure.levels.items())
        verdicts.append(Verdict(config=row.config, bias_type=bias, figure=figure, kind=kind, text=text, basis=basis))
    return sorted(verdicts, key=lambda verdict: verdict.kind == "cannot be read")


def direction_labels(figure: Figure, design: Design | None) -> tuple[str, str]:
    """Return what the low and the high end of an axis mean."""
    if lookup(figure.estimand).from_zero:
        return "", ""
    return ("prefers the anti-stereotype", "prefers the stereotype")
