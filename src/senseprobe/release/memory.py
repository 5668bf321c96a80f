"""A cap on memory, for reading what others wrote: a small file can be made to unfold into more than there is."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Lock

_ONE_AT_A_TIME = Lock()
"""The limit is the whole process's: of two threads, the later would restore what the earlier had set."""


@contextmanager
def memory_cap(more: int) -> Iterator[None]:
    """Within the block this process gets at most `more` bytes beside those that it has; then there is a MemoryError.

    The system holds the limit, on Linux; on other systems nothing does. It is for short blocks: other threads are
    limited too, and those that want a cap wait.
    """
    if sys.platform != "linux" or not _held():
        yield
        return
    import resource

    with _ONE_AT_A_TIME:
        soft, hard = resource.getrlimit(resource.RLIMIT_DATA)
        tighter = [limit for limit in (soft, hard) if limit != resource.RLIM_INFINITY]
        resource.setrlimit(resource.RLIMIT_DATA, (min([_held() + more, *tighter]), hard))
        try:
            yield
        finally:
            resource.setrlimit(resource.RLIMIT_DATA, (soft, hard))


def _held() -> int:
    """Bytes of this process that its limit counts, as proc(5) has them; 0 where the system does not tell (gVisor)."""
    import resource

    return int(Path("/proc/self/statm").read_text(encoding="ascii").split()[5]) * resource.getpagesize()
