"""The numbered checks of `senseprobe lint`: `docs/checks.md` has the meaning of each code.

A check is a function in a module of this folder, registered with its code; mistakes that reading and resolving run into
have the codes of `codes`. What cannot be checked, without WordNet, is counted as not checked, never as right.
"""

import pkgutil
from collections.abc import Iterable
from importlib import import_module
from pathlib import Path

from senseprobe.generator.checks.codes import page
from senseprobe.generator.checks.lint_report import Accepted, Report, join_reports
from senseprobe.generator.checks.runner import Run, Target, find_target
from senseprobe.generator.dataset import open_word_lists
from senseprobe.project import Layer, layers

__all__ = ["Accepted", "Report", "lint", "lint_paths", "page"]

for _module in pkgutil.iter_modules(__path__):
    import_module(f"{__name__}.{_module.name}")  # registers its checks


def lint_paths(paths: Iterable[Path]) -> Report:
    """Check projects, their templates or word lists, datasets, templates and lists, each named by its path.

    A dataset or a config may also be named as ``DATASET[/CONFIG]``, with the lists that it uses. Without paths, check
    the whole nearest layer. Raises SenseprobeError for a path that does not exist or that lint does not read.
    """
    targets = [find_target(path) for path in dict.fromkeys(paths)] or [Target(layers()[0])]
    return join_reports(lint(target) for target in targets)


def lint(what: Target | Layer) -> Report:
    """Check the lists and datasets of a layer, or a part of them."""
    target = what if isinstance(what, Target) else Target(what)
    return Run(target, open_word_lists(target.layer)).report()
