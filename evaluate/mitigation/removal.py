"""What is to be removed: options and words -> `Removal` -> the rows of words in a parent -> a map."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from senseprobe.errors import ModelError, SenseprobeError
from senseprobe.evaluate.mitigation import axes, record
from senseprobe.evaluate.mitigation.erasure import Erasure, fit_inlp, fit_leace, random_directions
from senseprobe.evaluate.mitigation.parents import Parent, Rows, WordRows
from senseprobe.evaluate.mitigation.probes import REGULARISATION, code_labels, split_words
from senseprobe.evaluate.mitigation.record import Form, FormChoice, HeadChoice, LayerChoice, Method, Omission, Record
from senseprobe.messages import listed, printable

FITTED: tuple[Method, ...] = ("leace", "inlp")
"""Methods that are fitted to words with labels."""

_SAME = 1e-6
"""A difference counts as a direction of its own where it is at least this part of the largest."""

_ROUNDINGS = {"float16": 2.0**-10, "bfloat16": 2.0**-8}
"""How far apart rounding may set two vectors that were one, as a part of the longer of them."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Removal:
    """What is to be removed, and how; `Removal.of` reads it from a record, so that it can be made again.

    - `axis`: the words that directions are derived from; None of methods that are fitted, or of random directions.
    - `labels`: by word; of LEACE and INLP what they are fitted to, else what probes read. `labels_name`: as given.
    - `rank`: of random directions; `rest`, `seed`, `regularisation`, `renormalise`, `forms`: as of a `Record`.
    - `head`: which table a tied output has; `layers`: whether the input alone is altered.
    """

    method: Method
    axis: axes.DeclaredAxis | None = None
    labels: Mapping[str, str] = field(default_factory=dict)
    labels_name: str = ""
    rank: int | None = None
    rest: int = 0
    seed: int = 0
    regularisation: float = REGULARISATION
    renormalise: bool = False
    forms: FormChoice = "all"
    head: HeadChoice = "untied"
    layers: LayerChoice = "input"

    @classmethod
    def of(cls, record: Record) -> "Removal":
        """Return what made the folder of a record."""
        items: tuple[tuple[str, ...], ...] = record.axis.pairs or tuple((word,) for word in record.axis.words)
        words = axes.WordSet(items) if items else None
        return cls(
            method=record.method,
            axis=axes.DeclaredAxis(record.axis.direction, words, words, record.axis.rank) if words else None,
            labels=record.axis.labels,
            labels_name=record.axis.labels_name,
            rank=record.rank if record.method == "random" else None,
            rest=record.rest,
            seed=record.seed or 0,
            regularisation=record.regularisation or REGULARISATION,
            renormalise=record.renormalised,
            forms=record.spellings,
            head="tied" if record.head == "tied" else "untied",
            layers=record.layers,
        )

    def describe(self) -> record.Axis:
        """Return its words as a record has them."""
        items = self.axis.derived.items if self.axis else ()
        is_paired = bool(self.axis and self.axis.derived.is_paired)
        return record.Axis(
            direction=self.axis.name if self.axis else "",
            rank=self.axis.rank if self.axis and len(items) > 1 else 1,
            pairs=tuple((item[0], item[1]) for item in items) if is_paired else (),
            words=() if is_paired else tuple(item[0] for item in items),
            labels=dict(self.labels),
            labels_name=self.labels_name,
        )


@dataclass(frozen=True, slots=True)
class Fit:
    """A map, and what it was fitted to.

    - `forms`: the rows that were used; `omitted`: words that were not.
    - `probed`: of the words with labels those that the fit did not see, which probes read.
    - `at_chance`: whether INLP ended since its probe was at chance, not at its limit; None of other methods.
    """

    erasure: Erasure
    forms: tuple[Form, ...] = ()
    omitted: tuple[Omission, ...] = ()
    probed: tuple[str, ...] = ()
    at_chance: bool | None = None


