"""Copies of models without directions: the input embeddings alone are others, and they compute what they should.

The oracle is transformers itself, which gets the parent's vectors, projected by hand, as `inputs_embeds`.
"""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from tests.conformance import masked_models

from senseprobe.errors import ModelError, SenseprobeError
from senseprobe.evaluate.mitigation.erasure import Erasure

if TYPE_CHECKING:
    from senseprobe.evaluate.mitigation.record import Change

CAUSAL = ("gpt2", "llama", "qwen2", "bloom", "mamba")
MASKED = tuple(masked_models.MODELS)
TEXT = "she is a nurse and he is not"


@pytest.fixture
def copied(tmp_path: Path) -> Callable[..., "tuple[Path, Change, Erasure]"]:
    """Makes a copy of a model without what its tokens she and he differ in, and returns what was removed."""

    def copy(parent: Path, **options: Any) -> "tuple[Path, Change, Erasure]":  # noqa: ANN401
        from senseprobe.evaluate.mitigation import embeddings
        from senseprobe.evaluate.mitigation.word_forms import split_words

        opened = embeddings.open_parent(str(parent))
        pairs = split_words(opened.tokens, ["he", "she"], "one").pairs("he", "she").values()
        erasure = Erasure.onto(np.array([opened.vectors([a])[0] - opened.vectors([b])[0] for a, b in pairs]).T)
        with embeddings.copied_without(opened, erasure, tmp_path / "out", **options) as (_, change):
            pass
        return tmp_path / "out", change, erasure

    return copy


def tensors_of(folder: Path) -> dict[str, Any]:
    """All tensors in the files of a folder, by name."""
    from safetensors.torch import load_file

    return {name: tensor for path in sorted(folder.glob("*.safetensors")) for name, tensor in load_file(path).items()}


def run(folder: Path, *, remove: Erasure | None = None) -> Any:  # noqa: ANN401 - a tensor
    """The logits of a model for a text; `remove` is what is removed from what it reads, not from its table."""
    import torch
    from transformers import AutoModelForCausalLM, AutoModelForMaskedLM, AutoTokenizer

    kind = AutoModelForMaskedLM if "masked" in str(folder) or "Masked" in json_of(folder)["architectures"][0] else None
    model = (kind or AutoModelForCausalLM).from_pretrained(folder, dtype=torch.float32).eval()
    inputs = AutoTokenizer.from_pretrained(folder)(TEXT, return_tensors="pt")
    ids = inputs.pop("input_ids")
    with torch.inference_mode():
        if remove is None:
            return model(input_ids=ids, **inputs).logits
        vectors = model.get_input_embeddings()(ids)
        changed = torch.tensor(remove.apply(vectors[0].numpy()), dtype=torch.float32)
        return model(inputs_embeds=changed[None], **inputs).logits


def json_of(folder: Path) -> dict[str, Any]:
    """The config of a model."""
    config: dict[str, Any] = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    return config


@pytest.mark.parametrize("name", [*MASKED, *CAUSAL])
def test_the_input_alone_is_changed(
    name: str, parents: dict[str, Path], copied: Callable[..., "tuple[Path, Change, Erasure]"]
) -> None:
    """Other tensors are the same bytes, and the copy computes what the parent makes of projected vectors."""
    import torch

    parent = parents[name]
    out, change, erasure = copied(parent)
    before, after = tensors_of(parent), tensors_of(out)
    changed = {key for key in before if not torch.equal(before[key], after[key])}
    assert len(changed) == 1
    assert all(before[key].numpy().tobytes() == after[key].numpy().tobytes() for key in {*before} - changed)
    (key,) = changed
    np.testing.assert_allclose(after[key].double().numpy(), erasure.apply(before[key].numpy()), rtol=0, atol=1e-6)
    assert torch.allclose(run(out), run(parent, remove=erasure), rtol=0, atol=1e-6)
    assert torch.allclose(run(parent), run(parent, remove=None), rtol=0, atol=0)
    assert not torch.allclose(run(out), run(parent), rtol=0, atol=1e-3)

    for key in {*after} - {*before}:  # of a head that has a table of its own now
        assert any(torch.equal(after[key], tensor) for tensor in before.values())
    assert change.head == ("untied" if {*after} - {*before} else "none")
    assert change.residual < 1e-6
    restored = after[next(iter(changed))].double().numpy() + change.removed @ erasure.left.T
    np.testing.assert_allclose(restored, before[next(iter(changed))].numpy(), rtol=0, atol=1e-6)
    unlike = {path.name for path in parent.iterdir() if path.read_bytes() != (out / path.name).read_bytes()}
    assert unlike == ({"model.safetensors"} | ({"config.json"} if change.head == "untied" else set()))
    differing = {
        key for key in {**json_of(parent), **json_of(out)} if json_of(parent).get(key) != json_of(out).get(key)
    }
    assert differing == ({"tie_word_embeddings"} if change.head == "untied" else set())


