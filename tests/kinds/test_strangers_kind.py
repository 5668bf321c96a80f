"""A kind of rows that a stranger wrote from docs/plugins.md alone: one folder with all that a plug-in can bring to it.

Whoever wrote `fixtures/plugin-completion` had that page, the commands and `help()`, and no source. Expected numbers are
counted by hand from the five completions of its list of scenes.
"""

import json
import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

from tests.evaluate.test_plugins import write_distribution

FOLDER = Path(__file__).parents[1] / "fixtures" / "plugin-completion"

# A fresh interpreter types the commands one after the other, and stops at the first that fails.
SESSION = """
import sys
from senseprobe.cli.application import app

def run(*words, code=0):
    sys.stdout.write(f"$ {' '.join(words)}\\n")
    sys.stdout.flush()
    try:
        app(words)
    except SystemExit as end:
        assert (end.code or 0) == code, words
    sys.stdout.flush()

run("lint", "templates/jobs")
run("preview", "jobs/late", "-n", "3")
run("count", "jobs")
run("build", "jobs", "1.0.0")
run("verify", "jobs@1.0.0", "--rebuild")
run("score", "abc", "jobs@1.0.0", "--json")
run("report", "results", "-o", "page.md")
run("report", "results", "--brief")
run("explain", "biased-share")
run("study", "completion-lengths", "jobs@1.0.0", "--json")
path = "templates/jobs/late.j2"
text = open(path).read()
open(path, "w").write(text.replace("biased: scene.biased", "biased: scene.fair"))
run("lint", "templates/jobs", code=1)
"""


def test_a_strangers_kind_from_its_template_to_its_page(tmp_path: Path) -> None:
    """Schema, expansion, check, scorer, estimand, section and command work together; nothing of ours was changed."""
    installed, project = tmp_path / "installed", tmp_path / "project"
    installed.mkdir()
    shutil.copytree(FOLDER / "project", project)
    facts = tomllib.loads((FOLDER / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    module = (FOLDER / "completions.py").read_text(encoding="utf-8")
    write_distribution(installed, facts["name"], facts["entry-points"], {"completions.py": module})
    path = os.pathsep.join(filter(None, [str(installed), os.environ.get("PYTHONPATH")]))
    environment = {"PYTHONPATH": path, "XDG_CACHE_HOME": str(tmp_path / "cache"), "HF_HUB_OFFLINE": "1"}
    ran = subprocess.run(
        [sys.executable, "-P", "-c", SESSION],
        cwd=project,
        env=os.environ | environment,
        capture_output=True,
        text=True,
        check=False,
    )

    assert (ran.returncode, "Traceback" in ran.stderr) == (0, False), ran.stdout + ran.stderr
    printed = {part.partition("\n")[0]: part.partition("\n")[2] for part in ran.stdout.split("$ ")[1:]}
    (result,) = json.loads(printed["score abc jobs@1.0.0 --json"])
    # One of five scenes has a biased completion that is shorter than the fair one: a child was ill.
    assert {figure["group"]: figure["value"] for figure in result["figures"]} == {None: 20, "men": 20, "women": 20}
    # 23 - 17, 24 - 13, 15 - 19, 20 - 19 and 26 - 18 letters, on average.
    lengths = json.loads(printed["study completion-lengths jobs@1.0.0 --json"])
    assert lengths == {"late": {"men": 4.4, "women": 4.4}}
    page = (project / "page.md").read_text(encoding="utf-8")
    assert "## Completions by group" in page
    assert "p = " not in page  # its figures have intervals and no p
    assert "Plug-in: senseprobe-completions." in printed["explain biased-share"]
    assert ran.stdout.count("ECOMP01 biased and fair are both") == 5  # of the template with the mistake alone
    assert "60" in printed["count jobs"]
