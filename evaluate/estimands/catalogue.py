"""What each estimand is, in words: its range, its direction, where it comes from, what it can and cannot say."""

from collections.abc import Mapping
from dataclasses import dataclass

__all__ = ["CATALOGUE", "Estimand"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Estimand:
    """A figure that can be asked for, declared.

    - `low`, `high`: its range, in points.
    - `direction`: what a figure above its neutral value means.
    - `source`: the paper and equation that it comes from, or ``senseprobe``.
    - `says`, `cannot_say`: a sentence each, for reports.
    """

    id: str
    title: str
    low: float
    high: float
    direction: str
    source: str
    says: str
    cannot_say: str


PREFERENCE = Estimand(
    id="preference",
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
)
RELATIVE = Estimand(
    id="relative",
    title="One group against the others, or against no group, with the same words",
    low=-50,
    high=50,
    direction="above 0: the group is drawn to the unpleasant words more than what it is held against",
    source="senseprobe",
    says="Whether this group attracts unpleasant words more than pleasant ones, once what the words themselves attract "
    "is taken away by the other groups (or by the sentence that names no group).",
    cannot_say="Held against the other groups, what holds for all alike cannot show, and the mean over groups means "
    "nothing. The interval is over words, p is over which words are unpleasant: they can disagree.",
)
SPREAD = Estimand(
    id="spread",
    title="How much the groups differ",
    low=0,
    high=100,
    direction="above 0: groups differ in the words they are drawn to; p says whether more than chance would have it",
    source="senseprobe",
    says="The standard deviation of the relative figures over groups, against shuffled polarity of the words.",
    cannot_say="Chance alone makes it positive, so read it with its p; it does not say which group, or which way.",
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
)
MATCHED_CONTRAST = Estimand(
    id="matched-contrast",
    title="One sense of a word against another, like with like",
    low=-100,
    high=100,
    direction="above 0: the first config's figure is higher than the second's",
    source="senseprobe",
    says="The difference between the same figure in two senses, with the words that both share cancelled out.",
    cannot_say="The two senses still stand in different frames, and what differs between the frames is in the figure.",
)

UNMATCHED = Estimand(
    id="unmatched-difference",
    title="One sense of a word against another, as the paper has it",
    low=-100,
    high=100,
    direction="above 0: the first config's preference is higher than the second's",
    source="Zhou, Kaneko & Bollegala 2022, table 4",
    says="The difference between the paper's figures of two senses.",
    cannot_say="The senses stand in other frames with other words, and the difference may be theirs: it has no "
    "interval, no p-value, and no value that is known to mean no bias.",
)

CATALOGUE: Mapping[str, Estimand] = {
    estimand.id: estimand
    for estimand in (
        PREFERENCE,
        PREFERENCE_HALF,
        RELATIVE,
        SPREAD,
        PRONOUN_STEREOTYPE,
        PRONOUN_BASELINE,
        PRONOUN_INTERACTION,
        MATCHED_CONTRAST,
        UNMATCHED,
    )
}
"""All estimands by id, in order of print."""
