"""What to write where a declaration lacks something, or has a key that is none."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import get_args

from pydantic import BaseModel

from senseprobe.generator.kinds import FRONTS
from senseprobe.generator.schema import Card
from senseprobe.messages import meant, nearest
from senseprobe.records import Finding

_MISSING = re.compile(r"(?:.*\.)?(\w+): field required")
_UNKNOWN = re.compile(r"(.*): extra inputs are not permitted")

EXAMPLES: Mapping[str, str] = {
    "a": "a: CONFIG",
    "anti": "anti: {quality: good}",
    "b": "b: CONFIG",
    "bias_type": "bias_type: gender",
    "canary": 'canary: "senseprobe:NAME:UUID"',
    "citation": "citation: a key of references.bib",
    "configs": "configs: [the templates' names, without .j2]",
    "construct": "construct: what is measured, of whom",
    "content_warning": "content_warning: what in the sentences may hurt",
    "description": "description: a sentence on the pairs",
    "equivalence": "equivalence: {margin: 5, reason: why so much}",
    "estimand": "estimand: preference, preference-half or pronoun-stereotype",
    "expect": "expect: {pairs: how many rows there should be}",
    "fields": "fields: [{name: word}]",
    "generalise": "generalise: [slots of which other words could have been taken]",
    "gold": "gold: neutral, entailment, contradiction or slot.column",
    "intended_use": "intended_use: what a score may be used for",
    "kind": "kind: contrast, inference or association",
    "label_basis": "label_basis: occupation, trait, both or none",
    "languages": "languages: [en]",
    "licenses": "licenses: [{name: CC-BY-4.0}]",
    "license": "license: CC-BY-4.0",
    "list": "list: the name of a word list",
    "margin": "margin: points within which two figures count as the same",
    "members": "members: how many rows there should be",
    "name": "name: a name for it",
    "out_of_scope": "out_of_scope: what a score must not be used for",
    "pairs": "pairs: how many rows there should be",
    "path": "path: the CSV file beside the descriptor",
    "reason": "reason: why",
    "resources": "resources: a list of name, path, sources, licenses and schema",
    "role": "role: slot.column, of X, Y, A and B",
    "roles": "roles: {stereo: {quality: bad}, anti: {quality: good}}",
    "schema": "schema: {fields: [{name: word}]}",
    "sense": "sense: {type: noun, key: slot.sense_noun}",
    "slots": "slots: {group: {list: the name of a word list}}",
    "source": "source: a key of references.bib",
    "sources": "sources: [{title: a key of references.bib}]",
    "stereo": "stereo: {quality: bad}",
    "summary": "summary: what the dataset is, in a sentence",
    "target": "target: the slot whose word the test is about",
    "test": "test: slot.column",
    "text": "text: the words themselves",
    "title": "title: a name for people",
    "type": "type: the sense in which the target is used, as noun or verb",
    "word": "word: slot.column, or in a binding the word itself",
    "word_class": "word_class: slot.column",
}
"""What to write for each key that a declaration must have."""


def advised(finding: Finding) -> Finding:
    """A finding with a hint: of something missing an example, of a key that is unknown the one that was meant."""
    if finding.hint:
        return finding
    if missing := _MISSING.fullmatch(finding.message):
        return replace(finding, hint=EXAMPLES.get(missing[1], ""))
    unknown = _UNKNOWN.fullmatch(finding.message)
    return replace(finding, hint=_meant(finding.path, unknown[1].split("."))) if unknown else finding


def _meant(path: str, location: Sequence[str]) -> str:
    """The key of a form that is most like the last of `location`; empty where the form has no keys there."""
    *steps, key = location
    keys: dict[str, list[str]] = {}
    for kind, form in FRONTS.items() if path.endswith(".j2") else {"": Card}.items():
        for name in _keys_at(form, steps):
            keys.setdefault(name, []).append(kind)
    if key in keys:  # in a union, it is the key of another member
        return "" if steps else _of_another(key, keys)
    return nearest(key, keys) if keys else ""


def _of_another(key: str, keys: Mapping[str, Sequence[str]]) -> str:
    """Of the key of another kind: which that is, and whether it is one of this kind but for an ending."""
    begun = [name for name, kinds in keys.items() if name.startswith(key) and {*kinds} - {*keys[key]}]
    return f"{meant(key, begun)} only kind {' and '.join(keys[key])} has it".lstrip()


def _keys_at(form: type[BaseModel], steps: Sequence[str]) -> set[str]:
    """The keys that a form has below `steps`, as pydantic names them: names of slots and of a union's members too."""
    forms = {form}
    for at, step in enumerate(steps):
        fields = [spec for each in forms for name, spec in each.model_fields.items() if step == (spec.alias or name)]
        if fields or not at:
            forms = {each for spec in fields for each in _forms(spec.annotation)}
    return {spec.alias or name for each in forms for name, spec in each.model_fields.items()}


def _forms(annotation: object) -> Iterator[type[BaseModel]]:
    """The forms in a type, as Slot in dict[str, Slot]."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for part in get_args(annotation):
        yield from _forms(part)
