"""Encoders: the vectors of words, of sentences, and of words in their sentences, by any encoder or decoder.

units -> distinct texts as tokens -> one forward pass for each, no head -> vectors of tokens -> pooled by unit

A word in its sentence is found by the place of its characters: tokens that overlap them are its own, and no other.
"""

import inspect
from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from itertools import groupby, islice
from operator import attrgetter
from typing import Any, TypeAlias

import numpy as np
import torch
from numpy.typing import NDArray
from transformers import AutoModel

from senseprobe.errors import ModelError
from senseprobe.evaluate.models.base import Ids, PretrainedModel, fingerprint, hash_json, start_of
from senseprobe.evaluate.models.batching import by_length
from senseprobe.evaluate.models.checkpoint import Pretrained, quiet, vocabulary
from senseprobe.evaluate.models.encodings import DEFAULT_ENCODING, Encoding, EncodingOptions
from senseprobe.evaluate.models.layers import agree
from senseprobe.evaluate.models.limits import Unloadable
from senseprobe.evaluate.models.masked import Encoding as TokenizedText
from senseprobe.evaluate.models.masked import read_texts
from senseprobe.evaluate.models.poolings import (
    OF_MODEL,
    POOLINGS,
    Pooling,
    Positions,
    SentencePooling,
    blank_tokens,
    read_sentence_pooling,
    word_positions,
)
from senseprobe.evaluate.units import EMPTY, NOT_FINITE, TOO_LONG, Unit

Vector: TypeAlias = NDArray[np.float32]
Vectors: TypeAlias = list[tuple[Unit, Vector]]
"""Units that are done, each with its vector, of shape (width,): NaN throughout where it has none."""

NO_TOKEN = "no token of the word"  # noqa: S105 - a token of text

# So many texts are planned together: enough to find others of the same length, few enough for memory.
_WINDOW = 65_536
# So far may hidden states be apart, as a part of the largest, that differ in nothing that the model has read.
_SAME = {torch.float64: 1e-9, torch.float32: 1e-4}
_SAME_IN_HALF = 1e-2


@dataclass(frozen=True, slots=True)
class _TextWork:
    """A text as the model reads it, and the units that are made of it."""

    text: TokenizedText
    units: tuple[tuple[Unit, Positions], ...]
    rows: int = 1

    @property
    def length(self) -> int:
        """Tokens, special ones included."""
        return len(self.text.ids)


