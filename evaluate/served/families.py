"""The families of models that chat scorers ask, as the registry of families takes them."""

from senseprobe.evaluate.models.registry import Family
from senseprobe.evaluate.models.source import ModelSource
from senseprobe.evaluate.served.address import PREFIX
from senseprobe.evaluate.served.server import Server


def has_chat_template(source: ModelSource) -> bool:
    """Return whether the tokenizer of a source, in memory, in a folder or on the Hub, has a chat template."""
    if source.model is not None:
        return bool(getattr(source.tokenizer, "chat_template", None))
    from senseprobe.evaluate.models.checkpoint import names_chat_template

    return names_chat_template(source.spec)


CHAT = Family(
    id="chat",
    ability="chat",
    title="a chat model, served or with a template",
    path="senseprobe.evaluate.served.chat_model:ChatLM",
    base="causal",
    fits=has_chat_template,
    prefix=PREFIX,
    source=Server,
)
FAMILIES = (CHAT,)
