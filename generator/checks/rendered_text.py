"""Whether what is printed reads like a sentence."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import prod

from senseprobe.generator.checks.frame_text import combinations, render_segment, segment_columns
from senseprobe.generator.checks.registry import on_config
from senseprobe.generator.checks.subjects import ConfigSubject, Position, first_words
from senseprobe.generator.config import ResolvedBlock, ResolvedFrame
from senseprobe.generator.segments import Segment
from senseprobe.generator.word_lists import Word
from senseprobe.records import Finding


@on_config("W511")
def check_repeated_words(subject: ConfigSubject) -> Iterator[Finding]:
    """The same word stands twice in one sentence, because two slots share it.

    "The captain befriended a captain" tests nothing that "The captain befriended a judge" does not, and reads oddly
    (UPSTREAM 3.2: 160 premises). Narrow one of the slots with `where`, or say in `accept` why the rows are kept.
    """
    rows: Counter[tuple[int, int, tuple[str, str]]] = Counter()
    words: dict[tuple[int, int, tuple[str, str]], dict[str, None]] = {}
    for block, frame in subject.frames():
        for slots, column, shared in _shared_words(block, frame):
            key = (frame.frame.line, column, slots)
            rows[key] += block.product * len(shared) // prod(len(block.slots[slot]) for slot in slots)
            words.setdefault(key, {}).update(dict.fromkeys(shared))
    for (line, column, slots), count in rows.items():
        text = first_words([*words[line, column, slots]])
        message = f"the same word twice in {count} rows: {' and '.join(slots)} share {text}"
        yield subject.finding((line, column), "W511", message, "narrow one of the slots with `where`")


def _shared_words(block: ResolvedBlock, frame: ResolvedFrame) -> Iterator[tuple[tuple[str, str], int, list[str]]]:
    """Yield two slots that one sentence prints, the column of the second, and the words that both print alike."""
    repeated: dict[tuple[tuple[str, str], int], list[str]] = {}
    for role in block.roles:
        printing: dict[str, Segment] = {}
        for segment, column in zip(frame.compiled.segments, segment_columns(frame), strict=True):
            slots = block.reads(role, segment.prints)
            if len(slots) != 1 or segment.block or block.reads(role, segment.reads) != slots:
                continue
            for earlier, other in printing.items():
                if earlier != slots[0] and (
                    shared := _identical_words(block, role, {earlier: other, slots[0]: segment})
                ):
                    repeated.setdefault(((earlier, slots[0]), column), shared)
            printing.setdefault(slots[0], segment)
    yield from ((slots, column, shared) for (slots, column), shared in repeated.items())


def _identical_words(block: ResolvedBlock, role: str, printing: Mapping[str, Segment]) -> list[str]:
    """Return the words that two slots have in common and that their segments print alike, articles aside."""
    first, second = ({word.lower(): word for word in block.slots[slot]} for slot in printing)
    alike = []
    for word in first.keys() & second.keys():
        words = zip(printing.items(), (first[word], second[word]), strict=True)
        texts = [render_segment(block, role, segment, {slot: value}) for (slot, segment), value in words]
        if len({text.lower() for _, text in filter(None, texts)}) == 1:
            alike.append(word)
    return sorted(alike)


_OPENING = "\"'([\u00a1\u00bf\u2018\u201c\u00ab"
_CLOSING = "\"')]\u2019\u201d\u00bb"
_STOPS = (*".!?:;", "\u2026", "\u3002", "\uff01", "\uff1f", "\u0964")


@on_config("W514")
def check_sentence_ends(subject: ConfigSubject) -> Iterator[Finding]:
    """A sentence does not begin with a capital or a digit, or ends without a full stop where others have one.

    Models have learnt from text in which sentences begin and end like sentences; what does not is scored as unusual
    text, and frames that differ in it are not comparable. Write the first output with `upfirst`, and end all frames
    of a config alike, in punctuation.
    """
    lower_case: dict[Position, list[str]] = {}
    open_: dict[int, int] = {}
    closed = 0
    for block, frame in subject.frames():
        position = frame.frame.line, frame.frame.column
        if beginnings := _lower_case_beginnings(block, frame):
            lower_case.setdefault(position, []).extend(beginnings)
        if _ends_open(block, frame):
            open_.setdefault(*position)
        else:
            closed += 1
    for position, beginnings in lower_case.items():
        message = f"the sentence does not begin with a capital: {first_words([*dict.fromkeys(beginnings)])}"
        yield subject.finding(position, "W514", message, "begin with a capital, or with `| upfirst`")
    if open_ and not closed:
        message = "no frame ends in punctuation" if len(open_) > 1 else "the frame does not end in punctuation"
        yield subject.finding(next(iter(open_.items())), "W514", message, "end it with a full stop")
    elif open_:
        for position in open_.items():
            message = "the frame does not end in punctuation, and others do"
            yield subject.finding(position, "W514", message, "end it with a full stop")


def _lower_case_beginnings(block: ResolvedBlock, frame: ResolvedFrame) -> list[str]:
    """Return the beginnings of sentences that have a small letter."""
    beginnings: dict[str, None] = {}
    for text in _beginnings(block, frame.compiled.segments):
        word = (text.lstrip(_OPENING).split() or [""])[0]
        if word[:1].islower() and word.lower() == word:  # iPhone may begin a sentence
            beginnings[text.strip()] = None
    return list(beginnings)


def _ends_open(block: ResolvedBlock, frame: ResolvedFrame) -> bool:
    ends = _beginnings(block, frame.compiled.segments, from_end=True)
    return any(not text.rstrip().rstrip(_CLOSING).endswith(_STOPS) for text in ends)


def _beginnings(block: ResolvedBlock, segments: Sequence[Segment], from_end: bool = False) -> Iterator[str]:
    """Yield what sentences begin with, or end with: as few segments as always print something."""
    for role in block.roles:
        for n in range(1, len(segments) + 1):
            some_segments = segments[-n:] if from_end else segments[:n]
            slots = block.reads(role, [name for segment in some_segments for name in segment.reads])
            texts = [_text(block, role, some_segments, chosen) for chosen in combinations(block, slots)]
            if all(texts):
                yield from texts
                break


def _text(block: ResolvedBlock, role: str, segments: Iterable[Segment], chosen: Mapping[str, Word]) -> str:
    parts = (render_segment(block, role, segment, chosen) or ("", "") for segment in segments)
    return "".join(article + text for article, text in parts).strip()
