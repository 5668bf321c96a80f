"""Mentions of groups in a corpus, and stereotyped words beside them (Tan and Celis 2019, section 3.1).

A sentence counts once for a group that it mentions, whatever the number of mentions; among these are counted the
sentences with a word of each category. One with words of two categories counts for both; neutral ones have none.
"""

import json
import re
import unicodedata
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import asdict, dataclass
from hashlib import sha256
from itertools import islice
from multiprocessing import get_context
from pathlib import Path
from typing import Any, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from senseprobe.atomic_files import write_whole
from senseprobe.errors import SenseprobeError
from senseprobe.evaluate.texts.text_files import BOUNDARY, Document, split_by_punkt
from senseprobe.messages import listed
from senseprobe.statistics import CONFIDENCE, FEWEST_LEVELS, FloatArray, IntArray
from senseprobe.tables import read_json

CHUNK = 1 << 22
"""How many characters a process counts at once: whole documents, so that no count depends on it."""
MOST_FORMS = 2000
_SENTENCE, _DOCUMENT = "\x01", "\x02"
_ENDS_DOCUMENT = 1
"""The number of the end of a document among forms; that of a sentence is 0."""
_SPACED = bytes(c if c > 127 or c in b"\x01\x02" or chr(c).isalnum() else 32 for c in range(256))
_WORDS = re.compile(r"[^\W_]+")
_SIGNS = re.compile(r"[^\x00-\x7f\w]")

Chunk = tuple[list[str], str, int]
SPLITTERS: dict[str, Callable[[str], Iterable[str]] | None] = {"rule": None, "nltk": split_by_punkt}
"""What makes sentences of a text; None: the rule of `BOUNDARY`, which is applied to many texts at once."""


@dataclass(frozen=True, slots=True)
class Terms:
    """What is counted: each form (see `normalize_form`) with its groups, or its word and category.

    `plurals` names what made the plurals of words, or ``none``.
    """

    groups: tuple[str, ...]
    categories: tuple[str, ...]
    words: tuple[str, ...]
    group_forms: Mapping[str, tuple[str, ...]]
    word_forms: Mapping[str, tuple[str, str]]
    plurals: str = "none"

    @property
    def categories_of_words(self) -> list[str]:
        """The category of each of `words`."""
        categories = dict(self.word_forms.values())
        return [categories[word] for word in self.words]

    @classmethod
    def make(
        cls,
        groups: Iterable[tuple[str, str]],
        words: Iterable[tuple[str, str]],
        plural: Callable[[str], str] | None = None,
        plurals: str = "none",
    ) -> "Terms":
        """Return the terms of (form, group) and (word, category), with the plurals of words where `plural` makes them.

        Raise SenseprobeError where there are fewer than two groups, a word has two categories, or there are too many.
        """
        group_forms: dict[str, tuple[str, ...]] = {}
        for form, group in groups:
            key = normalize_form(form)
            group_forms[key] = tuple(dict.fromkeys((*group_forms.get(key, ()), group)))
        names = tuple(dict.fromkeys(name for names_of_form in group_forms.values() for name in names_of_form))
        if len(names) < 2:
            raise SenseprobeError(f"a list of groups needs at least two groups; this one has {listed(names) or 'none'}")
        word_forms: dict[str, tuple[str, str]] = {}
        for word, category in words:
            if word_forms.setdefault(normalize_form(word), (word, category)) != (word, category):
                raise SenseprobeError(f"the word {word!r} occurs twice in the list; remove one")
        if plural:
            for word, category in [*word_forms.values()]:
                word_forms.setdefault(normalize_form(plural(word)), (word, category))
        if len(group_forms) + len(word_forms) > MOST_FORMS:
            raise SenseprobeError(f"the lists have more than {MOST_FORMS:,} words with their plurals; use fewer")
        categories = tuple(dict.fromkeys(category for _, category in word_forms.values()))
        listed_words = tuple(dict.fromkeys(word for word, _ in word_forms.values()))
        return cls(names, categories, listed_words, group_forms, word_forms, plurals)


def normalize_form(form: str) -> str:
    """Return a form as it is looked up: lower case, with one blank for what is neither letter nor digit (*co-worker*).

    Raise SenseprobeError where nothing is left.

    >>> normalize_form("Co-Worker")
    'co worker'
    """
    if not (words := _WORDS.findall(unicodedata.normalize("NFC", form).lower())):
        raise SenseprobeError(f"the list has an entry without letters: {form!r}; remove it")
    return " ".join(words)


