"""The licence of a release: the most restrictive of those of all that its rows are made of, where they can be one."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import cache
from itertools import combinations, islice, product
from typing import Any

from senseprobe.errors import ReleaseError
from senseprobe.messages import listed, printable

MAX_CHOICES = 1_000
"""The most ways to choose one licence of each `OR`; an expression with more of them is a mistake."""

_ATTRIBUTION, _NONCOMMERCIAL, _ALIKE, _BOTH, _NO_CHANGE = "attribution", "noncommercial", "alike", "both", "no change"

_LICENCES: Mapping[str, tuple[str, str]] = {
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
"""SPDX identifiers of licences of data, from the least to the most restrictive; the Hub's name, and the condition."""

_LATER = {"CC-BY-SA-3.0": "CC-BY-SA-4.0", "CC-BY-NC-SA-3.0": "CC-BY-NC-SA-4.0"}
"""Share-alike licences that allow derived works to bear a later version."""

_NO_LICENCE = {"", "none", "noassertion", "unknown", "unlicensed", "null"}


def declared_licence(licence: object) -> str:
    """Return the licence that a card declares; empty where it has none, or a word that says so.

    >>> declared_licence("MIT"), declared_licence("unknown"), declared_licence(None)
    ('MIT', '', '')
    """
    text = licence.strip() if isinstance(licence, str) else ""
    return "" if text.lower() in _NO_LICENCE else text


def hub_name(licence: str) -> str:
    """Return the Hub's name of a licence: ``other`` where it has none, ``unknown`` where there is no licence.

    >>> hub_name("CC-BY-4.0"), hub_name("MIT AND ISC"), hub_name("")
    ('cc-by-4.0', 'other', 'unknown')
    """
    return _LICENCES[licence][0] if licence in _LICENCES else "other" if licence else "unknown"


def spdx_url(licence: str) -> str:
    """Return the URL of a licence's text; empty where the licence is not a single SPDX identifier.

    >>> spdx_url("CC-BY-4.0"), spdx_url("MIT AND ISC")
    ('https://spdx.org/licenses/CC-BY-4.0.html', '')
    """
    # The library is slow to load.
    is_spdx = licence in _LICENCES or (not licence.startswith("LicenseRef-") and licence in _spdx().known_symbols)
    return f"https://spdx.org/licenses/{licence}.html" if is_spdx else ""


@cache
def alternatives(expression: str) -> tuple[frozenset[str], ...]:
    """Return the ways to meet an SPDX expression, sets of identifiers that all apply, but for those without changes.

    Sentences made of words are changed versions. Raises ReleaseError where no way is left, and for any other text.

    >>> [sorted(names) for names in alternatives("(MIT OR CC-BY-4.0) AND CC0-1.0")]
    [['CC-BY-4.0', 'CC0-1.0'], ['CC0-1.0', 'MIT']]
    """
    choices = {frozenset({expression})} if expression in _LICENCES else _parse(expression)
    usable = tuple(
        names for names in sorted(choices, key=sorted) if not any(_condition(name) == _NO_CHANGE for name in names)
    )
    if not usable:
        raise ReleaseError(f"{expression} forbids modified versions such as a release")
    return usable


def _parse(expression: str) -> set[frozenset[str]]:
    from license_expression import ExpressionError

    # A LicenseRef says nothing of what is allowed.
    text = "" if len(expression) > 300 or "licenseref-" in expression.lower() else expression
    with suppress(ExpressionError, RecursionError, IndexError):  # the last for "()"
        if (whole := _spdx().parse(text, validate=True, strict=True)) is not None:
            return _choices(whole)
    message = f"{printable(expression[:80])!r} is not an SPDX licence expression such as CC-BY-4.0 or MIT OR Apache-2.0"
    raise ReleaseError(f"{message} (https://spdx.org/licenses)")


def _choices(node: Any) -> set[frozenset[str]]:  # noqa: ANN401 - license_expression has no types
    """Return the ways to meet a parsed expression; raise ReleaseError where there are more than MAX_CHOICES."""
    children = [_choices(child) for child in node.args]
    if not children:
        return {frozenset({node.render()})}
    if type(node).__name__ == "OR":
        return set().union(*children)
    combined = {frozenset[str]()}
    for choices in children:
        combined = {names | addition for names in combined for addition in choices}
        if len(combined) > MAX_CHOICES:
            raise ReleaseError(f"the licence expression has more than {MAX_CHOICES} alternatives")
    return combined


@cache
def _spdx() -> Any:  # noqa: ANN401 - license_expression has no types
    from license_expression import get_spdx_licensing

    return get_spdx_licensing()


def combine_licences(licences: Mapping[str, str]) -> str:
    """Return the licence of a work made of parts; `licences` maps the name of a part to its SPDX expression.

    Of several licences it is the most restrictive. Raises ReleaseError, naming the parts, where one licence cannot
    cover them all: share-alike ones that differ, share-alike with non-commercial, and what senseprobe does not know.

    >>> combine_licences({"the dataset": "CC-BY-4.0", "the list people": "CC-BY-SA-4.0"})
    'CC-BY-SA-4.0'
    """
    texts = [*dict.fromkeys(licences.values())]
    if candidates := _covering_licences(texts):
        return min(candidates, key=_rank)
    at_odds = next((pair for pair in combinations(texts, 2) if not _covering_licences(pair)), texts)
    names_by_text = {text: listed(name for name in licences if licences[name] == text) for text in at_odds}
    named = " and ".join(f"{text} ({names})" for text, names in names_by_text.items())
    raise ReleaseError(f"{named} cannot be combined in one release: remove one of them")


def _covering_licences(texts: Sequence[str]) -> list[str]:
    choices = islice(product(*map(alternatives, texts)), MAX_CHOICES)
    return [licence for choice in choices if (licence := _common_licence(frozenset().union(*choice)))]


def _common_licence(names: frozenset[str]) -> str | None:
    names = frozenset(_LATER.get(name, name) if _LATER.get(name) in names else name for name in names)
    if len(names) == 1 or not names:
        return next(iter(names), None)
    if not names <= {*_LICENCES}:
        return None
    conditions = [_condition(name) for name in names]
    alike = conditions.count(_ALIKE) + conditions.count(_BOTH)
    return None if alike > 1 or {_NONCOMMERCIAL, _ALIKE} <= {*conditions} else max(names, key=_rank)


def _condition(name: str) -> str:
    if name in _LICENCES:
        return _LICENCES[name][1]
    return _NO_CHANGE if "ND" in name.split("-") else ""  # every NoDerivatives licence of every version and country


def _rank(name: str) -> int:
    return [*_LICENCES].index(name) if name in _LICENCES else len(_LICENCES)
