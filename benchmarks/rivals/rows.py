"""The works that are timed: what of, with which model, in which ways."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import partial
from itertools import chain
from pathlib import Path
from typing import TypeVar

import numpy as np

from rivals import random_models, texts
from rivals.foreign import Absent, Foreign
from rivals.passes import Ids, Numbers, Plain, Timed, timed
from senseprobe.evaluate import models
from senseprobe.evaluate.models import Model
from senseprobe.evaluate.models.checkpoint import quiet
from senseprobe.evaluate.scorers import get
from senseprobe.evaluate.units import Unit

__all__ = ["ROWS", "Row", "Setting", "Way"]

T = TypeVar("T")
Run = Callable[[Sequence[int]], Timed]

BARE = 0.85
BATCH_SIZES = {"cpu": (1, 4, 16, 32, 64), "cuda": (16, 64, 256, 1024)}
INFERENCE = ("entailment", "neutral", "contradiction")


@dataclass(frozen=True, kw_only=True)
class Setting:
    """Where and how large. `folder` is for models; `python` an interpreter with the rivals; `open` what to close."""

    folder: Path
    device: str
    threads: int
    small: bool
    sample: int | None
    python: str | None
    batch_tokens: int | None
    open: ExitStack


@dataclass(frozen=True, kw_only=True)
class Way:
    """A way to do some work.

    - `run`: takes the numbers of items; None where it cannot be run, and `note` says why.
    - `part`: the items that it is timed on; a slow way takes some of each length.
    - `least`: how many times as fast as this way senseprobe shall be; None for senseprobe itself.
    """

    name: str
    run: Run | None
    part: Sequence[int]
    least: float | None = None
    note: str = ""


@dataclass(frozen=True, kw_only=True)
class Row:
    """A work: its items (`counted` says what they are), our way, and others."""

    id: str
    work: str
    counted: str
    ours: Way
    others: list[Way] = field(default_factory=list)


def aul(setting: Setting) -> Row:
    """`aul` on sssb, against one sentence a pass. It is whole whatever the sample: sentences stand in several pairs."""
    pairs = texts.contrasts()
    said = sorted({*chain.from_iterable(pairs)})
    model, plain = _models(setting, "masked", said)

    def ours(items: Sequence[int]) -> Numbers:
        units = [Unit(text) for item in items for text in pairs[item]]
        return get("aul").numbers(model, units).reshape(-1, 2)

    return Row(
        id="aul",
        work=f"`aul`: sssb, {len(pairs):,} pairs of {len(said):,} sentences, BERT-base",
        counted="pairs",
        ours=_ours(ours, len(pairs)),
        others=[
            Way(
                name="one sentence a pass, all logits, ranks",
                run=lambda items: timed(lambda: plain.one_by_one([pairs[i] for i in items])),
                part=_of_each_length(pairs, setting.sample or 100),
                least=20,
            ),
            *_bare(plain, _distinct(map(tuple, plain.tokenizer(said)["input_ids"])), range(len(pairs))),
        ],
    )


def pll(setting: Setting) -> Row:
    """`pll` on distinct sentences, against minicons."""
    whole = sorted({*chain.from_iterable(texts.contrasts())})
    said = _some(_some(whole, 500), setting.sample)
    model, plain = _models(setting, "masked", whole)

    def ours(items: Sequence[int]) -> Numbers:
        return get("pll").numbers(model, [Unit(said[item]) for item in items])

    return Row(
        id="pll",
        work=f"`pll`: {len(said):,} distinct sentences of sssb, BERT-base",
        counted="sentences",
        ours=_ours(ours, len(said)),
        others=[
            _foreign(setting, "minicons PLL", "masked", said, least=3),
            *_bare(plain, _distinct(row for text in said for row in plain.each_masked(text)), range(len(said))),
        ],
    )


def cps(setting: Setting) -> Row:
    """`cps` on pairs like those of CrowS-Pairs, against one masked token a pass."""
    whole = texts.unequal_pairs(300)
    pairs = _some(whole, setting.sample)
    model, plain = _models(setting, "masked", [*chain.from_iterable(whole)])

    def ours(items: Sequence[int]) -> Numbers:
        units = [Unit(*both) for item in items for both in (pairs[item], pairs[item][::-1])]
        return get("cps").numbers(model, units).reshape(-1, 2)

    part = _of_each_length(pairs, 60)
    rows = [ids for item in part for side in plain.shared_masked(*pairs[item]) for ids, _, _ in side]
    return Row(
        id="cps",
        work=f"`cps`: {len(pairs):,} pairs like those of CrowS-Pairs, BERT-base",
        counted="pairs",
        ours=_ours(ours, len(pairs)),
        others=[
            Way(
                name="one masked token a pass",
                run=lambda items: timed(lambda: plain.mask_by_mask([pairs[i] for i in items])),
                part=_of_each_length(pairs, 40),
                least=5,
            ),
            *_bare(plain, _distinct(rows), part),
        ],
    )


def ll(setting: Setting) -> Row:
    """`ll` on two configs of sssb, against lm-eval and minicons."""
    whole = sorted({*chain.from_iterable(texts.contrasts("noun", "nationality"))})
    said = _some(whole, setting.sample)
    model, plain = _models(setting, "causal", whole)

    def ours(items: Sequence[int]) -> Numbers:
        return get("ll").numbers(model, [Unit(said[item]) for item in items])

    start = plain.tokenizer.bos_token_id
    read = [(start, *ids[:-1]) for ids in plain.tokenizer(said)["input_ids"]]
    beginnings = len({ids[:end] for ids in read for end in range(1, len(ids) + 1)})
    length = round(sum(map(len, read)) / len(read))
    as_many = [(*range(length),)] * max(1, round(beginnings / length))
    return Row(
        id="ll",
        work=f"`ll`: sssb noun and nationality, {len(said):,} sentences, GPT-2 small",
        counted="sentences",
        ours=_ours(ours, len(said)),
        others=[
            _foreign(setting, "lm-eval", "causal", said, least=2),
            _foreign(setting, "minicons", "causal", said, least=2),
            *_bare(plain, _distinct(read), range(len(said))),
            *_bare(plain, as_many, range(len(said)), ", each beginning once"),
        ],
    )


def inference(setting: Setting) -> Row:
    """Probabilities of inference, against transformers' pipeline."""
    pairs = texts.inferences(setting.sample or 20_000)
    model, plain = _models(setting, "inference", sorted({*chain.from_iterable(pairs)}))

    def ours(items: Sequence[int]) -> Numbers:
        return get("nli").numbers(model, [Unit(*pairs[item]) for item in items])

    part = _blocks(len(pairs))
    joined = plain.tokenizer(*map(list, zip(*(pairs[item] for item in part), strict=True)))["input_ids"]
    return Row(
        id="inference",
        work=f"inference: {len(pairs):,} pairs of nli-occupation, BERT-base",
        counted="pairs",
        ours=_ours(ours, len(pairs)),
        others=[
            Way(
                name="transformers' pipeline, 32 a batch",
                run=lambda items: timed(lambda: plain.piped([pairs[i] for i in items], INFERENCE)),
                part=part,
                least=1.5,
            ),
            *_bare(plain, _distinct(map(tuple, joined)), part),
        ],
    )


