"""Pages with nothing in them: how often any line of a page of `sssb` says "found" of scores that know no stereotype.

Planted scores: every word, group, frame and combination of them has a normal effect, whatever a word's polarity is and
whatever an occupation is typed as; a pronoun may be preferred at large. Nurse and the occupations of the verbs, which
are no samples, have no effect of their own. Random models: BERTs whose weights were drawn and never trained.
"""

import itertools
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

import senseprobe
from senseprobe.evaluate.figures import figures_of
from senseprobe.evaluate.reporting.inputs import ReportInput
from senseprobe.evaluate.reporting.verdict import Verdict
from senseprobe.evaluate.reporting.verdict_table import build_verdicts
from senseprobe.evaluate.result import Result
from senseprobe.evaluate.units import ScoredRows
from senseprobe.records import Design
from senseprobe.release.release import Release
from senseprobe.statistics import FloatArray
from simulation.markdown import Section
from simulation.models import MIXES, Mix
from simulation.size import SizeCell

RELEASE = "sssb@1.1.0"
PAGES = 1_000
RANDOM_MODELS = 40
LIMIT = 0.05
MODEL = {"name": "planted", "weights": "", "config": "", "tokenizer": "", "dtype": "float32"}
HE = ("he", "him", "his", "himself")

TEXT = """## Pages with nothing in them

The table shows how often a page of `{release}` has a line that says "found" although there is no effect. It has
{pages:,} pages of planted scores, half of them with much scatter of words, half with much of combinations, and {random}
pages of BERTs with random weights. "By itself" is the verdict of each line alone, before the lines of a page were one
family. Required: at most {limit:.0f} % of planted pages. Random models are only measured. Their weights can have an
effect: by chance one word of praise may lie near a group, and then it stays there in every frame.

| pages | lines with a test, on average | "found" by itself | "found" |
|---|---|---|---|
{rows}
"""


@dataclass(frozen=True)
class PageCount:
    """Of so many pages, on how many a line says "found", by itself and after correction; `lines` that are tests."""

    name: str
    pages: int
    alone: int
    shown: int
    lines: float

    @property
    def row(self) -> str:
        """A row of the table."""
        shares = (f"{100 * count / self.pages:.1f} % ({count})" for count in (self.alone, self.shown))
        return f"| {self.name} ({self.pages:,}) | {self.lines:.1f} | {' | '.join(shares)} |"


class _Page:
    """Random effects of one page's words: the same word has one effect in all configs."""

    def __init__(self, rng: np.random.Generator, mix: Mix) -> None:
        self._rng, self._mix = rng, mix
        self._effects: dict[tuple[object, ...], float] = {}

    def of(self, deviation: float, *names: Sequence[object]) -> FloatArray:
        """Return the effect of each row's combination of names."""
        keys = [*zip(*names, strict=True)]
        for key in keys:
            if key not in self._effects:
                self._effects[key] = float(self._rng.normal(0, deviation))
        return np.array([self._effects[key] for key in keys])

    def scored(self, rows: pd.DataFrame, design: Design, config: str) -> pd.DataFrame:
        """Return the rows of a config with scores."""
        return rows.assign(**(self._pronouns(rows, config) if not design.words else self._words(rows, design, config)))

    def _words(self, rows: pd.DataFrame, design: Design, config: str) -> dict[str, FloatArray]:
        """Return scores of sentences with a group and a word: those of both, and of the two together."""
        level, rest, made = self._mix.level, self._mix.rest, {}
        for role, slot in design.words.items():
            word, groups = rows[slot].tolist(), self._group_columns(rows, role)
            place = [config] * len(rows)
            made[f"{role}_score"] = (
                self.of(level, ["word"] * len(rows), word)
                + self.of(level, place, groups)
                + self.of(rest, place, groups, word, rows["frame"].tolist())
            )
        return made

    def _group_columns(self, rows: pd.DataFrame, role: str) -> list[object]:
        """Return what the sentence of a role is about: all that is neither its word nor the word's opposite."""
        names = [name for name in ("nation", "race", f"noun_{role}") if name in rows]
        return [*zip(*(rows[name].astype(object).tolist() for name in names), strict=True)]

    def _pronouns(self, rows: pd.DataFrame, config: str) -> dict[str, FloatArray]:
        """Return scores of sentences that differ in the pronoun."""
        level, rest, size = self._mix.level, self._mix.rest, len(rows)
        occupation = rows["occupation"].tolist()
        latent = self.of(1.0, ["he at large"] * size) + self.of(rest, [config] * size, rows["id"].tolist())
        if config != "verb":  # there all occupations are fixed
            fixed = (rows["occupation"] == "nurse").to_numpy()
            own = self.of(level / 2, ["occupation"] * size, occupation)
            if "quality" in rows:
                own = own + self.of(rest / 2, ["valence"] * size, occupation, rows["valence"].tolist())
                latent = latent + self.of(level, ["quality"] * size, rows["quality"].tolist())
            latent = latent + np.where(fixed, 0.0, own)
        if config in {"verb", "noun-bare"}:
            latent = latent + self.of(level, ["frame"] * size, rows["frame"].tolist())
        he = rows["stereo_value"].str.lower().isin(HE).to_numpy()
        return {"stereo_score": np.where(he, latent, 0.0), "anti_score": np.where(he, 0.0, latent)}


