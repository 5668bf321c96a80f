"""Dawid and Skene's model: against their paper's patients, another program, a plain EM, and planted truth."""

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.annotation.making import answer, item, plan
from tests.profiles import examples

from senseprobe.annotation.rules import collect_posteriors, estimate_truths
from senseprobe.statistics import SMOOTHING, dawid_skene

Triples = list[tuple[int, int, int]]

# Dawid and Skene (1979), table 1: 45 patients, of each the grades by observer 1 (three times) and observers 2 to 5.
# Written down from memory, as were the paper's results that are tested below, before anything was computed from it; the
# print was not at hand.
PATIENTS = """
1111111 3334334 1122122 2223121 2223222 2223322 1222111 3333433 2222223 2322223 4444444 2223343 1111111 2223212 1211111
1112111 1111111 1111111 2222221 2221322 2222222 2222221 2223222 2212222 1111111 1111111 2322222 1111111 1111111 1121121
1111111 3333233 1111111 2222222 2223232 4334343 2212232 2323233 3333432 1111111 1111111 1212111 2322222 1211111 2222222
""".split()  # noqa: SIM905 - a table is read as one
OBSERVER = (0, 0, 0, 1, 2, 3, 4)


def patients() -> Triples:
    return [
        (patient, observer, int(grade) - 1)
        for patient, grades in enumerate(PATIENTS)
        for grade, observer in zip(grades, OBSERVER, strict=True)
    ]


def plain(triples: Triples, steps: int, smoothing: float = 0.0) -> list[list[float]]:
    """The EM of the paper (its section 3), in plain Python, one answer after the other: posteriors after `steps`."""
    items, people, labels = (max(triple[at] for triple in triples) + 1 for at in range(3))
    of = [[(person, label) for item, person, label in triples if item == number] for number in range(items)]
    truth = [[sum(label == each for _, label in told) / len(told) for each in range(labels)] for told in of]
    for _ in range(steps):
        prevalence = [sum(shares[true] for shares in truth) + smoothing / labels for true in range(labels)]
        prevalence = [each / sum(prevalence) for each in prevalence]
        given = [
            [smoothing * ((true == say) / 2 + 1 / (2 * labels)) for say in range(labels)] for true in range(labels)
        ]
        said = [[[*row] for row in given] for _ in range(people)]
        for number, person, label in triples:
            for true in range(labels):
                said[person][true][label] += truth[number][true]
        rates = [[[n / sum(row) if sum(row) else 0.0 for n in row] for row in rows] for rows in said]
        for number, told in enumerate(of):
            likely = list(prevalence)
            for person, label in told:
                likely = [p * rates[person][true][label] for true, p in enumerate(likely)]
            truth[number] = [p / sum(likely) for p in likely]
    return truth


ANSWERS = st.lists(st.tuples(st.integers(0, 7), st.integers(0, 3), st.integers(0, 2)), min_size=1, max_size=40).map(
    lambda told: [(item, person, label) for item, person, label in told]
)


def gapless(triples: Triples) -> Triples:
    """The same answers with items, people and labels numbered without gaps."""
    orders = [sorted({triple[at] for triple in triples}) for at in range(3)]
    return [(orders[0].index(i), orders[1].index(p), orders[2].index(c)) for i, p, c in triples]


@settings(max_examples=examples(100))
@given(told=ANSWERS, smoothing=st.sampled_from([0.0, 0.5, 1.0]), steps=st.integers(1, 20))
def test_the_model_is_that_of_a_plain_em(told: Triples, smoothing: float, steps: int) -> None:
    """Step for step, with people who answered an item more than once, and items that few answered."""
    triples = gapless(told)
    found = dawid_skene(*zip(*triples, strict=True), smoothing=smoothing, most=steps)
    assert found.posterior == pytest.approx(np.array(plain(triples, found.steps, smoothing)), abs=1e-9)


@settings(max_examples=examples(100))
@given(told=ANSWERS, smoothing=st.sampled_from([0.0, 1.0]))
def test_every_step_makes_the_answers_more_likely(told: Triples, smoothing: float) -> None:
    """As EM must (Dempster, Laird & Rubin 1977); and what it gives are probabilities."""
    found = dawid_skene(*zip(*gapless(told), strict=True), smoothing=smoothing)
    assert (np.diff(found.log_likelihood) > -1e-9).all()
    assert found.posterior.sum(axis=1) == pytest.approx(1)
    assert found.prevalence.sum() == pytest.approx(1)
    assert np.nan_to_num(found.confusion.sum(axis=2), nan=1.0) == pytest.approx(1)


@settings(max_examples=examples(50))
@given(told=ANSWERS, seed=st.integers(0, 1_000))
def test_the_order_of_answers_does_not_matter(told: Triples, seed: int) -> None:
    triples = gapless(told)
    mixed = [triples[n] for n in np.random.default_rng(seed).permutation(len(triples))]
    first, second = (dawid_skene(*zip(*each, strict=True)) for each in (triples, mixed))
    assert (first.posterior == second.posterior).all()
    assert first.log_likelihood == second.log_likelihood


