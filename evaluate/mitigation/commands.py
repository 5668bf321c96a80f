"""The commands of this room, what they print, and when they are used."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from senseprobe.cli.command import AddedCommand, Command, as_dict, show_sections
from senseprobe.cli.examples import Use
from senseprobe.cli.release import parse_labels, parse_map
from senseprobe.evaluate.mitigation import api

if TYPE_CHECKING:
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


COMMANDS: tuple[AddedCommand, ...] = (
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
)
