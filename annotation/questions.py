"""The questions about a row, from which interface, sheets, and the reading of answers are made.

An answer has a key: the question's id (``sense``), or id and role (``stereotype.stereo``) where a question is asked of
each sentence. On the screen a control has the sentence's position instead (``stereotype-1``), which tells no role.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType

from senseprobe.annotation.records import Item, Plan
from senseprobe.errors import AnnotationError
from senseprobe.messages import listed, printable
from senseprobe.release import schema

ROLES: Mapping[str, tuple[str, ...]] = {
    "contrast": ("stereo", "anti"),
    "inference": ("premise", "hypothesis"),
    "association": ("sentence",),
}
"""The sentences of a row, by kind, in the order of their columns."""

# Controls that are there where a plan asks for groups: ``yes`` or nothing, and free text with commas between groups.
# Without consent the groups are not to be read.
CONSENT, GROUPS = "consent", "groups"
ABOUT_YOU = "About you (optional, once)"  # the heading under which both are folded away


@dataclass(frozen=True, kw_only=True, slots=True)
class Question:
    """A question; without `choices` it is answered in words of one's own.

    `choices` maps what an answer is called to what people read; `per_sentence`: of each sentence, not of the
    row; `required`: an annotation without it is not finished; `when`: only where the named question has one of these
    answers. `hotkeys`: for the row or sentence 1, and for sentence 2, a key for each choice, the same in every project.
    """

    id: str
    text: str
    choices: Mapping[str, str] = field(default_factory=dict)
    per_sentence: bool = False
    required: bool = False
    when: tuple[str, frozenset[str]] | None = None
    hotkeys: tuple[str, ...] = ()

    @property
    def words(self) -> tuple[str, ...]:
        """What sheets and guidelines call the choices, in order: what people read of each, up to a colon."""
        return tuple(text.partition(":")[0] for text in self.choices.values())

    def find_choice(self, answer: str) -> str:
        """Return the choice that somebody wrote: its name, its word, or its whole text; empty for any other text.

        >>> QUESTIONS["stereotype"].find_choice(" the  Opposite"), QUESTIONS["stereotype"].find_choice("no")
        ('anti-stereotype', '')
        """
        written = _plain(answer)
        written = written.partition(":")[0]  # some write all that they read, perhaps in an earlier wording
        spellings = zip(self.choices, self.words, strict=True)
        return next((choice for choice, word in spellings if written in map(_plain, (choice, word))), "")


def _plain(text: str) -> str:
    """Return a text in small letters, with one blank between words, and without the full stop that some write."""
    return " ".join(text.casefold().split()).removesuffix(".")


_STEREOTYPE = {
    "stereotype": "Yes: people often say this about a whole group of people",
    "anti-stereotype": "The opposite: it contradicts what people often say about a group",
    "neither": "Neither",
    "unsure": "I am not sure",
}
_INFERENCE = {
    "entailment": "Then sentence 2 is true",
    "neutral": "Sentence 2 may be true or not",
    "contradiction": "Then sentence 2 is false",
    "unsure": "I am not sure",
}
_YES_NO = {"yes": "Yes", "no": "No"}
_IF_STEREOTYPE = ("stereotype", frozenset({"stereotype"}))

_QUESTIONS = (
    Question(
        id="sense",
        text="Is the marked word used in this meaning (or a closely related one)?",
        choices={**_YES_NO, "unsure": "I am not sure"},
        hotkeys=("123",),
    ),
    Question(
        id="inference",
        text="If sentence 1 is true, what about sentence 2?",
        choices=_INFERENCE,
        required=True,
        hotkeys=("4567",),
    ),
    Question(
        id="stereotype",
        text="Where you live, is this a known stereotype?",
        choices=_STEREOTYPE,
        required=True,
        hotkeys=("qwer", "asdf"),
    ),
    Question(id="whom", text="Which group of people is the stereotype about?", when=_IF_STEREOTYPE),
    Question(id="natural", text="Is it natural English?", choices=_YES_NO, required=True, hotkeys=("zx", "cv")),
    Question(
        id="withhold",
        text="Would you prefer that this is not used to test language models?",
        choices={"yes": "I would rather not have it used", "no": "It may be used"},
        hotkeys=("90",),
    ),
    Question(id="comment", text="Anything else? (optional)"),
)
QUESTIONS: Mapping[str, Question] = MappingProxyType({question.id: question for question in _QUESTIONS})
"""All questions by id, in the order in which they are asked."""

# The questions of a kind of rows that are asked of every sentence, and not of the row.
_OF_SENTENCES = {"contrast": {"stereotype", "whom", "natural"}, "inference": {"natural"}, "association": set[str]()}

_BY_KIND = {
    kind: {id_: replace(QUESTIONS[id_], per_sentence=id_ in _OF_SENTENCES[kind]) for id_ in ids}
    for kind, ids in schema.QUESTIONS.items()
}


def questions_for(kind: str) -> tuple[Question, ...]:
    """Return the questions of a kind of rows, in order.

    >>> [question.id for question in questions_for("association")]
    ['natural', 'withhold', 'comment']
    """
    return tuple(_BY_KIND[kind].values())


def questions_of(plan: Plan) -> tuple[Question, ...]:
    """Return the questions of a plan, in its order; raise AnnotationError where its kind of rows lacks one."""
    questions = _BY_KIND[plan.kind]
    if unexpected := [printable(id_) for id_ in plan.questions if id_ not in questions]:
        raise AnnotationError(f"unknown question {listed(unexpected)} for {plan.kind} rows: {', '.join(questions)}")
    return tuple(replace(questions[id_], text=word_for(plan, questions[id_].text)) for id_ in plan.questions)


def word_for(plan: Plan, text: str) -> str:
    """Return a text on natural English for the language of a plan's sentences."""
    if plan.language.lower().split("-")[0] == "en":
        return text
    return text.replace("atural English", "atural in its language")


