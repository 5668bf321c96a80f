"""Tokens as a server cuts texts: what forces a model to read, or write, a text as it would by itself."""

from collections.abc import Mapping, Sequence
from typing import Any

from senseprobe.evaluate.served.client import Client
from senseprobe.evaluate.served.forced_tokens import (
    Ids,
    Query,
    UnreadError,
    UnscoredError,
    at,
    body_of,
    ids_of,
    list_at,
)
from senseprobe.evaluate.served.server_facts import ServerFacts
from senseprobe.evaluate.served.wire import DIALECTS
from senseprobe.evaluate.units import EMPTY, TOO_LONG

LLAMA = "llama.cpp"
PARTIAL = "a token is part of a character, which the server cannot be forced to write"
PROOF = ("The cat sat on the mat.", "The cat sat on the moon.")
"""Sentences that begin alike, and end differently."""


class ServerTokenizer:
    """Tokens of a server's model, by its ``/tokenize``.

    `start`: what stands before a text: what the tokenizer puts there; else the token that begins a sequence, else the
    one that ends it, where the server tells; else nothing. `longest`: how many tokens it takes; None where unknown.
    `proof`: the tokens of `PROOF`.
    """

    start: Ids = ()
    proof: tuple[Ids, ...] = ()

    def __init__(self, client: Client, facts: ServerFacts) -> None:
        self.client, self.kind = client, facts.kind
        self.longest = facts.context if facts.kind == LLAMA else None
        self._start = facts.start
        fields = DIALECTS[facts.kind].fields
        self._thinking = {name: value for name, value in fields.items() if name == "chat_template_kwargs"}
        self._pieces: dict[int, str] = {}

    def encode(self, texts: Sequence[str], *, special: bool = False, keep: bool = True) -> list[Ids]:
        """Return the tokens of texts; `special`: special tokens, too: those around a text, and those that it spells."""
        if self.kind == LLAMA:
            # Without special ones: to write one may end what is written.
            more: dict[str, Any] = {"add_special": special, "parse_special": special, "with_pieces": True}
            return self._tokens([{"content": text, **more} for text in texts], keep=keep)
        more = {"model": self._model, "add_special_tokens": special}
        return self._tokens([{"prompt": text, **more} for text in texts], keep=keep)

    def prompts(self, prompts: Sequence[str], *, keep: bool = True) -> list[Ids]:
        """Return the tokens of users' turns in the chat template, up to where the answer begins."""
        turns = [{"messages": [{"role": "user", "content": prompt}], **self._thinking} for prompt in prompts]
        if self.kind == LLAMA:
            answers = self.client.map("/apply-template", turns, store=keep, retry=keep)
            texts = [at(body_of(self.client, answer), "prompt") for answer in answers]
            rendered = self.encode(texts, special=True, keep=keep)
            doubled = (*self.start, *self.start)  # a template may spell out what the tokenizer puts there, too
            return [ids[len(self.start) :] if doubled and ids[: len(doubled)] == doubled else ids for ids in rendered]
        more = {"model": self._model, "add_generation_prompt": True, "add_special_tokens": False}
        return self._tokens([{**more, **turn} for turn in turns], keep=keep)

    def rest(self, text: str, token: int) -> str:
        """Return a text without the characters that its first token stands for."""
        if token not in self._pieces:
            answer = self.client.post("/detokenize", {"model": self._model, "tokens": [token]})
            name = "content" if self.kind == LLAMA else "prompt"
            self._pieces[token] = str(at(body_of(self.client, answer), name))
        # A tokenizer may put a space before a text; a token of half a character stands for the whole.
        piece = self._pieces[token]
        return next((text[len(start) :] for start in (piece, piece[1:]) if start and text.startswith(start)), text[1:])

    def obstacle(self, query: Query) -> str:
        """Return why a query cannot be asked; empty where it can."""
        if not query.forced:
            return EMPTY
        if self.longest is not None and len(query.given) + len(query.forced) > self.longest:
            return TOO_LONG
        # llama.cpp gives no log-probability of what it has written before the character is whole.
        return PARTIAL if any(self._pieces.get(token) == "" for token in query.forced) else ""

    def read_proof(self) -> None:
        """Read the tokens of `PROOF`, and find out what stands before a text."""
        self.proof = tuple(self.encode(PROOF, keep=False))
        bare, (whole,) = self.proof[0], self.encode(PROOF[:1], special=True, keep=False)
        ends = range(len(whole) - len(bare) + 1)
        self.start = next((whole[:end] for end in ends if whole[end : end + len(bare)] == bare), ())
        if self._start and not self.start:
            tokens = self.encode([self._start], special=True, keep=False)[0]
            self.start = tokens if len(tokens) == 1 else ()

    @property
    def _model(self) -> str:
        return self.client.address.model

    def _tokens(self, bodies: Sequence[Mapping[str, Any]], *, keep: bool) -> list[Ids]:
        answers = self.client.map("/tokenize", bodies, store=keep, retry=keep)
        return [self._read_ids(list_at(body_of(self.client, answer), "tokens")) for answer in answers]

    def _read_ids(self, tokens: list[Any]) -> Ids:
        """Return the ids of tokens; where they come with pieces, those are kept: "" of a part of a character."""
        if self.kind != LLAMA or all(type(token) is int for token in tokens):
            return ids_of(tokens)
        ids = ids_of([at(token, "id") for token in tokens])
        pieces = [at(token, "piece") for token in tokens]
        self._pieces.update(
            (number, piece if isinstance(piece, str) else "") for number, piece in zip(ids, pieces, strict=True)
        )
        return ids


def find_tokenizer(client: Client, facts: ServerFacts) -> ServerTokenizer | None:
    """Return the tokens of a server; None where it does not tell them."""
    tokenizer = ServerTokenizer(client, facts)
    try:
        tokenizer.read_proof()
        first, second = tokenizer.proof
    except (UnreadError, UnscoredError):
        return None
    return tokenizer if len(first) > 2 and first[:1] == second[:1] and first != second else None
