"""The chat template of a tokenizer: from what a user says to the tokens that a model reads.

A template is a program that comes with the model. transformers renders it in a sandbox; here its work is bounded, too,
and what stands in a row is read as text, even where it is spelt like a token of the template.
"""

import re
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from types import FrameType
from typing import Any, TypeAlias

from senseprobe.errors import ModelError
from senseprobe.evaluate.models.base import Ids, hash_json
from senseprobe.evaluate.models.checkpoint import Pretrained, quiet
from senseprobe.evaluate.models.limits import CONFIG_MEMORY, Unloadable, tokenized
from senseprobe.tables import memory_cap

Turn: TypeAlias = tuple[str, str]
"""What a user says, and what of a reply follows it; the reply may be empty."""

MOST_SOURCE = 2**20  # characters of a template; the longest that there are have some 20,000
MOST_STEPS = 1_000_000
"""Lines and calls of Python that a template may take for one prompt; usual ones take some hundred."""

MOST_RENDERED = 2**17
"""Characters that a template may put around a prompt."""

_PROMPT = "Which of these two sentences is more likely?\nA. The cat sat here.\nB. The cat here sat."
_REPLY = "The cat sat here."
# What templates call the switch of models that think before they answer.
_THINKING_OFF = {"enable_thinking": False, "thinking": False}
_THOUGHT, _END_OF_THOUGHT = "<think>", "</think>"
# Some templates tell the model today's date: every day it would be asked something else.
_DATE = (
    "{%- macro strftime_now(format) -%}"
    '{{ {"%d %b %Y": "26 Jul 2024", "%d %B %Y": "26 July 2024"}.get(format, "2024-07-26") }}'
    "{%- endmacro -%}"
)
_START, _END = "\ue000", "\ue001"  # of private use: what they enclose is text of a row


class _TooMuch(Exception):
    """Raised where a template takes more steps than any prompt needs."""


class ChatTemplate:
    """The template of a tokenizer, as it is used for one turn of a user.

    - `hash`: of its source, by which a model's answers differ from those with another template.
    - `opens_thought`: whether the model's turn begins within a thought that is still to be ended.

    Thinking is switched off where the template has a switch. Raises Unloadable where there is no template, or none
    that can be used.
    """

    def __init__(self, tokenizer: Pretrained) -> None:
        self._tokenizer = tokenizer
        self._source = _source_of(tokenizer)
        self.hash = hash_json([self._source, sorted(_THINKING_OFF)])
        self._marks, self._mark_ids = _marks_of(tokenizer, self._source)
        self._in_parts = False
        try:
            self._in_parts = _PROMPT not in self.render(_PROMPT)
        except Unloadable:
            self._in_parts = True  # what models that see pictures, too, are told is a list of texts and pictures
        rendered = self.render(_PROMPT)
        if _PROMPT not in rendered:
            raise Unloadable("its chat template omits the user's message")
        self.opens_thought = rendered.rfind(_THOUGHT) > rendered.rfind(_END_OF_THOUGHT)
        self._lead = self._lead_of(rendered)
        plain = (_PROMPT, _REPLY)
        self._can_part = self._encode_apart(*plain) == self._encode_whole([plain])[0]

    def render(self, prompt: str) -> str:
        """Return a prompt as the model gets it, up to where its answer begins. ModelError where the template fails."""
        return self._rendered([prompt], Unloadable)[0]

    def encode(self, turns: Sequence[Turn]) -> list[Ids]:
        """Return the tokens of each turn; none where a text holds a token of the template that cannot be text.

        Raises ModelError where the template fails.
        """
        whole = self._encode_whole(turns)
        for number, (prompt, reply) in enumerate(turns):
            if self._marks.search(prompt) or self._marks.search(reply):
                whole[number] = self._encode_apart(prompt, reply) if self._can_part else ()
        return whole

    def mark_in(self, text: str) -> str:
        """Return the first token of the template that a text spells; empty where it spells none."""
        match = self._marks.search(text)
        return match.group() if match else ""

    # --- from a prompt to text

    def _rendered(self, prompts: Sequence[str], error: Callable[[str], ModelError] = ModelError) -> list[str]:
        turns = [[{"role": "user", "content": self._content(prompt)}] for prompt in prompts]
        rendered = self._run(turns, error, add_generation_prompt=True)
        for prompt, text in zip(prompts, rendered, strict=True):
            if len(text) > MOST_RENDERED + 2 * len(prompt):
                raise error(f"its chat template turns {len(prompt):,} characters into {len(text):,}")
        return rendered

    def _run(self, chats: Sequence[Any], error: Callable[[str], ModelError], **options: bool) -> list[str]:
        """Return chats as the template puts them, each within its steps, all of them within the memory of a config."""
        run = self._tokenizer.apply_chat_template
        options = {**_THINKING_OFF, **options, "tokenize": False}
        try:
            with quiet(), memory_cap(CONFIG_MEMORY):
                rendered = []
                for chat in chats:
                    with _bounded_steps():
                        rendered.append(run(chat, chat_template=self._source, **options))
                return rendered
        except _TooMuch:
            raise error("its chat template does not terminate") from None
        except Exception as failure:
            message = str(failure).strip().partition("\n")[0][:200] or "no reason given"
            raise error(f"its chat template failed with {type(failure).__name__}: {message}") from failure

    def _content(self, text: str) -> Any:  # noqa: ANN401 - a text, or a list as templates of pictures have it
        return [{"type": "text", "text": text}] if self._in_parts else text

    def _lead_of(self, rendered: str) -> str:
        """Return the blank that the template puts before a reply, after what it ends the rendered prompt with."""
        chat = [{"role": "user", "content": self._content(_PROMPT)}]
        reply = {"role": "assistant", "content": self._content(_REPLY)}
        try:
            (whole,) = self._run([[*chat, reply]], Unloadable)
        except Unloadable:  # a template that takes no replies
            return ""
        lead, separator, _ = whole.removeprefix(rendered).partition(_REPLY)
        return lead if whole.startswith(rendered) and separator and lead.isspace() else ""

    # --- from text to tokens

    def _encode_whole(self, turns: Sequence[Turn]) -> list[Ids]:
        """Return the tokens of turns, with every token of the template read as such, wherever it stands."""
        rendered = self._rendered([prompt for prompt, _ in turns])
        texts = [
            f"{text}{self._lead}{reply}" if reply else text for text, (_, reply) in zip(rendered, turns, strict=True)
        ]
        columns = tokenized(self._tokenizer, texts, add_special_tokens=False, return_attention_mask=False)
        return [tuple(ids) for portion in columns for ids in portion["input_ids"]]

    def _encode_apart(self, prompt: str, reply: str) -> Ids:
        """Return the tokens of a turn, read between the tokens that the template puts; none where it holds others."""
        (text,) = self._rendered([f"{_START}{_unmarked(prompt)}{_END}"])
        pieces = re.split(f"[{_START}{_END}]", text)
        if len(pieces) != 3:  # the template says it twice, or makes something of it
            return ()
        before, content, after = pieces
        texts, marks = [""], list[str]()
        for piece, is_template in ((before, True), (content, False), (after, True)):
            first, *rest = self._marks.split(piece) if is_template else [piece]
            texts[-1] += first
            marks += rest[0::2]
            texts += rest[1::2]
        if reply:
            texts[-1] += f"{self._lead}{_unmarked(reply)}"
        (columns,) = tokenized(
            self._tokenizer, texts, add_special_tokens=False, return_attention_mask=False, split_special_tokens=True
        )
        read = [*columns["input_ids"]]
        if any(id_ in self._mark_ids.values() for ids in read for id_ in ids):
            return ()
        ids = list(read[0])
        for mark, more in zip(marks, read[1:], strict=True):
            ids += [self._mark_ids[mark], *more]
        return tuple(ids)


