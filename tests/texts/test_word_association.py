"""The word association test: graphs solved by hand, by dense algebra and by networkx, files, and correlations.

Expected values are hand calculations, or of numpy, scipy and networkx.
"""

import json
import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import cast

import networkx as nx  # type: ignore[import-untyped]
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import stats
from tests.commands import Typed, typing
from tests.profiles import examples

from senseprobe.errors import ModelError, SenseprobeError
from senseprobe.evaluate.models.encodings import VectorModel
from senseprobe.evaluate.models.vector_files import VectorFile
from senseprobe.evaluate.senses.vectors import SenseFile
from senseprobe.evaluate.texts.api import word_association
from senseprobe.evaluate.texts.association_graph import WordGraph, read_graph, read_scores, spread_masses
from senseprobe.evaluate.texts.word_association import WatResult, correlate_scores, score_graph, score_lexicon

PAIRS = [("man", "woman")]
HEADER = "cue,response,count\n"
CHAIN = HEADER + "man,nurse,3\nnurse,woman,1\n"
SOLVED = settings(
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture], max_examples=examples(40)
)

edges = st.dictionaries(
    st.tuples(st.sampled_from("abcdef"), st.sampled_from("abcdef")).filter(lambda edge: edge[0] != edge[1]),
    st.integers(1, 9),
    max_size=12,
)
alphas = st.sampled_from((0.1, 0.5, 0.9, 0.99))


def saved(folder: Path, text: str | bytes, name: str = "g.csv") -> Path:
    """A file with this text."""
    (folder / name).write_bytes(text if isinstance(text, bytes) else text.encode())
    return folder / name


def scored(folder: Path, text: str, *, alpha: float = 0.5, directed: bool = False) -> WatResult:
    """The scores of a graph from the pair man, woman."""
    return score_graph(saved(folder, text), PAIRS, alpha=alpha, directed=directed, version="0")


def graph_of(folder: Path, weights: dict[tuple[str, str], int]) -> WordGraph:
    """A graph in which the seeds a and f have a link, so that both are there."""
    lines = [f"{cue},{response},{count}\n" for (cue, response), count in ({("a", "f"): 1} | weights).items()]
    return read_graph(saved(folder, HEADER + "".join(lines)))


def dense(graph: WordGraph, word: str, alpha: float, *, directed: bool = False) -> NDArray[np.float64]:
    """(1 - alpha)(I - alpha S)⁻¹ y by numpy's dense solver."""
    counts = graph.counts.toarray()
    flow = counts.T if directed else counts + counts.T
    out, into = (np.where(flow.sum(axis=axis) > 0, flow.sum(axis=axis), 1) for axis in (1, 0))
    matrix = np.eye(len(flow)) - alpha * flow / np.sqrt(out)[:, None] / np.sqrt(into)
    seed = (np.array(graph.words) == word).astype(float)
    return np.asarray((1 - alpha) * np.linalg.solve(matrix, seed))


def test_a_chain_by_hand(tmp_path: Path) -> None:
    """Links man - nurse of 3 and nurse - woman of 1: degrees 3, 4, 1, so S is √3/2 and 1/2.

    From man: nurse = a√3/2 · man + a/2 · woman, man = 1 + a√3/2 · nurse, woman = a/2 · nurse; nurse is
    (a√3/2)/(1 - a²), and from woman (a/2)/(1 - a²). So nurse has log √3 whatever alpha. With a = 1/2 man has
    1 + a²·3/4/(1 - a²) = 5/4 from itself and a²·√3/4/(1 - a²) = √3/12 from woman: log 5√3. Woman has √3/12 from man
    and 1 + a²/4/(1 - a²) = 13/12 from itself: log √3/13.
    """
    expected = {"nurse": math.log(3) / 2, "man": math.log(5 * math.sqrt(3)), "woman": math.log(math.sqrt(3) / 13)}
    assert scored(tmp_path, CHAIN).scores == pytest.approx(expected, rel=1e-12)
    assert scored(tmp_path, CHAIN, alpha=0.99).scores["nurse"] == pytest.approx(math.log(3) / 2, rel=1e-9)


