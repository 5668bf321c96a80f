"""The published list of descriptors that `senseprobe import` makes a project of."""

from senseprobe.importers.formats import Format, call_later

FORMATS = (
    Format(
        id="holistic-bias",
        title="HolisticBias",
        files="descriptors.json, nouns.json, sentence_templates.json and standalone_noun_phrases.json of version 1.1",
        paper="smith2022",
        measured="Whether a language model scores sentences about people differently for different descriptors of an "
        "axis. No value is known to mean an absence of bias.",
        license="CC-BY-SA-4.0",
        license_source="LICENSE of HolisticBias in facebookresearch/ResponsibleNLP",
        citation="senseprobe.kinds.descriptor",
        make_project=call_later("senseprobe.kinds.descriptor.holistic", "make_project"),
    ),
)
