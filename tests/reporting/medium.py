"""What a terminal shows of a document, and the cells of its tables by heading."""

from collections.abc import Iterator

from senseprobe.document import Document, Section, render_terminal


def printed(document: Document) -> str:
    """The lines that a terminal shows of all its sections, a row of a table in one line."""
    lines = (line for part in document.parts for s in part.sections for line in render_terminal(s, part.labels))
    return "\n".join([*(line.plain for line in lines), *document.signatures])


def table_rows(section: Section, labels: tuple[str, ...] = ()) -> Iterator[dict[str, str]]:
    """Each row of the tables of a section: the text of a cell behind its tag, with its note, by heading."""
    for table in section.tables:
        headings = [labels[name] if isinstance(name, int) else name for name in table.headings]
        for row in table.rows:
            texts = ("; ".join(filter(None, (cell.tag, cell.text, cell.note))) for cell in row)
            yield dict(zip(headings, texts, strict=True))
