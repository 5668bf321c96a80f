"""What others read of this repository: citation, forms, workflows, and the map for language models.

Expected values: the schemas that GitHub, Zenodo and the Citation File Format publish, as far as stated here by hand;
for the citation also cffconvert.
"""

import json
import os
import re
import shutil
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml  # type: ignore[import-untyped]

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
HOME = PROJECT["urls"]["Repository"]
FORMS = sorted((ROOT / ".github" / "ISSUE_TEMPLATE").glob("*.yml"))
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))


def parsed(path: Path) -> Any:  # noqa: ANN401 - YAML
    """The content of a YAML file; YAML 1.1 reads the key `on` of a workflow as true."""
    return yaml.safe_load(path.read_text(encoding="utf-8"))


def test_the_citation_is_of_this_version() -> None:
    """Names, licence and address are those of pyproject.toml, in both files; CFF 1.2.0 requires four keys."""
    citation, zenodo = parsed(ROOT / "CITATION.cff"), json.loads((ROOT / ".zenodo.json").read_text(encoding="utf-8"))
    assert citation.keys() >= {"cff-version", "message", "title", "authors"}
    assert citation["authors"] == zenodo["creators"] == PROJECT["authors"]
    assert (citation["version"], citation["license"]) == (PROJECT["version"], PROJECT["license"])
    assert citation["repository-code"] == HOME
    assert citation["title"] == zenodo["title"]
    assert citation["abstract"] == zenodo["description"] == PROJECT["description"]
    assert (zenodo["upload_type"], zenodo["license"]) == (citation["type"], PROJECT["license"])
    assert "version" not in zenodo, "Zenodo takes it from the tag"


