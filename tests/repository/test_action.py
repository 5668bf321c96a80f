"""`action.yml` and the hook of pre-commit do in a project what they say, as far as a machine without GitHub can show.

Steps are run as GitHub's runner runs them: bash with -e and pipefail, expressions put into the environment, outputs and
summary in files, and a server on this machine for api.github.com; so each command in them is a start of senseprobe, and
takes a second. Expected values: what is planted in the project.
"""

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
import yaml  # type: ignore[import-untyped]

from senseprobe import api
from senseprobe.api import author

ROOT = Path(__file__).parents[2]
ACTION = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))
EXPRESSION = re.compile(r"\$\{\{\s*(.+?)\s*\}\}")
OURS = str(Path(sys.executable).parent)


@dataclass
class GitHub:
    """The comments of pull request 7, requests as (method, path, token), and what is answered in place of success."""

    comments: list[dict[str, Any]] = field(default_factory=list)
    requests: list[tuple[str, str, str]] = field(default_factory=list)
    refuses: int = 0
    url: str = ""


@pytest.fixture
def github() -> Iterator[GitHub]:
    """A server that keeps comments as GitHub's does."""
    state = GitHub()

    class Handler(BaseHTTPRequestHandler):
        def _answer(self) -> None:
            state.requests.append((self.command, self.path, str(self.headers["Authorization"])))
            sent = json.loads(self.rfile.read(int(self.headers["Content-Length"] or 0)) or b"null")
            answer: Any = state.comments
            if sent and self.command == "POST":
                state.comments.append({"id": len(state.comments) + 1, "user": {"type": "Bot"}, **sent})
            elif sent:
                answer = next(c for c in state.comments if str(c["id"]) == self.path.rpartition("/")[2])
                answer.update(sent)
            self.send_response(state.refuses or 200)
            self.end_headers()
            self.wfile.write(json.dumps(answer).encode())

        do_GET = do_POST = do_PATCH = _answer  # noqa: N815 - names of the library

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        state.url = f"http://127.0.0.1:{server.server_port}"
        Thread(target=server.serve_forever, daemon=True).start()
        yield state
        server.shutdown()


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with a release of its example."""
    folder = tmp_path / "checkout" / "mine"
    author.init(folder)
    monkeypatch.chdir(folder)
    api.build("example", "1.0.0")
    return folder


@dataclass
class Run:
    """What the steps of the action printed, their outputs, the summary, and the name of the step that failed."""

    log: str = ""
    outputs: dict[str, str] = field(default_factory=dict)
    summary: str = ""
    failed: str = ""


def run_action(project: Path, github: GitHub, **inputs: str) -> Run:
    """Run the steps of the action in the folder of a project; nothing is installed, and WordNet is not fetched."""
    values = {f"inputs.{name}": about.get("default", "") for name, about in ACTION["inputs"].items()}
    values |= {f"inputs.{name.replace('_', '-')}": text for name, text in {"wordnet": "false", **inputs}.items()}
    values |= {"github.token": "s3cret", "github.event_name": "pull_request", "github.event.pull_request.number": "7"}
    values |= {"inputs.working-directory": project.name, "inputs.token": "s3cret"}
    place = project.parents[1]
    files = {name: place / name for name in ("GITHUB_OUTPUT", "GITHUB_STEP_SUMMARY", "RUNNER_TEMP")}
    files["RUNNER_TEMP"].mkdir(exist_ok=True)
    for name in ("GITHUB_OUTPUT", "GITHUB_STEP_SUMMARY"):
        files[name].write_text("")
    env = {**os.environ, **{name: str(path) for name, path in files.items()}, "GITHUB_ACTION_PATH": str(ROOT)}
    env |= {"GITHUB_API_URL": github.url, "GITHUB_REPOSITORY": "me/mine", "PATH": f"{OURS}:{os.environ['PATH']}"}
    result = Run()
    for step in ACTION["runs"]["steps"]:
        if "run" not in step or step["name"] == "Install" or not holds(step.get("if", ""), values):
            continue
        own = {name: filled(text, values) for name, text in step.get("env", {}).items()}
        folder = project.parent / filled(step.get("working-directory", "."), values)
        bash = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]]
        done = subprocess.run(bash, cwd=folder, env=env | own, capture_output=True, text=True, check=False)
        result.log += done.stdout + done.stderr
        lines = files["GITHUB_OUTPUT"].read_text().splitlines()
        result.outputs = dict(line.split("=", 1) for line in lines)
        values |= {f"steps.lint.outputs.{name}": text for name, text in result.outputs.items()}
        if done.returncode:
            result.failed = step["name"]
            break
    result.summary = files["GITHUB_STEP_SUMMARY"].read_text()
    return result


def filled(text: str, values: Mapping[str, str]) -> str:
    """A text with its expressions replaced; an expression that the runner would not know is an error."""
    return EXPRESSION.sub(lambda match: values[match.group(1)], text)


def holds(condition: str, values: Mapping[str, str]) -> bool:
    """Whether a condition of a step holds: comparisons of a name with a text, joined by &&."""
    for part in filter(None, condition.split(" && ")):
        name, sign, text = part.split(" ")
        if (values[name] == text.strip("'")) != (sign == "=="):
            return False
    return True


def add_word(project: Path, word: str) -> None:
    """Add a word to the first list of the example, with the cells of the line before, and 1 / 6 to what is expected."""
    path = project / "wordlists" / "hobbyists.csv"
    lines = path.read_text(encoding="utf-8").splitlines()
    cells = lines[-1].split(",")
    path.write_text("\n".join([*lines, ",".join([word, *cells[1:]])]) + "\n", encoding="utf-8")
    template = project / "templates" / "example" / "hobbies.j2"
    template.write_text(template.read_text(encoding="utf-8").replace("pairs: 750", "pairs: 875"), encoding="utf-8")


@pytest.mark.slow
def test_differences_are_one_comment(project: Path, github: GitHub) -> None:
    """Nothing changed, then a word is new: the comment of the first run is written over, by the token's owner alone."""
    github.comments.append({"id": 99, "user": {"type": "User"}, "body": "<!-- senseprobe diff -->\nmine"})
    github.comments.append({"id": 98, "user": None, "body": "<!-- senseprobe diff -->\nof an account that is gone"})
    first = run_action(project, github)
    assert "Since example@1.0.0: nothing changed." in github.comments[-1]["body"], first
    add_word(project, "juggler")
    second = run_action(project, github)
    stranger, _, comment = github.comments
    assert stranger["body"].endswith("mine"), "anybody may write the mark"
    assert "`juggler`" in comment["body"]
    assert "Since example@1.0.0: MINOR (1.1.0 or higher)." in comment["body"]
    assert second.summary.strip() in comment["body"]
    methods = [(method, path.partition("?")[0]) for method, path, _ in github.requests]
    base = "/repos/me/mine/issues"
    listed = ("GET", f"{base}/7/comments")
    assert methods == [listed, ("POST", f"{base}/7/comments"), listed, ("PATCH", f"{base}/comments/3")]
    assert {token for *_, token in github.requests} == {"Bearer s3cret"}
    assert "s3cret" not in first.log + second.log


