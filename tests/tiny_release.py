"""A release of four sentences, he and she of two jobs, in a project of its own."""

from pathlib import Path

from tests.tiny import DATASET, FRONT

from senseprobe import api

TEMPLATE = FRONT.replace("PAIRS", "2") + "{{ pronoun.subject | upfirst }} is the {{ job }}.\n"

PACKAGE = """
name: mine
resources:
  - name: jobs
    path: jobs.csv
    sources: [{title: nobody}]
    licenses: [{name: MIT}]
    schema: {fields: [{name: word, type: string}]}
"""


def write_release(project: Path) -> None:
    """Build ``tiny@1.0.0`` in the folder `project`, which must be the current one."""
    for folder in ("templates/tiny", "wordlists", "releases"):
        (project / folder).mkdir(parents=True)
    (project / "senseprobe.toml").touch()
    (project / "templates" / "tiny" / "dataset.yaml").write_text(DATASET)
    (project / "templates" / "tiny" / "job.j2").write_text(TEMPLATE)
    (project / "wordlists" / "references.bib").write_text("@misc{nobody, title = {Nothing}}\n")
    (project / "wordlists" / "datapackage.yaml").write_text(PACKAGE)
    (project / "wordlists" / "jobs.csv").write_text("word\nengineer\nnurse\n")
    api.build("tiny", "1.0.0")
