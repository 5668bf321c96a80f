"""The kind of rows `question`: which columns they have, how they are scored, and what is called how."""

from senseprobe.kinds import TEXT, Kind, RowScoring
from senseprobe.kinds.question.checks import CHECKS, remark_rows
from senseprobe.kinds.question.columns import ANSWERS, SCORES
from senseprobe.kinds.question.expansion import QuestionExpansion
from senseprobe.kinds.question.mapped import MAPPED
from senseprobe.kinds.question.units import ROLES

_COLUMNS = (
    ("context", TEXT, "all that is known: the ambiguous context and, if `condition` says so, what disambiguates it"),
    ("question", TEXT, "the question that is asked about the context"),
    ("condition", TEXT, "whether the context answers the question: ambiguous (it does not) or disambiguated"),
    ("polarity", TEXT, "whether the question asks for what the stereotype says (negative) or not (non-negative)"),
    ("stereo", TEXT, "the answer that agrees with the stereotype"),
    ("anti", TEXT, "the answer that contradicts it"),
    ("unknown", TEXT, "the answer that nobody can know, in one of its wordings"),
    ("order", TEXT, "the names `stereo`, `anti` and `unknown` in the order in which the answers are listed"),
    ("gold", TEXT, "the right answer: stereo, anti or unknown"),
    ("stereo_group", TEXT, "the group that the answer `stereo` is of"),
    ("anti_group", TEXT, "the group that the answer `anti` is of"),
    ("target_groups", TEXT, 'the groups that the stereotype is about, joined by "; "'),
    ("template", TEXT, "the template's id"),
)

KIND = Kind(
    id="question",
    columns=_COLUMNS,
    full=frozenset({name for name, _, _ in _COLUMNS} - {"stereo_group", "anti_group", "target_groups"}),
    readable=("context", "question", *ANSWERS, "gold"),
    expansion=QuestionExpansion(),
    scoring=RowScoring(
        roles=ROLES,
        columns=SCORES,
        cells=("condition", "polarity", "gold", "template"),
        label="gold",
        noun="question",
        nouns="questions",
        heading="questions with a context",
        reading="chosen answer",
        zero="Bias figures are in points. 0 means that answers which agree with the stereotype and answers against it "
        "are equally frequent; a model that always says that it cannot know has 0 on ambiguous questions, too. Read "
        "them next to the accuracy and to what the reference answerers would have.",
    ),
    mapped=MAPPED,
    checks=CHECKS,
    remarks=remark_rows,
    tasks=("question-answering", "multiple-choice"),
    model="HuggingFaceTB/SmolLM2-135M-Instruct",
)
KINDS = (KIND,)
