"""Make plans: which rows of a release people are asked about, what is shown of each, and what is asked of it."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache

from senseprobe.annotation.guidelines import Gloss, Meanings, lexicon_of, write_guidelines
from senseprobe.annotation.plan_file import check_project, hash_item
from senseprobe.annotation.plan_options import PlanOptions
from senseprobe.annotation.questions import (
    ROLES,
    keys,
    plan_keys,
    question_of,
    questions_for,
    questions_of,
    questions_of_config,
)
from senseprobe.annotation.records import MAX_OVERLAP, Item, Plan, Sentence
from senseprobe.annotation.sample import Gold, Query, SampledRow, draw, kind_of, read_gold
from senseprobe.errors import AnnotationError, LexiconError
from senseprobe.lexicon import Lexicon
from senseprobe.messages import listed, printable
from senseprobe.release.release import Release
from senseprobe.statistics.permutation import hash_draw

ROWS = 500
"""How many rows are drawn where nobody says how many, nor which."""

OVERLAP = 3
"""How many people answer each row where nobody says how many."""


def make_plan(
    release: Release,
    project: str,
    options: PlanOptions,
    *,
    exclude: Sequence[Plan] = (),
    gloss: Gloss | None = None,
    stored: Plan | None = None,
) -> Plan:
    """Return a plan that asks people about a sample of a release, as `sample.draw` draws it.

    - `exclude`: the plans of the projects that `options` name so.
    - `stored`: the project's plan so far. With its options and another `n`, it grows: its items stay, and come first.
    - `gloss`: what a lexicon says of a sense key.
    """
    check_project(project)
    n, config, questions = options.n, options.config, options.questions
    overlap = options.overlap if options.overlap is not None else stored.overlap if stored else OVERLAP
    if not 1 <= overlap <= MAX_OVERLAP:
        raise AnnotationError(f"{overlap} answers for each item: expected 1 to {MAX_OVERLAP}")
    configs = (config,) if isinstance(config, str) else tuple(sorted({*(config or ())}))
    kind = kind_of(release, configs or release.configs)
    order = [question.id for question in questions_for(kind)]
    plan = Plan(
        project=project,
        release=release.manifest.name,
        content=release.manifest.content,
        kind=kind,
        seed=options.seed,
        overlap=overlap,
        strata=tuple(dict.fromkeys(options.strata)),
        where=str(Query(options.where)),
        questions=tuple(sorted(dict.fromkeys(questions or order), key=[*order, *questions].index)),
        prefill=options.prefill,
        groups=options.groups,
        configs=configs,
        allocation=options.allocation,
        exclude=tuple(sorted({other.project for other in exclude})),
        language=next(iter(release.manifest.data.get("card", {}).get("languages", ())), "en"),
    )
    plan = _with_questions(plan, release, stored)
    choices = {key: question for key in plan_keys(plan) if (question := question_of(key)).choices}
    expected = read_gold(options.gold, choices) if options.gold else {}
    if stored and not stored.configs and {item.config for item in stored.items} <= {*configs}:
        stored = replace(stored, configs=configs)  # older plans do not say of which configs they are
    same = stored if stored and _same_options(stored, plan, expected) else None
    same_rows = {item.row for item in same.items} if same else set()
    previous = same if n is not None else None
    excluded = {item.row for other in exclude for item in other.items} - same_rows
    rows = draw(
        release,
        n=ROWS if n is None and not options.where else n,
        seed=options.seed,
        strata=plan.strata,
        allocation=options.allocation,
        where=options.where,
        configs=configs,
        also=expected,
        excluded=excluded,
        previous=[item.row for item in previous.items if not item.gold] if previous else (),
    )
    ids = {row.values["id"] for row in rows}
    if missing := [f"{row.position}: {printable(id_)[:200]}" for id_, row in expected.items() if id_ not in ids]:
        raise AnnotationError(f"rows that {plan.release} does not have: {listed(missing)}")
    plan, meanings = replace(plan, excluded=tuple(sorted(excluded))), Meanings(gloss) if gloss else _wordnet()
    if previous is not None:
        return _grown(replace(previous, excluded=plan.excluded), rows, n or 0, meanings.gloss)
    plan = _with_items(plan, rows, expected, meanings.gloss, chosen="sense" in questions)
    return replace(plan, guidelines=write_guidelines(release, plan, meanings))


def _with_questions(plan: Plan, release: Release, stored: Plan | None) -> Plan:
    """Return the plan with what its configs ask, as the stored plan has it or else their templates.

    A question that none of them asks is not one of the plan's. Raises AnnotationError where a config would be asked
    nothing.
    """
    names, order = plan.configs or release.configs, [question.id for question in questions_for(plan.kind)]
    declared = {
        name: tuple(id_ for id_ in order if id_ in asks) for name in names if (asks := release.manifest.asks(name))
    }
    plan = replace(plan, asks=dict(stored.asks) if stored else declared)
    questions_of(plan)  # an unknown question is named as what it is
    questions = {name: questions_of_config(plan, name) for name in names}
    if silent := next((name for name, ids in questions.items() if not ids), None):
        raise AnnotationError(
            f"{printable(silent)} has only the questions {', '.join(plan.asks[silent])}; choose one of them"
        )
    return replace(
        plan, questions=tuple(id_ for id_ in plan.questions if any(id_ in ids for ids in questions.values()))
    )


def _same_options(stored: Plan, plan: Plan, expected: Mapping[str, Gold]) -> bool:
    """Return whether a plan without its items asks as the stored one, which may lack a `sense` without any gloss."""
    questions = tuple(id_ for id_ in plan.questions if id_ in stored.questions or id_ != "sense")
    gold_answers = {item.row: item.gold for item in stored.items if item.gold}
    same = {name: getattr(stored, name) for name in ("items", "excluded", "parts", "guidelines", "language")}
    plan = replace(plan, questions=questions, **same)
    return plan == stored and gold_answers == {row: dict(gold.expected) for row, gold in expected.items()}


def _grown(stored: Plan, rows: Sequence[SampledRow], n: int, gloss: Gloss) -> Plan:
    """Return the stored plan with the rows that it lacks behind its own; as it is where `n` were drawn already."""
    rows_before, sampled = {item.row for item in stored.items}, sum(not item.gold for item in stored.items)
    new = (
        [_item(stored, row, None, gloss) for row in rows if row.values["id"] not in rows_before] if n > sampled else []
    )
    return replace(stored, items=(*stored.items, *new), parts=(*stored.parts, len(rows_before))) if new else stored


def _with_items(
    plan: Plan, rows: Sequence[SampledRow], expected: Mapping[str, Gold], gloss: Gloss, *, chosen: bool
) -> Plan:
    """Return the plan with its items; without `sense` where no row has a gloss, unless that question was `chosen`."""
    items = tuple(_item(plan, row, expected.get(row.values["id"]), gloss) for row in rows)
    if len({item.row for item in items}) < len(items):
        raise AnnotationError(f"two rows of {plan.release} have the same id: `senseprobe verify` names them")
    questions = plan.questions
    if "sense" in questions and not any(item.gloss for item in items):
        if chosen:
            raise AnnotationError(
                "the rows do not have senses with a gloss in the lexicon: remove the question `sense`"
            )
        questions = tuple(id_ for id_ in questions if id_ != "sense")
    plan = replace(plan, items=items, questions=questions)
    for item in items:
        if unexpected := set(item.gold) - set(keys(plan, item)):
            raise AnnotationError(
                f"{expected[item.row].position}: {min(unexpected)} is not asked of this row"
                f"{': it lacks a gloss' if min(unexpected) == 'sense' else ''}"
            )
    return plan


def _item(plan: Plan, row: SampledRow, gold: Gold | None, gloss: Gloss) -> Item:
    values = row.values
    key, labels = values.get("sense_key") or "", dict[str, str]()  # the release's own answers to the questions
    if plan.prefill and plan.kind == "inference":
        labels = {"inference": values["gold"]}
    contrast = plan.prefill and plan.kind == "contrast"
    if contrast and values["label_basis"] not in (None, "none") and not values["contested"]:
        labels = {"stereotype.stereo": "stereotype", "stereotype.anti": "anti-stereotype"}
    questions = questions_of_config(plan, row.config)
    item = Item(
        row=values["id"],
        config=row.config,
        content="",
        sentences=_sentences(plan, row),
        target=values.get("target") or values.get("word") or "",
        sense_key=key,
        gloss=gloss(lexicon_of(values), key) if key and "sense" in questions else "",
        stratum=row.stratum,
        gold=dict(gold.expected) if gold else {},
        labels={key: label for key, label in labels.items() if question_of(key).id in questions},
    )
    return replace(item, content=hash_item(item))


def _sentences(plan: Plan, row: SampledRow) -> tuple[Sentence, ...]:
    """Return the sentences in the order of the screen: drawn for contrasts, a premise before its hypothesis."""
    sentences = []
    for role in ROLES[plan.kind]:
        text, span = row.values[role], row.values.get("span" if role == "sentence" else f"{role}_span")
        start, end = (span["start"], span["end"]) if span else (0, 0)
        sentences.append(Sentence(role=role, text=text, span=(start, end) if 0 <= start < end <= len(text) else None))
    is_swapped = plan.kind == "contrast" and hash_draw(plan.seed, "sentences", row.config, row.values["id"]) % 2
    return tuple(reversed(sentences) if is_swapped else sentences)


def _wordnet() -> Meanings:
    """Return what lexicons say of senses, nothing of unknown ones; each is opened once, when it is asked."""

    @cache
    def opened(name: str) -> Lexicon:
        try:
            return Lexicon.open(name)
        except LexiconError as error:
            raise AnnotationError(f"{error}; or remove the question `sense`") from None

    @cache
    def gloss(name: str, key: str) -> str:
        return opened(name).gloss(key)

    return Meanings(gloss, lambda name, key: opened(name).another_gloss(key))
