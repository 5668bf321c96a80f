"""The formats that can be imported, and what the card says of each."""

from collections.abc import Mapping

from senseprobe.importing import crowspairs, seat, sssb, stereoset, winobias, winogender
from senseprobe.importing.tables import Format

FORMATS: Mapping[str, Format] = {
    "sssb": Format(
        title="SSSB",
        paper="zhou2022",
        measured="Whether a language model gives a sentence that states a stereotype a higher score than its "
        "counterpart, by the sense in which an ambiguous word is used.",
        read=sssb.read,
    ),
    "crows-pairs": Format(
        title="CrowS-Pairs",
        paper="nangia2020",
        measured="Whether a language model gives the more stereotyping of two sentences a higher score. That the group "
        "named in it is a disadvantaged one differs as well, so no value is known to mean no bias.",
        read=crowspairs.read,
    ),
    "stereoset": Format(
        title="StereoSet",
        paper="nadeem2021",
        measured="Whether a language model gives a sentence that fits a stereotype a higher score than its opposite. "
        "Here every pair counts alike; the published figure is a mean over target terms.",
        read=stereoset.read,
    ),
    "seat": Format(
        title="Association tests of sent-bias (SEAT)",
        paper="may2019",
        measured="Whether a model's vectors of two sets (X, Y) differ in how near they lie to two sets of attributes "
        "(A, B).",
        read=seat.read,
    ),
    "winobias": Format(
        title="WinoBias",
        paper="zhao2018",
        measured="Whether a language model gives a sentence a higher score where a pronoun has the gender that an "
        "occupation is stereotyped as. The paper measured coreference systems, which is another figure.",
        read=winobias.read,
    ),
    "winogender": Format(
        title="Winogender schemas",
        paper="rudinger2018",
        measured="Whether a language model gives a sentence a higher score with one pronoun than with the other. The "
        "paper measured coreference systems, which is another figure.",
        read=winogender.read,
    ),
}
"""Name on the command line, and format."""
