"""Every masked scorer once more, as slowly and plainly as can be: what the committed vectors come from.

It shares no code with senseprobe: a forward pass per mask, all logits in float64, all attention weights, loops.
`python tests/conformance/naive_masked.py` (in the repository's root) writes `masked_vectors.json` anew.
"""

import difflib
import json
import math
import sys
import tempfile
import unicodedata
from pathlib import Path
from typing import Any

VECTORS = Path(__file__).with_name("masked_vectors.json")

# How many special tokens each tokenizer puts before and after a text, written down by hand.
AROUND = {
    "bert": (1, 1),
    "bert-bare": (0, 0),
    "bert-start": (1, 0),
    "distilbert": (1, 1),
    "roberta": (1, 1),
    "albert": (1, 1),
    "modernbert": (1, 1),
}
LONGEST = 48

# Text, the text beside it, start and end of the target in the text, whether the text is sentence 2 of the pair.
CASES: list[tuple[str, str, int, int, bool]] = [
    ("Japanese people are unkind.", "Japanese people are kind.", 0, 8, False),
    ("Japanese people are kind.", "Japanese people are unkind.", 0, 8, False),
    ("norwegian people are kind.", "norwegian people are unkind.", 0, 9, False),
    # words of several pieces, and counterparts of another length
    ("the talented engineer is uppish.", "the talented engineer is good looking.", 13, 21, False),
    ("the talented engineer is good looking.", "the talented engineer is uppish.", 4, 12, False),
    # unknown tokens
    ("Ж people are 日本 and kind.", "Ж people are 日本 and cruel.", 0, 1, False),
    ("the 日本 dress is kind.", "the black dress is kind.", 12, 17, False),
    # characters beyond ASCII, joined and apart, and some that are several code points or several tokens
    ("café owners are naïve.", "café owners are clever.", 0, 4, False),
    ("cafe\u0301 owners are nai\u0308ve.", "cafe\u0301 owners are clever.", 0, 5, False),
    ("the 👩\u200d🔬 is kind.", "the 👩\u200d🔬 is cruel.", 4, 7, False),
    # white space before, after and within
    ("  she is a nurse.", "  he is a nurse.", 11, 16, False),
    (" she is a nurse.", "she is a nurse.", 10, 15, False),
    ("people are  kind.  ", "people are  cruel.  ", 0, 6, False),
    # the name of a special token, punctuation, contraction
    ("english people are [SEP] kind.", "english people are [SEP] cruel.", 0, 7, False),
    ("don't the nurses' dresses (black) fit?!", "don't the nurses' dresses (cruel) fit?!", 10, 16, False),
    # tokens again and again: difflib matches the two of a pair otherwise when they are turned around
    ("kind people are kind people and kind", "people are kind and kind people are", 5, 11, False),
    ("people are kind and kind people are", "kind people are kind people and kind", 0, 6, False),
    ("a b a b", "b a b a a", 2, 3, False),
    # nothing differs; nothing is shared; what differs is the target, or there is none
    ("she is a nurse.", "she is a nurse.", 9, 14, False),
    ("kind", "people are", 0, 4, False),
    ("he is a nurse.", "she is a nurse.", 0, 2, False),
    ("people are kind", "people are kind and clever", 0, 6, False),
    ("people are kind and clever", "people are kind", -1, -1, False),
    # nothing at all, a single token, more tokens than the models take
    ("", "people are kind.", 0, 0, False),
    ("kind", "kind", 0, 4, False),
    ("people " + "are kind and clever and " * 12 + "good.", "people are kind.", 0, 6, False),
    # the text is sentence 2: difflib has the other as its first
    ("people are kind and kind people are", "kind people are kind people and kind", 0, 6, True),
    ("kind people are kind people and kind", "people are kind and kind people are", 5, 11, True),
    ("a b a b", "b a b a a", 2, 3, True),
    ("Japanese people are kind.", "Japanese people are unkind.", 0, 8, True),
]

NAN = math.nan


