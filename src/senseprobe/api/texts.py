"""What texts hold: the Bias Score of sentences, and mentions of groups in corpora."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Sequence
from hashlib import sha256
from importlib.metadata import version as installed_version
from pathlib import Path
from typing import TYPE_CHECKING

from senseprobe import project
from senseprobe.api.author import word_lists
from senseprobe.atomic_files import write_whole
from senseprobe.errors import SenseprobeError
from senseprobe.messages import listed, offered, printable
from senseprobe.progress import with_progress

if TYPE_CHECKING:
    from senseprobe.evaluate.corpus_summary import CorpusSummary

CORPUS_LISTS = {"pronouns": "group_pronouns", "occupations": "winobias_occupations"}
"""Short names of lists that `corpus` knows."""


@with_progress("counting {sources}")
def corpus(
    sources: str | Path | Sequence[str | Path],
    *,
    groups: str | Path = "pronouns",
    words: str | Path = "occupations",
    column: str | None = None,
    splitter: str = "rule",
    plurals: bool = True,
    workers: int = 1,
    out: Sequence[str | Path] = (),
    resume: bool = True,
    progress: Callable[[int, int], None] | None = None,
) -> CorpusSummary:
    """Count sentences that mention groups, and those among them with stereotyped words (Tan and Celis 2019).

    `sources` are files, folders and datasets of the Hub; `groups` and `words` are lists, by name or as a CSV file with
    columns ``word`` and ``group`` (or ``gender``). `out` are pages (.html, .md), .csv and .json to write. A run that
    was killed goes on, unless `resume` is false. With `workers` above 1 a script must be guarded by
    ``if __name__ == "__main__"``. Raises SenseprobeError where something cannot be read or written.
    """
    from senseprobe.evaluate.corpus_counts import SPLITTERS, Terms, count_documents
    from senseprobe.evaluate.corpus_summary import CorpusSummary
    from senseprobe.evaluate.text_files import find_files, read_documents
    from senseprobe.generator.english.inflection import plural_of

    names = tuple(map(str, [sources] if isinstance(sources, str | Path) else sources))
    if not names or workers < 1:
        raise SenseprobeError("name a text to read" if workers >= 1 else "--workers is 1 or more")
    if splitter not in SPLITTERS:
        raise SenseprobeError(f"no splitter {splitter!r}: {offered(splitter, SPLITTERS)}")
    files = [(Path(path), _find_writer(Path(path))) for path in out]
    (group_rows, groups_name), (word_rows, words_name) = _read_corpus_list(groups), _read_corpus_list(words)
    maker = f"inflect-{installed_version('inflect')}" if plurals else "none"
    terms = Terms.make(group_rows, word_rows, plural_of if plurals else None, maker)
    version = installed_version("senseprobe")
    stats = [(str(path.resolve()), path.stat().st_size, path.stat().st_mtime_ns) for path in find_files(names)]
    key = sha256(json.dumps([names, stats, groups_name, words_name, column, splitter, maker, version]).encode())
    state = project.cache_folder("corpus") / f"{key.hexdigest()}.json" if resume else None
    size, done = sum(size for _, size, _ in stats), 0

    def advance(amount: int) -> None:
        nonlocal done
        done += amount
        if progress and size:
            progress(min(done, size), size)

    tally = count_documents(read_documents(names, column, advance), terms, workers, splitter, state)
    summary = CorpusSummary(tally, terms, names, (groups_name, words_name), splitter, version)
    for path, write in files:
        write_whole(path, write(summary).encode())
    if state:
        state.unlink(missing_ok=True)
    return summary


def _read_corpus_list(source: str | Path) -> tuple[list[tuple[str, str]], str]:
    """Return the words of a list with their groups or categories, and its name with twelve digits of their hash."""
    path = Path(CORPUS_LISTS.get(str(source), source))
    if path.suffix == ".csv":
        try:
            rows = [*csv.DictReader(io.StringIO(path.read_text(encoding="utf-8-sig")), strict=True)]
        except (csv.Error, UnicodeDecodeError) as error:
            raise SenseprobeError(f"{printable(str(path))}: no CSV file in UTF-8 ({error}); write it anew") from None
    else:
        rows = [{key: str(value) for key, value in word.columns.items()} for word in word_lists(str(path))[0].words]
    columns = [*(rows[0] if rows else ())]
    kind = next((name for name in ("group", "gender") if name in columns), None)
    if kind is None or "word" not in columns:
        raise SenseprobeError(
            f"{printable(str(source))}: a list needs rows and the columns word and group (or gender); it has "
            f"{printable(listed(map(str, columns)) or 'none')}"
        )
    pairs = [((row["word"] or "").strip(), (row[kind] or "").strip()) for row in rows]
    if empty := [number for number, pair in enumerate(pairs, 1) if not all(pair)]:
        raise SenseprobeError(f"{printable(str(source))}: row {empty[0]} lacks a word or {kind}; fill it in")
    return pairs, f"{path.stem}@{sha256(json.dumps(pairs).encode()).hexdigest()[:12]}"


def _find_writer(path: Path) -> Callable[[CorpusSummary], str]:
    """Return what makes the content of an output file, by the end of its name."""
    writers = {".html": _write_page, ".md": _write_page_markdown, ".csv": _write_csv, ".json": _write_json}
    if path.suffix not in writers:
        raise SenseprobeError(f"{printable(str(path))}: unknown kind of output; name it {listed(writers)}")
    return writers[path.suffix]


def _write_page(summary: CorpusSummary) -> str:
    from senseprobe.document import render_html
    from senseprobe.evaluate.reporting.corpus_page import build_page

    return render_html(build_page(summary))


def _write_page_markdown(summary: CorpusSummary) -> str:
    from senseprobe.document import render_markdown
    from senseprobe.evaluate.reporting.corpus_page import build_page

    return render_markdown(build_page(summary))


def _write_csv(summary: CorpusSummary) -> str:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(summary.table())
    return text.getvalue()


def _write_json(summary: CorpusSummary) -> str:
    return json.dumps(summary.as_dict(), ensure_ascii=False, indent=2) + "\n"