def judge(release: Release, scored: Mapping[str, pd.DataFrame], seed: int) -> list[Verdict]:
    """Return the lines of a page."""
    figures = figures_of(release, ScoredRows(tables=scored), seed=seed, scale="log")
    facts = {"name": release.manifest.name, "content": "", "config": None}
    result = Result(scorer="aul", model=MODEL, release=facts, senseprobe="", seed=seed, figures=figures)
    return build_verdicts(ReportInput(result=result))


def count(name: str, pages: Sequence[Sequence[Verdict]]) -> PageCount:
    """Count the pages on which a line says "found"."""
    return PageCount(
        name=name,
        pages=len(pages),
        alone=sum(any(line.alone == "shown" for line in page) for page in pages),
        shown=sum(any(line.code == "shown" for line in page) for page in pages),
        lines=float(np.mean([sum(line.p is not None for line in page) for page in pages])),
    )


def planted_pages(pages: int, seed: int = 0) -> Iterator[list[Verdict]]:
    """Yield the lines of pages of planted scores, of either mix in turn."""
    release = senseprobe.load(RELEASE)
    tables = {name: release.table(name) for name in release.configs}
    for number, mix in zip(range(pages), itertools.cycle(MIXES)):
        page = _Page(np.random.default_rng([seed, 400, number]), mix)
        scored = {name: page.scored(rows, release.design(name), name) for name, rows in tables.items()}
        yield judge(release, scored, number)


def random_pages(models: int) -> Iterator[list[Verdict]]:
    """Yield the lines of pages of small BERTs, word by word, whose weights are drawn with seeds from 0."""
    import torch
    from transformers import BertConfig, BertForMaskedLM, BertTokenizer

    release = senseprobe.load(RELEASE)
    tables = [release.table(name) for name in release.configs]
    texts = itertools.chain.from_iterable(table[role].str.lower() for table in tables for role in ("stereo", "anti"))
    words = sorted({word for text in texts for word in text.replace(".", " . ").replace(",", " , ").split()})
    pieces = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *words]
    sizes = {"hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 128}
    for seed in range(models):
        torch.manual_seed(seed)
        with tempfile.TemporaryDirectory() as folder:
            model = BertForMaskedLM(BertConfig(vocab_size=len(pieces), initializer_range=0.2, **sizes))
            model.save_pretrained(folder)
            BertTokenizer(vocab={piece: number for number, piece in enumerate(pieces)}).save_pretrained(folder)
            (result,) = senseprobe.score(Path(folder), release, "aul", store=False)
        yield build_verdicts(ReportInput(result=result))


def section(draws: int, seed: int) -> Section:
    """Simulate pages, as many as there are draws up to 1,000, and return the section of the page."""
    wanted = min(PAGES, draws)
    planted = [*planted_pages(wanted, seed)]
    counts = [
        *(count(f"planted, {mix.name}", planted[start :: len(MIXES)]) for start, mix in enumerate(MIXES)),
        count("planted, all", planted),
        count("random BERTs", [*random_pages(min(RANDOM_MODELS, wanted))]),
    ]
    for each in counts:
        print(each.row, flush=True)
    rows = "\n".join(each.row for each in counts)
    text = TEXT.format(release=RELEASE, pages=wanted, random=counts[-1].pages, limit=100 * LIMIT, rows=rows)
    whole = counts[-2]
    return Section(text, [SizeCell("any line shown", "page of sssb", "all", whole.shown / wanted, wanted, LIMIT)])