# Takes long: each command of the action is a start of senseprobe.
def test_findings_are_notes_at_lines_and_a_failure(project: Path, github: GitHub) -> None:
    """A list with a word twice: an annotation, an output, why the dataset cannot be built, and a failure at last."""
    path = project / "wordlists" / "hobbyists.csv"
    lines = path.read_text(encoding="utf-8").splitlines()
    path.write_text("\n".join([*lines, lines[-1]]) + "\n", encoding="utf-8")
    run = run_action(project, github)
    (note,) = [line for line in run.log.splitlines() if line.startswith("::error")]
    assert re.match(rf"::error file=wordlists/hobbyists\.csv,line={len(lines) + 1},.*title=E204::", note)
    assert (run.outputs, run.failed) == ({"findings": "true"}, "Findings are a failure")
    (comment,) = github.comments
    assert re.search(r"## example\n\n[^\n]+:\n\n    wordlists/hobbyists\.csv:", comment["body"])


@pytest.mark.slow
def test_names_of_others_are_no_commands(project: Path, github: GitHub) -> None:
    """A folder and inputs whose names would be options or scripts, were they put into one."""
    bad = project / "templates" / "--help$(touch hacked)"
    bad.mkdir()
    run = run_action(
        project, github, datasets="example $(touch$IFS$9hacked) `id` ../example", strict="true; touch hacked"
    )
    assert "Since example@1.0.0" in run.summary
    assert run.summary.count("\n## ") == 1
    assert not [*project.parents[1].rglob("hacked")]


