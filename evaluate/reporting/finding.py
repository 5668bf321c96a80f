"""Sentences on a verdict: what the model does, what would change the verdict, and the headline."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from pathlib import PurePath

from senseprobe.evaluate.control import GUESS
from senseprobe.evaluate.estimands import Estimand, lookup
from senseprobe.evaluate.estimands.association import TestKey, key_of
from senseprobe.evaluate.estimands.sense_contrast import difference_of
from senseprobe.evaluate.estimands.word_sets import SETS, TestWords
from senseprobe.evaluate.models.packages import packaged_models
from senseprobe.evaluate.reporting.association_verdicts import listed_words
from senseprobe.evaluate.reporting.inputs import ReportInput
from senseprobe.evaluate.reporting.notation import format_p, format_points
from senseprobe.evaluate.reporting.verdict import Verdict
from senseprobe.evaluate.task_gates import CONTROL, find_verdict
from senseprobe.evaluate.units import KINDS
from senseprobe.messages import as_paragraph, as_sentence, capitalized, conjoined, listed
from senseprobe.records import Design, Figure
from senseprobe.statistics import LEVEL

FEW = 3
"""The most groups, targets and findings that a sentence names."""

LONG = 24
"""The most characters of a model's name; of a longer one only the last part is shown."""

_SIZE = re.compile(r"[- ]\d+(\.\d+)?[BMbm]\b.*")

NUMBERS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")


def name_model(name: str) -> str:
    """Return the name of a model for readers: ``SmolLM2-135M-Instruct``, and of a file without its folders.

    >>> name_model("HuggingFaceTB/SmolLM2-135M-Instruct"), name_model("vectors:models/embeddings/glove.6B.300d.txt")
    ('SmolLM2-135M-Instruct', 'glove.6B.300d.txt')
    """
    scheme, _, rest = name.rpartition(":") if "//" not in name else ("", "", name)
    short = rest if scheme in ("vectors", "senses") else name
    if package := packaged_models().get(short):
        return package.description.partition(" of ")[0]
    return PurePath(short).name or short if len(short) > LONG else short


def name_models(sources: Sequence[ReportInput]) -> list[str]:
    """Return the model of each result for a sentence: without its size (``SmolLM2``) if the names stay distinct."""
    names = [name_model(str(source.result.model["name"])) for source in sources]
    short = {name: _SIZE.sub("", name) or name for name in names}
    return [short[name] if len({*short.values()}) == len(short) else name for name in names]


def count_word(count: int) -> str:
    """Return a number as a word up to twelve.

    >>> count_word(6), count_word(1234)
    ('six', '1,234')
    """
    return NUMBERS[count] if count < len(NUMBERS) else f"{count:,}"


# --- Words and their senses -----------------------------------------------------------------------------------------


def find_senses(sources: Iterable[ReportInput]) -> dict[str, set[str]]:
    """Return the sense types of each target word, in lower case, over all scored configs."""
    senses: dict[str, set[str]] = {}
    for source in sources:
        for config, table in source.tables.items():
            design = source.design(config)
            if design is not None and "target" in table:
                for word in table["target"].dropna().unique():
                    senses.setdefault(str(word).casefold(), set()).add(design.sense_type)
    return senses


def label_word(word: str, design: Design | None, senses: Mapping[str, Set[str]]) -> str:
    """Return a word with its sense if the results have several senses of it: ``Afghan (dog)``."""
    if design is None or len(senses.get(word.casefold(), ())) < 2 or not design.sense_type:
        return word
    return f"{word} ({design.sense_type})"


def find_contrasted(source: ReportInput, figure: Figure) -> Estimand | None:
    """Return the estimand of which a figure is the difference between two configs; None for other figures."""
    contrasts = source.release.manifest.contrasts if source.release else ()
    of_name = (contrast for contrast in contrasts if contrast.name == figure.config and contrast.matched)
    made = (contrast for contrast in of_name if difference_of(contrast).id == figure.estimand)
    return next((lookup(contrast.estimand) for contrast in made), None)


