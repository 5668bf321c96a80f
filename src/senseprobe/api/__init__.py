"""What researchers call from notebooks; also the place where rooms that may not import each other work together."""

from senseprobe.api.releases import (
    build,
    build_shard,
    diff,
    import_release,
    join,
    load,
    open_catalogue,
    publish,
    pull,
    restore,
    verified,
    verify,
)
from senseprobe.api.scoring import plant, replay, score

__all__ = [
    "build",
    "build_shard",
    "diff",
    "import_release",
    "join",
    "load",
    "open_catalogue",
    "plant",
    "publish",
    "pull",
    "replay",
    "restore",
    "score",
    "verified",
    "verify",
]
