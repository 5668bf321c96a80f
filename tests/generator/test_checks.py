"""Every check has a bad file, and says of it what is wrong, where, and what to do."""

import os
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from senseprobe.generator import checks, senses
from senseprobe.generator.checks import Report, lint
from senseprobe.generator.checks.codes import all_codes
from senseprobe.generator.templates import RELEASE_FILE_NAMES
from senseprobe.generator.word_lists import WordLists
from senseprobe.lexicon import Lexicon
from senseprobe.lexicon.wordnet import Pos
from senseprobe.project import Layer

CHECKS = Path(__file__).parents[1] / "checks"
PLACES = {
    "j2": "templates/x/x.j2",
    "recipe.j2": "templates/x/recipe.j2",
    "dataset.yaml": "templates/x/dataset.yaml",
    "datapackage.yaml": "wordlists/datapackage.yaml",
    "things.csv": "wordlists/things.csv",
    "qualities.csv": "wordlists/qualities.csv",
    "lost.csv": "wordlists/lost.csv",
    "verdicts.csv": "templates/x/verdicts.csv",
    "retired.csv": "templates/x/retired.csv",
    "annotation.json": "templates/x/annotation.json",
}

# Bad file: line and column of its finding, counted by hand in the file (0 where the place is the file), and what the
# message and its hint must name, in this order (`…` stands for any words).
CASES: dict[str, tuple[int, int, str]] = {
    "E100-latin-1.j2": (0, 0, "UTF-8 at byte 37"),
    "E100-latin-1.things.csv": (0, 0, "UTF-8 at byte 29"),
    "E101-alias.j2": (6, 9, "aliases"),
    "E101-key-twice.j2": (7, 1, '"source"'),
    "E101-no-front-matter.j2": (1, 1, "---"),
    "E101-sense-key-without-quotes.j2": (15, 22, 'needs quotes: "guide%2:38:00::"'),
    "E101-unclosed-front-matter.j2": (1, 1, "---"),
    "E102-asks-nothing.j2": (18, 1, "asks: list should have at least 1 item"),
    "E102-binding-named-as-a-slot.j2": (10, 12, "'thing'"),
    "E102-block-with-other-slots.j2": (22, 1, "slots of the first"),
    "E102-config-outside.dataset.yaml": (13, 14, "'../../secret'"),
    "E102-expect-in-a-second-block.j2": (24, 1, "expect: "),
    "E102-factor-twice.j2": (17, 21, "'thing' … twice"),
    "E102-languages-is-no-list.dataset.yaml": (4, 1, "languages"),
    "E102-one-role.j2": (9, 1, "`anti`"),
    "E102-question-twice.j2": (18, 17, "'natural' … twice"),
    "E102-reserved-slot-name.j2": (8, 3, "'valence'"),
    "E102-roles-bind-different-names.j2": (9, 1, "same bindings"),
    "E102-template-not-published.dataset.yaml": (13, 1, "x.j2"),
    "E102-unknown-key.j2": (15, 1, "valance: extra inputs are not permitted (did you mean 'valence'?)"),
    "E102-unknown-label-basis.j2": (14, 1, "'occupation', 'trait', 'both' or 'none'"),
    "E102-unknown-role.j2": (11, 3, "roles.antj: input should be 'stereo' or 'anti'"),
    "E102-whom-without-stereotype.j2": (18, 17, "`whom` … `stereotype`"),
    "E103-no-frames.j2": (20, 1, "frames"),
    "E104-column-in-flip.j2": (16, 6, "'sise' (did you mean 'size'?)"),
    "E104-column-in-frame.j2": (20, 8, "'wrod' (did you mean 'word'?)"),
    "E104-column-in-where.j2": (8, 33, "'sise' (did you mean 'size'?)"),
    "E105-comparison-of-text-and-number.j2": (20, 1, "quality=wild"),
    "E105-empty-cell-printed.j2": (20, 1, "thing=guinea pig: an empty cell"),
    "E105-list-printed.j2": (20, 1, "quality=wild"),
    "E105-undefined-factor.j2": (17, 21, "'thingy' (did you mean 'thing'?)"),
    "E105-undefined-name-in-frame.j2": (20, 23, "'qualty' is not defined (did you mean 'quality'?)"),
    "E105-undefined-question.j2": (18, 15, "contrast rows … 'naturl' (did you mean 'natural'?)"),
    "E105-undefined-target.j2": (12, 1, "'thign' (did you mean 'thing'?)"),
    "E106-agree-with-a-text.j2": (20, 27, "'agree' … (verb | agree(who))"),
    "E106-agree-without-a-subject.j2": (20, 27, "'agree' … (verb | agree(who))"),
    "E106-arithmetic.j2": (20, 20, "Mul"),
    "E106-attribute-of-an-attribute.j2": (20, 39, "'__mro__'"),
    "E106-call.j2": (20, 20, "Call"),
    "E106-escaped-control-character.j2": (20, 20, "control character"),
    "E106-id-that-is-none.j2": (20, 35, "{# id: bridge #}"),
    "E106-loop.j2": (20, 20, "For is not allowed"),
    "E106-plural-of-an-article.j2": (20, 20, "plural | a"),
    "E106-unknown-filter.j2": (20, 33, "'capitalize' … a, agree, past, plural, the, third, upfirst"),
    "E107-unclosed-output.j2": (20, 20, "not a frame"),
    "E108-frame-too-long.j2": (20, 1, "12533 characters … 10000"),
    "E109-expected-more.j2": (18, 10, "2 pairs … `expect` … 3"),
    "E109-published-without-reason.j2": (18, 10, "4 pairs"),
    "E110-unknown-list.j2": (8, 11, "'thing' (did you mean 'things'?)"),
    "E111-filter-that-nothing-fits.j2": (8, 25, "words of things"),
    "E111-list-without-words.things.csv": (8, 11, "things … words"),
    "E111-word-not-in-list.j2": (10, 12, "'wlid' (did you mean 'wild'?)"),
    "E112-no-target.j2": (12, 1, "unmarked"),
    "E112-target-inside-if.j2": (20, 1, "'thing' is printed inside an if"),
    "E112-target-not-printed.j2": (20, 1, "'thing' is not printed"),
    "E112-target-twice.j2": (20, 1, "'thing' is printed 2 times"),
    "E113-literal-key.j2": (13, 21, "lexicon: wordnet-3.0"),
    "E114-frame-twice.j2": (21, 1, "line 20"),
    "E114-two-words-with-one-slug.things.csv": (8, 11, "'guinea-pig'"),
    "E115-binding-in-single-braces.j2": (20, 20, "'{ quality }' is a placeholder (write {{ quality }}"),
    "E115-dollar.j2": (21, 41, "'$other' is a placeholder (write {{ other }}"),
    "E115-format-in-a-cell.things.csv": (3, 1, "word … placeholder: '%s'"),
    "E115-template-syntax-in-a-cell.things.csv": (3, 1, "word … placeholder: '{% raw %}'"),
    "E115-placeholder-in-a-cell.things.csv": (3, 1, "word … placeholder: '<animal>'"),
    "E115-placeholder-in-a-frame.j2": (20, 38, "'[MASK]'"),
    "E115-field-of-a-dataset.dataset.yaml": (1, 1, "title … placeholder: 'TODO' (what is measured)"),
    "E115-field-of-a-list.datapackage.yaml": (15, 5, "description … placeholder: 'TODO' (what the words are)"),
    "E115-placeholder-in-front-matter.j2": (5, 1, "description … placeholder: 'TODO'"),
    "E115-single-braces.j2": (21, 39, "'{other | a}' is a placeholder (write {{ other | a }}"),
    "E116-article-before-a-pronoun.j2": (20, 44, "an article before a pronoun: 'the they'"),
    "E116-article-before-a-slot.j2": (20, 18, "'an' does not fit 'wild', 'tame'"),
    "E116-article-before-a-word.j2": (20, 20, "'a honest' needs 'an'"),
    "E116-article-of-a-plural.j2": (20, 20, "`a` … 'headphones'"),
    "E117-blank-before-a-full-stop.j2": (20, 33, "before punctuation"),
    "E117-blanks-around-nothing.j2": (20, 1, "'The guinea pig is  wild.'"),
    "E117-no-blank-before-a-slot.j2": (20, 4, "'Thedog'"),
    "E117-no-blank-between-slots.j2": (20, 16, "'dogwild'"),
    "E117-two-blanks.j2": (20, 16, "two spaces"),
    "E117-two-full-stops.j2": (20, 33, "two full stops"),
    "E118-binding-not-printed.j2": (20, 1, "both sentences are 'The dog is wild.'"),
    "E119-slot-that-no-frame-reads.j2": (9, 3, "'other' … 2 times"),
    "W515-another-pronoun.j2": (20, 47, "'her' … stereo binds 'he'"),
    "E121-value-in-flip.j2": (17, 6, "things … size 4"),
    "E121-value-in-where.j2": (8, 57, "things … word 'cat'"),
    "E122-flip-without-label.j2": (23, 1, "label_basis is none"),
    "E123-mistake.j2": (19, 10, "E105"),
    "E123-no-code.j2": (19, 10, "W599 (did you mean 'W5"),
    "E123-no-reason.j2": (19, 10, "W505 … 'because' … 3 words"),
    "E123-no-warning-of-lists.datapackage.yaml": (5, 14, "W501"),
    "E123-nothing-there.dataset.yaml": (15, 40, "W501"),
    "E123-nothing-there.j2": (19, 10, "W505"),
    "E123-second-front-matter.j2": (22, 1, "accept: … first front matter"),
    "E124-frame-under-two-names.j2": (21, 1, "line 20"),
    "E127-no-groups.dataset.yaml": (17, 5, "contrast tamer: `relative` needs groups and words of praise and blame"),
    "E125-nothing-left.verdicts.csv": (0, 0, "every row of x … `configs`"),
    "E126-config-named-recipe.dataset.yaml": (13, 14, "'recipe' … (rename recipe.j2"),
    "E201-name-with-a-slash.datapackage.yaml": (3, 5, "resources.0.name"),
    "E201-no-path.datapackage.yaml": (3, 5, "resources.0.path"),
    "E201-path-outside.datapackage.yaml": (4, 5, "resources.0.path"),
    "E201-unknown-type.datapackage.yaml": (10, 24, "'integer'"),
    "E202-cell-missing.things.csv": (2, 1, "3 cells, expected 4"),
    "E202-columns-in-another-order.things.csv": (1, 1, "word,size,tame,sense_noun"),
    "E202-form.annotation.json": (0, 0, "by: Extra inputs are not permitted … `senseprobe annotate apply`"),
    "E202-no-such-verdict.verdicts.csv": (2, 1, "verdict of 'x.00026c.dog' is 'rejected', expected reject or keep"),
    "E202-two-verdicts.verdicts.csv": (3, 1, "'x.00026c.dog' has two verdicts: reject in line 2, and keep"),
    "E202-unclosed-quote.things.csv": (3, 1, "malformed CSV"),
    "E203-blanks-around-a-word.things.csv": (2, 1, "word … space"),
    "E203-no-boolean.things.csv": (2, 7, "tame is 'yes'"),
    "E203-no-number.things.csv": (2, 5, "size is 'three'"),
    "E203-not-in-enum.qualities.csv": (2, 6, "'nasty', expected one of pleasant, unpleasant"),
    "E203-required-cell-is-empty.things.csv": (2, 5, "size is empty"),
    "E204-primary-key-twice.qualities.csv": (4, 1, "wild … first on line 2"),
    "E204-word-twice.things.csv": (3, 1, "dog … first on line 2"),
    "E205-word-in-two-splits.qualities.csv": (4, 17, "'Wild' … 'test' … line 2 … 'train, mostly'"),
    "E206-undeclared.lost.csv": (0, 0, "does not declare this file"),
    "E207-citation.dataset.yaml": (5, 1, "citation 'nobdy' (did you mean 'nobody'?)"),
    "E207-source-of-a-list.datapackage.yaml": (5, 33, "source 'somebody' (did you mean 'nobody'?)"),
    "E207-source-of-a-template.j2": (6, 1, "source 'nobdy' (did you mean 'nobody'?)"),
    "E208-forbids-changes.dataset.yaml": (3, 1, "CC-BY-ND-4.0 forbids"),
    "E208-no-spdx.datapackage.yaml": (6, 17, "'Mine' is not an SPDX licence expression"),
    "E209-two-share-alike.dataset.yaml": (3, 1, "CC-BY-SA-4.0 (dataset.yaml) and CC-BY-NC-SA-4.0 (list things)"),
    "E210-kept-and-retired.verdicts.csv": (2, 1, "'x.00026c.cat' … keep … (templates/x/retired."),
    "E301-cut-off.things.csv": (2, 12, "'dog%1'"),
    "E302-no-such-sense.things.csv": (2, 12, "dog%1:18:00:: (dog as a noun: dog%1:05:00::"),
    "E303-verb-for-noun.things.csv": (2, 12, "dog%2:38:00:: is a verb"),
    "E304-another-animal.things.csv": (2, 12, "of cat, not of dog"),
    "E304-literal-key-of-another-word.j2": (13, 21, "of dog, not of guinea_pig"),
    "E305-field-without-lexicon.datapackage.yaml": (1, 1, "`lexicon` and `pos`"),
    "W517-cyrillic-twin.things.csv": (3, 1, "looks like 'dog': U+043E cyrillic small letter o (type it again"),
    "W517-frame-twice.j2": (21, 1, "line 20: U+FF34 fullwidth latin capital letter t"),
    "W517-ligature.things.csv": (3, 1, "looks like 'fish': U+FB01 latin small ligature fi"),
    "W517-looks-latin.j2": (20, 20, ": U+0430 cyrillic small letter a"),
    "W517-two-scripts.things.csv": (3, 1, "mixes scripts: U+0435 cyrillic small letter ie"),
    "W516-no-config.verdicts.csv": (2, 1, "'y.00026c.dog' has the verdict reject"),
    "W516-word-that-is-gone.verdicts.csv": (
        3,
        1,
        "'x.00026c.cat' has the verdict reject",
    ),
}

