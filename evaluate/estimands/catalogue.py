"""What each estimand is, in words: its range, its direction, where it comes from, what it can and cannot say."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from math import isfinite
from typing import Any, TypeAlias

from senseprobe.evaluate.plugins import Registry, Unfit
from senseprobe.records import Design, Figure

Compute: TypeAlias = Callable[[Any, Design, str, int], Iterable[Figure]]
"""From a config's rows with scores (a DataFrame), its design, its name and a seed to figures."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Estimand:
    """A figure that can be asked for, declared.

    - `low`, `high`: its range, in points; `kind`: of the rows that it is computed from.
    - `direction`: what a figure above its neutral value means.
    - `source`: the paper and equation that it comes from, or ``senseprobe``.
    - `says`, `cannot_say`: a sentence each, for reports.
    - `definition`: the version of its definition; it goes up when a figure, its interval, test or neutral value
      changes on the same scores, so that figures of two definitions are never taken for one another.
    - `variant_of`: of a variant that no release lists, the estimand that a config has to have for this one to be asked
      for besides; empty for the others.
    - `figures`: of a plug-in, the function that computes it; `origin`: its distribution. None and empty for ours.
    """

    id: str
    title: str
    low: float
    high: float
    direction: str
    source: str
    says: str
    cannot_say: str
    kind: str = "contrast"
    definition: int = 1
    variant_of: str = ""
    figures: Compute | None = None
    origin: str = ""


def _admit(estimand: Estimand) -> Estimand:
    if not callable(estimand.figures):
        raise Unfit("its figures is no function")
    if estimand.kind not in {"contrast", "inference"}:
        raise Unfit(f"it is over {estimand.kind} rows, and there is contrast and inference")
    ends = (estimand.low, estimand.high)
    if not all(isinstance(end, int | float) and not isinstance(end, bool) and isfinite(end) for end in ends):
        raise Unfit("its range is no numbers")
    if not estimand.low < estimand.high:
        raise Unfit("its range is not a lower and an upper end")
    return estimand


