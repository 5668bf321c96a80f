"""The formats that can be imported, and what the card says of each."""

from collections.abc import Mapping

from senseprobe.importing import crowspairs, seat, sssb, stereoset, winobias, winogender
from senseprobe.importing.tables import Format

__all__ = ["FORMATS"]

FORMATS: Mapping[str, Format] = {
    "sssb": Format(
        title="SSSB",
        authors=("Zhou", "Kaneko", "Bollegala"),
        paper="Sense Embeddings are also Biased, 2022",
        measured="Whether a language model gives a sentence that states a stereotype a higher score than its "
        "counterpart, by the sense in which an ambiguous word is used.",
        read=sssb.read,
    ),
    "crows-pairs": Format(
        title="CrowS-Pairs",
        authors=("Nangia", "Vania", "Bhalerao", "Bowman"),
        paper="CrowS-Pairs, 2020",
        measured="Whether a language model gives the more stereotyping of two sentences a higher score. That the group "
        "named in it is a disadvantaged one differs as well, so no value is known to mean no bias.",
        read=crowspairs.read,
    ),
    "stereoset": Format(
        title="StereoSet",
        authors=("Nadeem", "Bethke", "Reddy"),
        paper="StereoSet, 2021",
        measured="Whether a language model gives a sentence that fits a stereotype a higher score than its opposite. "
        "Here every pair counts alike; the published figure is a mean over target terms.",
        read=stereoset.read,
    ),
    "seat": Format(
        title="Association tests of sent-bias (SEAT)",
        authors=("May", "Wang", "Bordia", "Bowman", "Rudinger"),
        paper="On Measuring Social Biases in Sentence Encoders, 2019",
        measured="Whether a model's vectors of two sets (X, Y) differ in how near they lie to two sets of attributes "
        "(A, B).",
        read=seat.read,
    ),
    "winobias": Format(
        title="WinoBias",
        authors=("Zhao", "Wang", "Yatskar", "Ordonez", "Chang"),
        paper="Gender Bias in Coreference Resolution, 2018",
        measured="Whether a language model gives a sentence a higher score where a pronoun has the gender that an "
        "occupation is stereotyped as. The paper measured coreference systems, which is another figure.",
        read=winobias.read,
    ),
    "winogender": Format(
        title="Winogender schemas",
        authors=("Rudinger", "Naradowsky", "Leonard", "Van Durme"),
        paper="Gender Bias in Coreference Resolution, 2018",
        measured="Whether a language model gives a sentence a higher score with one pronoun than with the other. The "
        "paper measured coreference systems, which is another figure.",
        read=winogender.read,
    ),
}
"""Name on the command line, and format."""
