"""The page of a corpus: who is mentioned, beside which stereotyped words, how it was counted, and its limits."""

from collections.abc import Iterator

from senseprobe.document import Cell, Document, Part, Section, Table, name_cells
from senseprobe.evaluate.corpus_summary import LIMITS, MEASURES, CorpusSummary, format_ratio, format_share
from senseprobe.messages import counted


def build_page(summary: CorpusSummary) -> Document:
    """Return the page of the counts of a corpus."""
    counts = summary.tally.counts
    sections = (
        Section("Mentions", (_DOUBLE,), tables=(_shares(summary),)),
        Section("What it cannot say", LIMITS),
        Section("Ratios", (_INTERVALS,), tables=(_ratios(summary),)),
        Section("Words", tuple(_explain_words(summary)), tables=(_words(summary),)),
        Section(
            "How it was counted", (*summary.describe(), *(f"{m.title}: {m.says} {m.cannot_say}" for m in MEASURES))
        ),
        Section("To cite", (summary.citation,)),
    )
    return Document(
        title=f"Mentions of groups in {summary.names}",
        subtitle=f"{counted(counts.sentences, 'sentence')}, {counted(counts.documents, 'document')}",
        warning="The words were listed for the stereotypes that they carry.",
        parts=(Part(title=summary.names, sections=sections),),
        signatures=(summary.signature,),
    )


_DOUBLE = (
    "A sentence counts once for each group that it mentions. Shares are of a group's sentences; one that has words of "
    "two categories counts for both, and neutral ones have none."
)
_INTERVALS = (
    "A ratio of 2 is twice as many sentences. Intervals are a nominal 95 %, over documents. Paragraphs of one text are "
    "not independent: there the interval is too narrow."
)


def _shares(summary: CorpusSummary) -> Table:
    names = (*(f"{name}-typed %" for name in summary.terms.categories), "neutral %")
    rows = (
        (
            *name_cells(row["group"]),
            Cell.number(f"{row['sentences']:,}"),
            *(Cell.number(format_share(part), f"{part['sentences']:,}") for part in row["with"].values()),
        )
        for row in summary.rows()
    )
    return Table("Sentences that mention a group", ("group", "sentences", *names), tuple(rows))


def _ratios(summary: CorpusSummary) -> Table:
    rows = ((*name_cells(label), Cell.number(format_ratio(ratio))) for label, ratio in summary.ratios().items())
    return Table("Ratios of sentences", ("ratio", "with interval"), tuple(rows))


def _explain_words(summary: CorpusSummary) -> Iterator[str]:
    first, second = summary.sides
    yield (
        f"Above 0, a word is more frequent among the listed words of {first} sentences than of {second} ones. z ranks "
        "the words and is no test: sentences of a document are not independent."
    )


def _words(summary: CorpusSummary) -> Table:
    rows = (
        (
            *name_cells(word.word, word.category),
            *(Cell.number(f"{n:,}") for n in word.sentences),
            Cell.number("none" if word.log_odds is None else f"{word.log_odds:+.2f}"),
            Cell.number("none" if word.z is None else f"{word.z:+.2f}"),
        )
        for word in summary.words()
    )
    headings = ("word", "typed", *summary.terms.groups, "log-odds", "z")
    return Table("Sentences with a word, by group", headings, tuple(rows))
