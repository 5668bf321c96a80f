"""Models by family: which one a config.json tells, the scorer it gets, and rows of inference the whole way."""

import json
import re
import shutil
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.commands import fill_in

from senseprobe import api
from senseprobe.cli.application import main
from senseprobe.errors import ModelError, SenseprobeError
from senseprobe.evaluate import models, pipeline, scoring
from senseprobe.evaluate.models import ModelSource
from senseprobe.evaluate.result import Result, read_result
from senseprobe.evaluate.score_tables import read_scores
from senseprobe.evaluate.scorers import SCORERS
from senseprobe.evaluate.scoring import default_scorers
from senseprobe.evaluate.scoring_job import ScoringJob

# Written down by hand from the config.json of well-known models on the Hub (names in comments).
KNOWN = [
    ("bert", ["BertForMaskedLM"], "masked"),  # google-bert/bert-base-uncased
    ("roberta", ["RobertaForMaskedLM"], "masked"),  # FacebookAI/roberta-base
    ("bert", ["BertForPreTraining"], "masked"),  # google/bert_uncased_L-2_H-128_A-2, as early uploads have it
    ("bert", None, "masked"),  # the same, as others have it
    ("modernbert", ["ModernBertForMaskedLM"], "masked"),  # answerdotai/ModernBERT-base
    ("gpt2", ["GPT2LMHeadModel"], "causal"),  # openai-community/gpt2
    ("gpt2", ["GPT2Model"], "causal"),  # bodies of GPT-2 that were saved without the head, which has no weights
    ("llama", ["LlamaForCausalLM"], "causal"),  # meta-llama/Llama-3.2-1B
    ("qwen2", ["Qwen2ForCausalLM"], "causal"),  # Qwen/Qwen2.5-0.5B
    ("bert", ["BertLMHeadModel"], "causal"),
    ("roberta", ["RobertaForSequenceClassification"], "inference"),  # FacebookAI/roberta-large-mnli
    ("bart", ["BartForSequenceClassification"], "inference"),  # facebook/bart-large-mnli
]


@pytest.mark.parametrize(("model_type", "architectures", "ability"), KNOWN)
def test_ability(model_type: str, architectures: list[str] | None, ability: str, tmp_path: Path) -> None:
    """What config.json names decides the ability, without any weights being there."""
    config = {"model_type": model_type, "architectures": architectures}
    (tmp_path / "config.json").write_text(json.dumps(config))
    assert models.ability_of(str(tmp_path)) == ability


@pytest.mark.parametrize("config", [{"model_type": "vit", "architectures": ["ViTModel"]}, {"model_type": "clip"}])
def test_no_ability(config: dict[str, object], tmp_path: Path) -> None:
    """A model that is neither is refused."""
    (tmp_path / "config.json").write_text(json.dumps(config))
    with pytest.raises(ModelError, match="cannot tell what kind of model"):
        models.ability_of(str(tmp_path))


@pytest.mark.parametrize(
    "config",
    [
        {"model_type": "t5"},
        {"model_type": "t5", "architectures": ["T5ForConditionalGeneration"]},
        {"model_type": "bart", "architectures": ["BartForConditionalGeneration"]},
        {"model_type": "bart", "architectures": ["BartModel"]},
    ],
)
def test_encoder_decoders_have_no_ability(config: dict[str, object], tmp_path: Path) -> None:
    """They are refused by what they are, as each loader refuses them."""
    (tmp_path / "config.json").write_text(json.dumps(config))
    with pytest.raises(ModelError, match="it has an encoder and a decoder"):
        models.ability_of(str(tmp_path))


