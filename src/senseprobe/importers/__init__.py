"""Import published benchmarks: their formats, by the name that the command line and a release's manifest give them."""

from senseprobe.importers.formats import FORMATS, TABLES, Format, find_format

__all__ = ["FORMATS", "TABLES", "Format", "find_format"]
