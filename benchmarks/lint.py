"""How long `senseprobe lint` takes, and how much memory: on large lists, and on the built-in data.

Each project is linted by a process of its own, with nothing that an earlier run remembered:

- three: three lists of 10,000 words in the slots of one sentence, two million million pairs;
- one: a list of 100,000 words in one slot, in two blocks that label them the other way round;
- built-in: the lists and templates that ship with senseprobe.

Words are phrases of English words, so that every check has something to look up; WordNet is used where it is prepared
(`senseprobe wordnet`). Printed are wall time, CPU time, which says more where others work beside it, and the most
memory that the process held; of several rounds the median of each. The script exits 1 where lint ends otherwise than
expected, or takes more CPU time or memory than it may: 10 s and 1 GB for large lists, 2 s for the built-in data.

    python benchmarks/lint.py [--rounds 3]
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice, product
from pathlib import Path
from statistics import median

from senseprobe.lexicon.install import damage, wordnet_in

ADJECTIVES = """
angry bold brave bright calm careful cheap clean clever cold cruel curious dark dear deep dirty dull eager early empty
faint fair false famous fast fierce fine firm flat fond frank free fresh full gentle glad good grand grave great green
grey hard harsh heavy high honest hot huge humble idle keen kind large late lazy light long loose loud low mild modest
moist narrow neat new nice noble odd old pale plain polite poor proud pure quick quiet rare raw red rich ripe rough
round rude sad safe sharp short shy sick silent slim slow small smart
""".split()  # noqa: SIM905  a literal would take a line for each
NOUNS = """
actor artist author baker banker barber boxer builder butcher buyer captain carpenter cashier chef chemist clerk coach
cook critic dancer dentist diver doctor dealer drummer driver drover editor farmer fisher gardener glazier grocer guard
guide hunter janitor jeweller joiner judge keeper lawyer leader lecturer librarian manager mason mayor mechanic
merchant miner minister model musician nurse officer painter pilot plumber poet porter potter printer prophet publisher
ranger reader reporter rider roofer runner sailor scholar scout sculptor seller senator settler shepherd singer skater
smith soldier surgeon tailor tanner teacher tiler trader trainer tutor usher vendor vet waiter weaver welder worker
writer
""".split()  # noqa: SIM905  a literal would take a line for each
PLACES = ["north", "south", "east", "west", "inland", "coastal", "rural", "urban", "alpine", "island"]

VALENCES = ("female", "male")

CARD = """\
title: Large lists
summary: Lists that are large.
license: CC0-1.0
languages: [en]
citation: nobody
canary: "senseprobe:large:00000000-0000-0000-0000-000000000000"
content_warning: None.
construct: nothing but how long it takes
intended_use: Measuring lint.
out_of_scope: Everything else.
who_could_be_harmed: Nobody but who waits.
equivalence: {margin: 5, reason: none is needed}
configs: [large]
groups: [workers]
"""

FRONT = """\
---
kind: contrast
bias_type: none
construct: none
description: Words of large lists.
source: nobody
"""

THREE = f"""{FRONT}slots:
  who: {{list: first}}
  good: {{list: second}}
  bad: {{list: third}}
roles:
  stereo: {{quality: bad}}
  anti: {{quality: good}}
target: who
sense: {{type: noun, key: who.sense_noun}}
label_basis: trait
generalise: [who, good, bad]
expect: {{pairs: {2 * 10_000**3}}}
---
The {{{{ who }}}} was seen beside the {{{{ quality }}}} there.
{{{{ who | a | upfirst }}}} is sometimes called {{{{ quality | a }}}}.
"""

ONE = f"""{FRONT}slots:
  who: {{list: first}}
roles:
  stereo: {{person: {{text: he}}}}
  anti: {{person: {{text: she}}}}
target: who
sense: {{type: noun, key: who.sense_noun}}
label_basis: occupation
stereotype: who.valence
flip:
  - {{who.valence: female}}