@dataclass(frozen=True, slots=True)
class Counts:
    """Sums over documents; those of two corpora add up.

    - `sums`: by group, mentions, then the sentences with each category, then neutral ones; in one row.
    - `moments`, `present`: over documents, sums of products of these, and in how many both are above 0.
    - `cooccurrences`: (words, groups) sentences that have both; `totals`: sentences with each word.
    """

    documents: int
    sentences: int
    sums: IntArray
    moments: IntArray
    present: IntArray
    cooccurrences: IntArray
    totals: IntArray

    def fits(self, sums: IntArray, totals: IntArray) -> bool:
        """Return whether arrays have the shapes of these."""
        return self.sums.shape == sums.shape and self.totals.shape == totals.shape

    def __add__(self, other: "Counts") -> "Counts":
        """Return the counts of both."""
        return Counts(*(getattr(self, name) + getattr(other, name) for name in self.__slots__))


@dataclass(frozen=True, slots=True)
class Tally:
    """The counts of the first `chunks` chunks of a corpus; `sha256` is of their texts, `replaced` bytes no UTF-8."""

    counts: Counts
    chunks: int = 0
    sha256: str = ""
    replaced: int = 0

    def add(self, counts: Counts, sha256: str, replaced: int) -> "Tally":
        """Return the tally with one more chunk; `sha256` and `replaced` are of all chunks up to it."""
        return Tally(self.counts + counts, self.chunks + 1, sha256, replaced)

    def write(self, path: Path) -> None:
        """Write it as JSON, whole or not at all."""
        counts = {key: np.asarray(value).tolist() for key, value in asdict(self.counts).items()}
        data = json.dumps(asdict(self) | {"counts": counts})
        write_whole(path, json.dumps({"data": data, "checksum": _checksum(data)}).encode())

    @classmethod
    def read(cls, path: Path | None, empty: Counts) -> "Tally":
        """Return what `write` wrote, or the tally of no chunk where nothing can be read."""
        try:
            written = read_json(path.read_bytes()) if path else {}
            data = read_json(written["data"])
            if written["checksum"] != _checksum(written["data"]):
                return cls(empty)
            values: dict[str, Any] = {key: np.asarray(row, dtype=np.int64) for key, row in data.pop("counts").items()}
            values |= {key: int(values[key]) for key in ("documents", "sentences")}
            return cls(Counts(**values), **data) if empty.fits(values["sums"], values["totals"]) else cls(empty)
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            return cls(empty)


def _checksum(data: str) -> str:
    return sha256(data.encode()).hexdigest()


def count_documents(
    documents: Iterable[Document], terms: Terms, workers: int = 1, splitter: str = "rule", state: Path | None = None
) -> Tally:
    """Return the counts of documents, the same for any number of processes; a few chunks are in memory at a time.

    `state` is a file that keeps the counts of chunks that are done: a run that was killed goes on behind them. Raise
    SenseprobeError where the texts are not those of the file, which is removed then.
    """
    empty = count_texts([], terms)
    tally = Tally.read(state, empty)
    chunks = _gather_chunks(documents)
    before = [digest for _, digest, _ in islice(chunks, tally.chunks)]
    if before[-1:] != [tally.sha256][: tally.chunks]:
        cast("Path", state).unlink()
        raise SenseprobeError(
            "the texts have changed since the run was interrupted; run the command again, and it starts anew"
        )
    for counts, digest, replaced in _count_chunks(chunks, terms, workers, splitter):
        tally = tally.add(counts, digest, replaced)
        if state:
            tally.write(state)
    return tally


def _count_chunks(
    chunks: Iterator[Chunk], terms: Terms, workers: int, splitter: str
) -> Iterator[tuple[Counts, str, int]]:
    """Yield the counts of chunks in their order, with the rest of each."""
    if workers == 1:
        yield from ((count_texts(texts, terms, splitter), sha256, replaced) for texts, sha256, replaced in chunks)
        return
    with ProcessPoolExecutor(workers, get_context("spawn")) as pool:
        pending: deque[tuple[Future[Counts], str, int]] = deque()
        try:
            for texts, sha256, replaced in chunks:
                pending.append((pool.submit(count_texts, texts, terms, splitter), sha256, replaced))
                if len(pending) > 2 * workers:
                    yield _finish(*pending.popleft())
            yield from (_finish(*task) for task in pending)
        except BrokenProcessPool:
            raise SenseprobeError(
                "a process of --workers ended, perhaps because memory was short; use fewer workers"
            ) from None


