"""Every check has a bad file, and says of it what is wrong, where, and what to do."""

import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from senseprobe.generator import checks
from senseprobe.generator.checks import Report, lint
from senseprobe.generator.wordlists import WordLists
from senseprobe.lexicon import Lexicon
from senseprobe.project import Layer

CHECKS = Path(__file__).parent / "checks"
PLACES = {
    "j2": "templates/x/x.j2",
    "dataset.yaml": "templates/x/dataset.yaml",
    "datapackage.yaml": "wordlists/datapackage.yaml",
    "things.csv": "wordlists/things.csv",
    "qualities.csv": "wordlists/qualities.csv",
}

# Bad file: line and column of its finding, counted by hand in the file (0 where the place is the file), and what the
# message and its hint must name.
CASES: dict[str, tuple[int, int, str]] = {
    "E100-latin-1.j2": (0, 0, "UTF-8 at byte 37"),
    "E100-latin-1.things.csv": (0, 0, "UTF-8 at byte 29"),
    "E101-alias.j2": (6, 9, "aliases"),
    "E101-key-twice.j2": (7, 1, '"source"'),
    "E101-no-front-matter.j2": (1, 1, "---"),
    "E101-sense-key-without-quotes.j2": (15, 22, 'needs quotes: "guide%2:38:00::"'),
    "E101-unclosed-front-matter.j2": (1, 1, "---"),
    "E102-binding-named-as-a-slot.j2": (10, 12, "'thing'"),
    "E102-block-with-other-slots.j2": (22, 1, "slots of the first"),
    "E102-config-outside.dataset.yaml": (13, 14, "'../../secret'"),
    "E102-factor-twice.j2": (17, 21, "'thing' is there twice"),
    "E102-languages-is-no-list.dataset.yaml": (4, 1, "languages"),
    "E102-one-role.j2": (9, 1, "`anti`"),
    "E102-reserved-slot-name.j2": (8, 3, "'valence'"),
    "E102-roles-bind-different-names.j2": (9, 1, "same bindings"),
    "E102-template-not-published.dataset.yaml": (13, 1, "x.j2"),
    "E102-unknown-key.j2": (15, 1, "valance"),
    "E102-unknown-label-basis.j2": (14, 1, "'occupation', 'trait', 'both' or 'none'"),
    "E102-unknown-role.j2": (11, 3, "roles.antj: input should be 'stereo' or 'anti'"),
    "E103-no-frames.j2": (20, 1, "no frames"),
    "E104-column-in-flip.j2": (16, 6, "'sise' (did you mean 'size'?)"),
    "E104-column-in-frame.j2": (20, 8, "'wrod' (did you mean 'word'?)"),
    "E104-column-in-where.j2": (8, 33, "'sise' (did you mean 'size'?)"),
    "E105-comparison-of-text-and-number.j2": (20, 1, "quality=wild"),
    "E105-empty-cell-printed.j2": (20, 1, "thing=guinea pig: an empty cell"),
    "E105-list-printed.j2": (20, 1, "quality=wild"),
    "E105-undefined-factor.j2": (17, 21, "'thingy' (did you mean 'thing'?)"),
    "E105-undefined-name-in-frame.j2": (20, 23, "'qualty' is not defined (did you mean 'quality'?)"),
    "E105-undefined-target.j2": (12, 1, "'thign' (did you mean 'thing'?)"),
    "E106-arithmetic.j2": (20, 20, "Mul"),
    "E106-attribute-of-an-attribute.j2": (20, 39, "'__mro__'"),
    "E106-call.j2": (20, 20, "Call"),
    "E106-escaped-control-character.j2": (20, 20, "control character"),
    "E106-id-that-is-none.j2": (20, 35, "{# id: bridge #}"),
    "E106-loop.j2": (20, 20, "For is not allowed"),
    "E106-plural-of-an-article.j2": (20, 20, "plural | a"),
    "E106-unknown-filter.j2": (20, 33, "'capitalize' (there is a, plural, upfirst)"),
    "E107-unclosed-output.j2": (20, 20, "not a frame"),
    "E108-frame-too-long.j2": (20, 1, "12533 characters, at most 10000"),
    "E109-expected-more.j2": (18, 10, "2 pairs, `expect` says 3"),
    "E109-published-without-reason.j2": (18, 10, "4 pairs"),
    "E110-unknown-list.j2": (8, 11, "'thing' (did you mean 'things'?)"),
    "E111-filter-that-nothing-fits.j2": (8, 25, "no word of things"),
    "E111-list-without-words.things.csv": (8, 11, "things has no words"),
    "E111-word-not-in-list.j2": (10, 12, "'wlid' (did you mean 'wild'?)"),
    "E112-no-target.j2": (12, 1, "unmarked"),
    "E112-target-inside-if.j2": (20, 1, "'thing' is printed inside an if"),
    "E112-target-not-printed.j2": (20, 1, "'thing' is not printed"),
    "E112-target-twice.j2": (20, 1, "'thing' is printed 2 times"),
    "E113-literal-key.j2": (13, 21, "lexicon: wordnet-3.0"),
    "E114-frame-twice.j2": (21, 1, "line 20"),
    "E114-two-words-with-one-slug.things.csv": (8, 11, "'guinea-pig'"),
    "E201-name-with-a-slash.datapackage.yaml": (3, 5, "resources.0.name"),
    "E201-no-path.datapackage.yaml": (3, 5, "resources.0.path"),
    "E201-path-outside.datapackage.yaml": (4, 5, "resources.0.path"),
    "E201-unknown-type.datapackage.yaml": (10, 24, "'integer'"),
    "E202-cell-missing.things.csv": (2, 1, "3 cells, expected 4"),
    "E202-columns-in-another-order.things.csv": (1, 1, "word,size,tame,sense_noun"),
    "E202-unclosed-quote.things.csv": (3, 1, "malformed CSV"),
    "E203-blanks-around-a-word.things.csv": (2, 1, "word has blanks"),
    "E203-no-boolean.things.csv": (2, 1, "tame is 'yes'"),
    "E203-no-number.things.csv": (2, 1, "size is 'three'"),
    "E203-not-in-enum.qualities.csv": (2, 1, "'nasty', expected one of pleasant, unpleasant"),
    "E203-required-cell-is-empty.things.csv": (2, 1, "size is empty"),
    "E204-primary-key-twice.qualities.csv": (4, 1, "wild is there twice, first on line 2"),
    "E204-word-twice.things.csv": (3, 1, "dog is there twice, first on line 2"),
    "E301-cut-off.things.csv": (2, 1, "'dog%1'"),
    "E302-no-such-sense.things.csv": (2, 1, "dog%1:18:00:: (dog as a noun: dog%1:05:00::"),
    "E303-verb-for-noun.things.csv": (2, 1, "dog%2:38:00:: is a verb"),
    "E304-another-animal.things.csv": (2, 1, "of cat, not of dog"),
    "E304-literal-key-of-another-word.j2": (13, 21, "of dog, not of guinea_pig"),
    "E305-field-without-lexicon.datapackage.yaml": (1, 1, "`lexicon` and `pos`"),
}

