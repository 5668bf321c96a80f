"""Makes a project of a folder with the published templates of BBQ, and compares it with the published rows."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from senseprobe.errors import ReleaseError
from senseprobe.importers.contents import delimited_rows
from senseprobe.importers.formats import ProjectFiles
from senseprobe.importers.notes import Notes
from senseprobe.importers.sources import Source, read_sources
from senseprobe.kinds.question.bbq_comparison import TemplateTexts, compare_rows
from senseprobe.kinds.question.bbq_people import Question
from senseprobe.kinds.question.bbq_project import project_files
from senseprobe.kinds.question.bbq_published import find_published, read_published
from senseprobe.kinds.question.bbq_templates import FILE_NAME, LINES, TemplateBlock, read_blocks
from senseprobe.kinds.question.bbq_vocabulary import NAMES, WORDS, read_vocabulary
from senseprobe.messages import counted

FILLERS = "Filler_items"
OWN_WORDINGS = ("It is not said", "Nobody can tell", "That is open", "The text does not say it", "Who knows")
"""Wordings of *unknown* where no published rows are at hand, which have BBQ's: its templates have none."""


def make_project(folder: Path) -> ProjectFiles:
    """Return the files of a project made of the templates and vocabularies in a folder, and what is odd in these.

    The published rows beside it, or in it, give the wordings of *unknown*, and are compared with the project's rows.
    Raise ReleaseError where the folder lacks templates or a vocabulary, or a file cannot be read.
    """
    paths = [path for path in sorted(folder.iterdir()) if FILE_NAME.fullmatch(path.name) or path.name in (WORDS, NAMES)]
    sources, notes = read_sources(paths), Notes()
    vocabulary = read_vocabulary(sources, notes)
    questions = {source: [*_read_questions(source, notes)] for source in sources if FILE_NAME.fullmatch(source.name)}
    blocks = {
        some[0][1].category: read_blocks(source, some, vocabulary, notes) for source, some in questions.items() if some
    }
    blocks = {category: some for category, some in blocks.items() if some}
    if not blocks:
        why = "".join(f"; {note}" for note in notes.listed[-1:])
        raise ReleaseError(
            f"{folder}: no file of templates, as new_templates - Age.csv, has a template that can be read{why}"
        )
    files = find_published(folder, blocks)
    published = read_published(files)
    wordings = sorted({row.unknown for rows in published.values() for row in rows}) or [*OWN_WORDINGS]
    texts = [TemplateTexts(question, vocabulary) for some in questions.values() for _, question in some]

    def compare(_: Path, project: Path) -> Iterator[str]:
        if not published:
            name = f"{next(iter(blocks))}.jsonl"
            yield f"no published rows, as {name}, lie in the folder or the one around it: nothing is compared"
        yield from compare_rows(project, published, texts)

    remarks = [*map(str, notes.listed), *_counts(blocks, wordings, own=not published)]
    return ProjectFiles(files=project_files(blocks, wordings), remarks=remarks, compare=compare)


def _read_questions(source: Source, notes: Notes) -> Iterator[tuple[int, Question]]:
    """Yield the templates of a file, with the lines on which they begin; fillers, which have none, are noted."""
    name = FILE_NAME.fullmatch(source.name)
    category = name[1] if name else ""
    if category == FILLERS:
        notes.leave_out(source, 0, "fillers: questions without templates and stereotypes")
        return
    needed = ["Q_id", *LINES.values(), "Answer_negative", "Answer_non_negative", "Lexical_diversity"]
    for number, (line, cells) in enumerate(delimited_rows(source, ",", needed, notes)):
        if cells["Ambiguous_Context"].strip():
            yield line, Question(category, number, cells)


def _counts(blocks: Mapping[str, Sequence[TemplateBlock]], wordings: Sequence[str], *, own: bool) -> Iterator[str]:
    """Yield what the project makes of each category, and what BBQ draws by chance that cannot be repeated."""
    for category, some in blocks.items():
        rows = sum(block.rows for block in some)
        templates = len({block.template for block in some})
        incomplete = sum(not block.cast.complete for block in some)
        text = f"{category}: {counted(templates, 'template')} in {counted(len(some), 'block')} make {rows:,} rows"
        yield (
            f"{text}; {counted(incomplete, 'block')} with some of the people whom BBQ may draw" if incomplete else text
        )
    whose = "our own, as no published rows are there to take BBQ's from" if own else "of the published rows"
    yield (
        "BBQ draws people of a vocabulary, one word of each list, the wording of unknown and the order of answers by "
        f"chance. Here all words of a list are used, and each template has one of {len(wordings)} wordings ({whose})."
    )
