"""How often the 95 % intervals hold the truth, and how often tests at 5 % reject a true null, by simulation.

The grid of designs, mixes and truths is `benchmarks/simulation`; the tests hold it to the same bounds.

    python benchmarks/coverage.py [--draws 2000] [--seed 0] [--only SECTION] [--write PAGE.md]

With `--only` the rest of the page stays as it is: every cell has a random stream of its own.

Exits 1 where a cell with a truth in [0.1, 0.9] or at the boundary covers less than 93 %, or a test rejects more than
5 % (those of groups: more than is claimed for them), Monte-Carlo error of three standard errors allowed.
"""

import argparse
import re
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from simulation import descriptors, pages, questions, relative_contrast, samples, synonyms
from simulation.association import (
    COSINE_SCATTERS,
    EFFECTS,
    LEVELS,
    SENTENCE_DRAWS,
    SENTENCES,
    simulate_effect_intervals,
    simulate_sentence_sizes,
    simulate_word_sizes,
)
from simulation.boundary import BOUNDARY_TRUTHS, simulate_boundary
from simulation.coverage import CONTENTS, TRUTHS, Cell, simulate, simulate_contents
from simulation.markdown import coverage_table, printed, rejected, size
from simulation.nearness import (
    NEARNESS_SCATTERS,
    NEARNESSES,
    simulate_difference_intervals,
    simulate_nearness_intervals,
)
from simulation.size import (
    RELATIVE_DIVISIONS,
    RELATIVE_TESTS,
    SCATTERS,
    SizeCell,
    simulate_relative_sizes,
    simulate_sizes,
)

ADDED = {
    "samples": samples.section,
    "relative-contrast": relative_contrast.section,
    "synonyms": synonyms.section,
    "pages": pages.section,
    "descriptors": descriptors.section,
    "questions": questions.section,
}
"""Sections by the modules that simulate them."""

PAGE = """# Coverage of the intervals, size of the tests

Written by `python benchmarks/coverage.py --draws {draws} --seed {seed} --write docs/coverage.md`; do not edit.

Each draw of a cell is a new model with a known truth. Every level of every factor has a normal effect. In the mix
`levels` (standard deviation 1, interactions and noise 0.4) the words decide. In `rest` (0.4 and 1) their combinations
decide; race has none, since a pair is the difference of two sentences. The designs are those of sssb with invented
words, and `inference` is 10 verbs by 10 objects by 20 occupations by 3 persons.

## Intervals

The tables show how often a nominal 95 % interval contains the truth, in per cent of {draws} draws, and in brackets its
median half-width in points. Truths are shares on [0, 1]: 0.5 is neutral, 0.96 reads 46 points. For a contrast of two
senses the truth is that of the first, and the second is at 0.5. `A - B` are two models at the same truth, which share
half of the variance of every effect. Nurse, the one female-typed occupation, is fixed, and so are the occupations of
the verb design and the three persons. An interval is compared with the truth given their effects; the column names the
truth before them.

Required: at least 93 % for truths from 0.1 to 0.9, minus a Monte-Carlo error of three standard errors ({error:.1f}
points here). The outer columns are only measured. "none" is the share of draws in which the difference of two models
had no interval: no level differed from another, and senseprobe says "interval not estimable".

{coverage}

{over}

## Intervals at the boundary

These models hardly ever say 'she'. Truths are how often they say 'he' of a male-typed occupation; the design names how
often they say it of nurse ("he of all": as often). In most draws all rows of a class agree, or all but one or two.
"noun, three frames" has every pair in three fixed frames, so a row is one of three that are averaged. In "noun - verb",
the matched contrast, the verbs say 'he' of nurse as often as of the others. Required: at least 93 % at every truth,
minus three standard errors. Every draw has an interval.

{boundary}

At 0.999 a class or two agree in nearly every draw. Intervals are then as wide as that many words allow, and cover more
than they need to.

## Tests

The table shows how often a test at 5 % rejects a true null. Required: at most 5 %, plus a Monte-Carlo error of three
standard errors. The one marked test is exempt. It shows why you must never read a difference between two models from
the p-values of single factors. "Equivalence" is tested with a figure exactly on the edge of a margin of 20 points. With
few words it is never shown there, because few words cannot show it.

{size}

## Tests of groups

The table shows how often `relative` and `spread` reject at 5 % if no group differs from the others, in per cent of
{draws} draws. The columns are the standard deviations of the effects of bad and good words with each group, bad to
good. Effects that a word has with all groups cancel. Groups are compared with the median of the others. At most
{divisions:,} divisions of the words are tried: a permutation test keeps its size with any number of them.
Required, plus a Monte-Carlo error of three standard errors, is at most: {claimed}.
"Not attainable": with so few words and so many groups no p can be below 5 % after Holm's correction.

{groups}
"""


CONTENT = """## Contents of chat models

`preference-half` and `pronoun-stereotype` of a chat model use the signs of contents, which the tables above cover.
`content-mean` uses the contents themselves. The planted contents are the sum of a true mean, in nats, and the same
normal effects as above. The table shows how often a nominal 95 % interval contains the mean, in per cent of {draws}
draws, and in brackets its median half-width. Required: at least 93 %, minus three standard errors.

{intervals}
"""


