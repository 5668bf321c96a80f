"""The licence of a release: the most restrictive of those of all that its rows are made of, where they can be one."""

from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from itertools import combinations, islice, product
from typing import Any

from senseprobe.errors import ReleaseError
from senseprobe.messages import printable

MAX_CHOICES = 1_000
"""Ways to choose one licence of each `OR`; more than these are a mistake."""

_ATTRIBUTION, _NONCOMMERCIAL, _ALIKE, _BOTH, _NO_CHANGE = "attribution", "noncommercial", "alike", "both", "no change"

_KNOWN: Mapping[str, tuple[str, str]] = {
    "CC0-1.0": ("cc0-1.0", _ATTRIBUTION),
    "PDDL-1.0": ("pddl", _ATTRIBUTION),
    "Unlicense": ("unlicense", _ATTRIBUTION),
    "MIT": ("mit", _ATTRIBUTION),
    "ISC": ("isc", _ATTRIBUTION),
    "BSD-2-Clause": ("bsd-2-clause", _ATTRIBUTION),
    "BSD-3-Clause": ("bsd-3-clause", _ATTRIBUTION),
    "Apache-2.0": ("apache-2.0", _ATTRIBUTION),
    "CDLA-Permissive-2.0": ("cdla-permissive-2.0", _ATTRIBUTION),
    "CDLA-Permissive-1.0": ("cdla-permissive-1.0", _ATTRIBUTION),
    "ODC-By-1.0": ("odc-by", _ATTRIBUTION),
    "CC-BY-2.0": ("cc-by-2.0", _ATTRIBUTION),
    "CC-BY-3.0": ("cc-by-3.0", _ATTRIBUTION),
    "CC-BY-4.0": ("cc-by-4.0", _ATTRIBUTION),
    "CDLA-Sharing-1.0": ("cdla-sharing-1.0", _ALIKE),
    "ODbL-1.0": ("odbl", _ALIKE),
    "CC-BY-SA-3.0": ("cc-by-sa-3.0", _ALIKE),
    "CC-BY-SA-4.0": ("cc-by-sa-4.0", _ALIKE),
    "CC-BY-NC-2.0": ("cc-by-nc-2.0", _NONCOMMERCIAL),
    "CC-BY-NC-3.0": ("cc-by-nc-3.0", _NONCOMMERCIAL),
    "CC-BY-NC-4.0": ("cc-by-nc-4.0", _NONCOMMERCIAL),
    "CC-BY-NC-SA-3.0": ("cc-by-nc-sa-3.0", _BOTH),
    "CC-BY-NC-SA-4.0": ("cc-by-nc-sa-4.0", _BOTH),
    "CC-BY-ND-4.0": ("cc-by-nd-4.0", _NO_CHANGE),
    "CC-BY-NC-ND-3.0": ("cc-by-nc-nd-3.0", _NO_CHANGE),
    "CC-BY-NC-ND-4.0": ("cc-by-nc-nd-4.0", _NO_CHANGE),
}
"""SPDX identifiers of licences of data, from the least to the most restrictive; the Hub's name, and what is asked."""

_LATER = {"CC-BY-SA-3.0": "CC-BY-SA-4.0", "CC-BY-NC-SA-3.0": "CC-BY-NC-SA-4.0"}
"""Share-alike licences that allow what is made of them to bear a later version."""


_NO_LICENCE = {"", "none", "noassertion", "unknown", "unlicensed", "null"}


def declared_licence(licence: object) -> str:
    """The licence that a card declares; empty where it has none, or a word that says so."""
    text = licence.strip() if isinstance(licence, str) else ""
    return "" if text.lower() in _NO_LICENCE else text


def hub_name(licence: str) -> str:
    """The Hub's name of a licence: ``other`` where it has none, ``unknown`` where there is no licence."""
    return _KNOWN[licence][0] if licence in _KNOWN else "other" if licence else "unknown"


def spdx_url(licence: str) -> str:
    """Where the text of a licence can be read; empty where the licence is no single SPDX identifier."""
    return f"https://spdx.org/licenses/{licence}.html" if licence in _KNOWN or _is_spdx(licence) else ""


def _is_spdx(licence: str) -> bool:
    return licence in _spdx().known_symbols and not licence.startswith("LicenseRef-")