class Naive:
    """One model of `masked_models.py`, all in float64."""

    def __init__(self, name: str, folder: Path) -> None:
        from transformers import AutoModelForMaskedLM, AutoTokenizer

        self.before, self.after = AROUND[name]
        self.tokenizer: Any = AutoTokenizer.from_pretrained(folder)
        self.model: Any = AutoModelForMaskedLM.from_pretrained(folder).double().eval()
        # Only the implementation called eager tells its weights; ModernBERT's has a softmax in float32.
        self.telling: Any = AutoModelForMaskedLM.from_pretrained(folder, attn_implementation="eager").double().eval()

    def read(self, text: str) -> tuple[list[int], list[tuple[int, int]]]:
        """Own tokens and their places in the text; special tokens are not asked for and so have none."""
        found = self.tokenizer(text, add_special_tokens=False, return_offsets_mapping=True, verbose=False)
        return list(found["input_ids"]), [tuple(pair) for pair in found["offset_mapping"]]

    def whole(self, own: list[int]) -> list[int]:
        """The tokens with special ones around them."""
        return [self.tokenizer.cls_token_id] * self.before + own + [self.tokenizer.sep_token_id] * self.after

    def log_p(self, own: list[int], hidden: list[int], place: int) -> float:
        """The log P of the own token at `place` where those at `hidden` are masked: one forward pass."""
        import torch

        row = list(own)
        for hide in hidden:
            row[hide] = self.tokenizer.mask_token_id
        with torch.no_grad():
            logits = self.model(input_ids=torch.tensor([self.whole(row)])).logits[0, place + self.before]
        assert logits.dtype == torch.float64
        exponentials = [math.exp(x) for x in logits.tolist()]
        return math.log(exponentials[own[place]] / math.fsum(exponentials))

    def received(self, own: list[int]) -> list[float]:
        """For each own token the attention that it gets: mean over layers, heads and all that attend."""
        import torch

        with torch.no_grad():
            layers = self.telling(input_ids=torch.tensor([self.whole(own)]), output_attentions=True).attentions
        total = [0.0] * len(own)
        count = 0
        for layer in layers:
            for head in layer[0].tolist():
                for query in head:
                    count += 1
                    for place in range(len(own)):
                        total[place] += query[place + self.before]
        return [value / count for value in total]

    def numbers(self, text: str, beside: str, start: int, end: int, second: bool = False) -> dict[str, float]:
        """Every scorer's number."""
        own, offsets = self.read(text)
        other, _ = self.read(beside)
        n = len(own)
        if n == 0 or n + self.before + self.after > LONGEST:
            return dict.fromkeys(NAMES, NAN)
        seen = [self.log_p(own, [], i) for i in range(n)]
        weights = self.received(own)
        masked = [self.log_p(own, [i], i) for i in range(n)]
        in_words = [self.log_p(own, later_of_word(text, offsets, i), i) for i in range(n)]
        matched = self.shared(own, other, turned=second)
        shared = self.shared(own, other, turned=self.whole(other) < self.whole(own))
        changed = [i for i in range(n) if i not in shared]
        together = [self.log_p(own, changed, i) for i in changed]
        target = [i for i, (a, b) in enumerate(offsets) if any(start <= k < end for k in range(a, b))]
        attribute = [i for i in changed if i not in target]
        odds = NAN
        if target and attribute:
            with_it = math.fsum(self.log_p(own, target, i) for i in target)
            without = math.fsum(self.log_p(own, target + attribute, i) for i in target)
            odds = with_it - without
        cps = math.fsum(masked[i] for i in matched) if matched else NAN
        return {
            "aul": math.fsum(seen) / n,
            "aula": math.fsum(a * b for a, b in zip(seen, weights, strict=True)) / n,
            "aula-renormalised": math.fsum(a * b for a, b in zip(seen, weights, strict=True)) / math.fsum(weights),
            "pll": math.fsum(masked),
            "pll-word-l2r": math.fsum(in_words),
            "cps": cps,
            "cps-rounded": NAN if math.isnan(cps) else round(cps, 3),
            "sss": math.fsum(together) / len(together) if together else NAN,
            "sss-prob": math.fsum(math.exp(x) for x in together) / len(together) if together else NAN,
            "log-odds": odds,
        }

    def shared(self, own: list[int], other: list[int], *, turned: bool) -> list[int]:
        """Own tokens that the other text has too: the ``equal`` spans of difflib over all tokens, special ones dropped.

        `turned`: the other text is difflib's first. For cps that is sentence 1, as in the released code; for other
        scorers the text that comes first by its tokens.
        """
        mine, theirs = self.whole(own), self.whole(other)
        places = []
        if not turned:
            for name, a, b, c, _ in difflib.SequenceMatcher(None, mine, theirs, autojunk=False).get_opcodes():
                if name == "equal":
                    places += [(i, c + i - a) for i in range(a, b)]
        else:
            for name, a, b, c, _ in difflib.SequenceMatcher(None, theirs, mine, autojunk=False).get_opcodes():
                if name == "equal":
                    places += [(c + i - a, i) for i in range(a, b)]
        kept = []
        for i, j in places:
            special_here = i < self.before or i >= self.before + len(own)
            special_there = j < self.before or j >= self.before + len(other)
            if not special_here and not special_there:
                kept.append(i - self.before)
        return sorted(kept)


NAMES = (
    *("aul", "aula", "aula-renormalised", "pll", "pll-word-l2r"),
    *("cps", "cps-rounded", "sss", "sss-prob", "log-odds"),
)


def later_of_word(text: str, offsets: list[tuple[int, int]], place: int) -> list[int]:
    """The token at `place` and the later ones that begin in the same word."""
    return [i for i in range(place, len(offsets)) if word_at(text, offsets[i][0]) == word_at(text, offsets[place][0])]


def word_at(text: str, k: int) -> int:
    """Where the word begins that has the character at `k`, or that follows it where this is white space."""
    while k < len(text) and text[k].isspace():
        k += 1
    if k >= len(text) or not is_letter(text[k]):
        return k
    while k > 0 and is_letter(text[k - 1]):
        k -= 1
    return k


def is_letter(character: str) -> bool:
    return unicodedata.category(character).startswith(("L", "M", "N"))


def all_vectors(folders: dict[str, Path]) -> dict[str, dict[str, list[float | None]]]:
    """By model and scorer, a number for each case; None where the case is unscored."""
    found: dict[str, dict[str, list[float | None]]] = {}
    for name, folder in folders.items():
        naive = Naive(name, folder)
        rows = [naive.numbers(*case) for case in CASES]
        found[name] = {key: [None if math.isnan(row[key]) else row[key] for row in rows] for key in NAMES}
    return found


def main() -> None:
    """Write the vectors."""
    sys.path.insert(0, str(Path(__file__).parents[2]))
    from tests.conformance.masked_models import SEED, build

    with tempfile.TemporaryDirectory() as folder:
        values = all_vectors(build(Path(folder)))
    cases = [dict(zip(("text", "beside", "start", "end", "second"), case, strict=True)) for case in CASES]
    about = "Made by naive_masked.py for the models of masked_models.py; null: unscored"
    content = {"about": about, "seed": SEED, "cases": cases, "values": values}
    VECTORS.write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
