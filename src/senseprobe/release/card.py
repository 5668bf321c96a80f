"""The dataset card: `README.md` with the front matter that the Hugging Face Hub reads."""

from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any

import jinja2

from senseprobe.records import Design
from senseprobe.release.schema import meanings

__all__ = ["render"]

_TASKS = {
    "contrast": ("fill-mask", "text-generation"),
    "inference": ("text-classification",),
    "association": ("feature-extraction", "sentence-similarity"),
}
"""The Hub's names for what a kind of rows is put to."""


def render(facts: Mapping[str, Any]) -> str:
    """The card of a release, from the facts of its manifest."""
    columns = meanings(Design.from_dict(facts["configs"][name]["design"]) for name in facts["order"])
    configs = [facts["configs"][name] for name in facts["order"]]
    kinds = list(dict.fromkeys(config["design"]["kind"] for config in configs))
    about = {
        "columns": columns.items(),
        "accepted": {name: facts["configs"][name]["accept"] for name in facts["order"]},
        "kinds": kinds,
        "tasks": [task for kind in kinds for task in _TASKS[kind]],
        "genders": any("gender" in config["design"]["bias_type"] for config in configs),
        "rows": _rows(facts),
        "size": _size_category(facts),
    }
    return _template().render(**facts, **about)


@cache
def _template() -> jinja2.Template:
    source = files("senseprobe").joinpath("release", "card.md.j2").read_text(encoding="utf-8")
    env = jinja2.Environment(  # noqa: S701 - Markdown, not HTML
        undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True
    )
    return env.from_string(source)


def _rows(facts: Mapping[str, Any]) -> int:
    return sum(config["rows"] for config in facts["configs"].values())


def _size_category(facts: Mapping[str, Any]) -> str:
    """The Hub's name for the number of rows."""
    bounds = [(1_000, "n<1K"), (10_000, "1K<n<10K"), (100_000, "10K<n<100K"), (1_000_000, "100K<n<1M")]
    return next((name for bound, name in bounds if _rows(facts) < bound), "1M<n<10M")
