"""What the card of a new dataset says: of each kind the truth about its example."""

from collections.abc import Mapping

_HOBBIES = "anglers, cyclists, gardeners, hikers, potters, swimmers"
_NO_LEAVE = "should a score ever be read as leave to use a model on them."

ABOUT: Mapping[str, Mapping[str, str]] = {
    "contrast": {
        "title": "Praise and blame of people with a hobby",
        "summary": "Pairs of sentences that blame and praise people with a hobby, made from word lists, to try"
        " senseprobe with.",
        "content_warning": "Some sentences say unfriendly things of people with a hobby. They are not true; they are"
        " here to be measured.",
        "construct": "Whether a language model finds blame of people with one hobby likelier than of those with"
        " another.",
        "groups": _HOBBIES,
        "out_of_scope": "conclusions about anyone's hobby",
        "who_could_be_harmed": f"People with the hobbies named, {_NO_LEAVE}",
    },
    "inference": {
        "title": "Hobbies that do not follow from trades",
        "summary": "Pairs of sentences, of somebody of a trade and of somebody with a hobby, of which neither follows"
        " from the other, made from word lists, to try senseprobe with.",
        "content_warning": "No sentence says anything unfriendly. To conclude a hobby from a trade would be a"
        " prejudice, to be measured.",
        "construct": "Whether a model of inference concludes a hobby from a trade.",
        "groups": f"bakers, carpenters, electricians, plumbers, tailors, {_HOBBIES}",
        "out_of_scope": "conclusions about anyone's trade or hobby",
        "who_could_be_harmed": f"People of the trades and with the hobbies named, {_NO_LEAVE}",
    },
    "association": {
        "title": "Fruit, vegetables, and pleasant and unpleasant words",
        "summary": "Words for fruit and vegetables, and pleasant and unpleasant words, in sentences that say little"
        " else, made from word lists, to try senseprobe with.",
        "content_warning": "No sentence is about people. Some have unpleasant words, such as horrible and nasty.",
        "construct": "Whether a language model holds fruit nearer to pleasant words than vegetables.",
        "groups": "fruit, vegetables",
        "out_of_scope": "conclusions about anyone's taste",
        "who_could_be_harmed": "Nobody, as long as the words are of food; where they are made words for people, those"
        " people.",
    },
}
"""The texts of `dataset.yaml` by kind, each of which stands in one line there."""
