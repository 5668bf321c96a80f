"""The dataset card: `README.md` with the front matter that the Hugging Face Hub reads."""

import re
from collections.abc import Iterator, Mapping
from functools import cache
from importlib.resources import files
from typing import Any

import jinja2
import pyarrow as pa

from senseprobe.records import Design
from senseprobe.release import annotation_record
from senseprobe.release.citation import find_paper, render_bibtex
from senseprobe.release.licences import hub_name, spdx_url
from senseprobe.release.manifest import CARDS
from senseprobe.release.markup import code_span, dump_yaml, escape_markdown
from senseprobe.release.metadata import DocumentInput
from senseprobe.release.schema import design_schema, meanings
from senseprobe.release.verdicts import Verdict

NAME = "README.md"

FIRST = "First release."
"""The changelog of a release without a predecessor."""

_TASKS = {
    "contrast": ("fill-mask", "text-generation"),
    "inference": ("text-classification",),
    "association": ("feature-extraction", "sentence-similarity"),
}
"""The Hub's names of the tasks that each kind of rows is for."""

MOST_LEFT_OUT = 100
"""How many of the rows that verdicts leave out are listed."""

_BOUNDS = ("1K", "10K", "100K", "1M", "10M", "100M", "1B", "10B", "100B", "1T")

_GATE = {
    "extra_gated_heading": "Not for training",
    "extra_gated_prompt": (
        "These rows state stereotypes, which are wrong and hurtful, to measure whether models prefer them. They are "
        "for evaluation only: a model that was trained on them can no longer be measured by them, and passes on what "
        "they say. Do not put them on pages that are crawled for training, and keep the canary with every copy."
    ),
    "extra_gated_fields": {
        "I will use these rows to evaluate models and not to train or tune them": "checkbox",
        "I know that they contain stereotypes, and will not show them to people without a warning": "checkbox",
    },
    "extra_gated_button_content": "Agree and see the rows",
}
"""What users confirm on the Hub before they get the rows, where the publisher turns that on."""

_SINCE_CROISSANT = {"source_datasets", *_GATE, "dataset_info"}


def render(about: DocumentInput) -> str:
    """Return the card of a release, front matter and text."""
    designs = {name: Design.from_dict(about.config(name)["design"]) for name in about.facts["order"]}
    values = {
        "about": about,
        "columns": meanings(designs.values()).items(),
        "accepted": {name: dict(sorted(about.config(name)["accept"].items())) for name in about.facts["order"]},
        "published": [name for name in about.facts["order"] if _has_published_count(about.config(name)["expect"])],
        "genders": any("gender" in design.bias_type for design in designs.values()),
        "bibtex": render_bibtex(about).strip(),
        "paper": find_paper(about),
        "changelog": re.sub(r"^(?=#)", "#", about.changelog.strip(), flags=re.MULTILINE) or FIRST,
        "licence_url": spdx_url(about.licence),
        "left_out": _left_out(about),
    }
    values["levels"] = {name: _levels(design, about.config(name)["levels"]) for name, design in designs.items()}
    text = _template().render(**about.facts, **values)
    return f"---\n{render_front_matter(about)}---\n\n{text}"


def render_front_matter(about: DocumentInput, form: int = CARDS) -> str:
    """Return the front matter as YAML; cards of form 1, from before Croissant, have no gate and no `dataset_info`."""
    fields = _front_matter(about)
    if form == 1:
        fields = {key: value for key, value in fields.items() if key not in _SINCE_CROISSANT}
        fields["tags"] = [tag for tag in fields["tags"] if tag != "croissant"]
    return dump_yaml(fields)


def _levels(design: Design, levels: Mapping[str, int]) -> dict[str, int]:
    """Sort levels by the order of the factors, and parts of a factor by name: a manifest does not store their order."""
    order = {factor.name: number for number, factor in enumerate(design.factors)}
    names = sorted(levels, key=lambda name: (order.get(name.partition(" (")[0], len(order)), name))
    return {name: levels[name] for name in names}