def test_a_directed_chain_by_hand(tmp_path: Path) -> None:
    """Cues man and woman lead to nurse with 3 and 1: its responses sum to 4, each cue's to its own 3 and 1.

    So S is 3/√12 = √3/2 and 1/2, nurse's ratio is √3, and nothing leads back to man from woman.
    """
    result = scored(tmp_path, HEADER + "man,nurse,3\nwoman,nurse,1\n", directed=True)
    assert result.scores == pytest.approx({"nurse": math.log(3) / 2}, rel=1e-12)
    assert result.graph is not None
    assert tuple(words.names for words in result.graph.lone) == (("man",), ("woman",))


@SOLVED
@given(edges, alphas, st.booleans())
def test_masses_are_those_of_dense_algebra(
    tmp_path: Path, weights: dict[tuple[str, str], int], alpha: float, directed: bool
) -> None:
    """Any small graph, with links in both directions or one."""
    graph = graph_of(tmp_path, weights)
    masses = spread_masses(graph, ["a"], ["f"], alpha, directed=directed)
    for word, found in (("a", masses.masses[:, 0]), ("f", masses.masses[:, 1])):
        assert found == pytest.approx(dense(graph, word, alpha, directed=directed), abs=1e-10)


@SOLVED
@given(edges, alphas)
def test_masses_are_those_of_networkx(tmp_path: Path, weights: dict[tuple[str, str], int], alpha: float) -> None:
    """PageRank is p = (1 - a)(I - a W D⁻¹)⁻¹ v, and W D⁻¹ = D^½ S D^-½, so p = D^½ F* where y = D^½ v.

    With v all at one seed of degree d: F* = p · √d / √(degree of each word).
    """
    graph = graph_of(tmp_path, weights)
    linked = (graph.counts + graph.counts.T).toarray()
    degrees = linked.sum(axis=1)
    seed = graph.words.index("a")
    rank = nx.pagerank(nx.from_numpy_array(linked), alpha=alpha, personalization={seed: 1}, tol=1e-14, max_iter=9_999)
    expected = np.array([rank[place] for place in range(len(degrees))]) * np.sqrt(degrees[seed] / degrees)
    assert spread_masses(graph, ["a"], ["f"], alpha).masses[:, 0] == pytest.approx(expected, abs=1e-10)


@SOLVED
@given(edges, alphas, st.integers(2, 50))
def test_swapped_seeds_negate_and_scaled_counts_change_nothing(
    tmp_path: Path, weights: dict[tuple[str, str], int], alpha: float, factor: int
) -> None:
    """The two sides are solved alike; S has no scale."""
    graph = graph_of(tmp_path, weights)
    scores = spread_masses(graph, ["a"], ["f"], alpha).scores
    assert np.array_equal(spread_masses(graph, ["f"], ["a"], alpha).scores, -scores, equal_nan=True)
    larger = WordGraph(graph.words, graph.counts * factor, graph.columns, 0, 0, "")
    assert spread_masses(larger, ["a"], ["f"], alpha).scores == pytest.approx(scores, abs=1e-9, nan_ok=True)


def test_words_without_a_seed_have_no_score_and_are_named(tmp_path: Path) -> None:
    """Tree and leaf are a part of their own; the pair boy, girl is half there."""
    path = saved(tmp_path, CHAIN + "tree,leaf,5\nboy,man,1\n")
    result = score_graph(path, [*PAIRS, ("boy", "girl")], alpha=0.9, directed=False, version="0")
    assert result.graph is not None
    assert (result.graph.unreached.count, result.graph.unreached.names) == (2, ("leaf", "tree"))
    assert {*result.scores} == {"boy", "man", "nurse", "woman"}
    assert (result.seeds, result.absent, result.graph.components) == ((("man", "woman"),), ("girl",), 2)


def test_a_mass_that_is_lost_in_rounding_is_no_score(tmp_path: Path) -> None:
    """At alpha .01 a word 20 links away has a mass below 1e-40: no float64 solution has that."""
    chain = "".join(f"w{n},w{n + 1},1\n" for n in range(20))
    result = scored(tmp_path, HEADER + "man,woman,1\nwoman,w0,1\n" + chain, alpha=0.01)
    assert result.graph is not None
    assert "w20" in result.graph.imprecise.names
    assert "w20" not in result.scores


