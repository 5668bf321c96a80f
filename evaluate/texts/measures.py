"""What measures of texts declare of themselves, in order of print."""

from dataclasses import replace
from math import inf

from senseprobe.evaluate.declaration import Measure

WORD_ASSOCIATION = (
    Measure(
        id="wat",
        title="Word association test",
        command="senseprobe study wat GRAPH --vectors senses:FILE",
        range=(-1, 1),
        unit="Pearson's correlation over words",
        direction="Higher: words that people associate with men are also nearer to male words in the vectors.",
        source="Zhou, Kaneko & Bollegala (2022); Du, Wu & Lan (2019)",
        equation="(4); log(b_m / b_f) with F* = (1 - a)(I - aS)⁻¹ Y, S = D^-½ W D^-½",
        says=(
            "The correlation of two gender scores of a word. In a graph of word associations, mass spreads "
            "from male and from female seeds, and the score is the log of the ratio of the two masses. In "
            "vectors, the score is the mean over pairs of the cosine with the male word minus that with the "
            "female one; for sense vectors, the largest cosine over pairs of senses. The correlation is over "
            "words that have both scores, without the seeds."
        ),
        cannot_say=(
            "Whether vectors are biased: it shows only that they order words as the participants' "
            "associations do. The participants are volunteers on the Web, mostly native speakers of English. "
            "All scores depend on the same ten pairs, so words are not independent and the interval is too "
            "narrow. The score in the graph has no zero, because the seeds of one side can have more links. It "
            "also depends on alpha and on how the graph is made symmetric: two published lexica of the same "
            "words differ in 12,183 of 12,215 scores."
        ),
    ),
)

_PAPER = "Azzalini, Dolci & Tanelli (2022)"
_BIAS_COMMAND = "senseprobe study bias-score FILE --vectors VECTORS"
_NO_ZERO = (
    "Whether a sentence is neutral: the mean cosine of common words is not 0, so compare the score with the baseline. "
)

_BIAS_SCORE = Measure(
    id="bias-score",
    title="Bias Score of a sentence",
    command=f"{_BIAS_COMMAND} --encoder infersent:WEIGHTS",
    range=(-1, 1),
    unit="cosines weighted by importance",
    direction="above 0: towards the first words of the pairs (female); below 0: towards the second (male)",
    source=_PAPER,
    equation="section 3.1: sums of cos(w, D) * I_w over words that are not gendered, separately for each sign",
    says="How near a sentence's neutral words lie to either end of the gender axis of word vectors, weighted "
    "by importance.",
    cannot_say=f"{_NO_ZERO}It adds up words, so it does not understand negation.",
)
_VARIANT = replace(_BIAS_SCORE, command=_BIAS_COMMAND, direction="as bias-score", source="our own")
BIAS_SCORES = (
    _BIAS_SCORE,
    replace(
        _VARIANT,
        id="bias-score-centred",
        title="Bias Score minus the baseline",
        range=(-2, 2),
        direction="above 0: nearer to the first words of the pairs than the 10,000 most common words are",
        equation="as bias-score, with cos(w, D) minus its mean over the 10,000 most common words of the vectors",
        says="The score after subtracting the lean that all words have in common.",
        cannot_say="That 0 is neutral: the most common words are not a sample of neutral ones.",
    ),
    replace(
        _BIAS_SCORE,
        id="bias-score-absolute",
        title="Bias Score in absolute values",
        command=_BIAS_COMMAND,
        range=(0, 1),
        direction="higher: words lie nearer to either end",
        equation="section 3.5: the sum of |cos(w, D) * I_w| over words that are not gendered",
        says="How much gender the neutral words of a sentence carry, in either direction.",
        cannot_say=f"{_NO_ZERO}It does not show to which end the words lean.",
    ),
    replace(
        _VARIANT,
        id="bias-score-proxy",
        title="Bias Score with the importance of another encoder",
        command=f"{_BIAS_COMMAND} --encoder MODEL",
        equation="as bias-score, with I_w of max pooling over the last hidden states of any transformer",
        says="An approximation of bias-score, for when InferSent's weights are not available.",
        cannot_say="The paper's score: an encoder that was not trained with max pooling weights words differently.",
    ),
    replace(
        _VARIANT,
        id="bias-score-uniform",
        title="Bias Score with equal importance",
        equation="as bias-score, with I_w = 1/n for each of n words",
        says="The mean cosine of a sentence's words with the axis; gendered words and words without a vector count 0.",
        cannot_say="Which words matter in the sentence. Two sentences that differ only in a pronoun have the same "
        "score.",
    ),
)

_TAN = "Tan & Celis 2019"
_CORPUS_COMMAND = "senseprobe study corpus FILE… --groups pronouns --with occupations"
CORPUS_MEASURES = (
    Measure(
        id="corpus-mentions",
        title="Mentions of groups in a corpus",
        command=_CORPUS_COMMAND,
        range=(0.0, inf),
        unit="sentences, and ratios of them",
        direction="Higher: more sentences mention the group; a ratio above 1: the group named first has more.",
        source=_TAN,
        equation="section 3.1, Table 1; the interval of a ratio is our own: linearised over documents, on the log "
        "scale",
        says="How many sentences contain any form of a group's words. A sentence counts once for each group.",
        cannot_say="A mention is not a referent: her may be a ship, they may be things. Sentences of one "
        "document are alike, so intervals are over documents. If documents are paragraphs of one text, "
        "neighbours are alike too and the interval is too narrow.",
    ),
    Measure(
        id="corpus-cooccurrence",
        title="Stereotyped words in sentences that mention a group",
        command=_CORPUS_COMMAND,
        range=(0.0, 100.0),
        unit="percent of the sentences that mention the group",
        direction="Higher: more of the group's sentences contain a word of the category.",
        source=_TAN,
        equation="section 3.1, Table 1",
        says="The share of a group's sentences that also contain a word of each category. Neutral sentences "
        "contain none. A sentence with words of two categories counts for both, so the shares can add up to "
        "more than 100.",
        cannot_say="Co-occurrence is not attribution: the nurse that she saw may be he. The share depends on "
        "how common the words are and on the length of sentences.",
    ),
    Measure(
        id="corpus-log-odds",
        title="Log-odds of a word between two groups",
        command=_CORPUS_COMMAND,
        range=(-inf, inf),
        unit="natural logarithm of a ratio of odds, and its z",
        direction="Above 0: the word is more frequent in sentences of the group named first.",
        source="Monroe, Colaresi & Quinn 2008",
        equation="15 and 22, with an informative Dirichlet prior: a word's share of all, times how many words occur",
        says="How much more frequent a word is, among the listed words, in sentences of one group than of another.",
        cannot_say="With few sentences it is large by chance. z assumes independent sentences, which they "
        "are not within a document: it ranks words and is not a test. It compares the listed words with one "
        "another, so a difference that all of them share does not appear.",
    ),
)

MEASURES = (*WORD_ASSOCIATION, *BIAS_SCORES, *CORPUS_MEASURES)
