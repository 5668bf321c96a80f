"""The client of a served model: requests, again where that helps, answers that are kept, and a key that nothing shows."""

from collections.abc import Callable, Mapping, Sequence
from types import TracebackType
from typing import Any, NamedTuple, Self

from senseprobe.evaluate.served.address import Address, ServingOptions
from senseprobe.evaluate.served.answer_store import AnswerStore

Say = Callable[[str], None]


class Response(NamedTuple):
    """What a server answered: the status, the JSON of the body, and the server's id of the request ("" without one).

    `body` is None where it is no JSON. Where a body of status 200 has an ``error``, `status` is that of the error, 400
    where it has none. `stored`: the answer is of an earlier request, nothing was asked.
    """

    status: int
    body: Any
    request_id: str = ""
    stored: bool = False


class Client:
    """Requests to the server at an address, from as many threads as one likes; to be used as a context manager.

    `say` hears, in one sentence each, of what makes the client wait. `store` may be set later, when it is known what
    model it is that answers: without one nothing is kept. `requests` counts what was asked, without what was stored.
    """

    store: AnswerStore | None
    requests: int

    def __init__(
        self,
        address: Address,
        options: ServingOptions,
        *,
        store: AnswerStore | None = None,
        say: Say = lambda text: None,
        sleep: Callable[[float], object] | None = None,
    ) -> None:
        self.address, self.options, self.store = address, options, store

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections."""

    @property
    def concurrency(self) -> int:
        """Requests at a time: as the options say, or 1 on loopback and 4 elsewhere; at most the server's slots."""
        raise NotImplementedError

    def limit_slots(self, slots: int) -> None:
        """Ask no more than so many requests at a time from now on."""
        raise NotImplementedError

    @property
    def tokens(self) -> tuple[int, int]:
        """Tokens read and written by the server, as its answers say, without stored answers."""
        raise NotImplementedError

    @property
    def spent(self) -> float:
        """What these tokens cost, 0.0 without a price."""
        raise NotImplementedError

    def url(self, path: str) -> str:
        """Return the URL of a path: ``/v1/…`` is below the base, all else beside it."""
        raise NotImplementedError

    def post(
        self,
        path: str,
        body: Mapping[str, Any],
        *,
        store: bool = True,
        ok: Sequence[int] = (200,),
        retry: bool = True,
        with_key: bool = True,
    ) -> Response:
        """Return the answer to a body, which may come from the store; statuses in `ok` are kept there.

        A status that is no reason to ask again, as 400 or 404, is returned like any other. Without `retry` one request
        is sent, and every status is returned. Raise ModelError where there is no answer: the tries are spent, the
        quota or the budget is, or the server redirects.
        """
        raise NotImplementedError

    def get(self, path: str, *, retry: bool = True, with_key: bool = True) -> Response:
        """Return what a path has, as `post` does; never of the store."""
        raise NotImplementedError

    def map(
        self, path: str, bodies: Sequence[Mapping[str, Any]], *, store: bool = True, ok: Sequence[int] = (200,)
    ) -> list[Response]:
        """Return the answers to bodies, in their order, at most `concurrency` of them asked at a time.

        Raise the first error, as `post` does: what was begun is answered and kept, what was not is not asked.
        """
        raise NotImplementedError

    def reason(self, response: Response) -> str:
        """Return what a server says of a failure, in one short line that is safe to print: ``HTTP 400: too long``."""
        raise NotImplementedError
