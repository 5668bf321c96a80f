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
        int | None, Option("--n -n", least=1, help="Number of rows.", shown_default="500; all that --where finds")
    ] = None
    overlap: Annotated[
        int | None,
        Option(least=1, help="Number of annotators per row.", shown_default="3; all --annotators if fewer"),
    ] = None
    seed: Annotated[int, Option(least=0, most=2**63 - 1, help="Seed of the sample, and of the order of sentences.")] = 0
    strata: Annotated[
        Sequence[str],
        Option(
            type=str,
            default="",
            parse=_listed,
            metavar="COLUMN,...",
            help="Sample each level of these columns, for example config,target.",
        ),
    ] = ()
    allocation: Annotated[
        str,
        Option(
            type=Literal["proportional", "equal"],
            help="Give levels of --strata shares in proportion to their size, or equal shares.",
        ),
    ] = "proportional"
    where: Annotated[
        Sequence[str],
        Option(metavar="COLUMN=VALUE", help="Ask only about rows with this value; may be repeated.", shown_default=""),
    ] = ()
    exclude: Annotated[
        Sequence[str | Path],
        Option(
            type=list[str],
            metavar="PROJECT",
            help="Omit the rows of this project; may be repeated.",
            shown_default="",
        ),
    ] = ()
    gold: Annotated[
        Path | None, Option(help="Mix in rows with known answers from this CSV: id, then a column per question.")
    ] = None
    config: Annotated[
        str | Sequence[str] | None,
        Option(help="Ask only about this config; may be repeated.", shown_default=""),
    ] = None
    questions: Annotated[
        Sequence[str],
        Option(
            type=str,
            default="",
            parse=_listed,
            metavar="ID,...",
            help="Ask only these questions, for example sense,natural.",
            shown_default="all that fit",
        ),
    ] = ()
    prefill: Annotated[
        bool, Option("--prefill", help="Show the release's labels as answers, which biases annotators.")
    ] = False
    groups: Annotated[
        bool, Option("--groups", help="Also ask annotators which groups they belong to; they may decline.")
    ] = False
