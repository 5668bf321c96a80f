"""The papers of the formats, as BibTeX: who cites an import cites the paper whose sentences it holds."""

from senseprobe.release.bibliography import find


def entry(key: str) -> str:
    """The BibTeX of the entry with a key that is there."""
    found = find(_BIBLIOGRAPHY, key)
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
