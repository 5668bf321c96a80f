"""What people read before they answer: that the sentences can hurt, and that they may leave out any and stop."""

from senseprobe.annotation.records import Plan

_WARNING = """\
The sentences state stereotypes, which are wrong and can hurt. They are here so that language models can be tested for
them, and you are asked whether they are fit for that: nobody asks whether you agree.

You may skip any task, say of any that it had better not be used, and stop whenever you like.
"""

_SHEETS = """
Your sheet is a table (CSV) for any spreadsheet program. Each line has one or two sentences; a marked word stands in
[brackets]. The head of a column says what is asked, and which words it takes. Leave a cell or a whole line empty where
you would rather not answer. Do not change the columns `item` and `check`. Save it as CSV again, under your name.
"""

_GROUPS = """
If you like, name in the column `groups` groups that you belong to, with commas between them, and write `yes` into
`consent` beside it; once is enough. Without `yes` they are not read. They are kept apart from your answers.
"""


def warning() -> str:
    """The warning as HTML."""
    paragraphs = (" ".join(paragraph.split()) for paragraph in _WARNING.split("\n\n"))
    return "".join(f"<p>{paragraph}</p>" for paragraph in paragraphs)


def for_sheets(plan: Plan) -> str:
    """The warning, and how a sheet is filled in, as text."""
    return _WARNING + _SHEETS + (_GROUPS if plan.groups else "")
