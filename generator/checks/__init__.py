"""The numbered checks of `senseprobe lint`: `docs/checks.md` says what each code means.

A check is a small function in a file of this folder, registered with its code; what reading and resolving find bears
the codes of `codes`. What cannot be checked (no WordNet on the machine) is counted as not checked, never as right.
"""

import pkgutil
from collections.abc import Iterable
from importlib import import_module
from pathlib import Path

from senseprobe.generator.checks.codes import page
from senseprobe.generator.checks.lint_report import Accepted, Memory, Report, joined
from senseprobe.generator.checks.runner import Run, Target, targets
from senseprobe.generator.dataset import open_word_lists
from senseprobe.project import Layer

__all__ = ["Accepted", "Report", "lint", "lint_paths", "page"]

for _module in pkgutil.iter_modules(__path__):
    import_module(f"{__name__}.{_module.name}")  # so that its checks register themselves


def lint_paths(paths: Iterable[Path]) -> Report:
    """Check what the paths name: projects, their templates or wordlists, datasets, templates, lists.

    Without any, the whole nearest layer. Raises SenseprobeError for a path that does not exist or is none of these.
    """
    return joined(lint(target) for target in targets(paths))


def lint(what: Target | Layer) -> Report:
    """Check the lists and datasets of a layer, or a part of them."""
    target = what if isinstance(what, Target) else Target(what)
    memory = Memory.load()
    report = Run(target, open_word_lists(target.layer), memory).report()
    memory.save()
    return report
