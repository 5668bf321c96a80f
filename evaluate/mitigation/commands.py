"""The commands of this room, what they print, and when they are used."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Annotated, Any

from senseprobe.cli.command import AddedCommand, Command, as_dict, show_sections
from senseprobe.cli.examples import Use
from senseprobe.cli.release import parse_labels, parse_map
from senseprobe.errors import SenseprobeError
from senseprobe.evaluate.mitigation import api

if TYPE_CHECKING:
    from senseprobe.evaluate.mitigation.copy_check import CopyCheck
    from senseprobe.evaluate.mitigation.debias import AlteredCopy
    from senseprobe.evaluate.mitigation.nli_training import TrainedModel


def train_nli(
    columns: Sequence[str] | None,
    labels: str | None,
    say: Callable[[str], None],
    **options: Any,  # noqa: ANN401 - of the training
) -> "TrainedModel":
    """Train with what was typed of columns and labels."""
    integers = parse_labels([labels] if labels else None).get("gold")
    return api.train_nli(columns=parse_map(columns), labels=integers, say=say, **options)


def debias(
    model: Annotated[str | None, api.SOURCE] = None,
    out: Annotated[str | None, api.COPY] = None,
    check: Annotated[str | None, api.CHECK] = None,
    parent: Annotated[str | None, api.PARENT] = None,
    **options: Any,  # noqa: ANN401 - of what is removed
) -> "AlteredCopy | CopyCheck":
    """Make a copy, or check one."""
    if check is not None:
        if model is not None or out is not None:
            raise SenseprobeError("--check makes a copy again: give its folder, and --parent if that has moved")
        return api.check_debias(check, parent)
    if model is None or out is None:
        raise SenseprobeError("give a MODEL or vectors:FILE, and a new folder with --out; or a folder with --check")
    if parent is not None:
        raise SenseprobeError("--parent applies to --check")
    return api.debias(model, out, **options)


def exit_code_of_debias(value: "AlteredCopy | CopyCheck") -> int:
    """Return 1 where a copy is not what its record says."""
    return int(bool(getattr(value, "differences", ())))


COMMANDS: tuple[AddedCommand, ...] = (
    AddedCommand(
        id="directions",
        group="model",
        command=Command(api.measure_directions, show_sections, as_dict, name="directions"),
        uses={
            "model directions": Use(
                "See whether an axis is there before you remove it.",
                ("model directions vectors:glove", "model directions smollm2 --direction list:demonyms"),
            )
        },
    ),
    AddedCommand(
        id="train-nli",
        group="model",
        command=Command(api.train_nli, show_sections, as_dict, call=train_nli, name="train-nli"),
        uses={
            "model train-nli": Use(
                "Train an inference model, before and after something was removed from its vectors.",
                (
                    "model train-nli nli-train:kin-pairs --on vectors:glove -o nli-kin",
                    "model train-nli nli.jsonl --on vectors:glove --minutes 5 -o nli",
                ),
            )
        },
    ),
    AddedCommand(
        id="debias",
        group="model",
        command=Command(
            api.debias, show_sections, as_dict, exit_code_of_debias, call=debias, others=(api.check_debias,)
        ),
        uses={
            "model debias": Use(
                "Remove a direction, such as that of gender, from what a model reads, and score the copy.",
                (
                    "model debias vectors:glove --direction he-she -o projected",
                    "model debias --check glove-he-she --parent vectors:glove",
                ),
            )
        },
    ),
)
