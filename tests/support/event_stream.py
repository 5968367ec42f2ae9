"""The stream of events for other services: a worker's journal, and what the stream has."""

from __future__ import annotations

from typing import Any

from redis import Redis

from berthmaster.events import ALLOCATION_FAILED, AllocationFailed, CloudEvent
from berthmaster.routing import EVENTS_STREAM
from events.protocol.event_stream import EventStream
from events.settings import StreamSettings
from workers.stores.journal import EventJournal


def journal_on(redis: Redis, **settings: Any) -> EventJournal:
    return EventJournal(redis, EventStream(StreamSettings(**settings)))


def events_of(redis: Redis) -> list[CloudEvent]:
    entries: Any = redis.xrange(EVENTS_STREAM)
    return [CloudEvent.model_validate_json(fields[b"event"]) for _, fields in entries]


def failures_of(redis: Redis) -> list[AllocationFailed]:
    events = [event for event in events_of(redis) if event.type == ALLOCATION_FAILED]
    return [AllocationFailed.model_validate(event.data) for event in events]
