"""A user's project with a dataset of eight rows about two nations, and answers to them, made by hand."""

import csv
import io
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from statistics import fmean
from typing import Any

from tests.tiny import DATASET

from senseprobe.annotation.label_studio.client import NoProject, Project, Task
from senseprobe.annotation.plan_file import read_plan
from senseprobe.annotation.questions import controls, keys
from senseprobe.annotation.records import Item, Plan

TEMPLATE = """---
kind: contrast
bias_type: nationality
construct: what is said of a nation's people
description: People of a nation.
source: nobody
slots:
  nation: {list: nations}
  good: {list: praise}
  bad: {list: blame}
roles:
  stereo: {quality: bad}
  anti: {quality: good}
target: nation
sense: {type: nationality}
label_basis: trait
generalise: [nation, bad]
expect: {pairs: 8}
---
{{ nation }} people are {{ quality }}. {# id: are #}
{{ nation }} people seem {{ quality }}. {# id: seem #}
"""

LISTS = {"nations": ["Japanese", "French"], "praise": ["nice"], "blame": ["rude", "<b>lazy</b>"]}

_RESOURCE = """
  - name: {name}
    path: {name}.csv
    sources: [{{title: nobody}}]
    licenses: [{{name: MIT}}]
    schema: {{fields: [{{name: word, type: string}}, {{name: slug, type: string}}]}}
"""

FINE = {"stereotype.stereo": "stereotype", "stereotype.anti": "anti-stereotype", "natural.stereo": "yes"}
FINE |= {"natural.anti": "yes", "withhold": "no"}

Said = Callable[[str, Item], Mapping[str, str]]
"""From annotator and item to answers that differ from FINE; an empty answer is none."""


def make(root: Path) -> None:
    """Write the project's files into a folder."""
    for folder in ("templates/tiny", "wordlists", "releases"):
        (root / folder).mkdir(parents=True)
    (root / "senseprobe.toml").touch()
    card = DATASET.replace("[job]", "[people]")
    (root / "templates" / "tiny" / "dataset.yaml").write_text(card)
    (root / "templates" / "tiny" / "people.j2").write_text(TEMPLATE)
    (root / "wordlists" / "references.bib").write_text("@misc{nobody, title = {Nothing}}\n")
    package = "name: mine\nresources:" + "".join(_RESOURCE.format(name=name) for name in LISTS)
    (root / "wordlists" / "datapackage.yaml").write_text(package)
    for name, words in LISTS.items():
        lines = [f"{word},{word.strip('<b>/').lower()}" for word in words]
        (root / "wordlists" / f"{name}.csv").write_text("\n".join(["word,slug", *lines]) + "\n")


BAD = ("rude", "loud", "vain", "mean", "cold", "dull")
FRAMES = ("are", "seem", "stay")


def make_larger(root: Path) -> None:
    """Write a project of 36 rows of people and 12 of tourists: 3 frames or 1, x 2 nations x 6 bad words."""
    make(root)
    (root / "wordlists" / "blame.csv").write_text("word,slug\n" + "".join(f"{word},{word}\n" for word in BAD))
    card = root / "templates" / "tiny" / "dataset.yaml"
    card.write_text(card.read_text().replace("[people]", "[people, tourists]"))
    card.with_name("people.j2").write_text(_template("people", FRAMES, 36))
    card.with_name("tourists.j2").write_text(_template("tourists", FRAMES[:1], 12))


def _template(people: str, frames: Sequence[str], pairs: int) -> str:
    """The front matter of TEMPLATE, and frames of these verbs about `people`."""
    front = TEMPLATE.rpartition("---\n")[0].replace("pairs: 8", f"pairs: {pairs}")
    lines = (f"{{{{ nation }}}} {people} {verb} {{{{ quality }}}}. {{# id: {verb} #}}\n" for verb in frames)
    return f"{front}---\n{''.join(lines)}"


