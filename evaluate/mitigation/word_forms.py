"""The forms of a word that are one token of a tokenizer: after a space or not, with a small or a capital letter."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from senseprobe.errors import ModelError
from senseprobe.evaluate.mitigation.record import FormChoice
from senseprobe.evaluate.models.base import TextTokens
from senseprobe.messages import counted, listed, printable

SPACE = "␣"
_BEFORE = {SPACE: "a ", "": "", "(": "("}
"""What may stand before a word: a space, nothing, or a sign; the last two are one form where a tokenizer says so."""


@dataclass(frozen=True, slots=True)
class SplitWords:
    """Words as the tokens of a model.

    - `tokens`: by word, as it was given, the id of each of its forms, by form: ``␣word``, ``word``, ``␣Word``…
    - `several`: the words of which no form is one token.
    """

    tokens: Mapping[str, Mapping[str, int]]
    several: tuple[str, ...] = ()

    def pairs(self, left: str, right: str) -> dict[str, tuple[int, int]]:
        """Return the ids of two words, by the forms that both have as one token."""
        a, b = self.tokens.get(left, {}), self.tokens.get(right, {})
        return {form: (a[form], b[form]) for form in a if form in b}


def split_words(tokens: TextTokens, words: Iterable[str], forms: FormChoice = "all") -> SplitWords:
    """Return the forms of words that are one token each; with `one`, the first of a word: as in running text.

    A form stands once: a tokenizer that makes letters small has the same token for all of them. Words of which no form
    is one token are listed. Raises ModelError where those are all.
    """
    distinct = list(dict.fromkeys(words))
    split = {word: _forms(tokens, word) if word.strip() else {} for word in distinct}
    if forms == "one":
        split = {word: dict([*ids.items()][:1]) for word, ids in split.items()}
    several = tuple(word for word in distinct if not split[word])
    if len(several) == len(distinct):
        raise ModelError(
            f"the tokenizer does not have {counted(len(several), 'word')} as one token: "
            f"{printable(listed(several))}; a word of several tokens does not have a vector of its own"
        )
    return SplitWords({word: ids for word, ids in split.items() if ids}, several)


def _forms(tokens: TextTokens, word: str) -> dict[str, int]:
    """Return the ids of the forms of a word that are one token, by form; two forms of one token stand once."""
    cases = {"word": word, "Word": f"{word[:1].upper()}{word[1:]}", "WORD": word.upper()}
    texts = {(mark, case): (before, cased) for case, cased in cases.items() for mark, before in _BEFORE.items()}
    before = dict(zip(_BEFORE.values(), tokens.of([text.strip() for text in _BEFORE.values()]), strict=True))
    whole = tokens.of([f"{start}{cased}" for start, cased in texts.values()])
    forms: dict[str, int] = {}
    for ((mark, case), (start, _)), ids in zip(texts.items(), whole, strict=True):
        is_single = bool(ids) and ids[:-1] == before[start]  # the word adds one token to what stands before it
        if is_single and ids[-1] != tokens.unknown and ids[-1] not in forms.values():
            forms.setdefault(f"{mark.replace('(', '')}{case}", ids[-1])
    return forms
