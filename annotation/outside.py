"""What annotation writes is never put into a release, which is frozen."""

from pathlib import Path

from senseprobe.errors import AnnotationError
from senseprobe.release.manifest import NAME
from senseprobe.wording import printable


def check_outside(folder: Path) -> None:
    """AnnotationError where a folder, which need not be there, is a release or lies in one."""
    place = folder.absolute()
    for each in (place, *place.resolve().parents):
        if (each / NAME).exists():
            raise AnnotationError(
                f"{printable(str(each))} is a release, to which nothing is added: take another folder"
            )
