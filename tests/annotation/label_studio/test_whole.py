"""From a release to the next one through a real server, by commands as users type them in a project of their own."""

import csv
import json
import os
import signal
import subprocess
import sysconfig
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from tests.annotation import world
from tests.annotation.label_studio.answering import answers_of
from tests.annotation.label_studio.studio import ADMIN, RATERS, ROOT, Studio, Template

from senseprobe import api
from senseprobe.annotation.plan_file import read_plan
from senseprobe.annotation.records import Plan

pytestmark = pytest.mark.system
Process = subprocess.Popen[str]

PROGRAM = f"import sys; sys.path += {sorted({sysconfig.get_path(kind) for kind in ('purelib', 'platlib')})}"
PROGRAM += "; from senseprobe.cli.application import main; main()"
TABLES = ("answers.csv", "skipped.csv", "groups.csv")
RUDE, VAIN, DULL = (f"people.are.japanese.nice.{word}" for word in ("rude", "vain", "dull"))


class User:
    """Somebody at a shell, in a project that has built `tiny@1.0.0`; the environment is that of the client."""

    def __init__(self, root: Path, python: Path, url: str) -> None:
        self.root, self.python, self.url = root, python, url

    def begin(self, *words: str) -> Process:
        """Type a command, and do not wait for it."""
        server = {"LABEL_STUDIO_URL": self.url, "LABEL_STUDIO_API_KEY": ADMIN.token, "COLUMNS": "200"}
        return subprocess.Popen(
            [self.python, "-P", "-c", PROGRAM, *words],
            cwd=self.root,
            env={"PATH": os.environ["PATH"], "HOME": str(self.root), "PYTHONPATH": str(ROOT / "src"), **server},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def type(self, *words: str) -> str:
        """What a command prints that does what it shall; beside it are only notes of `build` and of a first WordNet."""
        process = self.begin(*words)
        out, notices = process.communicate(timeout=300)
        notes = ("an estimated", "prepared WordNet")
        complaints = [line for line in notices.splitlines() if not any(note in line for note in notes)]
        assert (process.returncode, complaints) == (0, []), (words, out, notices)
        return out

    def folder(self, project: str) -> Path:
        """Where the files of an annotation project are; its name is small letters and blanks."""
        return self.root / "annotations" / project.replace(" ", "-")


@pytest.fixture
def user(programs: Path, studio: Studio, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> User:
    """A user whose release has twelve rows. By hand: 2 frames x 2 nations x 3 bad words."""
    root = tmp_path / "project"
    world.make(root)
    (root / "wordlists" / "blame.csv").write_text("word,slug\nrude,rude\nvain,vain\ndull,dull\n")
    template = root / "templates" / "tiny" / "people.j2"
    template.write_text(template.read_text().replace("pairs: 8", "pairs: 12"))
    monkeypatch.chdir(root)
    api.build("tiny", "1.0.0")
    return User(root, programs / "python", studio.url)


def project_of(studio: Studio, title: str) -> dict[str, Any]:
    """The project with this title, as the server has it."""
    projects = studio.ask("GET", "/api/projects?page_size=1000")["results"]
    (number,) = [each["id"] for each in projects if each["title"] == title]
    return dict(studio.ask("GET", f"/api/projects/{number}"))


Said = Callable[[str, int], Mapping[str, str] | None]
"""From row and rater (0, 1, 2) to answers that differ from the usual ones; None: the rater skips the row."""


def answer_all(studio: Studio, plan: Plan, said: Said, groups: Mapping[int, str] | None = None) -> dict[str, list[int]]:
    """Have the three raters answer each row, one by one; the numbers of their answers, by row.

    Who names groups does so once, with consent.
    """
    tasks = {task["data"]["ext_id"]: task["id"] for task in studio.tasks(project_of(studio, plan.project)["id"])}
    made: dict[str, list[int]] = {}
    for number, item in enumerate(plan.items):
        for rater, login in enumerate(RATERS):
            told = said(item.row, rater)
            asked = {key: each for key, each in world.FINE.items() if key.partition(".")[0] in plan.questions}
            result = [] if told is None else answers_of(plan, number, {**asked, **told})
            if number == 0 and rater in (groups or {}):
                chosen = {"type": "choices", "value": {"choices": ["yes"]}}
                named = {"type": "textarea", "value": {"text": [(groups or {})[rater]]}}
                result += [
                    {"from_name": name, "to_name": "sentence-1", "id": name, **each}
                    for name, each in (("consent", chosen), ("groups", named))
                ]
            body = {"result": result, "was_cancelled": told is None, "lead_time": 4.5}
            answer = studio.ask("POST", f"/api/tasks/{tasks[item.row]}/annotations", body, login)
            made.setdefault(item.row, []).append(answer["id"])
    return made


def lines_of(path: Path) -> list[dict[str, str]]:
    """A table, line by line."""
    return list(csv.DictReader(path.read_text("utf-8-sig").splitlines()))


def test_people_reject_rows_and_the_next_release_has_them_no_more(user: User, studio: Studio) -> None:
    """Two of three find one sentence no English; the one Japanese would not have another row used; one row is a tie.

    By hand: 12 rows of 3 answers each, of which 2 rows go, 1 is undecided and 9 are kept.
    """
    title = "the whole way"
    pushed = user.type("annotate", "push", "tiny@1.0.0", "--project", title, "--n", "12", "--groups", "--prefill")
    assert "12 tasks sent, 0 " in pushed
    plan = read_plan(user.folder(title))

    def said(row: str, rater: int) -> Mapping[str, str]:
        odd: dict[str, Mapping[str, str]] = {}
        odd[RUDE] = {"natural.anti": "no"} if rater else {}
        odd[VAIN] = {"withhold": "no" if rater else "yes"}
        odd[DULL] = {"stereotype.stereo": ("stereotype", "neither", "unsure")[rater]}
        return odd.get(row, {})

    answer_all(studio, plan, said, {0: "women, Japanese", 1: "French"})
    pulled = user.type("annotate", "pull", title)
    assert "12 tasks" in pulled
    assert "36 annotations by 3 annotators, 0 skipped: 36 new" in pulled
    (natural,) = [
        each
        for each in json.loads(user.type("annotate", "agree", title, "--json"))["figures"]
        if (each["question"], each["by"]) == ("natural", "all")
    ]
    # By hand: 24 sentences of 3 pairs each are 72 pairs of answers, of which those of one sentence differ in 2.
    assert natural["same"] == pytest.approx(70 / 72)
    assert "keep 9, reject 2, undecided 1 (of these, reported by the targeted group: 1)" in user.type(
        "annotate", "apply", title
    )
    counted = json.loads(user.type("count", "tiny", "--json"))
    assert (counted["rows"], counted["left_out"]) == (12, 2)
    assert "10" in user.type("count", "tiny")
    user.type("build", "tiny", "2.0.0")
    before, after = (set(api.load(f"tiny@{version}").table("people")["id"]) for version in ("1.0.0", "2.0.0"))
    assert before - after == {RUDE, VAIN}
    assert after < before
    diff = user.type("diff", "tiny@1.0.0", "tiny@2.0.0")
    release = user.root / "releases" / "tiny" / "2.0.0"
    card = (release / "README.md").read_text()
    for row in (RUDE, VAIN):
        assert row in diff
        assert row in card
    assert DULL not in diff
    assert "Label Studio" in card
    croissant = json.loads((release / "croissant.json").read_text())
    assert croissant["rai:dataAnnotationPlatform"] == ["Label Studio"]
    everything = card + (release / "croissant.json").read_text() + (release / "release.json").read_text()
    assert not any(rater.email in everything for rater in RATERS)


@pytest.mark.parametrize("prefill", [True, False])
def test_labels_are_on_the_server_only_where_that_was_asked_for(user: User, studio: Studio, *, prefill: bool) -> None:
    """`--prefill`: each task has a prediction, which the project shows; else there is none and none is shown."""
    title = f"labels {'shown' if prefill else 'hidden'}"
    user.type("annotate", "push", "tiny@1.0.0", "--project", title, "--n", "5", *(["--prefill"] if prefill else []))
    project = project_of(studio, title)
    assert project["show_collab_predictions"] is prefill
    assert project["total_predictions_number"] == (5 if prefill else 0)
    for task in studio.tasks(project["id"]):
        found = studio.ask("GET", f"/api/predictions?task={task['id']}")
        if not prefill:
            assert found == []
            continue
        (prediction,) = found
        assert prediction["model_version"] == project["model_version"]  # of no chosen version none is shown
        shown = {each["from_name"]: each["value"]["choices"] for each in prediction["result"]}
        # By hand: the sentence that says nice is the opposite of the stereotype.
        labels = {n: "anti-stereotype" if "nice" in task["data"][f"text_{n}"] else "stereotype" for n in (1, 2)}
        assert shown == {f"stereotype-{n}": [label] for n, label in labels.items()}


def test_what_changed_on_the_server_is_told_by_the_next_pull(user: User, studio: Studio) -> None:
    """One answer is edited and one deleted: the command names both by their numbers, and the tables follow."""
    title = "changed minds"
    user.type("annotate", "push", "tiny@1.0.0", "--project", title, "--n", "4", "--questions", "natural,withhold")
    plan = read_plan(user.folder(title))
    made = answer_all(studio, plan, lambda row, rater: {"withhold": "no"})
    assert "12 annotations by 3 annotators, 0 skipped: 12 new, 0 edited, 0 deleted" in user.type(
        "annotate", "pull", title
    )
    edited, deleted = made[plan.items[1].row][0], made[plan.items[2].row][1]
    now = answers_of(plan, 1, {"natural.stereo": "yes", "natural.anti": "yes", "withhold": "yes"})
    studio.ask("PATCH", f"/api/annotations/{edited}", {"result": now})
    studio.ask("DELETE", f"/api/annotations/{deleted}/")
    told = user.type("annotate", "pull", title)
    assert f"11 annotations by 3 annotators, 0 skipped: 0 new, 1 edited ({edited}), 1 deleted ({deleted})" in told
    answers = lines_of(user.folder(title) / "answers.csv")
    assert [line["annotation"] for line in answers if line["value"] == "yes" and line["question"] == "withhold"] == [
        str(edited)
    ]
    assert str(deleted) not in {line["annotation"] for line in answers}
    assert "0 new, 0 edited, 0 deleted" in user.type("annotate", "pull", title)


def test_a_file_that_the_server_exported_can_be_imported(user: User, studio: Studio) -> None:
    """Into a second folder with the same plan and key: the same tables as pulled.

    From the raw file that was kept, and from what the server gives to somebody who exports the project as JSON.
    """
    title = "by file"
    user.type("annotate", "push", "tiny@1.0.0", "--project", title, "--n", "6", "--groups")
    folder = user.folder(title)
    plan = read_plan(folder)
    last = plan.items[-1].row
    answer_all(
        studio,
        plan,
        lambda row, rater: None if row == last and rater == 2 else {"natural.anti": "no" if rater == 1 else "yes"},
        {0: "Japanese"},
    )
    assert "17 annotations by 3 annotators, 1 skipped" in user.type("annotate", "pull", title)
    (kept,) = (folder / "exports").iterdir()
    theirs = studio.ask("GET", f"/api/projects/{project_of(studio, title)['id']}/export?exportType=JSON")
    (user.root / "downloaded.json").write_text(json.dumps(theirs))
    for name, file in (("second", kept), ("third", user.root / "downloaded.json")):
        place = user.root / name
        place.mkdir()
        for each in ("plan.json", "secret"):
            (place / each).write_bytes((folder / each).read_bytes())
        (place / "secret").chmod(0o600)
        taken = user.type("annotate", "import", title, str(file), "--folder", str(place))
        assert "17 annotations by 3 annotators, 1 skipped: 18 new" in taken or "17 new" in taken
        same = TABLES if file is kept else ("answers.csv", "groups.csv")
        assert {each: (place / each).read_bytes() for each in same} == {
            each: (folder / each).read_bytes() for each in same
        }


def test_what_is_annotated_is_kept_in_a_database_of_one_file(template: Template, studio: Studio) -> None:
    """SQLite, in the server's folder: the file begins as the format's manual says, and holds the raters' accounts."""
    for data in (template.folder, studio.data):
        begun = [path for path in data.iterdir() if path.is_file() and path.read_bytes()[:16] == b"SQLite format 3\0"]
        assert begun
        held = b"".join(path.read_bytes() for path in data.iterdir() if path.name.startswith(begun[0].name))
        assert all(rater.email.encode() in held for rater in RATERS)


def _stamps(folder: Path) -> dict[str, tuple[int, int]]:
    """When each table was written last, in nanoseconds, and its file's number: one in the making has another name."""
    found = {}
    for name in TABLES:
        if (folder / name).exists():
            stat = (folder / name).stat()
            found[name] = (stat.st_mtime_ns, stat.st_ino)
    return found


def _exports(folder: Path) -> int:
    return len([*(folder / "exports").iterdir()]) if (folder / "exports").exists() else 0


def _killed(process: Process, now: Callable[[], bool]) -> bool:
    """Kill a process as soon as `now`; whether it was still at it."""
    while process.poll() is None and not now():
        pass
    process.send_signal(signal.SIGKILL)
    process.communicate()
    return process.returncode == -signal.SIGKILL


def _after(seconds: float) -> Callable[[], bool]:
    until = time.monotonic() + seconds
    return lambda: time.monotonic() >= until


def test_a_killed_pull_leaves_a_folder_that_the_next_one_makes_right(user: User, studio: Studio) -> None:
    """Killed early, late, when the export is there, and between tables: the next pull makes what an undisturbed does.

    The folder has the tables of an earlier pull, from before an answer was edited, one deleted and a group named; or
    nothing but plan and key.
    """
    title = "killed"
    user.type("annotate", "push", "tiny@1.0.0", "--project", title, "--n", "12", "--groups")
    plan, first = read_plan(user.folder(title)), user.folder(title)
    made = answer_all(studio, plan, lambda row, rater: None if row == DULL and rater == 2 else {}, {0: "Japanese"})
    begun = time.monotonic()
    user.type("annotate", "pull", title)
    takes = time.monotonic() - begun
    earlier = {path.relative_to(first): path.read_bytes() for path in first.rglob("*") if path.is_file()}
    studio.ask("DELETE", f"/api/annotations/{made[VAIN][1]}/")
    number = [item.row for item in plan.items].index(RUDE)
    edited = answers_of(plan, number, {**world.FINE, "natural.anti": "no"})
    studio.ask("PATCH", f"/api/annotations/{made[RUDE][1]}", {"result": edited})
    group = {"from_name": "groups", "type": "textarea", "id": "g", "value": {"text": ["women"]}}
    agreed = {"from_name": "consent", "type": "choices", "id": "c", "value": {"choices": ["yes"]}}
    added = [{**result, "to_name": "sentence-1"} for result in (agreed, group)]
    named = [*answers_of(plan, number, world.FINE), *added]
    studio.ask("PATCH", f"/api/annotations/{made[RUDE][2]}", {"result": named})
    user.type("annotate", "pull", title)
    undisturbed = {name: (first / name).read_bytes() for name in TABLES}
    assert all(undisturbed[name] != earlier[Path(name)] for name in ("answers.csv", "groups.csv"))

    delays = {f"after {share}/8": _Moment(delay=takes * share / 8) for share in (3, 5, 7)}
    seen = {
        "export": _Moment(seen=lambda old, folder: _exports(folder) != old[1]),
        **{
            name: _Moment(seen=lambda old, folder, name=name: _stamps(folder).get(name) != old[0].get(name))
            for name in TABLES
        },
    }
    hit = set()
    for run, (what, moment) in enumerate({**delays, **seen}.items()):
        for anew in (True, False) if what == "export" else (what in delays,):
            place = user.root / f"{run}-{anew}"
            for each, data in earlier.items():
                if not anew or each.name in {"plan.json", "secret"}:
                    (place / each).parent.mkdir(parents=True, exist_ok=True)
                    (place / each).write_bytes(data)
            (place / "secret").chmod(0o600)
            old = _stamps(place), _exports(place)
            process = user.begin("annotate", "pull", title, "--folder", str(place))
            if _killed(process, moment.of(old, place)):
                hit.add(what)
            for name in TABLES:  # each is whole: the old one, or the new one
                if (place / name).exists():
                    assert (place / name).read_bytes() in (undisturbed[name], earlier[Path(name)]), (what, name)
            user.type("annotate", "pull", title, "--folder", str(place))
            now = {name: (place / name).read_bytes() for name in TABLES}
            assert now == undisturbed, (what, anew)
    told = json.loads(user.type("annotate", "pull", title, "--folder", str(place), "--json"))
    assert (told["new"], told["changes"]) == (False, {"new": [], "edited": [], "deleted": [], "regrouped": []})
    assert hit >= {"export", "groups.csv"}, hit


class _Moment:
    """When to kill: so many seconds after the start, or as soon as something is seen in the folder."""

    def __init__(self, delay: float = 0.0, seen: Callable[..., bool] | None = None) -> None:
        self.delay, self.seen = delay, seen

    def of(self, old: tuple[Mapping[str, tuple[int, int]], int], folder: Path) -> Callable[[], bool]:
        """Whether it has come, to be asked again and again."""
        seen = self.seen
        return _after(self.delay) if seen is None else lambda: seen(old, folder)