ASSOCIATION = """## Association tests

A simulated cosine is the sum of the true effect and three normal effects: of the target (X or Y) with the side of its
attribute (A or B), of the attribute with the group of its target, and of the pair. Their standard deviations are

{scatters}

and on GloVe 50d those of attributes are 0.5 to 3.4 times those of associations within a group. The design is the number
of words in each set, and the truth is the effect size of lists of this length. The table shows how often a nominal 95 %
interval of d contains it, in per cent of {draws} draws, and in brackets its median half-width. Required: at least 93 %,
minus three standard errors.

{intervals}

The table shows how often a one-sided test rejects if X and Y do not differ, in per cent of {draws} draws. "Attributes
held": they do not differ on these very words of A and B. A permutation of targets tests this, and must keep its level.
"Attributes drawn": they do not differ on average over all possible words of A and B. The p of `weat` ignores which
words were drawn; the interval does not. `weat-sentence` permutes sentences: each word has {sentences},
the word explains the named share of their variance, and {sentence_draws} divisions are drawn. It keeps its level only
if sentences of one word are no more alike than others (0 %): the last lines are only measured.

{sizes}
"""


NEARNESS = """## Nearness of words and of their senses

The cosine of a word with an attribute is the sum of the word's true effect on the attribute's side (A or B, blame or
praise) and three normal effects: of the word on the side, of the attribute with all words, and of the pair. Their
standard deviations are

{scatters}

The interval of `sc-weat` is over attributes for one word, and over words and attributes for a config. That of
`sense-difference` for one word is over attributes that both senses share. The columns are the true effect for lists of
this length; for a difference, that of the first sense, with 0 for the second. The tables show how often a nominal 95 %
interval contains it, in per cent of {draws} draws, and in brackets its median half-width. Required of `sc-weat`: at
least 93 %, minus three standard errors. The others are only measured.

{intervals}

Differences of one word are covered less than required if attributes scatter strongly and one of the effects is near its
maximum (1.90 separates A and B of five words completely). The interval of `sense-difference` over words treats the
attributes as fixed, and the two senses have different ones. If these are drawn too, as below, it is much too narrow. It
says that words differ between the senses on these attributes, and a note beside the figure says so.

{differences}
"""


