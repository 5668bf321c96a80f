"""The table of estimands that need all rows at once: what they read of each part, up to a limit that is said."""

from collections.abc import Sequence

import pandas as pd

from senseprobe.errors import ResultError
from senseprobe.evaluate.streams.parts import concatenate_parts
from senseprobe.messages import listed, sized

MOST_BYTES = 2**31
"""Of a table that some estimand needs, with what is computed of it."""

WORKING = 7
"""How many times the bytes of encoded words and numbers are in use while figures are computed, at most: 6.3 times for
`relative` of a million rows like those of sssb:nationality, whose words become objects for a while."""


class GatheredRows:
    """The rows of a config for the estimands that cannot have them in parts; `names` says which these are."""

    def __init__(self, config: str, rows: int, names: Sequence[str]) -> None:
        self._config, self._rows, self._names = config, rows, tuple(names)
        self._parts: list[pd.DataFrame] = []
        self._seen = self._bytes = 0

    def add(self, part: pd.DataFrame, working: int = WORKING) -> None:
        """Add a part; ResultError where all rows would take more than `MOST_BYTES`."""
        self._parts.append(part)
        self._seen += len(part)
        self._bytes += working * int(part.memory_usage(index=False, deep=working == 1).sum())
        needed = self._bytes * max(self._rows, self._seen) // max(self._seen, 1)
        if needed > MOST_BYTES:
            raise ResultError(
                f"{listed(self._names)} of {self._config} need all of its {max(self._rows, self._seen):,} rows at "
                f"once, about {sized(needed)}, and {sized(MOST_BYTES)} is the most: join the parts with "
                f"{' '.join(f'--without {name}' for name in self._names)}, or draw rows with --limit"
            )

    def table(self) -> pd.DataFrame:
        """Return the rows, which leave this place."""
        parts, self._parts = self._parts, []
        if isinstance(parts[0].get("frame", pd.Series()).dtype, pd.CategoricalDtype):
            return concatenate_parts(parts)
        return pd.concat(parts, ignore_index=True)