@pytest.mark.parametrize("name", ["bert", "albert", "gpt2", "roberta"])
def test_a_tied_head_can_be_changed_too(
    name: str, parents: dict[str, Path], copied: Callable[..., "tuple[Path, Change, Erasure]"]
) -> None:
    """The files differ in one tensor, the config in nothing, and the output reads what the input does."""
    import torch
    from transformers import AutoModelForCausalLM, AutoModelForMaskedLM, AutoTokenizer

    out, change, erasure = copied(parents[name], head="tied")
    before, after = tensors_of(parents[name]), tensors_of(out)
    assert {*before} == {*after}
    assert sum(not torch.equal(before[key], after[key]) for key in before) == 1
    assert (change.head, json_of(out)) == ("tied", json_of(parents[name]))

    kind = AutoModelForCausalLM if name in CAUSAL else AutoModelForMaskedLM
    model = kind.from_pretrained(parents[name], dtype=torch.float32).eval()
    table = model.get_input_embeddings().weight
    with torch.inference_mode():
        table.copy_(torch.tensor(erasure.apply(table.numpy())))
        expected = model(**AutoTokenizer.from_pretrained(out)(TEXT, return_tensors="pt")).logits
    assert torch.allclose(run(out), expected, rtol=0, atol=1e-6)


def test_a_head_that_has_a_table_of_its_own(
    parents: dict[str, Path], copied: Callable[..., "tuple[Path, Change, Erasure]"]
) -> None:
    """Nothing is to be untied, and it cannot be changed with the input."""
    with pytest.raises(ModelError, match="does not read the table of its input: leave --head out"):
        copied(parents["llama"], head="tied")
    assert copied(parents["llama"])[1].head == "none"


@pytest.fixture
def parent(parents: dict[str, Path], tmp_path: Path) -> Path:
    """A copy of a masked model that a test may change."""
    return Path(shutil.copytree(parents["bert"], tmp_path / "masked-parent"))


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float64"])
def test_number_formats(dtype: str, parent: Path, copied: Callable[..., "tuple[Path, Change, Erasure]"]) -> None:
    """The copy has the format of its parent; what is left of a direction is what that rounds."""
    import torch
    from safetensors.torch import save_file

    tensors = {name: tensor.to(getattr(torch, dtype)) for name, tensor in tensors_of(parent).items()}
    save_file(tensors, parent / "model.safetensors", metadata={"format": "pt"})
    out, change, erasure = copied(parent)
    after = tensors_of(out)
    assert {str(tensor.dtype) for tensor in after.values()} == {f"torch.{dtype}"}
    key = "bert.embeddings.word_embeddings.weight"
    expected = torch.tensor(erasure.apply(tensors[key].double().numpy())).to(getattr(torch, dtype))
    assert torch.equal(after[key], expected)
    left = np.abs(erasure.read(after[key].double().numpy())).max()
    assert change.residual == pytest.approx(left)
    assert 0 < change.residual < {"float16": 1e-2, "bfloat16": 5e-2, "float64": 1e-14}[dtype]


def test_norms(parent: Path, copied: Callable[..., "tuple[Path, Change, Erasure]"]) -> None:
    """They stay as they fall, and get what they were where that is requested; the parent can be computed either way."""
    key = "bert.embeddings.word_embeddings.weight"
    before = tensors_of(parent)[key].double().numpy()
    norms = np.linalg.norm(before, axis=1)
    for renormalise in (False, True):
        out, change, erasure = copied(parent, renormalise=renormalise)
        after = tensors_of(out)[key].double().numpy()
        ratios = np.linalg.norm(after, axis=1) / norms
        np.testing.assert_allclose(ratios.mean(), change.norms.mean, atol=1e-6)
        np.testing.assert_allclose(ratios.min(), change.norms.least, atol=1e-6)
        assert (change.scale is not None, bool(np.allclose(ratios, 1, atol=1e-6))) == (renormalise, renormalise)
        scale = 1 if change.scale is None else change.scale[:, None]
        np.testing.assert_allclose(after / scale + change.removed @ erasure.left.T, before, rtol=0, atol=1e-6)
        shutil.rmtree(out)