# Some mistakes show elsewhere than they were made, and some in both roles.
ELSEWHERE = {
    "E111-list-without-words.things.csv": PLACES["j2"],
    "E114-two-words-with-one-slug.things.csv": PLACES["j2"],
    "E305-field-without-lexicon.datapackage.yaml": PLACES["things.csv"],
}
BOTH_ROLES = {"E102-binding-named-as-a-slot.j2"}
WITH = {
    "E105-empty-cell-printed.j2": "words-without-keys.things.csv",
    "E205-word-in-two-splits.qualities.csv": "E205-word-in-two-splits.datapackage.yaml",
    "E209-two-share-alike.dataset.yaml": "E209-two-share-alike.datapackage.yaml",
    "E210-kept-and-retired.verdicts.csv": "E210-kept-and-retired.retired.csv",
    "E126-config-named-recipe.dataset.yaml": "E126-config-named-recipe.recipe.j2",
    **dict.fromkeys(
        ("E115-format-in-a-cell.things.csv", "E115-placeholder-in-a-cell.things.csv",
         "E115-template-syntax-in-a-cell.things.csv", "W517-cyrillic-twin.things.csv", "W517-ligature.things.csv",
         "W517-two-scripts.things.csv"), "words-without-keys.dataset.yaml",
    ),
}  # fmt: skip


