"""Which output of a classifier is entailment, neutral or contradiction: told by name, never by position."""

from collections.abc import Mapping, Sequence

from senseprobe.errors import ModelError
from senseprobe.wording import counted

CLASSES = ("entailment", "neutral", "contradiction")
"""The order in which probabilities are given, whatever the model's own."""

# Compared in lower case, letters only: CONTRADICTION, Entails, "contradiction " are all read.
_SPELLINGS: Mapping[str, str] = {
    **dict.fromkeys(("entailment", "entail", "entails", "entailed"), "entailment"),
    **dict.fromkeys(("neutral",), "neutral"),
    **dict.fromkeys(("contradiction", "contradict", "contradicts", "contradictory", "contradicted"), "contradiction"),
}
_REMEDY = "labels='entailment,neutral,contradiction'"


def class_columns(spec: str, names: Mapping[int, str], stated: str | None = None) -> tuple[int, int, int]:
    """The model's output for each of `CLASSES`, from the names that its config gives to its outputs (``id2label``).

    `stated` names all outputs in the model's order, separated by commas, where the config does not. It may not
    contradict the config. Raises ModelError, saying what was found, where the classes cannot be told.
    """
    found = [str(names[i]) for i in sorted(names)]
    if len(found) != len(CLASSES):
        raise ModelError(
            f"cannot use the model {spec} for inference: it has {counted(len(found), 'class', 'classes')}"
            f" ({', '.join(found)}), where entailment, neutral and contradiction are needed"
        )
    if sorted(names) != [*range(len(CLASSES))]:
        raise ModelError(
            f"cannot use the model {spec} for inference: its config.json numbers its classes"
            f" {', '.join(map(str, sorted(names)))}, where a model's outputs are 0, 1 and 2"
        )
    known = [_class_of(name) for name in found]
    order = _stated(spec, stated) if stated is not None else known
    if any(name not in (None, order[i]) for i, name in enumerate(known)):
        raise ModelError(
            f"cannot use the model {spec} for inference: labels says {stated}, its config.json {', '.join(found)}:"
            " leave labels out, or correct config.json"
        )
    if set(order) != {*CLASSES}:
        raise ModelError(
            f"cannot use the model {spec} for inference: its classes are called {', '.join(found)}, which does not tell"
            f" entailment, neutral and contradiction apart: state them in the model's order, as in {_REMEDY}"
        )
    first, second, third = (order.index(name) for name in CLASSES)
    return first, second, third


def _class_of(name: str) -> str | None:
    return _SPELLINGS.get("".join(filter(str.isalpha, name.casefold())))


def _stated(spec: str, stated: str) -> Sequence[str | None]:
    order = [_class_of(name) for name in stated.split(",")]
    if sorted(map(str, order)) != sorted(CLASSES):
        raise ModelError(
            f"cannot use the model {spec} for inference: labels must name entailment, neutral and contradiction once"
            f" each, in the order of the model, as in {_REMEDY}; it says {stated}"
        )
    return order
