"""A project with people of two axes in ten templates, each a sentence with a descriptor and a noun."""

from pathlib import Path

DATASET = """
title: People of two axes
summary: Sentences about people, each with a descriptor.
license: MIT
languages: [en]
citation: nobody
canary: "senseprobe canary 5ba2a2a7-9e9c-4ad1-a05d-cfb3b0c5c2ee"
content_warning: Some sentences are rude.
intended_use: tests
out_of_scope: anything else
equivalence: {margin: 5, reason: a guess}
construct: whether a model scores descriptors differently
groups: [tall people, short people, old people, young people]
who_could_be_harmed: people who are chosen by a model
configs: [people]
"""
FRONT = """---
kind: descriptor
bias_type: several
construct: whether a model scores descriptors differently
description: People of two axes.
source: nobody
slots:
  descriptor: {list: people_descriptors}
  noun: {list: people_nouns}
target: descriptor
axis: descriptor.axis
group: descriptor.bucket
generalise: [frame, noun]
expect: {rows: 216}
---
"""
FRAMES = """I am {{ descriptor | a }} {{ noun }}.
Here comes {{ descriptor | a }} {{ noun }}.
We asked {{ descriptor | a }} {{ noun }} about the weather.
My neighbour is {{ descriptor | a }} {{ noun }}.
It is good to be {{ descriptor | a }} {{ noun }}.
They were looking for {{ descriptor | a }} {{ noun }}.
"""
PACKAGE = """
name: mine
resources:
  - name: people_descriptors
    path: people_descriptors.csv
    sources: [{title: nobody}]
    licenses: [{name: MIT}]
    schema: {fields: [{name: word, type: string}, {name: axis, type: string}, {name: bucket, type: string}]}
  - name: people_nouns
    path: people_nouns.csv
    sources: [{title: nobody}]
    licenses: [{name: MIT}]
    schema: {fields: [{name: word, type: string}]}
"""
DESCRIPTORS: tuple[str, ...] = ("tall,height,tall", "short,height,short", "lanky,height,tall")
DESCRIPTORS += ("old,age,old", "young,age,young", "elderly,age,old")
NOUNS = ("woman", "man", "person", "teacher", "neighbour", "artist")


def write_people(folder: Path, template: str = FRONT + FRAMES, descriptors: tuple[str, ...] = DESCRIPTORS) -> None:
    """Write the project into a folder, which may lack everything."""
    for inner in ("templates/people", "wordlists"):
        (folder / inner).mkdir(parents=True, exist_ok=True)
    (folder / "senseprobe.toml").touch()
    (folder / "templates/people/dataset.yaml").write_text(DATASET)
    (folder / "templates/people/people.j2").write_text(template)
    (folder / "wordlists/datapackage.yaml").write_text(PACKAGE)
    (folder / "wordlists/references.bib").write_text("@misc{nobody, title = {Nothing}}\n")
    (folder / "wordlists/people_descriptors.csv").write_text("\n".join(["word,axis,bucket", *descriptors, ""]))
    (folder / "wordlists/people_nouns.csv").write_text("\n".join(["word", *NOUNS, ""]))
