"""Runs hostile projects one by one, each in a process of its own with limits, and says what became of it.

Reads cases as lines of JSON on standard input, ``{"files": {path: content}, "thorough": whether}``: the project beside
this file with some of its files replaced, added (see `_make`), or removed (null); and whether rows are also shown, and
made again from the recipe of their release. Answers with as many lines of JSON, each a `Told`. It is a program and not
a fixture, so that a hang, a memory bomb or a crash ends a process that no test runs in.
"""

import base64
import contextlib
import faulthandler
import gc
import io
import json
import os
import resource
import shutil
import signal
import sys
import tempfile
import time
import traceback
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import typer.main

from senseprobe import api
from senseprobe.cli import application
from senseprobe.errors import SenseprobeError
from senseprobe.generator import dataset
from senseprobe.generator.checks import lint
from senseprobe.generator.count import count
from senseprobe.generator.english.inflection import library_plural
from senseprobe.generator.preview import preview
from senseprobe.project import Layer

PROJECT = Path(__file__).parent / "project"
DATASET = "small"
LANES = 2
SECONDS = 5
"""What one call may take."""
BYTES = 2**30
"""What a process may have in memory."""
ADDRESSES = 3 * 2**29
"""Addresses that a process may take beyond those that it begins with."""
MOST_ROWS = 20_000
"""No larger product is built: that it takes long is no fault."""
WATCHED = ("os.system", "os.exec", "os.fork", "os.spawn", "os.posix_spawn", "subprocess.", "socket.", "ctypes.", "pty.")


@dataclass
class Told:
    """What became of a case.

    `codes` are those that lint found, `steps` what each call ended with (``fine`` or the name of our error), `escaped`
    any other exception, warning or death, with its place; `touched` what no declaration may touch: files outside,
    programs, the network. `seconds` is the longest call, `mebibytes` the peak.
    """

    codes: list[str] = field(default_factory=list)
    findings: list[str] = field(default_factory=list)
    steps: dict[str, str] = field(default_factory=dict)
    escaped: str = ""
    touched: list[str] = field(default_factory=list)
    seconds: float = 0.0
    mebibytes: int = 0
    sentences: list[str] = field(default_factory=list)
    card: str = ""
    shown: str = ""


def main() -> None:
    """Answer all cases, two at a time."""
    lines = sys.stdin.readlines()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name).resolve()
        _warm(folder)
        lanes = [_lane(lines, lane, folder) for lane in range(LANES)]
        for lane in lanes:
            os.waitpid(lane, 0)
        for number in range(len(lines)):
            print((folder / f"{number}.json").read_text())  # noqa: T201 - it answers


def _warm(folder: Path) -> None:
    """Do once what each process would: import everything, build the tree of commands, read our own code and card."""
    os.environ["SENSEPROBE_WORDNET"] = str(folder / "wordnet")
    os.environ["COLUMNS"] = "200"
    typer.main.get_command = cache(typer.main.get_command)
    library_plural("clarinet")  # loads inflect, as authors do: without checks of types, which take six seconds
    with (folder / "trace.txt").open("w") as trace:
        case = _Case(_project({}, folder), trace, thorough=True)
        for _, call in case.calls():
            call()
    gc.freeze()  # what children only read stays shared


def _lane(lines: list[str], lane: int, folder: Path) -> int:
    """A process that answers every second case, one after the other."""
    child = os.fork()
    if not child:
        try:
            for number in range(lane, len(lines), LANES):
                with tempfile.TemporaryDirectory() as name:
                    told = _apart(json.loads(lines[number]), Path(name).resolve())
                (folder / f"{number}.json").write_text(json.dumps(asdict(told)))
        finally:
            os._exit(0)
    return child


def _apart(case: Mapping[str, Any], folder: Path) -> Told:
    """The case in a child: the answer is in a file, which is not there where the child died."""
    child = os.fork()
    if not child:
        _child(case, folder)
    _, status, used = os.wait4(child, 0)
    answer, trace = folder / "answer.json", folder / "trace.txt"
    if status or not answer.is_file():
        died = f"killed: {signal.Signals(status).name}" if status in set(signal.Signals) else f"exit status {status}"
        place = trace.read_text(errors="replace") if trace.is_file() else ""
        return Told(escaped=f"{died}, after {SECONDS} s if a timeout\n{place}")
    told = Told(**json.loads(answer.read_bytes()))
    told.mebibytes = used.ru_maxrss >> (20 if sys.platform == "darwin" else 10)
    if told.mebibytes << 20 > BYTES:
        told.escaped += f"\n{told.mebibytes} MiB in memory"
    return told


def _child(case: Mapping[str, Any], folder: Path) -> None:
    status = 1
    try:
        with (folder / "trace.txt").open("w") as trace:
            faulthandler.enable(trace)
            faulthandler.register(signal.SIGPROF, trace, chain=True)
            root = _project(case["files"], folder)
            told = _Case(root, trace, thorough=case["thorough"]).run()
            (folder / "answer.json").write_text(json.dumps(asdict(told)))
            status = 0
    finally:
        os._exit(status)


def _project(files: Mapping[str, str | None], folder: Path) -> Path:
    root = folder / "project"
    shutil.copytree(PROJECT, root)
    (folder / "secret.txt").write_text("the secret")
    for name, content in files.items():
        (root / name).unlink(missing_ok=True)
        if content is not None:
            _make(root / name, content)
    os.environ["SENSEPROBE_WORDNET"] = str(folder / "wordnet")
    os.chdir(root)
    return root


