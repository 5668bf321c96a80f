"""Label Studio in an environment of its own, a server on a folder that was set up once, and plans to push to it."""

import shutil
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from label_studio_server import install
from tests.annotation.label_studio.proxy import Proxy
from tests.annotation.label_studio.studio import ROOT, Client, Studio, Template, set_up

from senseprobe.annotation.plan_file import hash_item, write_plan
from senseprobe.annotation.records import Item, Plan, Sentence

QUESTIONS = ("sense", "stereotype", "natural", "withhold", "comment")


@pytest.fixture(scope="session")
def programs() -> Path:
    """The programs of the environment that `make label-studio` makes too; it is made where it is not there."""
    return install(ROOT / ".venv-label-studio", ROOT / "constraints-label-studio.txt")


@pytest.fixture(scope="session")
def label_studio_sdk(programs: Path) -> Path:
    """The Python of that environment, which has the platform's client: in ours it would force numpy down."""
    return programs / "python"


@pytest.fixture(scope="session")
def memory() -> Iterator[Path]:
    """A folder in memory where there is one: setting up a database waits hundreds of times for a disk."""
    shared = Path("/dev/shm")  # noqa: S108 - a folder of our own is made there
    with tempfile.TemporaryDirectory(dir=shared if shared.is_dir() else None) as folder:
        yield Path(folder)


@pytest.fixture(scope="session")
def template(programs: Path, memory: Path) -> Template:
    """The data folder of a server that has users and no project."""
    return set_up(programs.parent, memory / "template")


@pytest.fixture(scope="session")
def new_studio(programs: Path, template: Template, memory: Path) -> Iterator[Callable[[], Studio]]:
    """What starts another server."""
    made: list[Studio] = []

    def make() -> Studio:
        made.append(Studio(programs, Path(shutil.copytree(template.folder, memory / f"data-{len(made)}"))))
        return made[-1]

    yield make
    for studio in made:
        studio.stop()


@pytest.fixture(scope="session")
def studio(new_studio: Callable[[], Studio]) -> Studio:
    """The server of those tests that do not break it."""
    return new_studio()


@pytest.fixture
def new_client(programs: Path) -> Iterator[Callable[[], Client]]:
    """What starts another client."""
    made: list[Client] = []

    def make() -> Client:
        made.append(Client(programs))
        return made[-1]

    yield make
    for client in made:
        client.kill()


@pytest.fixture(scope="session")
def client(programs: Path) -> Iterator[Client]:
    """The client of those tests that do not break it."""
    client = Client(programs)
    yield client
    client.kill()


@pytest.fixture
def proxy(studio: Studio) -> Iterator[Proxy]:
    """A bad network before the server."""
    proxy = Proxy(studio.url)
    yield proxy
    proxy.stop()


def item(number: int) -> Item:
    """Row `number` of a plan; sentences hold what HTML could take for its own."""
    stereo, anti = f"<b>Person</b> & {number} is a lazy nurse.", f"<b>Person</b> & {number} is a kind nurse."
    shown = tuple(
        Sentence(role=role, text=text, span=(text.index("nurse"), len(text) - 1))
        for role, text in (("stereo", stereo), ("anti", anti))
    )
    plain = Item(
        row=f"noun.4f2a91.nurse.{number}",
        config="noun",
        content="",
        sentences=shown[:: 1 if number % 2 else -1],
        target="nurse",
        sense_key="nurse%1:18:00::",
        gloss="one skilled in caring for young children or the sick",
    )
    return replace(plain, content=hash_item(plain))


def plan_of(title: str, rows: int, first: int = 0) -> Plan:
    """A plan of so many rows, which asks three people."""
    return Plan(
        project=title,
        release="sssb@1.0.0",
        content="c" * 64,
        kind="contrast",
        seed=0,
        overlap=3,
        questions=QUESTIONS,
        items=tuple(item(number) for number in range(first, first + rows)),
    )


@pytest.fixture
def planned(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[..., Path]:
    """What writes a plan of so many rows, called after the test, into a folder."""

    def write(rows: int = 3, *, title: str = "", folder: str = "project", first: int = 0) -> Path:
        title = title or request.node.name.removeprefix("test_")[:50]
        write_plan(tmp_path / folder, plan_of(title, rows, first))
        return tmp_path / folder

    return write
