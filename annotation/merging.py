"""New verdicts beside those that a dataset has already: of other releases and projects, of readers' disputes."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from senseprobe.errors import DeclarationError
from senseprobe.records import Finding
from senseprobe.release.verdicts import Verdict
from senseprobe.wording import printable


@dataclass(frozen=True, slots=True)
class Merged:
    """A file's verdicts, sorted by id; of which rows they are this project's (`put`), and of which not (`others`)."""

    verdicts: tuple[Verdict, ...]
    put: frozenset[str]
    others: frozenset[str]


def merged(there: Mapping[str, Verdict], new: Iterable[Verdict], own: Mapping[str, Verdict], shown: str) -> Merged:
    """The verdicts of a file after new ones were put to it.

    - `there`: what the file has, by id; `shown` is what messages call it.
    - `own`: what this project put there before, by id: it is replaced, also where nothing is decided of a row any more.
      What somebody else put there, or changed by hand, stays.

    Raises DeclarationError, with every line, where one of those that stay says the opposite.
    """
    kept = {name: each for name, each in there.items() if name not in own or own[name].as_written != each}
    others, findings = frozenset(kept), []
    for each in new:
        before = kept.setdefault(each.id, each)
        if before.verdict != each.verdict:
            findings.append(_conflict(before, each, shown))
    if findings:
        raise DeclarationError(findings)
    verdicts = tuple(sorted(kept.values(), key=lambda each: each.id))
    return Merged(verdicts, frozenset(kept) - others, others)


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
