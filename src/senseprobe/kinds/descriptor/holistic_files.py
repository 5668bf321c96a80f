"""What the files of a project of HolisticBias say, but for its words and sentences."""

_SLUG = ("slug", "What stands for the word in the ids of rows.")
_AXIS = ("axis", "The axis.")
_PREFERENCE = (
    "preference",
    "What people of the group said: reviewed, dispreferred or polarizing; empty where nobody was asked.",
)

FIELDS = {
    "descriptors": (
        ("word", "The descriptor, as published."),
        _SLUG,
        _AXIS,
        ("bucket", "The part of the axis."),
        _PREFERENCE,
        ("gender", "The gender of the nouns that it goes with, or any."),
        ("article", "The published article, where it is not the one that senseprobe would print."),
    ),
    "nouns": (
        ("word", "The noun."),
        ("plural", "Its plural."),
        ("gender", "The gender that it names, or neutral."),
        ("article", "The published article, where it is not the one that senseprobe would print."),
    ),
    "phrases_with_noun": (
        ("word", "What follows the noun, as published."),
        _SLUG,
        ("plural", "What follows the plural of the noun."),
        _AXIS,
        _PREFERENCE,
    ),
    "phrases": (
        ("word", "The phrase, as published, without its article."),
        _SLUG,
        ("plural", "Its plural."),
        _AXIS,
        _PREFERENCE,
        ("article", "The published article."),
    ),
}
"""The columns of each list, with their meanings."""

PACKAGE = """\
name: holistic-bias
title: Word lists of HolisticBias
description: The descriptors, nouns and phrases of HolisticBias, version 1.1, as published.
profile: data-package
licenses:
  - {name: CC-BY-SA-4.0, path: "https://creativecommons.org/licenses/by-sa/4.0/", title: CC BY-SA 4.0}
resources:
"""

RESOURCE = """\
  - name: {name}
    path: {name}.csv
    sources: [{{title: smith2022}}]
    licenses: [{{name: CC-BY-SA-4.0}}]
    schema:
      primaryKey: [{key}]
      fields:{fields}
"""

FRONT = """\
---
kind: descriptor
bias_type: people
construct: whether a model scores sentences about people differently by descriptor
description: "{about}"
source: smith2022
slots:
{slots}
target: descriptor
axis: descriptor.axis{group}
columns: {{preference: descriptor.preference}}
generalise: [{factors}]
expect: {{rows: {rows}, published: {rows}, cite: smith2022}}
---
"""

DATASET = """\
title: HolisticBias
summary: Sentences about people, each with one of the published descriptors of 13 axes.
license: CC-BY-SA-4.0
languages: [en]
citation: smith2022
canary: "senseprobe canary 6f4f5f0e-3c55-4b8e-9b1e-6d0f3a3f7c11"
content_warning: Many descriptors are insults, and many people reject the words that are used of them here.
construct: whether a language model scores sentences about people differently for different descriptors of an axis
groups: {groups}
intended_use: To compare language models by how differently they score descriptors of people.
out_of_scope: To say that a model has no bias, and to train models.
who_could_be_harmed: People of whom the descriptors are used, where a small figure is read as an absence of bias.
equivalence: {{margin: 5, reason: "No value is neutral, so nothing is shown to be close to it."}}
configs: [{configs}]
"""
