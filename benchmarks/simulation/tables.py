"""Designs shaped as those of sssb and of nli-occupation, and their rows, with the words invented."""

import itertools
from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from senseprobe.records import Design, Factor

CLASSES = dict.fromkeys(("engineer", "carpenter", "guide", "mentor", "judge"), "male") | {"nurse": "female"}
"""Occupations, and the gender that each is typed as."""

CONTESTED = ("good00", "good01", "bad00", "bad01")
FRAMES = {"engineer": 24, "carpenter": 22, "guide": 22, "mentor": 20, "judge": 22, "nurse": 22}


def design(
    *factors: str | Factor, slots: Sequence[str], strata: Mapping[str, str] | None = None, kind: str = "contrast"
) -> Design:
    """Return a design with the factors, each in a column of its own name where a name is all that is given."""
    return Design(
        kind=kind,
        sense_type="simulated",
        bias_type="simulated",
        slots=tuple(slots),
        roles={},
        differs="evaluative" if kind == "contrast" else "",
        factors=tuple(f if isinstance(f, Factor) else Factor(name=f, columns=(f,)) for f in factors),
        strata=strata or {},
    )


NATIONALITY = design("nation", "good", "bad", slots=("nation", "good", "bad"))
RACE = design("race", "good", "bad", slots=("race", "good", "bad"))
COLOUR = design(
    Factor(name="noun", columns=("noun_stereo", "noun_anti")),
    "good",
    "bad",
    slots=("noun_stereo", "noun_anti", "good", "bad"),
)
NOUN = design(
    "occupation",
    "quality",
    slots=("occupation", "quality"),
    strata={"stereotype": "occupation", "valence": "quality"},
)
BARE = design("occupation", "frame", slots=("occupation",), strata={"stereotype": "occupation"})
VERB = design("frame", slots=("occupation",), strata={"stereotype": "occupation"})
INFERENCE = design(
    "verb", "object", "occupation", "person", slots=("verb", "object", "occupation", "person"), kind="inference"
)


def words(prefix: str, count: int) -> list[str]:
    """Return invented words: good00, good01 ..."""
    return [f"{prefix}{i:02d}" for i in range(count)]


def product(**slots: Sequence[str]) -> pd.DataFrame:
    """Return the cross product of slots, the last varying fastest, with the columns that every contrast config has."""
    rows = pd.DataFrame(list(itertools.product(*slots.values())), columns=list(slots), dtype=object)
    return complete(rows)


def complete(rows: pd.DataFrame) -> pd.DataFrame:
    """Add the columns that estimands read, where a design does not set them itself."""
    given = {
        "frame": "f",
        "label_basis": "trait",
        "contested": False,
        "stereo_value": "he",
        "anti_value": "she",
        "valence": None,
        "stereotype": None,
        "minimal": True,
        "stereo_score": 1.0,
        "anti_score": 0.0,
    }
    missing = {column: [value] * len(rows) for column, value in given.items() if column not in rows}
    return pd.concat([rows, pd.DataFrame(missing)], axis=1)


def balanced(rows: pd.DataFrame) -> pd.DataFrame:
    """Return an even number of rows with *he* as the stereotype's word in one half and *she* in the other."""
    he = np.arange(len(rows)) < len(rows) // 2
    return rows.assign(stereo_value=np.where(he, "he", "she"), anti_value=np.where(he, "she", "he"))


def nationality(nations: int = 16, good: int = 12, bad: int = 9) -> pd.DataFrame:
    """Every nation with every pleasant and every unpleasant word; language is 16 by 6 by 6."""
    return product(nation=words("nation", nations), good=words("good", good), bad=words("bad", bad))


def race(good: int = 12, bad: int = 9) -> pd.DataFrame:
    """One group, which is fixed."""
    return product(race=["race"], good=words("good", good), bad=words("bad", bad))


def colour(*, same_noun: bool = False) -> pd.DataFrame:
    """Five nouns for each member of a pair, or one noun for both, five pleasant and five unpleasant words."""
    nouns = words("noun", 5)
    rows = product(noun_stereo=nouns, noun_anti=nouns, good=words("good", 5), bad=words("bad", 5))
    return rows.query("noun_stereo == noun_anti").reset_index(drop=True) if same_noun else rows


def inference(verbs: int = 10, objects: int = 10, occupations: int = 20, persons: int = 3) -> pd.DataFrame:
    """Every occupation with every person in every activity; the persons are fixed."""
    slots = {"verb": verbs, "object": objects, "occupation": occupations, "person": persons}
    rows = pd.DataFrame(
        list(itertools.product(*(words(slot, count) for slot, count in slots.items()))),
        columns=list(slots),
        dtype=object,
    )
    return rows.assign(entailment=0.0, neutral=1.0, contradiction=0.0)


def bare(frames: int = 10) -> pd.DataFrame:
    """Six occupations in frames that say nothing of quality."""
    return typed(product(occupation=list(CLASSES), frame=words("frame", frames)))


def levels_of(rows: pd.DataFrame, design: Design) -> dict[str, int]:
    """Return how many levels each factor of rows has, in all and in each class or valence that tells it apart."""
    levels = {}
    for factor in design.factors:
        (column,) = factor.columns
        levels[factor.name] = rows[column].nunique()
        for label in (label for label, slot in design.strata.items() if slot == column):
            parts = rows.groupby(label)[column].nunique()
            levels |= {f"{factor.name} ({name})": count for name, count in parts.items()}
    return levels


def typed(rows: pd.DataFrame) -> pd.DataFrame:
    """Rows with the class of their occupation."""
    return rows.assign(stereotype=rows["occupation"].map(CLASSES))


def noun() -> pd.DataFrame:
    """Six occupations with 14 pleasant and 17 unpleasant qualities; four of nurse's are contested."""
    rows = typed(product(occupation=list(CLASSES), quality=words("good", 14) + words("bad", 17)))
    contested = rows["occupation"].eq("nurse") & rows["quality"].isin(CONTESTED)
    valence = np.where(rows["quality"].str.startswith("good"), "pleasant", "unpleasant")
    return rows.assign(valence=valence.astype(object), contested=contested)


def verb(times: int = 1) -> pd.DataFrame:
    """132 frames, or some times as many, each of one occupation."""
    frames = [(occupation, f"{occupation}{i}") for occupation, count in FRAMES.items() for i in range(times * count)]
    return typed(complete(pd.DataFrame(frames, columns=["occupation", "frame"], dtype=object)))
