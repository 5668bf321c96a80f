"""The papers of the formats, as BibTeX: who cites an import cites the paper whose sentences it holds.

The formats that can be imported, and what the card says of each.
"""

from collections.abc import Mapping

from senseprobe.importers import crowspairs, seat, sssb, stereoset, winobias, winogender
from senseprobe.importers.sources import Format
from senseprobe.release.citation import find_entry


def entry(key: str) -> str:
    """The BibTeX of the entry with a key that is there."""
    found = find_entry(_BIBLIOGRAPHY, key)
    if found is None:
        raise KeyError(key)
    return f"{found.text}\n"


_BIBLIOGRAPHY = r"""
@inproceedings{zhou2022,
  author    = {Zhou, Yi and Kaneko, Masahiro and Bollegala, Danushka},
  title     = {Sense Embeddings are also Biased -- Evaluating Social Biases in Static and Contextualised Sense
               Embeddings},
  booktitle = {Proceedings of the 60th Annual Meeting of the Association for Computational Linguistics (Volume 1: Long
               Papers)},
  year      = {2022},
  url       = {https://aclanthology.org/2022.acl-long.135},
}

@inproceedings{nangia2020,
  author    = {Nangia, Nikita and Vania, Clara and Bhalerao, Rasika and Bowman, Samuel R.},
  title     = {{CrowS-Pairs}: A Challenge Dataset for Measuring Social Biases in Masked Language Models},
  booktitle = {Proceedings of the 2020 Conference on Empirical Methods in Natural Language Processing (EMNLP)},
  year      = {2020},
  url       = {https://aclanthology.org/2020.emnlp-main.154},
}

@inproceedings{nadeem2021,
  author    = {Nadeem, Moin and Bethke, Anna and Reddy, Siva},
  title     = {{StereoSet}: Measuring stereotypical bias in pretrained language models},
  booktitle = {Proceedings of the 59th Annual Meeting of the Association for Computational Linguistics and the 11th
               International Joint Conference on Natural Language Processing (Volume 1: Long Papers)},
  year      = {2021},
  url       = {https://aclanthology.org/2021.acl-long.416},
}

@inproceedings{may2019,
  author    = {May, Chandler and Wang, Alex and Bordia, Shikha and Bowman, Samuel R. and Rudinger, Rachel},
  title     = {On Measuring Social Biases in Sentence Encoders},
  booktitle = {Proceedings of the 2019 Conference of the North American Chapter of the Association for Computational
               Linguistics: Human Language Technologies, Volume 1 (Long and Short Papers)},
  year      = {2019},
  url       = {https://aclanthology.org/N19-1063},
}

@inproceedings{zhao2018,
  author    = {Zhao, Jieyu and Wang, Tianlu and Yatskar, Mark and Ordonez, Vicente and Chang, Kai-Wei},
  title     = {Gender Bias in Coreference Resolution: Evaluation and Debiasing Methods},
  booktitle = {Proceedings of the 2018 Conference of the North American Chapter of the Association for Computational
               Linguistics: Human Language Technologies, Volume 2 (Short Papers)},
  year      = {2018},
  url       = {https://aclanthology.org/N18-2003},
}

@inproceedings{rudinger2018,
  author    = {Rudinger, Rachel and Naradowsky, Jason and Leonard, Brian and Van Durme, Benjamin},
  title     = {Gender Bias in Coreference Resolution},
  booktitle = {Proceedings of the 2018 Conference of the North American Chapter of the Association for Computational
               Linguistics: Human Language Technologies, Volume 2 (Short Papers)},
  year      = {2018},
  url       = {https://aclanthology.org/N18-2002},
}
"""


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
