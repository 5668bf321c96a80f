"""The files to import: published forms, sentences of our own."""

from pathlib import Path

__all__ = ["FILES", "HERE"]

HERE = Path(__file__).parent
FILES: dict[str, list[Path]] = {
    "sssb": sorted((HERE / "sssb").iterdir()),
    "crows-pairs": [HERE / "crows.csv"],
    "french-crows-pairs": [HERE / "french.tsv"],
    "winoqueer": [HERE / "winoqueer.csv"],
    "stereoset": [HERE / "stereoset.json"],
    "seat": sorted((HERE / "seat").iterdir()),
    "winobias": sorted((HERE / "winobias").iterdir()),
    "winogender": sorted((HERE / "winogender").iterdir()),
    "bbq": sorted((HERE / "bbq").iterdir()),
}
"""By format, all that a format has; `multilingual-crows-pairs` has the files of `crows-pairs`, in any language."""
