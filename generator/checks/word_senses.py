"""Whether each word of a config has a sense, and whether the configs of a dataset keep senses apart."""

from collections.abc import Iterator

import numpy as np

from senseprobe.errors import DeclarationError
from senseprobe.generator.checks.base import (
    ConfigSubject,
    DatasetSubject,
    check,
    finding_at,
    first_words,
    pick_rows,
    yaml_position,
)
from senseprobe.generator.checks.orthography import WORDNET, load_vocabulary
from senseprobe.generator.config import Config, ResolvedBlock, reference
from senseprobe.generator.dataset import derive_design
from senseprobe.generator.kinds.contrast import ContrastFront
from senseprobe.generator.product import RowSelection
from senseprobe.generator.render import FrameRows
from senseprobe.generator.schema import OF_GROUPS
from senseprobe.generator.senses import find_senses, open_glosses, sense_keys, sense_texts
from senseprobe.generator.yaml_source import format_path
from senseprobe.lexicon.wordnet import POS, Vocabulary
from senseprobe.messages import listed
from senseprobe.records import Finding
from senseprobe.release.schema import QUESTIONS


@check("W301")
def check_missing_keys(subject: ConfigSubject) -> Iterator[Finding]:
    """A word does not have a sense key, but the config declares senses.

    Annotators cannot judge the sense of this word, and readers cannot tell which sense its rows are about. Add its
    key to the list (`senseprobe words show WORD` prints keys), or select words with keys with `where`.
    """
    blocks = subject.config.blocks
    if not any(sense_texts(block).get("key") for block in blocks):
        return
    findings = {}
    for block in blocks:
        for name, text in sense_texts(block).items():
            empty = [word for word, key in sense_keys(block, text or "") if word and not key]
            if not empty or (text is None and name == "token"):
                continue
            cause = f"{text} is empty" if text else "`sense` lacks the `key` that it has in other blocks"
            position = block.block.locate("sense", *([name] if text else []))
            message = f"{cause}: {first_words(empty)}"
            hint = f"`senseprobe words show {empty[0]}` lists its senses"
            findings[position, message] = subject.finding(position, "W301", message, hint)
    yield from findings.values()


@check("W302")
def check_contrasted_keys(subject: DatasetSubject) -> Iterator[Finding]:
    """Both configs of a contrast use a word in the same sense.

    A contrast compares two senses of a word. With the same key on both sides, it compares a sense with itself, and
    the rows of one sense are published as rows of the other. Give each config the key of its own sense.
    """
    configs, gloss = {config.name: config for config in subject.configs}, open_glosses()
    path = subject.dataset.folder / "dataset.yaml"
    for number, contrast in enumerate(subject.dataset.card.contrasts):
        senses = [
            {
                sense.key: sense
                for sense in find_senses(configs[name], subject.lists, gloss)
                if sense.column == "sense_key"
            }
            for name in (contrast.a, contrast.b)
            if name in configs
        ]
        shared = [str(sense) for key, sense in senses[0].items() if key in senses[-1]] if len(senses) == 2 else []
        if shared:
            message = f"{contrast.a} and {contrast.b} have the same sense: {listed(shared[:3], len(shared))}"
            position = yaml_position(path, "contrasts", number)
            yield finding_at(format_path(path), position, "W302", message, "give each config the key of its own sense")


@check("W523")
def check_contrasted_questions(subject: DatasetSubject) -> Iterator[Finding]:
    """A contrast of senses does not choose the annotation questions for either config.

    If one sense is not a group (a colour, a language), the only answer to *Is this known as a stereotype?* is
    *neither*, and `annotate apply` rejects the rows. Choose other questions in the front matter of this config:
    `asks: [sense, natural, withhold, comment]`. If both senses are groups, accept the warning.
    """
    fronts = {template.config: template.blocks[0].front for template in subject.dataset.templates}
    path = subject.dataset.folder / "dataset.yaml"
    for number, contrast in enumerate(subject.dataset.card.contrasts):
        sides = [fronts[name] for name in {contrast.a, contrast.b} if name in fronts]
        asked = all(QUESTIONS.get(front.kind) for front in sides)
        if len(sides) == 2 and asked and not any(front.asks for front in sides):
            message = f"neither {contrast.a} nor {contrast.b} chooses its annotation questions"
            hint = "write `asks: [sense, natural, withhold, comment]` in the config whose sense is not a group"
            yield finding_at(format_path(path), yaml_position(path, "contrasts", number), "W523", message, hint)


@check("E127")
def check_contrasted_groups(subject: DatasetSubject) -> Iterator[Finding]:
    """A contrast of `relative` does not have groups to compare.

    It compares the score of a group in one sense with the score of the same group in another sense. Both configs
    need the group under the same name, as a level of `target`, and words of praise and blame. In addition, either
    both have an `unmarked` block, or they share at least three groups: each group is compared with the median of
    the others.
    """
    configs, path = {config.name: config for config in subject.configs}, subject.dataset.folder / "dataset.yaml"
    for number, contrast in enumerate(subject.dataset.contrasts):
        sides = [configs[name] for name in (contrast.a, contrast.b) if name in configs]
        if contrast.estimand not in OF_GROUPS or len(sides) < 2:
            continue
        designs = [derive_design(config) for config in sides]
        groups = [
            {str(word) for block in config.blocks for word in block.slots.get(design.group or "", ())}
            - {str(design.reference)}
            for config, design in zip(sides, designs, strict=True)
        ]
        why = contrast.why_without_groups(designs, groups) if contrast.matched else "`relative` is always matched"
        if why:
            position = yaml_position(path, "contrasts", number)
            hint = "add an unmarked block to both, or contrast another measure"
            yield finding_at(format_path(path), position, "E127", f"contrast {contrast.name}: {why}", hint)