@pytest.mark.system
def test_cffconvert_takes_the_citation(tools: Path, tmp_path: Path) -> None:
    """The program of the format's authors, with its schema; and it refuses one without a title."""
    command = [str(tools / "cffconvert"), "--validate", "-i", "CITATION.cff"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    (tmp_path / "CITATION.cff").write_text(citation.replace("title:", "titel:"), encoding="utf-8")
    assert subprocess.run(command, cwd=tmp_path, capture_output=True, check=False).returncode != 0


@pytest.mark.parametrize("path", [path for path in FORMS if path.stem != "config"], ids=lambda path: path.stem)
def test_issue_forms_are_what_github_takes(path: Path) -> None:
    """Its syntax for forms: the keys of each type of field, ids once each, and one field at least that is no text."""
    form = parsed(path)
    assert {"name", "description", "body"} <= form.keys() <= {"name", "description", "body", "labels", "title"}
    fields = [field for field in form["body"] if field["type"] != "markdown"]
    ids = [field["id"] for field in fields]
    assert fields
    assert len({*ids}) == len(ids)
    needed = {"markdown": {"value"}, "textarea": {"label"}, "input": {"label"}, "dropdown": {"label", "options"}}
    for field in form["body"]:
        assert needed[field["type"]] <= field["attributes"].keys() <= needed[field["type"]] | {"description", "render"}
        assert field.keys() <= {"type", "id", "attributes", "validations"}
        assert all(isinstance(text, str) for text in field["attributes"].get("options", ()))


@pytest.mark.parametrize("path", [*WORKFLOWS, ROOT / "action.yml"], ids=lambda path: path.name)
def test_workflows_put_no_text_of_others_into_scripts(path: Path) -> None:
    """An expression in a script is the classical injection: here scripts have environment variables alone."""
    workflow = parsed(path)
    jobs = workflow["jobs"].values() if "jobs" in workflow else [workflow["runs"]]
    steps = [step for job in jobs for step in job["steps"]]
    assert all("${{" not in step.get("run", "") for step in steps)
    assert all(re.fullmatch(r"[\w-]+/[\w-]+@[\w./-]+", step["uses"]) for step in steps if "uses" in step)
    if "jobs" in workflow:
        assert workflow["permissions"] == {"contents": "read"}


def test_a_release_is_published_without_a_token() -> None:
    """Only the job that publishes may ask for an identity, it builds nothing, and attestations are on."""
    jobs = parsed(ROOT / ".github" / "workflows" / "release.yml")["jobs"]
    assert {name: job.get("permissions") for name, job in jobs.items()} == {
        "build": None,
        "publish": {"id-token": "write"},
    }
    *_, upload = jobs["publish"]["steps"]
    assert upload["uses"].startswith("pypa/gh-action-pypi-publish@")
    assert upload["with"] == {"attestations": True}
    assert all("run" not in step for step in jobs["publish"]["steps"])


def test_addresses_are_of_one_repository() -> None:
    """Whoever moves it has one name to replace, which RELEASING.md says; each file that is linked to is there."""
    owner = HOME.removeprefix("https://github.com/")
    files = ["pyproject.toml", "CITATION.cff", ".github/ISSUE_TEMPLATE/config.yml", "docs/authoring.md"]
    texts = [(ROOT / name).read_text(encoding="utf-8") for name in files]
    found = {name for text in texts for name in re.findall(r"https://github\.com/([\w-]+/[\w-]+)", text)}
    assert found == {owner}
    assert owner in (ROOT / "RELEASING.md").read_text(encoding="utf-8")
    for url in PROJECT["urls"].values():
        assert (ROOT / url.removeprefix(HOME).partition("/main/")[2]).exists()


def test_the_map_for_language_models_leads_somewhere() -> None:
    """llms.txt has its form (title, summary as a quotation, lists of links), and leads to every page, once."""
    text = (ROOT / "llms.txt").read_text(encoding="utf-8")
    assert re.match(r"# senseprobe\n\n> .+\n\n", text)
    assert all(re.fullmatch(r"- \[[^\]]+\]\([^)]+\): .+", line) for line in text.splitlines() if line.startswith("-"))
    links = re.findall(r"\]\(([^)#]+)\)", text)
    assert [link for link in links if not (ROOT / link).is_file()] == []
    pages = {path.relative_to(ROOT).as_posix() for path in (ROOT / "docs").glob("*.md")}
    assert pages - {*links} == set()
    assert len(links) == len({*links})


def test_links_of_the_files_lead_somewhere() -> None:
    """Relative links of what GitHub shows at the top."""
    for name in ("SECURITY.md", "CODE_OF_CONDUCT.md", "README.md", "CONTRIBUTING.md", "RELEASING.md"):
        text = (ROOT / name).read_text(encoding="utf-8")
        links = [link for link in re.findall(r"\]\(([^)#\s]+)", text) if "://" not in link]
        assert [link for link in links if not (ROOT / link).exists()] == [], name


def make(folder: Path, target: str, *, fetch: int = 0) -> tuple[str, list[str]]:
    """Run a target in a folder whose environment only notes what it is asked: what was printed, and the notes.

    `fetch` is the exit code of `senseprobe fetch`.
    """
    for name in ("Makefile", "pyproject.toml", "constraints.txt"):
        shutil.copy(ROOT / name, folder)
    notes, programs = folder / "notes", folder / ".venv" / "bin"
    programs.mkdir(parents=True)
    for name in ("python", "pytest", "senseprobe"):
        lines = ["#!/bin/sh", f'echo "{name} $*" >> "{notes}"', f'[ "$1" != fetch ] || exit {fetch}']
        (programs / name).write_text("\n".join(lines) + "\n", encoding="utf-8")
        (programs / name).chmod(0o755)
    outer = {name: value for name, value in os.environ.items() if not name.startswith("MAKE")}
    done = subprocess.run(["make", target], cwd=folder, env=outer, capture_output=True, text=True, check=True)
    return done.stdout, notes.read_text(encoding="utf-8").splitlines()


def test_the_demo_begins_with_a_page_of_a_real_model(tmp_path: Path) -> None:
    """After one small run, without the tools of tests; then a model with a planted bias is scored."""
    printed, notes = make(tmp_path, "demo")
    (installed,) = [line.split()[-1] for line in notes if " pip install " in line]
    assert installed == ".[all]"
    steps = [line.split()[1] for line in notes if line.startswith("senseprobe ")]
    assert steps[:3] == ["fetch", "score", "report"]
    assert "model" in steps[3:]
    first = f"first page: {tmp_path}/demo/smollm2.html"
    assert printed.index(first) < printed.index("A test of the scorers") < printed.index("model plant")


def test_the_demo_goes_on_without_a_network(tmp_path: Path) -> None:
    """A model that cannot be fetched is not scored, and the rest is done."""
    printed, notes = make(tmp_path, "demo", fetch=1)
    assert "first page" not in printed
    assert [line.split()[1] for line in notes if line.startswith("senseprobe ")][:2] == ["fetch", "lint"]
    assert notes[-1].startswith("senseprobe report")


def test_tests_add_their_tools_to_the_same_environment(tmp_path: Path) -> None:
    """And what is installed already is not installed again."""
    _, notes = make(tmp_path, "test")
    assert [line.split()[-1] for line in notes if " pip install " in line] == [".[all]", ".[dev]"]
    assert notes[-1].startswith("pytest ")
    (tmp_path / "notes").unlink()
    subprocess.run(["make", "demo"], cwd=tmp_path, check=True, capture_output=True)
    assert "pip install" not in (tmp_path / "notes").read_text(encoding="utf-8")
