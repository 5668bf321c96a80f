"""What an answer says against a row, or leaves open, seen beside what the release claims of it."""

from collections.abc import Mapping
from dataclasses import dataclass

from senseprobe.annotation.rules import Outcome

_AGAINST: Mapping[tuple[str, str], str] = {
    ("sense", "no"): "not used in the sense shown",
    ("natural", "no"): "not natural English",
    ("withhold", "yes"): "people would rather not have it used",
}

_OTHER_WAY = "contested: people see the stereotype in the other sentence"
_UNSURE = "unsure"


@dataclass(frozen=True, kw_only=True, slots=True)
class Claim:
    """What a release says of a row, as far as people can deny it.

    - `kind`: contrast or inference; `labelled`: whether a contrast says which of its sentences is the stereotype.
    - `gold`: the right answer of a row of inference.
    - `targets`: the words for the group that the row is about.
    """

    kind: str = "contrast"
    labelled: bool = True
    gold: str = ""
    targets: tuple[str, ...] = ()

    def asks(self, key: str) -> bool:
        """Whether the answer to a question can speak against the row."""
        question, _, role = key.partition(".")
        if question == "stereotype":
            return self.kind == "contrast" and self.labelled and role in {"stereo", "anti"}
        return question in {"sense", "natural", "withhold"} or (question == "inference" and bool(self.gold))


def objections(outcomes: Mapping[str, Outcome], claim: Claim) -> tuple[list[str], bool]:
    """What speaks against a row, in the order of the questions; and whether the sentences are the other way round."""
    found = [
        f"{key}: {outcome.choice}, {why} ({outcome.told})"
        for key, outcome in outcomes.items()
        if claim.asks(key) and (why := _why(key, outcome.choice, claim))
    ]
    way = _other_way(outcomes) if claim.asks("stereotype.stereo") else ""
    return [*found, *([way] if way else [])], bool(way)


def _why(key: str, choice: str, claim: Claim) -> str:
    """Why the choice speaks against the row; empty where it does not."""
    question = key.partition(".")[0]
    if question == "inference":
        return f"and the release says {claim.gold}" if choice not in {"", _UNSURE, claim.gold} else ""
    if key == "stereotype.stereo" and choice == "neither":
        return "no stereotype where the annotators live"
    return _AGAINST.get((question, choice), "")


def _other_way(outcomes: Mapping[str, Outcome]) -> str:
    """The reason where people see the stereotype in the sentence that the release has as its counterpart."""
    stereo, anti = (outcomes.get(f"stereotype.{role}", Outcome()) for role in ("stereo", "anti"))
    told = [f"stereotype.stereo: anti-stereotype ({stereo.told})"] if stereo.choice == "anti-stereotype" else []
    if anti.choice == "stereotype" and stereo.choice != "stereotype":
        told.append(f"stereotype.anti: stereotype ({anti.told})")
    return f"{_OTHER_WAY}: {', '.join(told)}" if told else ""


def doubt(key: str, outcome: Outcome, claim: Claim) -> str:
    """What an outcome leaves open of a row; empty where it leaves nothing.

    `stereotype.anti` alone leaves nothing open: whatever people call the counterpart, the row stands. Nor does
    `withhold` where nobody answered it: it is an offer, and not a question that must be answered.
    """
    if not claim.asks(key) or key == "stereotype.anti" or (key == "withhold" and not outcome.answers):
        return ""
    if not outcome.choice:
        return f"{key}: {outcome.told}"
    return f"{key}: unsure ({outcome.told})" if outcome.choice == _UNSURE else ""
