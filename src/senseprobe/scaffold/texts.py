"""The files of `files/`, with their places filled in."""

from importlib.resources import files
from string import Template

_FILES = files("senseprobe") / "scaffold" / "files"


def shipped(path: str) -> str:
    """A file as it is shipped."""
    return _FILES.joinpath(path).read_text(encoding="utf-8")


def fill(path: str, **values: object) -> str:
    """A file whose ``$name`` are replaced, every one of them; ``$$`` is a dollar sign."""
    return Template(shipped(path)).substitute({name: str(value) for name, value in values.items()})
