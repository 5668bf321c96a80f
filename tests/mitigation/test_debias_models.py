"""Copies of models of transformers without directions, from words to the record: forms, identity, made again."""

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from senseprobe.errors import ModelError, SenseprobeError
from senseprobe.evaluate import models
from senseprobe.evaluate.mitigation.api import check_debias, debias
from senseprobe.evaluate.mitigation.record import read_map, read_record
from senseprobe.evaluate.models.alteration import MAP, RECORD


def table(folder: Path) -> np.ndarray[Any, Any]:
    """Return the input embeddings of a model."""
    from senseprobe.evaluate.mitigation.embeddings import open_parent

    opened = open_parent(str(folder))
    return opened.vectors(tuple(range(opened.size)))


def test_all_forms_of_a_word_are_one_vector(parents: dict[str, Path], tmp_path: Path) -> None:
    """He and she, after a blank and not, as far as a tokenizer has them; with `one`, in running text alone."""
    for name, forms in (("gpt2", "all"), ("gpt2", "one"), ("bert", "all")):
        copy = debias(str(parents[name]), tmp_path / f"{name}-{forms}", direction="he-she", text="none", forms=forms)  # type: ignore[arg-type]
        made = copy.record
        rows = {form.spelling: {} for form in made.forms}  # type: dict[str, dict[str, int]]
        for form in made.forms:
            rows[form.spelling][form.word] = form.rows[0]
        vectors = table(copy.folder)
        for pair in rows.values():
            assert np.linalg.norm(vectors[pair["he"]] - vectors[pair["she"]]) < 1e-6
        assert made.rank == len(rows)
        assert (made.form, made.spellings) == ("transformers", forms)
        assert (len(rows) == 1) == (forms == "one" or name == "bert")


def test_a_copy_is_another_model(parents: dict[str, Path], tmp_path: Path) -> None:
    """It is loaded as the parent is, and its record is a part of its identity."""
    parent = parents["gpt2"]
    debias(str(parent), tmp_path / "out", direction="he-she", text="none", controls=1)
    made = read_record(tmp_path / "out")
    assert made is not None
    before, after, control = (
        models.load(str(folder)).identity for folder in (parent, tmp_path / "out", tmp_path / "out-random-01")
    )

    assert "debias" not in before
    assert (after["debias"], after["removed"]) == (made.digest, made.removed)
    assert control["debias"] not in (None, after["debias"])
    assert made.head == "untied"
    assert made.removed == f"he-she ({made.rank} of {made.dimensions} dimensions, projection)"


@pytest.mark.parametrize("name", ["bert", "gpt2"])
def test_a_copy_is_made_again(name: str, parents: dict[str, Path], tmp_path: Path) -> None:
    """With all options that it had; a byte that was flipped in the weights is found."""
    options: dict[str, Any] = {"layers": "all"} if name == "bert" else {"head": "tied", "renormalise": True}
    debias(str(parents[name]), tmp_path / "out", direction="he-she", text="none", controls=1, **options)

    for folder in ("out", "out-random-01"):
        assert check_debias(tmp_path / folder).differences == ()
    weights = tmp_path / "out" / "model.safetensors"
    data = bytearray(weights.read_bytes())
    data[-1] ^= 1
    weights.write_bytes(data)
    assert check_debias(tmp_path / "out").differences == (
        "model.safetensors was changed: its sha256 is not that in debias.json",
    )


def test_all_layers_are_altered_as_the_model_is_loaded(parents: dict[str, Path], tmp_path: Path) -> None:
    """The record says so, in words, too; a decoder is refused, and so is a copy of such a copy."""
    made = debias(str(parents["bert"]), tmp_path / "out", direction="he-she", text="none", layers="all").record
    assert made.layers == "all"
    assert made.removed.endswith("projection), in all layers")
    assert models.load(str(tmp_path / "out")).identity["removed"] == made.removed
    with pytest.raises(ModelError, match="only the input of decoders is altered"):
        debias(str(parents["gpt2"]), tmp_path / "other", direction="he-she", text="none", layers="all")
    with pytest.raises(ModelError, match="use its parent"):
        debias(str(tmp_path / "out"), tmp_path / "other", direction="he-she", text="none")
    assert not (tmp_path / "other").exists()


def test_a_record_of_all_layers_beside_another_model(parents: dict[str, Path], tmp_path: Path) -> None:
    """Its map is not applied to a model that it was not made for."""
    debias(str(parents["bert"]), out := tmp_path / "out", direction="he-she", text="none", layers="all")
    shutil.copytree(parents["bert"], other := tmp_path / "other")
    for name in ("debias.json", "debias.safetensors"):
        shutil.copy(out / name, other / name)
    with pytest.raises(ModelError, match=r"model.safetensors is not the file that debias.json beside it is of"):
        models.load(str(other))


