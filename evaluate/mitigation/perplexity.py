"""How well a model predicts a text, before and after a removal: a model that is broken looks unbiased.

lines of a file, or WordNet's glosses -> tokens, in windows -> log-likelihoods by the model's family -> one number

- Perplexity of a causal model: exp(-1/N Σ_l Σ_i log P(t_i | start, t_1 … t_(i-1))) over lines l and all their tokens
  t_i, N of them; without a start token the first token of a line, or of a window, is given and not counted.
- Pseudo-perplexity of a masked model (Salazar et al. 2020): exp(-1/N Σ_l Σ_i log P(t_i | t without t_i)), each token
  masked by itself; special tokens are not counted. It is lower than a perplexity, since the model sees both sides.

A line that is longer than a window is read in windows of `WINDOW` tokens, or as many as the model takes, each of which
begins half a window after the one before. A token is predicted in the first window that has it. Tokens depend on the
tokenizer: compare a model with its own parent only. Files of vectors, encoders and NLI models predict no tokens.
"""

import hashlib
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from senseprobe.atomic_files import write_whole
from senseprobe.errors import LexiconError, ModelError, SenseprobeError
from senseprobe.evaluate.mitigation.record import Perplexity, Record, read_record, rounded
from senseprobe.evaluate.models.alteration import RECORD
from senseprobe.evaluate.models.registry import is_encoder, opens
from senseprobe.evaluate.models.source import ModelSource
from senseprobe.lexicon.install import VERSION
from senseprobe.lexicon.wordnet import Vocabulary
from senseprobe.messages import printable
from senseprobe.tables import UnreadableError, read_lines

if TYPE_CHECKING:
    from senseprobe.evaluate.models.causal import CausalLM
    from senseprobe.evaluate.models.causal import Query as CausalQuery
    from senseprobe.evaluate.models.masked import Encoding, MaskedLM

WINDOW = 512
"""Tokens of a line that are read at once, at most."""

GLOSSES = 300
"""Glosses of WordNet that are read where no text is given: about 4,000 tokens."""

MOST_CHARACTERS = 2**21
"""Characters of a text of the user's."""

NONE = "none"
"""In place of a text, that there is to be no perplexity."""

Kind = Literal["perplexity", "pseudo-perplexity"]
_KINDS: Mapping[str, Kind] = {"causal": "perplexity", "masked": "pseudo-perplexity"}
_WINDOWS_AT_ONCE = 32


class EvaluationText(NamedTuple):
    """The lines that are predicted, each by itself, and what they are called."""

    name: str
    lines: tuple[str, ...]

    @property
    def sha256(self) -> str:
        """Of the lines in UTF-8, each with a line feed behind it."""
        return hashlib.sha256("".join(f"{line}\n" for line in self.lines).encode()).hexdigest()


def read_text(path: Path) -> EvaluationText:
    """Return the lines of a file in UTF-8, without blank ones, and without white space around them.

    Raises SenseprobeError where it cannot be read, is empty or longer than `MOST_CHARACTERS`.
    """
    lines, characters = [], 0
    try:
        for line in filter(None, map(str.strip, read_lines(path))):
            lines.append(line)
            if (characters := characters + len(line)) > MOST_CHARACTERS:
                raise SenseprobeError(f"{printable(str(path))} has more than {MOST_CHARACTERS:,} characters: use less")
    except UnreadableError as error:
        raise SenseprobeError(error.at(path)) from None
    if not lines:
        raise SenseprobeError(f"{printable(str(path))} does not contain any text")
    return EvaluationText(printable(path.name), tuple(lines))


def sample_glosses(count: int = GLOSSES) -> EvaluationText:
    """Return `count` of WordNet's glosses, without examples: those whose sha256 comes first, the same everywhere.

    Raises LexiconError where WordNet is not prepared.
    """
    glosses = dict.fromkeys(entry.gloss for entry, _, _ in Vocabulary.open().every_sense() if entry.gloss)
    chosen = sorted(glosses, key=lambda gloss: hashlib.sha256(gloss.encode()).digest())[:count]
    return EvaluationText(f"{len(chosen):,} glosses of WordNet {VERSION}", tuple(chosen))


@dataclass(frozen=True, slots=True)
class Prediction:
    """How well a model predicted a text, of so many tokens."""

    kind: Kind
    tokens: int
    value: float


def measure_perplexity(model: Any, text: EvaluationText) -> Prediction:  # noqa: ANN401 - a causal or a masked one
    """Return the perplexity of a causal model on a text, or the pseudo-perplexity of a masked one.

    Raises ModelError of other models, and where a token has no probability, or none is predicted.
    """
    if model.ability not in _KINDS:
        raise ModelError(f"{model.name} does not predict tokens, so it has no perplexity")
    predict = _predict_causal if model.ability == "causal" else _predict_masked
    total, tokens = predict(model, text.lines)
    if not tokens:
        raise ModelError(f"no token of {text.name} can be predicted by {model.name}")
    loss = -total / tokens
    if not loss < math.log(np.finfo(np.float64).max):
        raise ModelError(f"{model.name} gives a token of {text.name} a probability that is 0, or not a number")
    return Prediction(_KINDS[model.ability], tokens, math.exp(loss))


