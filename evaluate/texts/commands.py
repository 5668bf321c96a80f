"""The commands of this room, what they print, and when they are used."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from senseprobe.api import source_of, vectors_of
from senseprobe.cli.command import AddedCommand, Command, as_dict, show_sections
from senseprobe.cli.console import print_line, print_sections
from senseprobe.cli.examples import Use
from senseprobe.evaluate.texts import api
from senseprobe.options import HEADER, SKIP_BAD

if TYPE_CHECKING:
    from senseprobe.evaluate.texts.bias_score_summary import BiasScores
    from senseprobe.evaluate.texts.corpus_summary import CorpusSummary
    from senseprobe.evaluate.texts.word_association import WatResult


def bias_score(
    vectors: str,
    say: Callable[[str], None],
    header: Annotated[bool | None, HEADER] = None,
    skip_bad: Annotated[bool, SKIP_BAD] = False,
    **options: Any,  # noqa: ANN401 - of the score
) -> "BiasScores":
    """Return the scores of sentences, by vectors that are read as the options say."""
    source = vectors_of(vectors, "vectors:", header=header, skip_bad=skip_bad)
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


def associate(
    vectors: Sequence[str],
    say: Callable[[str], None],
    header: Annotated[bool | None, HEADER] = None,
    skip_bad: Annotated[bool, SKIP_BAD] = False,
    **options: Any,  # noqa: ANN401
) -> "WatResult":
    """Return the gender of words, and its correlation with vectors that are read as the options say."""
    sources = [source_of(spec, header=header, skip_bad=skip_bad) for spec in vectors]
    return api.word_association(vectors=sources, say=say, **options)


COMMANDS = (
    AddedCommand(
        id="bias-score",
        group="study",
        command=Command(api.bias_score, show_bias_scores, as_dict, call=bias_score),
        uses={
            "study bias-score": Use(
                "Measure gendered wording in sentences with word vectors.",
                (
                    "study bias-score sentences.txt --vectors glove --top 3",
                    "study bias-score sssb:verb --vectors glove --report scores.html",
                ),
            ),
        },
    ),
    AddedCommand(
        id="corpus",
        group="study",
        command=Command(api.corpus, show_corpus, as_dict),
        uses={
            "study corpus": Use(
                "Count what a model could have learnt from its training texts.",
                ("study corpus letters.csv", "study corpus letters.csv -o letters.html -o letters.json"),
            ),
        },
    ),
    AddedCommand(
        id="wat",
        group="study",
        command=Command(api.word_association, show_sections, as_dict, call=associate, name="wat"),
        uses={
            "study wat": Use(
                "Measure gender bias in human associations, and whether vectors repeat it.",
                ("study wat associations.csv -o lexicon.tsv", "study wat associations.csv --vectors vectors:glove"),
            ),
        },
    ),
)
