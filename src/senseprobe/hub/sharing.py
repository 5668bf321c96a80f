"""Whether a release may be given to others, as its card's licence says, and whether the Hub takes its files."""

from collections.abc import Iterable, Mapping
from typing import Any

from senseprobe.errors import ReleaseError
from senseprobe.release.licences import alternatives, declared
from senseprobe.release.verify import FOREIGN
from senseprobe.wording import printable

_KEPT = {*FOREIGN}
"""Names that git, the Hub and its clients keep for themselves, in every folder."""


def why_not_shared(card: Mapping[str, Any]) -> str | None:
    """Why a release with this card may not be published; None where it may.

    It may under an SPDX licence that allows changed versions, as a release is one of what it was made from.
    """
    licence = declared(card.get("license"))
    if not licence:
        return "it declares no licence"
    try:
        alternatives(licence)
    except ReleaseError as error:
        return str(error)
    return None


def why_not_taken(names: Iterable[str]) -> str | None:
    """Why the Hub would not take a file of such a name, or its clients not give it back; None where they do."""
    for name in names:
        if _KEPT & {*name.split("/")}:
            return f"{printable(name)} has a name that git or the Hub keeps for itself: call the file otherwise"
        if ":" in name:  # on Windows it ends the name of a drive
            return f"{printable(name)} has a colon in its name, which the Hub's clients refuse: call the file otherwise"
    return None
