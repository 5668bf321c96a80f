"""What commands on texts print: bias-score and corpus."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from senseprobe import api
from senseprobe.cli.console import print_line, print_sections
from senseprobe.options import HEADER, SKIP_BAD

if TYPE_CHECKING:
    from senseprobe.evaluate.bias_score_summary import BiasScores
    from senseprobe.evaluate.corpus_summary import CorpusSummary


def bias_score(
    vectors: str,
    say: Callable[[str], None],
    header: Annotated[bool | None, HEADER] = None,
    skip_bad: Annotated[bool, SKIP_BAD] = False,
    **options: Any,  # noqa: ANN401 - of the score
) -> "BiasScores":
    """Return the scores of sentences, by vectors that are read as the options say."""
    source = api.vectors_of(vectors, "vectors:", header=header, skip_bad=skip_bad)
    return api.bias_score(vectors=source, say=say, **options)


def show_bias_scores(scores: "BiasScores") -> None:
    """Print the brief level of the page, and what was written."""
    print_sections(scores.sections("brief"))
    for path in scores.files:
        print_line(f"written: {path}")


def show_corpus(summary: "CorpusSummary", out: Sequence[Path]) -> None:
    """Print the brief level of the page, and what was written."""
    print_sections(summary.sections("brief"))
    for path in out:
        print_line(f"written: {path.resolve()}")
