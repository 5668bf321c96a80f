"""What the counts of a corpus say: Tan and Celis' Table 1, ratios with intervals, log-odds of words; and their page."""

from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from senseprobe.document import Cell, Document, Level, Part, Section, Table, build_sections, name_cells, table_section
from senseprobe.evaluate.texts.corpus_counts import Ratio, Tally, Terms, estimate_log_odds, estimate_ratio
from senseprobe.evaluate.texts.measures import CORPUS_MEASURES
from senseprobe.messages import counted, listed, printable

MOST_WORDS = 5
"""Words from either end of the log-odds that a terminal shows."""

LIMITS = (
    "A mention is not a person: her is possessive too, they is mostly plural, and either may refer to things.",
    "Co-occurrence in a sentence is not attribution: it does not show whose occupation it is.",
    "The words are those of the lists. Other occupations, names, and other words for groups are not counted.",
    "Sentences are found by a rule, which makes errors at abbreviations and in verse, tables and code.",
    "Counts of a corpus show nothing about a model that was trained on it.",
)


class WordOdds(NamedTuple):
    """A word with its category, sentences with it by group, and its log-odds (None where neither of `sides` has it)."""

    word: str
    category: str
    sentences: tuple[int, ...]
    log_odds: float | None
    z: float | None


@dataclass(frozen=True, slots=True)
class CorpusSummary:
    """The counts of a corpus, and what they are of.

    `lists` describes the two lists, each as ``NAME@`` with twelve digits of its hash; `unit` is what a document is.
    """

    tally: Tally
    terms: Terms
    sources: tuple[str, ...]
    lists: tuple[str, str]
    splitter: str
    version: str

    @property
    def names(self) -> str:
        """The sources by name, without their folders."""
        return printable(listed(source if "://" in source else Path(source).name or source for source in self.sources))

    @property
    def signature(self) -> str:
        """What decides the counts: the texts, by their hash, and every choice."""
        groups, words = self.lists
        choices = f"groups:{groups}|with:{words}|sentences:{self.splitter}|plurals:{self.terms.plurals}"
        return f"corpus:1|texts:sha256={self.tally.sha256 or 'none'}|{choices}|senseprobe:{self.version}"

    @property
    def citation(self) -> str:
        """A sentence for a dataset's card."""
        counts = [f"{row['group']} {row['sentences']:,}" for row in self.rows()]
        n = counted(self.tally.counts.sentences, "sentence")
        source = f"senseprobe study corpus, after Tan & Celis 2019; {self.signature}"
        return f"Of {n}, these mention a group: {listed(counts)} ({source})"

    def rows(self) -> list[dict[str, Any]]:
        """Return Table 1: for each group its sentences, and how many and what percent have words of each category."""
        table = self.tally.counts.sums.reshape(len(self.terms.groups), -1).tolist()
        rows = []
        for group, (total, *parts) in zip(self.terms.groups, table, strict=True):
            shares = [100 * part / total if total else None for part in parts]
            names = (*self.terms.categories, "neutral")
            parts_of = {
                name: {"sentences": n, "percent": share} for name, n, share in zip(names, parts, shares, strict=True)
            }
            rows.append({"group": group, "sentences": total, "with": parts_of})
        return rows

    def ratios(self) -> dict[str, Ratio]:
        """Return ratios of mentions of groups, the later over the earlier, and of the categories within each group."""
        width = len(self.terms.categories) + 2
        names = self.terms.groups
        pairs = {f"{names[b]} / {names[a]}": (b * width, a * width) for a, b in combinations(range(len(names)), 2)}
        for number, group in enumerate(names):
            for a, b in combinations(range(len(self.terms.categories)), 2):
                label = f"{group}: with {self.terms.categories[a]}-typed / {self.terms.categories[b]}-typed words"
                pairs[label] = (number * width + 1 + a, number * width + 1 + b)
        return {label: estimate_ratio(self.tally.counts, *columns) for label, columns in pairs.items()}

    @property
    def sides(self) -> tuple[str, str]:
        """The groups that log-odds compare: the second of the list against the first."""
        return self.terms.groups[1], self.terms.groups[0]

    def words(self) -> list[WordOdds]:
        """Return the words with their log-odds, from the first of `sides` to the other; those without come last."""
        counts = self.tally.counts
        first, second = counts.cooccurrences[:, 1], counts.cooccurrences[:, 0]
        odds = np.where(first + second, estimate_log_odds(first, second, counts.totals), np.nan)
        values, z = ([None if np.isnan(value) else float(value) for value in column] for column in odds)
        columns = (self.terms.words, self.terms.categories_of_words, counts.cooccurrences.tolist(), values, z)
        rows = [WordOdds(word, of, tuple(n), value, score) for word, of, n, value, score in zip(*columns, strict=True)]
        return sorted(rows, key=lambda row: (row.z is None, -(row.z or 0.0), row.word))

    def as_dict(self) -> dict[str, Any]:
        """Return what ``senseprobe study corpus --json`` prints."""
        counts = self.tally.counts
        return {
            "sources": [*self.sources],
            "documents": counts.documents,
            "sentences": counts.sentences,
            "undecodable_bytes": self.tally.replaced,
            "groups": self.rows(),
            "ratios": [{"ratio": label, **ratio._asdict()} for label, ratio in self.ratios().items()],
            "log_odds": {"first": self.sides[0], "second": self.sides[1], "words": [w._asdict() for w in self.words()]},
            "limits": [*LIMITS],
            "citation": self.citation,
            "signature": self.signature,
        }

    def table(self) -> list[list[object]]:
        """Return all counts as rows of a CSV file, its header first: group, what of, sentences, percent."""
        rows: list[list[object]] = [["group", "with", "sentences", "percent"]]
        for row in self.rows():
            rows.append([row["group"], "", row["sentences"], ""])
            rows += [[row["group"], name, part["sentences"], part["percent"]] for name, part in row["with"].items()]
        for word in self.words():
            rows += [
                [group, f"word: {word.word}", n, ""] for group, n in zip(self.terms.groups, word.sentences, strict=True)
            ]
        return rows

    def sections(self, level: Level = "full") -> tuple[Section, ...]:
        """Return the sections of the page, or what a terminal prints of them."""
        return build_sections(_PAGE, self, level)

    def page(self) -> Document:
        """Return the page of the counts."""
        counts = self.tally.counts
        return Document(
            title=f"Mentions of groups in {self.names}",
            subtitle=f"{counted(counts.sentences, 'sentence')}, {counted(counts.documents, 'document')}",
            warning="The words were listed because of the stereotypes that they carry.",
            parts=(Part(title=self.names, sections=self.sections()),),
            signatures=(self.signature,),
        )