def choose_removal(
    *,
    direction: str | None,
    method: Method,
    labels: str | None,
    rest: int = 0,
    **options: Any,  # noqa: ANN401
) -> Removal:
    """Return the removal that options declare; raise SenseprobeError where they do not fit the method.

    Without labels, LEACE and INLP are fitted to our words of gender, and probes of an axis of such words read them.
    """
    if method in FITTED and direction is not None:
        raise SenseprobeError(f"--method {method} is fitted to words with labels: give --labels, not --direction")
    if method == "projection" and direction is None:
        raise SenseprobeError("name what to remove with --direction, such as he-she")
    if rest and method != "leace":
        raise SenseprobeError("--rest adds words to the fit of --method leace: leave it out")
    axis = None if direction is None else axes.read_axis(direction)
    name = labels or (axes.GENDER if method in FITTED or _is_gender(axis) else "")
    if axis is not None and Path(axis.name).name != axis.name:
        axis = replace(axis, name=Path(axis.name).name)  # where a file was is nobody's business
    return Removal(
        method=method,
        axis=axis,
        labels=axes.read_labels(name) if name else {},
        labels_name=name if name == axes.GENDER else Path(name).name,
        rest=rest,
        **options,
    )


def _is_gender(axis: axes.DeclaredAxis | None) -> bool:
    """Return whether all words of an axis are words of gender; random directions alone are held against these, too."""
    if axis is None:
        return True
    labels = axes.read_labels(axes.GENDER)
    return len({labels.get(word.lower()) for word in axis.derived.words}) > 1 and None not in {
        labels.get(word.lower()) for word in axis.derived.words
    }


# --- a map --------------------------------------------------------------------------------------------------------


def fit_removal(parent: Parent, removal: Removal) -> Fit:
    """Return the map of a removal. Raises ModelError where words do not declare one, or it is too large."""
    try:
        if removal.method in FITTED:
            fit = _fit_labels(parent, removal)
        elif removal.method == "random" and (removal.rank or removal.axis is None):
            fit = Fit(_random(parent, removal, removal.rank or 1))
        else:
            fit = _fit_axis(parent, removal)
            if removal.method == "random":
                fit = replace(fit, erasure=_random(parent, removal, fit.erasure.rank))
    except ValueError as error:
        raise ModelError(f"nothing is removed from {parent.name}: {error}") from None
    _check_rank(parent, fit.erasure.rank)
    return fit


def _random(parent: Parent, removal: Removal, rank: int) -> Erasure:
    _check_rank(parent, rank)
    return Erasure.onto(random_directions(parent.dimensions, rank, removal.seed))


def _check_rank(parent: Parent, rank: int) -> None:
    if 2 * rank >= parent.dimensions:
        raise ModelError(
            f"{parent.name}: {rank} of {parent.dimensions} dimensions would be removed, but at most fewer than half are"
        )


def _fit_axis(parent: Parent, removal: Removal) -> Fit:
    """Return the projection along the directions of an axis. Raises ModelError, and ValueError of `Erasure.onto`."""
    axis = removal.axis
    if axis is None:
        raise ModelError(f"nothing is removed from {parent.name}: name a --direction, such as he-she")
    rows_of, words = parent.find(axis.derived.words, removal.forms), axis.derived.words
    missing = [word for word in words if word not in rows_of]
    if missing and parent.form == "vectors" and not axis.name.startswith(axes.PREFIX):
        axes.refuse_missing(parent.name, missing)
    if not axis.derived.is_paired:
        return Fit(_project_words(parent, axis, rows_of), _forms(rows_of), _omit(parent, missing))
    pairs = [(pair, form) for pair in axis.derived.items for form in _shared_forms(parent, rows_of, pair)]
    if not pairs:
        raise ModelError(f"{parent.name} has no pair of {printable(axis.name)}: {parent.lacking} ({listed(missing)})")
    used = {word: rows_of[word] for pair, _ in pairs for word in pair}
    sides = [parent.read([_rows(rows_of[pair[side]], form, side) for pair, form in pairs]) for side in (0, 1)]
    lengths, apart = np.linalg.norm(sides, axis=2).max(axis=0), np.linalg.norm(sides[0] - sides[1], axis=1)
    rounding = _ROUNDINGS.get(parent.number_format, axes.SAME)  # as after a removal of what told them apart
    same = [pairs[number][0] for number in np.flatnonzero(apart <= rounding * lengths)]
    if same:
        named = listed(dict.fromkeys("-".join(pair) for pair in same))
        raise ModelError(f"{parent.name} has one vector for both words of {printable(named)}: there is no direction")
    if len(axis.derived.items) == 1:  # so that the two words have the same vector, in each of their forms
        columns, sizes, _ = np.linalg.svd((sides[0] - sides[1]).T, full_matrices=False)
        erasure = Erasure.onto(columns[:, sizes > _SAME * sizes[0]])
    else:
        erasure = Erasure.onto(axes.derive_directions(np.stack(sides, axis=1), axis.rank))
    alone = [word for word in words if word in rows_of and word not in used]
    omitted = (*_omit(parent, missing), *(Omission(word=word, reason="its pair is left out") for word in alone))
    return Fit(erasure, _forms(used), omitted)


