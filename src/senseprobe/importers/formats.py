"""The formats of published benchmarks, a row each; the module that reads the files of one is imported when it is used.

The help of the command line lists the formats, and has to be fast.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from senseprobe.errors import SenseprobeError
from senseprobe.plugins import Registry, Unfit

if TYPE_CHECKING:
    from senseprobe.importers.notes import Notes
    from senseprobe.importers.sources import Source, Table

TABLES = ("csv", "jsonl", "parquet")
"""The forms of a user's own table, whose columns have to be mapped (`column_map.ColumnMap`)."""

Reader: TypeAlias = Callable[["Sequence[Source]", "Notes"], "list[Table]"]


@dataclass(frozen=True, kw_only=True, slots=True)
class ProjectFiles:
    """The files of a project that an import makes, by path below its folder, and remarks on them, a sentence each.

    `compare` gets the folder that was imported and that of the project, which is written then: it returns more remarks,
    on what the project makes.
    """

    files: Mapping[str, bytes]
    remarks: Sequence[str] = ()
    compare: Callable[[Path, Path], Iterable[str]] | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Format:
    """A published format.

    - `id`: the name on the command line and in manifests; `title`: the name on the card.
    - `files`: what its files are, in words; `patterns`: how those in a folder are called, which is imported whole, as
      ``*.jsonl``.
    - `paper`: the key of the paper that published the data, which the release cites: its BibTeX is `papers/KEY.bib`
      beside the module of `citation`, or for a user's own table what the user gives; empty where nothing is to be
      cited.
    - `measured`: what figures of its data measure, for the card, and how they differ from those of the paper.
    - `license`: the licence of the data by those who published them, in SPDX, and `license_source`: where they state
      it; empty where they state none.
    - `language`: that of its files where the user names none; empty: the user has to.
    - `english_only`: whether it is read by what English alone has, as its pronouns are.
    - `read`: returns a table for each config, and notes what is not as the format requires. Raises ReleaseError where
      the files are of another format.
    - `make_project`: in place of `read`, makes of a folder the files of a project: templates and lists, not rows.
    """

    id: str
    title: str
    files: str
    paper: str
    measured: str
    read: Reader | None = None
    make_project: Callable[[Path], ProjectFiles] | None = None
    patterns: tuple[str, ...] = ()
    license: str = ""
    license_source: str = ""
    language: str = "en"
    english_only: bool = False
    citation: str = "senseprobe.importers"
    origin: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class PairColumns:
    """The columns of a table with a pair of sentences on a row, and what the pairs are of.

    `names` are what rows call the columns that a table may lack, by their names in the table; `direction` is the one of
    them that says whether a stereotype is stated or violated.
    """

    stereo: str
    anti: str
    bias_type: str
    description: str
    names: Mapping[str, str] = field(default_factory=dict)
    direction: str = ""
    label_basis: str = "published"

    @property
    def needed(self) -> tuple[str, str, str]:
        """The columns that every table has."""
        return self.stereo, self.anti, self.bias_type

    def find_direction(self, cells: Mapping[str, str]) -> str | None:
        """Return what a row says of its direction; None where its table has no column of directions."""
        return cells.get(self.direction) if self.direction else None


def call_later(module: str, function: str = "read", *more: Any) -> Callable[..., Any]:  # noqa: ANN401 - whatever it takes
    """Return what calls a function of a module, which is not imported before, with `more` after what it is called with.

    >>> call_later("math", "gcd", 12)(18)
    6
    """

    def call(*given: Any) -> Any:  # noqa: ANN401
        return getattr(import_module(module), function)(*given, *more)

    return call


def _reader(module: str, *columns: PairColumns) -> Reader:
    """Return what calls `read` of a module of this package."""
    return call_later(f"senseprobe.importers.{module}", "read", *columns)


_CROWS = Format(
    id="crows-pairs",
    title="CrowS-Pairs",
    files="a CSV or TSV file with a pair of sentences on each row",
    paper="nangia2020",
    measured="Whether a language model gives the more stereotyping of two sentences a higher score. The sentences "
    "also differ in the group that they name, so the value without bias is unknown.",
    patterns=("crows_pairs_anonymized.csv",),
    license="CC-BY-SA-4.0",
    license_source="README.md of nyu-mll/crows-pairs",
    read=_reader(
        "crowspairs",
        PairColumns(
            stereo="sent_more",
            anti="sent_less",
            bias_type="bias_type",
            description="Pairs of sentences about a disadvantaged and another group.",
            names={
                "stereo_antistereo": "direction",
                "anon_writer": "writer",
                "annotations": "annotations",
                "anon_annotators": "annotators",
            },
            direction="stereo_antistereo",
            label_basis="annotators",
        ),
    ),
)

