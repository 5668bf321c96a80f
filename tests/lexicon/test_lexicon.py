"""The lexicon: WordNet prepared from whatever there is, and sense keys checked against its data files."""

import hashlib
import os
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from senseprobe.errors import LexiconError
from senseprobe.lexicon import Lexicon, PreparedWordNet, SenseEntry, look_up, prepare, prepare_local
from senseprobe.lexicon.install import install

DEBIAN = Path("/usr/share/wordnet")
NOWHERE = Path("/nonexistent/wordnet")

# A WordNet of a dozen words in the format of wndb(5WN): part of speech, file number, synset type, words with lex_id,
# number of the head's row for a satellite, gloss. *Earth* stands twice in one synset, as in the real one.
Synset = tuple[str, int, str, tuple[tuple[str, int], ...], int | None, str]
TINY: list[Synset] = [
    ("noun", 18, "n", (("Arab", 0),), None, 'a speaker of Arabic; "an example"'),
    ("noun", 5, "n", (("Arab", 0),), None, "a horse"),
    ("noun", 10, "n", (("Arabic", 0),), None, 'a language; "quoted"; - Somebody'),
    ("noun", 17, "n", (("Earth", 1), ("earth", 2)), None, "our planet"),
    ("noun", 15, "n", (("New_York", 0),), None, "a city"),
    ("verb", 31, "v", (("judge", 2),), None, "decide"),
    ("adj", 0, "a", (("black", 1),), None, "of the darkest colour"),
    ("adj", 0, "a", (("unhealthy", 0),), None, "not well"),
    ("adj", 0, "s", (("mental", 0), ("sick", 10)), 7, "ill in mind"),
    ("adj", 1, "a", (("mental(a)", 3),), None, "of the chin"),
    ("adv", 2, "r", (("well", 0),), None, "in a good way"),
]
HEADER = "  1 A toy for tests.\n  2 WordNet 3.0 Copyright 2006 by nobody.\n"


def _line(synset: Synset, offset: int, offsets: list[int]) -> str:
    pos, number, ss_type, words, head, gloss = synset
    named = " ".join(f"{word} {lex_id:x}" for word, lex_id in words)
    pointers = "000" if head is None else f"001 & {offsets[head]:08d} a 0000"
    frames = " 01 + 08 00" if pos == "verb" else ""
    return f"{offset:08d} {number:02d} {ss_type} {len(words):02x} {named} {pointers}{frames} | {gloss}  \n"


def _offsets(synsets: list[Synset]) -> list[int]:
    ends = dict.fromkeys(("noun", "verb", "adj", "adv"), len(HEADER))
    offsets = []
    for synset in synsets:
        offsets.append(ends[synset[0]])
        ends[synset[0]] += len(_line(synset, 0, [0] * len(synsets)))
    return offsets


def _index(pos: str, synsets: list[Synset], offsets: list[int]) -> str:
    offsets_by_lemma: dict[str, list[int]] = {}
    for row, (synset_pos, _, _, words, _, _) in enumerate(synsets):
        for lemma in {word.split("(")[0].lower() for word, _ in words if synset_pos == pos}:
            offsets_by_lemma.setdefault(lemma, []).append(offsets[row])
    letter = {"noun": "n", "verb": "v", "adj": "a", "adv": "r"}[pos]
    offset = {lemma: " ".join(f"{value:08d}" for value in places) for lemma, places in offsets_by_lemma.items()}
    lines = (
        f"{lemma} {letter} {len(o)} 0 {len(o)} 0 {offset[lemma]}  \n" for lemma, o in sorted(offsets_by_lemma.items())
    )
    return HEADER + "".join(lines)


def write_wordnet(folder: Path, synsets: list[Synset]) -> Path:
    """Write a toy WordNet into a new folder as Debian installs the real one, so without lexnames."""
    folder.mkdir()
    offsets = _offsets(synsets)
    for pos in ("noun", "verb", "adj", "adv"):
        rows = zip(synsets, offsets, strict=True)
        lines = (_line(synset, offset, offsets) for synset, offset in rows if synset[0] == pos)
        (folder / f"data.{pos}").write_text(HEADER + "".join(lines))
        (folder / f"index.{pos}").write_text(_index(pos, synsets, offsets))
        (folder / f"{pos}.exc").write_text("")
    (folder / "index.sense").write_text("arab%1:05:00:: 00000000 1 0\n")
    (folder / "cntlist.rev").write_text("")
    return folder


