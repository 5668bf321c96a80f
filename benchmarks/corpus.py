"""How fast mentions are counted in a text: MB a second on one core, three ways in one run, on WordNet's glosses.

- ours: `count_texts`, with sums for intervals and log-odds;
- loop: a plain Python loop, sentences by the same rule, words by a regular expression, looked up in sets;
- alternation: one regular expression of all forms, searched in each sentence.

The three must give the same Table 1 (the other two give nothing else): the script exits 1 where they differ. Times are
of the processor, medians over rounds; ratios are of one run.

    python benchmarks/corpus.py [FILE] [--rounds 5]
"""

import argparse
import re
import sys
import time
from collections.abc import Callable, Sequence
from functools import partial
from itertools import pairwise
from pathlib import Path
from statistics import median

from senseprobe.api.author import word_lists
from senseprobe.evaluate.texts.corpus_counts import Terms, count_texts
from senseprobe.evaluate.texts.text_files import read_documents, split_sentences
from senseprobe.generator.english.inflection import plural_of

GLOSSES = Path("/usr/share/wordnet")
"""WordNet of Debian's wordnet-base."""
Table = list[list[int]]


def read_glosses() -> list[str]:
    """Return definitions and examples, each a document."""
    lines = (line for path in sorted(GLOSSES.glob("data.*")) for line in path.read_text("utf-8").splitlines())
    return [line.partition("| ")[2].strip() for line in lines if "| " in line]


def make_terms() -> Terms:
    """Return pronouns, and occupations with plurals."""
    groups, words = (word_lists(name)[0].words for name in ("group_pronouns", "winobias_occupations"))
    return Terms.make(
        [(str(word.columns["word"]), str(word.columns["group"])) for word in groups],
        [(str(word.columns["word"]), str(word.columns["gender"])) for word in words],
        plural_of,
    )


def count_ours(texts: Sequence[str], terms: Terms) -> Table:
    """Return Table 1 by `count_texts`, in parts of 4 MB as the command does."""
    sums, start, size = count_texts([], terms).sums, 0, 0
    for place, text in enumerate(texts, 1):
        size += len(text)
        if size >= 1 << 22 or place == len(texts):
            sums = sums + count_texts(texts[start:place], terms).sums
            start, size = place, 0
    table: Table = sums.reshape(len(terms.groups), -1).tolist()
    return table


def _add(table: Table, groups: set[int], sides: set[int], neutral: int) -> None:
    for group in groups:
        for place in (0, *(side + 1 for side in sides), *(() if sides else (neutral,))):
            table[group][place] += 1


def count_by_loop(texts: Sequence[str], terms: Terms) -> Table:
    """Return Table 1 by looking up each word in sets; pairs of words for forms of two."""
    table = [[0] * (len(terms.categories) + 2) for _ in terms.groups]
    group_of = {form: {terms.groups.index(name) for name in names} for form, names in terms.group_forms.items()}
    side_of = {form: terms.categories.index(category) for form, (_, category) in terms.word_forms.items()}
    pairs = {tuple(form.split()): side for form, side in side_of.items() if " " in form}
    for text in texts:
        for sentence in split_sentences(text):
            lower = sentence.lower()
            words = re.findall(r"[^\W_]+", lower)
            groups: set[int] = set()
            sides: set[int] = set()
            for word in words:
                if word in group_of:
                    groups |= group_of[word]
                elif word in side_of:
                    sides.add(side_of[word])
            sides.update(pairs[pair] for pair in pairwise(words) if pair in pairs and f"{pair[0]} {pair[1]}" in lower)
            _add(table, groups, sides, len(terms.categories) + 1)
    return table


def count_by_alternation(texts: Sequence[str], terms: Terms) -> Table:
    """Return Table 1 by one regular expression of all forms."""
    table = [[0] * (len(terms.categories) + 2) for _ in terms.groups]
    forms = sorted({*terms.group_forms, *terms.word_forms}, key=len, reverse=True)
    pattern = re.compile(rf"(?<![^\W_])(?:{'|'.join(map(re.escape, forms))})(?![^\W_])")
    for text in texts:
        for sentence in split_sentences(text):
            found = set(pattern.findall(sentence.lower()))
            groups = {terms.groups.index(name) for form in found for name in terms.group_forms.get(form, ())}
            sides = {terms.categories.index(terms.word_forms[form][1]) for form in found & terms.word_forms.keys()}
            _add(table, groups, sides, len(terms.categories) + 1)
    return table


def time_rounds(runs: dict[str, Callable[[], Table]], rounds: int) -> tuple[dict[str, list[float]], bool]:
    """Return processor seconds of each round of each run, in turns, and whether their tables are the same."""
    tables = [run() for run in runs.values()]
    seconds: dict[str, list[float]] = {name: [] for name in runs}
    for _ in range(rounds):
        for name, run in runs.items():
            start = time.process_time()
            run()
            seconds[name].append(time.process_time() - start)
    return seconds, all(table == tables[0] for table in tables)


def main() -> int:
    """Read the options, run, and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", nargs="?", help="a text; default: the glosses of WordNet")
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    texts = [document.text for document in read_documents([options.file])] if options.file else read_glosses()
    terms, megabytes = make_terms(), sum(len(text.encode()) for text in texts) / 1e6
    ways = {"ours": count_ours, "loop": count_by_loop, "alternation": count_by_alternation}
    seconds, same = time_rounds({name: partial(way, texts, terms) for name, way in ways.items()}, options.rounds)
    print(f"{megabytes:.1f} MB in {len(texts):,} documents")
    ours = median(seconds["ours"])
    for name, spent in seconds.items():
        rate, rounds = megabytes / median(spent), " ".join(f"{megabytes / each:.1f}" for each in spent)
        print(f"{name:12} {rate:6.1f} MB/s, ours is {median(spent) / ours:.1f} times as fast  ({rounds})")
    print("the tables are the same" if same else "THE TABLES DIFFER")
    return 0 if same else 1


if __name__ == "__main__":
    sys.exit(main())
