"""Writes entries into the ledger, and into the observation of the run that changed them."""

from __future__ import annotations

from collections.abc import Sequence

import structlog

from domain.ports.entry import Entry, EntryState
from workers.ports.observe import PodObservation

log = structlog.get_logger()


def record(observation: PodObservation, entries: Sequence[Entry]) -> None:
    """Record entries of one pool and UID. Raises EntryChanged when one is not that UID's any more."""
    observation.access(entries[0].pool).record(entries[0].uid, entries)
    for entry in entries:
        observation.entries[entry.id] = entry
        if entry.state is EntryState.BOUND:
            observation.confirmed.add(entry.id)


def record_and_log(observation: PodObservation, entries: Sequence[Entry]) -> None:
    """Record entries of one UID, which may lie in several pools, and log each."""
    for pool in sorted({entry.pool for entry in entries}):
        of_pool = [entry for entry in entries if entry.pool == pool]
        record(observation, of_pool)
        for entry in of_pool:
            log_recorded(observation, entry)


def log_recorded(observation: PodObservation, entry: Entry) -> None:
    """Log an entry that was recorded."""
    place = {"pool": entry.pool, "lb": entry.lb, "port": entry.port}
    log.info("port_recorded", pod=observation.full_name, state=entry.state, **place)