_TRANSLATED = replace(_CROWS, patterns=(), license="", license_source="")

_PUBLISHED = (
    Format(
        id="sssb",
        title="SSSB",
        files="one or more text files, with a sentence and its [sense type, sense key, label] on each line",
        paper="zhou2022",
        measured="Whether a language model gives a sentence that states a stereotype a higher score than its "
        "counterpart, by the sense in which an ambiguous word is used.",
        patterns=("nationality-vs-language.txt", "black-race-vs-colour.txt", "gender-bias.txt"),
        read=_reader("sssb"),
        english_only=True,
    ),
    _CROWS,
    replace(_TRANSLATED, id="french-crows-pairs", title="French CrowS-Pairs", paper="neveol2022", language="fr"),
    replace(
        _TRANSLATED, id="multilingual-crows-pairs", title="Multilingual CrowS-Pairs", paper="fort2024", language=""
    ),
    Format(
        id="winoqueer",
        title="WinoQueer",
        files=_CROWS.files,
        paper="felkner2023",
        measured="Whether a language model gives a stereotype about queer people a higher score than the same sentence "
        "about others. The names of the groups differ in frequency, so the value without bias is unknown.",
        patterns=("winoqueer_final.csv",),
        read=_reader(
            "crowspairs",
            PairColumns(
                stereo="sent_x",
                anti="sent_y",
                bias_type="Gender_ID_x",
                description="A stereotype about queer people, and the same sentence about others.",
            ),
        ),
    ),
    Format(
        id="stereoset",
        title="StereoSet",
        files="a JSON file with data.intrasentence, data.intersentence, or both",
        paper="nadeem2021",
        measured="Whether a language model gives a sentence that fits a stereotype a higher score than its opposite. "
        "Here every pair counts equally; the published score is a mean over target terms.",
        patterns=("dev.json",),
        license="CC-BY-SA-4.0",
        license_source="LICENSE of moinnadeem/StereoSet",
        read=_reader("stereoset"),
    ),
    Format(
        id="seat",
        title="Association tests of sent-bias (SEAT)",
        files="JSON files, each with the sets targ1, targ2, attr1 and attr2 of a test",
        paper="may2019",
        measured="Whether a model's vectors of two sets (X, Y) differ in their similarity to two sets of attributes "
        "(A, B).",
        patterns=("*.jsonl",),
        license="CC-BY-NC-4.0",
        license_source="LICENSE of W4ngatang/sent-bias",
        read=_reader("seat"),
    ),
    Format(
        id="winobias",
        title="WinoBias",
        files="text files in pairs, one pro_stereotyped and one anti_stereotyped",
        paper="zhao2018",
        measured="Whether a language model gives a sentence a higher score if the pronoun has the stereotypical gender "
        "of the occupation. The paper measured coreference systems, which is a different task.",
        patterns=("pro_stereotyped_*", "anti_stereotyped_*"),
        license="MIT",
        license_source="LICENSE of uclanlp/corefBias",
        read=_reader("winobias"),
        english_only=True,
    ),
    Format(
        id="winogender",
        title="Winogender schemas",
        files="all_sentences.tsv, with occupations-stats.tsv if there is one",
        paper="rudinger2018",
        measured="Whether a language model gives a sentence a higher score with one pronoun than with the other. The "
        "paper measured coreference systems, which is a different task.",
        patterns=("all_sentences.tsv", "occupations-stats.tsv"),
        license="MIT",
        license_source="LICENSE of rudinger/winogender-schemas",
        read=_reader("winogender"),
        english_only=True,
    ),
)


def _admit(format_: Format) -> Format:
    """Return the format of a plug-in; Unfit where it makes neither rows nor a project, or both."""
    if (format_.read is None) is (format_.make_project is None):
        raise Unfit("it needs either `read` or `make_project`")
    if format_.id in TABLES:
        raise Unfit("senseprobe has one of that name")
    return format_


FORMATS = Registry("senseprobe.formats", Format, "format", _PUBLISHED, _admit)
"""All formats by id, in the order in which users see them: ours, those of our rooms, then those of plug-ins."""


def find_format(name: str) -> Format:
    """Return the format of a name; raise SenseprobeError, which lists the formats, where there is none.

    >>> find_format("crows-pairs").title
    'CrowS-Pairs'
    """
    if name not in FORMATS and not FORMATS.fault(name):
        raise SenseprobeError(f"unknown format {name!r}: expected {', '.join((*FORMATS, *TABLES))}")
    return FORMATS.find(name)