def cut_windows(tokens: int, width: int) -> Iterator[tuple[int, int, int]]:
    """Yield windows of so many tokens: their first token, the end, and the first that no window before it has.

    >>> list(cut_windows(7, 4))
    [(0, 4, 0), (2, 6, 4), (4, 7, 6)]
    """
    seen, step = 0, max(1, width // 2)
    for start in range(0, tokens, step):
        if seen < tokens:
            yield start, min(start + width, tokens), seen
            seen = min(start + width, tokens)


def _predict_causal(model: "CausalLM", lines: Sequence[str]) -> tuple[float, int]:
    """Return the sum of log-likelihoods of the tokens of all lines, and how many there are."""
    start = model.start
    # The last token of a window is predicted, and not read.
    width = min(WINDOW, model.max_length + 1 - len(start))
    if width < 2:
        raise ModelError(f"{model.name} reads {model.max_length:,} tokens, too few for a perplexity")
    queries: list[CausalQuery] = []
    for tokens in model.encode(lines):
        for first, end, new in cut_windows(len(tokens.ids), width):
            given = len(start) + new - first
            queries.append(((*start, *tokens.ids[first:end]), max(1, given)))
    queries = [(ids, given) for ids, given in queries if given < len(ids)]
    total = math.fsum(model.log_likelihoods(queries).tolist()) if queries else 0.0
    return total, sum(len(ids) - given for ids, given in queries)


def _predict_masked(model: "MaskedLM", lines: Sequence[str]) -> tuple[float, int]:
    """Return the sum of log-likelihoods of the tokens of all lines, each masked by itself, and how many there are."""
    windows = [window for encoding in model.encode(lines) for window in _mask_windows(model, encoding)]
    values: list[float] = []
    for _, same in groupby(sorted(windows, key=attrgetter("length")), key=attrgetter("length")):
        of_length = list(same)
        for begin in range(0, len(of_length), _WINDOWS_AT_ONCE):
            queries = [
                window.encoding.query((position,), (position,), model.mask_id)
                for window in of_length[begin : begin + _WINDOWS_AT_ONCE]
                for position in window.predicted
            ]
            values += np.concatenate(model.log_probabilities(queries)).tolist()
    return math.fsum(values), len(values)


@dataclass(frozen=True, slots=True)
class _MaskedWindow:
    """A window of a line as the model reads it, and the positions that are predicted in it."""

    encoding: "Encoding"
    predicted: tuple[int, ...]

    @property
    def length(self) -> int:
        return len(self.encoding.ids)


def _mask_windows(model: "MaskedLM", encoding: "Encoding") -> Iterator[_MaskedWindow]:
    """Yield the windows of a line, each with the special tokens that the tokenizer puts around it."""
    from senseprobe.evaluate.models.masked import Encoding

    places = encoding.positions
    if not places:
        return
    before = range(places[0])
    after = range(places[-1] + 1, len(encoding.ids))
    width = min(WINDOW, model.max_length - len(before) - len(after))
    if width < 2:
        raise ModelError(f"{model.name} reads {model.max_length:,} tokens, too few for a perplexity")
    inner = range(places[0], places[-1] + 1)
    for first, end, new in cut_windows(len(inner), width):
        chosen = (*before, *inner[first:end], *after)
        types = encoding.types
        window = Encoding(
            ids=tuple(encoding.ids[i] for i in chosen),
            types=None if types is None else tuple(types[i] for i in chosen),
            special=tuple(encoding.special[i] for i in chosen),
            offsets=tuple(encoding.offsets[i] for i in chosen),
        )
        shift = len(before) - first
        predicted = tuple(i + shift for i in range(new, end) if not encoding.special[inner[i]])
        if predicted:
            yield _MaskedWindow(window, predicted)


# --- In the record of a removal -------------------------------------------------------------------------------------


def predicts_tokens(spec: str) -> bool:
    """Return whether a model has a perplexity: a causal or a masked one, not a file of vectors, an encoder or NLI.

    Raises ModelError where that cannot be read.
    """
    source = ModelSource(spec)
    return not opens(spec) and source.abilities[0] in _KINDS and not is_encoder(source.spec)


def choose_text(parent: str, file: str | Path | None) -> tuple[EvaluationText | None, str]:
    """Return the text that a model is to predict before and after a removal, or why there is none.

    By default it is `sample_glosses`; ``none`` leaves it out. Raises SenseprobeError where a file is given that cannot
    be read, or a model that predicts no tokens.
    """
    if file is not None and str(file) == NONE:
        return None, ""
    if not predicts_tokens(parent):
        if file is None:
            return None, ""
        raise ModelError(f"{printable(parent)} does not predict tokens, so it has no perplexity: leave --text out")
    if file is not None:
        return read_text(Path(file).expanduser()), ""
    try:
        return sample_glosses(), ""
    except LexiconError as error:
        return None, f"{error}, or give a --text"


def add_perplexity(parent: str, folder: Path, text: EvaluationText) -> Record:
    """Write the perplexity before and after into the record of a folder, and return the record.

    Its sha256 is another one then: call this before anything is scored. Raises ModelError where the folder has no
    record, where one of the models cannot be loaded, or predicts no tokens, or not the same ones.
    """
    record = read_record(folder)
    if record is None:
        raise ModelError(f"{printable(str(folder))} does not have a record of what was removed")
    before, after = (_measure_model(spec, text) for spec in (parent, str(folder)))
    if (before.kind, before.tokens) != (after.kind, after.tokens):
        both = f"{printable(parent)} and {printable(str(folder))}"
        raise ModelError(f"{both} do not cut {text.name} into the same tokens")
    numbers = Perplexity(
        kind=before.kind,
        text=text.name,
        sha256=text.sha256,
        tokens=before.tokens,
        before=rounded(before.value),
        after=rounded(after.value),
    )
    record = record.model_copy(update={"perplexity": numbers})
    write_whole(folder / RECORD, record.to_bytes())
    return record


def _measure_model(spec: str, text: EvaluationText) -> Prediction:
    source = ModelSource(spec)
    ability = source.abilities[0]
    if ability not in _KINDS:
        raise ModelError(f"{printable(spec)} does not predict tokens, so it has no perplexity")
    return measure_perplexity(source.open(ability), text)