def _shared_forms(parent: Parent, rows_of: WordRows, pair: Sequence[str]) -> list[str]:
    """Return the forms that both words of a pair have; of a file of vectors, the only one."""
    if not all(word in rows_of for word in pair):
        return []
    first, second = (rows_of[word] for word in pair)
    return [*first] if parent.form == "vectors" else [form for form in first if form in second]


def _rows(forms: Mapping[str, Rows], form: str, side: int) -> Rows:
    return forms[form] if form in forms else next(iter(forms.values()))


def _project_words(parent: Parent, axis: axes.DeclaredAxis, rows_of: WordRows) -> Erasure:
    """Return the projection along the components of words, about the mean of those of the same form."""
    by_form: dict[str, list[Rows]] = {}
    for forms in rows_of.values():
        for form, rows in forms.items():
            by_form.setdefault("" if parent.form == "vectors" else form, []).append(rows)
    blocks = [parent.read(rows) for rows in by_form.values()]
    centred = np.concatenate([block - block.mean(axis=0) for block in blocks if len(block) > 1] or [np.zeros((0, 0))])
    if not centred.size:
        raise ModelError(f"{parent.name} has fewer than two words of {printable(axis.name)}: there is no direction")
    return Erasure.onto(axes.derive_directions(centred[:, None], axis.rank, centred=False))


def _fit_labels(parent: Parent, removal: Removal) -> Fit:
    """Return the map of LEACE or INLP. Raises ValueError where the labels do not declare one.

    Three tenths of the words of each label are held out for probes.
    """
    rows_of = parent.find([*removal.labels], removal.forms)
    words = [word for word in removal.labels if word in rows_of]
    missing = [word for word in removal.labels if word not in rows_of]
    if not words:
        raise ModelError(f"{parent.name} has no vector of a word of {printable(removal.labels_name)}: {parent.lacking}")
    codes, _ = code_labels([removal.labels[word] for word in words])
    fitted, probed = split_words(codes, removal.seed)
    used = [words[number] for number in fitted]
    rows = [(rows, removal.labels[word]) for word in used for rows in rows_of[word].values()]
    fitted_rows = {*chain.from_iterable(chain.from_iterable(forms.values() for forms in rows_of.values()))}
    rest = parent.list_rest(removal.rest, fitted_rows)
    vectors = parent.read([*(of_word for of_word, _ in rows), *((row,) for row in rest)])
    labels = [*(label for _, label in rows), *[None] * len(rest)]
    at_chance = None
    if removal.method == "inlp":
        of_words = [word for word in used for _ in rows_of[word]]  # forms of a word are all held out, or none
        erasure, ended = fit_inlp(
            vectors, labels, seed=removal.seed, regularisation=removal.regularisation, words=of_words
        )
        at_chance = ended.at_chance
    else:
        if len(vectors) < 2 * parent.dimensions:
            raise ModelError(
                f"LEACE needs two words per dimension, {2 * parent.dimensions:,} of {parent.name}, but the fit has "
                f"{len(vectors):,}: --rest adds words without a label"
            )
        erasure = fit_leace(vectors, labels)
    used_rows = {word: rows_of[word] for word in used}
    unseen = tuple(words[number] for number in probed)
    return Fit(erasure, _forms(used_rows), _omit(parent, missing), unseen, at_chance)


def _forms(rows_of: WordRows) -> tuple[Form, ...]:
    return tuple(Form(word=word, spelling=form, rows=rows) for word, of in rows_of.items() for form, rows in of.items())


def _omit(parent: Parent, words: Sequence[str]) -> tuple[Omission, ...]:
    return tuple(Omission(word=word, reason=parent.lacking) for word in words)
