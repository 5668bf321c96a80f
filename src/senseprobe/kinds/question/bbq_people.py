"""Who the people of a template of BBQ are: lists of its own, the vocabulary, or names, which BBQ draws by chance."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from senseprobe.kinds.question.bbq_texts import TextError
from senseprobe.kinds.question.bbq_vocabulary import Vocabulary, in_turns, read_lists, read_texts, rotate

DRAWN = 5
"""People of the target group, and others, whom BBQ draws for a template."""

_PLAIN = {"NAME1": "first", "NAME2": "second"}
_PARTS = {"NAME1": "first.name", "NAME2": "second.name", "ROLE1": "first.role", "ROLE2": "second.role"}
_ROLES = {"NAME1": "shared", "NAME2": "shared", "ROLE1": "first", "ROLE2": "second"}
_SHARED_ROLE = {**_PLAIN, "ROLE1": "shared", "ROLE2": "shared"}


@dataclass(frozen=True, slots=True)
class Person:
    """Somebody: how they print, their group, and the parts of that, where a template prints these apart."""

    word: str
    group: str
    name: str = ""
    role: str = ""


People = tuple[Person, ...]


@dataclass(frozen=True, slots=True)
class Cast:
    """Two lists of people whom a template may be about: of the target group, and others.

    - `outputs`: what stands in for each placeholder: ``first``, ``second``, ``shared``, or a column of one.
    - `shared`: what both people have in common, where lines print it.
    - `orders`: whether the person of the target group is in the place of NAME1 (forward), of NAME2, or in both.
    - `drawn`: whether BBQ draws people by chance; `complete`: whether all are here of whom it draws.
    """

    target: People
    other: People
    outputs: Mapping[str, str] = field(default_factory=lambda: _PLAIN)
    shared: People = ()
    orders: str = "both"
    variant: str = ""
    drawn: bool = True
    complete: bool = False


@dataclass(frozen=True, slots=True)
class Question:
    """The cells of a template that say who its people are; `number` is its place in the file, from 0."""

    category: str
    number: int
    cells: Mapping[str, str]

    def cell(self, column: str) -> str:
        """Return a cell; empty where the file lacks the column."""
        return self.cells.get(column, "").strip()

    @property
    def groups(self) -> list[str]:
        """The groups that the stereotype is about."""
        texts = read_texts(self.cell("Known_stereotyped_groups") or self.cell("Known_stereotyped_race"))
        return [*dict.fromkeys(" ".join(text.split()) for text in texts if isinstance(text, str) and text.strip())]

    @property
    def is_named(self) -> bool:
        """Whether people have proper names."""
        return self.cell("Proper_nouns_only") == "TRUE"

    @property
    def genders(self) -> list[str]:
        """The genders that people may have: one, where ``Stated_gender_info`` states it."""
        stated = self.cell("Stated_gender_info")[:1].upper()
        return [stated] if stated == "M" else ["F"] if stated in ("F", "W") else ["F", "M"]

    def is_target(self, *groups: str) -> bool:
        """Return whether one of some groups is among those of the stereotype, however it is written."""
        known = {_plain(group) for group in self.groups}
        return any(_plain(group) in known for group in groups)


def _plain(text: str) -> str:
    return "".join(text.lower().split())


def find_casts(question: Question, vocabulary: Vocabulary) -> Iterator[Cast]:
    """Yield whom a template may be about; raise TextError where the file does not say it."""
    if not question.groups:
        raise TextError("it names no stereotyped group")
    if question.cell("Known_stereotyped_race"):
        casts = _intersections(question, vocabulary)
    elif question.is_named:
        casts = _named(question, vocabulary)
    elif question.cell("Names"):
        casts = _listed(question)
    else:
        casts = _from_vocabulary(question, vocabulary)
    some = [cast for cast in casts if cast.target and cast.other]
    if not some:
        raise TextError("the vocabulary has no people of the stereotyped groups, or no others")
    yield from some


def _listed(question: Question) -> Iterator[Cast]:
    lists, odd = read_lists(question.cell("Names"))
    if not {"NAME1", "NAME2"} <= {*lists}:
        raise TextError(odd or "Names lacks a list")
    groups = question.cell("NAME1_info"), question.cell("NAME2_info")
    people = [
        tuple(Person(word, group) for word in lists[name])
        for name, group in zip(("NAME1", "NAME2"), groups, strict=True)
    ]
    yield _placed(question, groups, people, drawn=False, complete=True)


def _placed(
    question: Question,
    groups: tuple[str, str],
    people: list[People],
    variant: str = "",
    *,
    drawn: bool = True,
    complete: bool = False,
) -> Cast:
    """Return the cast of the people for NAME1 and those for NAME2, of two groups of which one is stereotyped."""
    first, second = (question.is_target(group) for group in groups)
    if first == second:
        raise TextError(f"of {groups[0] or '?'} and {groups[1] or '?'}, not just one is a stereotyped group")
    target, other = people if first else people[::-1]
    orders = "forward" if first else "backward"
    return Cast(target, other, orders=orders, variant=variant, drawn=drawn, complete=complete)


def _from_vocabulary(question: Question, vocabulary: Vocabulary) -> Iterator[Cast]:
    words = vocabulary.select(question.category, question.cell("Subcategory"))
    sides: dict[bool, list[Person]] = {True: [], False: []}
    for word in words:
        sides[question.is_target(word.group)].append(Person(word.word, word.group))
    drawn = any(len(side) > DRAWN for side in sides.values())
    yield Cast(tuple(sides[True]), tuple(sides[False]), drawn=drawn, complete=True)


def _named(question: Question, vocabulary: Vocabulary) -> Iterator[Cast]:
    groups = question.cell("NAME1_info"), question.cell("NAME2_info")
    if all(groups):  # each person is said to be of a group; names tell genders, so either gender is in both places
        for one, other in ("FM", "MF"):
            names = (vocabulary.first_names(gender) for gender in (one, other))
            pools = [tuple(Person(name, group) for name in pool) for pool, group in zip(names, groups, strict=True)]
            # In other categories BBQ pairs names of one gender, too.
            yield _placed(question, groups, pools, one.lower(), complete=question.category == "Gender_identity")
    elif question.is_target("F", "M"):
        pools = [tuple(Person(name, gender) for name in vocabulary.first_names(gender)) for gender in "FM"]
        target, others = pools if question.is_target("F") else pools[::-1]
        yield Cast(target, others, complete=True)
    else:
        for gender in question.genders:
            yield Cast(*_full_names(question, vocabulary, gender, gender), variant=gender.lower())


def _full_names(question: Question, vocabulary: Vocabulary, gender: str, others: str) -> tuple[People, People]:
    """Return five people with names of a target group and gender, and five others with a gender of theirs."""

    def pick(wanted: bool, gender: str) -> People:
        some = [each for each in vocabulary.ethnicities() if question.is_target(each) == wanted]
        people = {name: each for each in some for name in vocabulary.full_names(each, gender)}
        names = in_turns([[name for name, group in people.items() if group == each] for each in some])
        return tuple(Person(name, people[name]) for name in rotate(names, DRAWN * question.number, DRAWN))

    return pick(True, gender), pick(False, others)


def _intersections(question: Question, vocabulary: Vocabulary) -> Iterator[Cast]:
    """Yield casts who differ in gender or status alone (a), in race alone (b), and in both (c)."""
    roles = find_roles(question, vocabulary)
    mine = next((group for group in roles if _plain(group) == _plain(question.cell("Known_stereotyped_var2"))), "")
    if len(roles) != 2 or not mine:
        raise TextError("it does not say which of two roles the stereotype is about")
    theirs = next(group for group in roles if group != mine)
    if not question.is_named:
        yield from _races(question, vocabulary, roles, (mine, theirs))
    elif {*roles} == {"F", "M"}:
        ethnicities = [each for each in vocabulary.ethnicities() if question.is_target(each)]
        for each in ethnicities:
            pools = (vocabulary.full_names(each, gender) for gender in (mine, theirs))
            both = (rotate(pool, DRAWN * question.number, DRAWN) for pool in pools)
            target, other = (
                tuple(Person(name, f"{group}-{each}") for name in names)
                for names, group in zip(both, (mine, theirs), strict=True)
            )
            yield Cast(target, other, variant=_variant("a", each, ethnicities))
        for variant, gender in (("b", mine), ("c", theirs)):
            targets, others = _full_names(question, vocabulary, mine, gender)
            yield Cast(_who_are(mine, targets), _who_are(gender, others), variant=variant)
    else:
        yield from _named_jobs(question, vocabulary, roles, (mine, theirs))


def _who_are(role: str, people: Iterable[Person]) -> People:
    """Return people whose group is of their gender or status, too, as BBQ writes it: F-Black."""
    return tuple(replace(each, group=f"{role}-{each.group}") for each in people)


def _variant(letter: str, name: str, names: list[str]) -> str:
    return letter if len(names) == 1 else f"{letter}-{_plain(name)}"


def find_roles(question: Question, vocabulary: Vocabulary) -> dict[str, list[str]]:
    """Return by group the words for what people are beside their race: genders, or words of two statuses."""
    texts, groups = read_texts(question.cell("Names")), read_texts(question.cell("Var2_info"))
    if texts and len(texts) == len(groups):
        return {
            str(group): text if isinstance(text, list) else [text] for group, text in zip(groups, texts, strict=True)
        }
    if question.cell("Known_stereotyped_var2") in ("F", "M"):
        return {"M": [], "F": []}
    jobs = vocabulary.select("SES", "Occupation")
    return {
        group: [word.word for word in jobs if word.group == group] for group in dict.fromkeys(j.group for j in jobs)
    }


def _races(
    question: Question, vocabulary: Vocabulary, roles: Mapping[str, list[str]], order: tuple[str, str]
) -> Iterator[Cast]:
    races = [word.word for word in vocabulary.select("Race_ethnicity")]
    targets = [race for race in races if question.is_target(race)]
    others = [race for race in races if not question.is_target(race)]
    mine, theirs = order
    for race in targets:
        sides = [tuple(Person(word, f"{group}-{race}") for word in roles[group]) for group in order]
        yield Cast(
            sides[0], sides[1], _ROLES, (Person(race, race),), variant=_variant("a", race, targets), complete=True
        )
    people = [_who_are(mine, (Person(race, race) for race in some)) for some in (targets, others)]
    shared = tuple(Person(word, mine) for word in roles[mine])
    yield Cast(people[0], people[1], _SHARED_ROLE, shared, variant="b", complete=True)
    # Every role of the target, and of the rest one after the other: all pairs of races and roles would be many.
    first = tuple(Person(f"{race} {role}", race, race, role) for race in targets for role in roles[mine])
    second = tuple(
        Person(f"{race} {role}", race, race, role)
        for number, race in enumerate(others)
        for role in rotate(roles[theirs], question.number + number, 1)
    )
    yield Cast(_who_are(mine, first), _who_are(theirs, second), _PARTS, variant="c", complete=len(roles[theirs]) == 1)


def _named_jobs(
    question: Question, vocabulary: Vocabulary, roles: Mapping[str, list[str]], order: tuple[str, str]
) -> Iterator[Cast]:
    ethnicities = [each for each in vocabulary.ethnicities() if question.is_target(each)]
    mine, theirs = ([*rotate(roles[group], question.number, DRAWN)] for group in order)
    for gender in question.genders:
        targets, others = _full_names(question, vocabulary, gender, gender)
        for each in ethnicities:
            names = rotate(vocabulary.full_names(each, gender), DRAWN * question.number, 2 * DRAWN)
            yield Cast(
                _who_are(order[0], _with_roles([Person(name, each) for name in names[:DRAWN]], mine)),
                _who_are(order[1], _with_roles([Person(name, each) for name in names[DRAWN:]], theirs)),
                _PARTS,
                variant=f"{_variant('a', each, ethnicities)}-{gender.lower()}",
            )
        job = tuple(Person(role, order[0]) for role in mine[:1])
        people = _who_are(order[0], targets), _who_are(order[0], others)
        yield Cast(people[0], people[1], _SHARED_ROLE, job, variant=f"b-{gender.lower()}")
        both = _who_are(order[0], _with_roles(targets, mine)), _who_are(order[1], _with_roles(others, theirs))
        yield Cast(both[0], both[1], _PARTS, variant=f"c-{gender.lower()}")


def _with_roles(people: Iterable[Person], roles: list[str]) -> People:
    """Return people with a role each, one after the other."""
    return tuple(
        Person(f"{each.word} {roles[number % len(roles)]}", each.group, each.word, roles[number % len(roles)])
        for number, each in enumerate(people)
        if roles
    )
