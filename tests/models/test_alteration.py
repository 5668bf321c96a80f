"""The record of what was removed from a model's vectors, of models in folders, on the Hub and of plug-ins."""

from pathlib import Path

import pytest

from senseprobe.evaluate.models import registry
from senseprobe.evaluate.models.alteration import MAP, RECORD


def test_a_record_on_the_hub_is_of_the_models_commit(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """From the cache, or the Hub; without the Hub, or the file, the model is an ordinary one."""
    from senseprobe.evaluate.models import checkpoint

    (tmp_path / RECORD).write_text("{}", encoding="utf-8")
    requested: list[tuple[str, str, str | None]] = []
    answers: list[object] = [tmp_path / RECORD, tmp_path / MAP, OSError("offline")]

    def download(name: str, file: str, revision: str | None) -> str:
        requested.append((name, file, revision))
        answer = answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return str(answer)

    monkeypatch.setattr(checkpoint, "hf_hub_download", download)
    monkeypatch.setattr(checkpoint, "try_to_load_from_cache", lambda *_, **__: None)
    assert registry._folder_of("jane/model@main", "abc") == tmp_path
    assert registry._folder_of("jane/model", "abc") is None
    assert requested == [("jane/model", name, "abc") for name in (RECORD, MAP, RECORD)]

    monkeypatch.setattr(checkpoint, "try_to_load_from_cache", lambda *_, **__: str(tmp_path / RECORD))
    assert registry._folder_of("jane/model", "abc") == tmp_path
    monkeypatch.setattr(checkpoint, "try_to_load_from_cache", lambda *_, **__: object())  # a mark: there is none
    assert registry._folder_of("jane/model", "abc") is None
    assert len(requested) == 3


def test_a_folder_needs_no_hub(tmp_path: Path) -> None:
    """Nor does the model of a plug-in, which is called as it likes."""
    assert registry._folder_of(str(tmp_path), None) == tmp_path
    assert registry._folder_of("odd:model", None) is None
