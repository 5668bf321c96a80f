"""What `publish` does on a Hub: one commit, a tag, a copy fetched and verified, a line in published.csv."""

import io
import json
import shutil
import subprocess
import sys
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from tests.commands import typing
from tests.hub.client import REPO, WRITES, assert_published, environment, refusal, repo_of
from tests.hub.server import Hub
from tests.hub.state import Blob

from senseprobe import api
from senseprobe.cli.application import main

# The Hub's client hands bytes to httpx2 in a way that httpx2 does not want any more.
pytestmark = pytest.mark.filterwarnings("ignore:Use 'content=:DeprecationWarning")


def test_a_release_is_one_commit_with_a_tag(hub: Hub, project: Path) -> None:
    """The repository is made and gated before anything is sent; one commit; the tag on it; fetched again; noted."""
    done = api.publish("example@0.1.0", REPO)

    assert_published(hub, project)
    assert (done.commit, done.tag, done.created, done.gated) == (repo_of(hub).tags["v0.1.0"], "v0.1.0", True, "auto")
    assert repo_of(hub).gated == "auto"
    assert not repo_of(hub).private
    order = [route for route, _ in hub.log]
    assert order.index("create") < order.index("settings") < order.index("commit") < order.index("tag")
    assert order.index("tag") < order.index("resolve")
    assert hub.seen("commit") == 1


def test_a_dry_run_changes_nothing(hub: Hub, project: Path) -> None:
    """It says what would be sent, and only asks."""
    plan = api.publish("example@0.1.0", REPO, dry_run=True)

    files = [path for path in (project / "releases" / "example" / "0.1.0").rglob("*") if path.is_file()]
    assert (plan.sent, plan.bytes) == (len(files), sum(path.stat().st_size for path in files))
    assert (plan.commit, plan.created, plan.dry_run) == ("", True, True)
    assert {route for route, _ in hub.log} & WRITES == set()
    assert hub.repos == {}
    assert not (project / "releases" / "example" / "published.csv").exists()


def test_publishing_again_changes_nothing(hub: Hub, project: Path) -> None:
    """No commit, no tag, no second line."""
    api.publish("example@0.1.0", REPO)
    second = api.publish("example@0.1.0", REPO)

    assert second.sent == 0
    assert (hub.seen("commit"), hub.seen("tag")) == (1, 1)
    assert_published(hub, project)


