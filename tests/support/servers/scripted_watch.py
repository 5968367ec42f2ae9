"""A small HTTP server that plays a Kubernetes API with faults: what a publisher must survive, on demand.

It keeps one world of objects with an honest history. Lists and watches answer from it, unless the test put something
else in `watches`: each watch of `path` takes the first of its script and is honest when there is none left.
"""

from __future__ import annotations

import json
import sys
from collections import defaultdict, deque
from collections.abc import Callable, Iterable
from copy import deepcopy
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Condition, Event, Thread
from typing import Any
from urllib.parse import parse_qs, urlsplit

from domain.kubernetes.names import POOL

Json = dict[str, Any]
PODS, POOLS = "/api/v1/pods", "/apis/berthmaster.dev/v1alpha1/portpools"
POOL_PODS = "/api/v1/pods?pool"  # pods of pod pools are followed apart; a script for pods is not theirs
STATUS = {"kind": "Status", "apiVersion": "v1", "status": "Failure"}
EXPIRED = STATUS | {"reason": "Expired", "code": 410, "message": "old"}


class World:
    """Objects by collection path and name, and everything that happened. `hidden` versions never reach a watch."""

    def __init__(self) -> None:
        self.version, self.changed = 100, Condition()
        self.objects: dict[str, dict[str, Json]] = defaultdict(dict)
        self.history: dict[str, list[tuple[int, str, Json]]] = defaultdict(list)
        self.hidden: set[int] = set()

    def backup(self) -> Callable[[], None]:
        """Returns what brings back the objects and the version of now: nobody's stream says anything of it."""
        then = self.version, deepcopy(self.objects), deepcopy(self.history)

        def restore() -> None:
            with self.changed:
                self.version, self.objects, self.history = deepcopy(then)

        return restore

    def put(self, path: str, obj: Json, hidden: bool = False) -> Json:
        """Creates or replaces; returns the object as stored."""
        key = full_name(obj)
        return self.record(path, "MODIFIED" if key in self.objects[path] else "ADDED", obj, hidden)

    def delete(self, path: str, key: str, hidden: bool = False) -> Json:
        return self.record(path, "DELETED", self.objects[path][key], hidden)

    def record(self, path: str, kind: str, obj: Json, hidden: bool) -> Json:
        with self.changed:
            self.version += 1
            stored: Json = {**obj, "metadata": {**obj["metadata"], "resourceVersion": str(self.version)}}
            if kind == "DELETED":
                del self.objects[path][full_name(obj)]
            else:
                self.objects[path][full_name(obj)] = stored
            self.history[path].append((self.version, kind, stored))
            if hidden:
                self.hidden.add(self.version)
            self.changed.notify_all()
            return stored

    def since(self, path: str, version: int) -> list[tuple[int, str, Json]]:
        return [h for h in self.history[path] if h[0] > version and h[0] not in self.hidden]


def version_of(obj: Json) -> int:
    return int(obj["metadata"]["resourceVersion"])


def full_name(obj: Json) -> str:
    meta = obj["metadata"]
    return "/".join(filter(None, (meta.get("namespace"), meta["name"])))


