"""A plan: what is asked of which rows, drawn from a release; kept as `plan.json`, by which answers are read later."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, replace
from functools import cache
from pathlib import Path
from typing import Any

from senseprobe.annotation.cells import write_file
from senseprobe.annotation.plan_file import MAX_OVERLAP, NAME, check_project, dump, hash_item, read_plan
from senseprobe.annotation.questions import ROLES, keys, plan_keys, question_of, questions_for, questions_of
from senseprobe.annotation.records import Item, Plan, Sentence
from senseprobe.annotation.sample import Gold, Query, SampledRow, draw, kind_of, read_gold
from senseprobe.errors import AnnotationError, LexiconError
from senseprobe.lexicon import Lexicon
from senseprobe.messages import listed, printable, shortened
from senseprobe.release.release import Release
from senseprobe.statistics.permutation import hash_draw

_LABELLED = {"stereo": "stereotype", "anti": "anti-stereotype"}

Gloss = Callable[[str, str], str]


def make_plan(
    release: Release,
    *,
    project: str,
    n: int | None,
    overlap: int = 3,
    seed: int = 0,
    strata: Sequence[str] = (),
    where: Sequence[str] = (),
    config: str | None = None,
    gold: Path | None = None,
    questions: Sequence[str] = (),
    prefill: bool = False,
    groups: bool = False,
    gloss: Gloss | None = None,
) -> Plan:
    """Return a plan that asks people about a sample of a release, as `sample.draw` draws it.

    - `questions`: ids of questions; default: all for the kind of rows. Without `sense`, no lexicon is
      opened. `gold`: a file of expected answers, whose rows are added to the sample.
    - `gloss`: what a lexicon says of a sense key (by default WordNet, of the name that rows give).

    Raises AnnotationError where an option does not fit the release, and ReleaseError where rows cannot be read.
    """
    check_project(project)
    if not 1 <= overlap <= MAX_OVERLAP:
        raise AnnotationError(f"{overlap} answers to each item: expected 1 to {MAX_OVERLAP}")
    kind = kind_of(release, [config] if config else release.configs)
    plan = Plan(
        project=project,
        release=release.manifest.name,
        content=release.manifest.content,
        kind=kind,
        seed=seed,
        overlap=overlap,
        strata=tuple(dict.fromkeys(strata)),
        where=str(Query(where)),
        questions=_questions(kind, questions),
        prefill=prefill,
        groups=groups,
    )
    expected = _read_gold(gold, plan)
    rows = draw(release, n=n, seed=seed, strata=plan.strata, where=where, config=config, also=expected)
    _check_gold(expected, rows, release)
    return _with_items(plan, rows, expected, gloss or _wordnet(), chosen="sense" in questions)


def _questions(kind: str, chosen: Sequence[str]) -> tuple[str, ...]:
    """Return ids of questions in the order in which they are asked; unknown ids stay, for `questions_of` to refuse."""
    ids = [question.id for question in questions_for(kind)]
    if not chosen:
        return tuple(ids)
    order = {id_: number for number, id_ in enumerate(ids)}
    return tuple(sorted(dict.fromkeys(chosen), key=lambda id_: order.get(id_, len(order))))


def _read_gold(path: Path | None, plan: Plan) -> dict[str, Gold]:
    questions = {key: question_of(key) for key in plan_keys(plan)}  # AnnotationError for unknown questions
    return read_gold(path, {key: question for key, question in questions.items() if question.choices}) if path else {}


def _check_gold(expected: Mapping[str, Gold], rows: Sequence[SampledRow], release: Release) -> None:
    ids = {row.values["id"] for row in rows}
    missing = [f"{gold.position}: no row {printable(id_)[:200]}" for id_, gold in expected.items() if id_ not in ids]
    if missing:
        raise AnnotationError(f"{listed(missing)} in {release.manifest.name}")


def _with_items(
    plan: Plan, rows: Sequence[SampledRow], expected: Mapping[str, Gold], gloss: Gloss, *, chosen: bool
) -> Plan:
    """Return the plan with its items; without `sense` where no row has a gloss, unless that question was `chosen`."""
    asks_sense = any(question.id == "sense" for question in questions_of(plan))
    items = tuple(_item(plan, row, expected.get(row.values["id"]), gloss if asks_sense else None) for row in rows)
    if len({item.row for item in items}) < len(items):
        raise AnnotationError(f"two rows of {plan.release} have one id: `senseprobe verify` says which")
    result = replace(plan, items=items)
    if asks_sense and not any(item.gloss for item in items):
        if chosen:
            raise AnnotationError("no row has a sense that the lexicon has a gloss of: leave out the question `sense`")
        result = replace(result, questions=tuple(id_ for id_ in plan.questions if id_ != "sense"))
    for item in items:
        if unexpected := set(item.gold) - set(keys(result, item)):
            raise AnnotationError(
                f"{expected[item.row].position}: {min(unexpected)} is not asked of this row: it has no gloss"
            )
    return result


def _item(plan: Plan, row: SampledRow, gold: Gold | None, gloss: Gloss | None) -> Item:
    values = row.values
    key = values.get("sense_key") or ""
    item = Item(
        row=values["id"],
        config=row.config,
        content="",
        sentences=_sentences(plan, row),
        target=values.get("target") or values.get("word") or "",
        sense_key=key,
        gloss=gloss(values.get("lexicon") or "wordnet-3.0", key) if gloss and key else "",
        stratum=row.stratum,
        gold=dict(gold.expected) if gold else {},
        labels=_labels(plan, values) if plan.prefill else {},
    )
    return replace(item, content=hash_item(item))


def _sentences(plan: Plan, row: SampledRow) -> tuple[Sentence, ...]:
    """Return the sentences in the order of the screen: drawn for contrasts, a premise before its hypothesis."""
    sentences = tuple(_sentence(role, row.values) for role in ROLES[plan.kind])
    is_swapped = plan.kind == "contrast" and hash_draw(plan.seed, "sentences", row.config, row.values["id"]) % 2
    return sentences[::-1] if is_swapped else sentences


def _sentence(role: str, row: Mapping[str, Any]) -> Sentence:
    text, span = row[role], row.get("span" if role == "sentence" else f"{role}_span")
    start, end = (span["start"], span["end"]) if span else (0, 0)
    return Sentence(role=role, text=text, span=(start, end) if 0 <= start < end <= len(text) else None)


def _labels(plan: Plan, row: Mapping[str, Any]) -> dict[str, str]:
    """Return the release's own answers to the questions: which sentence is the stereotype, and what follows."""
    if plan.kind == "inference":
        labels = {"inference": row["gold"]}
    else:
        labelled = plan.kind == "contrast" and row["label_basis"] not in (None, "none") and not row["contested"]
        labels = {f"stereotype.{role}": label for role, label in _LABELLED.items() if labelled}
    return {key: label for key, label in labels.items() if question_of(key).id in plan.questions}


