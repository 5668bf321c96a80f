"""What the association tests hold: words, sentences, and the smallest p that permuting words can reach.

python benchmarks/association_table.py [--write docs/association-tests.md]
"""

import argparse
import math
import sys
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from senseprobe.api import open_catalogue
from senseprobe.generator.dataset import ResolvedDataset

PAGE = """# The association tests

Written by `python benchmarks/association_table.py --write docs/association-tests.md`; do not edit.

The dataset `association` contains thirty tests: {members:,} words in sets ({distinct} distinct words) and {bleached:,}
bleached sentences. X and Y are the sets of targets, A and B the sets of attributes. Each cell gives the published name
of the set, its number of words and its number of bleached sentences. The identities are from Table 2 of Tan and Celis.

The sentences of a word are averaged first, and then words are permuted, since sentences of one word are not
independent. With n targets in X and n in Y, all C(2n, n) ways to split them are equally likely. So the smallest
one-sided p is 1 / C(2n, n), whatever the model.

The last column shows how the code of May et al. computes p for these words; Tan and Celis use the same code. It tries
all splits if C(2n, n) is at most 100,000 (n up to 9). Otherwise it makes 99,999 shuffles and adds one hit, so p is
never below 0.00001. It treats sentences in the same way, although they are more numerous and not the units.

{tests}

## In sentences about work

The config `unbleached` has {unbleached:,} sentences for the tests of the double bind. Its frames are senseprobe's own.
They contain adjectives, and names in situations where success is uncertain (competent) or clear (likable).

{work}

## How the published sentence files were cut

May et al. put each word into the frames of its class. Then they removed sentences at random until both sets of targets
were equally large (attributes may differ). So words have unequal weights, and another run gives other files. Tan and
Celis reused 42 of these files unchanged. senseprobe does not remove sentences.

| tests | published files |
| --- | --- |
{cuts}
"""

MOST_SPLITS = 100_000  # up to which sent-bias tries them all
LEAST_SAMPLED = 1 / MOST_SPLITS

# UPSTREAM.md, sections 4 and 5: read from the published files and code, and so no product of ours.
CUTS = {
    "angry_black_woman_stereotype_b": "4 terms a side: p cannot be below 1/70 = 0.0143, so it never reaches the "
    "required 0.01",
    "weat3b, weat5b, angry_black_woman_stereotype_b": "560 sentences contain two words of their set; as "
    "contextual word the published code uses the head noun (*American*, *female*), not the word for race",
    "c11": "8 names a side",
    "c12, c13": "32 names; in the files of c13 they are the attributes, and Science and Arts the targets",
    "i1, i2, i3, i4, i5": "13 names a side and 104 sentences, 8 for each name: none was removed",
    "occ": "26 names a side with 208 sentences, 8 for each name; 20 occupations a side with 120",
    "double_bind_competent, double_bind_likable": "ten word files in five forms (1, 1-, 1+3-, one_sentence, one_word) "
    "and two sentence files; the unbleached word files of Tan and Celis differ",
    "race_double_bind_competent, race_double_bind_likable": "Tan and Celis: the names of weat3 with the attributes of "
    "the double bind",
}

Row = tuple[str, str]
"""A test and a role."""


@dataclass(frozen=True)
class Counts:
    """What the catalogue has, by test and role: names of sets, words, sentences of both configs; identities by test."""

    sets: Mapping[Row, str]
    sources: Mapping[str, str]
    identities: Mapping[str, str]
    words: Mapping[Row, int]
    bleached: Mapping[Row, int]
    unbleached: Mapping[Row, int]
    distinct: int

    @property
    def tests(self) -> list[str]:
        """The tests in the order of the list."""
        return list(self.sources)


def count(catalogue: ResolvedDataset) -> Counts:
    """Words from the list, sentences from the rows that the templates make."""
    found = catalogue.lists.get("association")
    assert found is not None  # noqa: S101 - both templates were resolved against it
    at = [(str(word.columns["test"]), str(word.columns["role"])) for word in found.words]
    return Counts(
        sets={row: str(word.columns["set"]) for row, word in zip(at, found.words, strict=True)},
        sources={row[0]: str(word.columns["source"]) for row, word in zip(at, found.words, strict=True)},
        identities={row[0]: str(word.columns["identity"] or "none") for row, word in zip(at, found.words, strict=True)},
        words=Counter(at),
        bleached=sentences(catalogue, "bleached"),
        unbleached=sentences(catalogue, "unbleached"),
        distinct=len(set(map(str, found.words))),
    )


def sentences(catalogue: ResolvedDataset, config: str) -> Counter[Row]:
    """Rows of a config by test and role."""
    found: Counter[Row] = Counter()
    for batch in catalogue.rows({c.name: c for c in catalogue.configs}[config]):
        found.update(zip(batch["test"].to_pylist(), batch["role"].to_pylist(), strict=True))
    return found


def table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """Cells in Markdown."""
    names = list(head)
    lines = [names, ["---"] * len(names), *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def splits(counts: Counts, test: str) -> int:
    """Ways to split the targets into sets of the sizes of X and Y."""
    x, y = (counts.words[test, role] for role in "XY")
    return math.comb(x + y, x)


def test_row(counts: Counts, test: str) -> list[str]:
    """Test, source, identity, its four sets, the smallest p, and how the published code comes to one."""
    sets = [f"{counts.sets[row]} {counts.words[row]} / {counts.bleached[row]}" for row in ((test, r) for r in "XYAB")]
    ways = splits(counts, test)
    published = "all splits" if ways <= MOST_SPLITS else f"shuffles, ≥ {LEAST_SAMPLED:.5f}"
    about = [f"`{test}`", counts.sources[test], counts.identities[test]]
    return [*about, *sets, f"1/{ways:,} ({1 / ways:.2g})", published]


def work_row(counts: Counts, test: str) -> list[str]:
    """Test, and the unbleached sentences of its four sets."""
    return [f"`{test}`", *(str(counts.unbleached[test, role]) for role in "XYAB")]


def page(counts: Counts) -> str:
    """The page in Markdown."""
    work = [test for test in counts.tests if (test, "X") in counts.unbleached]
    return PAGE.format(
        members=sum(counts.words.values()),
        distinct=counts.distinct,
        bleached=sum(counts.bleached.values()),
        unbleached=sum(counts.unbleached.values()),
        tests=table(
            ["test", "source", "identity", "X: words / sentences", "Y", "A", "B", "smallest p", "published, words"],
            (test_row(counts, test) for test in counts.tests),
        ),
        work=table(["test", "X", "Y", "A", "B"], (work_row(counts, test) for test in work)),
        cuts="\n".join(f"| {named(tests)} | {what} |" for tests, what in CUTS.items()),
    )


def named(tests: str) -> str:
    """Names of tests as code."""
    return ", ".join(f"`{test}`" for test in tests.split(", "))


def main() -> None:
    """Print the page, or write it."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--write", type=Path, help="where to write it; default: to standard output")
    arguments = parser.parse_args()
    text = page(count(open_catalogue("association")))
    if arguments.write:
        arguments.write.write_text(text, encoding="utf-8")
    else:
        sys.stdout.write(text)


if __name__ == "__main__":
    main()