def fill(folder: Path, annotator: str, said: Said, groups: str = "") -> Path:
    """Fill in the sheet of an annotator as a spreadsheet program would; `groups` are named with consent."""
    path, plan = folder / "sheets" / f"{annotator}.csv", read_plan(folder)
    rows = list(csv.reader(io.StringIO(path.read_text("utf-8-sig"), newline="")))
    heads = [head.partition(":")[0].partition(" (")[0] for head in rows[0]]
    for row in rows[1:]:
        item = plan.items[int(row[heads.index("item")]) - 1]
        told = {**FINE, **said(annotator, item)}
        for name, key in controls(plan, item).items():
            row[heads.index(name)] = told.get(key, "")
        if groups:
            row[heads.index("consent")], row[heads.index("groups")] = "yes", groups
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows(rows)
    return path


def label_studio(plan: Plan, people: Mapping[int, Said], tasks: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """An export as Label Studio writes it, where each of these people answered every task."""
    items, numbers = {item.row: item for item in plan.items}, iter(range(1, 10_000))
    return [
        {
            "id": 100 + place,
            "data": task["data"],
            "annotations": [
                _annotation(next(numbers), person, plan, items[task["data"]["ext_id"]], said)
                for person, said in people.items()
            ],
            "predictions": [],
        }
        for place, task in enumerate(tasks)
    ]


def _annotation(number: int, person: int, plan: Plan, item: Item, said: Said) -> dict[str, Any]:
    told = {**FINE, **said(str(person), item)}
    results = [
        {"from_name": name, "to_name": "sentence-1", "type": "choices", "value": {"choices": [told[key]]}}
        for name, key in controls(plan, item).items()
        if told.get(key) and key in keys(plan, item)
    ]
    return {
        "id": number,
        "completed_by": person,
        "result": results,
        "was_cancelled": False,
        "lead_time": 12.5,
        "created_at": "2026-11-01T10:00:00.000000Z",
        "updated_at": "2026-11-01T10:00:12.500000Z",
    }


class Studio:
    """Stands for a Label Studio server, as `label_studio.client.Server` asks one: projects, tasks, answers."""

    url = "http://127.0.0.1:1/"

    def __init__(self) -> None:
        self.made: dict[int, Project] = {}
        self.held: dict[int, list[dict[str, Any]]] = {}

    def __str__(self) -> str:
        return self.url

    def link(self, project: Project) -> str:
        """Where people see a project."""
        return f"{self.url}projects/{project.id}/"

    def people(self) -> dict[int, str]:
        """Addresses by id."""
        return {7: "maria@example.com", 8: "b@example.com", 9: "c@example.com"}

    def projects(self, title: str) -> list[int]:
        """Projects with this title."""
        return [number for number, project in self.made.items() if project.title == title]

    def project(self, number: int) -> Project:
        """A project; NoProject where there is none."""
        if number not in self.made:
            raise NoProject(f"no project {number}")
        return replace(self.made[number], tasks=len(self.held[number]))

    def create(self, title: str, interface: str, **settings: Any) -> int:  # noqa: ANN401 - as the server takes them
        """A new project."""
        number = len(self.made) + 1
        overlap = settings["maximum_annotations"]
        self.made[number] = Project(id=number, title=title, interface=interface, tasks=0, overlap=overlap)
        self.held[number] = []
        return number

    def send(self, project: int, tasks: Sequence[Mapping[str, Any]]) -> None:
        """Tasks, added."""
        held = self.held[project]
        held += [{**task, "id": len(held) + place, "annotations": []} for place, task in enumerate(tasks, 1)]

    def tasks(self, project: int, after: int = 0, *, people: bool = False) -> Iterator[list[Task]]:
        """Tasks on one page."""
        found = [self._task(task, people=people) for task in self.held[project] if task["id"] > after]
        if found:
            yield found

    def _task(self, task: Mapping[str, Any], *, people: bool) -> Task:
        who = sorted({said["completed_by"] for said in task["annotations"]}) if people else ()
        data, count = task["data"], len(task["annotations"])
        times = [said["lead_time"] for said in task["annotations"]]
        known = {"row": data["ext_id"], "content": data["content"], "seconds": fmean(times) if times else None}
        return Task(id=task["id"], answers=count, people=tuple(who), **known)

    def export(self, project: int) -> bytes:
        """All tasks, with answers."""
        return json.dumps(self.held[project]).encode()
