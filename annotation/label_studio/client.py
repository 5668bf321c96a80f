"""Calls to a Label Studio server, through its own client; each failure is one line that says what to do.

::

    AnnotationError
    ├── Unreachable    no server answers: the request was not carried out
    ├── Unanswered     the connection was lost, or it took too long: the request may or may not have been carried out
    └── NoProject      there is no such project (any more)
"""

import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, urlsplit

from senseprobe.errors import AnnotationError
from senseprobe.exchange import LateError, make_auth
from senseprobe.messages import printable

WHERE = "in Label Studio under Account & Settings"  # where users get tokens
RETRY = "nothing is lost: run the same command again"

_LONGEST = 300
_ADVICE = {
    401: "Label Studio does not accept the token in LABEL_STUDIO_API_KEY: it is incomplete, revoked, expired, or for "
    f"another server; copy it again, or make a new one {WHERE} > Personal Access Token",
    400: "Label Studio rejects the data",
    403: "the user of this token is not allowed to do this: use the token of a user who is",
    405: "the address is redirected, or does not belong to Label Studio: check LABEL_STUDIO_URL (http or https?)",
    413: "a server in front of Label Studio rejects requests of this size: ask its administrator to allow 20 MB",
    429: f"Label Studio asks for fewer requests: wait a few minutes; {RETRY}",
}
_BROKEN = f"Label Studio failed: see its log; {RETRY}"
_OTHER = "the server at {} is not Label Studio: set LABEL_STUDIO_URL to the part before /projects in your browser"

# Whatever looks like a token or a cookie, whosever it is: answers of servers and proxies repeat what was sent.
_SECRETS = (
    re.compile(r"eyJ[\w-]{4,}(?:\.[\w-]*){0,2}"),
    re.compile(r"\b[0-9a-fA-F]{40}\b"),
    re.compile(r"(?i)\b(?:bearer|token)\s+[\w.~+/-]{16,}=*"),
    re.compile(r"(?i)\b(?:set-cookie|cookie|sessionid|csrftoken|authorization|api[_-]?key|password)\b['\"]?\s*[:=].*"),
)


def check_address(url: str) -> str:
    """Return the address as it is, with ``/`` at its end; raise AnnotationError where it is no address of a server.

    >>> check_address("http://localhost:8080")
    'http://localhost:8080/'
    """
    url = url.strip()
    try:
        parts = urlsplit(url)
        is_address = parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port or 0) >= 0
    except ValueError:
        is_address = False
    if not is_address or not url.isprintable() or " " in url:
        raise AnnotationError(
            "LABEL_STUDIO_URL is not the address of a server: expected an address such as http://localhost:8080"
        )
    if parts.username is not None or parts.password is not None or parts.query or parts.fragment:
        raise AnnotationError("LABEL_STUDIO_URL contains a password, ? or #: write only http(s)://HOST[:PORT][/PATH]")
    return f"{parts.scheme}://{parts.netloc}{parts.path.rstrip('/')}/"


def check_key(key: str) -> str:
    """Return the token without blanks around it; raise AnnotationError where it cannot be a token."""
    if not key.strip():
        raise AnnotationError(f"the token for Label Studio is missing: set LABEL_STUDIO_API_KEY ({WHERE})")
    if not re.fullmatch(r"[!-~]+", key.strip()):
        raise AnnotationError("LABEL_STUDIO_API_KEY contains spaces or letters that a token cannot have: set it again")
    return key.strip()


def clean(text: str, key: str = "") -> str:
    """Return a text of others as one short line that is safe to print and holds no token."""
    text = " ".join(text[:20_000].split())
    for secret in (key, quote(key, safe="")) if key else ():
        text = text.replace(secret, "***")
    for pattern in _SECRETS:
        text = pattern.sub("***", text)
    text = printable(text)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"