def test_the_files_of_small_world_of_words(tmp_path: Path) -> None:
    """A strength file has tabs and counts beside strengths; the raw form a person in each line."""
    strength = "cue\tresponse\tR1\tN\tR1.Strength\nman\tnurse\t3\t4\t.75\nman\tNA\t1\t4\t.25\nnurse\twoman\t1\t1\t1\n"
    raw = (
        '"","participantID","cue","R1","R2","R3"\n"1",7,"man","nurse","nurse","Unknown word"\n'
        '"2",8,"man","nurse",NA,"man"\n"3",9,"nurse","woman","No more responses",""\n'
    )
    expected = scored(tmp_path, CHAIN).scores
    for text, columns, omitted, loops in (
        (strength, ("cue", "response", "r1"), 1, 0),
        (raw, ("cue", "r1", "r2", "r3"), 4, 1),
    ):
        graph = read_graph(saved(tmp_path, text))
        assert (graph.columns, graph.no_responses, graph.loops) == (columns, omitted, loops)
        assert graph.counts.sum() == 4
        assert scored(tmp_path, text).scores == pytest.approx(expected)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", ":1: is not a graph"),
        ("word,score\na,1\n", "needs the columns cue, response"),
        (HEADER, "does not contain a cue with a response"),
        (HEADER + "man,nurse\n", ":2: has 2 columns"),
        (HEADER + "man,nurse,nan\n", ":2: 'nan' is not a finite number"),
        (HEADER + "man,nurse,-1\n", ":2: a count or strength cannot be -1"),
        (CHAIN + "man,nurse,3\n", ":4: 'man' with 'nurse' occurs twice"),
        (HEADER + 'man,"nurse,3\n', ":2: malformed CSV: unexpected end of data"),
        (b"\x93NUMPY\x01\x00v\x00", ":1: is not UTF-8"),
        (HEADER + "x" * 2**24, ":2: a line of more than"),
        (HEADER + "tree,leaf,1\n", "contains no complete pair of man/woman"),
    ],
)
def test_what_is_no_graph_is_refused(text: str | bytes, message: str, tmp_path: Path) -> None:
    """Each with its line and what is wrong."""
    path = saved(tmp_path, text)
    with pytest.raises(SenseprobeError, match=message):
        score_graph(path, PAIRS, alpha=0.5, directed=False, version="0")


@pytest.mark.parametrize("alpha", [0, 1, -1, math.nan])
def test_alpha_is_between_zero_and_one(alpha: float, tmp_path: Path) -> None:
    """At 1 the system is singular."""
    with pytest.raises(SenseprobeError, match="between 0 and 1"):
        scored(tmp_path, CHAIN, alpha=alpha)


@SOLVED
@given(st.one_of(st.binary(max_size=80), st.text("manurse,\t\"'01.\n", max_size=80).map(lambda text: text.encode())))
def test_any_bytes_are_read_or_refused(tmp_path: Path, data: bytes) -> None:
    """Whatever stands below a header, or in its place, nothing but SenseprobeError is raised."""
    for text in (data, HEADER.encode() + data):
        path = saved(tmp_path, text)
        with suppress(SenseprobeError):
            read_graph(path)
        with suppress(SenseprobeError):
            read_scores(path)


@pytest.mark.parametrize(
    ("text", "message"),
    [("nurse 1\n", ":1: is not a word"), ("a\t1\na\t2\n", "twice"), ("a\tinf\n", "finite"), ("", "not contain words")],
)
def test_what_is_no_lexicon_is_refused(text: str, message: str, tmp_path: Path) -> None:
    """Lines of another form, words twice, scores that are none."""
    with pytest.raises(SenseprobeError, match=message):
        read_scores(saved(tmp_path, text))


def lexicon(folder: Path, scores: dict[str, float]) -> WatResult:
    """A lexicon in place of a graph."""
    text = "".join(f"{word}\t{score}\n" for word, score in scores.items())
    return score_lexicon(saved(folder, text, "lexicon.tsv"), PAIRS, version="0")


def model_of(vectors: Mapping[str, Sequence[float]], *, senses: bool = False) -> VectorModel:
    """Vectors from memory, of words or of senses."""
    arrays = {key: np.array(vector, float) for key, vector in vectors.items()}
    return cast("VectorModel", (SenseFile if senses else VectorFile).wrap("hand", arrays))


