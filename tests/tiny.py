"""The smallest dataset that there is: he and she, of a job. Who uses it adds frames and lists of his own."""

from pathlib import Path

DATASET = """
title: Tiny
summary: Tiny.
license: MIT
languages: [en]
citation: nobody
canary: "c"
content_warning: None.
construct: Nothing.
intended_use: Tests.
out_of_scope: All else.
who_could_be_harmed: Nobody.
equivalence: {margin: 5, reason: None.}
configs: [job]
"""

FRONT = """---
kind: contrast
bias_type: gender
construct: gender stereotype of a job
description: He against she.
source: nobody
slots:
  job: {list: jobs}
roles:
  stereo: {pronoun: {list: pronouns, word: he}}
  anti:   {pronoun: {list: pronouns, word: she}}
target: job
sense: {type: noun}
label_basis: none
generalise: [job]
expect: {pairs: PAIRS}
---
"""


def lay_out(project: Path, template: str) -> None:
    """A user's project in a folder: the dataset with this template, and a reference; word lists are left to others."""
    for folder in ("templates/tiny", "wordlists", "releases"):
        (project / folder).mkdir(parents=True)
    (project / "senseprobe.toml").touch()
    (project / "templates" / "tiny" / "dataset.yaml").write_text(DATASET)
    (project / "templates" / "tiny" / "job.j2").write_text(template)
    (project / "wordlists" / "references.bib").write_text("@misc{nobody, title = {Nothing}}\n")