class ScriptedApi:
    """`with ScriptedApi() as api`: an API server at `api.url`. `requests` are (method, path, query) in order."""

    def __init__(self) -> None:
        self.world, self.closing = World(), Event()
        self.requests: list[tuple[str, str, dict[str, str]]] = []
        self.watches: dict[str, deque[Answer]] = defaultdict(deque)
        self.lists: dict[str, deque[ListAnswer]] = defaultdict(deque)
        self.kinds = {PODS, POOL_PODS, "/api/v1/events"}
        self.cuts = 0
        self.server = ScriptedServer(self)
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"

    def __enter__(self) -> ScriptedApi:
        Thread(target=self.server.serve_forever, args=(0.02,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self.closing.set()
        with self.world.changed:
            self.world.changed.notify_all()
        self.server.shutdown()
        self.server.server_close()

    def cut(self) -> None:
        """Ends every honest stream that is open now."""
        with self.world.changed:
            self.cuts += 1
            self.world.changed.notify_all()

    def count(self, path: str, watch: bool) -> int:
        """How many lists or watches of a collection were asked for; a look at its version alone is none of them."""
        asked = [q for method, p, q in self.requests if method == "GET" and p == path and q.get("limit") != "1"]
        return sum(("watch" in q) == watch for q in asked)


class ScriptedServer(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 64

    def __init__(self, api: ScriptedApi) -> None:
        super().__init__(("127.0.0.1", 0), Call)
        self.api = api

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Clients that go away are what this server is for; anything else is printed."""
        if not isinstance(sys.exception(), OSError):
            super().handle_error(request, client_address)


class Call(BaseHTTPRequestHandler):
    """One request."""

    server: ScriptedServer
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        path, query = self.asked()
        api = self.server.api
        if path not in api.kinds:
            self.answer_object(path)
        elif "watch" in query:
            self.stream(api.watches[path].popleft() if api.watches[path] else honest, path, query)
        elif query.get("limit") == "1":
            self.answer(*honest_list(api.world, path))
        elif api.lists[path]:
            self.answer(*api.lists[path].popleft()(api.world, path))
        else:
            self.answer(*honest_list(api.world, path))

    def do_POST(self) -> None:
        path, _ = self.asked()
        self.answer(*created(self.server.api.world, path, self.body()))

    def do_PUT(self) -> None:
        path, _ = self.asked()
        collection, name = path.rsplit("/", 1)
        self.answer(*replaced(self.server.api.world, collection, name, self.body()))

    def do_DELETE(self) -> None:
        path, _ = self.asked()
        collection, name = path.rsplit("/", 1)
        found = find(self.server.api.world, collection, name)
        self.answer(200, self.server.api.world.delete(collection, full_name(found))) if found else self.missing()

    def answer_object(self, path: str) -> None:
        found = find(self.server.api.world, *path.rsplit("/", 1))
        self.answer(200, found) if found else self.missing()

    def missing(self) -> None:
        self.answer(*status(404, "NotFound"))

    def asked(self) -> tuple[str, dict[str, str]]:
        parts = urlsplit(self.path)
        query = {name: values[0] for name, values in parse_qs(parts.query).items()}
        path = POOL_PODS if query.get("labelSelector") == POOL else parts.path
        self.server.api.requests.append((self.command, path, query))
        return path, query

    def body(self) -> Json:
        return dict(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))

    def answer(self, code: int, obj: Json) -> None:
        data = json.dumps(obj).encode()
        self.send_response(code)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def stream(self, answer: Answer, path: str, query: dict[str, str]) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        try:
            for lines in answer(self.server.api, path, int(query["resourceVersion"])):
                self.chunk(b"".join(json.dumps(line).encode() + b"\n" for line in lines))
            self.wfile.write(b"0\r\n\r\n")
        except OSError:
            self.close_connection = True

    def chunk(self, data: bytes) -> None:
        if data:
            self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the signature of http.server
        """Tests look at `requests`."""


Answer = Callable[[ScriptedApi, str, int], Iterable[list[Json]]]
ListAnswer = Callable[[World, str], tuple[int, Json]]


def find(world: World, collection: str, name: str) -> Json | None:
    named = (obj for obj in world.objects[collection].values() if obj["metadata"]["name"] == name)
    return next(named, None)


def status(code: int, reason: str) -> tuple[int, Json]:
    return code, {"kind": "Status", "status": "Failure", "reason": reason, "code": code, "message": reason}


def created(world: World, collection: str, obj: Json) -> tuple[int, Json]:
    with world.changed:
        if full_name(obj) in world.objects[collection]:
            return status(409, "AlreadyExists")
        return 201, world.put(collection, obj)


def replaced(world: World, collection: str, name: str, obj: Json) -> tuple[int, Json]:
    with world.changed:
        old = find(world, collection, name)
        if old is None:
            return status(404, "NotFound")
        if old["metadata"]["resourceVersion"] != obj["metadata"].get("resourceVersion"):
            return status(409, "Conflict")
        return 200, world.put(collection, obj)


def honest_list(world: World, path: str) -> tuple[int, Json]:
    with world.changed:
        metadata = {"resourceVersion": str(world.version)}
        return 200, {"kind": "List", "metadata": metadata, "items": list(world.objects[path].values())}


def failing_list(code: int, reason: str) -> ListAnswer:
    return lambda _world, _path: status(code, reason)


def honest(api: ScriptedApi, path: str, version: int) -> Iterable[list[Json]]:
    """All that happens after `version`, until the server closes or cuts."""
    cuts = api.cuts
    while not api.closing.is_set() and api.cuts == cuts:
        with api.world.changed:
            news = api.world.since(path, version)
            if not news:
                api.world.changed.wait(0.05)
        if news:
            version = news[-1][0]
            yield [{"type": kind, "object": obj} for _, kind, obj in news]
        else:
            yield []  # finds out that the client has gone


def expired(_api: ScriptedApi, _path: str, _version: int) -> Iterable[list[Json]]:
    """The 410 of a watch: HTTP 200 and an ERROR line."""
    yield [{"type": "ERROR", "object": EXPIRED}]


def silent(api: ScriptedApi, _path: str, _version: int) -> Iterable[list[Json]]:
    """Accepted, and then nothing for as long as the client bears it."""
    api.closing.wait(600)
    yield []


def empty(_api: ScriptedApi, _path: str, _version: int) -> Iterable[list[Json]]:
    """200, and the end."""
    return []


def replaying(version: int) -> Answer:
    """An honest stream that begins by sending everything after `version` again."""

    def answer(api: ScriptedApi, path: str, _asked: int) -> Iterable[list[Json]]:
        return honest(api, path, version)

    return answer


def told(*lines: Json) -> Answer:
    """These lines, then the end."""
    return lambda _api, _path, _version: [list(lines)]