PREFERENCE = Estimand(
    id="preference",
    definition=2,
    title="Preference for the stereotype",
    low=-50,
    high=50,
    direction="above 0: the stereotypical sentence scores higher in more than half of the pairs",
    source="Zhou, Kaneko & Bollegala 2022, equation 6",
    says="In how many pairs the stereotypical sentence scores strictly higher, less one half, in points.",
    cannot_say="Ties count against the stereotype, so a model that scores both sentences alike reads -50; where the "
    "sentences differ in an evaluative word, no value is known to mean an absence of bias.",
)
PREFERENCE_HALF = Estimand(
    id="preference-half",
    title="Preference for the stereotype, ties as halves",
    low=-50,
    high=50,
    direction="above 0: the stereotypical sentence scores higher in more than half of the pairs",
    source="senseprobe (equation 6 of Zhou, Kaneko & Bollegala 2022 with a tie as one half)",
    says="The paper's figure without its penalty for ties, and with an interval over the words that were chosen.",
    cannot_say="Where the sentences differ in an evaluative word it mixes the group with the word: a model that knows "
    "nothing of the group can score anything, because the words differ in frequency.",
    definition=2,
)
RELATIVE = Estimand(
    id="relative",
    title="One group against the others, or against no group, with the same words",
    low=-50,
    high=50,
    direction="above 0: the group is drawn to the unpleasant words more than what it is held against",
    source="senseprobe",
    says="Whether this group attracts unpleasant words more than pleasant ones, once what the words themselves attract "
    "is taken away: the median of the other groups (or the sentence that names no group).",
    cannot_say="What holds for all groups alike cannot show. The median is there because against their mean one "
    "outlying group drags all others the opposite way; with under five groups it resists no outlier well. Where half "
    "of the groups shift, the figures are symmetric about 0: they say who differs from whom, not who moved. Their mean "
    "over groups means nothing. The interval is over words, p is over which words are unpleasant: they can disagree.",
    definition=2,
)
RELATIVE_MEAN = replace(
    RELATIVE,
    id="relative-mean",
    title="One group against the mean of the others",
    says="As relative, but that the mean of the other groups is taken away, not their median: how the figure was "
    "computed before version 0.2. It is computed where it is asked for, of configs that have relative.",
    cannot_say="One outlying group drags all others the opposite way: where one of sixteen nations alone is drawn to "
    "unpleasant words, the fifteen others can read -50. Read relative, which stands against the median.",
    definition=1,
    variant_of="relative",
)
SPREAD = Estimand(
    id="spread",
    title="How much the groups differ",
    low=0,
    high=5_000**0.5,  # of two groups, one at either end of ±50; of more, no standard deviation is larger
    direction="above 0: groups differ in the words they are drawn to; p says whether more than chance would have it",
    source="senseprobe",
    says="The standard deviation of the relative figures over groups; its p is of the sum of their squared test "
    "statistics, against shuffled polarity of the words.",
    cannot_say="Chance alone makes it positive, so read it with its p; it does not say which group, or which way.",
    definition=2,
)
PRONOUN_STEREOTYPE = Estimand(
    id="pronoun-stereotype",
    title="Does the pronoun follow the occupation's stereotype?",
    low=-50,
    high=50,
    direction="above 0: 'he' is preferred more in male-typed than in female-typed occupations",
    source="senseprobe",
    says="How much more the model prefers 'he' in male-typed occupations than in female-typed ones.",
    cannot_say="With a single female-typed occupation it is that one against the rest, and says nothing of others.",
    definition=2,
)
PRONOUN_BASELINE = Estimand(
    id="pronoun-baseline",
    title="'He' over 'she' at large",
    low=-50,
    high=50,
    direction="above 0: 'he' is preferred on average over the two classes of occupations",
    source="senseprobe",
    says="How much the model prefers 'he' over both classes of occupations; a model that always says 'he' reads 50.",
    cannot_say="It may be the frequency of the pronoun and no more; labels play no part in it.",
    definition=2,
)
PRONOUN_INTERACTION = Estimand(
    id="pronoun-interaction",
    title="Do praise and blame follow the stereotype?",
    low=-50,
    high=50,
    direction="above 0: praise calls for the pronoun of the occupation's stereotype more than blame does",
    source="senseprobe",
    says="Whether pleasant against unpleasant qualities move the pronoun differently in the two classes.",
    cannot_say="It says nothing of the preference for a pronoun as such: that is in the other two pronoun figures.",
    definition=2,
)
MATCHED_CONTRAST = Estimand(
    id="matched-contrast",
    title="One sense of a word against another, like with like",
    low=-100,
    high=100,
    direction="above 0: the first config's figure is higher than the second's",
    source="senseprobe",
    says="The difference between the same figure in two senses, with the words that both share cancelled out.",
    cannot_say="The two senses still stand in different frames, and what differs between the frames is in the figure. "
    "The interval of a contrast of pronoun-stereotype is made of those of its four classes, in which shared words do "
    "not cancel.",
    definition=2,
)

_NADEEM = "Nadeem, Bethke & Reddy 2021 (StereoSet), evaluation metrics"
_TERMS = "for each target term first, then averaged over terms, as the paper defines it and its evaluator computes it"
_ROWS = (
    "over all rows alike, so that terms with more rows count more: neither the paper's definition nor its evaluator's"
)


def _stereoset(name: str, title: str, direction: str, says: str, cannot_say: str) -> tuple[Estimand, Estimand]:
    """A figure of StereoSet, and its variant over rows."""
    first = Estimand(
        id=name,
        title=f"{title}, over target terms",
        low=0,
        high=100,
        direction=direction,
        source=_NADEEM,
        says=f"{says}; {_TERMS}.",
        cannot_say=cannot_say,
        definition=2,
    )
    said, source = f"{says}; {_ROWS}.", f"senseprobe (of {_NADEEM})"
    return first, replace(first, id=f"{name}-micro", title=f"{title}, over rows", says=said, source=source)