def _finish(future: Future[Counts], sha256: str, replaced: int) -> tuple[Counts, str, int]:
    return future.result(), sha256, replaced


def _gather_chunks(documents: Iterable[Document]) -> Iterator[Chunk]:
    """Yield whole documents of about `CHUNK` characters, the hash of all texts so far, and replaced bytes so far."""
    texts, size, digest, replaced = [], 0, sha256(), 0
    for document in documents:
        texts.append(document.text)
        size += len(document.text)
        replaced += document.replaced
        digest.update(document.text.encode("utf-8", "replace") + b"\0")
        if size >= CHUNK:
            yield texts, digest.hexdigest(), replaced
            texts, size = [], 0
    if texts:
        yield texts, digest.hexdigest(), replaced


def count_texts(texts: Sequence[str], terms: Terms, splitter: str = "rule") -> Counts:
    """Return the counts of documents, one for each text; `splitter` is one of `SPLITTERS`.

    >>> terms = Terms.make([("she", "female"), ("he", "male")], [("nurse", "care")])
    >>> count_texts(["She is a nurse. He sings."], terms).sums.tolist()
    [1, 1, 0, 1, 0, 1]
    """
    forms, columns = _index_terms(terms)
    n_groups, n_categories = len(terms.groups), len(terms.categories)
    words = _split_words(texts, forms, splitter)
    codes = np.fromiter(map(forms.__getitem__, filter(forms.__contains__, words)), dtype=np.intp)
    ends = codes <= _ENDS_DOCUMENT
    of: IntArray = np.cumsum(ends) - ends
    sentences, rows = np.unique(of[~ends], return_inverse=True)  # the other sentences add nothing
    seen = np.zeros((len(sentences), len(columns)), dtype=np.float32)
    seen[rows, codes[~ends]] = 1
    flags = seen @ columns > 0
    groups, categories = flags[:, :n_groups], flags[:, n_groups : n_groups + n_categories]
    outcomes = np.column_stack([np.ones(len(sentences), dtype=bool), categories, ~categories.any(axis=1)])
    cells = (groups[:, :, None] & outcomes[:, None, :]).reshape(len(sentences), n_groups * (n_categories + 2))
    closing = np.flatnonzero(codes[ends] == _ENDS_DOCUMENT)
    documents, starts = np.unique(np.searchsorted(closing, sentences), return_index=True)
    by_document = np.zeros((len(documents), cells.shape[1]), dtype=np.int64)
    if len(documents):
        by_document = np.add.reduceat(cells.astype(np.int64), starts, axis=0)
    of_words = flags[:, n_groups + n_categories :].astype(np.float64)  # BLAS, exact below 2**53
    present = (by_document > 0).astype(np.int64)
    return Counts(
        documents=len(texts),
        sentences=int(ends.sum()),
        sums=by_document.sum(axis=0),
        moments=by_document.T @ by_document,
        present=present.T @ present,
        cooccurrences=(of_words.T @ groups.astype(np.float64)).astype(np.int64),
        totals=of_words.sum(axis=0).astype(np.int64),
    )


def _index_terms(terms: Terms) -> tuple[dict[bytes, int], NDArray[np.float32]]:
    """Return a number for each form, ends of sentences and documents first, and its (forms, columns) of 0 and 1."""
    columns_by_form: dict[bytes, list[int]] = {_SENTENCE.encode(): [], _DOCUMENT.encode(): []}
    for form, names in terms.group_forms.items():
        columns_by_form[_join(form)] = [terms.groups.index(name) for name in names]
    first = len(terms.groups)
    for form, (word, category) in terms.word_forms.items():
        new = [first + terms.categories.index(category), first + len(terms.categories) + terms.words.index(word)]
        columns_by_form.setdefault(_join(form), []).extend(new)
    columns = np.zeros((len(columns_by_form), first + len(terms.categories) + len(terms.words)), dtype=np.float32)
    for row, numbers in enumerate(columns_by_form.values()):
        columns[row, numbers] = 1
    return {form: number for number, form in enumerate(columns_by_form)}, columns