def _left_out(about: DocumentInput) -> list[Verdict]:
    """Return the verdicts that leave rows out, config by config, in the order of the rows."""
    return [about.verdicts[name] for config in about.facts["order"] for name in about.left_out.get(config, ())]


def _has_published_count(expect: Mapping[str, Any]) -> bool:
    return expect.get("published") is not None or bool(expect.get("reason"))


@cache
def _template() -> jinja2.Template:
    source = files("senseprobe").joinpath("release", "card.md.j2").read_text(encoding="utf-8")
    env = jinja2.Environment(  # noqa: S701 - Markdown, not HTML
        undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True
    )
    env.filters.update(cell=_cell, quoted=_quoted, code=code_span, prose=escape_markdown)
    env.globals.update(rounds=annotation_record, most=MOST_LEFT_OUT)
    return env.from_string(source)


def _cell(text: object) -> str:
    """Return the text in one line, without what would end the cell of a table."""
    return " ".join(str(text).split()).replace("|", "\\|")


def _quoted(text: object) -> str:
    """Return the text as a quotation: every further line begins as the first does."""
    return "\n> ".join(str(text).splitlines())


def _front_matter(about: DocumentInput) -> dict[str, Any]:
    """Return what the Hub reads: licence, configs with their files, columns and sizes, and the texts of the gate."""
    card, order, imported = about.card, about.facts["order"], bool(about.card.get("imported"))
    kinds = list(dict.fromkeys(str(about.config(name)["design"]["kind"]) for name in order))
    return {
        "pretty_name": card["title"],
        **_licence(about.licence),
        "language": card["languages"],
        "annotations_creators": ["found" if imported else "expert-generated"],
        "language_creators": ["found"] if imported else ["expert-generated", "machine-generated"],
        "multilinguality": "monolingual" if len(card["languages"]) == 1 else "multilingual",
        "size_categories": [_size_category(about.rows())],
        "source_datasets": ["extended|other" if imported else "original"],
        "task_categories": [task for kind in kinds for task in _TASKS[kind]],
        "tags": ["bias", "fairness", "stereotypes", *_sense_tags(about), "croissant"],
        **_GATE,
        "configs": [_config(name, first=name == order[0]) for name in order],
        "dataset_info": [_info(about, name) for name in order],
    }


def _sense_tags(about: DocumentInput) -> list[str]:
    """Return a tag where a config is about a sense of an ambiguous word, and not about a group alone."""
    has_senses = any(about.config(name)["design"]["sense_type"] for name in about.facts["order"])
    return ["word-senses"] if has_senses else []


def _licence(licence: str) -> dict[str, str]:
    fields = {"license": hub_name(licence)}
    if fields["license"] == "other":
        fields |= {"license_name": licence, "license_link": spdx_url(licence) or "https://spdx.org/licenses"}
    return fields


def _size_category(rows: int) -> str:
    """Return the Hub's name for a number of rows."""
    for number, bound in enumerate(_BOUNDS):
        if rows < 10 ** (number + 3):
            return f"{_BOUNDS[number - 1]}<n<{bound}" if number else f"n<{bound}"
    return "n>1T"


def _config(name: str, *, first: bool) -> dict[str, Any]:
    default = {"default": True} if first else {}
    return {"config_name": name, **default, "data_files": [{"split": "test", "path": f"{name}/test-*.parquet"}]}


def _info(about: DocumentInput, name: str) -> dict[str, Any]:
    """Return a config's columns and sizes as the `datasets` library states them."""
    facts, memory = about.config(name), about.memory[name]
    return {
        "config_name": name,
        "features": [*_features(design_schema(Design.from_dict(facts["design"])))],
        "splits": [{"name": "test", "num_bytes": memory, "num_examples": facts["rows"]}],
        "download_size": sum(int(entry["bytes"]) for entry in about.tables(name).values()),
        "dataset_size": memory,
    }


def _features(fields: pa.Schema | pa.StructType) -> Iterator[dict[str, Any]]:
    for field in fields:
        if pa.types.is_struct(field.type):
            yield {"name": field.name, "struct": [*_features(field.type)]}
        else:
            yield {"name": field.name, "dtype": str(field.type)}
