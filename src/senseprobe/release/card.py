"""The dataset card: `README.md` with the front matter that the Hugging Face Hub reads."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from importlib.resources import files
from itertools import pairwise
from pathlib import Path
from typing import Any

import jinja2
import pyarrow as pa

from senseprobe.atomic_files import read_plain
from senseprobe.records import Design, Finding
from senseprobe.release import annotation_record
from senseprobe.release.changelog import is_entry
from senseprobe.release.citation import find_paper, render_bibtex
from senseprobe.release.documents import (
    MAX_BYTES,
    CardSources,
    DocumentInput,
    line_findings,
    mismatch,
)
from senseprobe.release.kinds import KINDS
from senseprobe.release.licences import hub_name, spdx_url
from senseprobe.release.manifest import CARDS, Manifest
from senseprobe.release.markup import code_span, dump_yaml, escape_markdown
from senseprobe.release.schema import design_schema, is_import, meanings
from senseprobe.statistics import FEWEST_LEVELS

NAME = "README.md"

FIRST = "First release."
"""The changelog of a release without a predecessor."""

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
    order, configs, designs = about.facts["order"], about.facts["configs"], about.designs
    scored = [design.kind for design in designs.values() if design.estimands]  # association had none at first
    expect = {name: configs[name]["expect"] for name in order}
    text = _template().render(
        **about.facts,
        about=about,
        columns=meanings(designs.values()).items(),
        accepted={name: dict(sorted(configs[name]["accept"].items())) for name in order},
        published=[name for name in order if expect[name].get("published") is not None or expect[name].get("reason")],
        genders=any("gender" in design.bias_type and not is_import(design) for design in designs.values()),
        bibtex=render_bibtex(about).strip(),
        paper=find_paper(about),
        changelog=re.sub(r"^(?=#)", "#", about.changelog.strip(), flags=re.MULTILINE) or FIRST,
        licence_url=spdx_url(about.licence),
        left_out=[about.verdicts[row] for name in order for row in about.left_out.get(name, ())],
        senses=_senses(configs, order),
        headlines={name: configs[name].get("headline") for name in order},
        made_by=about.card.get("made_by"),
        makers=_makers(about),
        examples=sum(len(configs[name].get("examples", ())) for name in order),
        model=next((KINDS[kind].model for kind in scored if KINDS[kind].model), ""),
        unit=next((KINDS[kind].unit for kind in scored if KINDS[kind].unit != "points"), "points"),
        levels={name: _levels(design, configs[name]["levels"]) for name, design in designs.items()},
    )
    return f"---\n{render_front_matter(about)}---\n\n{text}"


def render_front_matter(about: DocumentInput, form: int = CARDS) -> str:
    """Return the front matter as YAML.

    Cards of form 1, from before Croissant, have no gate and no `dataset_info`; those before form 5 say that experts
    made what was not imported, whoever did.
    """
    fields = _front_matter(about)
    if form < 5:
        imported = bool(about.card.get("imported"))
        fields["annotations_creators"] = ["found" if imported else "expert-generated"]
        fields["language_creators"] = ["found"] if imported else ["expert-generated", "machine-generated"]
    if form == 1:
        fields = {key: value for key, value in fields.items() if key not in _SINCE_CROISSANT}
        fields["tags"] = [tag for tag in fields["tags"] if tag != "croissant"]
    return dump_yaml(fields)


def _levels(design: Design, levels: Mapping[str, int]) -> dict[str, int]:
    """Sort levels by the order of the factors, and parts of a factor by name: a manifest does not store their order."""
    order = {factor.name: number for number, factor in enumerate(design.factors)}
    names = sorted(levels, key=lambda name: (order.get(name.partition(" (")[0], len(order)), name))
    return {name: levels[name] for name in names}


def _count_levels(levels: Mapping[str, int], first: Mapping[str, Any] | None, *, sampled: bool) -> str:
    """Return the levels over which a headline generalises, or the others; without one, those that are enough."""
    factors = {name.partition(" (")[0] for name in levels} if first is None else {*first["factors"]}
    over = {name: n >= FEWEST_LEVELS and name.partition(" (")[0] in factors for name, n in levels.items()}
    return "; ".join(f"{n} \u00d7 {name}" for name, n in levels.items() if over[name] == sampled)


def _senses(configs: Mapping[str, Any], order: Sequence[str]) -> dict[tuple[str, ...], list[str]]:
    """Return by column, word, key and gloss of a sense the configs that have it."""
    senses: dict[tuple[str, ...], list[str]] = {}
    for name in order:
        for sense in configs[name].get("senses", ()):
            gloss = "missing" if sense["gloss"] is None else sense["gloss"] or f"not in {sense['lexicon']}"
            senses.setdefault((sense["column"], sense["word"], sense["key"] or "none", gloss), []).append(name)
    return senses


@cache
def _template() -> jinja2.Template:
    source = files("senseprobe").joinpath("release", "card.md.j2").read_text(encoding="utf-8")
    env = jinja2.Environment(  # noqa: S701 - Markdown, not HTML
        undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True
    )
    env.filters.update(
        cell=lambda text: " ".join(str(text).split()).replace("|", "\\|"),  # what would end the cell of a table
        quoted=lambda text: "\n> ".join(str(text).splitlines()),
        code=code_span,
        prose=escape_markdown,
    )
    env.globals.update(rounds=annotation_record, most=MOST_LEFT_OUT, kinds=KINDS, count_levels=_count_levels)
    return env.from_string(source)


def _front_matter(about: DocumentInput) -> dict[str, Any]:
    """Return what the Hub reads: licence, configs with their files, columns and sizes, and the texts of the gate."""
    card, designs, imported = about.card, about.designs, bool(about.card.get("imported"))
    kinds = dict.fromkeys(design.kind for design in designs.values())
    # Of an ambiguous word, where a config is about a sense of one, and not about a group alone.
    senses = ["word-senses"] if any(design.sense_type for design in designs.values()) else []
    licence = {"license": hub_name(about.licence)}
    if licence["license"] == "other":
        url = spdx_url(about.licence) or "https://spdx.org/licenses"
        licence |= {"license_name": about.licence, "license_link": url}
    files = {name: [{"split": about.split, "path": f"{name}/test-*.parquet"}] for name in designs}
    sizes = [f"n<{_BOUNDS[0]}", *(f"{low}<n<{high}" for low, high in pairwise(_BOUNDS)), f"n>{_BOUNDS[-1]}"]
    first = next(iter(designs), "")
    return {
        "pretty_name": card["title"],
        **licence,
        # The Hub takes no region here, as that of pt-BR.
        "language": [*dict.fromkeys(tag.partition("-")[0].lower() for tag in card["languages"])],
        **({"language_bcp47": card["languages"]} if any("-" in tag for tag in card["languages"]) else {}),
        **_makers(about),
        "multilinguality": "monolingual" if len(card["languages"]) == 1 else "multilingual",
        "size_categories": [sizes[min(max(len(str(about.rows())) - 3, 0), len(_BOUNDS))]],
        "source_datasets": ["extended|other" if imported else "original"],
        "task_categories": [*dict.fromkeys(task for kind in kinds for task in KINDS[kind].tasks)],
        "tags": ["bias", "fairness", "stereotypes", *senses, "croissant"],
        **({} if about.is_for_training else _GATE),
        "configs": [
            {"config_name": name, **({"default": True} if name == first else {}), "data_files": paths}
            for name, paths in files.items()
        ],
        "dataset_info": [_info(about, name, design) for name, design in designs.items()],
    }


def _makers(about: DocumentInput) -> dict[str, list[str]]:
    """Return who made labels and sentences: as the authors declare it; else files, or rules and who looked at rows."""
    declared = about.card.get("made_by") or {}
    if about.card.get("imported"):
        labels = sentences = ["found"]
    else:
        labels = [*dict.fromkeys(KINDS[design.kind].labels for design in about.designs.values())]
        labels += ["other"] if about.annotation else []  # people, of whom nothing says that they are experts
        sentences = ["machine-generated"]
    return {
        "annotations_creators": declared.get("labels") or labels,
        "language_creators": declared.get("sentences") or sentences,
    }


def _info(about: DocumentInput, name: str, design: Design) -> dict[str, Any]:
    """Return a config's columns and sizes as the `datasets` library states them."""
    memory = about.memory[name]
    return {
        "config_name": name,
        "features": [*_features(design_schema(design))],
        "splits": [{"name": about.split, "num_bytes": memory, "num_examples": about.config(name)["rows"]}],
        "download_size": sum(int(entry["bytes"]) for entry in about.tables(name).values()),
        "dataset_size": memory,
    }


