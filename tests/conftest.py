"""Shared fixtures: a folder of the user, sssb, and tiny random masked language models with tokenizers of their own."""

import functools
import math
import shutil
import signal
import subprocess
import sys
import sysconfig
import venv
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import typer
from tests import profiles  # noqa: F401 - loads the profile of property tests
from tests.vocabularies import learn_pieces

from senseprobe import api
from senseprobe.api.author import prepare_wordnet
from senseprobe.lexicon.install import wordnet_in
from senseprobe.records import Finding

RELEASES = Path(__file__).parents[1] / "releases"
CORPUS = [
    f"{nation} people are {quality}."
    for nation in ("Japanese", "Chinese", "English", "Arabic", "German", "French", "Norwegian", "Vietnamese")
    for quality in ("nice", "kind", "clever", "uppish", "good looking", "unfriendly", "arrogant", "easy to understand")
] + ["She is a talented engineer.", "He judges the horses at the county fair.", "The black dress is beautiful."]

# The simulated models of benchmarks/coverage.py and the scripts are tested, too. Last, so that none hides a library.
sys.path += [str(Path(__file__).parents[1] / folder) for folder in ("benchmarks", "scripts")]

# Who starts the tests in the background may have Ctrl-C ignored, and so would all that they start and interrupt.
signal.signal(signal.SIGINT, signal.default_int_handler)

# What a run leaves out by its marks, and who runs it; a test with two of them counts once, as the first.
ELSEWHERE = {"soak": "make soak", "system": ".ci/run", "slow": ".ci/run"}
LEFT_OUT = pytest.StashKey[dict[str, int]]()
LOADED_BEFORE = frozenset(sys.modules)
"""By plug-ins of pytest, say."""


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> Iterator[None]:
    """Count what marks leave out, where tests are collected: in each worker, if there are workers."""
    there = [*items]
    yield
    run = set(items)
    marked = ([mark for mark in ELSEWHERE if item.get_closest_marker(mark)] for item in there if item not in run)
    counts: dict[str, int] = Counter(marks[0] for marks in marked if marks)
    config.stash[LEFT_OUT] = counts
    if hasattr(config, "workeroutput"):
        config.workeroutput["left out"] = dict(counts)


def pytest_collection_finish() -> None:
    """Check that collecting was light: a single test of messages need not wait for torch."""
    if heavy := sorted({"torch", "transformers"} & {*sys.modules} - LOADED_BEFORE):
        raise pytest.UsageError(f"collecting the tests loaded {' and '.join(heavy)}: import it in fixtures and tests")


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any, error: object) -> None:  # noqa: ANN401 - of pytest-xdist
    """Take the count of a worker, which is that of every worker."""
    node.config.stash[LEFT_OUT] = getattr(node, "workeroutput", {}).get("left out", {})


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Say how many tests were left out, by mark, and where they are run."""
    counts = config.stash.get(LEFT_OUT, {})
    told = [f"{counts[mark]} {mark} ({where})" for mark, where in ELSEWHERE.items() if mark in counts]
    if told and config.option.markexpr:
        terminalreporter.write_line(f"left out: {', '.join(told)}")


@pytest.fixture(scope="session", autouse=True)
def folder_of_the_user(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Other folders than the real user's, for what senseprobe keeps there, with a copy of their WordNet if any."""
    folder = tmp_path_factory.mktemp("nltk_data")
    cache = tmp_path_factory.mktemp("cache")
    _, wordnet = wordnet_in(None)
    if wordnet.is_dir():
        shutil.copytree(wordnet, folder / "corpora" / "wordnet")  # NLTK reads nothing through a link
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SENSEPROBE_WORDNET", str(folder))
        patch.setenv("XDG_CACHE_HOME", str(cache))
        yield
    shutil.rmtree(folder, ignore_errors=True)  # 35 MB, which pytest would keep for three runs


@pytest.fixture(scope="session", autouse=True)
def command_tree() -> Iterator[None]:
    """Typer makes all commands anew for each that is typed, in 15 ms: thousands are typed in this process."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(typer.main, "get_command", functools.cache(typer.main.get_command))
        yield


@pytest.fixture(scope="session", autouse=True)
def built_in_releases() -> Iterator[None]:
    """The releases of the checkout are verified once, if there is nothing wrong: hundreds of tests open them.

    Nothing writes there. What is damaged by tests are copies, which are verified each time.
    """
    from senseprobe import recipes
    from senseprobe.evaluate.reporting import inputs
    from senseprobe.release import verify

    verify_release, whole = verify.verify_release, dict[tuple[Path, bool, bool], Any]()

    def verify_once(
        folder: Path, progress: Callable[[int], None] | None = None, sources: object = None, *, rows: bool = True
    ) -> tuple[object, list[Finding]]:
        key = folder.resolve(), sources is None, rows
        if key in whole:
            if progress:
                progress(sum(size for size, _ in whole[key].files.values()))
            return whole[key], []
        manifest, findings = verify_release(folder, progress, sources, rows=rows)  # type: ignore[arg-type]
        if manifest and not findings and key[0].is_relative_to(RELEASES):
            whole[key] = manifest
        return manifest, findings

    with pytest.MonkeyPatch.context() as patch:
        for user in (recipes, inputs, verify):
            patch.setattr(user, "verify_release", verify_once)
        yield


@pytest.fixture(scope="session")
def sssb(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Sssb built once from the templates as they are; tests that change it take a copy."""
    return api.build("sssb", "1.0.0", tmp_path_factory.mktemp("releases")).folder


