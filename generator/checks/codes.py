"""The page `docs/checks.md`: every code, with what is wrong, why that matters, and what to do.

Codes of registered checks have their docstrings; `CODES` are mistakes that reading, resolving or verifying finds.
"""

import inspect
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from senseprobe.generator.checks.base import checks


@dataclass(frozen=True, slots=True)
class Code:
    """What is wrong, in a sentence; and why that matters, or what to do."""

    title: str
    advice: str


CODES: Mapping[str, Code] = {
    "E100": Code(
        "A file cannot be read, is too large, or is not UTF-8, in its text or its name.",
        "Save it as UTF-8. No declaration is larger than 16 MiB. Names of folders and files are in messages, ids and "
        "releases, so rename what has bytes in its name that are no UTF-8.",
    ),
    "E101": Code(
        "Malformed YAML, or sections that are not front matter and frames in turn.",
        "A template is front matter between two lines of `---`, then frames, then the next front matter. A sense key "
        "needs quotes, since YAML has a meaning for `%` and `:`. Anchors, aliases, tags and merge keys are refused.",
    ),
    "E102": Code(
        "Front matter or `dataset.yaml` lacks something, or holds something that it may not.",
        "The message names the key. Unknown keys are mistakes, so that a misspelt one is not silently ignored.",
    ),
    "E103": Code(
        "A block has no frames.",
        "Write one sentence on a line under its front matter. Only later blocks inherit the first one's frames.",
    ),
    "E104": Code(
        "A column that the list does not have.",
        "Columns are those of the list's fields in `datapackage.yaml`.",
    ),
    "E105": Code(
        "A slot, binding or name that is not defined, or a frame that cannot be rendered with some word.",
        "A frame may use slots and what every role binds. An empty cell cannot be printed: fill it, or narrow `where`.",
    ),
    "E106": Code(
        "Syntax that a frame may not use.",
        "Allowed are output, `if`, inline `if`, comparisons, `and`, `or`, `not`, `in`, and our filters. Anything else "
        "could compute without end, or reach out of the template.",
    ),
    "E107": Code("A frame that Jinja cannot read.", "Close every `{{` and `{%`."),
    "E108": Code(
        "A sentence, or the source of a frame, that is too long.",
        "10,000 characters are allowed, which is more than any model reads.",
    ),
    "E109": Code(
        "A config that does not expand to what `expect` says.",
        "Published counts are assertions (UPSTREAM 9): state how many rows there should be, and where that differs "
        "from what was published, why, in `reason`.",
    ),
    "E110": Code(
        "A word list that is not there.",
        "Lists are the resources of `datapackage.yaml`: those of the project, then the built-in ones.",
    ),
    "E111": Code(
        "A filter that no word fits, a word that its list does not have, or a list without words.",
        "Compare the values of `where` with the list's cells; true and false have no quotes.",
    ),
    "E112": Code(
        "A target that is not printed exactly once in a frame.",
        "One published pair does not contain its target word at all (UPSTREAM 1.5). The target's span is what scorers "
        "and annotators look at, so every sentence has it once.",
    ),
    "E113": Code(
        "A literal sense key without a lexicon.",
        "Write `lexicon: wordnet-3.0` beside it: keys of different versions of WordNet differ.",
    ),
    "E114": Code(
        "Two rows with one id.",
        "A frame is there twice, or two words of a slot have one slug. Remove one, name the frames with "
        "`{# id: name #}`, or give the list a column `slug`. The published data has 8 duplicate pairs (UPSTREAM 1.5).",
    ),
    "E123": Code(
        "`accept` of what is no warning, or of a warning that is not there.",
        "Only warnings (W) can be accepted, each with a reason of at least three words, in the first front matter of a "
        "template, in `dataset.yaml` or in a list's resource. What is accepted and does not occur would hide the next "
        "one that does: remove it.",
    ),
    "E125": Code(
        "Verdicts that leave no row of a config.",
        "Take the config out of `configs` in `dataset.yaml`, or take back some verdict in `verdicts.csv`.",
    ),
    "E126": Code(
        "A config whose name is that of another file of a release.",
        "A release has a folder for each config beside `recipe`, `README.md`, `croissant.json` and their "
        "like, and readers, and file systems that know no capitals, would take one for the other. Rename the template.",
    ),
    "E201": Code(
        "A descriptor of word lists that cannot be used.",
        "`datapackage.yaml` is a Frictionless descriptor: each resource has a name, a path beside it, sources, "
        "licenses and a schema of fields.",
    ),
    "E202": Code(
        "A CSV file that is not of its descriptor's form, or `verdicts.csv`, `retired.csv` or `annotation.json` not of "
        "theirs.",
        "Its first line names the fields in their order, and every row has a cell for each. `verdicts.csv` has `id`, "
        "`verdict` (`reject` or `keep`), `rule`, `source` (the release that was looked at, NAME@VERSION) and, if you "
        "like, `reason` and `reported` (`true` or nothing); an id has one verdict. `retired.csv` has `id` and, if you "
        "like, `version` and `reason`.",
    ),
    "E203": Code(
        "A cell of the wrong type, or outside its constraints.",
        "The constraints are those of its field in `datapackage.yaml`. No cell has blanks around it, or two in a row.",
    ),
    "E204": Code(
        "A row that is there twice.",
        "A duplicate silently counts double: *terrible* twice among 26 words is 1/26 of a published score (UPSTREAM "
        "3.2). What tells rows apart is the schema's `primaryKey`, else `word`.",
    ),
    "E301": Code(
        "Something that is no sense key.",
        "A key looks like `dog%1:05:00::`, in lower case. Published sentences hold a placeholder in the place of one "
        "(UPSTREAM 1.5).",
    ),
    "E302": Code(
        "A sense key that the lexicon does not have.",
        "Keys made by adding the same ending to every word need not exist: four published ones do not (UPSTREAM 1.4).",
    ),
    "E303": Code(
        "A sense key of another part of speech than its field says.",
        "Satellite adjectives (type 5) are adjectives.",
    ),
    "E304": Code(
        "A sense key of another word.",
        "Where the sense belongs to another lemma (Pole for Polish), say so in a field `lemma_X` beside `sense_X`.",
    ),
    "E305": Code(
        "A field of sense keys without lexicon or part of speech.",
        "Write both into the field in `datapackage.yaml`: `lexicon: wordnet-3.0`, `pos: noun`.",
    ),
    "E401": Code("A release's manifest is damaged.", "Fetch the release again."),
    "E402": Code("A file of the release is missing, or no plain file.", "Fetch the release again."),
    "E403": Code("A file that is not part of the release.", "Move it elsewhere: a release is never changed."),
    "E404": Code("A file differs from what was frozen, or cannot be read.", "Fetch the release again."),
    "E405": Code("Rows or hashes are not those of the manifest.", "Fetch the release again."),
    "E406": Code("The recipe is not the one that was frozen.", "Fetch the release again."),
    "E407": Code("A file's columns are not those of its config.", "Fetch the release again."),
    "E408": Code(
        "The recipe makes other rows than those that were frozen.",
        "`senseprobe verify --rebuild` names the first difference: the rows have changed, or the code that makes them.",
    ),
    "E409": Code(
        "Card, citation or Croissant says otherwise than the manifest.",
        "A reader or a library would take other files, another licence or other facts from it: fetch the release from "
        "its authors again.",
    ),
}
"""By code, in order."""