def test_an_affine_map(parent: Path, tmp_path: Path) -> None:
    """A map with a mean of its own moves vectors around that."""
    from senseprobe.evaluate.mitigation import embeddings

    generator = np.random.default_rng(5)
    opened = embeddings.open_parent(str(parent))
    right = np.linalg.qr(generator.normal(size=(opened.dimensions, 2)))[0]
    left = right + 0.1 * (np.eye(opened.dimensions) - right @ right.T) @ generator.normal(size=right.shape)
    erasure = Erasure(left, right, generator.normal(size=opened.dimensions))
    with embeddings.copied_without(opened, erasure, tmp_path / "out"):
        pass
    key = "bert.embeddings.word_embeddings.weight"
    before, after = (tensors_of(folder)[key].double().numpy() for folder in (parent, tmp_path / "out"))
    np.testing.assert_allclose(after, before - (before - erasure.mean) @ right @ left.T, rtol=0, atol=1e-6)
    with pytest.raises(ModelError, match=f"{opened.dimensions} dimensions, and the directions have 3"):
        embeddings.copied_without(opened, Erasure.onto(np.eye(3)[:, :1]), tmp_path / "other").__enter__()


@pytest.mark.parametrize("name", ["gpt2", "llama"])
def test_several_files(
    name: str, parents: dict[str, Path], tmp_path: Path, copied: Callable[..., "tuple[Path, Change, Erasure]"]
) -> None:
    """A model in parts is copied in the same parts; a head that is new stands in the index."""
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    parent = tmp_path / "parts"
    AutoModelForCausalLM.from_pretrained(parents[name]).save_pretrained(parent, max_shard_size="20KB")
    AutoTokenizer.from_pretrained(parents[name]).save_pretrained(parent)
    shards = sorted(path.name for path in parent.glob("*.safetensors"))
    assert len(shards) > 3
    out, _, erasure = copied(parent)
    assert sorted(path.name for path in out.glob("*.safetensors")) == shards
    index = json.loads((out / "model.safetensors.index.json").read_text())
    after = tensors_of(out)
    assert {*index["weight_map"]} == {*after}
    assert sum(tensor.numel() * tensor.element_size() for tensor in after.values()) == index["metadata"]["total_size"]
    same = [shard for shard in shards if (parent / shard).read_bytes() == (out / shard).read_bytes()]
    assert len(same) == len(shards) - 1
    assert torch.allclose(run(out), run(parent, remove=erasure), rtol=0, atol=1e-6)


def test_names_of_an_older_transformers(
    parents: dict[str, Path], tmp_path: Path, copied: Callable[..., "tuple[Path, Change, Erasure]"]
) -> None:
    """The first GPT-2 has names without the prefix of its body; files of BERT may have the table of the head, too."""
    import torch
    from safetensors.torch import save_file

    for name, rename in (("gpt2", True), ("bert", False)):
        parent = Path(
            shutil.copytree(parents[name], tmp_path / f"{name}-masked" if name == "bert" else tmp_path / name)
        )
        tensors = {key.removeprefix("transformer."): tensor for key, tensor in tensors_of(parent).items()}
        if not rename:
            tensors["cls.predictions.decoder.weight"] = tensors["bert.embeddings.word_embeddings.weight"].clone()
        save_file(tensors, parent / "model.safetensors", metadata={"format": "pt"})
        for head in ("untied", "tied"):
            out, change, erasure = copied(parent, head=head)
            assert change.head == head
            after = tensors_of(out)
            changed = {key for key, tensor in tensors.items() if not torch.equal(tensor, after[key])}
            assert len(changed) == (2 if head == "tied" and not rename else 1)
            if head == "untied":
                assert torch.allclose(run(out), run(parent, remove=erasure), rtol=0, atol=1e-6)
            shutil.rmtree(out)


