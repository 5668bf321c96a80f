"""What is asked for when a plan is drawn; importing this module is light, since commands take their options from it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from senseprobe.options import Option

READ_FIRST = "READ-ME-FIRST.txt"  # beside the sheets: what people read before they fill one in


def _listed(text: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in text.split(",") if part.strip())


@dataclass(frozen=True, kw_only=True, slots=True)
class PlanOptions:
    """What is asked of which rows.

    - `n`: how many rows; with a larger one than before, the plan grows.
    - `overlap`: how many people answer each row; None: as the project's plan has it, if there is one.
    - `exclude`: projects, by name or folder.
    - `gold`: a file of expected answers, whose rows are added.
    - `questions`: their ids; without `sense`, no lexicon is opened.
    """

    n: Annotated[
        int | None, Option("--n -n", least=1, help="How many rows.", shown_default="500; all that --where finds")
    ] = None
    overlap: Annotated[
        int | None,
        Option(least=1, help="How many people shall answer each row.", shown_default="3; all --annotators if fewer"),
    ] = None
    seed: Annotated[int, Option(least=0, most=2**63 - 1, help="Seed of the sample, and of the order of sentences.")] = 0
    strata: Annotated[
        Sequence[str],
        Option(
            type=str,
            default="",
            parse=_listed,
            metavar="COLUMN,...",
            help="Each level of these gets its share: config,target.",
        ),
    ] = ()
    allocation: Annotated[
        str,
        Option(
            type=Literal["proportional", "equal"],
            help="Whether levels of --strata get shares by size, or equal ones.",
        ),
    ] = "proportional"
    where: Annotated[
        Sequence[str],
        Option(metavar="COLUMN=VALUE", help="Only such rows; may be repeated.", shown_default=""),
    ] = ()
    exclude: Annotated[
        Sequence[str | Path],
        Option(
            type=list[str],
            metavar="PROJECT",
            help="Leave out the rows of this project; may be repeated.",
            shown_default="",
        ),
    ] = ()
    gold: Annotated[Path | None, Option(help="A CSV of known answers: id, then a column per question.")] = None
    config: Annotated[
        str | Sequence[str] | None,
        Option(help="Only rows of this config; may be repeated.", shown_default=""),
    ] = None
    questions: Annotated[
        Sequence[str],
        Option(
            type=str,
            default="",
            parse=_listed,
            metavar="ID,...",
            help="Ask only these, as sense,natural.",
            shown_default="all that fit",
        ),
    ] = ()
    prefill: Annotated[bool, Option("--prefill", help="Show the release's labels as answers, which biases people.")] = (
        False
    )
    groups: Annotated[bool, Option("--groups", help="Ask which groups annotators belong to, if they want to say.")] = (
        False
    )