def mentions_section(corpus: CorpusSummary, level: Level = "full") -> Section:
    """Return Table 1: sentences that mention each group, and percent of them with a stereotyped word."""
    names = (*(f"{name}-typed %" for name in corpus.terms.categories), "neutral %")
    rows = (
        (
            *name_cells(row["group"]),
            Cell.number(f"{row['sentences']:,}"),
            *(
                Cell.number(
                    "none" if share["percent"] is None else f"{share['percent']:.2f}",
                    f"{share['sentences']:,}" if level == "full" else "",
                )
                for share in row["with"].values()
            ),
        )
        for row in corpus.rows()
    )
    table = Table("Sentences that mention a group", ("group", "sentences", *names), tuple(rows))
    return Section("Mentions", (_DOUBLE,), tables=(table,))


def limits_section(corpus: CorpusSummary, level: Level = "full") -> Section:
    """Return what the counts cannot say, at any length: a terminal has none of it."""
    return Section("What it cannot show", LIMITS * (level == "full"))


def ratios_section(corpus: CorpusSummary, level: Level = "full") -> Section:
    """Return ratios with their intervals."""
    rows = ((*name_cells(label), Cell.number(_format_ratio(ratio))) for label, ratio in corpus.ratios().items())
    return Section(
        "Ratios", (_INTERVALS,), tables=(Table("Ratios of sentences", ("ratio", "with interval"), tuple(rows)),)
    )


def words_section(corpus: CorpusSummary, level: Level = "full") -> Section:
    """Return the listed words with their log-odds; in brief those at either end."""
    first, second = corpus.sides
    text = (
        f"Above 0, a word is more frequent among the listed words of {first} sentences than of {second} ones. "
        "z ranks the words and is not a test, because sentences of a document are not independent."
    )
    words = corpus.words()
    if level == "brief":
        words = [word for word in words if word.z is not None]
        words = words if len(words) <= 2 * MOST_WORDS else words[:MOST_WORDS] + words[-MOST_WORDS:]
    rows = (
        (
            *name_cells(word.word, word.category),
            *(Cell.number(f"{n:,}") for n in word.sentences),
            Cell.number("none" if word.log_odds is None else f"{word.log_odds:+.2f}"),
            Cell.number("none" if word.z is None else f"{word.z:+.2f}"),
        )
        for word in words
    )
    headings = ("word", "typed", *corpus.terms.groups, "log-odds", "z")
    return table_section("Words", (text,), [Table("Sentences with a word, by group", headings, tuple(rows))])


def counting_section(corpus: CorpusSummary, level: Level = "full") -> Section:
    """Return what the counts are of, and what a reader must know of this corpus."""
    counts = corpus.tally.counts
    of_what = f"{counted(counts.sentences, 'sentence')} in {counted(counts.documents, 'document')} of {corpus.names}"
    texts = [f"{of_what}; a document is a paragraph of a text (between blank lines) or a row of a table"]
    if corpus.tally.replaced:
        texts.append(f"{counted(corpus.tally.replaced, 'byte')} were not UTF-8 and count as separators")
    texts.append(f"lists: {corpus.lists[0]}; {corpus.lists[1]}, with plurals by {corpus.terms.plurals}")
    if level == "full":
        texts += [f"{measure.title}: {measure.says} {measure.cannot_say}" for measure in CORPUS_MEASURES]
    return Section("How it was counted", tuple(texts))


def citation_section(corpus: CorpusSummary, level: Level = "full") -> Section:
    """Return a sentence for a dataset's card."""
    return Section("To cite", (corpus.citation,))


_PAGE = (mentions_section, limits_section, ratios_section, words_section, counting_section, citation_section)
_DOUBLE = (
    "A sentence counts once for each group that it mentions. Shares are of a group's sentences. A sentence with words "
    "of two categories counts for both, and neutral sentences have none."
)
_INTERVALS = (
    "A ratio of 2 means twice as many sentences. Intervals are a nominal 95 %, over documents. Paragraphs of "
    "one text are not independent, so for them the interval is too narrow."
)


def _format_ratio(ratio: Ratio) -> str:
    """Return a ratio with its interval, or why it has none."""
    if ratio.value is None:
        return "none: the divisor is 0"
    if ratio.low is None or ratio.high is None:
        return f"{ratio.value:.2f} (no interval: {'a count is 0' if not ratio.value else 'fewer than 5 documents'})"
    return f"{ratio.value:.2f} [{ratio.low:.2f}, {ratio.high:.2f}] over {counted(ratio.documents, 'document')}"
