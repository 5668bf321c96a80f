"""The notebook in docs/ says what Jupyter says when it is executed today.

Expected values: those that are stored in it, which readers see.
"""

import json
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
NOTEBOOK = ROOT / "docs" / "first-look.ipynb"
NUMBER = re.compile(r"(?<![\w.])[+-]?\d+\.\d+")


def texts(notebook: dict[str, Any]) -> list[str]:
    """What each output of a notebook says, and which kinds of it there are."""
    outputs = [output for cell in notebook["cells"] for output in cell.get("outputs", ())]
    plain = (output.get("text") or output["data"]["text/plain"] for output in outputs)
    kinds = (f"{output['output_type']} {sorted(output.get('data', ()))}" for output in outputs)
    return [f"{kind}\n{''.join(text)}" for kind, text in zip(kinds, plain, strict=True)]


def test_it_was_executed_from_top_to_bottom() -> None:
    """Cells are numbered in order, none failed, one shows a picture, and no path of a machine is in it."""
    stored = json.loads(NOTEBOOK.read_text(encoding="utf-8"))
    code = [cell for cell in stored["cells"] if cell["cell_type"] == "code"]
    assert [cell["execution_count"] for cell in code] == [*range(1, len(code) + 1)]
    assert {output["output_type"] for cell in code for output in cell["outputs"]} == {"execute_result", "stream"}
    assert sum("image/png" in text for text in texts(stored)) == 1
    assert not re.search(r"/(tmp|home|root|work|Users)/", "".join(texts(stored)))


@pytest.mark.system
def test_jupyter_gives_the_outputs_that_are_stored(tools: Path, tmp_path: Path) -> None:
    """The same words; and the same figures, but for a pair or two on which another processor rounds otherwise."""
    command = [tools / "python", ROOT / "tests" / "peers" / "notebook.py", NOTEBOOK]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=500)
    assert done.returncode == 0, done.stderr
    stored, today = texts(json.loads(NOTEBOOK.read_text(encoding="utf-8"))), texts(json.loads(done.stdout))
    assert [NUMBER.sub("N", text).split() for text in today] == [NUMBER.sub("N", text).split() for text in stored]
    numbers = [[float(number) for text in said for number in NUMBER.findall(text)] for said in (stored, today)]
    assert len(numbers[0]) > 15
    assert numbers[1] == pytest.approx(numbers[0], abs=1.5)  # a pair of 182 is half a point
