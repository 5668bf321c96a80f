"""Two models, and two senses of a word, compared on figures of questions: against plain loops."""

import pandas as pd
import pytest
from scipy import stats
from tests.kinds.question_rows import DESIGN, OF_ROWS, answers_of, design_rows, draw, naive_variance, with_answers

from senseprobe.evaluate.estimands import contrast_figures
from senseprobe.evaluate.estimands.comparison import compare, compare_contrast
from senseprobe.records import Contrast


def test_two_models_are_compared_by_loops() -> None:
    """Of the ratio, levels add what they add to one model's less what they add to the other's."""
    rows = design_rows()
    a, b = draw(rows, 1, (0.6, 0.2, 0.2)), draw(rows, 2, (0.4, 0.4, 0.2))
    results = {result.estimand: result for result in compare(a, b, DESIGN, "age")}

    of_ambiguous, of_said, ratios = [], [], []
    for scored in (a, b):
        ambiguous = scored[scored["condition"] == "ambiguous"]
        k = [{"stereo": 1, "anti": -1, "unknown": 0}[answer] for answer in answers_of(ambiguous)]
        of_ambiguous.append([x / 2 / len(k) for x in k])
        said = scored[scored["condition"] == "disambiguated"]
        x = [answer == "stereo" for answer in answers_of(said)]
        y = [answer != "unknown" for answer in answers_of(said)]
        ratios.append(sum(x) / sum(y))
        of_said.append([(one - ratios[-1] * other) / sum(y) for one, other in zip(x, y, strict=True)])
    for name, (first, second), table in (("s-amb", of_ambiguous, ambiguous), ("s-dis", of_said, said)):
        apart = [one - other for one, other in zip(first, second, strict=True)]
        centre = sum(apart) / len(apart)
        reach = 200 * stats.t.ppf(0.975, 5) * naive_variance([x - centre for x in apart], table, OF_ROWS) ** 0.5
        result = results[name]
        expected = 200 * (ratios[0] - ratios[1]) if name == "s-dis" else 200 * sum(apart)
        assert result.difference == pytest.approx(expected)
        assert (result.low, result.high) == pytest.approx((expected - reach, expected + reach))


def test_a_model_that_answers_nothing_is_not_compared() -> None:
    rows = design_rows()
    a, b = draw(rows, 1, (0.6, 0.2, 0.2)), with_answers(rows, ["unknown"] * len(rows))
    for first, second in ((a, b), (b, a)):
        result = next(result for result in compare(first, second, DESIGN, "age") if result.estimand == "s-dis")
        assert (result.difference, result.note) == (None, "no row can be used")


CONTRAST = Contrast(name="age-sense", estimand="s-amb", a="age", b="age-things")


def test_people_less_things_by_loops() -> None:
    """Templates and wordings are of both sides, and what they add is subtracted; each side has names of its own."""
    a, b = draw(design_rows(), 1, (0.6, 0.2, 0.2)), draw(design_rows(things="thing "), 2, (0.3, 0.4, 0.3))
    (figure,) = contrast_figures(CONTRAST, a, DESIGN, b, DESIGN)

    parts, terms = [], []
    for scored, sign in ((a, 1), (b, -1)):
        ambiguous = scored[scored["condition"] == "ambiguous"]
        k = [{"stereo": 1, "anti": -1, "unknown": 0}[answer] for answer in answers_of(ambiguous)]
        parts.append((ambiguous, sum(k) / len(k)))
        terms.append([sign * (x - sum(k) / len(k)) / 2 / len(k) for x in k])
    value = 100 * (parts[0][1] - parts[1][1])
    shared = {name: OF_ROWS[name] for name in ("template", "wording")}
    variance = naive_variance([*terms[0], *terms[1]], pd.concat([part for part, _ in parts]), shared)
    variance += sum(
        naive_variance(one, part, {"names": OF_ROWS["names"]}) for one, (part, _) in zip(terms, parts, strict=True)
    )
    reach = 200 * stats.t.ppf(0.975, 5) * variance**0.5
    assert figure.value == pytest.approx(value)
    assert (figure.low, figure.high) == pytest.approx((value - reach, value + reach))
    assert (figure.neutral, figure.levels["template"]) == (0, 6)


def test_the_contrast_of_the_same_answers_is_zero() -> None:
    """As often in both senses; and always stereotyped less always against it is 200, the end of its range."""
    rows, things = design_rows(), design_rows(things="thing ")
    answers = answers_of(draw(rows, 1, (0.6, 0.2, 0.2)))
    (alike,) = contrast_figures(CONTRAST, with_answers(rows, answers), DESIGN, with_answers(things, answers), DESIGN)
    most = (with_answers(rows, ["stereo"] * len(rows)), with_answers(things, ["anti"] * len(rows)))
    (apart,) = contrast_figures(CONTRAST, most[0], DESIGN, most[1], DESIGN)

    assert alike.value == pytest.approx(0)
    assert apart.value == apart.high == 200
    assert 0 < float(apart.low or 0) < 200


def test_two_models_on_people_less_things() -> None:
    rows, things = design_rows(), design_rows(things="thing ")
    a = [draw(rows, 1, (0.6, 0.2, 0.2)), draw(things, 2, (0.3, 0.4, 0.3))]
    b = [draw(rows, 3, (0.4, 0.4, 0.2)), draw(things, 4, (0.3, 0.4, 0.3))]
    (result,) = compare_contrast(CONTRAST, a, b, [DESIGN, DESIGN])
    senses = [contrast_figures(CONTRAST, pair[0], DESIGN, pair[1], DESIGN)[0].value for pair in (a, b)]

    assert [result.a, result.b] == pytest.approx(senses)
    assert result.difference == pytest.approx(float(senses[0] or 0) - float(senses[1] or 0))
