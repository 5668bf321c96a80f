"""`croissant.json`: the release as Croissant 1.1 describes datasets, for tools that do not know senseprobe."""

import json
from collections.abc import Iterator, Mapping
from itertools import zip_longest
from typing import Any, get_args

import pyarrow as pa

from senseprobe.messages import printable
from senseprobe.records import Finding
from senseprobe.release.annotation_record import croissant_fields
from senseprobe.release.citation import render_bibtex
from senseprobe.release.documents import CardSources, DocumentInput, mismatch, unlike
from senseprobe.release.licences import spdx_url
from senseprobe.release.manifest import CARDS, ResponsibleAi
from senseprobe.release.schema import design_schema, meanings
from senseprobe.tables import read_json

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


_ALWAYS = {
    "dataCollectionMissingData": "All sentences are present. A value that does not apply or was not published is null.",
    "dataImputationProtocol": "Values were not imputed.",
}
_BY_RULE = {
    "dataCollection": "A program made the sentences from the frames and words in recipe/. The text was not collected "
    "from people or about people.",
    "dataCollectionType": "Others",
    "dataCollectionRawData": "The word lists in recipe/wordlists/; its datapackage.yaml states their sources.",
    "dataPreprocessingProtocol": "Articles, plurals and verb forms come from recipe/english.csv.",
}
_LABELS_BY_RULE = {
    "dataAnnotationProtocol": "Templates and lists declare the labels; annotators have not judged the rows.",
}
_IMPORTED = {
    "dataCollection": "The rows come from published files, which are in recipe/sources/.",
    "dataCollectionType": "Secondary Data analysis",
    "dataCollectionRawData": "The published files in recipe/sources/.",
    "dataPreprocessingProtocol": "Rows are as published. recipe/import.csv lists deviations from the format.",
}
_NOBODY = "Rows do not mention real persons."


def render(about: DocumentInput, form: int = CARDS) -> str:
    """Return the description, without hashes of itself and of the manifest, which holds the hash of this file."""
    card, facts = about.card, about.facts
    creators = [
        {"@type": "sc:Person", "name": str(author), "givenName": author.given, "familyName": author.family}
        if author.given
        else {"@type": "sc:Organization", "name": author.family}
        for author in about.authors
    ]
    description = {
        "@context": _CONTEXT,
        "@type": "sc:Dataset",
        "conformsTo": CONFORMS_TO,
        "name": facts["dataset"],
        "alternateName": card["title"],
        "description": f"{card['summary']} Content warning: {card['content_warning']}",
        "version": facts["version"],
        **({"license": spdx_url(about.licence) or about.licence} if about.licence else {}),
        "creator": creators,
        "citeAs": render_bibtex(about),
        "inLanguage": card["languages"],
        "keywords": ["bias", "fairness", "stereotypes"],
        "isLiveDataset": False,
        **_responsible_ai(about, form),
        "distribution": [*_files(about)],
        "recordSet": [_records(about, config) for config in facts["order"]],
    }
    return json.dumps(description, ensure_ascii=False, indent=1) + "\n"


def _responsible_ai(about: DocumentInput, form: int) -> dict[str, Any]:
    """Return the fields on responsible AI that declaration and recipe know; what the authors state comes last."""
    card, languages = about.card, ", ".join(about.card["languages"])
    words = "The words come from the lists in the recipe. A score does not apply to other words, groups or meanings."
    fields = {
        "rai:dataUseCases": f"{card['intended_use']} Out of scope: {card['out_of_scope']}",
        "rai:dataBiases": card["measured"] or card["summary"],
        "rai:dataLimitations": f"Language: {languages}. {words}",
        "rai:dataSocialImpact": card["who_could_be_harmed"] or card["content_warning"],
    }
    if form >= 5:
        texts = _IMPORTED if card.get("imported") else {**_BY_RULE, **({} if about.annotation else _LABELS_BY_RULE)}
        fields |= {f"rai:{name}": text for name, text in {**_ALWAYS, **texts}.items()}
        if (
            left_out := sum(config.get("expanded", config["rows"]) for config in about.facts["configs"].values())
            - about.rows()
        ):
            fields["rai:dataManipulationProtocol"] = (
                f"Verdicts on single rows omit {left_out} rows of the templates. The recipe has the verdicts and their "
                "reasons."
            )
        if groups := "; ".join(card.get("groups", ())):
            named = f"Groups named in sentences: {groups}."
            fields["rai:personalSensitiveInformation"] = [named, *([] if card.get("imported") else [_NOBODY])]
    declared = {f"rai:{name}": text for name, text in card.get("responsible_ai", {}).items()}
    return {**fields, **croissant_fields(about.annotation), **declared}


