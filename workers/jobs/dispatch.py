"""Sending what was placed, and taking back what could not be sent: it waits longer each time."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import timedelta
from typing import Final

import structlog

from domain.slots.job import Placed
from workers.jobs.messages import JobSender
from workers.stores.slots.ledger import SlotLedger

log = structlog.get_logger()
WAITS: Final = tuple(timedelta(seconds=s) for s in (5, 10, 20, 40, 60))


class Dispatcher:
    """Of one pod pool."""

    def __init__(self, ledger: SlotLedger, sender: JobSender) -> None:
        self._ledger, self._sender, self._failures = ledger, sender, 0

    def dispatch(self, placed: Iterable[Placed]) -> None:
        """A broker that is away costs nothing but time: what a slot was given for waits again."""
        unsent = self._sender.send(placed)
        for each in unsent:
            wait = WAITS[min(self._failures, len(WAITS) - 1)]
            tries, _ = self._ledger.undo(each.id, each.attempt, wait)
            log.warning("job_unsent", pool=self._ledger.pool, job=each.id, attempt=each.attempt, tries=tries)
        self._failures = min(self._failures + 1, len(WAITS)) if unsent else 0