def test_names_of_labels_do_not_matter() -> None:
    """Labels that are numbered otherwise give the same posteriors, numbered so."""
    expected = dawid_skene(*zip(*patients(), strict=True)).posterior
    for order in permutations(range(4)):
        told = [(item, person, order[label]) for item, person, label in patients()]
        assert dawid_skene(*zip(*told, strict=True)).posterior[:, list(order)] == pytest.approx(expected, abs=1e-9)


def test_planted_truth_and_mistakes_are_found() -> None:
    """3,000 items by three careful people and two who often take label 1 for 2: more right than the majority."""
    rng = np.random.default_rng(11)
    truth = rng.choice(3, size=3_000, p=[0.5, 0.3, 0.2])
    careful = np.array([[0.85, 0.1, 0.05], [0.1, 0.8, 0.1], [0.05, 0.1, 0.85]])
    careless = np.array([[0.6, 0.2, 0.2], [0.1, 0.2, 0.7], [0.2, 0.3, 0.5]])
    rates = np.stack([careful, careful, careful, careless, careless])
    said = np.array([[rng.choice(3, p=rate[true]) for true in truth] for rate in rates])
    people, items = np.indices(said.shape)
    found = dawid_skene(items.ravel(), people.ravel(), said.ravel())

    assert found.converged
    assert np.abs(found.confusion - rates).max() < 0.06
    assert np.abs(found.prevalence - [0.5, 0.3, 0.2]).max() < 0.03
    votes = np.stack([(said == label).sum(axis=0) for label in range(3)], axis=1)
    right = (found.posterior.argmax(axis=1) == truth).mean()
    assert right > (votes.argmax(axis=1) == truth).mean() + 0.02


def test_the_papers_patients_give_the_papers_results() -> None:
    """How common the grades are, and the errors of observer 1, to the two digits that are printed."""
    found = dawid_skene(*zip(*patients(), strict=True), smoothing=0)
    assert found.converged
    assert np.round(found.prevalence, 2).tolist() == [0.40, 0.42, 0.11, 0.07]
    assert np.round(found.confusion[0], 2).tolist() == [
        [0.89, 0.11, 0.00, 0.00],
        [0.07, 0.88, 0.05, 0.00],
        [0.00, 0.34, 0.66, 0.00],
        [0.00, 0.00, 0.56, 0.44],
    ]


def test_the_papers_patients_give_what_crowd_kit_gives() -> None:
    """crowd-kit 1.4.2, `DawidSkene(n_iter=300, tol=-1e9)` on the same table: all posteriors were the same to 1e-7."""
    found = dawid_skene(*zip(*patients(), strict=True), smoothing=0)
    assert found.prevalence == pytest.approx([0.399555, 0.421983, 0.111795, 0.066667], abs=1e-6)
    assert found.posterior[37] == pytest.approx([0, 0.0212, 0.9788, 0], abs=5e-5)
    assert found.confusion[0, 1] == pytest.approx([0.0706, 0.8764, 0.0530, 0], abs=5e-5)


def test_it_says_so_where_it_has_not_converged() -> None:
    found = dawid_skene(*zip(*patients(), strict=True), most=2)
    assert (found.converged, found.steps) == (False, 2)


def test_a_single_annotator_is_believed() -> None:
    """Nobody else says anything, so what they say most likely is so."""
    found = dawid_skene([0, 1, 2], [0, 0, 0], [0, 1, 1])
    assert found.posterior.argmax(axis=1).tolist() == [0, 1, 1]


def test_truths_are_told_by_row_and_question() -> None:
    """Two who agree outweigh one who says the opposite of them always, whose `no` then means yes."""
    asked = plan([item(n) for n in range(12)])
    told = [
        answer(n, who, {"natural.stereo": way, "natural.anti": "yes"})
        for n in range(12)
        for who, way in (
            ("p-a", "yes" if n % 2 else "no"),
            ("p-b", "yes" if n % 2 else "no"),
            ("p-c", "no" if n % 2 else "yes"),
        )
    ]
    (truth,) = estimate_truths(asked, told)

    people, labels, estimate = truth.table.people, truth.table.labels, truth.estimate
    assert (truth.table.question, estimate.converged, SMOOTHING) == ("natural", True, 1.0)
    assert dict(zip(people, np.bincount(truth.table.person), strict=True)) == {"p-a": 24, "p-b": 24, "p-c": 24}
    found = collect_posteriors([truth])
    assert len(found) == 24
    assert found["race.f.1", "natural.stereo"]["yes"] > 0.95
    assert found["race.f.0", "natural.stereo"]["no"] > 0.95
    assert estimate.confusion[people.index("p-c"), labels.index("no"), labels.index("yes")] > 0.8
    assert str(truth).startswith("natural: Dawid-Skene converged in ")
    assert len(estimate.prevalence) == 2
    assert {*labels} == {"yes", "no"}
    assert estimate_truths(asked, []) == []