class Toy:
    """The reader of a lexicon with four senses."""

    KEYS = ("dog%1:05:00::", "dog%2:38:00::", "cat%1:05:00::", "guinea_pig%1:05:00::")

    def definitions(self, word: str, pos: Pos) -> dict[str, str]:
        """Some definition of each sense of a word; nouns are 1, verbs 2 in a key."""
        digit = {"noun": "1", "verb": "2"}.get(pos)
        return {key: "an animal" for key in self.KEYS if key.startswith(f"{word}%{digit}")}


@pytest.fixture
def checked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Report]:
    """Lint the base project with some files in the place of its own."""
    monkeypatch.setenv("SENSEPROBE_WORDNET", str(tmp_path / "wordnet"))  # what lint remembers lies there
    monkeypatch.setattr(senses, "identity", lambda name: "toy" if name == "wordnet-3.0" else None)
    monkeypatch.setattr(Lexicon, "open", lambda name: Lexicon(name, tmp_path, Toy()))
    monkeypatch.setattr(checks, "open_word_lists", lambda layer: WordLists((layer.wordlists,)))  # not the built-in ones

    def run(*names: str) -> Report:
        shutil.copytree(CHECKS / "base", tmp_path / "project")
        for name in names:
            shutil.copy(CHECKS / name, tmp_path / "project" / PLACES[name.partition(".")[2]])
        monkeypatch.chdir(tmp_path / "project")
        return lint(Layer(tmp_path / "project"))

    return run


