"""What a tokenizer makes of a text by itself, without the special tokens that it puts around it."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from senseprobe.evaluate.models.checkpoint import Pretrained


Ids: TypeAlias = tuple[int, ...]


class TextTokens:
    """The tokens of texts. `unknown` is the id of the token for what the tokenizer does not know, None without one."""

    def __init__(self, tokenizer: "Pretrained") -> None:
        self._tokenizer = tokenizer
        self.unknown: int | None = tokenizer.unk_token_id

    def of(self, texts: Sequence[str]) -> list[Ids]:
        """Return the ids of each text's own tokens, in order, neither padded nor cut."""
        if not texts:
            return []
        columns = self._tokenizer(list(texts), add_special_tokens=False, return_attention_mask=False, verbose=False)
        return [tuple(ids) for ids in columns["input_ids"]]

    def spelt(self, ids: Sequence[int]) -> str:
        """Return tokens as the vocabulary spells them: ``<|im_start|>``."""
        return "".join(map(str, self._tokenizer.convert_ids_to_tokens(list(ids))))