def explain_refusal(status: int | None, body: object, url: str, key: str) -> str:
    """Return why a server that answered with `status` and `body` refused a request, and what to do."""
    text = clean(_text_of(body), key)
    if status is not None and 300 <= status < 400:
        return f"{_ADVICE[405]} (HTTP {status})"
    if status is None or status < 400 or (status in (404, 405) and isinstance(body, str)):
        return _OTHER.format(clean(url, key))
    advice = _BROKEN if status >= 500 else _ADVICE.get(status, "Label Studio refuses it")
    return f"{advice} (HTTP {status}{f': {text}' if text else ''})"


def explain_no_answer(kind: str, url: str, seconds: float) -> str:
    """Return what to do where no answer came; `kind` is the name of httpx's class for that."""
    url = clean(url)
    if kind in ("ConnectError", "ConnectTimeout"):
        return f"no server answers at {url}: is Label Studio running (`make label-studio`)? Is LABEL_STUDIO_URL right?"
    if kind.endswith("Timeout"):
        return f"{url} did not answer within {seconds:g} s: it is busy or slow; {RETRY}"
    if kind in ("ProxyError", "UnsupportedProtocol", "InvalidURL"):
        return "LABEL_STUDIO_URL, HTTP_PROXY, HTTPS_PROXY or ALL_PROXY is not a valid address: correct it"
    if kind in ("DecodingError", "TooManyRedirects"):
        return _OTHER.format(url)
    return f"the connection to {url} was cut; {RETRY}"


def _text_of(body: object) -> str:
    """Return what an answer says, without its page: Label Studio's own errors are JSON with `detail` and by field."""
    if isinstance(body, str):
        return "" if "<" in body[:2000] else body
    if not isinstance(body, Mapping):
        return "" if body is None else json.dumps(body, default=str)[:20_000]
    fields = body.get("validation_errors")
    parts = [f"{name}: {_flat(value)}" for name, value in fields.items()] if isinstance(fields, Mapping) else []
    return "; ".join(parts) or _flat(body.get("detail") or body)


def _flat(value: object) -> str:
    if isinstance(value, list):
        return "; ".join(_flat(part) for part in value[:5])
    return value if isinstance(value, str) else json.dumps(value, default=str, ensure_ascii=False)[:20_000]


INSTALL = "pip install 'senseprobe[annotation]'"
PAGE = 1000  # tasks of a request: more are no faster
MOST = 1 << 30  # the largest export that is read, in bytes

_SECONDS = {"ask": 60.0, "send": 120.0, "export": 900.0}
_FIELDS = "id,data,total_annotations,cancelled_annotations,annotators,avg_lead_time"


class Unreachable(AnnotationError):
    """The server does not answer at its address: nothing was done."""


class Unanswered(AnnotationError):
    """No answer came: the request may have been carried out, or may still be."""


