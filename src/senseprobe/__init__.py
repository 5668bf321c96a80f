"""Build, annotate, freeze and publish datasets that measure social bias in language models, and score models on them.

The names below are the public API; each is loaded when it is first used, so that `import senseprobe` stays light.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from senseprobe.api import (
        build,
        diff,
        import_release,
        load,
        publish,
        pull,
        replay,
        restore,
        score,
        verify,
    )
    from senseprobe.errors import (
        DamagedRelease,
        DeclarationError,
        LexiconError,
        ModelError,
        ReleaseError,
        ResultError,
        SenseprobeError,
    )
    from senseprobe.records import Design, Figure, Finding

__all__ = [
    "DamagedRelease",
    "DeclarationError",
    "Design",
    "Figure",
    "Finding",
    "LexiconError",
    "ModelError",
    "ReleaseError",
    "ResultError",
    "SenseprobeError",
    "build",
    "diff",
    "import_release",
    "load",
    "publish",
    "pull",
    "replay",
    "restore",
    "score",
    "verify",
]

_API = ("build", "diff", "import_release", "load", "publish", "pull", "replay", "restore", "score", "verify")
_HOMES = dict.fromkeys(_API, "api")
_HOMES |= dict.fromkeys(("Design", "Figure", "Finding"), "records")


def __getattr__(name: str) -> Any:  # noqa: ANN401 - any public name
    if name not in __all__:
        raise AttributeError(f"module 'senseprobe' has no attribute {name!r}")
    return getattr(import_module(f"senseprobe.{_HOMES.get(name, 'errors')}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