def test_every_code_has_a_bad_file_and_every_bad_file_a_case() -> None:
    """The page of codes lists them; E4xx are those of releases, and warnings but W515 to W517 have files elsewhere."""
    listed = {code for code in all_codes() if code < "E4"} | {"W515", "W516", "W517"}
    assert len(listed) >= 35
    assert {name[:4] for name in CASES} == listed
    assert {path.name for path in CHECKS.iterdir() if path.is_file()} == {*CASES, *WITH.values()}


def test_the_base_project_is_clean(checked: Callable[..., Report]) -> None:
    """What the cases find is theirs alone."""
    report = checked()
    assert report.findings == ()
    assert (report.configs, report.keys_checked, report.keys_not_checked) == (1, 2, 0)


@pytest.mark.parametrize("name", CASES)
def test_a_bad_file_is_one_finding(checked: Callable[..., Report], name: str) -> None:
    """With its code, place and culprit."""
    line, column, culprit = CASES[name]
    found = checked(name, *filter(None, [WITH.get(name)])).findings
    place = ELSEWHERE.get(name, PLACES[name.partition(".")[2]])
    assert (found[0].code, found[0].path, found[0].line, found[0].column) == (name[:4], place, line, column)
    pattern = ".*".join(re.escape(part.strip()) for part in culprit.split("…"))
    assert re.search(pattern, f"{found[0].message} ({found[0].hint})")
    assert len(found) == (2 if name in BOTH_ROLES else 1)