class NoProject(AnnotationError):
    """There is no such project on the server."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Project:
    """A project on the server: `tasks` is how many it says it has, `overlap` how many answers each shall get.

    `created` is when it was made: another server at the same address may give its number to another project.
    """

    id: int
    title: str
    interface: str
    tasks: int
    overlap: int
    created: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class Task:
    """A task on the server; `row` and `content` are empty in those of others, `people` the ids of who answered it.

    `seconds`: how long its answers took on average; None where it has none.
    """

    id: int
    row: str
    content: str
    answers: int = 0
    skips: int = 0
    people: tuple[int, ...] = ()
    seconds: float | None = None


def connect(url: str | None = None, key: str | None = None, *, seconds: Mapping[str, float] | None = None) -> "Server":
    """Return the server at `url`, after it has accepted the token `key`.

    They default to LABEL_STUDIO_URL and LABEL_STUDIO_API_KEY; both kinds of token will do. `seconds` are how long to
    wait for an answer: ``ask``, ``send``, ``export``.
    """
    url = url or os.environ.get("LABEL_STUDIO_URL", "")
    if not url:
        raise AnnotationError(
            "the address of Label Studio is missing: set LABEL_STUDIO_URL (`make label-studio` starts a server), "
            "or use `senseprobe annotate export`, which writes spreadsheets and needs no server"
        )
    base = check_address(url)
    key = check_key(key or os.environ.get("LABEL_STUDIO_API_KEY", ""))
    try:
        import httpx
        from label_studio_sdk.client import LabelStudio
    except ImportError:
        raise AnnotationError(f"Label Studio needs its client: {INSTALL}") from None
    waits = {**_SECONDS, **(seconds or {})}
    with _explain_errors("connect to Label Studio", base, key, waits["ask"]):
        # A redirect would take the token elsewhere: a personal one is in the body that asks for an access token, for
        # which the client copies the one that it is given, with its `auth`.
        auth = make_auth(httpx, lambda request: request.url.path.endswith("/export"))
        http = httpx.Client(timeout=waits["ask"], follow_redirects=False, auth=auth)
        client = LabelStudio(base_url=base, api_key=key, timeout=waits["ask"], max_retries=1, httpx_client=http)
    server = Server(client, base, key, waits)
    server.whoami()
    return server


class Server:
    """A Label Studio server, and a user's token to it."""

    def __init__(self, client: Any, url: str, key: str, seconds: Mapping[str, float]) -> None:  # noqa: ANN401 - LabelStudio
        self._client, self._key, self._seconds = client, key, seconds
        self.url = url
        """Its address, with ``/`` at the end."""

    def __str__(self) -> str:
        return clean(self.url, self._key)

    def link(self, project: Project) -> str:
        """Return where people see a project."""
        return f"{self.url}projects/{project.id}/"

    def whoami(self) -> str:
        """Return the e-mail address of the token's owner."""
        with self._explaining("read your account"):
            me = self._client.users.whoami()
            return str(me.email or _number(me.id))

    def people(self) -> dict[int, str]:
        """Return the e-mail addresses of all users, by id."""
        with self._explaining("list the users"):
            return {_number(user.id): str(user.email or "") for user in self._client.users.list()}

    def projects(self, title: str) -> list[int]:
        """Return the ids of all projects with this title; titles are not unique."""
        with self._explaining("look for the project"):
            page = self._client.projects.list(title=title, include="id,title", page_size=PAGE)
            return sorted(_number(project.id) for project in page.items or () if project.title == title)

    def project(self, number: int) -> Project:
        """Return a project by its id; raise NoProject where there is none."""
        with self._explaining(f"read project {number}", number):
            project = self._client.projects.get(number)
            return Project(
                id=_number(project.id),
                title=str(project.title),
                interface=str(project.label_config or ""),
                tasks=_number(project.task_number or 0),
                overlap=_number(project.maximum_annotations or 1),
                created=str(project.created_at or ""),
            )

    def create(self, title: str, interface: str, **settings: object) -> int:
        """Make a project, with settings as Label Studio names them, and return its id; it is sent only once."""
        with self._explaining("make the project"):
            project = self._client.projects.create(
                title=title, label_config=interface, request_options=self._once("ask"), **settings
            )
            return _number(project.id)

    def send(self, project: int, tasks: Sequence[Mapping[str, Any]]) -> None:
        """Add tasks to a project, all or none of them. It is sent only once: a second request would add them again.

        Raises Unanswered where nobody knows whether they were added: look for them before you send them again.
        """
        with self._explaining(f"send {len(tasks)} tasks", project, "send"):
            self._client.projects.import_tasks(project, request=tasks, request_options=self._once("send"))

    def tasks(self, project: int, after: int = 0, *, people: bool = False) -> Iterator[list[Task]]:
        """Yield the tasks above id `after`, sorted; none is missed if others add or delete. `people`: who answered."""
        fields = "all" if people else "task_only"
        while True:
            above = {"filter": "filter:tasks:id", "operator": "greater", "type": "Number", "value": after}
            query = json.dumps({"filters": {"conjunction": "and", "items": [above]}, "ordering": ["tasks:id"]})
            with self._explaining("list the tasks", project):
                page = self._client.tasks.list(
                    project=project, fields=fields, include=_FIELDS, page_size=PAGE, query=query
                )
                tasks = sorted((_task(task) for task in page.items or ()), key=lambda task: task.id)
            if not tasks:
                return
            if tasks[0].id <= after:
                raise AnnotationError(
                    "this Label Studio ignores the order of tasks in requests: senseprobe is tested with version 1.23"
                )
            yield tasks
            after = tasks[-1].id

    def export(self, project: int) -> bytes:
        """Return all tasks of a project with all that was answered, as Label Studio's JSON."""
        options = {"max_retries": 0, "timeout_in_seconds": self._seconds["export"], "chunk_size": 1 << 20}
        raw = bytearray()
        with self._explaining("fetch the answers", project, "export"):
            for chunk in self._client.projects.exports.download_sync(
                project, export_type="JSON", download_all_tasks=True, request_options=options
            ):
                raw += chunk
                if len(raw) > MOST:
                    raise AnnotationError(f"the answers of project {project} are larger than {MOST >> 20} MiB")
        return bytes(raw)

    def _once(self, kind: str) -> dict[str, Any]:
        return {"max_retries": 0, "timeout_in_seconds": self._seconds[kind]}

    @contextmanager
    def _explaining(self, doing: str, project: int | None = None, kind: str = "ask") -> Iterator[None]:
        with _explain_errors(doing, self.url, self._key, self._seconds[kind], project):
            yield


