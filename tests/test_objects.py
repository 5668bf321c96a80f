"""Models, files of vectors and servers as objects, and the keywords of 0.2 in whose place they are."""

import inspect
import warnings
from pathlib import Path
from typing import Any

import pytest

import senseprobe
from senseprobe import ModelError, SenseprobeError, api
from senseprobe.evaluate.served.address import ServingOptions
from senseprobe.evaluate.texts.api import bias_score

PLANE = {"rose": (1, 0), "lily": (3, 4), "ant": (0, 2), "fly": (4, 3), "joy": (5, 0), "grief": (0, 1)}


@pytest.fixture(scope="module")
def bert(tiny_models: dict[str, Path]) -> str:
    return str(tiny_models["bert"])


def test_functions_have_few_parameters() -> None:
    """14 at most beside `progress`, and `workers` of `score`: what loads, reads, asks or shares work is an object."""
    for function in (senseprobe.score, api.estimate, senseprobe.replay, bias_score, senseprobe.plant):
        assert len({*inspect.signature(function).parameters} - {"progress", "workers"}) <= 14


def test_nothing_is_loaded_or_asked_until_it_is_used() -> None:
    """There is no such folder, file or server; the objects say what they are, and which options they have."""
    model = senseprobe.model("no/such", dtype="float64", start=False)
    vectors = senseprobe.vectors("no-such.txt", lower=True)
    server = senseprobe.server("http://127.0.0.1:9/v1", model="none", concurrency=2)

    assert repr(model) == "<Model no/such: dtype 'float64', start 'off'>"
    assert repr(vectors) == "<Vectors vectors:no-such.txt: lower True>"
    assert repr(server) == "<Server openai:http://127.0.0.1:9/v1#none: concurrency 2>"
    assert repr(senseprobe.vectors("senses:x")) == "<Vectors senses:x>"
    assert (vectors.abilities, server.abilities) == (("vectors",), ("chat", "causal"))
    for unusable in (model, vectors):
        with pytest.raises(ModelError, match="such"):
            unusable.describe()


def test_a_model_describes_itself_as_its_results_do(bert: str) -> None:
    """Its config is hashed as in a result; the scorers are those that `score` takes, here all of masked models."""
    (result,) = senseprobe.score(bert, "sssb@1.0.1:noun-bare", "aul", store=False)
    told = senseprobe.model(bert).describe()

    assert told.abilities == ("masked",)
    assert {*told.identity.items()} <= {*result.model.items()}
    assert {"config", "dtype"} <= {*told.identity}
    assert {"aul", "pll", "weat-cword", "sc-weat-word"} <= {*told.scorers}
    assert {"ll", "weat-sense", "choice-likely"} & {*told.scorers} == set()


def test_an_object_is_scored_as_its_name(bert: str) -> None:
    (named,), (made,) = (
        senseprobe.score(each, "sssb@1.0.1:noun-bare", "aul", store=False) for each in (bert, senseprobe.model(bert))
    )

    assert named.as_dict() == made.as_dict()