def _features(fields: pa.Schema | pa.StructType) -> Iterator[dict[str, Any]]:
    for field in fields:
        if pa.types.is_struct(field.type):
            yield {"name": field.name, "struct": [*_features(field.type)]}
        else:
            yield {"name": field.name, "dtype": str(field.type)}


def read_memory(folder: Path, manifest: Manifest) -> dict[str, int]:
    """Return by config the bytes in memory that the card states for its rows; empty where it states none."""
    try:
        text = read_plain(folder / NAME, MAX_BYTES).decode()
    except (OSError, UnicodeDecodeError):
        return {}
    return _memory(text, manifest.configs) if manifest.cards > 1 else {}


def _memory(text: str, configs: Sequence[str]) -> dict[str, int]:
    sizes = re.findall(r"(?m)^  dataset_size: (0|[1-9][0-9]{0,14})$", text)
    return dict(zip(configs, map(int, sizes), strict=False))


def compare(text: str, about: DocumentInput, form: int, sources: CardSources | None) -> Iterator[Finding]:
    """Yield differences of a card from its manifest: in the front matter, and with `sources` in the text below it."""
    about = replace(about, memory=dict.fromkeys(about.facts["order"], 0) | _memory(text, about.facts["order"]))
    if sources is None:
        front = f"---\n{render_front_matter(about, form)}---\n"
        # Lines after the front matter are prose, but for the first, which ends it for every reader.
        top = "\n".join(text.split("\n")[: front.count("\n") + 1])
        yield from line_findings(NAME, top, front, _is_bare if form == 1 else None)
        return
    creation, changelog = sources.creation, read_section(text, "Changelog")
    if creation is None:
        creation = read_section(text, "Creation")
    written = replace(about, lists=sources.lists, left_out=sources.left_out, creation=creation, changelog=changelog)
    yield from line_findings(NAME, text, render(written))
    if changelog != FIRST and not is_entry(changelog, about.name):
        line = text[: text.rfind("\n## Changelog\n")].count("\n") + 2
        yield mismatch(NAME, "senseprobe did not write this changelog", line)


