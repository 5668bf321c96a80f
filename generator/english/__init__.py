"""English in templates: articles, plurals, verbs, capitals; from the row's own columns, else a table, else a library.

What a row's columns do not state is a guess. Guesses are recorded, and a release freezes them in its recipe, so that an
upgrade of the library cannot change it. Spelling is American where it differs from British (traveled).
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import jinja2

from senseprobe.generator.english.articles import article_of
from senseprobe.generator.english.inflection import (
    PRONOUNS,
    WITH_PLAIN_VERB,
    no_article,
    past_of,
    plain_of,
    plural_of,
    third_of,
)
from senseprobe.generator.word_lists import Word

__all__ = ["MARK", "PRONOUNS", "WITH_PLAIN_VERB", "English", "Guess", "no_article"]

MARK = "\x1f"
"""Stands between an article and its word until the sentence is whole: the target's span leaves the article out."""

Guess = tuple[str, str]  # the filter (`a`, `plural`, `past` or `third`) and the text
_ARTICLES = ("a", "an", "the", "none")
_NUMBERS = ("singular", "plural")


@dataclass(slots=True)
class English:
    """The filters of templates, and every guess that they made; `frozen` guesses override table and library."""

    frozen: Mapping[Guess, str] = field(default_factory=dict)
    guesses: dict[Guess, str] = field(default_factory=dict)

    def filters(self) -> dict[str, Callable[..., str]]:
        """Return the filters by the name that templates use."""
        filters = (self.a, self.agree, self.past, self.plural, self.the, self.third, self.upfirst)
        return {work.__name__: work for work in filters}

    def a(self, text: str) -> str:
        """Return the text with its indefinite article; a row's column `article` (a, an, the or none) overrides."""
        article = self._form("a", text, article_of, "article")
        if article not in _ARTICLES:
            message = f"the article of {str(text)[:40]!r} is {article[:40]!r}, expected {', '.join(_ARTICLES)}"
            raise jinja2.TemplateRuntimeError(message)
        return text if article == "none" else f"{article}{MARK} {text}"

    def plural(self, text: str) -> str:
        """Return the plural of a noun, with or without words around it (women of color); a column overrides."""
        return self._form("plural", text, plural_of, "plural")

    def past(self, text: str) -> str:
        """Return the simple past (after *she*) of an infinitive and the words after it; a column `past` overrides."""
        form = self._form("past", text, past_of, "past")
        return Word.of({"word": form, "plural": plain_of(form, "they")})  # as `agree` reads verbs that are finite

    def third(self, text: str) -> str:
        """Return the verb after *she*, in the present; a row's column `third` overrides."""
        return self._form("third", text, third_of, "third")

    @staticmethod
    def the(text: str) -> str:
        """Return the text with its definite article, which a personal pronoun does not take."""
        return text if text.lower() in PRONOUNS else f"the{MARK} {text}"

    def agree(self, verb: str, who: str) -> str:
        """Return an infinitive as its subject takes it in the present: they own, she owns.

        The subject is `who`, or what its row has in a column `subject`: a pronoun, or of the `number` that its row
        states, else singular. A verb whose row has a column `plural` is finite: it is as after *she*, the column as
        after *they*.
        """
        cells = who.columns if isinstance(who, Word) else {}
        subject = str(cells.get("subject") or who)
        number = str(cells.get("number") or _NUMBERS[subject.lower() in WITH_PLAIN_VERB])
        if number not in _NUMBERS:
            message = f"the number of {subject[:40]!r} is {number[:40]!r}, expected {' or '.join(_NUMBERS)}"
            raise jinja2.TemplateRuntimeError(message)
        finite = isinstance(verb, Word) and verb.columns.get("plural")
        if number == "singular" or (finite and subject == "I" and verb.startswith("was")):
            return str(verb) if finite else self.third(verb)
        return str(finite or plain_of(verb, subject))

    def unfrozen(self) -> list[Guess]:
        """Return the guesses that are not in the release's answers, sorted."""
        return sorted(self.guesses.keys() - self.frozen.keys())

    @staticmethod
    def upfirst(text: str) -> str:
        """Return the text with its first letter in upper case and the others unchanged.

        >>> English.upfirst("an Iraqi")
        'An Iraqi'
        """
        return text[:1].upper() + text[1:]

    def _form(self, kind: str, text: str, rule: Callable[[str], str], column: str) -> str:
        """Return what the row of a word states in a column, else a guess by table or library, which is recorded."""
        if isinstance(text, Word) and (cell := text.columns.get(column)) is not None and str(cell):
            return str(cell)
        guess = (kind, str(text))
        if guess not in self.guesses:
            self.guesses[guess] = self.frozen.get(guess) or rule(str(text))
        return self.guesses[guess]
