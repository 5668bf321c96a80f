"""Every validity warning has a file that it is right about, and one beside it that it must leave alone."""

import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from senseprobe.generator.checks.base import MOST_ROWS, ConfigSubject, DatasetSubject, pick_rows, segment_columns
from senseprobe.generator.checks.frame_text import check_repeated_words, check_sentence_ends
from senseprobe.generator.checks.grammar import find_other_pronoun
from senseprobe.generator.checks.labels import (
    check_contradictions,
    check_exceptions,
    check_label_balance,
    check_label_consistency,
)
from senseprobe.generator.checks.pairs import check_minimal_pairs
from senseprobe.generator.checks.validity import (
    check_comparisons,
    check_declarations,
    check_lengths,
    check_levels,
    check_sets_disjoint,
    check_sets_large_enough,
    check_sets_present,
    check_sizes,
    unshared_attributes,
)
from senseprobe.generator.config import ResolvedFrame
from senseprobe.generator.dataset import open_dataset
from senseprobe.generator.schema import Frame
from senseprobe.generator.segments import compile_frame, environment
from senseprobe.generator.word_lists import WordLists
from senseprobe.records import Finding

FOLDER = Path(__file__).parents[1] / "checks_validity"
PLACES = {"j2": "templates/x/x.j2", "dataset.yaml": "templates/x/dataset.yaml"}
CHECKS = (
    check_minimal_pairs, check_lengths, check_contradictions, check_sizes, check_levels, check_comparisons,
    check_label_consistency, check_label_balance, check_exceptions, check_repeated_words, check_sentence_ends,
    check_sets_present, check_sets_disjoint, check_sets_large_enough,
)  # fmt: skip

# Bad file: line and column of each finding, counted by hand in the file, and what its message must name. Numbers of
# rows, words and characters are counted by hand in the lists. `…` stands for any words.
CASES: dict[str, list[tuple[int, int, str]]] = {
    "W501-construct-missing.dataset.yaml": [(1, 1, "construct is not declared")],
    "W501-construct-short.dataset.yaml": [(8, 1, "construct … 'gender bias'")],
    "W501-groups-empty.dataset.yaml": [(9, 1, "groups is not declared")],
    "W501-groups-placeholder.dataset.yaml": [(9, 1, "placeholder: 'to do'")],
    "W501-harm-placeholder.dataset.yaml": [(12, 1, "placeholder: 'N/A'")],
    "W501-harm-in-angles.dataset.yaml": [(12, 1, "who_could_be_harmed is a placeholder")],
    "W502-made-mad.j2": [(23, 6, "'made' against 'mad'")],
    "W502-word-left-out.j2": [(24, 4, "' old' against ''")],
    "W502-verb-after-pronoun.j2": [(22, 33, "'was' against 'were'")],
    "W502-texts.j2": [(11, 12, "he made and she mad differ in 2 words")],
    "W503-words.j2": [(9, 1, "2.9 words long on average, those of anti 2.1")],
    "W503-characters.j2": [(9, 1, "3.7 characters on average, those of anti 9.3")],
    "W504-method-approach.j2": [(31, 1, "line 26 ('approach' for 'method') with baker")],
    "W505-roles.j2": [(12, 12, "'quality' from sets of unequal size: bad 3, good 5")],
    "W505-classes.j2": [(14, 1, "'job' are in classes of unequal size: male 5, female 1")],
    "W505-sets.j2": [(11, 1, "sets of toy are of unequal size: X 6, Y 5")],
    "W505-columns.j2": [(16, 11, "'other' are in classes of unequal size: male 4, female 1")],
    "W506-four-frames.j2": [(18, 19, "frame has 4 levels")],
    "W506-one-of-a-class.j2": [(17, 14, "job has 2 levels")],
    "W507-one-group.j2": [(8, 3, "'Arlan' is the only group")],
    "W507-unmarked-frame.j2": [(20, 1, "unmarked frame … 'plural'")],
    "W507-words-of-their-own.j2": [
        (24, 3, "'quality' in anti … 'Dorian'"),
        (25, 3, "'quality' in stereo … 'Dorian'"),
    ],
    "W508-he-and-she.j2": [(29, 1, "'miner' go both ways: 'he' is stereo in 5 rows, 'she' in 2")],
    "W509-always-he.j2": [(10, 3, "stereo binds 'he' in every row")],
    "W510-nurse-warm.j2": [(20, 5, ": job: nurse, trait: ['warm', 'cold']")],
    "W510-half-declared.j2": [(19, 5, ": job: nurse, trait: ['warm', 'cold']")],
    "W511-baker-met-a-baker.j2": [(20, 23, "100 rows"), (20, 23, "100 rows")],
    "W514-no-capital.j2": [(21, 1, "capital: 'he', 'she'")],
    "W514-no-capital-in-text.j2": [(23, 3, "capital: 'they hired'")],
    "W514-one-without-a-stop.j2": [(24, 1, "the frame does not end … others")],
    "W514-none-with-a-stop.j2": [(21, 1, "none of the frames ends")],
    "W518-no-B.j2": [(11, 1, "half … words of B")],
    "W519-rose-and-Rose.j2": [(12, 1, "'rose' is in X and Y of twice"), (12, 1, "'wasp' is in Y and B of twice")],
    "W519-rose-twice.j2": [(12, 1, "X of again has 'rose' twice"), (12, 1, "Y of again has 'moth' and 'Moth' twice")],
    # By hand: of 8 words 4 can be dealt to X in 70 ways, of 6 words 3 in 20.
    "W520-four-a-side.j2": [(11, 1, "sets of four are small (X 4, Y 4): the effect … interval")],
    "W520-three-a-side.j2": [(11, 1, "(X 3, Y 3): the effect … interval … 0.05 … 1 in 20")],
}

