"""Read the sentences of Winogender (Rudinger et al. 2018): `all_sentences.tsv`, whose ids say what the sentences are.

`nurse.visitor.1.female.txt` is occupation, participant, whom the pronoun means (0: the occupation, 1: the participant)
and gender. The male and the female sentence are a pair. The sentences carry no stereotype: where the pronoun means the
occupation and `occupations-stats.tsv` is imported with them, the gender that more than half of those who work in it
have (`bls_pct_female`) is taken for the stereotype; all other pairs are unlabelled.
"""

import re
from collections.abc import Iterable, Mapping, Sequence

from senseprobe.importers.registry import ImportFormat
from senseprobe.importers.sentence_pairs import as_span, contrast_design, find_difference, find_word, pair_row
from senseprobe.importers.sources import (
    Notes,
    Row,
    Source,
    Table,
    check_count,
    delimited_rows,
    excerpt,
    id_part,
    note_repeats,
)

ANSWERS = {"0": "occupation", "1": "participant"}
GENDERS = ("male", "female", "neutral")
COLUMNS = ("occupation", "participant", "neutral_sentence", "source_file", "source_line", "anti_line")
SHARE = "bls_pct_female"
EVEN = 50.0
_NUMBER = re.compile(r"[0-9]{1,3}(?:\.[0-9]{1,20})?")

Key = tuple[str, str, str]
GenderedSentences = dict[str, tuple[int, str]]
Figure = tuple[Source, int, float]


def read(sources: Sequence[Source], notes: Notes) -> list[Table]:
    """Read the configs `occupation` and `participant`, by whom the pronoun means."""
    stats = [source for source in sources if SHARE in source.lines[0]]
    shares = _shares(stats, notes)
    rows: dict[str, list[Row]] = {name: [] for name in ANSWERS.values()}
    for source in sources:
        if source in stats:
            continue
        groups = _groups(source, notes)
        pairs = {key: _row(source, key, sentences, shares, notes) for key, sentences in groups.items()}
        if stats:
            _note_missing_shares(source, [key for key, row in pairs.items() if row], groups, shares, notes)
        notes.add_fact(source, f"{sum(row is not None for row in pairs.values())} pairs of {len(groups)}")
        for key, row in pairs.items():
            if row:
                rows[ANSWERS[key[2]]].append(row)
        check_count(sum(map(len, rows.values())), source.name)
    for table in rows.values():
        note_repeats(table, sources, notes)
    return [_table(name, pairs) for name, pairs in rows.items() if pairs]


def _table(name: str, rows: list[Row]) -> Table:
    labelled = any(row["label_basis"] != "none" for row in rows)
    classes = {row["stereotype"] for row in rows if row["stereotype"]}
    fields: dict[str, object] = {"estimands": ("preference", "preference-half") if labelled else ()}
    if len(classes) == 2:
        fields["strata"] = {"stereotype": "occupation"}
        fields["estimands"] = ("preference", "preference-half", "pronoun-stereotype", "pronoun-baseline")
    design = contrast_design("gender", {"occupation": "occupation"}, COLUMNS, "pronoun", **fields)
    return Table(name, f"He against she, where the pronoun means the {name}.", design, rows)


def _shares(stats: Sequence[Source], notes: Notes) -> dict[str, float]:
    """Return the share of women by occupation, in percent, without occupations that have several figures."""
    figures_by_occupation: dict[str, list[Figure]] = {}
    for source in stats:
        count = 0
        for line, cells in delimited_rows(source, "\t", ("occupation", SHARE)):
            name, share = _share(cells)
            if name:
                figures_by_occupation.setdefault(name, []).append((source, line, share))
                count += 1
            else:
                notes.leave_out(source, line, f"no occupation with a {SHARE} from 0 to 100")
        notes.add_fact(source, f"{count} occupations")
    agreed = {name: _agreed_share(name, figures, notes) for name, figures in figures_by_occupation.items()}
    return {name: figure for name, figure in agreed.items() if figure is not None}


def _share(cells: dict[str, str] | str) -> tuple[str, float]:
    """Return an occupation and its share; an empty name where it has no number from 0 to 100."""
    if isinstance(cells, str) or not _NUMBER.fullmatch(cells[SHARE].strip()):
        return "", 0.0
    share = float(cells[SHARE])
    return (cells["occupation"].strip().lower(), share) if share <= 100 else ("", 0.0)


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


