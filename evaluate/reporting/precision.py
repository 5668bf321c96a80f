"""The number of words that an interval is over, and the effect of more words, by the rule of the interval."""

from senseprobe.errors import ResultError
from senseprobe.evaluate.estimands import lookup
from senseprobe.evaluate.estimands.figure_scope import Scope
from senseprobe.evaluate.reporting.inputs import ReportInput
from senseprobe.evaluate.units import KINDS
from senseprobe.messages import counted
from senseprobe.records import Design, Figure

WORDS = {"stereo": "unpleasant word", "anti": "pleasant word"}
"""The names of the levels of a design's `words`, by role."""

MORE = 5
"""The levels that are added to a small stratum; a stratum of more than `SMALL` levels is doubled."""

SMALL = 20
MOST_ROWS = 100_000
"""With more rows nothing is predicted: they have many words, and the rule takes long to compute."""


def describe_levels(figure: Figure, design: Design | None = None) -> str:
    """Return the number of levels of each factor of an interval, or the number of rows without a factor."""
    levels = [name_levels(factor, count, design) for factor, count in figure.levels.items()]
    return " \N{MULTIPLICATION SIGN} ".join(levels) or counted(figure.scored, KINDS[lookup(figure.estimand).kind].noun)


def predict_precision(source: ReportInput, figure: Figure) -> str:
    """Return which words would narrow an interval most: ``five more unpleasant words would narrow ±40 to about ±30``.

    For each stratum of each factor the interval is computed again as if the stratum had five more levels, or twice as
    many, whose means vary as the present ones do (`Projection.with_more_levels`). ± is half of the interval's width, in
    points. The text is empty without rows or release, for contrasts and bias types, and if the number would stay the
    same.
    """
    if figure.low is None or figure.high is None or figure.rows > MOST_ROWS:  # checked before millions of rows are read
        return ""
    table, release = source.tables.get(figure.config), source.release
    if table is None or release is None or len(table) > MOST_ROWS:
        return ""
    design, estimand, scale = source.scored_design(figure.config, release), lookup(figure.estimand), source.result.scale
    try:
        rows = estimand.compared_rows(table, design, scale)[figure.group]
    except (ResultError, KeyError):  # a figure of a plug-in, or of a bias type
        return ""
    about = () if figure.group is None else (str(design.group),)
    scope = Scope(design=design, config=figure.config, scale=scale, group=figure.group, about=about)
    rule, half = estimand.rule(rows, scope), (figure.high - figure.low) / 2
    best, text = round(half), ""
    for (factor, stratum), count in rule.strata.items():
        more = MORE if count <= SMALL else count
        fields = estimand.interval(rows, rule.with_more_levels(factor, stratum, more), scope)
        predicted = (fields["high"] - fields["low"]) / 2 if "high" in fields else half
        if round(predicted) < best:
            best, name = round(predicted), f"{factor} ({stratum})" if stratum else factor
            words = name_levels(name, more, design).partition(" ")[2]
            grown = f"five more {words}" if more == MORE else f"twice as many {words}"
            text = f"{grown} would narrow ±{half:.0f} to about ±{best}"
    return text


def name_levels(factor: str, count: int, design: Design | None = None) -> str:
    """Return a number of levels of a factor, or of a stratum of one.

    >>> name_levels("occupation", 5), name_levels("frame (verb)", 29), name_levels("quality", 2)
    ('5 occupations', '29 frames (verb)', '2 qualities')
    """
    name, bracket, stratum = factor.partition(" (")
    slots = {slot: WORDS[role] for role, slot in (design.words.items() if design else ()) if role in WORDS}
    slot, dot, column = name.partition(".")
    noun = f"{slots.get(slot, slot)} {column}" if dot else slots.get(name, name)
    plural = f"{noun[:-1]}ies" if noun.endswith("y") and noun[-2:-1] not in "aeiou" else f"{noun}s"
    if noun.endswith("s") or len(noun) == 1:  # `words` is plural already, and a letter names a set
        plural = noun
    return f"{counted(count, noun, plural)}{bracket}{stratum}"