@contextmanager
def _explain_errors(doing: str, url: str, key: str, seconds: float, project: int | None = None) -> Iterator[None]:
    """Turn what the client raises into an AnnotationError; its own words hold cookies, and are not shown."""
    import httpx
    from label_studio_sdk.core.api_error import ApiError

    try:
        yield
    except AnnotationError:
        raise
    except ApiError as error:
        if error.status_code == 404 and project is not None and isinstance(error.body, Mapping):
            raise NoProject(f"cannot {doing}: {clean(url, key)} does not have project {project} (any more)") from None
        kind = Unanswered if error.status_code in (408, 502, 503, 504) else AnnotationError
        raise kind(f"cannot {doing}: {explain_refusal(error.status_code, error.body, url, key)}") from None
    except LateError:
        raise Unanswered(f"cannot {doing}: {explain_no_answer('Timeout', clean(url, key), seconds)}") from None
    except (httpx.HTTPError, httpx.InvalidURL, httpx.StreamError) as error:
        name = type(error).__name__
        away = isinstance(error, httpx.ConnectError | httpx.ConnectTimeout | httpx.PoolTimeout)
        lost = Unreachable if away else Unanswered
        raise lost(f"cannot {doing}: {explain_no_answer(name, clean(url, key), seconds)}") from None
    except (ValueError, LookupError, AttributeError, TypeError, OSError, ImportError, RecursionError):
        # What the client stumbles over where another page than expected is given, or a proxy's address is none.
        raise AnnotationError(f"cannot {doing}: {explain_refusal(None, None, url, key)}") from None


def _task(task: Any) -> Task:  # noqa: ANN401 - the client's model
    data = task.data if isinstance(task.data, Mapping) else {}
    people = (person.get("id") if isinstance(person, Mapping) else person for person in task.annotators or ())
    return Task(
        id=_number(task.id),
        row=str(data.get("ext_id", "")),
        content=str(data.get("content", "")),
        answers=_number(task.total_annotations or 0),
        skips=_number(task.cancelled_annotations or 0),
        people=tuple(sorted(person for person in people if isinstance(person, int))),
        seconds=getattr(task, "avg_lead_time", None),
    )


def _number(value: object) -> int:
    """Return the number as it is; raise TypeError, as for any unexpected page, where it is not one."""
    if not isinstance(value, int) or isinstance(value, bool):
        raise TypeError(type(value))
    return value
