"""Small CSV files in the folder of a dataset that name rows by their ids: what was retired, what people decided."""

import csv
import io
from collections.abc import Collection, Iterator, Sequence

from senseprobe.errors import DeclarationError
from senseprobe.records import Finding


def id_lines(
    text: str, shown: str, needed: Collection[str], optional: Sequence[str]
) -> Iterator[tuple[int, dict[str, str]]]:
    """The rows of a CSV file that has the `needed` columns and may have the `optional` ones, each with its line.

    Raises DeclarationError (E202) where it has other columns or cells, or is no CSV; `shown` is what messages call it.
    """
    reader = csv.reader(io.StringIO(text), strict=True)

    def mistake(message: str) -> DeclarationError:
        line = max(reader.line_num, 1)
        return DeclarationError([Finding(path=shown, line=line, column=1, code="E202", message=message)])

    try:
        header = next(reader, [])
        if not {*needed} <= {*header} <= {*needed, *optional} or len({*header}) < len(header):
            raise mistake(f"columns are not {', '.join(needed)} and, if you like, {' and '.join(optional)}")
        for cells in reader:
            if len(cells) != len(header):
                raise mistake(f"{len(cells)} cells, expected {len(header)}")
            yield reader.line_num, dict(zip(header, cells, strict=True))
    except csv.Error as error:
        raise mistake(f"malformed CSV: {error}") from None
