"""Follow one resource for ever: a list, then the changes after it, then another list when one is needed.

Three nested generators have one duty each. `follow` never ends by an error: it waits and begins again.
`list_then_watch` lists once, keeps a stream open from there, and returns why another list is due. `stream` is one
request with an inactivity time-out. A consumer stays in step by their values: a `Listing` replaces everything, and a
`Batch` follows it.

The watch relies on one promise of Kubernetes: a list without a resource version is consistent. Streams may end, stall,
repeat or omit events. The watermark (version of the list, then of the last event) drops old events, and a periodic list
finds omitted ones. A list below the watermark is of another history of the API.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass, field
from datetime import timedelta
from threading import Event
from typing import Any, Final, NamedTuple, TypeAlias

import orjson
import structlog

from domain.backoff import RetryPolicy, backoff
from domain.kubernetes.objects import KubeList, version_of
from events.kube.api import KubeApi
from events.kube.errors import Expired, KubeError, NotFound, Stalled, Unavailable, error_of_status
from events.publisher.resources import ListedObject, Resource
from events.settings import STALLS_BEFORE_LIST, WatchSettings

log = structlog.get_logger(__name__)

IDLE: Final = 0.2
"""Seconds of silence after which a stream checks `stop`."""


class Listing(NamedTuple):
    """Every object at one version. `reason` of the list: start, expired, stalled, behind, resync or error."""

    version: int
    items: list[ListedObject]
    reason: str
    before: int = 0  # the watermark until then: higher only if the API's versions went back


class Batch(NamedTuple):
    """Events in their order, all newer than those before. `old` counts the dropped ones, which were not newer."""

    events: list[dict[str, Any]]
    old: int


class Absent(NamedTuple):
    """The server does not have this kind; its definition may be installed later."""


Change: TypeAlias = Listing | Batch | Absent


@dataclass
class Pulse:
    """The time of a stream's last sign of life: a list, a line, or an orderly end after a while."""

    limit: timedelta
    at: float = field(default_factory=time.monotonic)

    def beat(self) -> None:
        """Record a sign of life."""
        self.at = time.monotonic()

    @property
    def age(self) -> float:
        """Seconds since the last sign of life."""
        return time.monotonic() - self.at

    @property
    def alive(self) -> bool:
        """Whether the age is within the limit."""
        return self.age <= self.limit.total_seconds()


