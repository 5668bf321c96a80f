"""A model behind a server, as scorers know models."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Self, TypeVar

from senseprobe.evaluate.scorers.conversation import Answer, LabelQuestion, LabelWeights, ReplyQuestion
from senseprobe.evaluate.served.address import DEFAULT, ServingOptions
from senseprobe.evaluate.served.client import Client
from senseprobe.evaluate.served.probe import ProbeReport, probe

T = TypeVar("T")


class ServedModel:
    """A chat model (and, where its server gives exact log-likelihoods, a causal one) behind an address.

    `name`: its address; `report`: what the probe saw; `noise`: what contents differ by between repeats, in nats.
    """

    keeps_answers = True

    def __init__(self, client: Client, report: ProbeReport, *, ability: str, say: Callable[[str], None]) -> None:
        self.client, self.report, self.ability, self._say = client, report, ability, say
        self.name = client.address.text
        self.noise = report.noise.rms

    @classmethod
    def open(
        cls,
        spec: str,
        *,
        ability: str,
        options: ServingOptions = DEFAULT,
        say: Callable[[str], None] = lambda _: None,
    ) -> Self:
        """Open the model at an address, and probe its server. ModelError names what the server does not do."""
        raise NotImplementedError

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def close(self) -> None:
        """Close its connections."""

    @cached_property
    def identity(self) -> Mapping[str, str]:
        """What its answers depend on, as far as a server tells, and the fingerprint (``vector``)."""
        raise NotImplementedError

    def portions(self, items: Sequence[T]) -> Iterator[Sequence[T]]:
        """Yield what is asked in one go."""
        raise NotImplementedError

    def weigh_labels(self, questions: Sequence[LabelQuestion]) -> list[LabelWeights | None]:
        """Return what the model gives to the labels of each question; None where it has no answer (`why`)."""
        raise NotImplementedError

    def weigh_replies(self, questions: Sequence[ReplyQuestion]) -> list[float | None]:
        """Return log P(reply | prompt) of each forced reply, in nats; None where it has none (`why`)."""
        raise NotImplementedError

    def answer(self, prompts: Sequence[LabelQuestion]) -> list[Answer | None]:
        """Return greedy answers, without what is thought before; None where there is none (`why`)."""
        raise NotImplementedError

    def likelihoods(self, texts: Sequence[str], *, start: bool) -> list[tuple[float, float, float] | None]:
        """Return of each text the sum of log P of its tokens, and how many tokens and bytes it has."""
        raise NotImplementedError

    def why(self, prompt: str) -> str:
        """Return why a prompt, or a text, has no answer."""
        raise NotImplementedError

    def shown(self) -> str:
        """Return one prompt as it was sent."""
        raise NotImplementedError

    def drift(self) -> str:
        """Return what changed of the model since it was opened; empty where nothing did."""
        raise NotImplementedError