def _wordnet() -> Gloss:
    """Return a function that gives the gloss of a sense, empty for unknown senses; it opens each lexicon once."""

    @cache
    def opened(name: str) -> Lexicon:
        try:
            return Lexicon.open(name)
        except LexiconError as error:
            raise AnnotationError(f"{error}; or leave out the question `sense`") from None

    @cache
    def gloss(name: str, key: str) -> str:
        lexicon = opened(name)
        try:
            return lexicon.gloss(key)
        except LexiconError:
            return ""

    return gloss


def _differs(stored: Plan, plan: Plan) -> str:
    """Return the options in which a plan differs from the stored one, or else that its rows do; empty for none."""
    names = [field.name for field in fields(plan) if getattr(stored, field.name) != getattr(plan, field.name)]
    differences = [
        f"{name} {'none' if (value := getattr(stored, name)) in ('', ()) else printable(shortened(value))}"
        for name in names
        if name not in {"items", "content"}
    ]
    rows = "its rows are others (--n, --config, --gold)"
    return f"it has {', '.join(differences)}" if differences else rows if names else ""


def write_plan(folder: Path, plan: Plan) -> Path:
    """Write `plan.json` into a folder, once.

    Raises AnnotationError where another plan is there, or the file cannot be written.
    """
    path = folder / NAME
    if not path.is_symlink() and not path.exists():
        return write_file(path, dump(plan))
    if differs := _differs(read_plan(folder), plan):
        raise AnnotationError(
            f"{printable(str(path))} is another plan: {differs}; ask as it was asked, or take another project"
        )
    return path