def test_a_chain_of_models(parents: dict[str, Path], tmp_path: Path) -> None:
    """The record of the first copy is in that of the second, and is a part of the parent's identity there."""
    debias(str(parents["bert"]), tmp_path / "first", direction="he-she", text="none")
    debias(str(tmp_path / "first"), tmp_path / "second", method="random", seed=2, text="none")
    first, second = (read_record(tmp_path / name) for name in ("first", "second"))

    assert first is not None
    assert second is not None
    assert second.parent.record == first
    assert second.parent.identity["debias"] == first.digest
    assert check_debias(tmp_path / "second").differences == ()


def test_rows_can_be_computed_back(parents: dict[str, Path], tmp_path: Path) -> None:
    """From the copy and its map."""
    debias(str(parents["gpt2"]), tmp_path / "out", direction="he-she", text="none", renormalise=True)
    erasure, of_rows = read_map(tmp_path / "out")

    back = table(tmp_path / "out") / of_rows["scale"][:, None] + of_rows["removed"] @ erasure.left.T
    np.testing.assert_allclose(back, table(parents["gpt2"]), atol=1e-6)


def test_words_that_are_no_token_are_listed(parents: dict[str, Path], tmp_path: Path) -> None:
    """A pair of which one word is several tokens is left out; a list of which all are is refused."""
    (tmp_path / "pairs.csv").write_text("first,second\nhe,she\nhe,zzyzx\n", encoding="utf-8")
    made = debias(str(parents["bert"]), tmp_path / "out", direction=f"{tmp_path / 'pairs.csv'}:1", text="none").record

    assert [(omission.word, omission.reason) for omission in made.omitted] == [("zzyzx", "several tokens")]
    with pytest.raises(ModelError, match=r"has no pair of zzyzx-xyzzy: several tokens \(zzyzx, xyzzy\)"):
        debias(str(parents["bert"]), tmp_path / "other", direction="zzyzx-xyzzy")
    with pytest.raises(ModelError, match=r"has no pair of he-zzyzx: several tokens \(zzyzx\)"):
        debias(str(parents["bert"]), tmp_path / "other", direction="he-zzyzx")
    with pytest.raises(ModelError, match="a label has one word only"):
        debias(str(parents["bert"]), tmp_path / "other", method="leace")
    with pytest.raises(ModelError, match="has one vector for both words of he-He"):
        debias(str(parents["bert"]), tmp_path / "other", direction="he-He")


def test_perplexity_stands_in_the_record(parents: dict[str, Path], tmp_path: Path) -> None:
    """On a text of the user's, before and after; a check does not need the text."""
    text = tmp_path / "text.txt"
    text.write_text("she is a nurse and he is not\nthe nurse is here\n", encoding="utf-8")
    copy = debias(str(parents["gpt2"]), tmp_path / "out", direction="he-she", text=text)

    read = copy.record.perplexity
    assert read is not None
    assert (read.kind, read.text) == ("perplexity", "text.txt")
    assert read.before != read.after
    assert read.describe() in str(copy.section())
    text.unlink()
    assert check_debias(tmp_path / "out").differences == ()
    assert debias(str(parents["gpt2"]), tmp_path / "other", direction="he-she", text="none").record.perplexity is None


def test_quantised_weights_are_refused(parents: dict[str, Path], tmp_path: Path) -> None:
    """By what the config says of them."""
    folder = tmp_path / "quantised"
    folder.mkdir()
    for path in parents["bert"].iterdir():
        (folder / path.name).write_bytes(path.read_bytes())
    config = json.loads((folder / "config.json").read_bytes())
    (folder / "config.json").write_text(json.dumps(config | {"quantization_config": {"bits": 4}}), encoding="utf-8")

    with pytest.raises(ModelError, match="quantised"):
        debias(str(folder), tmp_path / "out", direction="he-she", text="none")


def test_a_folder_that_exists_is_kept(parents: dict[str, Path], tmp_path: Path) -> None:
    """Before the model is read."""
    (tmp_path / "out").mkdir()
    with pytest.raises(SenseprobeError, match="out exists and is not overwritten"):
        debias(str(parents["bert"]), tmp_path / "out", direction="he-she", text="none")


def test_a_record_of_a_model_that_is_no_record(parents: dict[str, Path], tmp_path: Path) -> None:
    """A damaged record is an error as the model is loaded: nobody takes it for the parent."""
    debias(str(parents["bert"]), tmp_path / "out", direction="he-she", text="none")
    (tmp_path / "out" / RECORD).write_text("{}", encoding="utf-8")
    with pytest.raises(ModelError, match="does not say what was removed"):
        models.load(str(tmp_path / "out"))
    assert (tmp_path / "out" / MAP).is_file()