@pytest.mark.parametrize("name", [b"b\xff", b"x/y\xfe.j2"])
def test_a_name_that_is_not_utf8_is_one_finding(checked: Callable[..., Report], tmp_path: Path, name: bytes) -> None:
    """Of a dataset's folder, or of a template in it; nothing else of the dataset is looked at."""
    checked()
    path = tmp_path / "project/templates" / os.fsdecode(name)
    path = path if path.suffix else path / "x.j2"
    path.parent.mkdir(exist_ok=True)
    shutil.copy(tmp_path / "project/templates/x/x.j2", path)
    (found,) = lint(Layer(tmp_path / "project")).findings
    assert (found.code, found.hint) == ("E100", "rename it")
    assert found.message == f"its name is not UTF-8: {name.rpartition(b'/')[2]!r}"
    assert found.path.isprintable()


@pytest.mark.parametrize(
    ("word", "mixed"),
    [
        # As they are written in papers and on packets; single letters as signs.
        *(
            (word, "")
            for word in (
                "TNF\u03b1",
                "IFN\u03b3",
                "I\u03baB\u03b1",
                "NF\u03baB",
                "\u03bcm",
                "k\u03a9",
                "A\u03b2",
                "\u03b1-helix",
                "\u03c0",
                "H₂O",
                "\u0394t",
            )
        ),
        # Latin words with a letter of another script that looks like one of theirs (UTS 39, confusables.txt).
        ("p\u0430ypal", "cyrillic small letter a"),
        ("p\u03b1ypal", "greek small letter alpha"),
        ("\u03b1pple", "greek small letter alpha"),
        ("\u0391pple", "greek capital letter alpha"),
        ("T\u039fKYO", "greek capital letter omicron"),
        ("T\u03bf\u03cd\u03c1\u03ba\u03bf\u03c2", "greek small letter omicron"),
    ],
)
def test_greek_letters_as_signs_are_no_look_alikes(
    checked: Callable[..., Report], tmp_path: Path, word: str, mixed: str
) -> None:
    """In a list; what a letter looks like decides, and whether it stands alone."""
    checked()
    (tmp_path / "project/wordlists/things.csv").write_text(f"word,size,tame,sense_noun\ndog,3,true,\n{word},1,false,\n")
    findings = [finding for finding in lint(Layer(tmp_path / "project")).findings if finding.code == "W517"]
    assert [mixed in finding.message for finding in findings] == [True] * bool(mixed)


