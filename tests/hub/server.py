"""A small Hub: the routes of the Hugging Face Hub that `huggingface_hub` and `datasets` call, and faults on demand.

It keeps everything in memory. It has no Xet, no redirects to a content network, and no limits.
"""

import base64
import hashlib
import json
import re
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, unquote, urlsplit

from tests.hub.state import ONLY_READS, ROLES, USERS, Answer, Blob, Fault, Repo, entry, error, may_write


class Hub:
    """The state, and the server's thread.

    `log` holds route and request line; `before` maps a route to what somebody else does just before its next request is
    answered; `instead` maps a route to what changes all its answers; `renamed` maps repositories to their new names, to
    which requests are sent on; `delay` is how many seconds each answer takes; `sends` maps a route to what sends the
    bytes of its answers, in place of all at once.
    """

    def __init__(self) -> None:
        self.repos: dict[str, Repo] = {}
        self.objects: dict[str, bytes] = {}
        self.faults: list[Fault] = []
        self.log: list[tuple[str, str]] = []
        self.lock = threading.RLock()
        self.before: dict[str, Callable[[], object]] = {}
        self.instead: dict[str, Callable[[Answer], Answer]] = {}
        self.renamed: dict[str, str] = {}
        self.delay = 0.0
        self.sends: dict[str, Callable[[Handler, bytes], None]] = {}
        self.sockets: set[socket.socket] = set()
        hub = self

        class Bound(Handler):
            state = hub

        class Server(ThreadingHTTPServer):
            request_queue_size = 128
            daemon_threads = True

            def handle_error(self, request: object, client_address: object) -> None:
                """A client that was killed is no news."""

        self._server = Server(("127.0.0.1", 0), Bound)
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()

    def stop(self) -> None:
        """Close the port, and the connections that clients keep."""
        self._server.shutdown()
        self._server.server_close()
        for open_socket in [*self.sockets]:
            with suppress(OSError):  # the client was faster
                open_socket.shutdown(socket.SHUT_RDWR)  # `close` alone would leave it open to the thread that reads it

    def fail(self, route: str, what: int | str, times: int = 1, says: str = "") -> None:
        """Have the next requests of a route fail."""
        self.faults.append(Fault(route, what, times, says))

    def seen(self, route: str) -> int:
        """How many requests of a route there were."""
        return sum(name == route for name, _ in self.log)

    def fault(self, route: str) -> Fault | None:
        """The fault that this request meets, if any."""
        with self.lock:
            for fault in self.faults:
                if fault.route == route and fault.times > 0:
                    fault.times -= 1
                    return fault
        return None


NAME = r"(?P<repo>[\w.-]+/[\w.-]+)"
API = rf"/api/datasets/{NAME}"
ROUTES: list[tuple[str, str, str]] = [
    ("GET", "whoami", r"/api/whoami-v2"),
    ("POST", "create", r"/api/repos/create"),
    ("POST", "yaml", r"/api/validate-yaml"),
    ("PUT", "settings", rf"{API}/settings"),
    ("GET", "info", rf"{API}(?:/revision/(?P<rev>[^/]+))?"),
    ("GET", "refs", rf"{API}/refs"),
    ("GET", "commits", rf"{API}/commits/(?P<rev>[^/]+)"),
    ("GET", "tree", rf"{API}/tree/(?P<rev>[^/]+)(?:/(?P<path>.*))?"),
    ("POST", "preupload", rf"{API}/preupload/(?P<rev>[^/]+)"),
    ("POST", "commit", rf"{API}/commit/(?P<rev>[^/]+)"),
    ("POST", "tag", rf"{API}/tag/(?P<rev>[^/]+)"),
    ("POST", "batch", rf"/datasets/{NAME}\.git/info/lfs/objects/batch"),
    ("PUT", "object", r"/lfs/(?P<sha>[0-9a-f]{64})"),
    ("GET", "resolve", rf"/datasets/{NAME}/resolve/(?P<rev>[^/]+)/(?P<path>.+)"),
]
WRITES = {"settings", "preupload", "commit", "tag", "batch"}


