"""The Redis Stream of events for other services: the workers' side, allocation failures and decisions about jobs.

A wait is one event, however often its run is repeated. Each method writes an event at least once, under the same id.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Final

import structlog
from redis import Redis
from redis.exceptions import ResponseError

from berthmaster.events import ALLOCATION_FAILED, JOB_DECIDED, WORKER, AllocationFailed, JobDecided
from berthmaster.jobs.slot_ledger import SlotLedger
from berthmaster.routing import pod_key
from events.protocol.event_stream import EventStream
from events.protocol.schemas import cloud_event
from workers.stores.outbox import PAGE, Outbox, OutboxEntry
from workers.stores.ports.ledger import Ledger

log = structlog.get_logger()
REPORTER: Final = "berthmaster-worker"
WHY: Final = {
    "NoFreePort": "pool {pool} has no free port for {ports} wanted",
    "NoCommonPort": "pool {pool} has no free port in common with the other pools that are asked for",
    "NamespaceShare": "pool {pool} gives the namespace no {ports} ports more",
}
"""Reason for programs -> sentence for people."""

Data = AllocationFailed | JobDecided
TYPES: Final[Mapping[type[Data], str]] = {AllocationFailed: ALLOCATION_FAILED, JobDecided: JOB_DECIDED}
Event = tuple[str, Data]
"""An id and the data."""


class EventJournal:
    """Writes workers' events to the stream."""

    def __init__(self, redis: Redis, stream: EventStream) -> None:
        self._redis, self._stream = redis, stream

    def port_failures(self, ledger: Ledger, only: str | None = None) -> None:
        """Write the events of pods that began to wait in this pool, or `only` that of one entry of its ledger."""
        self._relay(Outbox(self._redis, ledger.prefix), lambda entry: _of_pod(ledger.pool, entry), only)

    def job_events(self, ledger: SlotLedger) -> None:
        """Write the events of jobs of this pool that began to wait for a slot, or that somebody decided about."""
        self._relay(Outbox(self._redis, ledger.prefix), lambda entry: _of_job(ledger.pool, entry))

    def write(self, identity: str, at: datetime, failed: AllocationFailed) -> None:
        """Write one event. A caller that repeats it gives the same `identity`."""
        self._stream.append(self._redis, [_cloud_event(identity, failed, at)])

    def _relay(self, outbox: Outbox, event_of: Callable[[OutboxEntry], Event], only: str | None = None) -> None:
        """What nobody can read or write costs its events, and never the work of who relays them."""
        try:
            while entries := outbox.read(only):
                pipeline = self._redis.pipeline(transaction=False)
                self._stream.append(pipeline, filter(None, (_event(event_of, entry) for entry in entries)))
                pipeline.execute()  # alone: a Redis that is full refuses XADD and would still take XDEL
                outbox.delete(entries)
                if len(entries) < PAGE:
                    return
        except ResponseError as error:  # the outbox or the stream is no stream; a refusal for now is an outage
            log.warning("events_not_written", reason=str(error))


def _event(event_of: Callable[[OutboxEntry], Event], entry: OutboxEntry) -> bytes | None:
    """Return the CloudEvent of an entry, None if no script of ours wrote the entry."""
    try:
        return _cloud_event(*event_of(entry), entry.at)
    except (LookupError, TypeError, ValueError):
        return None


def _of_pod(pool: str, entry: OutboxEntry) -> Event:
    fields = entry.fields
    uid, reason = fields["uid"], fields["reason"]
    failed = AllocationFailed(
        key=pod_key(*fields["name"].split("/")),
        uid=uid,
        resource="ports",
        pool=pool,
        reason=reason,
        message=WHY[reason].format(pool=pool, ports=fields["ports"]),
        reporter=REPORTER,
    )
    return f"{uid}/{pool}/{entry.id}", failed


def _of_job(pool: str, entry: OutboxEntry) -> Event:
    fields, identity = entry.fields, f"{pool}/{entry.fields['job']}/{entry.id}"
    return identity, _decision(pool, fields) if "decision" in fields else _wait(pool, fields)


def _decision(pool: str, fields: Mapping[str, str]) -> JobDecided:
    by = fields["by"]
    return JobDecided.model_validate(
        {
            "key": f"job/{pool}/{fields['job']}",
            "pool": pool,
            "decision": fields["decision"],
            "plan": fields["plan"] or None,
            "by": by or None,
            "message": f"{fields['decision']} by {by}" if by else fields["decision"],
        }
    )


def _wait(pool: str, fields: Mapping[str, str]) -> AllocationFailed:
    phases = fields["phases"].replace(",", ", ")
    return AllocationFailed(
        key=f"job/{pool}/{fields['job']}",
        resource="slot",
        pool=pool,
        reason="NoFreeSlot",
        message=f"pool {pool} has no free slot for {phases}",
        reporter=REPORTER,
    )


def _cloud_event(identity: str, data: Data, at: datetime) -> bytes:
    time = at.isoformat(timespec="milliseconds")
    return cloud_event(TYPES[type(data)], identity, data.key, time, data.model_dump(), WORKER)