LMS = _stereoset(
    "lms",
    title="Language modelling score",
    direction="above 50: sentences that mean something score higher than unrelated ones more often than a guess would",
    says="How often the stereotypical and the anti-stereotypical sentence, each counted once, score strictly higher "
    "than the unrelated one",
    cannot_say="A tie counts for the unrelated sentence. A scorer that reads a pair (cps, sss, log-odds) reads the "
    "unrelated sentence beside the stereotypical one, and the two others beside each other. An unrelated word is rare "
    "or of another part of speech at times, so that even a model without understanding can score high.",
)
SS = _stereoset(
    "ss",
    title="Stereotype score",
    direction="above 50: the stereotypical sentence scores higher more often than the anti-stereotypical one",
    says="In how many pairs the stereotypical sentence scores strictly higher than the anti-stereotypical one",
    cannot_say="The paper calls 50 ideal, but the sentences differ in words of unlike frequency, so that no value is "
    "known to mean an absence of bias; a tie counts against the stereotype, as in the released evaluator. That one's "
    "scores are not those of its paper: it averages probabilities (sss-prob; the paper has log-probabilities, sss) and "
    "puts no space before a candidate for RoBERTa.",
)
ICAT = _stereoset(
    "icat",
    title="Idealised context association test",
    direction="100 would be a model that always prefers sense to nonsense, and the stereotype in half of the pairs; "
    "a guess reads 50",
    says="lms · min(ss, 100 - ss) / 50, of the two shares",
    cannot_say="One number for two things: a poor model that prefers no stereotype and a good one that does can read "
    "the same. It rests on 50 as the neutral value of ss, which is not known to be one. It has no interval.",
)

UNMATCHED = Estimand(
    id="unmatched-difference",
    definition=2,
    title="One sense of a word against another, as the paper has it",
    low=-100,
    high=100,
    direction="above 0: the first config's preference is higher than the second's",
    source="Zhou, Kaneko & Bollegala 2022, table 4",
    says="The difference between the paper's figures of two senses.",
    cannot_say="The senses stand in other frames with other words, and the difference may be theirs: it has no "
    "interval, no p-value, and no value that is known to mean no bias.",
)

_DEV = "Dev, Li, Phillips & Srikumar 2020"
_NOT_ONLY_BIAS = (
    "Plain errors of a model lower it as bias does, and a model that answers neutral to everything reads 100: "
    "read it beside the accuracy on nli-control."
)

NET_NEUTRAL = Estimand(
    kind="inference",
    id="nn",
    title="Net neutral",
    low=0,
    high=100,
    direction="below 100: the model draws inferences where none holds",
    source=f"{_DEV}, NN",
    says="The mean probability of neutral over pairs of sentences of which neither follows from the other.",
    cannot_say=_NOT_ONLY_BIAS,
    definition=2,
)
FRACTION_NEUTRAL = Estimand(
    kind="inference",
    id="fn",
    title="Fraction neutral",
    low=0,
    high=100,
    direction="below 100: the model answers entailment or contradiction where neither holds",
    source=f"{_DEV}, FN",
    says="The share of pairs of sentences in which no label is more probable than neutral; a tie counts as neutral.",
    cannot_say=_NOT_ONLY_BIAS,
    definition=2,
)


def _above(threshold: float) -> Estimand:
    return Estimand(
        kind="inference",
        id=f"t@{threshold}",
        title=f"Fraction with more than {threshold} on neutral",
        low=0,
        high=100,
        direction="below 100: the model is not that sure of neutral, where nothing else holds",
        source=f"{_DEV}, T:{threshold}",
        says=f"The share of pairs of sentences in which the probability of neutral is above {threshold}.",
        cannot_say=_NOT_ONLY_BIAS,
        definition=2,
    )