CLEAN = sorted(path.name for path in FOLDER.glob("not-*.j2"))


@pytest.fixture
def found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., list[Finding]]:
    """What the checks of this file say of the base project with one file in the place of its own."""

    def run(name: str = "") -> list[Finding]:
        shutil.copytree(FOLDER / "base", tmp_path / "project")
        if name:
            shutil.copy(FOLDER / name, tmp_path / "project" / PLACES[name.partition(".")[2]])
        monkeypatch.chdir(tmp_path / "project")
        lists = WordLists((tmp_path / "project" / "wordlists",))  # not the built-in ones
        catalogue = open_dataset(tmp_path / "project" / "templates" / "x", lists)
        subject = ConfigSubject(catalogue.dataset, catalogue.configs[0], lists)
        findings = [
            *check_declarations(DatasetSubject(catalogue.dataset, catalogue.lists)),
            *(finding for check in CHECKS for finding in check(subject)),
        ]
        return sorted(findings, key=lambda f: (f.line, f.column, f.message))

    return run


def test_every_warning_has_a_file_and_every_file_a_case() -> None:
    """W501 to W511, W514, W518 to W520, each with a file that it must leave alone or the clean base project."""
    assert {name[:4] for name in CASES} == {f"W{number}" for number in (*range(501, 512), 514, *range(518, 521))}
    assert {path.name for path in FOLDER.iterdir() if path.is_file()} == {*CASES, *CLEAN}


def test_the_base_project_has_no_warning(found: Callable[..., list[Finding]]) -> None:
    """Every construct is declared, five jobs stand against five, labels flip, and all frames are sentences."""
    assert found() == []


@pytest.mark.parametrize("name", CASES)
def test_a_bad_file_is_found(found: Callable[..., list[Finding]], name: str) -> None:
    """With its code, place and culprit, and with what to do, and nothing else is found."""
    findings = found(name)
    assert [(f.line, f.column) for f in findings] == [(line, column) for line, column, _ in CASES[name]]
    for finding, (_, _, culprit) in zip(findings, CASES[name], strict=True):
        assert (finding.code, finding.path) == (name[:4], PLACES[name.partition(".")[2]])
        assert re.search(".*".join(re.escape(part.strip()) for part in culprit.split("…")), finding.message)


@pytest.mark.parametrize("name", CLEAN)
def test_what_is_nearly_a_mistake_is_none(found: Callable[..., list[Finding]], name: str) -> None:
    """Forms that grammar asks for, negations, declared exceptions and the like."""
    assert found(name) == []