def missing_fields(text: str) -> list[str]:
    """Return the fields on responsible AI that a description lacks, without ``rai:``."""
    return [name for name in get_args(ResponsibleAi) if f"rai:{name}" not in read_json(text)]


def _files(about: DocumentInput) -> Iterator[dict[str, Any]]:
    """Yield every file with its hash, and the files of a config as a set where there are several."""
    for name, entry in sorted(about.files.items()):
        yield {
            "@type": "cr:FileObject",
            "@id": name,
            "name": name,
            "contentUrl": name,
            "contentSize": f"{entry['bytes']} B",
            "encodingFormat": _FORMATS.get(f".{name.rpartition('.')[2]}", "text/plain"),
            "sha256": entry["sha256"],
        }
    for config in about.facts["order"]:
        if len(about.tables(config)) != 1:
            pattern = f"{config}/test-*.parquet"
            kind = {"@type": "cr:FileSet", "@id": pattern, "name": pattern}
            yield {**kind, "encodingFormat": PARQUET, "includes": pattern}


def _records(about: DocumentInput, config: str) -> dict[str, Any]:
    facts, design, tables = about.config(config), about.designs[config], [*about.tables(config)]
    several = len(tables) != 1
    rows = {"fileSet": {"@id": f"{config}/test-*.parquet"}} if several else {"fileObject": {"@id": tables[0]}}
    texts = meanings([design])
    return {
        "@type": "cr:RecordSet",
        "@id": config,
        "name": config,
        "description": f"{facts['description']} {facts['rows']} rows in one split, {about.split}.",
        "key": {"@id": f"{config}/id"},
        "field": [_field(config, column, texts[column.name], rows) for column in design_schema(design)],
    }


def _field(config: str, column: pa.Field, meaning: str, rows: Mapping[str, Any]) -> dict[str, Any]:
    path, source = f"{config}/{column.name}", {**rows, "extract": {"column": column.name}}
    head = {"@type": "cr:Field", "@id": path, "name": column.name, "description": meaning}
    if not pa.types.is_struct(column.type):
        return {**head, "dataType": _TYPES[column.type], "source": source}
    fields = [
        {
            "@type": "cr:Field",
            "@id": f"{path}/{field.name}",
            "name": field.name,
            "dataType": _TYPES[field.type],
            "source": {**source, "transform": {"jsonPath": field.name}},
        }
        for field in column.type
    ]
    return {**head, "subField": fields}


def compare(text: str, about: DocumentInput, form: int, sources: CardSources | None) -> Iterator[Finding]:
    """Yield the first difference between a description and the facts of its manifest."""
    try:
        data = read_json(text)
        is_canonical = json.dumps(data, ensure_ascii=False, indent=1) + "\n" == text
    except (ValueError, RecursionError):
        yield mismatch(NAME, "is not JSON")
        return
    for location, value, expected in _differences(data, read_json(render(about, form)), "", form == CARDS):
        message = unlike(value, expected)
        yield mismatch(NAME, f"{printable(location)[:200]}: {message}" if location else message)
        return
    if not is_canonical:
        yield mismatch(NAME, "has a key twice, or its layout is not the one that senseprobe writes")


Difference = tuple[str, object, object]


def _differences(value: Any, expected: Any, path: str, prose: bool) -> Iterator[Difference]:  # noqa: ANN401 - any JSON
    """Yield path and both values where JSON differs; senseprobe's own texts are compared only with `prose`."""
    if isinstance(value, dict) and isinstance(expected, dict):
        for key in {**expected, **value}:
            pair = value.get(key, ...), expected.get(key, ...)
            if prose or not _are_prose(key, *pair):
                yield from _differences(*pair, f"{path}.{key}" if path else key, prose)
    elif isinstance(value, list) and isinstance(expected, list):
        for number, pair in enumerate(zip_longest(value, expected, fillvalue=...)):
            yield from _differences(*pair, f"{path}.{number}", prose)
    elif type(value) is not type(expected) or value != expected:
        yield path, value, expected


def _are_prose(key: str, value: object, expected: object) -> bool:
    """Return whether a key holds senseprobe's own text, and both values are texts, or lists of them."""
    if key != "description" and not key.startswith("rai:"):
        return False
    if isinstance(value, list) and isinstance(expected, list):
        return all(isinstance(text, str) for text in value)
    return isinstance(value, str) and isinstance(expected, str)