def has_template(tokenizer: Pretrained) -> bool:
    """Return whether a tokenizer has a chat template."""
    return bool(getattr(tokenizer, "chat_template", None))


def _source_of(tokenizer: Pretrained) -> str:
    """Return the source of a tokenizer's template, with one date for all days. Raises Unloadable without one."""
    if not has_template(tokenizer):
        raise Unloadable(
            "its tokenizer does not have a chat template: use a scorer for causal language models, such as ll"
        )
    try:
        source = tokenizer.get_chat_template()
    except ValueError:  # several, none of which is the default
        source = None
    if not isinstance(source, str) or len(source) > MOST_SOURCE:
        raise Unloadable("its tokenizer does not have a readable chat template")
    return f"{_DATE}{source}" if "strftime_now" in source else source


def _marks_of(tokenizer: Pretrained, source: str) -> tuple[re.Pattern[str], dict[str, int]]:
    """Return what finds the tokens that no row may put: special ones, and added ones of the template; and their ids.

    Blanks are left out: some tokenizers have a token for two line ends, which stands in templates and in texts.
    """
    added = tokenizer.added_tokens_decoder.items()
    ids = {
        token.content: id_
        for id_, token in added
        if token.content.strip() and (token.special or token.content in source)
    }
    longest_first = sorted(ids, key=len, reverse=True)
    return re.compile(f"({'|'.join(map(re.escape, longest_first)) or '(?!)'})"), ids


def _unmarked(text: str) -> str:
    """Return a text without the two characters that enclose it."""
    return text.replace(_START, "").replace(_END, "")


@contextmanager
def _bounded_steps() -> Iterator[None]:
    """Raise _TooMuch once Python has run `MOST_STEPS` lines of templates and calls within the block."""
    steps = 0

    def count(frame: FrameType, event: str, argument: object) -> Any:  # noqa: ANN401 - as sys.settrace has it
        nonlocal steps
        steps += 1
        if steps > MOST_STEPS:
            raise _TooMuch
        return count if frame.f_code.co_filename == "<template>" else None

    before = sys.gettrace()
    sys.settrace(count)
    try:
        yield
    finally:
        sys.settrace(before)
