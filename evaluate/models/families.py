"""What a family of models declares of itself."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, kw_only=True, slots=True)
class Family:
    """Models that are loaded in one way, and have one ability.

    - `ability`: what scorers ask for; `title`: what a model is called in messages, with its article.
    - `module`: of ours, the one whose `load` opens them.

    A plug-in has instead

    - `load(spec, *, device, dtype, allow_pickle, batch_tokens)` (and `labels`, where they are stated, for a model of
      inference): opens the model that is called `spec`; what each means is told by `senseprobe.evaluate.models.load`;
    - `claims(spec, config)`: whether a model is of this family; `config` is its config.json, empty if it has none.
    """

    id: str
    ability: str
    title: str
    module: str = ""
    load: Callable[..., Any] | None = None
    claims: Callable[[str, Mapping[str, Any]], bool] | None = None
    origin: str = ""


OWN = (
    Family(id="masked", ability="masked", title="a masked language model", module="masked"),
    Family(id="causal", ability="causal", title="a causal language model", module="causal"),
    Family(id="inference", ability="inference", title="a model of inference", module="classifier"),
)
