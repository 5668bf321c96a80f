"""What an import is told beside its files: how the release is called, and under which licence the data are."""

import re

from senseprobe import project
from senseprobe.errors import ReleaseError, SenseprobeError
from senseprobe.release.form import VERSION
from senseprobe.release.licences import alternatives

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,99}")
_NOT_STATED = {"", "none", "noassertion", "unknown"}
MAX_LICENSE = 100


def check_name(name: str, version: str) -> None:
    """SenseprobeError where no import can be called so."""
    if not _NAME.fullmatch(name):
        raise SenseprobeError(f"{name!r} is no name of a release: expected letters, digits, hyphens and underscores")
    if not VERSION.fullmatch(version):
        raise SenseprobeError(f"{version!r} is no version: expected MAJOR.MINOR.PATCH, as 1.0.0")
    taken = {dataset.lower(): dataset for layer in project.layers() for dataset in layer.datasets()}
    if dataset := taken.get(name.lower()):
        raise SenseprobeError(
            f"{dataset!r} is a dataset of templates, whose releases an import would be taken for: take another name"
        )


def known_license(told: str | None) -> str | None:
    """The SPDX expression of a licence, None where none is stated; ReleaseError where it is no expression.

    One that forbids changed versions is taken: the release is for oneself then, and `publish` refuses it.
    """
    if told is None or told.strip().lower() in _NOT_STATED:
        return None
    if len(told) > MAX_LICENSE:
        raise ReleaseError(f"a licence of {len(told)} characters is no SPDX expression that senseprobe takes")
    text = told.strip()
    try:
        (way, *others) = alternatives(text)
    except ReleaseError as error:
        if not _is_expression(text):
            raise error from None
        return text
    (name, *more) = way
    return name if not others and not more and name.lower() == text.lower() else text


def _is_expression(text: str) -> bool:
    try:
        alternatives(f"{text} OR MIT")  # so there is a way that allows changes, whatever the text asks for
    except ReleaseError:
        return False
    return True