def _note_missing_shares(
    source: Source,
    keys: Iterable[Key],
    groups: Mapping[Key, GenderedSentences],
    shares: Mapping[str, float],
    notes: Notes,
) -> None:
    """Note each occupation without a figure, at its first pair that could be labelled."""
    noted: set[str] = set()
    for key in keys:
        if key[2] == "0" and key[0].lower() not in shares and key[0].lower() not in noted:
            noted.add(key[0].lower())
            line = min(line for line, _ in groups[key].values())
            notes.keep(source, line, f"the statistics have no figure for {excerpt(key[0])}: its pairs have no label")


def _groups(source: Source, notes: Notes) -> dict[Key, GenderedSentences]:
    """Return the sentences, with their lines, by occupation, participant and answer, then by gender."""
    groups: dict[Key, GenderedSentences] = {}
    for line, cells in delimited_rows(source, "\t", ("sentid", "sentence")):
        if isinstance(cells, str):
            notes.leave_out(source, line, cells)
            continue
        parts = cells["sentid"].strip().removesuffix(".txt").split(".")
        if len(parts) != 4 or parts[2] not in ANSWERS or parts[3] not in GENDERS or not _are_plain(parts):
            notes.leave_out(source, line, f"id {excerpt(cells['sentid'])} is not occupation.participant.answer.gender")
            continue
        text = cells["sentence"].strip()
        if not notes.check_sentence(source, line, text):
            continue
        sentences = groups.setdefault((parts[0], parts[1], parts[2]), {})
        if parts[3] in sentences:
            notes.leave_out(source, line, f"the same id as in line {sentences[parts[3]][0]}")
        else:
            sentences[parts[3]] = (line, text)
    return groups


def _are_plain(parts: Iterable[str]) -> bool:
    return all(part.strip() and part.isprintable() and len(part) < 60 for part in parts)


def _row(
    source: Source, key: Key, sentences: GenderedSentences, shares: Mapping[str, float], notes: Notes
) -> Row | None:
    if missing := [gender for gender in GENDERS[:2] if gender not in sentences]:
        for line, _ in sentences.values():
            notes.leave_out(source, line, f"its pair has no {missing[0]} sentence")
        return None
    if "neutral" not in sentences:
        notes.keep(source, sentences["male"][0], "no neutral sentence beside the pair")
    share = shares.get(key[0].lower(), EVEN) if key[2] == "0" else EVEN
    stereotype = "female" if share > EVEN else "male" if share < EVEN else None
    stereo, anti = ("female", "male") if stereotype == "female" else ("male", "female")
    (line, text), (other, against) = sentences[stereo], sentences[anti]
    difference = find_difference(text, against)
    if not difference.pronouns:
        notes.leave_out(source, line, f"differs from line {other} in other words than pronouns, or in nothing")
        return None
    word = key[0] if key[2] == "0" else key[1]
    return pair_row(
        text,
        against,
        difference,
        id=f"{ANSWERS[key[2]]}.{'.'.join(map(id_part, key[:2]))}",
        stereo_span=as_span(find_word(text, word)),
        anti_span=as_span(find_word(against, word)),
        target=word,
        bias_type="gender",
        label_basis="occupation" if stereotype else "none",
        stereotype=stereotype,
        occupation=key[0],
        participant=key[1],
        neutral_sentence=sentences["neutral"][1] if "neutral" in sentences else None,
        source_file=source.name,
        source_line=str(line),
        anti_line=str(other),
    )


FORMAT = ImportFormat(
    name="winogender",
    title="Winogender schemas",
    files="all_sentences.tsv, with occupations-stats.tsv if there is one",
    paper=r"""@inproceedings{rudinger2018,
  author    = {Rudinger, Rachel and Naradowsky, Jason and Leonard, Brian and Van Durme, Benjamin},
  title     = {Gender Bias in Coreference Resolution},
  booktitle = {Proceedings of the 2018 Conference of the North American Chapter of the Association for Computational
               Linguistics: Human Language Technologies, Volume 2 (Short Papers)},
  year      = {2018},
  url       = {https://aclanthology.org/N18-2002},
}
""",
    measured="Whether a language model gives a sentence a higher score with one pronoun than with the other. The "
    "paper measured coreference systems, which is another figure.",
    read=read,
)