def _join(form: str) -> bytes:
    return form.encode().replace(b" ", b"\x03")


def _split_words(texts: Sequence[str], forms: Iterable[bytes], splitter: str) -> list[bytes]:
    """Return the words in lower case, with the ends of sentences and documents as words of their own.

    Words are runs of letters and digits; *he's* has two. Words of several parts are one where one blank is between.
    """
    text = _DOCUMENT.join([*(text.strip() for text in texts), ""])
    if _SENTENCE in text or "\x03" in text or text.count(_DOCUMENT) > len(texts):
        text = _DOCUMENT.join([*(re.sub("[\x01-\x03]", " ", text).strip() for text in texts), ""])
    if split := SPLITTERS[splitter]:
        text = _DOCUMENT.join(_SENTENCE.join(split(document)) for document in text.split(_DOCUMENT))
    else:
        text = BOUNDARY.sub(f" {_SENTENCE} ", text)
    if not text.isascii():
        text = _SIGNS.sub(" ", unicodedata.normalize("NFC", text))
    spaced = text.lower().encode("utf-8", "replace").translate(_SPACED)
    spaced = spaced.replace(b"\x01", b" \x01 ").replace(b"\x02", b" \x02 ")
    for form in sorted((form for form in forms if b"\x03" in form), key=len, reverse=True):
        head, _, rest = form.replace(b"\x03", b" ").partition(b" ")  # the head first, which re looks up fast
        pattern = re.escape(head) + rb"(?<![^ ]" + re.escape(head) + rb") " + re.escape(rest) + rb"(?= )"
        spaced = re.sub(pattern, form.replace(b"\\", b""), spaced)
    return spaced.split()


class Ratio(NamedTuple):
    """A ratio of sums over documents with its interval; None where it cannot be estimated."""

    value: float | None
    low: float | None
    high: float | None
    documents: int


def estimate_ratio(counts: Counts, over: int, under: int, confidence: float = CONFIDENCE) -> Ratio:
    """Return the ratio of two columns of `sums`, with an interval over the documents that have either.

    On the scale of the logarithm, linearised: var(log R) = n/(n-1) sum over documents of (y_i/Y - x_i/X)^2, with
    Student's t of n - 1 degrees of freedom. No interval for fewer than `FEWEST_LEVELS` documents.
    """
    y, x, present = float(counts.sums[over]), float(counts.sums[under]), counts.present
    n = int(present[over, over] + present[under, under] - present[over, under])
    if not y or not x:
        return Ratio(0.0 if x else None, None, None, n)
    if n < FEWEST_LEVELS:
        return Ratio(y / x, None, None, n)
    m = counts.moments
    squares = m[over, over] / y**2 + m[under, under] / x**2 - 2 * m[over, under] / (x * y)
    half = float(stats.t.ppf((1 + confidence) / 2, n - 1)) * float(np.sqrt(max(squares, 0.0) * n / (n - 1)))
    return Ratio(y / x, y / x * float(np.exp(-half)), y / x * float(np.exp(half)), n)


def estimate_log_odds(first: IntArray, second: IntArray, totals: IntArray) -> tuple[FloatArray, FloatArray]:
    """Return the log-odds ratio of each word, first group against second, and its z (Monroe et al. 2008, eq. 15, 22).

    d_w = log((y1_w + a_w) / (n1 + a_0 - y1_w - a_w)) - the same of the second; var = 1/(y1_w + a_w) + 1/(y2_w + a_w);
    z = d / sqrt(var). The prior a_w is the word's share of `totals` times the number of words that occur: a_0 is one
    for each. Words that do not occur are NaN.
    """
    prior = np.where(totals > 0, totals / max(int(totals.sum()), 1) * int((totals > 0).sum()), np.nan)
    a_0 = float(np.nansum(prior))
    with np.errstate(divide="ignore", invalid="ignore"):
        sides = [np.log((y + prior) / (y.sum() + a_0 - y - prior)) for y in (first, second)]
        variance = 1 / (first + prior) + 1 / (second + prior)
        return sides[0] - sides[1], (sides[0] - sides[1]) / np.sqrt(variance)
