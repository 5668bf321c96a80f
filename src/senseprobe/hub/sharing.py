"""Whether a release may be given to others, as its card's licence says."""

from collections.abc import Mapping
from typing import Any

from senseprobe.errors import ReleaseError
from senseprobe.release.licences import alternatives

__all__ = ["why_not_shared"]

_NOT_DECLARED = {"", "none", "noassertion", "unknown", "unlicensed", "null"}


def why_not_shared(card: Mapping[str, Any]) -> str | None:
    """Why a release with this card may not be published; None where it may.

    It may under an SPDX licence that allows changed versions, as a release is one of what it was made from.
    """
    licence = card.get("license")
    if not isinstance(licence, str) or licence.strip().lower() in _NOT_DECLARED:
        return "it declares no licence"
    try:
        alternatives(licence.strip())
    except ReleaseError as error:
        return str(error)
    return None
