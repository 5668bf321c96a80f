"""What is scored, as objects that describe themselves: models, and files of vectors."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from senseprobe.api.author import prepare_wordnet
from senseprobe.api.releases import load
from senseprobe.errors import ModelError
from senseprobe.evaluate.models import ModelSource, title_of, wrap
from senseprobe.evaluate.models.encodings import LEVELS
from senseprobe.evaluate.models.registry import summarize

if TYPE_CHECKING:
    from senseprobe.api.releases import ReleaseSpec
    from senseprobe.evaluate.models.vector_files import FileSummary

_KEYS = {"target": "sense_key", "stereo": "stereo_value_key", "anti": "anti_value_key"}
"""The columns of sense keys of pairs, by what has these senses."""


@dataclass(frozen=True, slots=True)
class ModelDescription:
    """What is known of a model before its weights are loaded.

    - `kind`: what it is, in words; `abilities`: what scorers may ask of it; `levels`: what it has vectors of.
    - `scorers`: those that fit it.
    - `identity`: those parts of its identity in results that its files tell: ``config``, ``dtype``, ``revision``.
    """

    name: str
    kind: str
    abilities: tuple[str, ...]
    levels: tuple[str, ...]
    scorers: tuple[str, ...]
    identity: Mapping[str, str]


class Model(ModelSource):
    """A model of texts, loaded when it is used; `senseprobe.model` makes it."""

    __slots__ = ()

    def describe(self) -> ModelDescription:
        """Return its family, its levels, and the scorers that fit, without loading its weights. Raises ModelError."""
        from senseprobe.evaluate.models.base import hash_config
        from senseprobe.evaluate.models.checkpoint import read_config
        from senseprobe.evaluate.scorers import SCORERS

        abilities, levels = self.abilities, LEVELS
        config = read_config(self.spec) if self.model is None else self.model.config
        commit = getattr(config, "_commit_hash", None)
        identity = {"config": hash_config(config), "dtype": self.dtype, **({"revision": commit} if commit else {})}
        scorers = (scorer for scorer in SCORERS.values() if (scorer.level or scorer.ability) in {*abilities, *levels})
        fitting = tuple(scorer.id for scorer in scorers)
        return ModelDescription(self.name, title_of(abilities[0]), abilities, levels, fitting, identity)


class Vectors(ModelSource):
    """A file of vectors, read when it is used, or vectors in memory; `senseprobe.vectors` makes it."""

    __slots__ = ()

    def describe(self, release: ReleaseSpec | None = "association") -> FileSummary:
        """Read the whole file, and return what it is, and which words of the tests of a release it has.

        Of ``senses:FILE`` it is also the parts of speech, how many of WordNet's senses there are, and which of the
        sense keys of the release. Raises ModelError where it cannot be used, ReleaseError, and LexiconError where
        senses need WordNet and there is no copy.
        """
        if self.reads_wordnet:
            prepare_wordnet()
        if self.model is not None and not isinstance(self.model, Mapping):
            raise ModelError(
                f"{self}: an array has no words to describe; give a dict from words or sentences to vectors"
            )
        name, sets = ("", {}) if release is None else self._sets_of(release)
        if self.model is None:
            return summarize(self.name, name, sets, self.encoding)
        wrapped: Any = wrap(self, "vectors")
        return wrapped.summarize(name, sets)  # type: ignore[no-any-return]

    def _sets_of(self, release: ReleaseSpec) -> tuple[str, dict[tuple[str, str], list[str]]]:
        """Return the name of a release, and its words or sense keys by test and role."""
        from senseprobe.evaluate.units import KINDS

        opened = load(release)
        sets: dict[tuple[str, str], list[str]] = {}
        for name, design in opened.designs.items():
            table = opened.table(name, spans=False)
            if KINDS[design.kind].tests:
                for (test, role), rows in table.groupby(["test", "role"], sort=False):
                    sets.setdefault((str(test), str(role)), []).extend(rows["word"].dropna())
            elif self.reads_wordnet:
                keys = {role: [*table[column].dropna()] for role, column in _KEYS.items() if column in table}
                sets.update({(name, role): words for role, words in keys.items() if words})
        return opened.manifest.name, sets