def plain(_: str) -> str:
    """No word is a name or a pronoun."""
    return ""


def test_equation_4_by_hand(tmp_path: Path) -> None:
    """Man is (1, 0), woman (0, 1); (3, 4) has cosines .6 and .8, so -.2; (4, 3) .2; (1, 0) 1; (0, 2) -1; (2, 2) 0.

    Their correlation with the lexicon is scipy's; *flower pot* and *absent* have no vector.
    """
    vectors: dict[str, Sequence[float]] = {
        "man": [1, 0],
        "woman": [0, 1],
        "a": [3, 4],
        "b": [4, 3],
        "c": [1, 0],
        "d": [0, 2],
        "e": [2, 2],
    }
    model = model_of(vectors)
    scores = {"a": 0.1, "b": 0.4, "c": 2.0, "d": -0.7, "e": -0.3, "flower pot": 1.0, "absent": 3.0, "man": 9.0}
    found = correlate_scores(lexicon(tmp_path, scores), model, "word", PAIRS, plain)
    expected = stats.pearsonr([-0.2, 0.2, 1, -1, 0], [0.1, 0.4, 2, -0.7, -0.3])[0]
    assert found.correlation == pytest.approx(expected, abs=1e-6)  # vectors are read in float32
    assert (found.pairs, found.missing.names) == (5, ("absent", "flower pot"))
    assert found.low is not None
    assert found.low < expected < (found.high or 0)


SENSES: dict[str, Sequence[float]] = {
    "man%1:18:00::": [1, 0, 0],
    "woman%1:18:00::": [0, 1, 0],
    "nurse%1:18:00::": [0, 1, 0],  # the person
    "nurse%2:29:00::": [1, 0, 3],
    "judge%1:18:00::": [3, 4, 0],
    "judge%2:31:02::": [0, 0, 1],
    "he%1:27:00::": [1, 1, 1],
}


@pytest.mark.system
@pytest.mark.usefixtures("prepared_wordnet")
def test_the_sense_level_takes_the_largest_cosine(tmp_path: Path) -> None:
    """By hand: nurse's largest cosines are 1/√10 with man and 1 with woman; judge's .6 and .8.

    At word level nurse is (.5, .5, 1.5), as near to man as to woman, and judge (1.5, 2, .5).
    """
    model = model_of(SENSES, senses=True)
    result = lexicon(tmp_path, {"nurse": -2.0, "judge": 1.0, "he": 0.5})
    by_sense = correlate_scores(result, model, "sense", PAIRS, plain)
    by_word = correlate_scores(result, model, "word", PAIRS, plain)
    # Without a refusal he is helium, with (1, 1, 1): 0 at both levels; judge -.2, nurse 1/√10 - 1.
    expected = stats.pearsonr([0, -0.2, 1 / math.sqrt(10) - 1], [0.5, 1, -2])[0]
    assert by_sense.correlation == pytest.approx(expected, abs=1e-12)
    # 0 and 0 of he and nurse, and -.5/√6.5 of judge.
    assert by_word.correlation == pytest.approx(
        stats.pearsonr([0, -0.5 / math.sqrt(6.5), 0], [0.5, 1, -2])[0], abs=1e-6
    )


@pytest.mark.system
@pytest.mark.usefixtures("prepared_wordnet")
def test_senses_have_no_pronouns_and_no_names(tmp_path: Path) -> None:
    """The pair he, she and the word he are left out, and the reason said."""
    model = model_of(SENSES, senses=True)
    result = lexicon(tmp_path, {"nurse": -2.0, "judge": 1.0, "his": 0.5})
    classes: Callable[[str], str] = lambda word: "pronoun-subject" if word in ("he", "she", "his") else ""  # noqa: E731
    found = correlate_scores(result, model, "sense", [("he", "she"), *PAIRS, ("boy", "girl")], classes)
    assert found.seed_pairs == (("man", "woman"),)
    assert found.dropped == ("he/she (WordNet has no pronouns: he is helium)", "boy/girl (no vector)")
    assert (found.pairs, found.missing.names) == (2, ("his",))
    with pytest.raises(ModelError):
        correlate_scores(result, model_of({"a": [1, 1]}), "sense", PAIRS, plain)