@check("W521", lexicon=WORDNET)
def check_synonyms(subject: ConfigSubject) -> Iterator[Finding]:
    """Two words of a slot in `generalise` are in the same WordNet synset.

    Intervals treat words as independent, but synonyms are not. With clusters of three related words, a test of one
    group rejects a true null hypothesis in over 20 % of cases instead of 5 % (docs/coverage.md). Add a column of
    clusters to the list, with the word itself for single words, and use this column instead of the slot:
    `generalise: [nation, good.cluster, bad.cluster]`. If a word has a declared sense key, this sense counts;
    otherwise the check uses the first sense in WordNet.
    """
    vocabulary, template = load_vocabulary(), subject.config.template.blocks[0]
    for number, slot in enumerate(template.front.generalise):
        words_by_synset: dict[tuple[str, ...], dict[str, None]] = {}
        for block in subject.config.blocks:
            for word, key in _words_with_keys(block, slot) if slot in block.slots else ():
                for synset in _synsets(word, key, vocabulary):
                    words_by_synset.setdefault(synset, {})[word] = None
        shared = dict.fromkeys(" and ".join(words) for words in words_by_synset.values() if len(words) > 1)
        if shared:
            message = f"synonyms that count as separate words: {listed([*shared][:3], len(shared))}"
            hint = f"name a column of clusters: {slot}.cluster"
            yield subject.finding(template.locate("generalise", number), "W521", message, hint)


def _words_with_keys(block: ResolvedBlock, slot: str) -> list[tuple[str, str]]:
    """Return the words of a slot, each with the key of the sense that is meant, empty where none is declared."""
    texts = [*block.block.front.added_columns.values(), sense_texts(block).get("key") or ""]
    for text in texts:
        if (reference(text, block.slots) or ("",))[0] == slot:
            keys = sense_keys(block, text)
            if any("%" in key for _, key in keys):
                return keys
    return [(str(word), "") for word in block.slots[slot]]


def _synsets(word: str, key: str, vocabulary: Vocabulary) -> Iterator[tuple[str, ...]]:
    """Yield the synset of a key, or those of the first senses of a word: part of speech, gloss, and words."""
    lemma = key.partition("%")[0].replace("_", " ") or word
    for pos in POS:
        for entry in vocabulary.entries(lemma.lower().replace(" ", "_"), pos):
            if not key or entry.key == key:
                yield pos, entry.gloss, *entry.lemmas
                break


@check("W303")
def check_ambiguous_sentences(subject: DatasetSubject) -> Iterator[Finding]:
    """The same sentence, about the same word, occurs under two sense types.

    A word has one sense in a sentence, so one of the two rows is wrong, and a model that answers both alike shows
    nothing. Of frames with many combinations of words, the check looks at some thousand.
    """
    blocks = [(config, block, block.block.front) for config in subject.configs for block in config.blocks]
    typed = [(config, block, front.sense.type) for config, block, front in blocks if isinstance(front, ContrastFront)]
    if len({sense_type for _, _, sense_type in typed}) < 2:
        return
    first: dict[tuple[str, str], tuple[str, str]] = {}
    shared: dict[tuple[str, str, str, str], list[str]] = {}
    for config, block, sense_type in typed:
        for sentence in dict.fromkeys(_sentences(config, block)):
            earlier = first.setdefault(sentence, (config.name, sense_type))
            if earlier[1] != sense_type:
                shared.setdefault((*earlier, config.name, sense_type), []).append(sentence[0])
    path = subject.dataset.folder / "dataset.yaml"
    for (config_name, sense_type, other_name, other_type), texts in shared.items():
        message = f"{config_name} ({sense_type}) and {other_name} ({other_type}) both have {first_words(texts)}"
        hint = "keep it only under the sense that the word has there"
        yield finding_at(format_path(path), yaml_position(path, "configs"), "W303", message, hint)


def _sentences(config: Config, block: ResolvedBlock) -> Iterator[tuple[str, str]]:
    """Yield sentences of a block, each with the word that it is about."""
    for frame in block.frames:
        for role in block.roles:
            try:
                yield from _role_sentences(FrameRows(config, block, frame), role)
            except DeclarationError:
                continue  # E105 or E108, which are reported by themselves


def _role_sentences(rows: FrameRows, role: str) -> Iterator[tuple[str, str]]:
    """Yield the sentences of a role; slots that it does not read keep their first word."""
    block, target = rows.block, rows.block.block.front.target
    reads = {*rows.reads(role), *(block.reads(role, [target]) if target else ())}
    picked = pick_rows(block, [slot for slot in block.slots if slot in reads])
    still = {slot: np.zeros(picked.n, dtype=np.int64) for slot in block.slots}
    selection = RowSelection({**still, **picked.at}, picked.n)
    words = rows.bound(role, target, selection).to_pylist() if target else [""] * picked.n
    yield from zip(rows.side(role, selection).text.to_pylist(), words, strict=True)
