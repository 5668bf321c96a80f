"""A release of four sentences, he and she of two jobs, in a project of its own."""

from pathlib import Path

from tests.tiny import FRONT, lay_out

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
    lay_out(project, TEMPLATE)
    (project / "wordlists" / "datapackage.yaml").write_text(PACKAGE)
    (project / "wordlists" / "jobs.csv").write_text("word\nengineer\nnurse\n")
    api.build("tiny", "1.0.0")