@pytest.mark.parametrize(
    ("sign", "odd"),
    [
        ("\u03b1", False),
        ("\u03c7", False),
        ("\u03c3", False),
        ("\u03bf", True),
        ("\u039f", True),
        ("\u0410", True),
        ("\u043e\u043e", True),
    ],
)
def test_a_greek_sign_in_an_english_frame_is_no_look_alike(
    checked: Callable[..., Report], tmp_path: Path, sign: str, odd: bool
) -> None:
    """The alpha male is one; omicron, and a Cyrillic word that looks Latin, are not."""
    checked()
    path = tmp_path / "project/templates/x/x.j2"
    path.write_text(path.read_text().replace("The {{", f"The {sign} {{{{"))
    assert f"The {sign} " in path.read_text()
    codes = [finding.code for finding in lint(Layer(tmp_path / "project")).findings]
    assert ("W517" in codes) is odd


@pytest.mark.parametrize(
    ("word", "message"),
    [
        # Persian "I want" and "householder", Hindi "ksha" with a visible virama: joiners are part of their spelling.
        ("\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645", ""),
        ("\u062e\u0627\u0646\u0647\u200c\u062f\u0627\u0631", ""),
        ("क्\u200dष", ""),
        ("do\u200cg", "word contains U+200C, zero width non-joiner"),
        ("می\u200c", "word contains U+200C, zero width non-joiner"),
        ("guinea\u00a0pig", "word contains U+00A0, no-break space: write an ordinary space"),
        ("Mc\u00adDonald", "word contains U+00AD, soft hyphen"),
        ("do\x07g", "word contains U+0007, a control character"),
    ],
)
def test_what_does_not_print_is_named_and_joiners_are_letters_where_words_need_them(
    checked: Callable[..., Report], tmp_path: Path, word: str, message: str
) -> None:
    """As in frames: a blank that is none, and what cannot be seen, are mistakes."""
    checked()
    (tmp_path / "project/wordlists/things.csv").write_text(f"word,size,tame,sense_noun\ndog,3,true,\n{word},1,false,\n")
    findings = [finding for finding in lint(Layer(tmp_path / "project")).findings if finding.code == "E203"]
    assert [finding.message for finding in findings] == [message] * bool(message)


def test_a_frame_may_hold_joiners_where_words_need_them(checked: Callable[..., Report], tmp_path: Path) -> None:
    """Persian: "it goes"; not between letters of English."""
    checked()
    path = tmp_path / "project/templates/x/x.j2"
    frame = path.read_text()
    path.write_text(frame.replace("The {{", "می\u200cرود {{"))
    assert "E106" not in [finding.code for finding in lint(Layer(tmp_path / "project")).findings]
    path.write_text(frame.replace("The {{", "T\u200che {{"))
    assert "E106" in [finding.code for finding in lint(Layer(tmp_path / "project")).findings]


def test_configs_are_not_named_as_files_of_a_release_in_any_case(tmp_path: Path) -> None:
    """What `senseprobe build` writes beside the configs, as the built-in releases have it, and notes of restoration."""
    release = Path(__file__).parents[2] / "releases/sssb/1.0.1"
    names = {path.name.partition(".")[0].lower() for path in release.iterdir() if path.is_file()}
    assert names == {"readme", "release", "croissant", "citation"}
    assert names | {"recipe", "restored", "shard", "changelog"} <= RELEASE_FILE_NAMES


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
    template.write_text(
        re.sub(r"(?m)^(kind|source): .*\n", "", good).replace("basis: trait", "basis: a") + "---\n---\n"
    )
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

    assert ("E102", "has templates but lacks dataset.yaml") in found


def test_another_lexicon_of_the_name_is_asked_again(
    checked: Callable[..., Report], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What one said is not what the other says."""
    assert [finding.code for finding in checked("E302-no-such-sense.things.csv").findings] == ["E302"]
    monkeypatch.setattr(Toy, "KEYS", (*Toy.KEYS, "dog%1:18:00::"))
    monkeypatch.setattr(senses, "identity", lambda name: "another")
    assert lint(Layer(tmp_path / "project")).findings == ()