class Handler(BaseHTTPRequestHandler):
    """One connection."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # else each answer waits 40 ms for the client to confirm its head
    wbufsize = 2**16
    state: Hub

    def setup(self) -> None:
        """Remember the socket, so that `stop` can close it."""
        super().setup()
        self.state.sockets.add(self.connection)

    def finish(self) -> None:
        """Forget it."""
        self.state.sockets.discard(self.connection)
        super().finish()

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class's name
        """Say nothing on standard error."""

    def _do(self) -> None:
        url = urlsplit(self.path)
        route, path_fields = self._route(url.path)
        self.state.log.append((route, f"{self.command} {self.path}"))
        time.sleep(self.state.delay)
        fault = self.state.fault(route)
        if fault is not None and fault.what == "cut":
            self.rfile.read(min(64, int(self.headers.get("Content-Length") or 0)))
            return self.cut()
        body = self._body()
        if fault is not None and isinstance(fault.what, int):
            return self._send(error(fault.what, "", fault.says or f"fault {fault.what}"))
        with self.state.lock:
            meanwhile = self.state.before.pop(route, None)
        if meanwhile is not None:
            meanwhile()
        answer = self._answer(route, path_fields, parse_qs(url.query), body)
        if route in self.state.instead:
            answer = self.state.instead[route](answer)
        return self.cut() if fault is not None else self._send(answer, self.state.sends.get(route))

    do_GET = do_HEAD = do_POST = do_PUT = _do  # noqa: N815 - the base class's names

    def _route(self, path: str) -> tuple[str, dict[str, str]]:
        method = "GET" if self.command == "HEAD" else self.command
        for expected, name, pattern in ROUTES:
            if expected == method and (match := re.fullmatch(pattern, path)):
                return name, {key: unquote(value) for key, value in match.groupdict().items() if value}
        return "unknown", {}

    def _body(self) -> bytes:
        if "chunked" not in self.headers.get("Transfer-Encoding", ""):
            return self.rfile.read(int(self.headers.get("Content-Length") or 0))
        return b"".join(self._chunks())

    def _chunks(self) -> Iterator[bytes]:
        while size := int(self.rfile.readline().split(b";")[0], 16):
            yield self.rfile.read(size)
            self.rfile.readline()
        self.rfile.readline()

    def cut(self) -> None:
        """Close the connection in the middle of an answer."""
        self.close_connection = True
        self.connection.shutdown(socket.SHUT_RDWR)

    def _answer(self, route: str, path_fields: dict[str, str], query: dict[str, list[str]], body: bytes) -> Answer:
        with self.state.lock:
            token, refusal = self._token()
            user = USERS.get(token, "")
            work: Callable[..., Answer] | None = getattr(self, f"_{route}_", None)
            if refusal or work is None:
                return refusal or error(404, "", "no such route")
            if "repo" not in path_fields:
                return work(token, body, **path_fields)
            name = path_fields.pop("repo")
            if new := self.state.renamed.get(name):
                # 307 keeps method and body, as the Hub's does.
                return Answer(307, {}, {"Location": self.path.replace(name, new)})
            repo, space = self.state.repos.get(name), name.partition("/")[0]
            owns = user == space or space in ROLES.get(user, {})
            if repo is None or (repo.private and not owns):
                return error(404 if user else 401, "RepoNotFound", "Repository not found")
            if route in WRITES and not may_write(token, space):
                return error(403, "", "You don't have the rights to write here")
            if route == "resolve" and repo.gated and not owns:
                return error(403, "GatedRepo", "Access to this dataset is restricted")
            return work(repo, query if self.command in {"GET", "HEAD"} else body, **path_fields)

    def _token(self) -> tuple[str, Answer | None]:
        token = (self.headers.get("Authorization") or "").removeprefix("Bearer ")
        if token and token not in USERS:
            return "", error(401, "", "Invalid credentials in Authorization header")
        return token, None

    def _whoami_(self, token: str, _: bytes) -> Answer:
        if not token:
            return error(401, "", "who?")
        user = USERS[token]
        orgs = [{"name": name, "type": "org", "roleInOrg": role} for name, role in ROLES.get(user, {}).items()]
        role = {"role": "read" if token == ONLY_READS else "write"}
        return Answer(body={"name": user, "type": "user", "orgs": orgs, "auth": {"accessToken": role}})

    def _yaml_(self, _: str, body: bytes) -> Answer:
        fine = json.loads(body)["content"].startswith("---\n")
        return Answer(
            200 if fine else 400, {"errors": [] if fine else [{"message": "no front matter"}], "warnings": []}
        )

    def _create_(self, token: str, body: bytes) -> Answer:
        requested = json.loads(body)
        space = requested.get("organization") or USERS.get(token, "")
        name = f"{space}/{requested['name']}"
        if not token:
            return error(401, "", "Invalid username or password.")
        if not may_write(token, space):
            return error(403, "", "You don't have the rights to create a dataset under this namespace")
        content = {"url": f"{self.state.url}/datasets/{name}"}
        if name in self.state.repos:
            return Answer(409, {**content, "error": "You already created this dataset repo"})
        repo = self.state.repos[name] = Repo(name, private=requested.get("visibility") == "private")
        repo.commit(
            "initial commit", {".gitattributes": Blob(b"*.parquet filter=lfs diff=lfs merge=lfs -text\n", False)}
        )
        return Answer(body=content)

    def _settings_(self, repo: Repo, body: bytes) -> Answer:
        requested = json.loads(body)
        repo.gated = requested.get("gated", repo.gated)
        repo.private = requested.get("visibility", "private" if repo.private else "public") == "private"
        return Answer(body={"gated": repo.gated, "private": repo.private})

    def _info_(self, repo: Repo, _: object, rev: str = "main") -> Answer:
        commit = repo.at(rev)
        if commit is None:
            return error(404, "RevisionNotFound", f"Invalid rev id: {rev}")
        content = {"id": repo.name, "sha": commit.oid, "private": repo.private, "gated": repo.gated, "tags": []}
        return Answer(body={**content, "siblings": [{"rfilename": name} for name in sorted(commit.tree)]})

    def _refs_(self, repo: Repo, _: object) -> Answer:
        kinds = {"branches": ("heads", repo.branches), "tags": ("tags", repo.tags)}
        content = {
            key: [{"name": name, "ref": f"refs/{kind}/{name}", "targetCommit": oid} for name, oid in refs.items()]
            for key, (kind, refs) in kinds.items()
        }
        return Answer(body={**content, "converts": []})

    def _commits_(self, repo: Repo, _: object, rev: str) -> Answer:
        content, commit = [], repo.at(rev)
        while commit is not None:
            facts = {"id": commit.oid, "title": commit.title, "message": "", "date": "2026-01-01T00:00:00.000Z"}
            content.append({**facts, "authors": [{"user": "jane"}]})
            commit = repo.commits.get(commit.parent or "")
        return Answer(body=content)

    def _tree_(self, repo: Repo, query: dict[str, list[str]], rev: str, path: str = "") -> Answer:
        commit = repo.at(rev)
        if commit is None:
            return error(404, "RevisionNotFound", f"Invalid rev id: {rev}")
        below = {name: blob for name, blob in commit.tree.items() if name.startswith(f"{path}/" if path else "")}
        if path and not below:
            return error(404, "EntryNotFound", f"{path} does not exist")
        folders = {"/".join(name.split("/")[:depth]) for name in below for depth in range(1, name.count("/") + 1)}
        entries = [entry(name, blob) for name, blob in below.items()]
        entries += [{"type": "directory", "oid": "0" * 40, "size": 0, "path": name} for name in folders if name != path]
        if query.get("recursive", ["false"])[0].lower() not in {"true", "1"}:
            depth = path.count("/") + 1 if path else 0
            entries = [item for item in entries if item["path"].count("/") == depth]
        return Answer(body=sorted(entries, key=lambda item: str(item["path"])))

    def _preupload_(self, repo: Repo, body: bytes, rev: str) -> Answer:
        head = repo.at(rev)
        ignored = head.tree[".gitignore"].data.decode().split() if head and ".gitignore" in head.tree else []
        content = []
        for file in json.loads(body)["files"]:
            path = file["path"]
            existing = head.tree.get(path) if head else None
            facts = {"path": path, "uploadMode": "lfs" if path.endswith(".parquet") else "regular"}
            oid = {"oid": existing.sha256 if existing.lfs else existing.git} if existing else {}
            content.append({**facts, "shouldIgnore": path in ignored, **oid})
        return Answer(body={"files": content})

    def _batch_(self, repo: Repo, body: bytes) -> Answer:
        content = []
        for expected in json.loads(body)["objects"]:
            href = {"upload": {"href": f"{self.state.url}/lfs/{expected['oid']}", "header": {}}}
            content.append({**expected, **({} if expected["oid"] in self.state.objects else {"actions": href})})
        return Answer(body={"transfer": "basic", "objects": content})

    def _object_(self, _: str, body: bytes, sha: str) -> Answer:
        if hashlib.sha256(body).hexdigest() != sha:
            return error(400, "", "other bytes than announced")
        self.state.objects[sha] = body
        return Answer(body={})

    def _commit_(self, repo: Repo, body: bytes, rev: str) -> Answer:
        head, tree, title = repo.branches.get(rev), dict(repo.commits[repo.branches["main"]].tree), ""
        for line in body.splitlines():
            step = json.loads(line)
            key, value = step["key"], step["value"]
            if key == "header":
                title = value["summary"]
                if value.get("parentCommit") not in (None, head):
                    return error(412, "", "A commit has happened since. Please refresh and try again.")
            elif key == "file":
                tree[value["path"]] = Blob(base64.b64decode(value["content"]), False)
            elif key == "lfsFile":
                if value["oid"] not in self.state.objects:
                    return error(400, "", "LFS pointer points to a file that does not exist")
                tree[value["path"]] = Blob(self.state.objects[value["oid"]], True)
            elif key == "deletedFile" and tree.pop(value["path"], None) is None:
                return error(404, "EntryNotFound", "A file with this name doesn't exist")
        created = repo.commit(title, tree, rev)
        url = f"{self.state.url}/datasets/{repo.name}/commit/{created.oid}"
        return Answer(body={"success": True, "commitOid": created.oid, "commitUrl": url})

    def _tag_(self, repo: Repo, body: bytes, rev: str) -> Answer:
        name, commit = json.loads(body)["tag"], repo.at(rev)
        if commit is None:
            return error(404, "RevisionNotFound", f"Invalid rev id: {rev}")
        if name in repo.tags:
            return error(409, "", "Tag reference exists already")
        repo.tags[name] = commit.oid
        return Answer(body={})

    def _resolve_(self, repo: Repo, _: object, rev: str, path: str) -> Answer:
        commit = repo.at(rev)
        if commit is None:
            return error(404, "RevisionNotFound", f"Invalid rev id: {rev}")
        if path not in commit.tree:
            return error(404, "EntryNotFound", "Entry not found", {"X-Repo-Commit": commit.oid})
        blob = commit.tree[path]
        headers = {"X-Repo-Commit": commit.oid, "ETag": f'"{blob.sha256 if blob.lfs else blob.git}"'}
        start, end = 0, len(blob.data)
        if requested := re.fullmatch(r"bytes=(\d+)-(\d*)", self.headers.get("Range") or ""):
            start, end = int(requested[1]), min(int(requested[2] or end - 1) + 1, end)
            headers["Content-Range"] = f"bytes {start}-{end - 1}/{len(blob.data)}"
        return Answer(206 if requested else 200, blob.data[start:end], {**headers, "Accept-Ranges": "bytes"})

    def _send(self, answer: Answer, sends: "Callable[[Handler, bytes], None] | None" = None) -> None:
        raw = isinstance(answer.body, bytes)
        data: bytes = answer.body if raw else json.dumps(answer.body).encode()
        self.send_response(answer.status)
        kind = "application/octet-stream" if raw else "application/json"
        for key, value in {"Content-Type": kind, "Content-Length": str(len(data)), **answer.headers}.items():
            self.send_header(key, value)
        self.end_headers()
        if self.command != "HEAD":
            sends(self, data) if sends and raw else self.wfile.write(data)
