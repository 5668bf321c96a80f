"""`croissant.json`: the release as Croissant 1.1 describes datasets, for tools that do not know senseprobe."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

import pyarrow as pa

from senseprobe.records import Design
from senseprobe.release.annotation_record import croissant_fields
from senseprobe.release.citation import render_bibtex
from senseprobe.release.licences import spdx_url
from senseprobe.release.metadata import Author, DocumentInput
from senseprobe.release.schema import design_schema, meanings

NAME = "croissant.json"
CONFORMS_TO = ["http://mlcommons.org/croissant/1.1", "http://mlcommons.org/croissant/RAI/1.0"]
PARQUET = "application/x-parquet"

_TERMS = (
    "arrayShape", "citeAs", "column", "containedIn", "equivalentProperty", "extract", "field", "fileObject",
    "fileProperty", "fileSet", "format", "includes", "isArray", "isLiveDataset", "jsonPath", "key", "md5",
    "parentField", "path", "recordSet", "references", "regex", "repeated", "replace", "samplingRate", "separator",
    "source", "subField", "transform",
)  # fmt: skip
"""The words of Croissant's own vocabulary; all others are schema.org's."""

_CONTEXT: Mapping[str, Any] = {
    "@language": "en",
    "@vocab": "https://schema.org/",
    "cr": "http://mlcommons.org/croissant/",
    "dct": "http://purl.org/dc/terms/",
    "rai": "http://mlcommons.org/croissant/RAI/",
    "sc": "https://schema.org/",
    "conformsTo": "dct:conformsTo",
    "data": {"@id": "cr:data", "@type": "@json"},
    "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
    "description": {"@container": "@language"},
    "examples": {"@id": "cr:examples", "@type": "@json"},
    "name": {"@container": "@language"},
    **{term: f"cr:{term}" for term in _TERMS},
}

_FORMATS = {".parquet": PARQUET, ".csv": "text/csv", ".json": "application/json", ".yaml": "application/yaml",
            ".md": "text/markdown", ".cff": "application/yaml"}  # fmt: skip

_TYPES = {pa.string(): "sc:Text", pa.bool_(): "sc:Boolean", pa.int32(): "sc:Integer"}


def render(about: DocumentInput) -> str:
    """Return the description, without hashes of itself and of the manifest, which holds the hash of this file."""
    card, facts = about.card, about.facts
    description = {
        "@context": _CONTEXT,
        "@type": "sc:Dataset",
        "conformsTo": CONFORMS_TO,
        "name": facts["dataset"],
        "alternateName": card["title"],
        "description": f"{card['summary']} Content warning: {card['content_warning']}",
        "version": facts["version"],
        **({"license": spdx_url(about.licence) or about.licence} if about.licence else {}),
        "creator": [_creator(author) for author in about.authors],
        "citeAs": render_bibtex(about),
        "inLanguage": card["languages"],
        "keywords": ["bias", "fairness", "stereotypes"],
        "isLiveDataset": False,
        "rai:dataUseCases": f"{card['intended_use']} Out of scope: {card['out_of_scope']}",
        "rai:dataBiases": card["measured"] or card["summary"],
        "rai:dataLimitations": _limitations(about),
        "rai:dataSocialImpact": card["who_could_be_harmed"] or card["content_warning"],
        **croissant_fields(about.annotation),
        "distribution": [*_files(about)],
        "recordSet": [_records(about, config) for config in facts["order"]],
    }
    return json.dumps(description, ensure_ascii=False, indent=1) + "\n"


def _creator(author: Author) -> dict[str, str]:
    if not author.given:
        return {"@type": "sc:Organization", "name": author.family}
    return {"@type": "sc:Person", "name": str(author), "givenName": author.given, "familyName": author.family}


def _limitations(about: DocumentInput) -> str:
    languages, words = ", ".join(about.card["languages"]), "The words are those of the lists in the recipe"
    return f"Language: {languages}. {words}; a score says nothing of other words, groups or meanings."


def _files(about: DocumentInput) -> Iterator[dict[str, Any]]:
    """Yield every file with its hash, and the files of a config as a set where there are several."""
    for name, entry in sorted(about.files.items()):
        suffix = f".{name.rpartition('.')[2]}"
        yield {
            "@type": "cr:FileObject",
            "@id": name,
            "name": name,
            "contentUrl": name,
            "contentSize": f"{entry['bytes']} B",
            "encodingFormat": _FORMATS.get(suffix, "text/plain"),
            "sha256": entry["sha256"],
        }
    for config in about.facts["order"]:
        if len(about.tables(config)) != 1:
            pattern = f"{config}/test-*.parquet"
            kind = {"@type": "cr:FileSet", "@id": pattern, "name": pattern}
            yield {**kind, "encodingFormat": PARQUET, "includes": pattern}


def _records(about: DocumentInput, config: str) -> dict[str, Any]:
    facts = about.config(config)
    design, tables = Design.from_dict(facts["design"]), about.tables(config)
    rows = {"fileObject": {"@id": next(iter(tables))}}
    if len(tables) != 1:
        rows = {"fileSet": {"@id": f"{config}/test-*.parquet"}}
    texts = meanings([design])
    return {
        "@type": "cr:RecordSet",
        "@id": config,
        "name": config,
        "description": f"{facts['description']} {facts['rows']} rows, in the one split, test.",
        "key": {"@id": f"{config}/id"},
        "field": [_field(config, column, texts[column.name], rows) for column in design_schema(design)],
    }


def _field(config: str, column: pa.Field, meaning: str, rows: Mapping[str, Any]) -> dict[str, Any]:
    id_ = f"{config}/{column.name}"
    head = {"@type": "cr:Field", "@id": id_, "name": column.name, "description": meaning}
    source = {**rows, "extract": {"column": column.name}}
    if not pa.types.is_struct(column.type):
        return {**head, "dataType": _TYPES[column.type], "source": source}
    return {**head, "subField": [_subfield(id_, child, source) for child in column.type]}


def _subfield(parent: str, child: pa.Field, source: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "@type": "cr:Field",
        "@id": f"{parent}/{child.name}",
        "name": child.name,
        "dataType": _TYPES[child.type],
        "source": {**source, "transform": {"jsonPath": child.name}},
    }
