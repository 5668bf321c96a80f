"""Word lists: what a dataset sees, and that no file, however broken, is more than a finding."""

import json
import shutil
import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.profiles import examples

from senseprobe import api
from senseprobe.errors import DeclarationError, ReleaseError
from senseprobe.generator import yaml_source
from senseprobe.generator.dataset import open_dataset, open_word_lists
from senseprobe.generator.recipe import open_recipe, recipe_files
from senseprobe.generator.word_lists import WordLists, slug
from senseprobe.project import Layer, built_in, find_dataset, layers, user_layer

BASE = Path(__file__).parents[1] / "checks" / "base"


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A user's project, as the working directory."""
    shutil.copytree(BASE, tmp_path / "project")
    monkeypatch.chdir(tmp_path / "project")
    return tmp_path / "project"


def _add_list(project: Path, name: str, text: str, path: str = "") -> None:
    fields = [{"name": column} for column in text.partition("\n")[0].split(",")]
    file = path or f"{name}.csv"
    resource = {
        "name": name,
        "path": file,
        "sources": [],
        "licenses": [],
        "schema": {"fields": fields},
    }
    with (project / "wordlists" / "datapackage.yaml").open("a") as descriptor:
        descriptor.write(f"  - {json.dumps(resource)}\n")
    (project / "wordlists" / file).write_text(text)


def _rows_of_x() -> list[dict[str, object]]:
    found = api.open_catalogue("x")
    return [row for batch in found.rows(found.configs[0]) for row in batch.to_pylist()]


# --- layers ---------------------------------------------------------------------------------------------------------