def _make(path: Path, content: str) -> None:
    """A file of these bytes; or a ``link:`` to a path, a ``pipe:``, or a ``hole:`` of so many bytes."""
    kind, _, about = content.partition(":")
    if kind == "link":
        path.symlink_to(about)
    elif kind == "pipe":
        os.mkfifo(path)
    elif kind == "hole":
        with path.open("wb") as file:
            file.truncate(int(about))
    else:
        path.write_bytes(base64.b64decode(content))


def _limit() -> None:
    resource.setrlimit(resource.RLIMIT_CPU, (8 * SECONDS, 8 * SECONDS))
    with contextlib.suppress(OSError, ValueError):  # macOS knows no such limit, nor this file
        pages = int(Path("/proc/self/statm").read_text().split()[0])
        most = pages * resource.getpagesize() + ADDRESSES
        resource.setrlimit(resource.RLIMIT_AS, (most, most))


class _Case:
    """One project, and every call that an author makes of it."""

    def __init__(self, root: Path, trace: io.TextIOWrapper, *, thorough: bool) -> None:
        self.root, self.trace, self.thorough, self.told = root, trace, thorough, Told()
        self.found: dataset.ResolvedDataset | None = None
        self.places: set[tuple[str, int, int]] = set()
        # Only the project's own lists, as if nothing were built in: reading those takes most of the time.
        dataset.built_in = lambda: Layer(root)  # type: ignore[attr-defined]

    def run(self) -> Told:
        """Call everything, whatever the calls before it said."""
        _limit()
        sys.dont_write_bytecode = True  # a module that only an error loads would be written, compiled, outside
        sys.addaudithook(self._audit)
        told = self.told
        with warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always")
            for name, call in self.calls():
                self._step(name, call)
        told.escaped += "".join(f"\nwarning: {each.message}" for each in warned)
        lines = {path: _lines(self.root / path) for path in {path for path, _, _ in self.places}}
        lost = [place for place in self.places if place[1] > lines[place[0]] + 1 or place[2] < 0]
        told.escaped += f"\nnowhere: {lost}" if lost else ""
        impossible = [code for code in told.codes if code.startswith("E")]
        if not impossible and "DeclarationError" in told.steps.values():
            told.escaped += f"\nlint finds no mistake, but {told.steps}"
        return told

    def calls(self) -> Iterator[tuple[str, Callable[[], object]]]:
        """Every call by name; those that need a dataset come where it was counted, else they would say the same."""
        yield "lint", self._lint
        yield "command", lambda: self._command("lint")
        yield "count", self._count
        if found := self.found:
            yield "preview", lambda: self._preview(found)
            yield "build", lambda: self._build(found)
            if self.thorough:
                yield "show", lambda: self._command("preview", f"{DATASET}/{found.configs[0].name}")

    def _audit(self, event: str, about: tuple[Any, ...]) -> None:
        if event.startswith(WATCHED):
            self.told.touched.append(f"{event} {about}"[:200])
        elif event == "open" and isinstance(about[0], str):
            path, flags = Path(about[0]).absolute(), int(about[2] or 0)
            ours = self.root.parent in path.parents and path.name != "secret.txt"
            if not ours and (flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT) or path.name in ("secret.txt", "passwd")):
                self.told.touched.append(f"open {path}")

    def _step(self, name: str, call: Callable[[], object]) -> None:
        begin = time.monotonic()
        signal.setitimer(signal.ITIMER_PROF, SECONDS)  # of the processor, which others may be using too
        faulthandler.dump_traceback_later(6 * SECONDS, exit=True, file=self.trace)
        try:
            call()
            self.told.steps[name] = "fine"
        except SenseprobeError as error:
            self.told.steps[name] = type(error).__name__
            str(error).encode()
        except BaseException as error:  # noqa: BLE001 - what is no error of ours has escaped, whatever it is
            self.told.steps[name] = "escaped"
            self.told.escaped += f"\n{name}: {''.join(traceback.format_exception(error, limit=-6))}"
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)
            faulthandler.cancel_dump_traceback_later()
            self.told.seconds = max(self.told.seconds, time.monotonic() - begin)

    def _lint(self) -> None:
        findings = lint(Layer(self.root)).findings
        self.told.codes = [*dict.fromkeys(finding.code for finding in findings)]
        self.told.findings = [str(finding) for finding in findings]
        self.places = {(finding.path, finding.line, finding.column) for finding in findings if finding.line}

    def _command(self, *arguments: str) -> None:
        """The command as a user runs it; what it prints is kept."""
        sys.argv = ["senseprobe", *arguments]
        code: object = 0
        out = io.TextIOWrapper(io.BytesIO(), encoding="utf-8")  # a StringIO would take what no terminal can
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
            try:
                application.main()
            except SystemExit as left:
                code = left.code
            out.flush()
        assert code in (0, 1, 2), code
        out.buffer.seek(0)
        self.told.shown += out.buffer.read().decode()

    def _count(self) -> None:
        self.found = found = api.open_catalogue(DATASET)
        for config in found.configs:
            assert count(config).rows == config.size

    def _preview(self, found: dataset.ResolvedDataset) -> None:
        for config in found.configs:
            shown = [*preview(found, config, n=20, seed=0)]
            assert len(shown) == min(20, config.size)
            sentences = [pieces for row in shown for pieces in row.sentences.values()]
            self.told.sentences += ["".join(piece.text for piece in pieces) for pieces in sentences]

    def _build(self, found: dataset.ResolvedDataset) -> None:
        """Where it is not too large."""
        if sum(config.size for config in found.configs) <= MOST_ROWS:
            release = api.build(DATASET, "1.0.0", out=self.root / "releases")
            self.told.card = (release.folder / "README.md").read_text(encoding="utf-8")
            if self.thorough:
                assert api.verify(str(release.folder), rebuild=True) == []


def _lines(path: Path) -> int:
    return path.read_bytes().count(b"\n") + 1


if __name__ == "__main__":
    main()