def test_vectors_describe_themselves_for_a_release(tmp_path: Path) -> None:
    """Three words of two numbers each; `rose` is in a set of weat1 of association 1.1.0, and the others are not."""
    (tmp_path / "v.txt").write_text("rose 1 0\nzzyx 0 2\nqqq 3 4\n")
    alone = senseprobe.vectors(tmp_path / "v.txt").describe(None)
    told = senseprobe.vectors(tmp_path / "v.txt").describe("association@1.1.0")
    assert repr(alone) == f"<VectorSummary {tmp_path / 'v.txt'}: 3 vectors of 2 dimensions>"
    assert str(told).splitlines()[:2] == [f"{tmp_path / 'v.txt'}: {told.format}", "3 vectors of 2 dimensions, decimal"]
    assert "association@1.1.0" in str(told)

    assert (alone.count, alone.dimensions, alone.norms, alone.coverage) == (3, 2, (1.0, 5.0), ())
    (flowers,) = (part for part in told.coverage if (part.test, part.role) == ("weat1", "X"))
    assert flowers.words - len(flowers.missing) == 1


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: senseprobe.model("x", tokenizer=object()), "leave them out if you name a folder"),
        (lambda: senseprobe.vectors("x", name="y"), "leave it out if you name a file"),
        (lambda: senseprobe.server("http://127.0.0.1/v1", price=(-1, 2)), "of 0 or more"),
        (lambda: senseprobe.server("ftp://x"), "is not the address of a served model"),
        (lambda: api.source_of("vectors:x", device="cpu"), "leave out --device, an option of models that are loaded"),
        (lambda: api.source_of("x", lower=True, send=True), "leave out --lower, --send"),
        (lambda: api.source_of(senseprobe.model("x"), device="cpu"), "leave out device"),
        (lambda: api.estimate("x", "sssb@1.0.1"), "nothing to estimate"),
    ],
)
def test_options_that_do_not_fit(make: Any, message: str) -> None:  # noqa: ANN401
    with pytest.raises(SenseprobeError, match=message):
        make()


def test_keywords_of_02_warn_once_and_do_the_same(bert: str) -> None:
    """The warning names each of them, and the new spelling; it is told at the line that called."""
    with pytest.warns(DeprecationWarning, match="score") as heard:
        (old,) = senseprobe.score(
            bert,
            "sssb@1.0.1:noun-bare",
            "aul",
            dtype="float64",
            device="cpu",
            stored=False,  # type: ignore[call-arg]
        )
    model = senseprobe.model(bert, dtype="float64", device="cpu")
    (new,) = senseprobe.score(model, "sssb@1.0.1:noun-bare", "aul", store=False)
    (text,) = (str(warning.message) for warning in heard)

    assert old.as_dict() == new.as_dict()
    assert old.model["dtype"] == "float64"
    assert all(part in text for part in ("dtype=", "device=", "stored=", "write model(…, device=…, dtype=…), store=…"))
    assert heard[0].filename == __file__


def test_other_keywords_of_02(tmp_path: Path) -> None:
    """`name` of vectors, `factors` of a table, `exact`, and `serving`, whose options no vectors have."""
    table = __import__("pandas").DataFrame({"test": "toy", "role": [*"XXYYAB"], "word": [*PLANE]})
    old: dict[str, Any] = {"name": "made", "exact": True, "factors": (), "stored": False}
    with pytest.warns(DeprecationWarning, match="vectors"):
        (result,) = senseprobe.score(PLANE, table, say=print, **old)
    assert result.model["name"] == "made"
    assert {figure.estimand for figure in result.figures} >= {"weat", "weat-exact"}
    with (
        pytest.warns(DeprecationWarning, match="server"),
        pytest.raises(ModelError, match="leave out --concurrency, an"),
    ):
        senseprobe.score(PLANE, table, serving=ServingOptions(concurrency=3))  # type: ignore[call-arg]


def test_unknown_keywords_are_refused() -> None:
    with warnings.catch_warnings(), pytest.raises(TypeError, match="devise"):
        senseprobe.score("x", "sssb@1.0.1", devise="cpu")  # type: ignore[call-arg]


def test_what_is_given_to_objects_is_named_and_never_acts_on_a_terminal() -> None:
    """A name with a control sequence is escaped in `repr`; what an object cannot be made of is one message."""
    assert repr(senseprobe.model("a\x1b[2J")) == r"<Model 'a\x1b[2J'>"
    assert repr(senseprobe.vectors(PLANE, name="a\nb")) == r"<Vectors 'a\nb'>"
    given: Any = None
    with pytest.raises(ModelError, match="expected the address of a server, not NoneType"):
        senseprobe.server(given)
    with pytest.raises(SenseprobeError, match="expected a table, for example a DataFrame, not str"):
        senseprobe.draft("sssb@1.0.1")
    with pytest.raises(ModelError, match="vectors in memory: an array has no words"):
        senseprobe.vectors([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]).describe(None)
