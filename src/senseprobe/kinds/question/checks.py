"""What `lint` looks for in questions: rules for rows, which rows of templates and of imports are held against alike.

A rule yields a row, the column in which something is amiss, and what that is. Of a template, the finding stands at the
key of its front matter that the rule is about.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache, wraps
from typing import Any

from senseprobe.kinds import ConfigSubject, Design, Finding
from senseprobe.kinds.question.columns import AMBIGUOUS, DISAMBIGUATED

Row = Mapping[str, Any]
Mark = tuple[Row, str, str]
"""A row, a column of it, and what is amiss there."""
Rule = Callable[[Sequence[Row]], Iterator[Mark]]
Check = Callable[[ConfigSubject], Iterator[Finding]]

MIN_ROWS = 12
"""Fewer rows say nothing of shares: an order that is drawn may come often by chance."""
SHARES = (1 / 3, 2 / 3)
"""Shares of rows that count as one half: words that some templates lack, or verdicts, make them a little unequal."""

_WORD = re.compile(r"\w+")
_GROUPS = ("stereo_group", "anti_group")

RULES: dict[str, Rule] = {}
"""By code, the rules that need nothing but rows."""
CHECKS: dict[str, Check] = {}
"""By code, the checks of templates: those of `RULES`, and one of lines."""


def _rule(code: str, *key: str, hint: str) -> Callable[[Rule], Rule]:
    """Register a rule, and as a check the first row of each template that it yields, at a `key` of the front matter."""

    def register(rule: Rule) -> Rule:
        @wraps(rule)
        def check(subject: ConfigSubject) -> Iterator[Finding]:
            blocks = {getattr(block.block.front, "template", ""): block.block for block in subject.config.blocks[::-1]}
            seen = set()
            for row, _, message in rule(_rows(subject)):
                if row["template"] not in seen:
                    seen.add(row["template"])
                    yield subject.finding(blocks[row["template"]].locate(*key), code, message, hint)

        RULES[code], CHECKS[code] = rule, check
        return rule

    return register


@lru_cache(maxsize=1)
def _rows(subject: ConfigSubject) -> Sequence[Row]:
    """Return the rows of a config, which every check of it reads."""
    return [*subject.rows()]


def remark_rows(rows: Iterable[Row], design: Design) -> Iterator[tuple[Row, str, str, str]]:
    """Yield what the rules say of the rows of an import: row, column, code and message."""
    listed = [*rows]
    for code, rule in RULES.items():
        for row, column, message in rule(listed):
            yield row, column, code, message


# ---- Right answers ----


@_rule("EQUES01", "gold", hint="let only the disambiguating line say who is the answer, by `first` and `second`")
def follow_gold(rows: Sequence[Row]) -> Iterator[Mark]:
    """The right answer does not follow from the context.

    An ambiguous context has the answer *unknown*, and a disambiguated one has one person as the answer to the negative
    question and the other person as that to the other question. Print people by `first` and `second`: with the slots'
    own names, the context is the same in both orders, though the right answers differ.
    """
    golds: dict[tuple[str, str, str], str] = {}
    by_polarity: dict[tuple[str, str], dict[str, str]] = defaultdict(dict)
    ambiguous = {row["context"] for row in rows if row["condition"] == AMBIGUOUS}
    for row in rows:
        context, gold = row["context"], row["gold"]
        if row["condition"] == AMBIGUOUS:
            if gold != "unknown":
                yield row, "gold", f"the context is ambiguous, but the right answer is {gold}"
            continue
        if gold == "unknown":
            yield row, "gold", "the context is disambiguated, but the right answer is unknown"
            continue
        if context in ambiguous:
            yield row, "context", "the disambiguated context says no more than an ambiguous one"
        people = "\n".join(sorted((row["stereo"], row["anti"])))
        answer = row[gold]
        if golds.setdefault((context, people, row["question"]), answer) != answer:
            yield row, "gold", f"the same context and question have two right answers, such as {answer!r}"
            continue
        by_polarity[context, people][row["polarity"]] = answer
        if by_polarity[context, people] == dict.fromkeys(("negative", "non-negative"), answer):
            yield row, "gold", f"{answer!r} is the right answer to the negative question and to the other one"


@_rule("EQUES02", "stereotyped", hint="give the two groups different words, or the lists different names")
def name_one_group(rows: Sequence[Row]) -> Iterator[Mark]:
    """One name stands for two groups.

    A model that always chooses the name would be for one group in some rows and for the other in others, and figures
    of the two groups share rows. Give each group words of its own.
    """
    groups: dict[str, dict[str, None]] = defaultdict(dict)
    for row in rows:
        for role, column in zip(("stereo", "anti"), _GROUPS, strict=True):
            name, group = str(row[role]), row.get(column)
            if group and group not in groups[name]:
                groups[name][group] = None
                if len(groups[name]) == 2:
                    yield row, role, f"{name!r} is of the groups {' and '.join(groups[name])}"


# ---- Who is named ----


def name_both_people(subject: ConfigSubject) -> Iterator[Finding]:
    """A context does not name both people.

    Both the ambiguous and the disambiguating line name both: else a model can find the answer by who is named. Print
    `first` and `second` in both lines, or accept the warning where a pronoun stands for a name.
    """
    seen = set()
    for frame in subject.frames:
        if frame.resolved.frame.code not in ("ambiguous", "disambiguating") or frame.position in seen:
            continue
        names = frame.block.names("sentence")
        printed = {str(names[name]) for segment in frame.segments for name in segment.prints if name in names}
        if lacking := [name for name in ("first", "second") if str(names[name]) not in printed]:
            seen.add(frame.position)
            message = f"the line does not name {' and '.join(lacking)}"
            yield frame.finding("WQUES01", message, "print both people in both contexts")


CHECKS["WQUES01"] = name_both_people


def name_both_answers(rows: Sequence[Row]) -> Iterator[Mark]:
    """A context does not name both people: it has no word by which one answer differs from the other."""
    seen = set()
    for row in rows:
        context = str(row["context"])
        for role, place in zip(("stereo", "anti"), _places(row), strict=True):
            if place < 0 and (row[role], context) not in seen:
                seen.add((row[role], context))
                yield row, "context", f"the context does not name {row[role]!r}"


RULES["WQUES01"] = name_both_answers


def _places(row: Row) -> tuple[int, int]:
    """Return where the context first has a word by which `stereo` differs from `anti`, and the reverse; -1: nowhere.

    An answer may be worded otherwise than the context: *The old man* for *my neighbour, an old man*.

    >>> _places({"context": "A young man met an old one.", "stereo": "The old man", "anti": "The young man"})
    (19, 2)
    """
    places = _word_places(str(row["context"]))
    stereo, anti = (_word_places(str(row[role])).keys() for role in ("stereo", "anti"))
    first, second = (
        min((places[word] for word in words & places.keys()), default=-1)
        for words in (stereo - anti or stereo, anti - stereo or anti)
    )
    return first, second


@lru_cache(maxsize=1_024)
def _word_places(text: str) -> Mapping[str, int]:
    """Return the words of a text in lower case, each with the place where it first is."""
    return {word[0]: word.start() for word in reversed([*_WORD.finditer(text.casefold())])}


# ---- Answers that cannot be known ----


@_rule("WQUES02", "unknown", hint="list the answers in other orders")
def vary_places(rows: Sequence[Row]) -> Iterator[Mark]:
    """The answer *unknown* is in one place in more than two thirds of the rows.

    A model that prefers a place looks careful, or careless, without reading. Templates draw the order of each row;
    published rows have the order that they were published with.
    """
    places = Counter(str(row["order"]).split().index("unknown") for row in rows)
    for place, count in places.items():
        if len(rows) >= MIN_ROWS and count / len(rows) > SHARES[1]:
            yield rows[0], "order", f"`unknown` is answer {place + 1} in {count} of {len(rows)} rows"


@_rule("WQUES03", "unknown", hint="add wordings to the list, or widen `where`")
def vary_wordings(rows: Sequence[Row]) -> Iterator[Mark]:
    """The answer *unknown* has one wording in all rows.

    Models like some wordings better than others, and no interval can say how much that matters. Give the slot of
    `unknown` several words: *Not enough information*, *Cannot be known*, …
    """
    wordings = {row["unknown"] for row in rows}
    if len(wordings) == 1 and len(rows) >= MIN_ROWS:
        yield rows[0], "unknown", f"all rows have the wording {next(iter(wordings))!r}"


# ---- Balance ----


@_rule("WQUES04", "groups", hint="add templates in which the other group is the stereotyped one")
def balance_targets(rows: Sequence[Row]) -> Iterator[Mark]:
    """A group is much more often, or more rarely, the stereotyped one than the other one.

    A model that always chooses one group then looks biased, or free of bias, whatever it thinks of stereotypes. Each
    group is the stereotyped one in a third to two thirds of the rows of a config that it is in.
    """
    yield from _unbalanced(rows, _is_target, "groups", "the stereotyped group")


@_rule("WQUES05", "gold", hint="let each group be the answer, and be named first, in half of the rows")
def balance_answers(rows: Sequence[Row]) -> Iterator[Mark]:
    """A group is much more often, or more rarely, the right answer or the first that a context names.

    A model that always chooses this group, or the person who is named first, would have a high accuracy. Templates
    print both orders, so this is seen where the lines name slots instead of `first` and `second`, or in imports.
    """
    disambiguated = [row for row in rows if row["condition"] == DISAMBIGUATED]
    yield from _unbalanced(disambiguated, _is_gold, "gold", "the right answer")
    yield from _unbalanced(rows, _is_first, "context", "the first that the context names")


def _unbalanced(rows: Sequence[Row], holds: Callable[[Row], bool | None], column: str, what: str) -> Iterator[Mark]:
    """Yield the first row of each group of which something holds in too many, or too few, of its rows.

    `holds` says whether it holds of the row's `stereo_group` and not of its `anti_group`; None: nobody can say.
    """
    counts: dict[str, list[int]] = defaultdict(lambda: [0, 0])
    first: dict[str, Row] = {}
    for row in rows:
        groups = [str(row.get(name) or "") for name in _GROUPS]
        if not all(groups) or groups[0] == groups[1] or (of_stereo := holds(row)) is None:
            continue
        for group, is_so in zip(groups, (of_stereo, not of_stereo), strict=True):
            counts[group][is_so] += 1
            first.setdefault(group, row)
    for group, (others, count) in counts.items():
        total = others + count
        if total >= MIN_ROWS and not SHARES[0] <= count / total <= SHARES[1]:
            where = "stereo_group" if column == "groups" else column
            yield first[group], where, f"{group} is {what} in {count} of its {total} rows"


def _is_target(row: Row) -> bool:
    return bool(row["polarity"] == "negative")


def _is_gold(row: Row) -> bool | None:
    return None if row["gold"] == "unknown" else bool(row["gold"] == "stereo")


def _is_first(row: Row) -> bool | None:
    stereo, anti = _places(row)
    return None if min(stereo, anti) < 0 or stereo == anti else stereo < anti