# Some mistakes show elsewhere than they were made, and some in both roles.
ELSEWHERE = {
    "E111-list-without-words.things.csv": PLACES["j2"],
    "E114-two-words-with-one-slug.things.csv": PLACES["j2"],
    "E305-field-without-lexicon.datapackage.yaml": PLACES["things.csv"],
}
BOTH_ROLES = {"E102-binding-named-as-a-slot.j2"}


class Toy:
    """A reader as NLTK's, of a lexicon with three senses."""

    KEYS = ("dog%1:05:00::", "dog%2:38:00::", "cat%1:05:00::")

    def lemmas(self, lemma: str, pos: str) -> list["ToySense"]:
        """Senses of a lemma; nouns are 1, verbs 2 in a key."""
        digit = {"n": "1", "v": "2"}.get(pos)
        return [ToySense(key) for key in self.KEYS if key.startswith(f"{lemma}%{digit}")]


class ToySense:
    """A sense that knows its key."""

    def __init__(self, key: str) -> None:
        self._key = key

    def key(self) -> str:
        """The sense key."""
        return self._key

    def synset(self) -> "ToySense":
        """Itself, so that it has a definition."""
        return self

    def definition(self) -> str:
        """Some definition."""
        return "an animal"


@pytest.fixture
def checked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Report]:
    """Lint the base project with some files in the place of its own."""
    monkeypatch.setattr(Lexicon, "open", lambda name: Lexicon(name, tmp_path, Toy()))
    monkeypatch.setattr(checks, "lists_of", lambda layer: WordLists((layer.wordlists,)))  # not the built-in ones

    def run(*names: str) -> Report:
        shutil.copytree(CHECKS / "base", tmp_path / "project")
        for name in names:
            shutil.copy(CHECKS / name, tmp_path / "project" / PLACES[name.partition(".")[2]])
        monkeypatch.chdir(tmp_path / "project")
        return lint(Layer(tmp_path / "project"))

    return run