generalise: [who]
expect: {{pairs: {4 * 100_000}}}
---
The {{{{ who }}}} said that {{{{ person }}}} was late.
{{{{ who | a | upfirst }}}} {{% if who.valence == "male" %}}knew{{% else %}}said{{% endif %}} {{{{ person }}}} slept.
---
label_basis: occupation
---
The {{{{ who }}}} knew that {{{{ person }}}} was early.
The {{{{ who }}}} knew why {{{{ person }}}} was early.
"""


@dataclass(frozen=True)
class Project:
    """What is linted, what that may take (seconds, MB), and what the command shall say at the end."""

    name: str
    make: Callable[[Path], None]
    seconds: float
    megabytes: float
    said: str


@dataclass(frozen=True)
class Spent:
    """What one process took: seconds of wall time and of CPU time, and MB at most; and what it printed."""

    wall: float
    cpu: float
    megabytes: float
    output: str


def phrases(n: int) -> Iterator[str]:
    """So many different phrases."""
    plain = (f"{adjective} {noun}" for adjective, noun in product(ADJECTIVES, NOUNS))
    return islice((f"{place} {phrase}" if place else phrase for phrase, place in product(plain, ["", *PLACES])), n)


def make_project(folder: Path, template: str, **lists: int) -> None:
    """Write a project of one template, and lists of so many words that have none in common."""
    (folder / "senseprobe.toml").write_text("")
    (folder / "templates/large").mkdir(parents=True)
    (folder / "templates/large/dataset.yaml").write_text(CARD)
    (folder / "templates/large/large.j2").write_text(template)
    (folder / "wordlists").mkdir()
    (folder / "wordlists/references.bib").write_text("@misc{nobody, title={Nothing}}\n")
    words, resources = phrases(sum(lists.values())), []
    for name, n in lists.items():
        rows = "".join(f"{word},{VALENCES[at % 2]},\n" for at, word in enumerate(islice(words, n)))
        (folder / f"wordlists/{name}.csv").write_text(f"word,valence,sense_noun\n{rows}")
        fields = "{name: word}, {name: valence}, {name: sense_noun, lexicon: wordnet-3.0, pos: noun}"
        about = f"sources: [{{title: nobody}}], licenses: [{{name: CC0-1.0}}], schema: {{fields: [{fields}]}}"
        resources.append(f"  - {{name: {name}, path: {name}.csv, {about}}}\n")
    (folder / "wordlists/datapackage.yaml").write_text(f"resources:\n{''.join(resources)}")


def three(folder: Path) -> None:
    """Three lists of 10,000 words."""
    make_project(folder, THREE, first=10_000, second=10_000, third=10_000)


def one(folder: Path) -> None:
    """A list of 100,000 words."""
    make_project(folder, ONE, first=100_000)


def built_in(folder: Path) -> None:
    """No project, so that what is linted is the built-in data."""


PROJECTS = (
    Project("three", three, 10, 1000, "0 findings in 3 word lists and 1 config;"),
    Project("one", one, 10, 1000, "0 findings in 1 word list and 1 config;"),
    Project("built-in", built_in, 2, 1000, "0 findings in 21 word lists and 20 configs;"),
)


def lint(folder: Path) -> Spent:
    """Lint the project in a folder with nothing remembered but WordNet."""
    with tempfile.TemporaryDirectory() as memory:
        _, wordnet = wordnet_in(None)
        if not damage(wordnet):
            (Path(memory) / "corpora").mkdir()
            (Path(memory) / "corpora/wordnet").symlink_to(wordnet)
        environment = {**os.environ, "SENSEPROBE_WORDNET": memory}
        start = time.perf_counter()
        command = [sys.executable, "-P", "-m", "senseprobe", "lint"]
        with subprocess.Popen(command, cwd=folder, env=environment, stdout=subprocess.PIPE, text=True) as process:
            output = process.stdout.read() if process.stdout else ""
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
    # Linux counts kilobytes, macOS bytes.
    memory_unit = 1e6 if sys.platform == "darwin" else 1e3
    wall = time.perf_counter() - start
    return Spent(wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / memory_unit, output)


def measure(project: Project, rounds: int) -> bool:
    """Lint a project several times and print what it took; whether that is what was expected."""
    with tempfile.TemporaryDirectory() as scratch:
        project.make(Path(scratch))
        spent = [lint(Path(scratch)) for _ in range(rounds)]
    wall, cpu, megabytes = (median(getattr(each, key) for each in spent) for key in ("wall", "cpu", "megabytes"))
    said = all(project.said in each.output for each in spent)
    good = said and cpu <= project.seconds and megabytes <= project.megabytes
    limits = f"at most {project.seconds:g} s, {project.megabytes:,.0f} MB"
    print(f"{project.name:9} {wall:6.1f} s wall  {cpu:6.1f} s CPU  {megabytes:6,.0f} MB  ({limits})", flush=True)
    if not said:
        print(f"{project.name}: expected {project.said!r}, not {spent[-1].output[-200:]!r}")
    return good


def main() -> int:
    """Read the options, run, and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    good = {project.name: measure(project, options.rounds) for project in PROJECTS}
    return 0 if all(good.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
