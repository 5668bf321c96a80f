"""New verdicts beside those that a dataset has already: of other releases, of readers' disputes."""

from collections.abc import Collection, Iterable, Mapping

from senseprobe.errors import DeclarationError
from senseprobe.records import Finding
from senseprobe.release.verdicts import Verdict
from senseprobe.wording import printable

__all__ = ["differing", "merged"]


def merged(
    there: Mapping[str, Verdict], new: Iterable[Verdict], decided: Collection[str], source: str, shown: str
) -> list[Verdict]:
    """The verdicts of a file after new ones were put to it, sorted by id.

    - `there`: what the file has, by id; `shown` is what messages call it.
    - `decided`: the rows that this project decided before: verdicts of the same `source` on them are replaced, also
      where nothing is decided of them any more. Those of other sources, and of other projects, stay.

    Raises DeclarationError, with every line, where one of those that stay says the opposite.
    """
    kept = {name: each for name, each in there.items() if each.source != source or name not in decided}
    findings = []
    for each in new:
        before = kept.setdefault(each.id, each)
        if before.verdict != each.verdict:
            findings.append(_conflict(before, each, shown))
    if findings:
        raise DeclarationError(findings)
    return sorted(kept.values(), key=lambda each: each.id)


def differing(before: Mapping[str, Verdict], after: Iterable[Verdict]) -> dict[str, int]:
    """How many verdicts are ``new``, ``turned`` round and ``gone`` between two states of a file."""
    now = {each.id: each.verdict for each in after}
    return {
        "new": len(now.keys() - before.keys()),
        "turned": sum(before[name].verdict != now[name] for name in now.keys() & before.keys()),
        "gone": len(before.keys() - now.keys()),
    }


def _conflict(before: Verdict, now: Verdict, shown: str) -> Finding:
    message = f"{printable(now.id)} is {before.verdict} by {before}; answers to {now.source} say {now.verdict} ({now})"
    hint = "nothing was written: remove the line if you stand by the new one"
    return Finding(path=shown, line=before.line, column=1, code="E202", message=message, hint=hint)