@pytest.mark.slow
def test_a_token_that_may_not_comment_is_a_warning(project: Path, github: GitHub) -> None:
    """As on pull requests from forks; no comment is asked for where none is wanted; and a fault of GitHub is one."""
    github.refuses = 403
    run = run_action(project, github, datasets="none")
    assert "::warning title=senseprobe::the token may not comment here" in run.log
    assert run.failed == ""
    asked = len(github.requests)
    assert run_action(project, github, datasets="none", comment="false").failed == ""
    assert len(github.requests) == asked
    github.refuses = 500
    assert run_action(project, github, datasets="none").failed == "Comment"


def test_what_is_installed_is_one_argument() -> None:
    """The version of the action itself, or what the input says, which can be no option of pip."""
    (step,) = (step for step in ACTION["runs"]["steps"] if step.get("name") == "Install")
    for version, expected in (("", "/action"), ("senseprobe==0.2.0; rm -rf x", "senseprobe==0.2.0; rm -rf x")):
        script = f'python() {{ printf "%s\\n" "$@"; }}\n{step["run"]}'
        env = {"PATH": os.environ["PATH"], "VERSION": version, "GITHUB_ACTION_PATH": "/action"}
        told = subprocess.run(["bash", "-ec", script], env=env, capture_output=True, text=True, check=True).stdout
        assert told.splitlines()[-2:] == ["--", expected]


@pytest.mark.system
def test_pre_commit_runs_the_hook(project: Path, tools: Path) -> None:
    """pre-commit takes the manifest, and the hook refuses a commit with a mistake in a list, and lets others pass.

    It would install senseprobe with all that it needs: the hook is run with the senseprobe of the tests instead.
    """
    manifest = ROOT / ".pre-commit-hooks.yaml"
    subprocess.run([tools / "pre-commit", "validate-manifest", manifest], check=True)
    (hook,) = yaml.safe_load(manifest.read_text(encoding="utf-8"))
    config = {"repos": [{"repo": "local", "hooks": [hook | {"language": "system"}]}]}
    (project / ".pre-commit-config.yaml").write_text(json.dumps(config), encoding="utf-8")
    identity = {f"GIT_{who}_{what}": "x@example.org" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    env = {
        **os.environ,
        **identity,
        "PATH": f"{OURS}:{tools}:{os.environ['PATH']}",
        "PRE_COMMIT_HOME": str(project.parent),
    }

    def git(*words: str) -> subprocess.CompletedProcess[str]:
        subprocess.run(["git", "add", "-A"], cwd=project, env=env, check=True)
        return subprocess.run(["git", *words], cwd=project, env=env, capture_output=True, text=True, check=False)

    subprocess.run(["git", "init", "-q"], cwd=project, env=env, check=True)
    subprocess.run([tools / "pre-commit", "install"], cwd=project, env=env, check=True, capture_output=True)
    first = git("commit", "-m", "a project")
    assert first.returncode == 0, first.stderr
    assert re.search(r"senseprobe lint\.+Passed", first.stdout + first.stderr)
    (project / "notes.txt").write_text("x")
    assert "Skipped" in git("commit", "-m", "no data").stderr
    path = project / "wordlists" / "hobbyists.csv"
    path.write_text(path.read_text() + path.read_text().splitlines()[-1] + "\n")
    refused = git("commit", "-m", "a word twice")
    assert refused.returncode != 0
    assert "E204" in refused.stdout + refused.stderr
