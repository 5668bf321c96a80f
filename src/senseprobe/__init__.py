"""Build, annotate, freeze and publish datasets that measure social bias in language models, and score models on them.

The names below are the public API (docs/api.md); each is loaded when it is first used, so that `import senseprobe` is
light. Rooms that can be missing have some of them: only these are gone then.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from senseprobe.annotation.agreement_figures import Agreement
    from senseprobe.annotation.decisions import Adjudication
    from senseprobe.api import annotation as annotate
    from senseprobe.api.author import count, init, lint, new, preview
    from senseprobe.api.building import build, restore, verify
    from senseprobe.api.hub import publish, pull
    from senseprobe.api.imports import import_project, import_release
    from senseprobe.api.metrics import metrics
    from senseprobe.api.models import model, vectors
    from senseprobe.api.packages import fetch
    from senseprobe.api.releases import build_shard, diff, join, load
    from senseprobe.api.results import Comparison, compare, gate, load_result, report
    from senseprobe.api.results import slice_result as slice  # noqa: A004 - the name of the command
    from senseprobe.api.scoring import plant, replay, score
    from senseprobe.api.scoring_jobs import draft
    from senseprobe.errors import (
        AnnotationError,
        DamagedRelease,
        DeclarationError,
        LexiconError,
        ModelError,
        ReleaseError,
        ResultError,
        SenseprobeError,
    )
    from senseprobe.evaluate.exports.api import export
    from senseprobe.evaluate.result import Result
    from senseprobe.evaluate.served.api import server
    from senseprobe.records import Design, Figure, Finding
    from senseprobe.release.changelog import ReleaseDiff as Diff
    from senseprobe.release.release import Release

    __version__: str

__all__ = [
    "Adjudication",
    "Agreement",
    "AnnotationError",
    "Comparison",
    "DamagedRelease",
    "DeclarationError",
    "Design",
    "Diff",
    "Figure",
    "Finding",
    "LexiconError",
    "ModelError",
    "Release",
    "ReleaseError",
    "Result",
    "ResultError",
    "SenseprobeError",
    "__version__",
    "annotate",
    "build",
    "build_shard",
    "compare",
    "count",
    "diff",
    "draft",
    "export",
    "fetch",
    "gate",
    "import_project",
    "import_release",
    "init",
    "join",
    "lint",
    "load",
    "load_result",
    "metrics",
    "model",
    "new",
    "plant",
    "preview",
    "publish",
    "pull",
    "replay",
    "report",
    "restore",
    "score",
    "server",
    "slice",
    "vectors",
    "verify",
]

_HOMES = {
    "annotation.decisions": ("Adjudication",),
    "annotation.agreement_figures": ("Agreement",),
    "api.author": ("count", "init", "lint", "new", "preview"),
    "api.models": ("model", "vectors"),
    "api.hub": ("publish", "pull"),
    "api.imports": ("import_project", "import_release"),
    "api.building": ("build", "restore", "verify"),
    "api.releases": ("build_shard", "diff", "join", "load"),
    "api.metrics": ("metrics",),
    "api.packages": ("fetch",),
    "api.results": ("Comparison", "compare", "gate", "load_result", "report"),
    "api.scoring": ("plant", "replay", "score"),
    "api.scoring_jobs": ("draft",),
    "evaluate.exports.api": ("export",),
    "evaluate.served.api": ("server",),
    "evaluate.result": ("Result",),
    "records": ("Design", "Figure", "Finding"),
    "release.release": ("Release",),
}
_MODULES = {name: module for module, names in _HOMES.items() for name in names}
_RENAMED = {
    "Diff": ("release.changelog", "ReleaseDiff"),
    "slice": ("api.results", "slice_result"),
}


def __getattr__(name: str) -> Any:  # noqa: ANN401 - any public name
    if name not in __all__:
        raise AttributeError(f"module 'senseprobe' has no attribute {name!r}")
    if name == "__version__":
        from importlib.metadata import version

        return version("senseprobe")
    module, attribute = _RENAMED.get(name, (_MODULES.get(name, "errors"), name))
    if name == "annotate":
        return import_module("senseprobe.api.annotation")
    try:
        return getattr(import_module(f"senseprobe.{module}"), attribute)
    except ModuleNotFoundError as error:
        if not (error.name or "").startswith("senseprobe."):
            raise
        raise AttributeError(f"this installation of senseprobe has no {name}: {error.name} is missing") from None


def __dir__() -> list[str]:
    return sorted(__all__)