def plan_keys(plan: Plan) -> tuple[str, ...]:
    """Return all keys that answers to a plan may have, in order."""
    roles = tuple(f".{role}" for role in ROLES[plan.kind])
    return tuple(
        f"{question.id}{role}" for question in questions_of(plan) for role in (roles if question.per_sentence else [""])
    )


def keys(plan: Plan, item: Item) -> tuple[str, ...]:
    """Return the keys of what is asked of an item: what its config asks, and of its sense only where it has a gloss."""
    ids = questions_of_config(plan, item.config)
    return tuple(key for key in plan_keys(plan) if key.partition(".")[0] in ids and (key != "sense" or item.gloss))


def questions_of_config(plan: Plan, config: str) -> tuple[str, ...]:
    """Return the ids of the questions that are asked of a config, in the order of the plan."""
    asks = plan.asks.get(config, plan.questions)
    return tuple(id_ for id_ in plan.questions if id_ in asks)


def questions_of_some(plan: Plan) -> dict[str, tuple[str, ...]]:
    """Return the questions that are not asked of every config of the plan's items, each with those that it is of."""
    configs = tuple(dict.fromkeys(item.config for item in plan.items))
    by_question = {id_: tuple(n for n in configs if id_ in questions_of_config(plan, n)) for id_ in plan.questions}
    return {id_: names for id_, names in by_question.items() if names != configs}


def question_of(key: str) -> Question:
    """Return the question that a key belongs to; raise KeyError where there is none.

    >>> question_of("natural.stereo").id
    'natural'
    """
    return QUESTIONS[key.partition(".")[0]]


def controls(plan: Plan, item: Item) -> dict[str, str]:
    """Return the key of an item's answers by the name of the control that takes them, question by question.

    All that the interface has are named, also that of a sense that this item has no gloss of: `keys` tells.
    """
    keys_of: dict[str, str] = {}
    for question in questions_of(plan):
        if question.per_sentence:
            keys_of |= {f"{question.id}-{n}": f"{question.id}.{s.role}" for n, s in enumerate(item.sentences, 1)}
        else:
            keys_of[question.id] = question.id
    return keys_of
