"""The command ``corpus`` and its API: tables by hand, refusals, interrupted runs, WordNet's glosses, memory."""

import csv
import json
import os
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from senseprobe.cli.application import main
from senseprobe.errors import SenseprobeError
from senseprobe.evaluate.texts import api, corpus_counts

TEXT = """\
She is a nurse. He met two construction workers. Dr. Smith saw HER and him.

They hired a lawyer, and the lawyer hired a nurse. The sheriff slept. His CEO left! Hers stayed.

It rained. Theirs is the baker's secretary; she knew.
"""
LISTS = {"group_pronouns": ("word", "group"), "winobias_occupations": ("word", "gender")}


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


@pytest.fixture
def text(tmp_path: Path) -> Path:
    """Nine sentences in three paragraphs; the abbreviation ends none."""
    path = tmp_path / "nine.txt"
    path.write_text(TEXT)
    return path


def _run(*arguments: object, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.argv", ["senseprobe", *map(str, arguments)])
    main()


def test_table_1_by_hand(text: Path) -> None:
    """By hand: she in sentences 1, 3, 7 (hers), 9; he in 2, 3, 6; they in 4 and 9.

    Typed male are construction workers (2), lawyer (4), sheriff, CEO (6); female nurse (1, 4), baker and secretary (9).
    """
    summary = api.corpus(text)
    assert summary.tally.counts.sentences == 9
    rows = {row["group"]: row for row in summary.rows()}
    found = {
        name: (row["sentences"], *(part["sentences"] for part in row["with"].values())) for name, row in rows.items()
    }
    assert list(rows["male"]["with"]) == ["male", "female", "neutral"]
    assert found == {"female": (4, 0, 2, 2), "male": (3, 2, 0, 1), "collective": (2, 1, 2, 0)}
    assert rows["female"]["with"]["female"]["percent"] == 50
    ratio = summary.ratios()["male / female"]
    assert (ratio.value, ratio.low, ratio.documents) == (0.75, None, 3)  # an interval needs five documents
    words = {word.word: word.sentences for word in summary.words()}
    assert (words["nurse"], words["lawyer"], words["secretary"]) == ((1, 0, 1), (0, 0, 1), (1, 0, 1))
    odds = {word.word for word in summary.words() if word.log_odds is not None}
    assert odds == {"nurse", "construction worker", "CEO", "baker", "secretary"}  # lawyer: beside they alone


def test_the_command_writes_what_it_prints(
    text: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """JSON of the API, a CSV of all counts, and a page whose texts are escaped; nothing of the run stays behind."""
    files = [tmp_path / f"<b>.{ending}" for ending in ("json", "csv", "html", "md")]
    outs = [part for file in files for part in ("-o", file)]
    with pytest.raises(SystemExit) as stop:
        _run("study", "corpus", text, "--json", *outs, monkeypatch=monkeypatch)
    assert stop.value.code == 0
    printed = json.loads(capsys.readouterr().out)
    assert printed == json.loads(files[0].read_text()) == json.loads(json.dumps(api.corpus(str(text)).as_dict()))
    assert printed["signature"] in printed["citation"]
    with files[1].open() as file:
        rows = [*csv.DictReader(file)]
    assert rows[0] == {"group": "female", "with": "", "sentences": "4", "percent": ""}
    assert "Co-occurrence in a sentence is not attribution" in files[2].read_text()
    assert printed["signature"] in files[2].read_text()
    assert not [*(tmp_path / "cache").rglob("*.json")]


def test_a_terminal_prints_words_from_either_end(text: Path) -> None:
    """By hand, as above: of all words five have log-odds, and the page has all; limits are not brief."""
    summary = api.corpus(str(text))
    brief, full = ({part.title: part for part in summary.sections(level)} for level in ("brief", "full"))
    words = {row[0].text for row in brief["Words"].tables[0].rows}
    assert words == {"nurse", "construction worker", "CEO", "baker", "secretary"}
    assert "lawyer" in {row[0].text for row in full["Words"].tables[0].rows}
    assert {*full} - {*brief} == {"What it cannot show"}


def test_names_are_escaped(tmp_path: Path) -> None:
    """A file's name, a group and a word with markup are text on the page."""
    path, page = tmp_path / "<script>.txt", tmp_path / "page.html"
    path.write_text(TEXT)
    groups, words = tmp_path / "g.csv", tmp_path / "w.csv"
    groups.write_text("word,group\nshe,<img src=x>\nhe,b\n")
    words.write_text("word,gender\nnurse<u>,<i>\n")
    api.corpus(path, groups=groups, words=words, out=[page])
    html = page.read_text()
    assert not [tag for tag in ("<script>", "<img", "<u>", "<i>") if tag in html]


@pytest.mark.parametrize(
    ("option", "content", "message"),
    [
        ("--groups", "word,group\nshe,f\n", "a list of groups needs at least two groups; this one has f"),
        ("--groups", "term,group\nshe,f\n", "needs rows and the columns word and group"),
        ("--groups", "", "is empty"),
        ("--with", "word,gender\nnurse,\n", "row 1 lacks a word or gender"),
        ("--with", "word,gender\nnurse,f\nNurse,m\n", "occurs twice in the list"),
        ("--with", "word,gender\n--,f\n", "an entry without letters"),
        ("--with", "word,gender\n" + "".join(f"w{n}x,f\n" for n in range(1500)), "more than 2,000 words"),
    ],
)
def test_lists_that_cannot_be_used(
    text: Path, tmp_path: Path, option: str, content: str, message: str,
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    """One message that says what is wrong, and exit code 2."""
    path = tmp_path / "list.csv"
    path.write_text(content)
    with pytest.raises(SystemExit) as stop:
        _run("study", "corpus", text, option, path, monkeypatch=monkeypatch)
    assert stop.value.code == 2
    assert message in " ".join(capsys.readouterr().err.split())


def test_punkt_is_the_users(text: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without its data the message says how to get them; sentences are those that it gives."""
    monkeypatch.setattr("nltk.sent_tokenize", lambda text: text.split(";"))
    assert api.corpus(text, splitter="nltk").tally.counts.sentences == 4  # one semicolon in three paragraphs

    def refuse(_: str) -> list[str]:
        raise LookupError

    monkeypatch.setattr("nltk.sent_tokenize", refuse)
    with pytest.raises(SenseprobeError, match=r"nltk[.]downloader punkt_tab"):
        api.corpus(text, splitter="nltk")
    with pytest.raises(SenseprobeError, match="did you mean 'rule'"):
        api.corpus(text, splitter="rules")


KILLED = """
import os, signal, sys
from senseprobe.evaluate.texts import api
from senseprobe.evaluate.texts import corpus_counts
corpus_counts.CHUNK = 1000
write = corpus_counts.Tally.write
def stop(tally, path):
    write(tally, path)
    if tally.chunks == 7:
        os.kill(os.getpid(), signal.SIGKILL)
corpus_counts.Tally.write = stop
api.corpus(sys.argv[1])
"""


def _kill(path: Path) -> None:
    """Run until seven chunks are written, and kill -9."""
    ran = subprocess.run([sys.executable, "-c", KILLED, str(path)], check=False)
    assert ran.returncode == -signal.SIGKILL


def test_a_killed_run_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """After kill -9 behind seven chunks these are not counted again, and all is as if nothing had happened."""
    path = tmp_path / "long.txt"
    path.write_text(f"{TEXT}\n" * 60)
    stat = path.stat()
    expected = api.corpus(path, resume=False)
    cache, kept = tmp_path / "cache", tmp_path / "kept"
    _kill(path)
    shutil.copytree(cache, kept)
    monkeypatch.setattr(corpus_counts, "CHUNK", 1000)
    counted: list[str] = []
    count = corpus_counts.count_texts

    def record(texts: list[str], *rest: Any) -> corpus_counts.Counts:  # noqa: ANN401 - handed on
        counted.extend(texts)
        return count(texts, *rest)

    monkeypatch.setattr(corpus_counts, "count_texts", record)
    resumed = api.corpus(path)
    paragraphs = [part.strip() for part in TEXT.split("\n\n")] * 60  # 14 have the first 1,000 characters
    assert counted == paragraphs[7 * 14 :]
    assert resumed.as_dict() == expected.as_dict()

    shutil.copytree(kept, cache, dirs_exist_ok=True)
    path.write_text(path.read_text().replace("rained", "poured"))  # of the same size and time
    os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns))
    with pytest.raises(SenseprobeError, match="the texts have changed"):
        api.corpus(path)
    assert api.corpus(path).tally.counts.sentences == expected.tally.counts.sentences


def _count_naively(documents: list[str]) -> dict[str, list[int]]:
    """Table 1 with the rule of sentences and the plurals written out anew, by sets of words."""
    root = Path(__file__).parents[2] / "wordlists"
    with (root / "group_pronouns.csv").open() as file:
        groups: dict[str, set[str]] = {}
        for row in csv.DictReader(file):
            groups.setdefault(row["group"], set()).add(row["word"])
    irregular = {"salesperson": "salespeople", "secretary": "secretaries"}
    typed: dict[str, list[str]] = {"male": [], "female": []}
    with (root / "winobias_occupations.csv").open() as file:
        for row in csv.DictReader(file):
            word = row["word"].lower()
            typed[row["gender"]] += [word, irregular.get(word, f"{word}s")]
    patterns = {side: re.compile(rf"(?<![^\W_])(?:{'|'.join(words)})(?![^\W_])") for side, words in typed.items()}
    found = {group: [0, 0, 0, 0] for group in groups}
    for document in documents:
        pieces = [""]
        for word in re.split(r"( )", document):  # single blanks: glosses have no other white space
            pieces[-1] += word
            ended = re.search(r"[.!?][\"')\]]*$", pieces[-1].rstrip(" ")) and word == " "
            short = re.search(r"\b([A-Z]|Mr|Mrs|Ms|Dr|Prof|St|Jr|Sr|Gen|Sen|Rep|vs|etc|e\.g|i\.e)\. $", pieces[-1])
            if ended and not short:
                pieces.append("")
        sentences: list[str] = []
        for piece in pieces:
            if sentences and not re.match(r"[\"'(\[]*[^\W_a-z]", piece):
                sentences[-1] += piece
            else:
                sentences.append(piece)
        for sentence in sentences:
            words = set(re.findall(r"[^\W_]+", sentence.lower()))
            sides = [bool(patterns[side].search(sentence.lower())) for side in ("male", "female")]
            for group, forms in groups.items():
                if words & forms:
                    found[group] = [a + b for a, b in zip(found[group], [1, *sides, not any(sides)], strict=True)]
    return found


@pytest.mark.system
def test_glosses_of_wordnet(tmp_path: Path) -> None:
    """All definitions and examples of WordNet 3.0 (Debian's wordnet-base), against a naive loop over sets of words."""
    lines = [
        line for path in sorted(Path("/usr/share/wordnet").glob("data.*")) for line in path.read_text().splitlines()
    ]
    glosses = [" ".join(line.partition("| ")[2].split()) for line in lines if "| " in line]
    assert len(glosses) == 117_659
    path = tmp_path / "glosses.txt"
    path.write_text("\n\n".join(glosses))
    summary = api.corpus(path)
    assert summary.tally.counts.documents == len(glosses)
    found = {
        row["group"]: [row["sentences"], *(p["sentences"] for p in row["with"].values())] for row in summary.rows()
    }
    assert found == _count_naively(glosses)


MEMORY = """
import resource, sys
from senseprobe.evaluate.texts import api
plain = "Light falls on a wall of old stone, where moss and grass grow between the cracks of many years. " * 9
text = (f"She met the nurse. {plain}He is a lawyer, said Dr. Who.\\n" * 20 + "\\n").encode()
with open(sys.argv[1], "wb") as file:
    for _ in range(int(float(sys.argv[2]) * 1000)):
        file.write(text * (1_000_000 // len(text) + 1))
api.corpus(sys.argv[1])
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10)
"""


@pytest.mark.soak
@pytest.mark.timeout(3600)
def test_memory_is_flat(tmp_path: Path) -> None:
    """The peak of a run over 4 GB is that of one over 1 GB, within 32 MiB, and below 1 GiB."""
    peaks = []
    for size in ("1", "4"):
        command = [sys.executable, "-c", MEMORY, str(tmp_path / "big.txt"), size]
        ran = subprocess.run(command, capture_output=True, text=True, check=True)
        peaks.append(int(ran.stdout))
        (tmp_path / "big.txt").unlink()
    assert peaks[1] < peaks[0] + 32
    assert peaks[1] < 1024