class Encoder(PretrainedModel):
    """A model with the ability of vectors: the body of any encoder or decoder of transformers; no head is computed.

    - `levels`: all of `POOLINGS`; `dimensions`: how many numbers a hidden state has; `layers`: how many there are after
      the table of tokens.
    - `reads_left_to_right`: whether hidden states depend on nothing that comes later, as those of decoders.
    - `start`: what stands before a text: ``own``, ``bos``, ``eos`` or ``off`` (see `encodings.STARTS`).

    Of a folder of sentence-transformers, a sentence is pooled as its files say. A decoder whose tokenizer puts nothing
    before a text gets its token for the beginning of a sequence there, or else for the end of one: what a decoder has
    at position 0 says little of the token there.
    """

    ability = "vectors"
    auto_class = AutoModel
    predicts_tokens = False
    unused = ("pooler.",)  # AutoModel gives some a layer that masked language models were not trained with
    levels = tuple(POOLINGS)

    def __init__(
        self,
        name: str,
        model: Pretrained,
        tokenizer: Pretrained,
        *,
        options: EncodingOptions,
        convention: SentencePooling | None,
        batch_tokens: int,
    ) -> None:
        super().__init__(name, model, tokenizer, batch_tokens=batch_tokens)
        self._options, self._convention = options, convention
        if convention and convention.most_tokens:
            self.max_length = min(self.max_length, convention.most_tokens)
        takes = inspect.signature(model.forward).parameters
        self._typed = "token_type_ids" in takes
        self._always: dict[str, bool] = {"use_cache": False} if "use_cache" in takes else {}
        self.layers, self.dimensions, self.reads_left_to_right = self._try_out()
        self.start, self._put = self._start_put()

    @classmethod
    def read_files(cls, spec: str) -> dict[str, Any]:
        """Return what files of sentence-transformers say. Raises ModelError where they ask for what is not computed."""
        return {"convention": read_sentence_pooling(spec)}

    @classmethod
    def used_part(cls, model: Pretrained) -> Pretrained:
        """Return the body of a model without the layer that some have for their first token, which is not run."""
        body: Pretrained = getattr(model, "base_model", model)
        if hasattr(body, "pooler"):
            body.pooler = None
        return body

    @classmethod
    def prepare(
        cls,
        name: str,
        model: Pretrained,
        tokenizer: Pretrained,
        *,
        options: EncodingOptions = DEFAULT_ENCODING,
        convention: SentencePooling | None = None,
        **settings: Any,  # noqa: ANN401
    ) -> dict[str, Any]:
        """Raise ModelError where the model is asked for what is of files of vectors."""
        if options.unit is not None:
            raise Unloadable("--unit applies to files of sense vectors only: leave it out")
        if options.exact_lemma is not None:
            raise Unloadable("--exact-lemma applies to files of senses only: leave it out")
        if options.reading_parts:
            raise Unloadable("--header and --skip-bad apply to files of vectors only: leave them out")
        if options.lower is not None:
            raise Unloadable("--lower applies to files of vectors only: a model's tokenizer decides about lower case")
        if convention and convention.lower:
            # Offsets stay those of the text, whatever the tokenizer does with its letters then.
            from tokenizers import normalizers

            backend = tokenizer.backend_tokenizer
            steps = [normalizers.Lowercase(), *([] if backend.normalizer is None else [backend.normalizer])]
            backend.normalizer = normalizers.Sequence(steps)
        return {"options": options, "convention": convention}

    @cached_property
    def identity(self) -> dict[str, str]:
        """What vectors depend on, as of other models; what files of sentence-transformers say is part of ``config``."""
        parts = fingerprint(self._model, self._tokenizer)
        if self._convention:
            parts["config"] = hash_json([parts["config"], asdict(self._convention)])
        return parts

    # --- how vectors are made ---------------------------------------------------------------------------------------

    def encoding(self, level: str) -> Encoding:
        """Return how vectors are made at a level, all resolved. ModelError where the options do not fit it."""
        # What a decoder has read of a word alone is a word that nothing stands before.
        comparable = level != "word" or not self.reads_left_to_right
        return self._pooling(level).encoding(self.start, comparable=comparable)

    def width(self, level: str) -> int:
        """Return how many numbers the vector of a unit has: `dimensions`, with a check pooling twice as many."""
        return self.dimensions * len(self._pooling(level).names)

    def _pooling(self, level: str) -> Pooling:
        if level not in POOLINGS:
            raise ModelError(f"the model {self.name} does not have vectors at level {level}: use {', '.join(POOLINGS)}")
        name = self._options.pooling or self._default_pooling(level)
        if name not in POOLINGS[level]:
            raise ModelError(f"level {level} does not have the pooling {name}: use one of {', '.join(POOLINGS[level])}")
        whole = name == OF_MODEL
        name = self._default_pooling("sent") if whole else name
        if name == "cls" and self._cls is None:
            raise ModelError(f"the tokenizer of {self.name} does not add a CLS token to a text: use another pooling")
        check = ("last" if name == "mean" else "mean",) if level == "cword" else ()
        of_files = self._convention if whole or level == "sent" else None
        return Pooling(
            level=level,
            names=(name, *check),
            layer=self._resolved_layer(),
            blanks=self._blanks,
            special=of_files is not None,
            normalised=of_files is not None and of_files.normalised,
            whole=whole,
            cls=self._cls or 0,
        )

    def _default_pooling(self, level: str) -> str:
        if level != "sent":
            return POOLINGS[level][0]
        if self._convention:
            return self._convention.pooling
        if self.reads_left_to_right:
            return "last"
        return "mean" if self._cls is None else "cls"

    def _resolved_layer(self) -> int:
        layer = self.layers if self._options.layer is None else self._options.layer
        if not -self.layers - 1 <= layer <= self.layers:
            raise ModelError(
                f"the model {self.name} does not have layer {layer}: its last is {self.layers}, its "
                "embedding table is 0"
            )
        return layer % (self.layers + 1)

    @cached_property
    def _cls(self) -> int | None:
        """Where the CLS token stands in an input, from the end if after the text; None where there is none."""
        if self._convention:
            return 0  # sentence-transformers calls the first token so, whatever it is
        token = self._tokenizer.cls_token_id
        probe = self._tokenizer("a", return_special_tokens_mask=True)
        special = probe["special_tokens_mask"]
        places = [at for at, id_ in enumerate(probe["input_ids"]) if id_ == token and special[at]]
        if not places:
            return None
        return places[0] if all(special[: places[0]]) else places[0] - len(special)

    def _start_put(self) -> tuple[str, Ids]:
        """Return what stands before a text, and the tokens that we put there ourselves."""
        start, tokens = start_of(self._tokenizer)
        off = self._options.start == "off"
        if start == "own" or self._convention or not self.reads_left_to_right:
            if off:
                raise Unloadable("its tokenizer alone decides which token precedes a text: leave --no-start out")
            return "own", ()
        return ("off", ()) if off else (start, tokens)

    # --- vectors ----------------------------------------------------------------------------------------------------

    def encode(self, level: str, units: Iterable[Unit], done: Container[Unit] = ()) -> Iterator[Vectors]:
        """Yield the vectors of distinct units, a forward pass at a time; each distinct text is read once.

        A vector is float32, of shape (width,), all NaN where a unit has none. It plans as if nothing were `done`, and
        leaves out what is, so that a run that was interrupted ends with the same bits.
        """
        pooling = self._pooling(level)
        nothing = np.full(self.width(level), np.nan, dtype=np.float32)
        texts = ((text, tuple(same)) for text, same in groupby(sorted(units), key=attrgetter("text")))
        while window := list(islice(texts, _WINDOW)):
            works = list(self._plan(pooling, window))
            planned = {unit for work in works for unit, _ in work.units}
            left = [unit for _, same in window for unit in same if unit not in done]
            yield [(unit, nothing) for unit in left if unit not in planned]
            for batch in by_length(works, self.budget.tokens):
                if any(unit not in done for work in batch for unit, _ in work.units):
                    answers = self.budget.spend(batch, batch[0].length, lambda part: self._answer(pooling, part))
                    yield [(unit, vector) for answer in answers for unit, vector in answer if unit not in done]

    def reasons(self, level: str, units: Sequence[Unit]) -> Iterator[str]:
        """Yield why each unit has no vector, in a few words."""
        pooling = self._pooling(level)
        for unit, text in zip(units, self._read([unit.text for unit in units]), strict=True):
            yield self._obstacle(text, pooling.positions(text, unit)) or NOT_FINITE

    def lacks(self, word: str) -> bool:
        """Return False: a tokenizer spells every word."""
        return False

    def first_positions(self, units: Sequence[Unit]) -> int:
        """Return of how many units a token stands at position 0 of a decoder, which has something else than it there.

        A unit without a span is a word alone. Of other models it is 0.
        """
        if not self.reads_left_to_right:
            return 0
        spans = [(unit.start, unit.end) if unit.start >= 0 else (0, len(unit.text)) for unit in units]
        texts = zip(self._read([unit.text for unit in units]), spans, strict=True)
        return sum(0 in word_positions(text, *span, self._blanks) for text, span in texts)

    def count_wins(self, texts: Sequence[str]) -> list[tuple[Sequence[tuple[int, int]], NDArray[np.int64]] | None]:
        """Return of each text the characters of its tokens, and how many dimensions of max pooling each token wins.

        A token wins a dimension where no token's last hidden state is larger; of equal ones the first wins. Special
        tokens take part, at no characters. None for a text that is longer than the model takes.
        """
        read = dict(zip(dict.fromkeys(texts), self._read([*dict.fromkeys(texts)]), strict=True))
        works = [_TextWork(text, ()) for text in read.values() if 0 < len(text.ids) <= self.max_length]
        wins: dict[TokenizedText, NDArray[np.int64]] = {}
        for batch in by_length(works, self.budget.tokens):
            answers = self.budget.spend(batch, batch[0].length, self._count_batch)
            wins.update((work.text, won) for work, won in zip(batch, answers, strict=True))
        return [(read[text].offsets, wins[read[text]]) if read[text] in wins else None for text in texts]

    @torch.inference_mode()
    def _count_batch(self, batch: Sequence[_TextWork]) -> list[NDArray[np.int64]]:
        length = batch[0].length
        states = self._hidden([work.text for work in batch], self._resolved_layer())
        winners = states.reshape(len(batch), length, -1).float().cpu().numpy().argmax(axis=1)
        return [np.bincount(row, minlength=length) for row in winners]

    def _read(self, texts: Sequence[str]) -> list[TokenizedText]:
        """Return the texts as the model reads them, in order, each distinct one read once."""
        distinct = dict.fromkeys(texts)
        read = dict(zip(distinct, read_texts(self._tokenizer, list(distinct)), strict=True))
        return [_put_before(read[text], self._put) for text in texts]

    def _plan(self, pooling: Pooling, window: Sequence[tuple[str, tuple[Unit, ...]]]) -> Iterator[_TextWork]:
        """Yield the texts that have a unit with a vector, each with those units."""
        for (_, units), text in zip(window, self._read([text for text, _ in window]), strict=True):
            placed = [(unit, pooling.positions(text, unit)) for unit in units]
            if able := tuple((unit, at) for unit, at in placed if not self._obstacle(text, at)):
                yield _TextWork(text, able)

    def _obstacle(self, text: TokenizedText, positions: Positions) -> str:
        if not text.positions:
            return EMPTY
        if len(text.ids) > self.max_length:
            return TOO_LONG
        return "" if all(positions) else NO_TOKEN

    @cached_property
    def _blanks(self) -> frozenset[int]:
        return blank_tokens(self._tokenizer)

    @torch.inference_mode()
    def _answer(self, pooling: Pooling, batch: Sequence[_TextWork]) -> list[Vectors]:
        """Answer texts of one length in one forward pass: the vectors of each text's units."""
        hidden = self._hidden([work.text for work in batch], pooling.layer)
        length = batch[0].length
        units = [(row * length, unit, at) for row, work in enumerate(batch) for unit, at in work.units]
        shifted = [tuple(tuple(first + i for i in ids) for ids in at) for first, _, at in units]
        vectors = pooling.pool(hidden, shifted).astype(np.float32)
        pairs = iter(zip((unit for _, unit, _ in units), vectors, strict=True))
        return [list(islice(pairs, len(work.units))) for work in batch]

    def _hidden(self, texts: Sequence[TokenizedText], layer: int) -> torch.Tensor:
        """Return the hidden states of texts of one length, one token after the other: shape (tokens, dimensions)."""
        inputs = {"input_ids": self._tensor([text.ids for text in texts])}
        inputs["attention_mask"] = torch.ones_like(inputs["input_ids"])
        if self._typed and texts[0].types is not None:
            inputs["token_type_ids"] = self._tensor([text.types for text in texts])
        # The last hidden states are those that other layers would get: after the last norm.
        last = layer == self.layers
        output = self._model(**inputs, **self._always, **({} if last else {"output_hidden_states": True}))
        hidden: torch.Tensor = output.last_hidden_state if last else output.hidden_states[layer]
        if tuple(hidden.shape) != (*inputs["input_ids"].shape, self.dimensions):
            raise ModelError(
                f"the model {self.name} has hidden states of shape {tuple(hidden.shape)} for input of shape"
                f" {tuple(inputs['input_ids'].shape)}"
            )
        return hidden.flatten(0, 1)

    @torch.inference_mode()
    def _try_out(self) -> tuple[int, int, bool]:
        """Return how many layers there are, their dimensions, and whether what comes later changes nothing before it.

        Raises Unloadable where the model has no hidden states, each of a token.
        """
        ids = torch.arange(min(8, self.max_length), device=self._model.device)
        half = len(ids) // 2
        rows = torch.stack([ids, torch.cat([ids[:half], (ids[half:] + half) % vocabulary(self._model)])])
        with quiet():
            output = self._model(
                input_ids=rows, attention_mask=torch.ones_like(rows), output_hidden_states=True, **self._always
            )
        states, last = getattr(output, "hidden_states", None), getattr(output, "last_hidden_state", None)
        if not states or last is None or last.shape[:2] != rows.shape:
            raise Unloadable("it does not show hidden states, one for each token")
        first, second = last[:, :half]
        return len(states) - 1, last.shape[-1], agree(first, second, _SAME.get(last.dtype, _SAME_IN_HALF))


load = Encoder.load


def _put_before(text: TokenizedText, start: Ids) -> TokenizedText:
    """Return a text with tokens of ours before it, which are special."""
    if not start:
        return text
    return TokenizedText(
        ids=start + text.ids,
        types=None if text.types is None else text.types[:1] * len(start) + text.types,
        special=(True,) * len(start) + text.special,
        offsets=((0, 0),) * len(start) + text.offsets,
    )