class ResourceWatch:
    """Follows one resource. `stop` ends it, at the latest after the next line or the inactivity time-out."""

    def __init__(
        self,
        kube: KubeApi,
        resource: Resource,
        settings: WatchSettings,
        stop: Event,
        prepare: Callable[[], object] = lambda: None,
    ) -> None:
        """Store the parts. `prepare` is called before each list is requested."""
        self.kube, self.resource, self.settings, self.stop, self.prepare = kube, resource, settings, stop, prepare
        self.pulse = Pulse(settings.dead_after)
        self.policy = RetryPolicy(settings.backoff_first, settings.backoff_longest)
        self.log = log.bind(resource=resource.name)
        self.version = 0  # the watermark
        self.failures = 0  # in a row; a stream that lasted ends the row
        self.absent = False

    def follow(self) -> Generator[Change, None, None]:
        """Yield changes until `stop`; raise no KubeError. Closing the generator closes the connection."""
        reason = "start"
        while not self.stop.is_set():
            try:
                reason = yield from self.list_then_watch(reason)
            except NotFound as error:
                yield from self.report_absent(error)
                self.stop.wait(self.settings.absent_retry.total_seconds())
            except KubeError as error:
                self.log.warning("watch_failed", error=str(error))
                self.wait()
                reason = reason if self.version == 0 else "error"

    def list_then_watch(self, reason: str) -> Generator[Change, None, str]:
        """Yield a list, then batches; return the reason for the next list."""
        yield self.objects(reason)
        due, stalls, listed = time.monotonic() + self.resync_after(), 0, True
        while time.monotonic() < due and not self.stop.is_set():
            opened = time.monotonic()
            try:
                if not listed and self.latest() < self.version:  # a stream from `version` would be silent
                    return "behind"
                listed = False
                yield from self.stream(due)
                stalls = 0
            except Expired:
                self.pace(opened)
                return "expired"
            except Stalled:
                stalls += 1
                self.log.warning("stream_stalled", version=self.version, stalls=stalls)
            except Unavailable as error:
                self.log.warning("stream_failed", error=str(error))
            if stalls >= STALLS_BEFORE_LIST:
                return "stalled"
            self.pace(opened)
        return "resync"

    def objects(self, reason: str) -> Listing:
        """List page by page, projected at once: a whole cluster as JSON would not fit. Never a cached list."""
        if self.absent:
            self.latest()  # raises NotFound before anything is prepared
        self.prepare()
        items: list[ListedObject] = []
        token: str | None = None
        while True:
            page = KubeList(self.kube.get(self.resource.path, **self.resource.query, **self.page(token)))
            items.extend(self.resource.item(obj) for obj in page.items)
            token, version = page.next_page, page.version
            if token is None:
                break
        before, self.version, self.absent = self.version, version, False
        self.pulse.beat()
        self.log.info("objects_listed", reason=reason, count=len(items), version=version)
        return Listing(version, items, reason, before)

    def latest(self) -> int:
        """Return the version that a list would have now. Without selector: the first object ends the search."""
        return KubeList(self.kube.get(self.resource.path, limit=1)).version

    def page(self, token: str | None) -> dict[str, Any]:
        """Return the query arguments of a page."""
        return {"limit": self.settings.page_size, **({"continue": token} if token else {})}

    def stream(self, due: float) -> Iterator[Batch]:
        """Yield the batches of one request until the server ends it. Raises Stalled, Expired or another KubeError."""
        opened = time.monotonic()
        for lines in self.kube.lines(
            self.resource.path,
            timeout=self.settings.inactivity_timeout.total_seconds(),
            idle=IDLE,
            **dict[str, Any](self.resource.query),
            allowWatchBookmarks="true",
            resourceVersion=str(self.version),
            timeoutSeconds=self.seconds_until(due),
        ):
            if self.stop.is_set():
                return
            if lines:
                self.pulse.beat()
                yield from self.batch(lines)
            if time.monotonic() >= due:
                return
        if self.lasted(opened):
            self.pulse.beat()

    def batch(self, lines: list[bytes]) -> Iterator[Batch]:
        """Yield the new events of these lines. An error among the lines is raised after the events before it."""
        events: list[tuple[int, dict[str, Any]]] = []
        trouble: KubeError | None = None
        for line in lines:
            try:
                events.append(parse(line))
            except KubeError as error:
                trouble = error
                break
        yield self.newer(events)
        if trouble:
            raise trouble

    def newer(self, events: list[tuple[int, dict[str, Any]]]) -> Batch:
        """Return the events above the watermark, and advance the watermark."""
        fresh, old = [], 0
        for version, event in events:
            if event["type"] == "BOOKMARK":
                self.version = max(self.version, version)
            elif version > self.version:
                self.version = version
                fresh.append(event)
            else:
                old += 1
        return Batch(fresh, old)

    def report_absent(self, error: NotFound) -> Iterator[Absent]:
        """Log once, then retry quietly: an optional kind may never be installed."""
        self.pulse.beat()
        if not self.absent:
            self.absent = True
            self.log.warning("resource_absent", error=str(error))
            yield Absent()

    def pace(self, opened: float) -> None:
        """Wait between two requests: not after a stream that lasted, else longer with each failure."""
        if self.lasted(opened):
            self.failures = 0
        else:
            self.wait()

    def lasted(self, opened: float) -> bool:
        """Return whether a stream lasted long enough to end a row of failures."""
        return time.monotonic() - opened >= self.settings.steady_after.total_seconds()

    def wait(self) -> None:
        """Wait for the backoff of the failures so far, and count one more."""
        self.stop.wait(backoff(self.policy, self.failures, random.random()).total_seconds())
        self.failures += 1

    def resync_after(self) -> float:
        """Return the resync period, spread by a tenth so that the kinds are not listed together."""
        return self.settings.resync_every.total_seconds() * (0.9 + 0.1 * random.random())

    def seconds_until(self, due: float) -> int:
        """Return whole seconds until `due`, 1 to the length of a stream."""
        left = max(1, round(due - time.monotonic()))
        return min(left, round(self.settings.stream_length.total_seconds()))


def parse(line: bytes) -> tuple[int, dict[str, Any]]:
    """Return version and event. Raises the error of an ERROR event, and KubeError for a line that is no event."""
    try:
        event: dict[str, Any] = orjson.loads(line)
        if event["type"] == "ERROR":
            raise error_of_status(event["object"])
        return version_of(event["object"]), event
    except (LookupError, TypeError, ValueError) as error:
        raise KubeError(200, "UnreadableLine", line[:100].decode(errors="replace")) from error