@pytest.fixture(scope="module")
def bart(tiny_models: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An encoder and a decoder, with the tokenizer of RoBERTa."""
    import transformers

    folder = tmp_path_factory.mktemp("bart") / "bart"
    shutil.copytree(tiny_models["roberta"], folder)
    sizes = {"encoder_layers": 1, "decoder_layers": 1, "encoder_attention_heads": 2, "decoder_attention_heads": 2}
    size = len(transformers.AutoTokenizer.from_pretrained(folder))
    config = transformers.BartConfig(vocab_size=size, d_model=8, encoder_ffn_dim=8, decoder_ffn_dim=8, **sizes)
    transformers.BartForConditionalGeneration(config).save_pretrained(folder)
    return folder


@pytest.mark.parametrize("ability", ["masked", "causal", "chat", "vectors"])
def test_each_loader_refuses_encoder_decoders_in_the_same_words(bart: Path, ability: str) -> None:
    """From a folder and in memory. One with a head for classes is a model of inference (test_nli_model.py)."""
    import transformers

    words = "bart: it has an encoder and a decoder: use a model with only one of them"
    with pytest.raises(ModelError, match=words):
        models.load(str(bart), ability=ability)
    model = transformers.BartForConditionalGeneration.from_pretrained(bart)
    tokenizer = transformers.AutoTokenizer.from_pretrained(bart)
    with pytest.raises(ModelError, match=words):
        models.wrap(ModelSource("bart", model=model, tokenizer=tokenizer), ability)


WEAT_SCORERS = ["weat-word", "weat-sent", "weat-cword", "weat-sense"]
BY_TARGETS = ["sc-weat-word", "sc-weat-sense"]


@pytest.mark.parametrize(
    ("architecture", "kinds", "expected"),
    [
        ("BertForMaskedLM", {"contrast"}, ["aul"]),
        ("BertForMaskedLM", {"association"}, WEAT_SCORERS),
        ("BertForMaskedLM", {"contrast", "association"}, ["aul"]),
        ("BertForMaskedLM", {"inference"}, ["aul"]),  # none takes these rows: the first of the model is refused
        ("GPT2LMHeadModel", {"contrast"}, ["ll"]),
        ("GPT2LMHeadModel", {"inference"}, ["ll-nli"]),
        ("GPT2LMHeadModel", {"inference", "contrast"}, ["ll"]),
        ("BertForSequenceClassification", {"inference"}, ["nli"]),
        ("BertForSequenceClassification", {"contrast"}, BY_TARGETS),
        ("NothingKnown", {"association"}, WEAT_SCORERS),  # of which its vectors are asked alone
        ("vectors:", {"contrast"}, BY_TARGETS),
        ("vectors:", {"association"}, WEAT_SCORERS),
    ],
)
def test_the_default_scorer_fits_rows_and_model(
    architecture: str, kinds: set[str], expected: list[str], tmp_path: Path
) -> None:
    """It is found from config.json alone: there are no weights in this folder."""
    types = {"B": "bert", "G": "gpt2", "N": "bert"}
    config = {"model_type": types.get(architecture[0], ""), "architectures": [architecture]}
    (tmp_path / "config.json").write_text(json.dumps(config))
    name = f"vectors:{tmp_path}" if architecture == "vectors:" else str(tmp_path)
    assert [scorer.id for scorer in default_scorers(ModelSource(name), kinds)] == expected


def test_every_ability_has_a_scorer() -> None:
    """No family of models is one that nothing can be asked of."""
    assert {scorer.ability for scorer in SCORERS.values()} == {family.ability for family in models.FAMILIES.values()}


@pytest.fixture
def made(tiny_models: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with ``nli``, ``unnamed`` (the same without names for its classes) and ``gpt``: tiny and random."""
    import torch
    from transformers import AutoTokenizer, BertConfig, BertForSequenceClassification, GPT2Config, GPT2LMHeadModel

    tokenizer = AutoTokenizer.from_pretrained(tiny_models["bert"])
    names = ["CONTRADICTION", "entailment", "Neutral"]
    sizes = {"vocab_size": len(tokenizer), "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2}
    config = BertConfig(**sizes, intermediate_size=64, initializer_range=0.2, id2label=dict(enumerate(names)))
    with torch.random.fork_rng():
        torch.manual_seed(1)
        BertForSequenceClassification(config).save_pretrained(tmp_path / "nli")
        gpt = GPT2Config(vocab_size=len(tokenizer), n_embd=32, n_layer=2, n_head=2, initializer_range=0.2)
        GPT2LMHeadModel(gpt).save_pretrained(tmp_path / "gpt")
    for name in ("nli", "gpt"):
        tokenizer.save_pretrained(tmp_path / name)
    shutil.copytree(tmp_path / "nli", tmp_path / "unnamed")
    told = json.loads((tmp_path / "nli/config.json").read_bytes())
    told |= {"id2label": {str(i): f"LABEL_{i}" for i in range(3)}, "label2id": {f"LABEL_{i}": i for i in range(3)}}
    (tmp_path / "unnamed/config.json").write_text(json.dumps(told))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_inference(made: Path) -> None:
    """Rows of inference have three probabilities each, those that transformers itself gives for the pair alone."""
    import torch
    from transformers import AutoTokenizer, BertForSequenceClassification

    (result,) = api.score("nli", "nli-control@1.0.0", limit=40, out=Path("out"))
    assert result.scorer == "nli"
    assert result.rows is not None
    assert list(result.rows.columns) == ["config", "id", "entailment", "neutral", "contradiction"]
    assert len(result.rows) == 40
    assert {figure.estimand for figure in result.figures} >= {"accuracy"}
    release = api.load("nli-control@1.0.0")
    tokenizer = AutoTokenizer.from_pretrained("nli")
    model = BertForSequenceClassification.from_pretrained("nli").eval()
    for config, rows in result.rows.groupby("config"):
        sentences = release.table(str(config)).set_index("id").loc[rows["id"], ["premise", "hypothesis"]]
        for (premise, hypothesis), row in zip(sentences.itertuples(index=False), rows.itertuples(), strict=True):
            with torch.no_grad():
                logits = model(**tokenizer(premise, hypothesis, return_tensors="pt")).logits
            contradiction, entailment, neutral = logits.softmax(1)[0].tolist()
            np.testing.assert_allclose(
                np.array(row[3:], dtype=float), [entailment, neutral, contradiction], rtol=0, atol=1e-6
            )
    written = read_scores(next(Path("out").rglob("nli*.json")), result)
    assert written is not None
    assert written["neutral"].tolist() == result.rows["neutral"].tolist()


def test_stored_inference(made: Path) -> None:
    """A second run takes all three numbers from the store: to the last bit, without the model's being asked."""
    from transformers import BertForSequenceClassification

    (first,) = api.score("nli", "nli-control@1.0.0:religion", limit=30)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(BertForSequenceClassification, "forward", lambda self, input_ids: pytest.fail("was asked"))
        (second,) = api.score("nli", "nli-control@1.0.0:religion", limit=30)
    assert first.rows is not None
    assert second.rows is not None
    assert first.rows.equals(second.rows)
    assert first.as_dict() == second.as_dict()


def test_variants_share_what_is_stored(made: Path) -> None:
    """After ll, ll-mean and ll-byte need no forward pass, and are what they are by themselves."""
    from senseprobe.evaluate.models.causal import CausalLM

    names = ["ll", "ll-mean", "ll-byte"]
    alone = [api.score("gpt", "sssb@1.0.1:race", [name], store=False)[0] for name in names]
    api.score("gpt", "sssb@1.0.1:race", ["ll"])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(CausalLM, "log_likelihoods", lambda *_: pytest.fail("was asked"))
        shared = api.score("gpt", "sssb@1.0.1:race", names)
    for one, other in zip(alone, shared, strict=True):
        assert one.rows is not None
        assert other.rows is not None
        assert one.rows.equals(other.rows)
        assert one.figures == other.figures


def test_scorers_that_share_are_of_one_making() -> None:
    """What is kept for one is taken for the other: the same parts, of one version, for one kind of model."""
    bases: dict[str, set[tuple[object, ...]]] = {}
    for each in SCORERS.values():
        if each.basis:
            assert each.combine is not None
            bases.setdefault(each.basis, set()).add((each.parts, each.version, each.ability, each.reads, each.columns))
    assert {*bases} == {"ll", "ll-no-start", "aula", "cps", "sss", "question-likely"}
    assert all(len(kinds) == 1 for kinds in bases.values())


def test_labels(made: Path) -> None:
    """Classes without names have to be stated; the result says which, and they are stated again by a replay."""
    with pytest.raises(ModelError, match="unnamed"):
        api.score("unnamed", "nli-control@1.0.0:religion", limit=20)
    stated = "contradiction,entailment,neutral"
    (named,) = api.score("nli", "nli-control@1.0.0:religion", limit=20)
    (told,) = api.score(api.model("unnamed", labels=stated), "nli-control@1.0.0:religion", limit=20, out=Path("out"))
    assert told.model["labels"] == stated
    assert told.rows is not None
    assert named.rows is not None
    assert told.rows.equals(named.rows)
    again = api.replay(next(Path("out").rglob("*.json")))
    assert (again.differences, again.rows) == ((), 20)
    # Other classes for the same weights are another model: nothing that is stored is taken for it.
    others = api.model("unnamed", labels="neutral,entailment,contradiction")
    (other,) = api.score(others, "nli-control@1.0.0:religion", limit=20)
    assert other.rows is not None
    assert other.rows["neutral"].tolist() == told.rows["contradiction"].tolist()
    with pytest.raises(ModelError, match="gpt is a causal language model: --labels applies to NLI models"):
        api.score(api.model("gpt", labels=stated), "sssb@1.0.0:race")


def test_causal(made: Path) -> None:
    """A causal model scores contrasts with `ll` where nothing is asked, and replays. test_causal.py has the numbers."""
    (result,) = api.score("gpt", "sssb@1.0.0:noun-bare", limit=8, out=Path("out"))
    assert result.scorer == "ll"
    assert result.rows is not None
    assert list(result.rows.columns) == ["config", "id", "stereo_score", "anti_score"]
    assert (result.rows[["stereo_score", "anti_score"]].to_numpy() < 0).all()
    assert api.replay(next(Path("out").rglob("*.json"))).differences == ()


@pytest.mark.parametrize(
    ("model", "release", "scorer", "message"),
    [
        (
            "nli",
            "sssb@1.0.0",
            "nli",
            r"such as \S+ \(masked\), ll \(causal\), choice-likely \(chat\) or sc-weat-word \(vectors\); nli needs",
        ),
        (
            "gpt",
            "nli-control@1.0.0",
            "ll",
            r"a scorer such as ll-nli \(causal\), nli-chat \(chat\) or nli \(inference\); ll needs contrast",
        ),
    ],
)
def test_rows_of_another_kind(model: str, release: str, scorer: str, message: str, made: Path) -> None:
    """Rows that a scorer does not take are refused before the model's weights are read."""
    (made / model / "model.safetensors").unlink()
    with pytest.raises(SenseprobeError, match=message):
        api.score(model, release, scorer)


# --- the control of inference ---------------------------------------------------------------------------------------


@pytest.fixture
def probes(made: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A release of inference probes: the scaffold's own."""
    for command in (["init", "mine"], ["new", "jobs/tools", "--kind", "inference"], ["build", "jobs", "1.0.0"]):
        if command[0] == "build":
            fill_in(Path())
        monkeypatch.setattr(sys, "argv", ["senseprobe", *command])
        with pytest.raises(SystemExit, match=r"^0$"):
            main()
        monkeypatch.chdir(made / "mine")
    return "jobs@1.0.0"


# Takes long: a control of 2,000 pairs is scored.
def test_probes_are_printed_beside_the_control(
    made: Path, probes: str, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """Without a result on nli-control 2,000 rows of it are scored; a result that is there is taken as it is."""
    line = ["senseprobe", "score", "../nli", probes, "--limit", "50"]
    monkeypatch.setattr(sys, "argv", line)
    with pytest.raises(SystemExit, match=r"^0$"):
        main()
    out = capfd.readouterr().out
    assert "nli · ../nli on jobs@1.0.0" in out
    assert "release=nli-control@1.0.1" in out
    (control,) = Path("results/nli-control@1.0.1").rglob("nli*.json")
    first = read_result(control)
    assert first.limit == 2000
    assert control.name == "nli.limit2000.json"
    assert f"result in {control}" in out
    assert [figure.estimand for figure in first.figures if figure.group is None] == ["accuracy"] * 3
    before = control.stat().st_mtime_ns
    probe, known = api.score("../nli", probes, limit=50, out=Path("results"), control=True)
    assert (probe.release["name"], known.signature) == (probes, first.signature)
    assert control.stat().st_mtime_ns == before
    (result,) = Path(f"results/{probes}").rglob("nli*.json")
    monkeypatch.setattr(sys, "argv", ["senseprobe", "study", "slice", str(result), "--largest", "entailment"])
    with pytest.raises(SystemExit, match=r"^0$"):
        main()
    figure = next(each for each in first.figures if each.group is None)
    out = capfd.readouterr().out
    assert re.search(rf"nli-control@1\.0\.1 +{figure.config} +accuracy .* {figure.value:.1f} \[", out)
    (alone,) = api.score("../nli", probes, limit=50, control=False)
    assert alone.signature == probe.signature


# Takes long: a control of 2,000 pairs is scored.
def test_a_first_look_at_the_control_is_not_enough(made: Path, probes: str) -> None:
    """Of 20 rows the accuracy says nothing: 2,000 are scored all the same, and those are shown from then on."""
    api.score("../nli", "nli-control@1.0.1", limit=20, out=Path("results"))
    for _ in range(2):
        _, control = api.score("../nli", probes, limit=50, out=Path("results"), control=True)
        assert control.limit == 2000
    assert len(list(Path("results/nli-control@1.0.1").rglob("*.json"))) == 2


def test_a_result_on_the_control_needs_no_other(made: Path) -> None:
    """Its accuracy is what others are read beside."""
    (only,) = api.score("nli", "nli-control@1.0.1:religion", limit=20, control=True)
    assert only.release["name"] == "nli-control@1.0.1"


def test_probes_without_the_control(
    made: Path, probes: str, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """Where the release of the control is not there, or damaged, the result is, with a line that says what is not."""
    monkeypatch.setattr("senseprobe.evaluate.control.RELEASE", "nli-control@9.9.9")
    told: list[str] = []
    (probe,) = api.score("../nli", probes, limit=20, out=Path("out"), control=True, say=told.append)
    (line,) = told
    assert line.startswith("the accuracy on the control is missing: unknown release 'nli-control@9.9.9': did you mean ")
    assert read_result(next(Path("out").rglob("nli*.json"))).signature == probe.signature
    folder = Path("releases/nli-control/9.9.9")
    folder.mkdir(parents=True)
    (folder / "release.json").write_text("{}")
    told.clear()
    (again,) = api.score("../nli", probes, limit=20, control=True, say=told.append)
    assert again.signature == probe.signature
    assert [line.startswith("the accuracy on the control is missing: release.json: E401") for line in told] == [True]


def test_control_that_was_interrupted_or_damaged(made: Path, probes: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was scored before it is kept; a result on the control that cannot be read is made again."""
    monkeypatch.setattr("senseprobe.evaluate.control.ROWS", 40)

    def interrupted(job: ScoringJob, *words: Any, **options: Any) -> Result:  # noqa: ANN401 - as scoring.run
        if job.release.manifest.name.startswith("nli-control"):
            raise KeyboardInterrupt
        return pipeline.run(job, *words, **options)

    with monkeypatch.context() as patch:
        patch.setattr(scoring, "run", interrupted)
        with pytest.raises(KeyboardInterrupt):
            api.score("../nli", probes, limit=20, out=Path("out"), control=True)
    (kept,) = Path("out").rglob("nli*.json")
    probe, control = api.score("../nli", probes, limit=20, out=Path("out"), control=True)
    assert read_result(kept).signature == probe.signature
    (path,) = Path("out").glob("nli-control@*/*/nli*.json")
    path.write_text("{")
    _, again = api.score("../nli", probes, limit=20, out=Path("out"), control=True)
    assert read_result(path).signature == again.signature == control.signature


def test_coarse_labels(made: Path) -> None:
    """In inference, rows are counted whose largest label is another in float32: here by hand."""
    spec = "nli-control@1.0.1:religion"
    models = (api.model("nli", dtype=dtype) for dtype in ("bfloat16", "float32"))
    coarse, fine = (api.score(model, spec, limit=150)[0].rows for model in models)
    assert coarse is not None
    assert fine is not None
    numbers = ["entailment", "neutral", "contradiction"]
    largest = [[*table[numbers].idxmax(axis=1)] for table in (coarse, fine)]
    (result,) = api.score(api.model("nli", dtype="bfloat16"), spec, limit=150)
    flipped = sum(before != after for before, after in zip(*largest, strict=True))
    assert result.coarse == {"rows": 150, "flipped": flipped}
    assert api.score("nli", spec, limit=150)[0].coarse is None
