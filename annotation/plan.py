"""A plan: what is asked of which rows, drawn from a release; kept as `plan.json`, by which answers are read later."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, replace
from functools import cache
from pathlib import Path
from typing import Any

from senseprobe.annotation.plan_file import MAX_OVERLAP, NAME, check_project, dump, read_plan, shown_hash
from senseprobe.annotation.questions import ROLES, keys, plan_keys, question_of, questions_for, questions_of
from senseprobe.annotation.records import Item, Plan, Sentence
from senseprobe.annotation.sample import DrawnRow, Gold, Query, draw, kind_of, read_gold
from senseprobe.atomic_files import write_whole
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
    """Who is asked what of a release; `draw` says which rows.

    - `questions`: ids of questions; default: all that there are for the kind of rows. Without `sense`, no lexicon is
      opened. `gold`: a file of expected answers, whose rows are added to the sample.
    - `gloss`: what a lexicon says of a sense key (by default WordNet, of the name that rows give).

    Raises AnnotationError where anything that is asked for cannot be, and ReleaseError where rows cannot be read.
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
    known = _read_gold(gold, plan)
    drawn = draw(release, n=n, seed=seed, strata=plan.strata, where=where, config=config, also=known)
    _check_gold(known, drawn, release)
    return _with_items(plan, drawn, known, gloss or _wordnet(), chosen="sense" in questions)


def _questions(kind: str, chosen: Sequence[str]) -> tuple[str, ...]:
    """Ids of questions in the order in which they are asked; those unknown stay, for `asked` to tell."""
    known = [question.id for question in questions_for(kind)]
    if not chosen:
        return tuple(known)
    order = {id_: number for number, id_ in enumerate(known)}
    return tuple(sorted(dict.fromkeys(chosen), key=lambda id_: order.get(id_, len(order))))


def _read_gold(path: Path | None, plan: Plan) -> dict[str, Gold]:
    questions = {key: question_of(key) for key in plan_keys(plan)}  # AnnotationError for unknown questions
    return read_gold(path, {key: each for key, each in questions.items() if each.choices}) if path else {}


def _check_gold(known: Mapping[str, Gold], drawn: Sequence[DrawnRow], release: Release) -> None:
    there = {each.row["id"] for each in drawn}
    missing = [f"{gold.place}: no row {printable(id_)[:200]}" for id_, gold in known.items() if id_ not in there]
    if missing:
        raise AnnotationError(f"{listed(missing)} in {release.manifest.name}")


def _with_items(
    plan: Plan, drawn: Sequence[DrawnRow], known: Mapping[str, Gold], gloss: Gloss, *, chosen: bool
) -> Plan:
    """The plan with its items; without a question of the sense where no row has a gloss, unless that was `chosen`."""
    wanted = any(question.id == "sense" for question in questions_of(plan))
    items = tuple(_item(plan, each, known.get(each.row["id"]), gloss if wanted else None) for each in drawn)
    if len({item.row for item in items}) < len(items):
        raise AnnotationError(f"two rows of {plan.release} have one id: `senseprobe verify` says which")
    made = replace(plan, items=items)
    if wanted and not any(item.gloss for item in items):
        if chosen:
            raise AnnotationError("no row has a sense that the lexicon has a gloss of: leave out the question `sense`")
        made = replace(made, questions=tuple(id_ for id_ in plan.questions if id_ != "sense"))
    for item in items:
        if strange := set(item.gold) - set(keys(made, item)):
            raise AnnotationError(f"{known[item.row].place}: {min(strange)} is not asked of this row: it has no gloss")
    return made


def _item(plan: Plan, drawn: DrawnRow, gold: Gold | None, gloss: Gloss | None) -> Item:
    row = drawn.row
    key = row.get("sense_key") or ""
    item = Item(
        row=row["id"],
        config=drawn.config,
        content="",
        sentences=_sentences(plan, drawn),
        target=row.get("target") or row.get("word") or "",
        sense_key=key,
        gloss=gloss(row.get("lexicon") or "wordnet-3.0", key) if gloss and key else "",
        stratum=drawn.stratum,
        gold=dict(gold.expected) if gold else {},
        labels=_labels(plan, row) if plan.prefill else {},
    )
    return replace(item, content=shown_hash(item))


def _sentences(plan: Plan, drawn: DrawnRow) -> tuple[Sentence, ...]:
    """The sentences as they are shown: a premise before its hypothesis, which else could not be asked about."""
    found = tuple(_sentence(role, drawn.row) for role in ROLES[plan.kind])
    turned = plan.kind == "contrast" and hash_draw(plan.seed, "sentences", drawn.config, drawn.row["id"]) % 2
    return found[::-1] if turned else found


def _sentence(role: str, row: Mapping[str, Any]) -> Sentence:
    text, span = row[role], row.get("span" if role == "sentence" else f"{role}_span")
    start, end = (span["start"], span["end"]) if span else (0, 0)
    return Sentence(role=role, text=text, span=(start, end) if 0 <= start < end <= len(text) else None)


def _labels(plan: Plan, row: Mapping[str, Any]) -> dict[str, str]:
    """What the release says that people are asked about: which sentence is the stereotype, and what follows."""
    if plan.kind == "inference":
        told = {"inference": row["gold"]}
    else:
        labelled = plan.kind == "contrast" and row["label_basis"] not in (None, "none") and not row["contested"]
        told = {f"stereotype.{role}": label for role, label in _LABELLED.items() if labelled}
    return {key: label for key, label in told.items() if question_of(key).id in plan.questions}


def _wordnet() -> Gloss:
    """What lexicons say of a sense, each opened once; empty where one has no such sense."""

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


def _differs(there: Plan, plan: Plan) -> str:
    """In what a plan differs from the one that is there: its options, or else its rows; empty where it does not."""
    other = [each.name for each in fields(plan) if getattr(there, each.name) != getattr(plan, each.name)]
    told = [
        f"{name} {'none' if (value := getattr(there, name)) in ('', ()) else printable(shortened(value))}"
        for name in other
        if name not in {"items", "content"}
    ]
    rows = "its rows are others (--n, --config, --gold)"
    return f"it has {', '.join(told)}" if told else rows if other else ""


def write_plan(folder: Path, plan: Plan) -> Path:
    """Write `plan.json` into a folder, once: AnnotationError where another plan is there, or it cannot be written."""
    path = folder / NAME
    data = dump(plan)
    try:
        if path.is_symlink() or path.exists():
            if differs := _differs(read_plan(folder), plan):
                raise AnnotationError(
                    f"{printable(str(path))} is another plan: {differs}; ask as it was asked, or take another project"
                )
            return path
        write_whole(path, data)
    except OSError as error:
        raise AnnotationError(f"{path} cannot be written: {error.strerror}") from None
    return path