# --- The fact -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True, slots=True)
class SentenceWriter:
    """The writer of the sentences on a result.

    - `model`: its name in a sentence; `senses`: the sense types of each word (`find_senses`).
    - `words`: the words of its association tests.
    """

    source: ReportInput
    model: str
    senses: Mapping[str, Set[str]]
    words: Mapping[TestKey, TestWords]

    def state_fact(self, verdict: Verdict) -> str:
        """Return a sentence that says what the model does, with the number of the verdict's figure."""
        figure = verdict.figure
        if figure is not None and verdict.config.startswith(f"{CONTROL}:"):
            return (
                f"{self.model} {self._clause(figure)} on the control. "
                f"Guessing gives {GUESS}: half of the pairs are entailments, half contradictions."
            )
        if figure is not None and (failed := find_verdict(figure)):
            side, _, gates = verdict.text.partition(failed)  # of a contrast "of CONFIG, " stands before
            where = f" in {side.removeprefix('of ').rstrip(', ')}" if side else ""
            checks = gates.replace(": it fails ", ": it fails the checks ")
            return f"{self.model} {failed.removeprefix('this model ')}{where}{checks}."
        if figure is None or figure.value is None or (figure.verdict is not None and figure.verdict.flaw):
            return f"The answers of {self.model} say nothing here: {verdict.text}."
        if verdict.code in ("shown", "these_words"):
            return self._describe(verdict, figure)
        scope = "With these words" if KINDS[self.source.kind].tests else "In these rows"
        return f"{scope}, {self._describe(verdict, figure)}"

    def state_briefly(self, verdict: Verdict) -> str:
        """Return what the model does as a clause without its name; for groups, the clause of the group that differs."""
        return verdict.word if verdict.figure is None else self._clause(verdict.figure)

    def _describe(self, verdict: Verdict, figure: Figure) -> str:
        """Return what the model does: to each of the groups, or what its figure says."""
        groups = [f for f in self.source.result.figures if f.config == figure.config and f.group and _is_group(f)]
        count = f"{count_word(len(groups))} groups"
        if groups and lookup(figure.estimand).needs_p:
            farthest = max(groups, key=lambda f: abs(f.value or 0.0))
            p = "" if figure.p is None else f" ({format_p(figure.p)})"
            if find_only_other(self.source, farthest):
                return f"{self.model} treats the {count} differently{p}: it {self._clause(farthest)}."
            return (
                f"{self.model} treats the {count} differently{p}, but no single group stands out. "
                f"{self._label(farthest)} differs most."
            )
        if not _is_group(figure) or len(groups) < 2 or find_only_other(self.source, figure):
            return f"{self.model} {self._clause(figure)}."
        if verdict.code != "shown":
            return f"{self._label(figure)} differs most of {count}: {self.model} {self._clause(figure, 'it')}."
        differing = [f for f, _ in verdict.of] or [figure]
        clauses = [self._clause(f) for f in differing[:FEW]]
        if len(differing) == 1:
            return f"{self.model} {clauses[0]}. No other group clearly differs."
        more = f" {capitalized(count_word(len(differing) - FEW))} more groups differ." if len(differing) > FEW else ""
        return f"{self.model} {'; it '.join(clauses)}.{more}"

    def _label(self, figure: Figure) -> str:
        """Return the group of a figure with its sense."""
        return label_word(str(figure.group), self.source.design(figure.config), self.senses)

    def _clause(self, figure: Figure, group: str = "") -> str:
        """Return the estimand's statement of a figure, with the names of groups, senses and words."""
        source, design = self.source, self.source.design(figure.config)
        names: dict[str, str] = {}
        for contrast in source.release.manifest.contrasts if source.release else ():
            if contrast.name == figure.config:
                tendency = lookup(contrast.estimand).tendency(source.design(contrast.a))
                names = {"first": contrast.a, "second": contrast.b, "tendency": tendency}
        if contrasted := find_contrasted(source, figure):
            names["rows"] = KINDS[contrasted.kind].nouns
        if words := self.words.get(key_of(figure)):
            names = {side: listed_words(words.has[side]) for side in SETS}
        if figure.group:
            names["group"] = group or self._label(figure)
            names["others"] = find_only_other(source, figure)
        clause, table = lookup(figure.estimand).fact(figure, design, names), source.tables.get(figure.config)
        if table is None or design is None or figure.group is not None or "target" not in table:
            return clause
        targets = [str(word) for word in table["target"].dropna().unique()]
        if not clause.endswith("pairs") or not 0 < len(targets) <= FEW:
            return clause
        return f"{clause} about {listed(label_word(word, design, self.senses) for word in targets)}"