def test_every_code_has_a_bad_file_and_every_bad_file_a_case() -> None:
    """The table in the docstring of `checks` is the list of codes; what is not tested is not claimed."""
    table = set(re.findall(r"^(E\d{3}) ", str(checks.__doc__), re.MULTILINE))
    assert len(table) >= 24
    assert {name[:4] for name in CASES} == table
    assert {path.name for path in CHECKS.iterdir() if path.is_file()} == set(CASES)


def test_the_base_project_is_clean(checked: Callable[..., Report]) -> None:
    """What the cases find is theirs alone."""
    report = checked()
    assert report.findings == ()
    assert (report.configs, report.keys_checked, report.keys_not_checked) == (1, 1, 0)


@pytest.mark.parametrize("name", CASES)
def test_a_bad_file_is_one_finding(checked: Callable[..., Report], name: str) -> None:
    """With its code, place and culprit."""
    line, column, culprit = CASES[name]
    found = checked(name).findings
    place = ELSEWHERE.get(name, PLACES[name.partition(".")[2]])
    assert (found[0].code, found[0].path, found[0].line, found[0].column) == (name[:4], place, line, column)
    assert culprit in f"{found[0].message} ({found[0].hint})"
    assert len(found) == (2 if name in BOTH_ROLES else 1)


def test_all_mistakes_of_all_files_are_told_at_once(checked: Callable[..., Report]) -> None:
    """In the order of files and lines."""
    found = checked("E203-no-number.things.csv", "E204-primary-key-twice.qualities.csv", "E102-unknown-key.j2").findings
    assert [(f.code, f.path.rpartition("/")[2]) for f in found] == [
        ("E102", "x.j2"),
        ("E204", "qualities.csv"),
        ("E203", "things.csv"),
    ]


def test_the_mistakes_of_one_file_are_told_at_once(checked: Callable[..., Report], tmp_path: Path) -> None:
    """Missing keys, which have no place of their own, and wrong ones; but none that another mistake caused."""
    checked()
    template = tmp_path / "project" / PLACES["j2"]
    good = template.read_text()
    template.write_text(re.sub(r"(?m)^(kind|source): .*\n", "", good).replace("basis: none", "basis: a") + "---\n---\n")
    found = lint(Layer(tmp_path / "project")).findings
    assert [(f.line, f.message.partition(":")[0]) for f in found] == [(2, "kind"), (2, "source"), (12, "label_basis")]
    template.write_text(
        f"{good}{{{{ thing }}}}: {{{{ a }}}}, {{{{ b }}}}.\n  {{% for x in y %}}{{% endfor %}}\nthe {{{{ thing\n"
    )
    found = lint(Layer(tmp_path / "project")).findings
    assert [(f.line, f.column, f.code) for f in found] == [
        (21, 17, "E105"),
        (21, 26, "E105"),
        (22, 3, "E106"),
        (23, 5, "E107"),
    ]


def test_templates_without_a_dataset_are_told(tmp_path: Path) -> None:
    """A folder of templates that no dataset.yaml declares is a finding, not silence."""
    (tmp_path / "templates" / "lost").mkdir(parents=True)
    (tmp_path / "templates" / "lost" / "x.j2").touch()
    found = [(finding.code, finding.message) for finding in lint(Layer(tmp_path)).findings]

    assert ("E102", "has templates and no dataset.yaml") in found