def test_a_name_without_a_version_is_published_when_somebody_says_yes(
    hub: Hub, project: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """It is said which release it is; where nobody can be asked, --yes is needed. A dry run asks nothing."""
    typed = typing(monkeypatch, capfd)
    monkeypatch.setattr("sys.stdin", io.StringIO(""))
    refused = typed("publish", "example", REPO)
    assert (refused.code, hub.log) == (2, [])
    assert "example@0.2.0" in refused.err
    assert "--yes" in refused.err
    assert "example@0.2.0" in typed("publish", "example", REPO, "--dry-run").err
    assert hub.repos == {}
    assert typed("publish", "example", REPO, "--yes").code == 0
    assert [*repo_of(hub).tags] == ["v0.2.0"]


LOAD = """
import datasets, json, sys
for revision in sys.argv[2:]:
    rows = datasets.load_dataset(sys.argv[1], "hobbies", revision=revision, split="test")
    print(json.dumps(rows.to_list()))
"""


def test_the_datasets_library_loads_each_version(hub: Hub, project: Path, tmp_path: Path) -> None:
    """From a fresh cache, `load_dataset(repo, config, revision=tag)` gives the rows of that version."""
    api.publish("example@0.1.0", REPO)
    api.publish("example@0.2.0", REPO)
    assert_published(hub, project, "0.1.0", commits=3)
    assert_published(hub, project, "0.2.0", commits=3)

    command = [sys.executable, "-c", LOAD, REPO, "v0.1.0", "v0.2.0"]
    env = environment(hub, tmp_path / "home")
    ran = subprocess.run(command, env=env, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    loaded = [json.loads(line) for line in ran.stdout.splitlines()]
    releases = [project / "releases" / "example" / version for version in ("0.1.0", "0.2.0")]
    assert loaded == [pq.read_table(folder / "hobbies", partitioning=None).to_pylist() for folder in releases]
    assert [len(rows) for rows in loaded] == [750, 875]


def test_files_of_an_earlier_version_go(hub: Hub, project: Path) -> None:
    """What the next version has not is removed in its one commit."""
    retired = project / "templates" / "example" / "retired.csv"
    retired.write_text("id\n")
    api.build("example", "0.3.0")
    retired.unlink()
    api.build("example", "0.4.0")
    api.publish("example@0.3.0", REPO)
    assert "recipe/templates/example/retired.csv" in repo_of(hub).commits[repo_of(hub).tags["v0.3.0"]].tree

    assert api.publish("example@0.4.0", REPO).removed == 1
    assert_published(hub, project, "0.4.0", commits=3)


def test_the_file_that_makes_a_benchmark_stays(hub: Hub, project: Path, tmp_path: Path) -> None:
    """The Hub's `eval.yaml`, which `export hub-eval` writes, is no file of others: the next version keeps it there."""
    api.publish("example@0.1.0", REPO)
    repo_of(hub).commit("a benchmark", {"eval.yaml": Blob(b"tasks: []\n", lfs=False)})
    assert api.publish("example@0.2.0", REPO).removed == 0
    assert repo_of(hub).commits[repo_of(hub).tags["v0.2.0"]].tree["eval.yaml"].data == b"tasks: []\n"
    pulled, _ = api.pull(f"{REPO}@0.2.0", tmp_path / "releases")
    assert not (pulled.folder / "eval.yaml").exists()


def test_a_tag_that_somebody_set_rightly_is_taken(hub: Hub, project: Path) -> None:
    """The tag appears on our commit between look and set (409): all is well."""
    hub.before["tag"] = lambda: repo_of(hub).tags.update({"v0.1.0": repo_of(hub).branches["main"]})
    api.publish("example@0.1.0", REPO)

    assert_published(hub, project)


def test_a_commit_below_later_ones_is_found_again(hub: Hub, project: Path) -> None:
    """Sent but not tagged, and then others went on: it is tagged where it is."""
    hub.fail("tag", 500)
    refusal(lambda: api.publish("example@0.1.0", REPO))
    ours = repo_of(hub).branches["main"]
    repo_of(hub).commit("theirs", {"theirs.txt": Blob(b"x", lfs=False)})
    api.publish("example@0.1.0", REPO)

    assert repo_of(hub).tags == {"v0.1.0": ours}
    assert_published(hub, project, commits=3)


def test_an_unfinished_version_may_still_change(hub: Hub, project: Path) -> None:
    """Sent but not tagged, it is not published: other bytes of this version take its place."""
    hub.fail("tag", 500)
    refusal(lambda: api.publish("example@0.1.0", REPO))
    shutil.rmtree(project / "releases" / "example")
    api.build("example", "0.1.0")  # with a word more than before
    api.publish("example@0.1.0", REPO)

    assert_published(hub, project, commits=3)


def test_the_command_line_publishes_and_pulls(
    hub: Hub, project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """What each prints, and its exit code."""

    def run(*arguments: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["senseprobe", *arguments])
        with pytest.raises(SystemExit) as left:
            main()
        return int(left.value.code or 0), *capsys.readouterr()

    for command in ("publish", "pull"):
        assert "hf://USER/NAME@VERSION" in run(command, "--help")[1]
    code, output, _ = run("publish", "example@0.1.0", REPO, "--dry-run")
    assert (code, output.splitlines()[0]) == (0, f"would make the dataset {REPO}, public, gated: auto")
    facts = json.loads(run("publish", "example@0.1.0", REPO, "--json")[1])
    assert (facts["repo"], facts["tag"], facts["commit"]) == (REPO, "v0.1.0", repo_of(hub).tags["v0.1.0"])
    assert f"commit {facts['commit']}: nothing to send" in run("publish", "example@0.1.0", REPO)[1]
    output = run("pull", f"{REPO}@0.1.0", "--out", str(tmp_path / "out"))[1]
    assert output.splitlines()[1] == f"in {tmp_path / 'out' / 'example' / '0.1.0'}"
    code, output, complaint = run("pull", f"{REPO}@7.0.0")
    assert (code, output, len(complaint.splitlines())) == (2, "", 1)
    assert run("verify", f"hf://{REPO}@0.1.0")[:2] == (0, f"hf://{REPO}@0.1.0: unchanged\n")