def _is_group(figure: Figure) -> bool:
    """Return whether a figure is the figure of a group that is compared with others."""
    estimand = lookup(figure.estimand)
    return estimand.tests_groups and figure.neutral is not None and not KINDS[estimand.kind].tests


def find_only_other(source: ReportInput, figure: Figure) -> str:
    """Return the only other group of a figure with two groups, whose figure is the mirror image; else nothing."""
    design = source.design(figure.config)
    if not _is_group(figure) or not lookup(figure.estimand).names_others:
        return ""
    if design is not None and design.reference:
        return ""
    key = (figure.config, figure.estimand)
    groups = [f.group for f in source.result.figures if f.group and (f.config, f.estimand) == key]
    return next((str(g) for g in groups if g != figure.group), "") if len(groups) == 2 else ""


# --- What would change it -------------------------------------------------------------------------------------------


def state_outlook(verdict: Verdict, source: ReportInput) -> str:
    """Return a line on what would change a verdict, or how sure it is."""
    figure = verdict.figure
    if verdict.config.startswith(f"{CONTROL}:"):
        return as_sentence(verdict.sharper)
    if KINDS[source.kind].tests:
        return as_sentence(verdict.text)
    if verdict.fails_correction and verdict.p_holm is not None:
        return _explain_correction(verdict, verdict.p, verdict.p_holm)
    if verdict.code == "shown" and verdict.p_holm is not None:
        neutral = figure.neutral or 0.0 if figure is not None else 0.0
        reason = format_p(verdict.p_holm) if verdict.has_p else f"The interval excludes {neutral:g}"
        return f"{reason}{f' after {_correction(verdict)}' if verdict.family > 1 else ''}."
    if verdict.code == "small":
        return as_sentence(verdict.text)
    if verdict.code == "not_shown":
        possible = "" if verdict.hidden is None else f"An effect of up to {_format_hidden(verdict)} is possible."
        return as_paragraph(possible, as_sentence(verdict.sharper))
    if figure is not None and find_verdict(figure):
        return "Its figures are withheld; a section below has the result of each check."
    if figure is None or figure.value is None or (figure.verdict and figure.verdict.flaw):
        return as_sentence(verdict.sharper)
    return as_paragraph(*map(as_sentence, (*verdict.text.split("; "), verdict.sharper)))


def _correction(verdict: Verdict) -> str:
    """Return the tests that p is corrected for: some questions do not have one."""
    return f"correction for {verdict.family} tests"


def _explain_correction(verdict: Verdict, p: float | None, p_holm: float) -> str:
    """Return the effect of correction: it removes a finding, unless p of all groups together was large before."""
    after, figure = _correction(verdict), verdict.figure
    if p is None or p < LEVEL:
        return f"Alone it would count as found; after {after} it does not ({format_p(p_holm)})."
    corrected = f"and {format_p(p_holm).removeprefix('p ').removeprefix('= ')} after {after}."
    outside = figure is not None and figure.low is not None and figure.high is not None
    if outside and not figure.low <= (figure.neutral or 0.0) <= figure.high:  # type: ignore[union-attr, operator]
        return f"The interval excludes {figure.neutral or 0.0:g}, but {format_p(p)}, {corrected}"  # type: ignore[union-attr]
    return f"{capitalized(format_p(p))} {corrected}"


def _format_hidden(verdict: Verdict) -> str:
    """Return how large an effect can be, with its unit."""
    estimand = "" if verdict.figure is None else verdict.figure.estimand
    measure = lookup(estimand).unit if estimand else "points"
    if measure == "points":
        return f"{verdict.hidden:.0f} points"
    return f"{format_points(verdict.hidden or 0.0, estimand).removeprefix('+')} {measure}"