def read_section(text: str, heading: str) -> str:
    r"""Return the last section of a card with this heading, without its heading; empty where there is none.

    >>> read_section("# Card\n\n## Rows\n\nTwo.\n\n## Licence\n\nMIT.\n", "Rows")
    'Two.'
    """
    # The last, since the authors' own texts, which may have such headings too, stand before it.
    sections = re.findall(rf"(?m)^## {heading}\n\n((?:(?!# |## ).*(?:\n|\Z))*)", text)
    return re.sub(r"(?m)^#(?=##)", "", sections[-1].strip()) if sections else ""


_BARE = re.compile(r'((?: *- )?(?: *[a-z_]+: )?)"([A-Za-z0-9][A-Za-z0-9 ().,/<>*+&_-]*)"')
_NO_TEXT = re.compile(r"(?i)y|n|yes|no|on|off|true|false|null|[0-9.][0-9._a-f,x+-]*|.* ")
"""Words that YAML reads as other types than texts where they are not in quotes."""


def _is_bare(line: str, expected: str) -> bool:
    """Return whether a line of the first form of cards is the `expected` one without the quotes of its text."""
    quoted = _BARE.fullmatch(expected)
    return quoted is not None and not _NO_TEXT.fullmatch(quoted[2]) and line == quoted[1] + quoted[2]
