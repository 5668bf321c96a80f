"""One annotation of a row by each person: the last that they submitted."""

from collections.abc import Iterable

from senseprobe.annotation.records import Annotation


def latest(annotations: Iterable[Annotation]) -> tuple[list[Annotation], list[Annotation]]:
    """The last annotation of each row by each person, sorted by row and person; and those that are not the last.

    One that was submitted counts before one that was skipped, whenever that was; then the one that was changed last.
    """
    kept: dict[tuple[str, str], Annotation] = {}
    dropped = []
    for each in sorted(annotations, key=_order):
        place = each.row, each.annotator
        if place in kept:
            dropped.append(kept[place])
        kept[place] = each
    return [kept[place] for place in sorted(kept)], dropped


def _order(annotation: Annotation) -> tuple[bool, str, int, str]:
    told = annotation.updated or annotation.created
    return annotation.status == "submitted", told, len(annotation.id), annotation.id