@pytest.mark.parametrize(
    ("source", "columns"),
    [
        # Counted by hand: the first column is 3, an output of `thing` is 11 long.
        ("a {{ thing }}, {{ thing }}", (3, 5, 16, 18)),
        ("{% if thing %}x{{ thing }}{% else %}y{% endif %} z", (3, 51)),
        ("a {{- thing }}", (3, 5)),
        ("{{ thing }} {{- thing }}", (3, 3)),  # the blank is no segment, so places are not told apart
    ],
)
def test_each_segment_has_the_column_at_which_it_begins(source: str, columns: tuple[int, ...]) -> None:
    """Of a frame that begins in column 3, conditions and comments included."""
    frame = Frame(source=source, code="x", line=1, column=3)
    assert segment_columns(ResolvedFrame(frame, compile_frame(environment({}), source), None)) == columns


def test_a_spread_holds_every_word(found: Callable[..., list[Finding]], tmp_path: Path) -> None:
    """Of 10 * 10 * 10 * 10 combinations, MOST_ROWS are looked at, and each word is in as many of them."""
    found("W511-baker-met-a-baker.j2")
    template = tmp_path / "project" / PLACES["j2"]
    text = (
        template.read_text().replace("roles:", "  fourth: {list: jobs}\nroles:").replace("pairs: 1000", "pairs: 10000")
    )
    template.write_text(text)
    lists = WordLists((tmp_path / "project" / "wordlists",))
    (config,) = open_dataset(template.parent, lists).configs
    picked = pick_rows(config.blocks[0], tuple(config.blocks[0].slots))
    assert picked.n == MOST_ROWS == 5000
    assert [sorted(set(map(list(at).count, range(10)))) for at in picked.at.values()] == [[500]] * 4


# --- the same as before on small input, without looking at every pair -----------------------------------------------

BLOCKS = st.lists(
    st.tuples(
        st.lists(st.sampled_from("pqrs"), min_size=1, max_size=3),
        st.dictionaries(
            st.tuples(st.just("stereo"), st.sampled_from("mn")),
            st.lists(st.sampled_from("abcd"), min_size=1, max_size=3),
        ),
    ),
    max_size=4,
)


@given(blocks=BLOCKS)
def test_attributes_that_no_other_group_shares(
    blocks: list[tuple[list[str], dict[tuple[str, str], list[str]]]],
) -> None:
    """Expected is what comes of holding the words of each group against those of all others."""
    words: dict[str, dict[tuple[str, str], set[str]]] = {}
    for groups, attributes in blocks:
        for group in groups:
            own = words.setdefault(group, {})
            for attribute, said in attributes.items():
                own.setdefault(attribute, set()).update(said)
    expected = {
        (group, attribute)
        for group, own in words.items()
        for attribute, mine in own.items()
        if len(words) > 1
        and not any(mine & theirs.get(attribute, set()) for other, theirs in words.items() if other != group)
    }
    found = [*unshared_attributes(blocks)]
    assert {*found} == expected
    assert len(found) == len(expected)


def test_a_word_is_looked_at_once_and_again_however_many_groups_say_it() -> None:
    """2,000 groups of one block, and as many with a block and a word of their own: no group is held against another."""

    class Counting(list[str]):
        looks = 0

        def __iter__(self) -> Iterator[str]:
            for word in super().__iter__():
                Counting.looks += 1
                yield word

    shared = [(list(map(str, range(2_000))), {("stereo", "q"): Counting(map(str, range(2_000)))})]
    assert [*unshared_attributes(shared)] == []
    own = [([str(number)], {("stereo", "q"): Counting([str(number)])}) for number in range(2_000)]
    assert len([*unshared_attributes(own)]) == 2_000
    assert Counting.looks <= 2 * (2_000 + 2_000) + 2_000  # the first word of each group that shares is looked at too


FEMALE = ("she", "her", "hers", "herself")
PRONOUN = re.compile(r"(?<![\w'-])(?:he|him|his|himself|she|her|hers|herself)(?![\w-])", re.IGNORECASE)


@given(
    texts=st.lists(
        st.lists(
            st.sampled_from(
                ["he", "She", "HER", "his", "s\u0323he", "\u017fhe", "the", "-", "'", " ", "\u00e9", "x", "_", "."]
            ),
            max_size=6,
        ).map("".join)
    )
)
def test_a_pronoun_of_the_other_gender_is_found_as_python_finds_it(texts: list[str]) -> None:
    """Arrow looks first, with other rules for what a letter is; expected is a search of every text by `re` alone."""
    others = ((text, word) for text in texts for word in PRONOUN.findall(text) if word.lower() in FEMALE)
    assert find_other_pronoun(pa.array(texts, pa.string()), "male") == next(others, None)
