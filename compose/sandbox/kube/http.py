"""The API over HTTP: one handler for every path, behind faults and permissions."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any, Final

import orjson
from aiohttp import web

from compose.sandbox.kube.access import Access
from compose.sandbox.kube.api import Api, start_of_watch
from compose.sandbox.kube.discovery import discovered
from compose.sandbox.kube.faults import ApiCall, ApiFault, ApiFaults
from compose.sandbox.kube.journal import ObjectJournal
from compose.sandbox.kube.reads import number
from compose.sandbox.kube.refusal import ApiRefusal, conflict
from compose.sandbox.kube.reviews import REVIEWS, review
from compose.sandbox.kube.routes import RequestTarget, target_of
from compose.sandbox.kube.storage import StoredObject
from compose.sandbox.kube.tables import table, wanted
from compose.sandbox.kube.watch import LONGEST, WatchOptions, WatchStream

Json = dict[str, Any]
WRITES: Final = ("update", "patch", "delete")
MAX_BODY: Final = 8 << 20
HEALTH: Final = ("/readyz", "/livez", "/healthz")


class Server:
    """The HTTP server of the API, with `/_faults` and `/_requests` for tests."""

    def __init__(
        self, api: Api, tokens: Mapping[str, str], bookmark_every: float = 60.0, journal: ObjectJournal | None = None
    ) -> None:
        self.api, self.faults, self.bookmark_every = api, ApiFaults(), bookmark_every
        self.journal, self.access = journal, Access(tokens, self.faults)
        self.streams: dict[int, tuple[web.Request, ApiCall]] = {}

    def app(self) -> web.Application:
        """Return the application of the server."""
        app = web.Application(client_max_size=MAX_BODY)
        app.router.add_route("*", "/_faults", self.switch)
        app.router.add_get("/_requests", self.requests)
        app.router.add_route("*", "/{path:.*}", self.reply)
        app.on_startup.append(self.open)
        app.on_shutdown.append(self.close)
        return app

    async def open(self, _app: web.Application) -> None:
        """Restore the objects of the journal, and create the permanent namespaces."""
        if self.journal:
            self.journal.open(self.api.store)
        self.api.collector.open()

    async def close(self, _app: web.Application) -> None:
        """Close all streams. Open streams would keep the process alive."""
        self.cut(ApiFault(fault="cut"))

    async def reply(self, request: web.Request) -> web.StreamResponse:
        """Answer a request. A refusal becomes a Status."""
        try:
            return await self.answer(request)
        except ApiRefusal as refusal:
            return refused(refusal)

    async def answer(self, request: web.Request) -> web.StreamResponse:
        """Answer a request. Raises ApiRefusal."""
        if request.path in HEALTH:
            return web.Response(text="ok")
        user = self.access.user(request.headers.get("Authorization", ""))
        if request.method == "POST" and request.path == REVIEWS:
            return replied(201, orjson.dumps(review(self.access, user, client_of(request), await request.read())))
        if request.method == "GET" and (document := discovered(self.api.kinds, request.path)) is not None:
            return replied(200, orjson.dumps(document))
        target = target_of(self.api.kinds, request.method, request.path, request.query)
        place = (target.namespace, target.name)
        call = ApiCall(target.verb, target.kind.group, target.resource, *place, client_of(request), user)
        self.access.check(call)
        body = await request.read()
        await self.trouble(request, call)
        return await self.served(request, target, call, body)

    async def trouble(self, request: web.Request, call: ApiCall) -> None:
        """Apply the faults that concern the request. Raises ApiRefusal."""
        if fault := self.faults.take("slow", call):
            await asyncio.sleep(fault.seconds)
        if self.faults.take("drop", call):
            hang_up(request)
        if fault := self.faults.take("error", call):
            reason = "TooManyRequests" if fault.status == 429 else "InternalError"
            details = {"retryAfterSeconds": fault.retry_after} if fault.retry_after else None
            raise ApiRefusal(fault.status, reason, "the sandbox was told to fail", details)
        if call.verb in WRITES and self.faults.take("conflict", call):
            raise conflict(call.resource, call.name)

    async def served(
        self, request: web.Request, target: RequestTarget, call: ApiCall, body: bytes
    ) -> web.StreamResponse:
        """Answer a request that is permitted and has passed the faults. Raises ApiRefusal."""
        if target.verb == "watch":
            return await self.watch(request, target, call)
        if wanted(request.headers.get("Accept", "")) and target.verb in ("get", "list"):
            return replied(200, self.api.table(target, request.query))
        status, data = self.api.answer(target, request.query, body, request.content_type)
        self.access.weigh(call, len(body) + len(data))
        if self.faults.take("lose", call):
            hang_up(request)
        return replied(status, data)

    async def watch(self, request: web.Request, target: RequestTarget, call: ApiCall) -> web.StreamResponse:
        """Stream a watch until it ends or the client disconnects."""
        query = request.query
        bookmarks = query.get("allowWatchBookmarks") in ("true", "1")
        options = WatchOptions(
            kind=target.kind,
            selection=self.api.selection(target, query),
            call=call,
            version=start_of_watch(query),
            seconds=number(query, "timeoutSeconds") or LONGEST,
            bookmarks=bookmarks,
            initial_end=bookmarks and query.get("sendInitialEvents") == "true",
        )
        shape = self.shape(target, wanted(request.headers.get("Accept", "")))
        stream = WatchStream(self.api.store, self.faults, options, shape, self.bookmark_every)
        response = web.StreamResponse(headers={"Content-Type": "application/json"})
        await response.prepare(request)
        self.streams[id(request)] = request, call
        try:
            async for block in stream.blocks():
                await response.write(block)
        except ConnectionError:
            return response
        finally:
            del self.streams[id(request)]
        return response

    def shape(self, target: RequestTarget, as_table: bool) -> Any:
        """Return the function that writes an object of a watch, as JSON or as a table row."""

        def row(item: StoredObject) -> bytes:
            return orjson.dumps(table(target.kind, [item], item.version))

        return row if as_table else lambda item: item.data

    async def switch(self, request: web.Request) -> web.Response:
        """Set a fault or a list of them (POST), clear all (DELETE) or show them (GET)."""
        if request.method == "DELETE":
            self.faults.active = []
        elif request.method == "POST":
            given = orjson.loads(await request.read())
            for order in given if isinstance(given, list) else [given]:
                self.set(ApiFault.model_validate(order))
        self.api.store.wake_all()
        return replied(200, orjson.dumps([fault.model_dump() for fault in self.faults.active]))

    def set(self, fault: ApiFault) -> None:
        """Add a fault. `cut` and `compact` act at once and are not kept."""
        if fault.fault == "cut":
            self.cut(fault)
        elif fault.fault == "compact":
            self.api.store.compact()
        else:
            self.faults.active.append(fault)

    def cut(self, fault: ApiFault) -> None:
        """Close the open watches that a fault concerns."""
        for request, call in list(self.streams.values()):
            if fault.concerns(call) and request.transport:
                request.transport.abort()

    async def requests(self, _request: web.Request) -> web.Response:
        """Answer with the number of requests since the start: `[{client, verb, group, resource, count, bytes}]`."""
        names, weights = ("client", "verb", "group", "resource"), self.access.bytes
        calls = self.access.calls.items()
        rows = [dict(zip(names, call, strict=True), count=count, bytes=weights[call]) for call, count in calls]
        return replied(200, orjson.dumps(rows))


def client_of(request: web.Request) -> str:
    """Return the client's name: the User-Agent up to the first slash or space."""
    return request.headers.get("User-Agent", "").partition(" ")[0].partition("/")[0]


def hang_up(request: web.Request) -> None:
    """Close the connection. Raises CancelledError, which ends the request."""
    if request.transport:
        request.transport.abort()
    raise asyncio.CancelledError


def replied(status: int, data: bytes) -> web.Response:
    """Return a response with a JSON body."""
    return web.Response(status=status, body=data, content_type="application/json")


def refused(refusal: ApiRefusal) -> web.Response:
    """Return the response of a refusal, with a Retry-After if it has one or is a 429."""
    response = replied(refusal.code, orjson.dumps(refusal.status()))
    seconds = (refusal.details or {}).get("retryAfterSeconds")
    if seconds or refusal.code == 429:
        response.headers["Retry-After"] = str(seconds or 1)
    return response
