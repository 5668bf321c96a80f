"""Pseudonyms: the same from pull to pull, told by nobody without the key, which is kept from git and from others."""

import hashlib
import hmac
import os
import stat
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from senseprobe.annotation.annotators import IGNORED, pseudonym, pseudonyms, read_secret
from senseprobe.errors import AnnotationError


def test_a_pseudonym_is_a_keyed_hash() -> None:
    """HMAC-SHA256 (RFC 2104), written out: H(K ^ opad, H(K ^ ipad, text))."""
    key = bytes(range(32))
    padded = key.ljust(64, b"\0")
    inner = hashlib.sha256(bytes(byte ^ 0x36 for byte in padded) + b"7").digest()
    outer = hashlib.sha256(bytes(byte ^ 0x5C for byte in padded) + inner).hexdigest()

    assert pseudonym(key, "7") == f"p-{outer[:12]}"
    assert pseudonym(key, "8") != pseudonym(key, "7") != pseudonym(bytes(32), "7")
    assert hmac.new(key, b"7", "sha256").hexdigest() == outer


def test_names_stay_from_pull_to_pull_and_differ_from_project_to_project(tmp_path: Path) -> None:
    first, again, other = (pseudonyms(tmp_path / name)("7") for name in ("a", "a", "b"))
    assert first == again != other


KEPT = [
    "secret",
    "exports/",
    "groups.csv",
    "answers.csv",
    "skipped.csv",
    "decisions.csv",
    "agreement.json",
    "report.html",
]
KEPT += [".*.partial-*"]


def test_the_key_is_for_its_owner_only_and_kept_from_git(tmp_path: Path) -> None:
    """Whatever the umask; `.gitignore` keeps what it had."""
    (tmp_path / ".gitignore").write_text("mine")
    before = os.umask(0)
    try:
        read_secret(tmp_path)
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "secret").stat().st_mode) == 0o600
    assert (tmp_path / ".gitignore").read_text() == "\n".join(["mine", *KEPT, ""])
    read_secret(tmp_path)
    assert (tmp_path / ".gitignore").read_text() == "\n".join(["mine", *KEPT, ""])
    assert sorted(path.name for path in tmp_path.iterdir()) == [".gitignore", "secret"]


def test_those_who_make_the_key_at_once_have_one(tmp_path: Path) -> None:
    (tmp_path / ".gitignore").write_text("".join(f"{name}\n" for name in IGNORED))
    with ThreadPoolExecutor(8) as pool:
        assert len({*pool.map(lambda _: read_secret(tmp_path), range(16))}) == 1


@pytest.mark.parametrize("raw", [b"", b"x" * 64, b"ab" * 31, b"ab" * 33, b"ab" * 32 + b"\nmore", b"\xff" * 64])
def test_what_is_no_key_is_refused(tmp_path: Path, raw: bytes) -> None:
    """A new one in its place would give everybody a new name."""
    (tmp_path / "secret").write_bytes(raw)
    (tmp_path / "secret").chmod(0o600)
    with pytest.raises(AnnotationError, match="secret is not a key"):
        read_secret(tmp_path)


def test_a_key_that_others_may_read_is_refused(tmp_path: Path) -> None:
    read_secret(tmp_path)
    (tmp_path / "secret").chmod(0o644)
    with pytest.raises(AnnotationError, match="chmod 600"):
        read_secret(tmp_path)


def test_a_key_behind_a_link_is_refused(tmp_path: Path) -> None:
    (tmp_path / "secret").symlink_to("/dev/zero")
    with pytest.raises(AnnotationError, match="is not a plain file"):
        read_secret(tmp_path)


def test_what_is_being_written_is_kept_from_git(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The list is there before the key is: whoever commits after a kill commits neither half of a key nor answers."""

    def dies(path: Path) -> None:
        assert (path.parent / ".gitignore").read_text().splitlines() == KEPT
        raise KeyboardInterrupt

    monkeypatch.setattr("senseprobe.annotation.annotators._make", dies)
    with pytest.raises(KeyboardInterrupt):
        pseudonyms(tmp_path / "project")
    subprocess.run(["git", "init", "-q", tmp_path], check=True)
    for name in (".secret.partial-1", ".answers.csv.partial-a-1", "exports/0001-a.json"):
        (tmp_path / "project" / name).parent.mkdir(exist_ok=True)
        (tmp_path / "project" / name).touch()
    told = subprocess.run(
        ["git", "-C", tmp_path, "status", "--short", "-uall"], capture_output=True, text=True, check=True
    ).stdout
    assert told.split() == ["??", "project/.gitignore"]