@pytest.fixture
def typed(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Typed:
    """What runs a command line."""
    return typing(monkeypatch, capfd)


def test_the_command_writes_a_lexicon_and_a_record(typed: Typed, tmp_path: Path) -> None:
    """The scores that it writes can be read as a lexicon; the record has the correlation, and both a signature."""
    path, out, record = saved(tmp_path, CHAIN + "man,judge,2\n"), tmp_path / "s.tsv", tmp_path / "s.json"
    vectors = saved(tmp_path, "man 1 0\nwoman 0 1\nnurse 3 4\njudge 4 3\n", "v.txt")
    assert typed("study", "wat", str(path), "--alpha", "0.5", "-o", str(out)).code == 0
    assert read_scores(out)[0]["nurse"] < math.log(3)
    done = typed("study", "wat", "--lexicon", str(out), "--vectors", f"vectors:{vectors}", "--json", "-o", str(record))
    assert done.told == json.loads(record.read_text())
    assert [(r["level"], r["pairs"], r["low"]) for r in done.told["correlations"]] == [("word", 2, None)]
    assert done.told["correlations"][0]["correlation"] == pytest.approx(1)
    assert "lexicon=" in done.told["signature"]
    assert "words without a score" not in typed("study", "wat", str(path)).out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ((), "give either a graph"),
        (("g.csv", "--lexicon", "g.csv"), "not both"),
        (("g.csv", "--level", "sent"), "unknown level sent"),
        (("g.csv", "-o", "x.txt"), "ends in .tsv"),
        (("none.csv",), "No such file"),
        (("g.csv", "--pairs", "g.csv"), "two columns of words"),
    ],
)
def test_misuse_is_one_message(
    words: tuple[str, ...], message: str, typed: Typed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Exit code 2, no traceback."""
    saved(tmp_path, CHAIN)
    monkeypatch.chdir(tmp_path)
    done = typed("study", "wat", *words)
    assert done.code == 2
    assert message in done.message


def test_pairs_from_a_file(tmp_path: Path) -> None:
    """A pair of one's own is where the walk starts, and stands in the signature."""
    pairs = saved(tmp_path, "male,female\nnurse,woman\n", "pairs.csv")
    result = word_association(saved(tmp_path, CHAIN), pairs=pairs, alpha=0.5)
    assert result.seeds == (("nurse", "woman"),)
    assert "|seeds=nurse/woman|" in result.signature


def test_another_axis_is_named_by_its_columns(tmp_path: Path, typed: Typed) -> None:
    """The first column is the positive end, as in `bias-score`: turned around, scores have the other sign."""
    pairs = [saved(tmp_path, text, f"{text[:3]}.csv") for text in ("rich,poor\nman,woman\n", "poor,rich\nwoman,man\n")]
    path = saved(tmp_path, CHAIN)
    first, second = (word_association(path, pairs=each) for each in pairs)
    assert first.scores["nurse"] == pytest.approx(math.log(3) / 2)
    assert first.scores == pytest.approx({word: -score for word, score in second.scores.items()})
    told = typed("study", "wat", str(path), "--pairs", str(pairs[1])).out
    assert all(part in told for part in ("log(b_p / b_r), positive: poor", "most rich", "mass from poor seeds"))
    assert "male" not in told


@pytest.mark.system
@pytest.mark.usefixtures("prepared_wordnet")
def test_the_seeds_that_senses_cannot_have(tmp_path: Path) -> None:
    """Of the ten pairs of Azzalini et al. three are pronouns, and Mary, John are names."""
    lines = "".join(f"{key} {' '.join(map(str, vector))}\n" for key, vector in SENSES.items())
    vectors = saved(tmp_path, lines + "john%1:18:00:: 1 0 2\n", "senses.txt")
    result = word_association(saved(tmp_path, CHAIN + "judge,man,1\n"), vectors=[f"senses:{vectors}"])
    assert [found.level for found in result.correlations] == ["word", "sense"]
    for found in result.correlations:
        assert found.seed_pairs == (("man", "woman"),)
        assert len(found.dropped) == 9
        assert sum("he is helium" in reason for reason in found.dropped) == 3
        assert sum("john is a toilet" in reason for reason in found.dropped) == 1
        assert found.pairs == 2