@cache
def alternatives(expression: str) -> tuple[frozenset[str], ...]:
    """The ways to meet an SPDX expression, each as identifiers that all apply.

    Ways that forbid changed versions are left out: sentences made of words are one. Raises ReleaseError where none is
    left, and where it is no expression of SPDX identifiers.
    """
    found = {frozenset({expression})} if expression in _KNOWN else _parsed(expression)
    usable = tuple(way for way in sorted(found, key=sorted) if not any(_asks(name) == _NO_CHANGE for name in way))
    if not usable:
        raise ReleaseError(f"{expression} forbids changed versions, and a release is one")
    return usable


def _parsed(expression: str) -> set[frozenset[str]]:
    from license_expression import ExpressionError

    # A LicenseRef says nothing of what is allowed.
    text = "" if len(expression) > 300 or "licenseref-" in expression.lower() else expression
    try:
        whole = _spdx().parse(text, validate=True, strict=True)
    except (ExpressionError, RecursionError, IndexError):  # the last for "()"
        whole = None
    if whole is None:
        message = f"{printable(expression[:80])!r} is no SPDX licence expression, as CC-BY-4.0 or MIT OR Apache-2.0"
        raise ReleaseError(f"{message} (https://spdx.org/licenses)")
    return _ways(whole)


def _ways(node: Any) -> set[frozenset[str]]:  # noqa: ANN401 - license_expression has no types
    """The ways to meet a parsed expression; ReleaseError where there are more than anybody means."""
    parts = [_ways(part) for part in node.args]
    if not parts:
        return {frozenset({node.render()})}
    if type(node).__name__ == "OR":
        return set().union(*parts)
    found = {frozenset[str]()}
    for ways in parts:
        found = {one | other for one in found for other in ways}
        if len(found) > MAX_CHOICES:
            raise ReleaseError(f"a licence expression with more than {MAX_CHOICES} alternatives")
    return found


@cache
def _spdx() -> Any:  # noqa: ANN401 - license_expression has no types
    from license_expression import get_spdx_licensing

    return get_spdx_licensing()


def combine_licences(licences: Mapping[str, str]) -> str:
    """The licence of what is made of parts under these; `licences` maps the name of a part to its SPDX expression.

    Of several licences it is the most restrictive. Raises ReleaseError, naming the parts, where one licence cannot
    cover them all: share-alike ones that differ, share-alike with non-commercial, and what senseprobe does not know.
    """
    texts = [*dict.fromkeys(licences.values())]
    if found := _found(texts):
        return min(found, key=_rank)
    at_odds = next((pair for pair in combinations(texts, 2) if not _found(pair)), texts)
    told = " and ".join(f"{text} ({_few(name for name in licences if licences[name] == text)})" for text in at_odds)
    raise ReleaseError(f"{told} cannot be combined in one release: leave one of them out")


def _found(texts: Sequence[str]) -> list[str]:
    """The licences that could cover all of these."""
    choices = islice(product(*map(alternatives, texts)), MAX_CHOICES)
    return [licence for choice in choices if (licence := _covering(frozenset().union(*choice)))]


def _covering(names: frozenset[str]) -> str | None:
    """The one licence that meets all of these; None where none does."""
    names = frozenset(_LATER.get(name, name) if _LATER.get(name) in names else name for name in names)
    if len(names) == 1 or not names:
        return next(iter(names), None)
    if not names <= {*_KNOWN}:
        return None
    alike = {name for name in names if _asks(name) in (_ALIKE, _BOTH)}
    noncommercial = any(_asks(name) == _NONCOMMERCIAL for name in names)
    if len(alike) > 1 or (noncommercial and any(_asks(name) == _ALIKE for name in alike)):
        return None
    return max(names, key=_rank)


def _asks(name: str) -> str:
    if name in _KNOWN:
        return _KNOWN[name][1]
    return _NO_CHANGE if "ND" in name.split("-") else ""  # every NoDerivatives licence of every version and country


def _rank(name: str) -> int:
    return [*_KNOWN].index(name) if name in _KNOWN else len(_KNOWN)


def _few(names: Iterable[str]) -> str:
    listed = [*names]
    return ", ".join(listed[:5]) + (f" and {len(listed) - 5} more" if len(listed) > 5 else "")