def main() -> int:
    """Run, print, write where asked; 1 where a bound is missed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--draws", type=int, default=2000, help="models drawn for each cell")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--only", choices=["association", "contents", "nearness", *ADDED], help="simulate this section alone"
    )
    parser.add_argument("--write", type=Path, metavar="PAGE", help="write the tables as Markdown")
    options = parser.parse_args()
    start = time.perf_counter()
    cells, boundary, effects, tests, groups, associations, near, contents = ([] for _ in range(8))
    if not options.only:
        cells = [*printed(simulate(options.draws, options.seed))]
        boundary = [*printed(simulate_boundary(options.draws, options.seed))]
        tests = [*printed(simulate_sizes(options.draws, options.seed))]
        groups = [*printed(simulate_relative_sizes(options.draws, options.seed))]
    sections = []
    if options.only in {None, "association"}:
        effects = [*printed(simulate_effect_intervals(options.draws, options.seed))]
        associations = [*printed(simulate_word_sizes(options.draws, options.seed))]
        associations += printed(simulate_sentence_sizes(options.draws, options.seed))
        sections.append(association_section(effects, associations, options.draws))
    if options.only in {None, "nearness"}:
        near = [*printed(simulate_nearness_intervals(options.draws, options.seed))]
        differences = [*printed(simulate_difference_intervals(options.draws, options.seed))]
        sections.append(nearness_section(near, differences, options.draws))
    if options.only in {None, "contents"}:
        contents = [*printed(simulate_contents(options.draws, options.seed))]
        sections.append(CONTENT.format(draws=options.draws, intervals=coverage_table(contents, CONTENTS, digits=2)))
    added = [build(options.draws, options.seed) for name, build in ADDED.items() if options.only in {None, name}]
    sections += [section.text for section in added]
    if options.write:
        if options.only:
            text = options.write.read_text(encoding="utf-8")
        else:
            text = page(cells, boundary, tests, groups, options.draws, options.seed)
        options.write.write_text(replace_sections(text, sections), encoding="utf-8")
    covered, tested = [*cells, *boundary, *contents, *effects, *near], [*tests, *groups, *associations]
    cells_of_added = [cell for section in added for cell in section.cells]
    covered += [cell for cell in cells_of_added if isinstance(cell, Cell)]
    tested += [cell for cell in cells_of_added if isinstance(cell, SizeCell)]
    missed = [*(cell for cell in covered if not cell.holds), *(test for test in tested if not test.holds)]
    seconds = time.perf_counter() - start
    print(f"{len(covered)} cells and {len(tested)} tests in {seconds:.0f} s, {len(missed)} beyond their bounds")
    return 1 if missed else 0


def association_section(effects: Sequence[Cell], tests: Sequence[SizeCell], draws: int) -> str:
    """The last section of the page: intervals by words and scatter, and tests, a column for each level."""
    rows = ["| test | words | scatter, or share of the word | at 5 % | at 1 % |", "|---|---|---|---|---|"]
    for at_levels in zip(*(tests[start :: len(LEVELS)] for start in range(len(LEVELS))), strict=True):
        named = at_levels[0]
        sizes = " | ".join(size(test) + ("" if test.holds else " **above**") for test in at_levels)
        rows.append(f"| {named.test} | {named.design} | {named.mix} | {sizes} |")
    return ASSOCIATION.format(
        draws=draws,
        scatters="\n".join(
            f"- {scatter.name}: {scatter.targets:g} of targets, {scatter.attributes:g} of attributes, "
            f"{scatter.pairs:g} of pairs" + (";" if scatter is not COSINE_SCATTERS[-1] else ",")
            for scatter in COSINE_SCATTERS
        ),
        intervals=coverage_table(effects, EFFECTS, digits=2),
        sizes="\n".join(rows),
        sentences=SENTENCES,
        sentence_draws=SENTENCE_DRAWS,
    )


def nearness_section(intervals: Sequence[Cell], differences: Sequence[Cell], draws: int) -> str:
    """The section on single categories: intervals by numbers of words and attributes, and differences of senses."""
    scatters = (
        f"- {each.name}: {each.words:g} of words, {each.attributes:g} of attributes, {each.pairs:g} of pairs"
        for each in NEARNESS_SCATTERS
    )
    return NEARNESS.format(
        draws=draws,
        scatters=";\n".join(scatters) + ".",
        intervals=coverage_table(intervals, NEARNESSES, digits=2),
        differences=coverage_table(differences, NEARNESSES, digits=2),
    )


def replace_sections(text: str, sections: Sequence[str]) -> str:
    """Return a page with sections in place of those of the same headings, or at its end."""
    parts = {part.partition("\n")[0]: part for part in re.split(r"(?m)^(?=## )", text)}
    parts |= {section.partition("\n")[0]: section for section in sections}
    return "\n\n".join(part.strip() for part in parts.values()) + "\n"


def page(
    cells: Sequence[Cell],
    boundary: Sequence[Cell],
    tests: Sequence[SizeCell],
    groups: Sequence[SizeCell],
    draws: int,
    seed: int,
) -> str:
    """Page with a line per design, figure and mix, a column per truth; a line per test; of groups, one per design."""
    rows = [f"| {test.test} | {test.design} | {test.mix} | {rejected(test)} |" for test in tests]
    return PAGE.format(
        draws=draws,
        seed=seed,
        coverage=coverage_table(cells, TRUTHS),
        boundary=coverage_table(boundary, BOUNDARY_TRUTHS),
        size="\n".join(["| test | design | mix | rejected |", "|---|---|---|---|", *rows]),
        groups=of_groups(groups),
        divisions=RELATIVE_DIVISIONS,
        claimed="; ".join(claims()),
        error=100 * 3 * max(cell.error for cell in cells if cell.not_estimable == 0),
        over=over(cells),
    )


def of_groups(cells: Sequence[SizeCell]) -> str:
    """Table of the tests of groups: a line per test and design, a column per scatter."""
    lines = [
        f"| test | design | {' | '.join(scatter.name for scatter in SCATTERS)} |",
        "|---" * (2 + len(SCATTERS)) + "|",
    ]
    for test in RELATIVE_TESTS:
        for design in dict.fromkeys(cell.design for cell in cells):
            held = [cell for cell in cells if (cell.test, cell.design) == (test, design)]
            told = [size(cell) + ("" if cell.holds else " **above**") if cell.attainable else "" for cell in held]
            lines.append(f"| {test} | {design} | {' | '.join(one or 'not attainable' for one in told)} |")
    return "\n".join(lines)


def claims() -> Iterator[str]:
    """Yield a clause for each limit of the tests of groups."""
    by_limits: dict[tuple[float, float], list[str]] = {}
    for scatter in SCATTERS:
        by_limits.setdefault((scatter.single, scatter.family), []).append(scatter.name)
    for (one, many), names in sorted(by_limits.items()):
        yield f"{100 * one:g} % for one group, {100 * many:g} % for any group and `spread` at {' and '.join(names)}"


def over(cells: Sequence[Cell]) -> str:
    """Return a sentence on how much wider than necessary intervals are."""
    asked = sorted((cell for cell in cells if cell.required), key=lambda cell: cell.covered)
    wide = [cell for cell in asked if cell.covered > 0.975]
    middle, most = asked[len(asked) // 2], asked[-1]
    return (
        f"**Over-coverage**: of the {len(asked)} cells from 0.1 to 0.9, {len(wide)} cover more than 97.5 %; the median "
        f"is {100 * middle.covered:.1f} %, the most {100 * most.covered:.1f} % ({most.design}, `{most.estimand}`, "
        f"{most.mix}, {most.truth:g}). A row's own noise counts once for every factor, and the degrees of freedom are "
        "those of the smallest stratum, so the intervals are rather too wide."
    )


if __name__ == "__main__":
    sys.exit(main())