@pytest.fixture(scope="session")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The toy WordNet of `TINY`."""
    return write_wordnet(tmp_path_factory.mktemp("usr") / "wordnet", TINY)


def _prepared(home: Path, debian: Path) -> Path:
    """Prepare from Debian's files, whatever NLTK has here."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("nltk.data.path", [])
        return prepare(home, debian=debian).folder


@pytest.fixture(scope="session")
def lexicon(tiny: Path, tmp_path_factory: pytest.TempPathFactory) -> Lexicon:
    return Lexicon.open("wordnet-3.0", _prepared(tmp_path_factory.mktemp("tiny"), tiny))


@pytest.fixture
def bare(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Make this a machine without NLTK downloads or any command; give the folder that commands can be put in."""
    monkeypatch.setattr("nltk.data.path", [])
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    (tmp_path / "bin").mkdir()
    return tmp_path / "bin"


def _command(folder: Path, name: str, script: str) -> None:
    (folder / name).write_text(f"#!/bin/sh\nPATH=/usr/bin:/bin\n{script}\n")
    (folder / name).chmod(0o755)


def test_importing_the_lexicon_does_not_import_nltk() -> None:
    """NLTK takes a second to import, which `senseprobe --help` should not."""
    code = f"import sys; sys.path[:] = {sys.path}; import senseprobe.lexicon; sys.exit('nltk' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_debians_files_are_prepared_and_lexnames_added(bare: Path, tiny: Path, tmp_path: Path) -> None:
    """Every file that NLTK reads is there, lexnames as lexnames(5WN) lists it; a second run has nothing to do."""
    assert prepare(tmp_path / "new", debian=tiny) == PreparedWordNet(tmp_path / "new", f"debian {tiny}", "3.0")
    wordnet = tmp_path / "new" / "corpora" / "wordnet"
    assert {path.name for path in wordnet.iterdir()} == {path.name for path in tiny.iterdir()} | {"lexnames"}
    lines = (wordnet / "lexnames").read_text().splitlines()
    # From the manual page, which also says that there are forty-five.
    assert len(lines) == 45
    for line in ("00\tadj.all\t3", "02\tadv.all\t4", "18\tnoun.person\t1", "31\tverb.cognition\t2", "44\tadj.ppl\t3"):
        assert lines[int(line[:2])] == line
    assert prepare(tmp_path / "new", debian=NOWHERE) == PreparedWordNet(tmp_path / "new", "already there", "3.0")


def test_the_environment_names_the_folder(
    bare: Path, tiny: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`$SENSEPROBE_WORDNET` wins over `$XDG_DATA_HOME`, which wins over the home folder."""
    monkeypatch.delenv("SENSEPROBE_WORDNET", raising=False)
    steps = [
        ("XDG_DATA_HOME", "", tmp_path / ".local/share/senseprobe/nltk_data"),
        ("XDG_DATA_HOME", str(tmp_path / "xdg"), tmp_path / "xdg/senseprobe/nltk_data"),
        ("SENSEPROBE_WORDNET", "~/own", tmp_path / "own"),
    ]
    monkeypatch.setenv("HOME", str(tmp_path))
    for name, value, folder in steps:
        monkeypatch.setenv(name, value)
        assert prepare(debian=tiny) == PreparedWordNet(folder, f"debian {tiny}", "3.0")
        assert Lexicon.open("wordnet-3.0").name == "wordnet-3.0"


def test_an_nltk_download_is_taken_before_debians_files(
    bare: Path, tiny: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both of its forms are found: the folder, and the archive that NLTK leaves packed; a broken archive is not."""
    monkeypatch.setattr("nltk.data.path", [str(tmp_path / "data")])
    archive, folder = (tmp_path / "data" / "corpora" / name for name in ("wordnet.zip", "wordnet"))
    archive.parent.mkdir(parents=True)
    archive.write_bytes(b"PK")
    assert prepare(tmp_path / "none", debian=tiny).source == f"debian {tiny}"
    with zipfile.ZipFile(archive, "w") as file:
        for path in tiny.iterdir():
            file.write(path, f"wordnet/{path.name}")
        file.writestr("wordnet/../../../escaped", "a member that nobody asked for")
    assert prepare(tmp_path / "one", debian=tiny).source == f"nltk download {archive}"
    assert not list(tmp_path.rglob("escaped"))
    shutil.copytree(tiny, folder)
    assert prepare(tmp_path / "two", debian=tiny).source == f"nltk download {folder}"


@pytest.mark.parametrize(
    ("name", "old", "new", "reason"),
    [
        ("index.sense", None, "", r"lacks index\.sense"),
        ("data.noun", "a city  \n", "a ci", r"data\.noun is cut short"),
        ("data.verb", "WordNet 3.0", "WordNet 3.1", r"data\.verb is of WordNet 3\.1, not 3\.0"),
        ("data.adv", "Copyright", "", r"data\.adv is of WordNet of no known version, not 3\.0"),
    ],
)
def test_files_that_are_no_whole_wordnet_are_refused(
    bare: Path, tiny: Path, tmp_path: Path, name: str, old: str | None, new: str, reason: str
) -> None:
    """What is missing, broken off or of another version is named, with what to do, and nothing is written."""
    files = Path(shutil.copytree(tiny, tmp_path / "files"))
    if old is None:
        (files / name).unlink()
    else:
        (files / name).write_text((files / name).read_text().replace(old, new))
    advice = r".*apt-get install wordnet-base.*python -m nltk\.downloader wordnet"
    with pytest.raises(LexiconError, match=reason + advice):
        prepare(tmp_path / "new", debian=files)
    assert not (tmp_path / "new").exists()


def test_debians_packages_are_downloaded_and_unpacked(bare: Path, tiny: Path, tmp_path: Path) -> None:
    """Without root, apt-get downloads and dpkg-deb unpacks, both played by scripts; what apt complains of is told."""
    _command(bare, "dpkg-deb", f'[ "$1" = -x ] && mkdir -p "$3/usr/share" && cp -r {tiny} "$3/usr/share"')
    _command(bare, "apt-get", "echo 'E: Unable to locate package wordnet-base' >&2; exit 100")
    with pytest.raises(LexiconError, match=r"apt download: E: Unable to locate package wordnet-base"):
        prepare(tmp_path / "new", debian=NOWHERE)
    _command(bare, "apt-get", '[ "$*" = "download wordnet-base wordnet-sense-index" ] && touch one.deb two.deb')
    assert prepare(tmp_path / "new", debian=NOWHERE).source == "apt download"


def test_a_failed_copy_leaves_nothing(bare: Path, tiny: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A disk that fills up midway, or a file as destination, is told; no half is left, and the next run succeeds."""
    copy = shutil.copyfile

    def fill_up(source: Path, target: Path) -> Path:
        if source.name != "index.verb":
            return copy(source, target)
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(shutil, "copyfile", fill_up)
        with pytest.raises(LexiconError, match="No space left on device"):
            prepare(tmp_path / "new", debian=tiny)
    assert not (tmp_path / "new" / "corpora").exists()
    assert prepare(tmp_path / "new", debian=tiny).source == f"debian {tiny}"
    with pytest.raises(LexiconError, match=r"cannot write .*SENSEPROBE_WORDNET"):
        prepare(tiny / "data.noun", debian=tiny)


def test_a_half_written_folder_is_not_taken_for_a_whole_one(bare: Path, tiny: Path, tmp_path: Path) -> None:
    """Neither `open` nor `prepare` accepts it; it may be somebody's, so it is named and stays."""
    half = prepare(tmp_path / "new", debian=tiny).folder / "corpora" / "wordnet"
    (half / "index.verb").write_text("judge v one\n")
    with pytest.raises(LexiconError, match=r"index\.verb cannot be read \(damaged at 'judge'\): .*senseprobe wordnet"):
        Lexicon.open("wordnet-3.0", tmp_path / "new").check("judge%2:31:02::", lemma="judge", pos="verb")
    (half / "data.verb").unlink()
    with pytest.raises(LexiconError, match=r"lacks data\.verb.*senseprobe wordnet"):
        Lexicon.open("wordnet-3.0", tmp_path / "new")
    with pytest.raises(LexiconError, match=r"not a complete WordNet.*lacks data\.verb.*remove it"):
        prepare(tmp_path / "new", debian=tiny)
    assert (half / "data.noun").exists()


def test_wordnet_is_prepared_by_itself_once_and_without_a_download(
    bare: Path, tiny: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In our own folder, from a copy that is there; a folder that the user names is left alone."""
    _command(bare, "apt-get", f"touch {tmp_path}/asked")
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "xdg"))
    monkeypatch.setenv("SENSEPROBE_WORDNET", str(tmp_path / "own"))
    heard: list[str] = []
    prepare_local(heard.append, debian=tiny)
    monkeypatch.delenv("SENSEPROBE_WORDNET")
    prepare_local(heard.append, debian=tmp_path / "none")
    assert (heard, {path.name for path in tmp_path.iterdir()}) == ([], {"bin"})
    for _ in range(2):
        prepare_local(heard.append, debian=tiny)
    home = tmp_path / "xdg/senseprobe/nltk_data"
    assert heard == [f"prepared WordNet 3.0 in {home} (debian {tiny})"]
    assert Lexicon.open("wordnet-3.0", home).name == "wordnet-3.0"


def test_a_faster_process_is_no_error(tiny: Path, tmp_path: Path) -> None:
    """Of two that prepare the same folder at once, the second finds it made and is content."""
    for _ in range(2):
        install(tiny, tmp_path)
    assert [path.name for path in (tmp_path / "corpora").iterdir()] == ["wordnet"]


def test_a_lexicon_that_cannot_be_opened_says_what_to_do(tmp_path: Path) -> None:
    """A missing one names the command that prepares it, an unknown one the known ones."""
    with pytest.raises(LexiconError, match=r"wordnet-3\.0 is not prepared in .*: run `senseprobe wordnet`"):
        Lexicon.open("wordnet-3.0", tmp_path)
    with pytest.raises(LexiconError, match=r"unknown lexicon 'wordnet-3\.1': known are wordnet-3\.0"):
        Lexicon.open("wordnet-3.1", tmp_path)


# Written by hand after senseidx(5WN), in the order of TINY.
KEYS = [
    ("arab%1:18:00::", "arab", "noun"),
    ("arab%1:05:00::", "Arab", "noun"),
    ("arabic%1:10:00::", "arabic", "noun"),
    ("earth%1:17:01::", "Earth", "noun"),
    ("earth%1:17:02::", "earth", "noun"),
    ("new_york%1:15:00::", "New York", "noun"),
    ("judge%2:31:02::", "judge", "verb"),
    ("black%3:00:01::", "black", "adjective"),
    ("unhealthy%3:00:00::", "unhealthy", "adjective"),
    ("mental%5:00:00:unhealthy:00", "mental", "adjective"),
    ("sick%5:00:10:unhealthy:00", "sick", "adjective"),
    ("mental%3:01:03::", "mental", "adjective"),
    ("well%4:02:00::", "well", "adverb"),
]


@pytest.mark.parametrize(("key", "lemma", "pos"), KEYS)
def test_senses_of_the_data_files_are_accepted(lexicon: Lexicon, key: str, lemma: str, pos: str) -> None:
    """All of them, though index.sense of the toy holds a single key."""
    assert lexicon.check(key, lemma=lemma, pos=pos) == ()


@pytest.mark.parametrize(
    ("key", "lemma", "pos", "kinds", "hint"),
    [
        ("$SENSE-ID$", "arab", "noun", ["malformed"], "a key looks like"),
        ("", "arab", "noun", ["malformed"], "a key looks like"),
        ("arab%1:18:00::\n", "arab", "noun", ["malformed"], "did you mean arab%1:18:00::"),
        ("Arab%1:18:00::", "arab", "noun", ["malformed"], "did you mean arab%1:18:00::"),
        ("new york%1:15:00::", "new york", "noun", ["malformed"], "did you mean new_york%1:15:00::"),
        ("arab%1:١٨:00::", "arab", "noun", ["malformed"], "a key looks like"),
        ("arabic%1:18:00::", "arabic", "noun", ["missing"], "arabic as a noun: arabic%1:10:00:: (a language)"),
        ("arab%1:18:07::", "arab", "noun", ["missing"], "arab%1:18:00:: (a speaker of Arabic), arab%1:05:00::"),
        ("mental%5:00:00::", "mental", "adjective", ["missing"], "adjective: mental%5:00:00:unhealthy:00 (ill"),
        ("mental%5:00:00:unhealthy:01", "mental", "adjective", ["missing"], "mental%5:00:00:unhealthy:00"),
        ("unhealthy%5:00:00:unhealthy:00", "unhealthy", "adjective", ["missing"], "unhealthy%3:00:00::"),
        ("judge%1:18:00::", "judge", "noun", ["missing"], "judge as a verb: judge%2:31:02:: (decide)"),
        ("arabc%1:10:00::", "arabic", "noun", ["missing", "lemma"], "arabic as a noun: arabic%1:10:00::"),
        ("ghost%1:18:00::", "ghost", "noun", ["missing"], "it has no word ghost"),
        ("arab%1:18:00::", "arabic", "noun", ["lemma"], "arabic as a noun: arabic%1:10:00::"),
        ("arab%1:18:00::", "judge", "verb", ["pos", "lemma"], ""),
        ("arab%1:18:00::", "arab", "proper noun", ["pos"], ""),
    ],
)
def test_problems_are_told_with_a_hint(
    lexicon: Lexicon, key: str, lemma: str, pos: str, kinds: list[str], hint: str
) -> None:
    """Every problem of a key at once, and with the first the senses that may have been meant, the nearest first."""
    problems = lexicon.check(key, lemma=lemma, pos=pos)
    assert [problem.kind for problem in problems] == kinds
    assert hint in problems[0].hint if hint else problems[0].hint == ""
    assert all(problem.message for problem in problems)


NEAR_KEYS = st.from_regex(r"\A(arab|mental|well|[a-z]+)%[0-9]:[0-9]{2}:[0-9]{2}:([a-z]*:[0-9]{2}|:)\Z")
EXTENDED = st.tuples(st.sampled_from([key for key, _, _ in KEYS]), st.text(min_size=1)).map("".join)


@given(key=st.one_of(st.text(), NEAR_KEYS, EXTENDED), lemma=st.text(), pos=st.text())
def test_any_text_is_answered_without_raising(lexicon: Lexicon, key: str, lemma: str, pos: str) -> None:
    """Whatever a list holds, a text that is none of the keys is a problem, and nothing is raised."""
    for requested in (pos, "noun", "verb", "adjective", "adverb"):
        assert lexicon.check(key, lemma=lemma, pos=requested) or key in {key for key, _, _ in KEYS}


def test_a_gloss_is_the_definition_alone(lexicon: Lexicon) -> None:
    """Without examples and who said them; of what is no sense it is empty."""
    assert lexicon.gloss("arabic%1:10:00::") == "a language"
    assert lexicon.gloss("arab%1:18:00::") == "a speaker of Arabic"
    assert [lexicon.gloss(key) for key in ("arabic%1:18:00::", "", "$SENSE-ID$")] == ["", "", ""]


def test_another_gloss_is_of_another_kind_of_thing(lexicon: Lexicon) -> None:
    """The toy's Arab is a person (file 18) and a horse (5); its other words have one sense, or senses of one file."""
    assert lexicon.another_gloss("arab%1:18:00::") == "a horse"
    assert lexicon.another_gloss("arab%1:05:00::") == "a speaker of Arabic"
    assert [lexicon.another_gloss(key) for key in ("black%3:00:01::", "arabic%1:18:00::", "", "x")] == [""] * 4


def test_messages_on_existing_keys_have_their_gloss(lexicon: Lexicon) -> None:
    """So that its author sees which sense it is; of the toy's glosses."""
    (of_lemma,) = lexicon.check("arab%1:18:00::", lemma="arabic", pos="noun")
    assert of_lemma.message == "arab%1:18:00:: (a speaker of Arabic) is a sense of arab, not of arabic"
    (of_pos,) = lexicon.check("judge%2:31:02::", lemma="judge", pos="noun")
    assert of_pos.message == "judge%2:31:02:: is a verb (decide), not a noun"


def test_a_word_is_looked_up_in_all_its_senses(tiny: Path, tmp_path: Path) -> None:
    """Keys by hand after senseidx(5WN), files after lexnames(5WN), words and glosses of the toy."""
    home = _prepared(tmp_path, tiny)
    assert look_up("New York", home) == [
        SenseEntry("new_york%1:15:00::", "noun", "noun.location", "a city", ("New York",))
    ]
    assert look_up("arabs", home) == look_up("Arab", home)  # a form, by morphy(7WN)
    assert [entry.gloss for entry in look_up("Arab", home)] == ["a speaker of Arabic", "a horse"]
    assert [(entry.key, entry.pos, entry.file, entry.lemmas) for entry in look_up("mental", home)] == [
        ("mental%5:00:00:unhealthy:00", "adj", "adj.all", ("mental", "sick")),
        ("mental%3:01:03::", "adj", "adj.pert", ("mental",)),
    ]
    for word in ("ghost", "", "%"):
        with pytest.raises(LexiconError, match=r"wordnet-3\.0 does not contain .*: check its spelling"):
            look_up(word, home)


def test_the_identity_is_the_hash_of_the_data_files(lexicon: Lexicon, tiny: Path) -> None:
    """What `cat data.adj data.adv data.noun data.verb | sha256sum` prints."""
    data = b"".join((tiny / f"data.{pos}").read_bytes() for pos in ("adj", "adv", "noun", "verb"))
    assert lexicon.identity == hashlib.sha256(data).hexdigest()


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return _prepared(tmp_path_factory.mktemp("wordnet"), DEBIAN)


@pytest.fixture(scope="module")
def wordnet(home: Path) -> Lexicon:
    return Lexicon.open("wordnet-3.0", home)


def _data_keys() -> Iterator[tuple[str, str, str]]:
    """Every sense key with lemma and part of speech, read from Debian's data files without NLTK."""
    for pos, name in (("noun", "noun"), ("verb", "verb"), ("adjective", "adj"), ("adverb", "adv")):
        rows = [line.split(" | ")[0].split() for line in _lines(f"data.{name}") if line[0] != " "]
        synsets = {row[0]: (row, _words(row)) for row in rows}
        for row, words in synsets.values():
            # A satellite's first similar synset is its head; the head's first word is in the key.
            head = synsets[row[row.index("&") + 1]][1][0] if row[2] == "s" else ("", "")
            for lemma, lex_id in words:
                yield f"{lemma}%{' nvars'.index(row[2])}:{row[1]}:{lex_id}:{':'.join(head)}", lemma, pos


def _lines(name: str) -> list[str]:
    return (DEBIAN / name).read_text().splitlines()


def _words(row: list[str]) -> list[tuple[str, str]]:
    fields = row[4 : 4 + 2 * int(row[3], 16)]
    return [(w.split("(")[0].lower(), f"{int(i, 16):02d}") for w, i in zip(fields[::2], fields[1::2], strict=True)]


@pytest.mark.system
def test_every_sense_of_wordnet_is_accepted(wordnet: Lexicon) -> None:
    """206,949 keys are in the data files (UPSTREAM.md 1.4), eight more than in index.sense, and all pass."""
    keys = {key: (lemma, pos) for key, lemma, pos in _data_keys()}
    assert len(keys) == 206_949
    indexed = {line.split(" ")[0] for line in _lines("index.sense")}
    assert len(indexed) == 206_941
    assert indexed < keys.keys()
    assert {key.split("%")[0] for key in keys.keys() - indexed} == {"earth", "sun", "moon", "kb", "ddc", "ddi"}
    assert [key for key, (lemma, pos) in keys.items() if wordnet.check(key, lemma=lemma, pos=pos)] == []


@pytest.mark.system
@pytest.mark.parametrize(
    ("published", "person"), [("arabic", "arab"), ("finnish", "finn"), ("polish", "pole"), ("swedish", "swede")]
)
def test_four_published_keys_do_not_exist(wordnet: Lexicon, published: str, person: str) -> None:
    """The persons' senses belong to other lemmas (UPSTREAM.md 1.4), which are accepted."""
    (problem,) = wordnet.check(f"{published}%1:18:00::", lemma=published, pos="noun")
    assert problem.kind == "missing"
    assert f"{published}%1:10:00::" in problem.hint
    assert wordnet.check(f"{person}%1:18:00::", lemma=person, pos="noun") == ()
    (problem,) = wordnet.check(f"{person}%1:18:00::", lemma=published, pos="noun")
    assert problem.kind == "lemma"


@pytest.mark.system
def test_black_is_an_adjective(wordnet: Lexicon) -> None:
    """The keys of the paper are adjectives, and satellites are adjectives too."""
    for key in ("black%3:00:02::", "black%3:00:01::", "black%5:00:00:dark:01"):
        assert wordnet.check(key, lemma="Black", pos="adjective") == ()
    (problem,) = wordnet.check("black%3:00:02::", lemma="black", pos="noun")
    assert problem.kind == "pos"
    assert wordnet.gloss("judge%2:31:02::") == "determine the result of (a competition)"


@pytest.mark.system
def test_plain_nltk_opens_the_prepared_folder(home: Path) -> None:
    """NLTK alone, told of the folder by its own variable, reads the version and, by lexnames, a synset's file."""
    code = "from nltk.corpus import wordnet as w; print(w.get_version(), w.synset('dog.n.01').lexname())"
    reason = subprocess.check_output(
        [sys.executable, "-c", code], env={**os.environ, "NLTK_DATA": str(home)}, text=True
    )
    assert reason.split() == ["3.0", "noun.animal"]
