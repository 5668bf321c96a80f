"""Verdicts on association tests: one for each identity of a config, on all tests that share it."""

from collections.abc import Iterable, Iterator, Sequence

from senseprobe.evaluate.estimands import lookup
from senseprobe.evaluate.estimands.association import (
    CANNOT_REACH,
    DETECTED,
    LOST,
    NO_INTERVAL,
    THESE_WORDS,
    UNDETECTED,
    TestKey,
    Weat,
    find_reversed,
    key_of,
)
from senseprobe.evaluate.reporting.inputs import NOT_COMPARABLE, ReportInput
from senseprobe.evaluate.reporting.notation import describe_sizes, format_points
from senseprobe.evaluate.reporting.verdict import Verdict
from senseprobe.messages import counted, listed
from senseprobe.records import Figure, FigureKey, FigureVerdict

OTHER = "no identity"
"""What tests are about that are of no identity, as those of flowers and insects."""

FEW = 2
"""Words of a set that name it."""


def find_tests(figures: Iterable[Figure], *, variants: bool = False) -> list[tuple[Weat, Figure]]:
    """Return the association tests among figures, each with its estimand, or those of its variants."""
    pairs = ((lookup(figure.estimand), figure) for figure in figures if figure.group is not None)
    return [(weat, figure) for weat, figure in pairs if isinstance(weat, Weat) and bool(weat.variant_of) == variants]


def group_tests(figures: Iterable[Figure]) -> dict[tuple[str, str], list[tuple[Weat, Figure]]]:
    """Return the association tests by config and identity; the identity is empty if all tests of a config lack it."""
    tests = find_tests(figures)
    with_identity = {figure.config for _, figure in tests if figure.identity}
    families: dict[tuple[str, str], list[tuple[Weat, Figure]]] = {}
    for weat, figure in tests:
        identity = figure.identity or (OTHER if figure.config in with_identity else "")
        families.setdefault((figure.config, identity), []).append((weat, figure))
    return families


def judge_tests(source: ReportInput) -> Iterator[Verdict]:
    """Yield a verdict for each identity of each config."""
    below = find_reversed(find_tests(source.result.figures))
    for (config, identity), tests in group_tests(source.result.figures).items():
        if reason := source.why_unread(config):
            basis = counted(len(tests), "test")
            yield Verdict(config=config, bias_type=identity, figure=None, code="unreadable", text=reason, basis=basis)
        else:
            yield _judge_family(config, identity, tests, below)


def judge_figures(source: ReportInput) -> Iterator[tuple[FigureKey, FigureVerdict]]:
    """Yield the verdict of each test, and of each variant that has an interval, with its key."""
    figures = source.result.figures
    for weat, figure in [*find_tests(figures), *find_tests(figures, variants=True)]:
        flaw = source.why_unread(figure.config)
        verdict = FigureVerdict(code="unreadable", text=flaw, flaw=flaw) if flaw else weat.judge(figure)
        if verdict.flaw or weat.has_interval:
            yield figure.key, verdict


def _judge_family(config: str, identity: str, tests: Sequence[tuple[Weat, Figure]], below: set[TestKey]) -> Verdict:
    """Return the verdict on the tests of an identity: for each conclusion, how many tests have it, and their names."""
    by_text: dict[str, list[Figure]] = {
        text: [] for text in (DETECTED, THESE_WORDS, UNDETECTED, CANNOT_REACH, NO_INTERVAL)
    }
    lost: list[Figure] = []
    erased: list[Figure] = []
    for weat, figure in tests:
        text = weat.judge(figure).text
        by_text.get(text, lost if text == LOST else erased).append(figure)
    leading = next((text for text, figures in by_text.items() if figures), CANNOT_REACH)
    largest = max(by_text[leading] or lost or erased, key=lambda figure: figure.value or 0.0)
    hidden = max((figure.high for figure in by_text[UNDETECTED] if figure.high is not None), default=0.0)
    several = f" of {len(tests)} tests" if len(tests) > 1 else ""
    clauses = {
        f"{DETECTED} in {len(by_text[DETECTED])}{several}": by_text[DETECTED],
        f"{THESE_WORDS} in {len(by_text[THESE_WORDS])}{several if leading == THESE_WORDS else ''}": by_text[
            THESE_WORDS
        ],
        "too few words for any p to be small": by_text[CANNOT_REACH],
        "interval not estimable": by_text[NO_INTERVAL],
        "the other way round, which p does not test": [f for f in by_text[UNDETECTED] if (config, f.group) in below],
        f"not judged, since {LOST}": lost,
        **{f"not judged, since {weat.judge(figure).text}": [figure] for weat, figure in tests if figure in erased},
    }
    texts = [
        f"{clause}: {listed(figure.group for figure in figures)}" for clause, figures in clauses.items() if figures
    ]
    if by_text[UNDETECTED]:
        size = format_points(max(hidden, 0.0), largest.estimand).removeprefix("+")
        possible = f"an effect of up to {size} is possible"
        count = f"{UNDETECTED} in {len(by_text[UNDETECTED])}{several if leading == UNDETECTED else ''}"
        texts.insert(0 if leading == UNDETECTED else len(texts), f"{count} ({possible})")
    return Verdict(
        config=config,
        bias_type=identity,
        figure=None if largest.value is None else largest,
        code=tests[0][0].judge(largest).code,
        text="; ".join(texts),
        basis="" if largest.value is None else f"{largest.group}, the largest of these: {describe_sizes(largest)}",
        hidden=hidden if leading == UNDETECTED else None,
    )


def summarize_tests(source: ReportInput) -> str:
    """Return the tests of a result that have an effect, and their number; or why its tests cannot be read."""
    if not source.is_comparable:
        return NOT_COMPARABLE
    tests = find_tests(source.result.figures)
    read = [(weat, figure) for weat, figure in tests if not source.why_unread(figure.config)]
    keys = [key_of(figure) for _, figure in tests]
    codes = [(key_of(figure), weat.judge(figure).code) for weat, figure in read]
    effects, narrow = ([key for key, verdict in codes if verdict == code] for code in ("shown", "these_words"))
    text = f"An effect is found in {len(effects)} of {counted(len(tests), 'test')}" + (
        f": {name_tests(effects, keys)}" if effects else ""
    )
    text += f"; in {len(narrow)} more for these words only" if narrow else ""
    exchanged = find_reversed(read)
    reverse = [key for key in keys if key in exchanged]
    return f"{text}; the other way round in {len(reverse)}: {name_tests(reverse, keys)}." if reverse else f"{text}."


def name_tests(keys: Iterable[TestKey], tests: Sequence[TestKey]) -> str:
    """Return the names of some of the `tests`, each with its config if several tests have the name.

    >>> tests = [("bleached", "weat6"), ("bleached", "weat7"), ("names", "weat7")]
    >>> name_tests(tests[:2], tests)
    'weat6, weat7 of bleached'
    """
    names = [test for _, test in tests]
    return listed(test if names.count(test) == 1 else f"{test} of {config}" for config, test in keys)


def listed_words(words: Sequence[str], few: int = FEW) -> str:
    """Return the first words of a set.

    >>> listed_words(["Adam", "Chuck", "Harry"], few=2)
    'Adam, Chuck …'
    """
    return ", ".join(words[:few]) + (" …" if len(words) > few else "")
