"""The Kubernetes API as raw JSON, over the connection and credentials of the official client.

The client's models cost more than the calls (a list of 50 pods: 16 ms against 5 ms), and its watch hides time-outs and
410s. Its handling of kubeconfig, service accounts, TLS and proxies is what we want. No other module imports the client.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import timedelta
from typing import Any, Final
from urllib.parse import quote, urlencode

import orjson
from kubernetes import client, config
from urllib3 import BaseHTTPResponse, Timeout
from urllib3.exceptions import HTTPError

from berthmaster.clock import ServerClock
from domain.kubernetes.objects import KubeList
from events.kube.errors import (
    AlreadyExists,
    Conflict,
    Denied,
    Expired,
    Invalid,
    KubeError,
    NotFound,
    Stalled,
    Unavailable,
    error_of_network,
    error_of_response,
    error_of_status,
)
from events.kube.refusals import RefusedWrite, note_refusal, refused_so_far, refused_writes, shown
from events.kube.stream import batches
from events.settings import KubernetesSettings

__all__ = [
    "NO_ACCOUNT",
    "AlreadyExists",
    "Conflict",
    "Denied",
    "Expired",
    "Invalid",
    "KubeApi",
    "KubeError",
    "NotFound",
    "RefusedWrite",
    "Stalled",
    "Unavailable",
    "error_of_status",
    "keeping",
    "path_of",
    "refused_so_far",
    "refused_writes",
    "shown",
]

Json = dict[str, Any]
Body = Json | list[Json] | None
Batch = list[bytes]
PAGE: Final = 500
"""Objects a list request: limits the memory of the API server and ours."""
JSON_PATCH: Final = "application/json-patch+json"
STRATEGIC_PATCH: Final = "application/strategic-merge-patch+json"
UNAUTHORIZED: Final = 401
MERGE_PATCH: Final = "application/merge-patch+json"
PATH: Final = re.compile(r"(?:/(?!\.{1,2}(?:/|$))[A-Za-z0-9._~:%@+-]+)+")
"""No empty segment, no `.` or `..`, and no character that ends a path (`?`, `#`)."""
CREDENTIALS_KEPT: Final = 5.0
"""Seconds. A token ends minutes after its successor is there."""
NO_ACCOUNT: Final = (config.ConfigException,)
before_page: Final[ContextVar[Callable[[timedelta], None]]] = ContextVar("before_page", default=lambda _: None)
"""Called before each request of a list, with the longest time that it takes. A run keeps its lease by it: a list of
many pages takes as long as there are objects, and a lease that ends in the middle would let others list in turn, for
ever."""


@contextmanager
def keeping(keep: Callable[[timedelta], None]) -> Iterator[None]:
    """Keep a lease before each page of a list."""
    before = before_page.set(keep)
    try:
        yield
    finally:
        before_page.reset(before)


class KubeApi:
    """A client that threads may share. Paths are whole (`/api/v1/namespaces/a/pods/b`).

    Query arguments are spelled as in the API. `clock` is the API server's; compare the API's timestamps with it.
    `page` is how many objects a list asks for at a time.
    """

    def __init__(self, connection: client.ApiClient, timeout: float, agent: str) -> None:
        self.connection, self.timeout, self.agent = connection, timeout, agent
        self.clock, self.page = ServerClock(), PAGE
        self._credentials: tuple[dict[str, str], float] = {}, 0.0

    @classmethod
    def connect(cls, settings: KubernetesSettings, agent: str = "berthmaster") -> KubeApi:
        """Return a client; no connection is opened yet. `agent` is our name in audit logs and field managers.

        Raises one of NO_ACCOUNT when no credentials are found.
        """
        return cls(client.ApiClient(configuration(settings)), settings.request_timeout.total_seconds(), agent)

    def get(self, path: str, **query: Any) -> Json:
        """Return an object. Raises KubeError, as every request."""
        return self.request("GET", path, query=query)

    def create(self, path: str, body: Json) -> Json:
        """Create an object in the collection `path`, and return it. Raises AlreadyExists."""
        return self.request("POST", path, body)

    def replace(self, path: str, body: Json) -> Json:
        """Replace an object. Raises Conflict if `metadata.resourceVersion` in the body is not the present version."""
        return self.request("PUT", path, body)

    def patch(self, path: str, body: Body) -> Json:
        """Send a merge patch (`metadata.resourceVersion` is a precondition), or a JSON patch if `body` is a list."""
        kind = JSON_PATCH if isinstance(body, list) else MERGE_PATCH
        return self.request("PATCH", path, body, content_type=kind)

    def join(self, path: str, body: Json) -> Json:
        """Send a strategic merge patch: it merges lists such as conditions by their keys."""
        return self.request("PATCH", path, body, content_type=STRATEGIC_PATCH)

    def delete(self, path: str, body: Json | None = None) -> Json:
        """Delete an object. `body`: DeleteOptions with `preconditions` (`uid`, `resourceVersion`); else Conflict."""
        return self.request("DELETE", path, body)

    def list(self, path: str, **query: Any) -> Json:
        """Return all pages as one list object, at one version. If a page's token expires, list everything at once.

        `before_page` is called before each request.
        """
        pages, longest, keep = {"limit": self.page, **query}, timedelta(seconds=self.timeout), before_page.get()
        keep(longest)
        first = page = KubeList(self.get(path, **pages))
        rest: list[Json] = []
        try:
            while token := page.next_page:
                keep(longest)
                page = KubeList(self.get(path, **{**pages, "continue": token}))
                rest += page.items
        except Expired:
            keep(longest)
            return self.get(path, **query)
        return first.joined(rest)

    def lines(self, path: str, timeout: float, idle: float = 1.0, **query: Any) -> Iterator[Batch]:
        """Yield the lines of a watch, in batches of what has arrived; an empty batch after `idle` seconds of silence.

        Ends when the server ends it. Raises Stalled after `timeout` seconds of silence, Expired or another KubeError
        when the watch is refused. The caller handles a line of type `ERROR` (`error_of_status`).
        """
        response = self.send("GET", path, {"watch": "true", **query}, Timeout(connect=self.timeout, read=timeout))
        try:
            yield from batches(response, timeout, idle)
        except (HTTPError, OSError, ValueError) as error:
            raise error_of_network(error, self.connection.configuration.host) from error
        finally:
            response.close()

    def request(
        self,
        method: str,
        path: str,
        body: Body = None,
        query: Json | None = None,
        content_type: str = "application/json",
    ) -> Json:
        """Send a request and return the JSON of its answer. Raises KubeError."""
        try:
            response = self.send(method, path, query or {}, Timeout(self.timeout), body, content_type)
        except KubeError as error:
            note_refusal(method, path, error)
            raise
        try:
            answer = orjson.loads(response.data)
        except (HTTPError, OSError, orjson.JSONDecodeError) as error:
            raise error_of_network(error, self.connection.configuration.host) from error
        finally:
            response.release_conn()
        return dict(answer)

    def send(
        self,
        method: str,
        path: str,
        query: Json,
        timeout: Timeout,
        body: Body = None,
        content_type: str = "application/json",
    ) -> BaseHTTPResponse:
        """Return the answer with its body unread. Raises KubeError unless it is a success, and for a malformed path."""
        if not PATH.fullmatch(path):
            raise Invalid(400, "BadRequest", f"{path[:200]!r} is no path of the API")
        headers = {
            "Accept": "application/json",
            "Content-Type": content_type,
            "User-Agent": self.agent,
            **self.credentials(),
        }
        asked = time.monotonic()
        try:
            response: BaseHTTPResponse = self.connection.rest_client.pool_manager.request(
                method,
                self.connection.configuration.host + path + query_string(query),
                body=None if body is None else orjson.dumps(body),
                headers=headers,
                timeout=timeout,
                preload_content=False,
                decode_content=True,
            )
            self.clock.observe(response.headers.get("Date"), asked, time.monotonic())
            if response.status < 300:
                return response
            if response.status == UNAUTHORIZED:
                self._credentials = {}, 0.0
            refusal = error_of_response(response.status, response.data, response.headers.get("Retry-After"))
        except (HTTPError, OSError) as error:
            raise error_of_network(error, self.connection.configuration.host) from error
        response.release_conn()
        raise refusal

    def credentials(self) -> dict[str, str]:
        """Return the headers of the account, read anew every few seconds: an account's token is replaced on disk.

        The client takes a third of a request's CPU time to say them.
        """
        headers, until = self._credentials
        if time.monotonic() >= until:
            settings = self.connection.configuration.auth_settings().values()
            headers = {auth["key"]: auth["value"] for auth in settings}
            self._credentials = headers, time.monotonic() + CREDENTIALS_KEPT
        return headers

    def close(self) -> None:
        """Close the pooled connections."""
        self.connection.rest_client.pool_manager.clear()


def path_of(root: str, *segments: str) -> str:
    """Return the path below `root`, such as `/api/v1`. Each segment may come from elsewhere, so it is quoted.

    Raises Invalid for a segment that would lead elsewhere, by Kubernetes' own rule for names in paths.
    """
    for segment in segments:
        if segment in ("", ".", "..") or "/" in segment or "%" in segment:
            raise Invalid(400, "BadRequest", f"{segment[:80]!r} cannot be a part of a path")
    return "/".join((root, *(quote(segment, safe=":") for segment in segments)))


def query_string(query: Json) -> str:
    """Return the query with its `?`, '' if it is empty."""
    spelled = {key: str(value).lower() if isinstance(value, bool) else value for key, value in query.items()}
    return f"?{urlencode(spelled)}" if spelled else ""


def configuration(settings: KubernetesSettings) -> client.Configuration:
    """Return server and account: `settings.server`, else a kubeconfig, else the service account of the pod."""
    if settings.server:
        options = client.Configuration(host=settings.server)
        options.ssl_ca_cert = str(settings.ca_file) if settings.ca_file else None
        if settings.token:
            options.api_key["authorization"] = f"Bearer {settings.token.get_secret_value()}"
    else:
        options = client.Configuration()
        load(options, settings)
    options.connection_pool_maxsize = settings.connections
    # urllib3 would repeat a PUT or DELETE whose answer was lost, and turn its success into a Conflict or NotFound.
    options.retries = False
    return options


def load(options: client.Configuration, settings: KubernetesSettings) -> None:
    """Load a kubeconfig, else the service account of the pod, into `options`. Raises one of NO_ACCOUNT."""
    path = str(settings.kubeconfig) if settings.kubeconfig else None
    try:
        config.load_kube_config(  # type: ignore[no-untyped-call]  # the package has no types
            path, settings.context, client_configuration=options
        )
    except config.ConfigException:
        if path or settings.context or "KUBERNETES_SERVICE_HOST" not in os.environ:
            raise
        config.load_incluster_config(client_configuration=options)  # type: ignore[no-untyped-call]  # the same
