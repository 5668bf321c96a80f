"""Read the sentences of Winogender (Rudinger et al. 2018): `all_sentences.tsv`, whose ids say what the sentences are.

`nurse.visitor.1.female.txt` is occupation, participant, whom the pronoun means (0: the occupation, 1: the participant)
and gender. The male and the female sentence are a pair. The sentences carry no stereotype: where the pronoun means the
occupation and `occupations-stats.tsv` is imported with them, the gender that more than half of those who work in it
have (`bls_pct_female`) is taken for the stereotype; all other pairs are unlabelled.
"""

import re
from collections.abc import Mapping, Sequence

from senseprobe.importers.contents import delimited_rows
from senseprobe.importers.notes import LeftOut, Notes, check_count, check_sentence
from senseprobe.importers.sentence_pairs import contrast_design, find_difference, pair_row
from senseprobe.importers.sources import Row, Source, Table, excerpt, id_part

ANSWERS = {"0": "occupation", "1": "participant"}
GENDERS = ("male", "female", "neutral")
COLUMNS = ("occupation", "participant", "neutral_sentence", "source_file", "source_line", "anti_line")
SHARE = "bls_pct_female"
EVEN = 50.0
_NUMBER = re.compile(r"[0-9]{1,3}(?:\.[0-9]{1,20})?")

Key = tuple[str, str, str]
GenderedSentences = dict[str, tuple[int, str]]
Shares = Mapping[str, float]
Figure = tuple[Source, int, float]


def read(sources: Sequence[Source], notes: Notes) -> list[Table]:
    """Read the configs `occupation` and `participant`, by whom the pronoun means."""
    stats = [source for source in sources if SHARE in source.lines[0]]
    shares = _shares(stats, notes)
    rows: dict[str, list[Row]] = {name: [] for name in ANSWERS.values()}
    for source in (source for source in sources if source not in stats):
        groups = _groups(source, notes)
        pairs = {key: row for key, group in groups.items() if (row := _row(source, key, group, shares, notes))}
        if stats:
            _note_missing_shares(source, {key: groups[key] for key in pairs}, shares, notes)
        notes.add_fact(source, f"{len(pairs)} pairs of {len(groups)}")
        for key, row in pairs.items():
            rows[ANSWERS[key[2]]].append(row)
        check_count(sum(map(len, rows.values())), source.name)
    tables = []
    for name, answer_rows in rows.items():
        notes.keep_repeats(answer_rows)
        labels = {row["stereotype"] for row in answer_rows}
        stereotyped = "occupation" if {"female", "male"} <= labels else None
        fields = {} if labels - {None} else {"estimands": ()}
        design = contrast_design("gender", {"occupation": "occupation"}, COLUMNS, "pronoun", stereotyped, **fields)
        description = f"*He* against *she*, where the pronoun refers to the {name}."
        tables += [Table(name, description, design, answer_rows)] if answer_rows else []
    return tables


def _shares(stats: Sequence[Source], notes: Notes) -> dict[str, float]:
    """Return the share of women by occupation, in percent, without occupations that have several figures."""
    figures_by_occupation: dict[str, list[Figure]] = {}
    for source in stats:
        count = 0
        reason = f"no occupation with a {SHARE} from 0 to 100"
        for line, cells in delimited_rows(source, "\t", ("occupation", SHARE), notes, reason, quoted=False):
            name, share = cells["occupation"].strip().lower(), cells[SHARE].strip()
            if name and _NUMBER.fullmatch(share) and float(share) <= 100:
                figures_by_occupation.setdefault(name, []).append((source, line, float(share)))
                count += 1
            else:
                notes.leave_out(source, line, reason)
        notes.add_fact(source, f"{count} occupations")
    agreed = {name: _agreed_share(name, figures, notes) for name, figures in figures_by_occupation.items()}
    return {name: figure for name, figure in agreed.items() if figure is not None}


def _agreed_share(name: str, figures: Sequence[Figure], notes: Notes) -> float | None:
    """Return the figure of an occupation, None where several differ; note each further one."""
    first, line, share = figures[0]
    if len({other for *_, other in figures}) > 1:
        for source, at, _ in figures:
            notes.leave_out(source, at, f"{excerpt(name)} has several figures, so that none is taken")
        return None
    for source, at, _ in figures[1:]:
        notes.keep(source, at, f"{excerpt(name)} has the same figure in line {line} of {first.name}")
    return share


def _note_missing_shares(source: Source, groups: Mapping[Key, GenderedSentences], shares: Shares, notes: Notes) -> None:
    """Note each occupation without a figure, at its first pair that could be labelled."""
    noted: set[str] = set()
    for (occupation, _, answer), sentences in groups.items():
        name = occupation.lower()
        if answer == "0" and name not in shares and name not in noted:
            noted.add(name)
            line = min(line for line, _ in sentences.values())
            reason = f"the statistics have no figure for {excerpt(occupation)}: its pairs have no label"
            notes.keep(source, line, reason)


def _groups(source: Source, notes: Notes) -> dict[Key, GenderedSentences]:
    """Return the sentences, with their lines, by occupation, participant and answer, then by gender."""
    groups: dict[Key, GenderedSentences] = {}
    for line, cells in delimited_rows(source, "\t", ("sentid", "sentence"), notes, quoted=False):
        with notes.leaving_out(source, line):
            fields = cells["sentid"].strip().removesuffix(".txt").split(".")
            plain = all(field.strip() and field.isprintable() and len(field) < 60 for field in fields)
            if len(fields) != 4 or fields[2] not in ANSWERS or fields[3] not in GENDERS or not plain:
                raise LeftOut(f"id {excerpt(cells['sentid'])} is not occupation.participant.answer.gender")
            check_sentence(text := cells["sentence"].strip())
            occupation, participant, answer, gender = fields
            sentences = groups.setdefault((occupation, participant, answer), {})
            if gender in sentences:
                raise LeftOut(f"the same id as in line {sentences[gender][0]}")
            sentences[gender] = (line, text)
    return groups


def _row(source: Source, key: Key, sentences: GenderedSentences, shares: Shares, notes: Notes) -> Row | None:
    if missing := [gender for gender in GENDERS[:2] if gender not in sentences]:
        for line, _ in sentences.values():
            notes.leave_out(source, line, f"its pair has no {missing[0]} sentence")
        return None
    if "neutral" not in sentences:
        notes.keep(source, sentences["male"][0], "no neutral sentence beside the pair")
    occupation, participant, answer = key
    share = shares.get(occupation.lower(), EVEN) if answer == "0" else EVEN
    stereotype = "female" if share > EVEN else "male" if share < EVEN else None
    stereo, anti = ("female", "male") if stereotype == "female" else ("male", "female")
    (line, text), (other, against) = sentences[stereo], sentences[anti]
    difference = find_difference(text, against)
    if not difference.pronouns:
        notes.leave_out(source, line, f"differs from line {other} in other words than pronouns, or in nothing")
        return None
    return pair_row(
        text,
        against,
        source,
        line,
        difference,
        occupation if answer == "0" else participant,
        id=f"{ANSWERS[answer]}.{id_part(occupation)}.{id_part(participant)}",
        bias_type="gender",
        label_basis="occupation" if stereotype else "none",
        stereotype=stereotype,
        occupation=occupation,
        participant=participant,
        neutral_sentence=sentences["neutral"][1] if "neutral" in sentences else None,
        anti_line=str(other),
    )