# --- The headline ---------------------------------------------------------------------------------------------------


def state_headline(writer: SentenceWriter, *, short: bool = False) -> str:
    """Return sentences on how many questions have an answer, and on what is found, undecided and not readable.

    With `short` it is only the first sentence, with the names of the questions that have an answer.
    """
    verdicts = writer.source.verdicts or ()
    answered = [v for v in verdicts if v.code in ("shown", "these_words", "small")]
    count = _count_answers(verdicts, answered)
    if short and answered:
        facts = [f"{v.word}: {_name(v)} ({writer.state_briefly(v)})" for v in answered if len(answered) < FEW]
        return f"{count} {capitalized('; '.join(facts) or _listed_few([_name(v) for v in answered]))}."
    if len(verdicts) == 1 and verdicts[0].code == "unreadable":
        return _explain_unread(writer, verdicts[0], short=short)
    return count if short else as_paragraph(count, *_list_answers(writer, verdicts, answered))


def _explain_unread(writer: SentenceWriter, verdict: Verdict, *, short: bool) -> str:
    """Return why the only question cannot be read."""
    if verdict.config.startswith(f"{CONTROL}:"):
        return f"{writer.model} fails its control, so nothing that it says here can be read."
    cannot = f"{_name(verdict)} cannot be read"
    if short or (verdict.figure is not None and find_verdict(verdict.figure)):
        return f"{cannot}." if short else f"{cannot}. {writer.state_fact(verdict)}"
    reason, *others = verdict.text.split("; ")
    return as_paragraph(f"{cannot}: {reason}.", *map(as_sentence, others))


def _count_answers(verdicts: Sequence[Verdict], answered: Sequence[Verdict]) -> str:
    """Return how many of the questions have an answer."""
    if not verdicts:
        return "There is no figure to judge."
    if len(verdicts) == 1:
        return f"The question {'has an answer' if answered else 'is undecided'}."
    if len(answered) == len(verdicts):
        return f"All {count_word(len(verdicts))} questions have an answer."
    count, has = count_word(len(answered)) if answered else "none", "have" if len(answered) > 1 else "has"
    return f"{capitalized(count)} of {count_word(len(verdicts))} questions {has} an answer."


def _list_answers(writer: SentenceWriter, verdicts: Sequence[Verdict], answered: Sequence[Verdict]) -> Iterator[str]:
    """Yield sentences on what is found, undecided and not readable."""
    several = len(verdicts) > 1
    for verdict in answered[:FEW]:
        word = "" if verdict.code == "shown" else f" ({verdict.word})"
        yield f"{_name(verdict)}{word}: {writer.state_fact(verdict)}" if several else writer.state_fact(verdict)
    if len(answered) > FEW:
        yield f"Also answered: {_listed_few([_name(v) for v in answered[FEW:]])}."
    if undecided := [v for v in verdicts if v.code == "not_shown"]:
        largest = max(undecided, key=lambda v: v.hidden or 0.0)
        possible = f"; an effect of up to {_format_hidden(largest)} is possible" if largest.hidden else ""
        yield f"Undecided: {_listed_few([_name(v) for v in undecided])}{possible}."
    if unread := [v for v in verdicts if v.code == "unreadable"]:
        first, flaw = unread[0], any(judged.flaw for _, judged in unread[0].of)
        is_explained = flaw or first.figure is None or first.config.startswith(f"{CONTROL}:")
        outlook = state_outlook(first, writer.source)
        reason = as_paragraph(writer.state_fact(first), "" if several else outlook) if is_explained else outlook
        yield f"Not readable: {_listed_few([_name(v) for v in unread])}. {reason}" if several else reason


def _name(verdict: Verdict) -> str:
    """Return the name of a question: its config, with the bias type if it has one."""
    return " ".join(filter(None, (verdict.config, verdict.bias_type and f"({verdict.bias_type})")))


def _listed_few(names: Sequence[str]) -> str:
    """Return the first names, and how many others there are: ``noun, verb and 3 others``."""
    if len(names) <= FEW + 1:
        return conjoined(names)
    return f"{', '.join(names[:FEW])} and {count_word(len(names) - FEW)} others"
