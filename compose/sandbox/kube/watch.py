"""A watch: the changes of a selection of objects, from a version on, as lines of JSON."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final

import orjson

from compose.sandbox.kube.faults import ApiCall, ApiFaults
from compose.sandbox.kube.kinds import ServedKind
from compose.sandbox.kube.refusal import ApiRefusal, expired
from compose.sandbox.kube.selectors import Selection
from compose.sandbox.kube.storage import Store, StoredChange, StoredObject

Json = dict[str, Any]
Shape = Callable[[StoredObject], bytes]
INITIAL_END: Final = {"k8s.io/initial-events-end": "true"}
LONGEST: Final = 1800.0
"""Seconds that a stream lasts when its client names none."""


@dataclass(frozen=True)
class WatchOptions:
    """The options of a watch."""

    kind: ServedKind
    selection: Selection
    call: ApiCall
    version: int | None
    """None: begin with the present objects."""
    seconds: float
    bookmarks: bool
    initial_end: bool
    """Whether a bookmark marks the end of the initial objects."""


def line(event: str, data: bytes) -> bytes:
    """Return an event as a line of JSON."""
    return b'{"type":"%s","object":%s}\n' % (event.encode(), data)


def error_line(refusal: ApiRefusal) -> bytes:
    """Return the line that ends a watch with a refusal."""
    return line("ERROR", orjson.dumps(refusal.status()))


def bookmark(kind: ServedKind, version: int, annotations: Json | None = None) -> bytes:
    """Return the line of a bookmark."""
    metadata: Json = {"resourceVersion": str(version), "creationTimestamp": None}
    metadata |= {"annotations": annotations} if annotations else {}
    return line("BOOKMARK", orjson.dumps({"kind": kind.name, "apiVersion": kind.api_version, "metadata": metadata}))


def line_of(change: StoredChange, selection: Selection, shape: Shape) -> bytes | None:
    """Return the event of a change, as a watch of the selection gets it. None: the object was and is outside.

    A changed object may enter or leave the selection.
    """
    before, after = selection.matches(change.before), selection.matches(change.after)
    if after:
        assert change.after is not None
        return line("MODIFIED" if before else "ADDED", shape(change.after))
    if before:
        assert change.before is not None
        return line("DELETED", shape(change.last or StoredObject(change.before.body, change.version)))
    return None


class WatchStream:
    """One stream of events."""

    def __init__(
        self, store: Store, faults: ApiFaults, options: WatchOptions, shape: Shape, bookmark_every: float
    ) -> None:
        self.store, self.faults, self.options, self.shape = store, faults, options, shape
        self.bookmark_every, self.version = bookmark_every, options.version or store.version
        self.deadline = time.monotonic() + options.seconds
        self.marked = time.monotonic()

    async def blocks(self) -> AsyncIterator[bytes]:
        """Yield blocks of lines as they become ready. Ends after the seconds of the options, or with an ERROR line."""
        if self.faults.take("empty", self.options.call):
            return
        if self.faults.take("expire", self.options.call):
            yield error_line(expired())
            return
        if self.options.version is None and (block := b"".join(self.beginning())):
            yield block
        while time.monotonic() < self.deadline:
            signal = self.store.signals[self.options.kind.key]
            try:
                block = b"" if self.stalled() else b"".join(self.news())
            except ApiRefusal as refusal:
                yield error_line(refusal)
                return
            if block:
                yield block
            await self.pause(signal)

    def beginning(self) -> Iterator[bytes]:
        """Yield the present objects, then a bookmark if the options ask for it."""
        for item in self.store.all(self.options.kind.key):
            if self.options.selection.matches(item):
                yield line("ADDED", self.shape(item))
        if self.options.initial_end:
            yield bookmark(self.options.kind, self.version, INITIAL_END)

    def news(self) -> Iterator[bytes]:
        """Yield the changes since the last call, and a bookmark if one is due. Raises 410."""
        for change in self.store.since(self.options.kind.key, self.version):
            self.version = change.version
            text = line_of(change, self.options.selection, self.shape)
            if text and not self.faults.take("swallow", self.options.call):
                yield text * (2 if self.faults.take("repeat", self.options.call) else 1)
        if self.options.bookmarks and time.monotonic() - self.marked >= self.bookmark_every:
            self.marked, self.version = time.monotonic(), max(self.version, self.store.version)
            yield bookmark(self.options.kind, self.version)

    def stalled(self) -> bool:
        """Return whether a `stall` fault is active."""
        return self.faults.stands("stall", self.options.call)

    async def pause(self, signal: asyncio.Event) -> None:
        """Wait for a change of this kind, the next bookmark or the end."""
        now = time.monotonic()
        wait = self.deadline - now
        if self.options.bookmarks:
            wait = min(wait, self.marked + self.bookmark_every - now)
        if self.stalled():
            wait = min(wait, 0.1)
        try:
            async with asyncio.timeout(max(wait, 0)):
                await signal.wait()
        except TimeoutError:
            return