_HEAD = """\
# Checks

What `senseprobe lint` finds, by code. Codes are stable: one that goes is not used again. This page is made by
`senseprobe lint --codes` from the code that finds them.

A finding is printed as `path:line:column: CODE message (what to do)`, and any makes the exit code 1. E is a mistake:
what it is found in cannot be built, or is wrong whatever was meant. W is a warning: a result could not mean what it is
said to mean. A warning that is taken on purpose is accepted with a reason of at least three words, in the first front
matter of a template, in `dataset.yaml` for all its configs, or in a list's resource of `datapackage.yaml`:

    accept: {W505: as published by Zhou et al.}

Checks that need a lexicon run only where it is prepared (`senseprobe wordnet`). What could not be checked is counted,
and is a finding under `--strict`.
"""

_SERIES = {
    "E1": "Templates and `dataset.yaml`",
    "E2": "Word lists",
    "E3": "Senses",
    "E4": "Releases (`senseprobe verify`)",
    "W4": "Words",
    "W5": "Validity",
}


def all_codes() -> dict[str, Code]:
    """Return every code with its explanation, in order."""
    codes = dict(CODES)
    for check in checks():
        title, _, advice = inspect.cleandoc(check.run.__doc__ or "").partition("\n\n")
        needs = f"\n\nNeeds a lexicon: {check.lexicon}." if check.lexicon else ""
        if check.code not in codes or len(advice) > len(codes[check.code].advice):
            # A code that is looked for in several places is explained where it is said at length.
            codes[check.code] = Code(title, advice + needs)
    return dict(sorted(codes.items()))


def page() -> str:
    """Return the page, in Markdown."""
    return "\n".join([_HEAD, *_sections()])


def _sections() -> Iterator[str]:
    codes = all_codes()
    for series, heading in _SERIES.items():
        yield f"## {heading}\n"
        for name, code in codes.items():
            if name.startswith(series):
                yield f"### {name}\n\n{code.title}\n" + (f"\n{code.advice}\n" if code.advice else "")