ROWS: Mapping[str, Callable[[Setting], Row]] = {"aul": aul, "pll": pll, "cps": cps, "ll": ll, "inference": inference}


def _models(setting: Setting, kind: str, said: Sequence[str]) -> tuple[Model, Plain]:
    """A random model, as senseprobe and as transformers load it."""
    folder = _folder(setting, kind)
    random_models.save(folder, kind, said, small=setting.small)
    with quiet():
        model = models.load(str(folder), ability=kind, device=setting.device, batch_tokens=setting.batch_tokens)
        return model, Plain(folder, kind, setting.device)


def _folder(setting: Setting, kind: str) -> Path:
    return setting.folder / kind


def _ours(score: Callable[[Sequence[int]], Numbers], count: int) -> Way:
    return Way(name="senseprobe", run=lambda items: timed(lambda: score(items)), part=range(count))


def _bare(plain: Plain, rows: Sequence[Ids], part: Sequence[int], named: str = "") -> list[Way]:
    """The forward pass of rows of input, which are those of `part`, with the best budget of tokens.

    As transformers make it; and on a CPU also with the layers laid out as ours are, which is the roof that we have.
    """
    models = {f"the bare forward pass{named}": plain}
    if plain.device.type == "cpu":
        models[f"the bare forward pass{named}, its layers packed like ours"] = plain.packed
    return [_passes(name, model, rows, part) for name, model in models.items()]


def _passes(name: str, plain: Plain, rows: Sequence[Ids], part: Sequence[int]) -> Way:
    budget = plain.best_budget(rows)
    return Way(
        name=name,
        run=lambda _: timed(partial(plain.bare, rows, budget)),
        part=part,
        least=BARE,
        note=f"{len(rows):,} inputs, {sum(map(len, rows)):,} tokens, {budget:,} a pass",
    )


def _distinct(rows: Iterable[Ids]) -> list[Ids]:
    return list(dict.fromkeys(rows))


def _foreign(setting: Setting, name: str, kind: str, said: Sequence[str], *, least: float) -> Way:
    """A rival from PyPI, with the batch size that suits it best, and texts in order of their length."""
    try:
        rival = Foreign(setting.python, name, _folder(setting, kind), device=setting.device, threads=setting.threads)
        setting.open.callback(rival.close)
        rival.choose(said, BATCH_SIZES[setting.device])
    except Absent as reason:
        return Way(name=name, run=None, part=(), least=least, note=str(reason))
    by_length = sorted(range(len(said)), key=lambda item: len(said[item]))

    def run(items: Sequence[int]) -> Timed:
        wanted = {*items}
        order = [item for item in by_length if item in wanted]
        values, seconds = rival.score([said[item] for item in order])
        place = {item: number for number, item in enumerate(order)}
        return np.asarray(values)[[place[item] for item in items]], seconds

    tried = ", ".join(f"{size}: {rate:.1f}" for size, rate in rival.tried.items())
    note = f"{rival.named}, {rival.batch_size} a batch; of a part, by batch size, {tried}"
    return Way(name=name, run=run, part=range(len(said)), least=least, note=note)


def _some(items: Sequence[T], number: int | None) -> Sequence[T]:
    """So many of the items, evenly from the first to the last; None: all."""
    if number is None or number >= len(items):
        return items
    return [items[place] for place in np.linspace(0, len(items) - 1, number).round().astype(int)]


def _of_each_length(pairs: Sequence[texts.Pair], number: int) -> Sequence[int]:
    """So many pairs, evenly from the shortest to the longest."""
    return _some(sorted(range(len(pairs)), key=lambda i: sum(map(len, pairs[i]))), number)


def _blocks(count: int, size: int = 32, every: int = 8) -> Sequence[int]:
    """Every so many-th block of so many neighbours: what they have in common, such as their length, they keep."""
    return [item for item in range(count) if item // size % every == 0]