def test_a_body_without_a_head(
    parents: dict[str, Path], tmp_path: Path, copied: Callable[..., "tuple[Path, Change, Erasure]"]
) -> None:
    """An encoder has nothing to untie, and its files of sentence-transformers come along."""
    import torch
    from transformers import AutoModel, AutoTokenizer

    from senseprobe.evaluate import models

    parent = tmp_path / "body"
    AutoModel.from_pretrained(parents["bert"]).save_pretrained(parent)
    AutoTokenizer.from_pretrained(parents["bert"]).save_pretrained(parent)
    steps = [("", "Transformer"), ("1_Pooling", "Pooling")]
    modules = [
        {"idx": i, "name": str(i), "path": path, "type": f"sentence_transformers.models.{kind}"}
        for i, (path, kind) in enumerate(steps)
    ]
    (parent / "modules.json").write_text(json.dumps(modules))
    (parent / "1_Pooling").mkdir()
    pooling = {"word_embedding_dimension": 24, "pooling_mode_mean_tokens": True}
    (parent / "1_Pooling" / "config.json").write_text(json.dumps(pooling))
    (parent / "pytorch_model.bin").write_bytes(b"not to be copied")
    (parent / "LICENSE").write_text("free")
    out, change, _ = copied(parent)
    before, after = tensors_of(parent), tensors_of(out)
    assert (change.head, {*before}, json_of(parent)) == ("none", {*after}, json_of(out))
    assert sum(not torch.equal(before[key], after[key]) for key in before) == 1
    names = {str(path.relative_to(out)) for path in out.rglob("*") if path.is_file()}
    assert {"1_Pooling/config.json", "modules.json", "LICENSE"} <= names
    assert "pytorch_model.bin" not in names
    units = [models.load(str(folder), ability="vectors").identity for folder in (parent, out)]
    assert [units[0][part] == units[1][part] for part in ("weights", "config", "tokenizer")] == [False, True, True]


def test_a_model_of_inference(
    parents: dict[str, Path], tmp_path: Path, copied: Callable[..., "tuple[Path, Change, Erasure]"]
) -> None:
    """A classification head is no table of tokens: it stays."""
    import torch
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    parent = tmp_path / "inference"
    labels = {"id2label": dict(enumerate(["entailment", "neutral", "contradiction"])), "num_labels": 3}
    AutoModelForSequenceClassification.from_pretrained(parents["roberta"], **labels).save_pretrained(parent)
    AutoTokenizer.from_pretrained(parents["roberta"]).save_pretrained(parent)
    out, change, _ = copied(parent)
    before, after = tensors_of(parent), tensors_of(out)
    assert (change.head, {*before}) == ("none", {*after})
    assert sum(not torch.equal(before[key], after[key]) for key in before) == 1


def _link(parent: Path, name: str) -> None:
    shutil.move(parent / name, parent.parent / f"elsewhere-{name}")
    (parent / name).symlink_to(parent.parent / f"elsewhere-{name}")


def _quantise(parent: Path) -> None:
    config = {**json_of(parent), "quantization_config": {"quant_method": "bitsandbytes", "load_in_8bit": True}}
    (parent / "config.json").write_text(json.dumps(config))


def _make_integers(parent: Path) -> None:
    import torch
    from safetensors.torch import save_file

    key, tensors = "bert.embeddings.word_embeddings.weight", tensors_of(parent)
    save_file({**tensors, key: tensors[key].to(torch.int8)}, parent / "model.safetensors", metadata={"format": "pt"})


def _make_infinite(parent: Path) -> None:
    from safetensors.torch import save_file

    tensors = tensors_of(parent)
    tensors["bert.embeddings.word_embeddings.weight"][3, 3] = float("inf")
    save_file(tensors, parent / "model.safetensors", metadata={"format": "pt"})


def _pickle(parent: Path) -> None:
    import torch

    torch.save(tensors_of(parent), parent / "pytorch_model.bin")
    (parent / "model.safetensors").unlink()


def _cut(parent: Path) -> None:
    data = (parent / "model.safetensors").read_bytes()
    (parent / "model.safetensors").write_bytes(data[:-100])


def _rename(parent: Path) -> None:
    from safetensors.torch import save_file

    tensors = {name.replace("word_embeddings", "words"): tensor for name, tensor in tensors_of(parent).items()}
    save_file(tensors, parent / "model.safetensors", metadata={"format": "pt"})


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda parent: _link(parent, "model.safetensors"), "its model.safetensors is a link out of the folder"),
        (lambda parent: _link(parent, "tokenizer_config.json"), "its tokenizer_config.json is a link out of the"),
        (_quantise, "its weights are quantised, and vectors cannot be removed from them"),
        (_make_integers, r"its embeddings are quantised \(I8\), and cannot be changed"),
        (_make_infinite, "embeddings that are not finite numbers"),
        (_pickle, "are a pickle, which can run code"),
        (_cut, "cannot load the model .*masked-parent: its weights are damaged"),
        (_rename, "its files do not have the table of its embeddings under a name that transformers knows"),
        (lambda parent: (parent / "adapter_config.json").write_text("{}"), "an adapter of another model: merge"),
        (lambda parent: (parent / "config.json").unlink(), "the folder has no config.json"),
    ],
)
def test_refusals(
    damage: Callable[[Path], object],
    message: str,
    parent: Path,
    copied: Callable[..., "tuple[Path, Change, Erasure]"],
) -> None:
    """One message each, and nothing is left behind."""
    damage(parent)
    with pytest.raises(ModelError, match=message):
        copied(parent)
    assert not list(parent.parent.glob("*out*"))


