"""What commands on texts and word senses print: bias-score, corpus, senses (build, show and report) and wat."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from senseprobe import api
from senseprobe.cli.console import print_line, print_note, print_sections
from senseprobe.messages import listed
from senseprobe.options import HEADER, SKIP_BAD

if TYPE_CHECKING:
    from senseprobe.evaluate.bias_score_summary import BiasScores
    from senseprobe.evaluate.corpus_summary import CorpusSummary
    from senseprobe.evaluate.models.gloss_vectors import BuiltSenses
    from senseprobe.evaluate.reporting.word_senses import WordSenses
    from senseprobe.evaluate.word_association import WatResult


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


def show_built(built: "BuiltSenses") -> None:
    """Print what was made, and what it is not good for."""
    if built.without:
        print_note(f"not in WordNet: {listed(built.without)}")
    print_line(f"{built.file}: {built.senses:,} senses, {built.texts:,} texts, {built.dimensions} dimensions")
    print_line(built.metadata["limits"])


def place(
    senses: Path | None,
    say: Callable[[str], None],
    header: Annotated[bool | None, HEADER] = None,
    skip_bad: Annotated[bool, SKIP_BAD] = False,
    **options: Any,  # noqa: ANN401
) -> "WordSenses":
    """Return the senses of a word, placed by an embedding that is read as the options say."""
    source = None if senses is None else api.vectors_of(senses, "senses:", header=header, skip_bad=skip_bad)
    return api.show_senses(senses=source, say=say, **options)


def show_placed(placed: "WordSenses", out: Path | None) -> None:
    """Print the senses, and where the page is."""
    print_sections(placed.sections("brief"))
    if out is not None:
        print_line(f"page in {out.resolve()}")


def show_page(path: Path) -> None:
    """Print where a page is."""
    print_line(f"report in {path.resolve()}")


def associate(
    vectors: Sequence[str],
    say: Callable[[str], None],
    header: Annotated[bool | None, HEADER] = None,
    skip_bad: Annotated[bool, SKIP_BAD] = False,
    **options: Any,  # noqa: ANN401
) -> "WatResult":
    """Return the gender of words, and its correlation with vectors that are read as the options say."""
    sources = [api.source_of(spec, header=header, skip_bad=skip_bad) for spec in vectors]
    return api.word_association(vectors=sources, say=say, **options)
