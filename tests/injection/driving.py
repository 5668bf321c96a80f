"""Has `worker.py` judge what stands in the files of a project, from the tests' side."""

import base64
import json
import re
import subprocess
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
PROJECT = HERE / "project"
CARD = "templates/small/dataset.yaml"
PAIRS, CLAIMS, MEMBERS = TEMPLATES = tuple(f"templates/small/{name}.j2" for name in ("pairs", "claims", "members"))
DESCRIPTOR = "wordlists/datapackage.yaml"
ANIMALS, QUALITIES, WORDS = LISTS = tuple(f"wordlists/{name}.csv" for name in ("animals", "qualities", "members"))
FILES = (CARD, *TEMPLATES, DESCRIPTOR, *LISTS)

Told = dict[str, Any]
Case = Mapping[str, bytes | str | None]
"""Files by path: their bytes, what the worker makes of a word like ``pipe:``, or None where there is to be none."""


def judged(cases: Iterable[Case], *, thorough: bool = False) -> list[Told]:
    """What the worker tells of each case."""
    lines = []
    for case in cases:
        files = {path: _sent(told) for path, told in case.items()}
        lines.append(json.dumps({"files": files, "thorough": thorough}) + "\n")
    command = [sys.executable, str(HERE / "worker.py")]
    done = subprocess.run(command, input="".join(lines), capture_output=True, text=True, check=True)
    return [json.loads(line) for line in done.stdout.splitlines()]


def _sent(told: bytes | str | None) -> str | None:
    return base64.b64encode(told).decode() if isinstance(told, bytes) else told


def read(file: str) -> str:
    return (PROJECT / file).read_text(encoding="utf-8")


def alone(file: str, told: bytes) -> Case:
    """The file with these bytes; a template as the only one of its dataset, which takes half the time."""
    if file not in TEMPLATES:
        return {file: told}
    card = re.sub(r"configs: .*\ncontrasts:\n.*\n", f"configs: [{Path(file).stem}]\n", read(CARD))
    return {**dict.fromkeys(TEMPLATES), CARD: card.encode(), file: told}
