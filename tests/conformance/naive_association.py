"""Vectors of words, sentences and words in sentences once more, slowly: what the committed vectors come from.

It shares no code with senseprobe: one text at a time, all in float64, loops; where a word's tokens are is found by
spelling the tokens along the text, not by a tokenizer's offsets.
`python tests/conformance/naive_association.py` (in the repository's root) writes `association_vectors.json` anew.
"""

import json
import re
import sys
import tempfile
from pathlib import Path
from typing import Any, TypeAlias

# A model or tokenizer of transformers, which ships no types that are of use.
Foreign: TypeAlias = Any
Vector: TypeAlias = list[float]

VECTORS = Path(__file__).with_name("association_vectors.json")
SHOWN = 8  # numbers of each vector that are committed

# By model: how its tokens are spelt, what stands before a text and how many special tokens after it, and how a
# sentence is pooled unless the user says otherwise. Written down by hand.
MODELS: dict[str, tuple[str, str, int, str]] = {
    "bert": ("##", "[CLS]", 1, "cls"),
    "roberta": ("bytes", "<s>", 1, "cls"),
    "albert": ("▁", "[CLS]", 1, "cls"),
    "modernbert": ("bytes", "[CLS]", 1, "cls"),
    "bert-bare": ("##", "", 0, "mean"),
    "gpt2": ("bytes", "<|endoftext|>", 0, "last"),
    "gpt2-bare": ("bytes", "", 0, "last"),
    "llama-end": ("▁", "<s>", 1, "last"),
    "qwen2": ("bytes", "<|endoftext|>", 0, "last"),
    "mamba": ("bytes", "<|endoftext|>", 0, "last"),
}
LOWER = {"bert", "bert-bare", "albert"}
UNKNOWN = {"[UNK]", "<unk>"}
LONGEST = 48

# A sentence, and where the target is in it.
CASES: list[tuple[str, int, int]] = [
    ("Japanese people are unkind.", 0, 8),
    # the last word, before the full stop
    ("Japanese people are unkind.", 20, 26),
    ("This is Ebony.", 8, 13),
    # possessives and hyphens
    ("This is Ebony's friend.", 8, 13),
    ("the nurses' dress is black.", 4, 10),
    ("She is an African-American nurse.", 10, 26),
    ("She is an African-American nurse.", 18, 26),
    # a target of several words
    ("the good looking engineer is kind.", 4, 16),
    # a word twice: the span decides
    ("kind people are kind.", 0, 4),
    ("kind people are kind.", 16, 20),
    # characters beyond ASCII; unknown tokens
    ("café owners are clever.", 0, 4),
    ("Ж people are kind.", 0, 1),
    ("Ж people are kind.", 2, 8),
    # white space before, after and within
    ("  she is a nurse.", 11, 16),
    ("people are  kind.  ", 12, 16),
    # a word alone
    ("nurse", 0, 5),
    # too long; no token in the span; no token at all
    ("people " + "are kind and clever and " * 12 + "good.", 0, 6),
    ("people are kind.", 4, 4),
    ("", 0, 0),
]
NAMES = ("word", "sent", "cword-mean", "cword-first", "cword-last", "cword-head")


