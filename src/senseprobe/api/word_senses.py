"""Look up the senses of a word."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from senseprobe.api.author import prepare_wordnet
from senseprobe.api.models import open_vectors, vectors_of, warn, with_old_keywords
from senseprobe.errors import ModelError
from senseprobe.options import Argument, Option
from senseprobe.progress import with_progress

if TYPE_CHECKING:
    from senseprobe.api.sources import Vectors
    from senseprobe.evaluate.reporting.word_senses import WordSenses


def _of_senses(given: str | Path | Vectors | None, **options: Any) -> Vectors | None:  # noqa: ANN401
    return None if given is None else vectors_of(given, "senses:", **options)


@with_old_keywords(senses=(_of_senses, ("header", "skip_bad")))
@with_progress("reading senses")
def show_senses(
    word: Annotated[str, Argument(metavar="WORD")],
    senses: Annotated[
        str | Path | Vectors | None,
        Option(type=Path, metavar="FILE", help="Also look the senses up in this embedding."),
    ] = None,
    out: Annotated[str | Path | None, Option("--out -o", metavar="PAGE.html", help="Also write a page.")] = None,
    *,
    nearest: Annotated[int, Option("--nearest -n", help="Number of nearest senses, 0 to 100.")] = 5,
    folder: Annotated[
        str | Path | None, Option(help="Read WordNet from this NLTK data folder.", shown_default="senseprobe's own")
    ] = None,
    say: Callable[[str], None] = warn,
) -> WordSenses:
    """Show the senses of a word in WordNet: keys, definitions, and their place in an embedding.

    They are in the order of WordNet 3.0, which is prepared in `folder` first, where it is not there; of a word that may
    be a form of others they are those of these. The embedding gives each sense its cosine with the direction of gender
    (pairs of the list `gender_senses`), and the nearest other senses. `say` hears what is odd about its file. Raises
    LexiconError where WordNet cannot be prepared or does not have the word, ModelError for a file that is not one of
    senses, and SenseprobeError where it has none of these.
    """
    from senseprobe.api.pages import refuse_results, write_page
    from senseprobe.evaluate.reporting.word_senses import PlacedSense, WordSenses
    from senseprobe.lexicon import look_up

    if out is not None:
        refuse_results(Path(out), [])
    entries = look_up(word, prepare_wordnet(folder).folder)
    entry = WordSenses(word=word, senses=tuple(map(PlacedSense, entries)))
    if source := _of_senses(senses):
        model = open_vectors(source, say)
        locate: Callable[..., WordSenses] | None = getattr(model, "locate_senses", None)
        if locate is None:
            raise ModelError(f"{model.name} has no vectors of senses: name a file of senses, senses:FILE")
        entry = locate(entry, nearest)
    if out is not None:
        write_page(Path(out), entry.page())
    return entry
