"""The pictures of docs/images: first screens of the pages that `make gallery` writes, and two terminals.

``make pictures`` takes them all, with Chromium. ``--answer FOLDER`` fills in the sheets of an annotation round instead,
so that the gallery has a page of one without asking anybody.
"""

import argparse
import csv
import html
import io
import os
import random
import re
import subprocess
import sys
import tempfile
import textwrap
from pathlib import Path

from PIL import Image

ROOT = Path(__file__).parents[1]
IMAGES = ROOT / "docs" / "images"
SIZE = (1280, 900)
CARD = (680, 440)  # of a card of the first page, where it is about 280 pixels wide
LIMIT = 150_000  # bytes of a picture, so that a clone stays small

PAGES = (
    "report",
    "sssb",
    "nli-control",
    "planted",
    "comparison",
    "mitigation",
    "chat",
    "association",
    "senses",
    "nurse",
    "bias-score",
    "corpus",
    "annotation",
)
"""Pages of the gallery; a picture has the name of its page."""

TERMINALS = {
    "dataset": ("preview", "sssb/race", "-n", "2"),
    "score": ("score", "smollm2", "sssb@1.1.0:noun-bare"),
}
"""Commands whose output is shown on a card; what they write is deleted."""

RESULT = ("finding", "planted")
"""The picture of a card, and the page whose first finding it shows."""

ONE_FINDING = """<style>
header, nav, main > :not(section), main > section:not(:first-of-type), section > :not(.tiles),
.tiles > li:not(:first-child) { display: none !important }
body, main, section { margin: 0 !important; padding: 4px !important; border: 0 !important; max-width: none !important }
.tiles { display: block !important; margin: 0 } .tiles > li { zoom: 1.5 }
</style>"""

TERMINAL = """<!doctype html><meta charset="utf-8"><style>
body { margin: 0; background: #0d1117; color: #e6edf3 }
pre { margin: 0; padding: 16px; font: 22px/1.45 monospace }
b { color: #7ee787 }
</style><pre><b>$ %s</b>
%s</pre>"""
COLUMNS, LINES = 48, 12


def main() -> None:
    """Take all pictures, or fill in sheets."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--answer", type=Path, metavar="FOLDER", help="fill in the sheets of this folder, and stop")
    parser.add_argument("--gallery", type=Path, default=ROOT / "gallery", help="the folder of pages")
    options = parser.parse_args()
    if options.answer:
        for number, sheet in enumerate(sorted(options.answer.glob("annotator-*.csv"))):
            answer(sheet, random.Random(number))  # noqa: S311 - answers, not secrets
        return
    if missing := [name for name in PAGES if not (options.gallery / f"{name}.html").is_file()]:
        sys.exit(f"{options.gallery}: no {missing[0]}.html; `make gallery` writes it")
    IMAGES.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        pages = {name: options.gallery / f"{name}.html" for name in PAGES}
        for name, words in TERMINALS.items():
            pages[name] = Path(folder) / f"{name}.html"
            pages[name].write_text(show_terminal(words, Path(folder)), encoding="utf-8")
        card, page = RESULT
        pages[card] = Path(folder) / f"{card}.html"
        pages[card].write_text(pages[page].read_text(encoding="utf-8") + ONE_FINDING, encoding="utf-8")
        for name, page in pages.items():
            shown = Path(folder) / "shown.png"
            photograph(page, shown, Path(folder), SIZE if name in PAGES else CARD)
            picture = compress(shown)
            (IMAGES / f"{name}.png").write_bytes(picture)
            print(f"docs/images/{name}.png: {len(picture):,} bytes")  # noqa: T201 - what it did


def photograph(page: Path, to: Path, profile: Path, size: tuple[int, int]) -> None:
    """Write the first screen of a page as a PNG, in pixels."""
    flags = ["--headless", "--no-sandbox", "--hide-scrollbars", "--disable-gpu", f"--user-data-dir={profile}"]
    window = f"--window-size={size[0]},{size[1]}"
    command = ["chromium", *flags, window, f"--screenshot={to}", page.resolve().as_uri()]
    subprocess.run(command, check=True, stderr=subprocess.DEVNULL)  # noqa: S603 - our own page


def compress(path: Path) -> bytes:
    """Return a PNG of at most LIMIT bytes, in as many colours as that allows."""
    with Image.open(path) as shown:
        for colours in (128, 64, 32, 16):
            written = io.BytesIO()
            reduced = shown.convert("RGB").quantize(colours, dither=Image.Dither.NONE)
            reduced.save(written, "PNG", optimize=True)
            if len(written.getvalue()) <= LIMIT:
                return written.getvalue()
    raise SystemExit(f"{path}: above {LIMIT:,} bytes in 16 colours")


def show_terminal(words: tuple[str, ...], folder: Path) -> str:
    """Return a page that looks like a terminal: a command, and the beginning of what it prints."""
    writes = ["--out", str(folder)] if words[0] == "score" else []
    command = [sys.executable, "-P", "-m", "senseprobe", *words, *writes]
    done = subprocess.run(command, check=True, capture_output=True, text=True, cwd=ROOT)  # noqa: S603 - our own
    printed = done.stdout.strip().replace(str(folder), "results").splitlines()
    lines = [shown for line in printed for shown in _wrap(line)][:LINES]
    return TERMINAL % (html.escape(" ".join(["senseprobe", *words])), html.escape("\n".join(lines)))


def _wrap(line: str) -> list[str]:
    """Return a line as a terminal of COLUMNS shows it, where a wide table has its columns closer together."""
    if len(line) > COLUMNS:
        line = re.sub(" {9,}", "   ", line)
    wrapped = textwrap.wrap(line, COLUMNS, break_long_words=False, break_on_hyphens=False) or [""]
    return [part if len(part) <= COLUMNS else f"{part[: COLUMNS - 1]}…" for part in wrapped]


def answer(sheet: Path, chance: random.Random) -> None:
    """Fill in a sheet as somebody might who knows stereotypes of occupations, and overlooks one row in eight."""
    head, *rows = csv.reader(sheet.read_text(encoding="utf-8-sig").splitlines())
    for row in rows:
        for column, asked in enumerate(head):
            key, _, choices = asked.partition(":")
            offered = re.findall(r"[^/\[\]]+", choices.rpartition("[")[2])
            if not key.startswith(("sense", "stereotype", "natural", "withhold")) or not offered:
                continue
            chosen = offered[-1 if key == "withhold" else 0]
            if key.startswith("stereotype"):
                chosen = offered[_typical(row[3] if key.endswith("2") else row[2])]
            row[column] = (offered[1] if chance.random() < 1 / 8 else chosen).strip()
    with sheet.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([head, *rows])


def _typical(sentence: str) -> int:
    """Return 0 where a sentence has the pronoun that a stereotype has of its occupation, else 1."""
    return int(("nurse" in sentence) == bool(re.search(r"\b(?:he|his|him)\b", sentence, re.I)))


if __name__ == "__main__":
    os.environ.setdefault("COLUMNS", str(COLUMNS))
    main()