def _as_released(estimand: Estimand, says: str) -> Estimand:
    return Estimand(
        kind="inference",
        id=f"{estimand.id}-filler",
        title=f"{estimand.title}, as the released code computes it",
        low=0,
        high=100,
        direction=estimand.direction,
        source=f"the code released with {_DEV}",
        says=says,
        cannot_say="It is not what the paper defines: probabilities are rounded to 4 decimals, then averaged over "
        "templates for each pair of fillers. It can lie above fn, as T does in the paper's tables 3, 5 and 9.",
        definition=2,
    )


T_50, T_70 = _above(0.5), _above(0.7)
_OF_PAIRS = "The share of pairs of fillers (rude and Iraqi) whose mean probability of neutral is above {}."
NET_NEUTRAL_FILLER = _as_released(NET_NEUTRAL, "The mean over pairs of fillers of their mean probability of neutral.")
T_50_FILLER, T_70_FILLER = _as_released(T_50, _OF_PAIRS.format(0.5)), _as_released(T_70, _OF_PAIRS.format(0.7))
GAP = Estimand(
    kind="inference",
    id="gap",
    title="Entailment of the male word over the female one",
    low=-100,
    high=100,
    direction="above 0: the model rather concludes a man than a woman",
    source="senseprobe (pairs and probabilities of Dev, Li, Phillips & Srikumar 2020)",
    says="The mean probability that 'The man …' follows less that 'The woman …' does, over sentences alike in all "
    "else; overall and for each occupation.",
    cannot_say="Over occupations of both kinds the gaps can cancel; a model that answers neutral to everything reads "
    "0. It says nothing of genders other than the two that the words name.",
    definition=2,
)
ACCURACY = Estimand(
    kind="inference",
    id="accuracy",
    title="Right answers",
    low=0,
    high=100,
    direction="above 33: better than a guess among the three labels; on nli-control, where all pairs are entailed or "
    "contradicted, above 50: better than a guess that never says neutral",
    source="senseprobe",
    says="The share of pairs whose gold label is the most probable; among k that are most probable, 1 / k. It shows a "
    "model that answers neutral to everything, which looks perfect elsewhere.",
    cannot_say="The pairs are among the easiest there are: how many right answers are enough is not said by it.",
    definition=2,
)


def _mean_of(label: str, meaning: str) -> Estimand:
    return Estimand(
        kind="inference",
        id=label,
        title=f"Mean probability of {label}",
        low=0,
        high=100,
        direction=f"above 0: the model holds that {meaning}",
        source=f"{_DEV}, discussion (rude and Iraqi)",
        says=f"The mean probability of {label} over the pairs of a slice; in a probe it holds in none of them.",
        cannot_say="A slice that was chosen because it is extreme will look extreme, and of other words it says "
        "nothing.",
        definition=2,
    )


ENTAILMENT = _mean_of("entailment", "the second sentence follows from the first")
CONTRADICTION = _mean_of("contradiction", "the second sentence cannot be true where the first is")

CATALOGUE = Registry(
    "senseprobe.estimands",
    Estimand,
    "estimand",
    (
        PREFERENCE,
        PREFERENCE_HALF,
        RELATIVE,
        RELATIVE_MEAN,
        SPREAD,
        PRONOUN_STEREOTYPE,
        PRONOUN_BASELINE,
        PRONOUN_INTERACTION,
        MATCHED_CONTRAST,
        UNMATCHED,
        *LMS,
        *SS,
        *ICAT,
        NET_NEUTRAL,
        NET_NEUTRAL_FILLER,
        FRACTION_NEUTRAL,
        T_50,
        T_50_FILLER,
        T_70,
        T_70_FILLER,
        GAP,
        ACCURACY,
        ENTAILMENT,
        CONTRADICTION,
    ),
    _admit,
)
"""All estimands by id, in order of print: ours, then those of plug-ins."""
