"""The published formats whose rows, or templates, are questions; what reads one is imported when it is used."""

from senseprobe.importers.formats import Format, call_later

_BBQ = "senseprobe.kinds.question.bbq"
_BBQ_FOLDER = "senseprobe.kinds.question.bbq_folder"
_PAPERS = "senseprobe.kinds.question"

FORMATS = (
    Format(
        id="bbq",
        title="BBQ",
        files="JSON lines of one or more categories, and additional_metadata.csv, which names the stereotyped answers",
        patterns=("*.jsonl", "additional_metadata.csv"),
        paper="parrish2022",
        citation=_PAPERS,
        measured="How often a model gives the answer that agrees with a stereotype: where the context does not say who "
        "is meant, and where it does. A row has one order of answers, as published.",
        license="CC-BY-4.0",
        license_source="LICENSE of nyu-mll/BBQ",
        read=call_later(_BBQ),
    ),
    Format(
        id="bbq-templates",
        title="BBQ's templates",
        files="the published templates, as `new_templates - Age.csv`, and both vocabularies",
        paper="parrish2022",
        citation=_PAPERS,
        measured="",
        license="CC-BY-4.0",
        license_source="LICENSE of nyu-mll/BBQ",
        make_project=call_later(_BBQ_FOLDER, "make_project"),
    ),
)