def test_other_models_are_refused(tmp_path: Path) -> None:
    """Files of vectors, served models and those with an encoder and a decoder."""
    from transformers import T5Config

    from senseprobe.evaluate.mitigation.embeddings import open_parent

    for spec in ("vectors:here.txt", "senses:here.txt", "openai:http://localhost:1/v1#m"):
        with pytest.raises(ModelError, match="only a model of transformers in a folder or on the Hub"):
            open_parent(spec)
    T5Config(architectures=["T5ForConditionalGeneration"]).save_pretrained(tmp_path)
    with pytest.raises(ModelError, match="it has an encoder and a decoder"):
        open_parent(str(tmp_path))
    with pytest.raises(ModelError, match="there is no such folder"):
        open_parent("./nowhere")


def test_a_copy_is_there_as_a_whole_or_not(parent: Path, tmp_path: Path) -> None:
    """Where its folder exists, the block fails or the disk is full, nothing is left behind."""
    from senseprobe.evaluate.mitigation import embeddings

    opened = embeddings.open_parent(str(parent))
    erasure = Erasure.onto(np.eye(opened.dimensions)[:, :1])
    with pytest.raises(SenseprobeError, match="exists and is not overwritten: choose a new folder with --out"):
        embeddings.copied_without(opened, erasure, parent).__enter__()

    def fail(error: Exception) -> None:
        with embeddings.copied_without(opened, erasure, tmp_path / "out"):
            raise error

    with pytest.raises(SenseprobeError, match=r"cannot write .*out: No space left on device; nothing was changed"):
        fail(OSError(28, "No space left on device"))
    with pytest.raises(KeyboardInterrupt):
        fail(KeyboardInterrupt())  # type: ignore[arg-type]
    assert [path.name for path in tmp_path.iterdir()] == ["masked-parent"]
    files = {}
    for name in ("a", "b"):
        with embeddings.copied_without(opened, erasure, tmp_path / name):
            pass
        files[name] = {path.name: path.read_bytes() for path in (tmp_path / name).iterdir()}
    assert files["a"] == files["b"]


def test_forms_of_words(parents: dict[str, Path]) -> None:
    """Whatever forms a tokenizer has as one token: one where letters become small, two after a space or not."""
    from senseprobe.evaluate.mitigation.embeddings import open_parent
    from senseprobe.evaluate.mitigation.word_forms import split_words

    def forms(name: str, words: list[str], which: Any = "all") -> dict[str, list[str]]:  # noqa: ANN401
        tokens = open_parent(str(parents[name])).tokens
        split = split_words(tokens, words, which)
        return {
            **{
                word: [f"{form} {tokens.spelt([id_])}" for form, id_ in ids.items()]
                for word, ids in split.tokens.items()
            },
            **({"several": [*split.several]} if split.several else {}),
        }

    assert forms("bert", ["he", "He", "she"]) == {"he": ["␣word he"], "He": ["␣word he"], "she": ["␣word she"]}
    assert forms("gpt2", ["he", "nurse"]) == {
        "he": ["␣word Ġhe", "word he"],
        "nurse": ["␣word Ġnurse", "word nurse"],
    }
    assert forms("gpt2", ["he"], "one") == {"he": ["␣word Ġhe"]}
    assert forms("llama", ["he", "unfriendly"]) == {"he": ["␣word ▁he", "word he"], "several": ["unfriendly"]}
    assert forms("albert", ["he", "Zz"]) == {"he": ["␣word ▁he", "word he"], "several": ["Zz"]}
    assert forms("roberta", ["he", "she", "he"]) == {"he": ["␣word Ġhe", "word he"], "she": ["␣word Ġshe", "word she"]}
    tokens = open_parent(str(parents["llama"])).tokens
    pairs = split_words(tokens, ["he", "she"]).pairs("he", "she")
    assert [*pairs] == ["␣word", "word"]
    assert split_words(tokens, ["he"]).pairs("he", "she") == {}
    with pytest.raises(ModelError, match="does not have 2 words as one token: blacksmith, unfriendly"):
        split_words(tokens, ["blacksmith", "unfriendly"])
    with pytest.raises(ModelError, match="as one token"):
        split_words(tokens, [""])