def test_a_users_dataset_and_lists_are_found_from_a_folder_below(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The nearest parent with senseprobe.toml; the built-in data is behind it."""
    (project / "notes" / "deep").mkdir(parents=True)
    monkeypatch.chdir(project / "notes" / "deep")
    assert user_layer() == Layer(project)
    assert [layer.root for layer in layers()] == [project, built_in().root]
    assert find_dataset("x") == Layer(project)
    assert find_dataset("sssb") == built_in()
    assert [row["stereo"] for row in _rows_of_x()] == ["The dog is tame.", "The guinea pig is wild."]


def test_a_dataset_sees_its_own_layers_lists_first_and_then_the_built_in_ones(project: Path) -> None:
    """A list of the same name hides the built-in one; any other built-in list is there."""
    _add_list(project, "attributes", "word,polarity\nzany,pleasant\n")
    lists = open_word_lists(Layer(project))
    attributes, pronouns = lists.get("attributes"), lists.get("pronouns")
    assert attributes
    assert pronouns
    assert [str(word) for word in attributes.words] == ["zany"]
    assert [str(word) for word in pronouns.words] == ["he", "she", "they"]
    assert {"things", "occupations"} <= set(lists.names())
    assert lists.get("nothing") is None


# Takes long: sssb is built twice.
def test_a_built_in_dataset_never_sees_a_users_list(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A build of sssb has the content that it has outside the project, to the last row: it is built twice."""
    _add_list(project, "attributes", "word,domain,polarity\nzany,person,pleasant\nbad,person,unpleasant\n")
    assert find_dataset("sssb") == built_in()
    inside = api.build("sssb", "1.0.0", project.parent / "inside")
    monkeypatch.chdir(project.parent)
    assert user_layer() is None
    outside = api.build("sssb", "1.0.0", project.parent / "outside")
    assert inside.manifest.content == outside.manifest.content


def test_the_checkouts_own_project_is_one_layer(monkeypatch: pytest.MonkeyPatch) -> None:
    """Project and package are the same files there, compared by real path."""
    monkeypatch.chdir(BASE.parents[2])
    assert len(layers()) == 1


def test_a_recipe_refuses_two_lists_in_files_of_one_name(project: Path) -> None:
    """A user's list and a built-in one may be in files of the same name, which one folder cannot hold."""
    _add_list(project, "moods", "word,face\ncalm,straight\n", path="pronouns.csv")
    template = project / "templates" / "x" / "x.j2"
    text = template.read_text().replace("{list: qualities, word: wild}", "{list: moods, word: calm}")
    template.write_text(text.replace("{list: qualities, word: tame}", "{list: pronouns, word: she}"))
    catalogue = api.open_catalogue("x")
    assert next(catalogue.rows(catalogue.configs[0])).column("stereo").to_pylist()[0] == "The dog is she."
    with pytest.raises(ReleaseError, match=r"two lists of x are in files named pronouns\.csv"):
        recipe_files(catalogue)


def test_a_recipe_makes_the_same_rows(project: Path, tmp_path: Path) -> None:
    """From lists of both layers."""
    template = project / "templates" / "x" / "x.j2"
    template.write_text(template.read_text().replace("{list: qualities, word: tame}", "{list: pronouns, word: she}"))
    catalogue = api.open_catalogue("x")
    rows = list(catalogue.rows(catalogue.configs[0]))
    for path, data in recipe_files(catalogue).items():
        (tmp_path / "recipe" / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "recipe" / path).write_bytes(data)
    again = open_recipe(tmp_path / "recipe", "x")
    assert list(again.rows(again.configs[0])) == rows


# --- files ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("ends", ["\r\n", "\r"])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_line_ends_and_byte_order_marks_do_not_matter(project: Path, ends: str, mark: str) -> None:
    """Files that were saved on Windows make the same rows."""
    before = _rows_of_x()
    for path in [path for path in project.rglob("*") if path.is_file()]:
        path.write_bytes((mark + path.read_text().replace("\n", ends)).encode())
    assert _rows_of_x() == before


@pytest.mark.parametrize(
    ("word", "expected"),
    [("good looking", "good-looking"), ("X-ray", "x-ray"), ("Ürümqi", "ürümqi"), ("8th (two)", "8th-two"), ("?!", "")],
)
def test_a_slug_is_lower_case_letters_and_digits(word: str, expected: str) -> None:
    """DESIGN section 3: `noun.4f2a91.engineer.clumsy`."""
    assert slug(word) == expected


def test_a_lists_own_slugs_are_used_and_have_no_dots(project: Path) -> None:
    """A dot stands between the words of an id, so two rows could have one."""
    _add_list(project, "own", "word,slug\nC++,cpp\nC,c\n")
    own = open_word_lists(Layer(project)).get("own")
    assert own
    assert [word.slug for word in own.words] == ["cpp", "c"]
    (project / "wordlists" / "own.csv").write_text("word,slug\nC++,c.pp\n")
    with pytest.raises(DeclarationError, match=r"own\.csv:2:5: E203 slug is 'c\.pp'"):
        open_word_lists(Layer(project)).get("own")


@pytest.mark.parametrize(
    ("kind", "cell"),
    [
        *(("integer", cell) for cell in ("1_000", "\u0663", "1.5")),  # the second is an Arabic three
        *(("number", cell) for cell in ("nan", "inf", "1_0.5")),
    ],
)
def test_numbers_are_written_as_in_tables(project: Path, kind: str, cell: str) -> None:
    """Python takes more for a number than Frictionless does; 1_000 would print as 1000."""
    _add_list(project, "own", "word,size\na,2\n")
    descriptor = project / "wordlists" / "datapackage.yaml"
    text = descriptor.read_text()
    at = text.index("own.csv")
    descriptor.write_text(text[:at] + text[at:].replace('"name": "size"', f'"name": "size", "type": "{kind}"'))
    (project / "wordlists" / "own.csv").write_text(f"word,size\na,{cell}\n")
    with pytest.raises(DeclarationError, match=r"own\.csv:2:3: E203 size is"):
        open_word_lists(Layer(project)).get("own")


def test_a_row_without_a_word_is_told(project: Path) -> None:
    """It would vanish from every product."""
    _add_list(project, "own", "word,slug\na,a\n,b\n")
    with pytest.raises(DeclarationError, match=r"own\.csv:3:1: E203 word is empty"):
        open_word_lists(Layer(project)).get("own")


def test_a_descriptor_cannot_name_files_of_other_folders(project: Path) -> None:
    """Relative, absolute, or by a detour."""
    secret = project.parent / "secret.csv"
    secret.write_text("word\npassword\n")
    for path in ("../secret.csv", str(secret), "..", "a/../../secret.csv"):
        descriptor = project / "wordlists" / "datapackage.yaml"
        descriptor.write_text((BASE / "wordlists" / "datapackage.yaml").read_text().replace("things.csv", path))
        with pytest.raises(DeclarationError, match=r"datapackage\.yaml:4:5: E201 resources\.0\.path"):
            open_word_lists(Layer(project)).get("things")


# --- hostile files --------------------------------------------------------------------------------------------------

LAUGHS = "a0: &a0 [lol, lol]\n" + "".join(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]\n" for n in range(1, 12))
HOSTILE = [
    LAUGHS,
    "a: &a [*a]\n",
    "<<: *b\n",
    "a: " + "[" * 2_000,
    "a: " + "{a: " * 1_000,
    "- " * 1_000,
    "a: " + "9" * 10_000,
    "a: 0x" + "f" * 10_000,
    "a: 1e999999",
    "a: !!python/object/apply:os.system [ls]",
    "a: !!binary x",
    "a: 2024-99-99",
    "? [a, b]\n: c",
    "1: 2\n",
    "~: 1\n",
    "true: 1\n",
    "a: 1\na: 2\n",
    'a: "\\ud800"',
    'a: "\\0"',
    "\x00",
    "a: \x07",
    "%YAML 9.9\n---\n",
    "a: |9\n",
    "--- a\n--- b\n",
    "&a a: 1\n",
    "<<: {kind: 1}\n",
    "<<: 3\n",
    "a: =\n",
    "a: *",
    "a: &",
    "a: !",
    "\t",
    "\ufeff\ufeff",
    "\u2028",
    "\ud800",
    "{",
    "[",
    "'",
    '"',
    "`",
    "@",
    "a: b: c",
    ",,,,",
    "---\n" * 99,
    "{{ " + "(" * 3_000,
    "{{ " + "not " * 2_000 + "a }}",
    "{% if a %}" * 900,
    "{{ a " * 1_500,
    "{{ 9" + "9" * 5_000 + " }}",
]
FILES = ("templates/x/x.j2", "templates/x/dataset.yaml", "wordlists/datapackage.yaml", "wordlists/things.csv")


def _survives(file: str, data: bytes) -> None:
    """Read and expand the base project with one file of other bytes: rows, or findings that can be printed."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        shutil.copytree(BASE, folder, dirs_exist_ok=True)
        (folder / file).write_bytes(data)
        try:
            found = open_dataset(folder / "templates" / "x", WordLists((folder / "wordlists",)))
            for config in found.configs:
                assert sum(batch.num_rows for batch in found.rows(config)) == config.size
            assert recipe_files(found)
            told = "rows"
        except DeclarationError as error:
            told = str(error)
    assert told.encode()


@pytest.mark.timeout(60)
@pytest.mark.parametrize("file", FILES)
# Takes long: every hostile text, twice.
def test_hostile_files_are_findings(file: str) -> None:
    """Nothing but DeclarationError, and soon: instead of a good file, and behind one."""
    good = (BASE / file).read_text()
    for hostile in HOSTILE:
        alone = f"---\n{hostile}\n---\n{hostile}\n" if file.endswith("j2") else hostile
        for text in (alone, f"{good}{hostile}"):
            _survives(file, text.encode("utf-8", "surrogatepass"))


TOKENS = (
    *" \n\n\n:-[]{}?&*!|>%@\"'#,~0",
    "---\n",
    "kind: contrast\n",
    "slots",
    "thing",
    "roles",
    "list: ",
    "word",
    "quality",
    "{{ ",
    " }}",
    "{% if ",
    "{% else %}",
    "{% endif %}",
    "{%- ",
    "{# ",
    " #}",
    "\\x1f",
    "| a",
    "| plural",
    ".size",
    " < ",
    " in ",
    "==",
    "not ",
    " if ",
    " else ",
    "none",
    "true",
    "1e9",
    "dog,3,true,\n",
    "\ud800",
    "\x00",
    "\ufeff",
    "\r\n",
    "ß",
)
TEXTS = st.lists(st.sampled_from(TOKENS), max_size=40).map("".join)


@st.composite
def broken(draw: st.DrawFn) -> tuple[str, bytes]:
    """A file of the base project, of other bytes or with some of its own replaced."""
    file = draw(st.sampled_from(FILES))
    good = (BASE / file).read_bytes()
    begin = draw(st.integers(0, len(good)))
    end = draw(st.integers(begin, min(len(good), begin + 40)))
    new = draw(st.one_of(st.binary(max_size=60), TEXTS.map(lambda text: text.encode("utf-8", "surrogatepass"))))
    return file, draw(st.sampled_from((new, good[:begin] + new + good[end:], good[:begin] + new)))


@settings(max_examples=examples(100), suppress_health_check=list(HealthCheck))
@given(broken())
def test_broken_files_are_findings(made: tuple[str, bytes]) -> None:
    """Whatever the bytes."""
    _survives(*made)


@pytest.mark.soak
@pytest.mark.timeout(1800)
@settings(max_examples=8_000, suppress_health_check=list(HealthCheck))
@given(broken())
def test_broken_files_are_findings_at_length(made: tuple[str, bytes]) -> None:
    """The same, for 8,000 files."""
    _survives(*made)


@settings(max_examples=examples(60), suppress_health_check=list(HealthCheck))
@given(TEXTS)
def test_broken_frames_are_findings(frame: str) -> None:
    """Behind good front matter, where they are compiled and rendered."""
    _survives("templates/x/x.j2", (BASE / "templates/x/x.j2").read_bytes() + frame.encode("utf-8", "surrogatepass"))


def test_a_file_that_is_too_large_is_not_read(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A declaration has a limit, and a folder is no file."""
    monkeypatch.setattr(yaml_source, "MAX_BYTES", 2**20)
    (project / "wordlists" / "things.csv").write_bytes(b"x" * (2**20 + 1))
    with pytest.raises(DeclarationError, match=r"things\.csv: E100 the file is larger than 1 MiB"):
        open_word_lists(Layer(project)).get("things")
    (project / "wordlists" / "things.csv").unlink()
    (project / "wordlists" / "things.csv").mkdir()
    with pytest.raises(DeclarationError, match=r"things\.csv: E100 is not a plain file"):
        open_word_lists(Layer(project)).get("things")