class Naive:
    """One model, all in float64."""

    def __init__(self, name: str, folder: Path) -> None:
        from transformers import AutoModel, AutoTokenizer

        self.spelling, self.start, self.after, self.pooling = MODELS[name]
        self.lower = name in LOWER
        self.longest = LONGEST if name != "mamba" else 10**9
        self.tokenizer: Foreign = AutoTokenizer.from_pretrained(folder)
        self.model: Foreign = AutoModel.from_pretrained(folder).double().eval()

    def states(self, text: str) -> tuple[list[str], list[Vector]] | None:
        """The text's own tokens, spelt, and the last hidden states of all; None where there are too few or many."""
        import torch

        own = self.tokenizer.encode(text, add_special_tokens=False)
        before = [self.tokenizer.convert_tokens_to_ids(self.start)] if self.start else []
        after = [self.tokenizer.sep_token_id or self.tokenizer.eos_token_id] * self.after
        if not own or len(before + own + after) > self.longest:
            return None
        with torch.no_grad():
            hidden = self.model(input_ids=torch.tensor([before + own + after])).last_hidden_state[0]
        assert hidden.dtype == torch.float64
        return self.tokenizer.convert_ids_to_tokens(own), hidden.tolist()

    def vectors(self, text: str, start: int, end: int) -> dict[str, Vector | None]:
        """By name, the vector; None where there is none."""
        read = self.states(text)
        if read is None:
            return dict.fromkeys(NAMES)
        tokens, hidden = read
        own = hidden[bool(self.start) :][: len(tokens)]
        sentence = {"cls": hidden[0], "mean": mean(own), "last": own[-1]}[self.pooling]
        owners = self.owners(text, tokens)
        word = [vector for vector, chars in zip(own, owners, strict=True) if chars & {*range(start, end)}]
        # The last word of the target, split at blanks as in Tan and Celis' code.
        blank = max((i + 1 for i in range(start, end) if text[i] == " "), default=start)
        head = [vector for vector, chars in zip(own, owners, strict=True) if chars & {*range(blank, end)}]
        spelt = [vector for vector, chars in zip(own, owners, strict=True) if chars]
        values: dict[str, Vector | None] = {"word": mean(spelt), "sent": sentence}
        if not word:
            return dict.fromkeys(NAMES) | values
        parts = {"mean": mean(word), "first": word[0], "last": word[-1], "head": head[0]}
        return values | {f"cword-{name}": vector for name, vector in parts.items()}

    def owners(self, text: str, tokens: list[str]) -> list[set[int]]:
        """Of each token, which characters of the text it spells; a blank before a word is nobody's."""
        read = text.lower() if self.lower else text
        spelt = [(byte, i) for i, char in enumerate(read) for byte in char.encode()]
        at, owners = 0, []
        for token in tokens:
            while at < len(spelt) and spelt[at][0] == 32:
                at += 1
            size = len(self.spell(token))
            if token in UNKNOWN:  # a word, or a character, that the vocabulary lacks: up to the next blank
                size = next((i for i in range(at, len(spelt)) if spelt[i][0] == 32), len(spelt)) - at
            else:
                assert bytes(byte for byte, _ in spelt[at : at + size]) == self.spell(token), (text, token)
            owners.append({i for _, i in spelt[at : at + size]})
            at += size
        return owners

    def spell(self, token: str) -> bytes:
        """The bytes of a token, without blanks before it."""
        if self.spelling == "##":
            return token.removeprefix("##").encode()
        if self.spelling == "▁":
            byte = re.fullmatch("<0x(..)>", token)
            return bytes([int(byte[1], 16)]) if byte else token.replace("▁", "").encode()
        return bytes(LETTERS.index(letter) for letter in token).replace(b" ", b"")


def letters() -> str:
    """The letter of each byte in GPT-2's vocabulary: its own in Latin-1 where one can see it, else from Ā on."""
    seen = [chr(byte) if 33 <= byte <= 126 or (byte >= 161 and byte != 173) else "" for byte in range(256)]
    others = iter(range(256, 512))
    return "".join(letter or chr(next(others)) for letter in seen)


LETTERS = letters()


def mean(vectors: list[Vector]) -> Vector:
    """The mean of vectors, number by number."""
    return [sum(numbers) / len(vectors) for numbers in zip(*vectors, strict=True)]


def all_vectors(folders: dict[str, Path]) -> dict[str, dict[str, list[Vector | None]]]:
    """By model and name, the vector of each case; None where there is none."""
    values: dict[str, dict[str, list[Vector | None]]] = {}
    for model in MODELS:
        naive = Naive(model, folders[model])
        rows = [naive.vectors(*case) for case in CASES]
        values[model] = {name: [row[name] for row in rows] for name in NAMES}
    return values


def build(folder: Path) -> dict[str, Path]:
    """Write the masked and the causal models of the suite into a folder."""
    from tests.conformance import causal_models, masked_models

    return {**masked_models.build(folder / "masked"), **causal_models.build(folder / "causal")}


def main() -> None:
    """Write the vectors, one in a line."""
    sys.path.insert(0, str(Path(__file__).parents[2]))
    with tempfile.TemporaryDirectory() as folder:
        values = all_vectors(build(Path(folder)))
    cases = [dict(zip(("text", "start", "end"), case, strict=True)) for case in CASES]
    about = f"Made by naive_association.py: the first {SHOWN} numbers of each vector; null: there is none"
    parts = [f'"about": {json.dumps(about)}', f'"cases": {in_lines(cases)}']
    for model, kinds in values.items():
        rows = (
            f'"{name}": {in_lines([v and [round(n, 7) for n in v[:SHOWN]] for v in kinds[name]])}' for name in NAMES
        )
        parts.append(f'"{model}": {{{", ".join(rows)}}}')
    VECTORS.write_text("{" + ",\n".join(parts) + "}\n", encoding="utf-8")


def in_lines(items: list[Any]) -> str:
    """JSON of a list, an item in a line."""
    return "[\n" + ",\n".join(json.dumps(item, ensure_ascii=False) for item in items) + "]"


if __name__ == "__main__":
    main()