@pytest.fixture(scope="session")
def prepared_wordnet(folder_of_the_user: None) -> None:
    """WordNet is prepared for these tests, of Debian's packages where the user has no copy."""
    prepare_wordnet()


@pytest.fixture(scope="session")
def peers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The Python of an environment with lm-eval and minicons, which has torch and the like from ours. Needs PyPI."""
    folder = tmp_path_factory.mktemp("peers")
    venv.create(folder, with_pip=True)
    python = folder / "bin" / "python"
    ask = "import sysconfig; print(sysconfig.get_path('purelib'))"
    theirs = subprocess.run([python, "-c", ask], capture_output=True, text=True, check=True).stdout.strip()
    ours = {sysconfig.get_path(kind) for kind in ("purelib", "platlib")}
    (Path(theirs) / "ours.pth").write_text("\n".join(sorted(ours)) + "\n")
    install = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "lm_eval==0.4.13", "minicons==0.3.39"]
    subprocess.run([python, *install], check=True)
    yield python
    shutil.rmtree(folder, ignore_errors=True)  # 250 MB


@pytest.fixture(scope="session")
def tiny_models(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Folders of tiny models by family: ``bert`` (WordPiece), ``roberta`` (byte-level BPE), ``albert`` (Unigram)."""
    import torch

    # Several threads are no faster on models so small, and a hundred times slower where other programs take the cores.
    torch.set_num_threads(1)
    makers: dict[str, Callable[[Path], None]] = {"bert": _bert, "roberta": _roberta, "albert": _albert}
    folders = {family: tmp_path_factory.mktemp("models") / family for family in makers}
    for family, make in makers.items():
        make(folders[family])
    return folders


def _bert(folder: Path) -> None:
    from tokenizers.pre_tokenizers import BertPreTokenizer
    from transformers import BertConfig, BertForMaskedLM, BertTokenizer

    specials = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    words = [word for text in CORPUS for word, _ in BertPreTokenizer().pre_tokenize_str(text.lower())]
    pieces, _ = learn_pieces(words, 195, inner="##")
    tokenizer = BertTokenizer(vocab={piece: number for number, piece in enumerate([*specials, *pieces])})
    _save(folder, BertForMaskedLM, BertConfig(max_position_embeddings=96, **_sizes(tokenizer)), tokenizer)


def _roberta(folder: Path) -> None:
    from tokenizers.pre_tokenizers import ByteLevel
    from transformers import RobertaConfig, RobertaForMaskedLM, RobertaTokenizer

    specials = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]  # RoBERTa's own ids, 0 to 4
    split = ByteLevel(add_prefix_space=False)
    pieces, merges = learn_pieces([word for text in CORPUS for word, _ in split.pre_tokenize_str(text)], 160)
    vocabulary = dict.fromkeys([*specials, *sorted(ByteLevel.alphabet()), *pieces])
    tokenizer = RobertaTokenizer(vocab={piece: number for number, piece in enumerate(vocabulary)}, merges=merges)
    # Positions are counted from the padding id on: 98 rows are room for 96 tokens.
    config = RobertaConfig(max_position_embeddings=98, type_vocab_size=1, **_sizes(tokenizer))
    _save(folder, RobertaForMaskedLM, config, tokenizer)


def _albert(folder: Path) -> None:
    from tokenizers.pre_tokenizers import Metaspace
    from transformers import AlbertConfig, AlbertForMaskedLM, AlbertTokenizer

    specials = ["<pad>", "<unk>", "[CLS]", "[SEP]", "[MASK]"]
    words = [word for text in CORPUS for word, _ in Metaspace().pre_tokenize_str(text.lower())]
    pieces, _ = learn_pieces(words, 110)
    scores = [(piece, math.log(count / pieces.total())) for piece, count in pieces.items()]
    tokenizer = AlbertTokenizer(vocab=[*((special, 0.0) for special in specials), *scores])
    config = AlbertConfig(embedding_size=16, max_position_embeddings=96, **_sizes(tokenizer))
    _save(folder, AlbertForMaskedLM, config, tokenizer)


def _sizes(tokenizer: object) -> dict[str, float]:
    # Weights ten times as wide as usual, so that tokens, positions and neighbours make a difference to the scores.
    return {
        "vocab_size": len(tokenizer),  # type: ignore[arg-type]
        "hidden_size": 32,
        "num_hidden_layers": 2,
        "num_attention_heads": 2,
        "intermediate_size": 64,
        "initializer_range": 0.2,
        "pad_token_id": tokenizer.pad_token_id,  # type: ignore[attr-defined]
    }


def _save(folder: Path, model_class: type, config: object, tokenizer: object) -> None:
    import torch

    with torch.random.fork_rng():
        torch.manual_seed(20220526)
        model = model_class(config)
        # Biases start at zero, which would hide a head that forgets them.
        torch.nn.init.normal_(model.get_output_embeddings().bias)
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)  # type: ignore[attr-defined]
