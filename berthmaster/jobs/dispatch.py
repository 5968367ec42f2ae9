"""Sends the messages of placed jobs, and undoes a placement whose message could not be sent."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import timedelta
from typing import Final, Protocol

from berthmaster.jobs.job import Placed
from berthmaster.jobs.runner_ledger import RunnerLedger
from berthmaster.logger import get_logger

log = get_logger(__name__)
WAITS: Final = tuple(timedelta(seconds=s) for s in (5, 10, 20, 40, 60))


class Sends(Protocol):
    """Sends the messages of placed jobs."""

    def send(self, placed: Iterable[Placed]) -> list[Placed]:
        """Send the messages. Returns those that could not be sent."""
        ...


class Dispatcher:
    """The dispatcher of one pod pool."""

    def __init__(self, ledger: RunnerLedger, sender: Sends) -> None:
        self._ledger, self._sender = ledger, sender

    def dispatch(self, placed: Iterable[Placed]) -> None:
        """Send the messages. While the broker is away, a first phase waits again, and a later one keeps its slot.

        The sweep sends what the ledger then places there: the broker is most likely still away.
        """
        asked = list(placed)
        unsent = self.send(asked)
        for job in asked:
            if job not in unsent:
                facts = {"job": job.id, "phase": job.phase, "attempt": job.attempt, "pod": job.pod}
                log.info("job_placed", pool=self._ledger.pool, **facts)

    def send(self, placed: Iterable[Placed]) -> list[Placed]:
        """Do the same without a line of the log for what is sent. Returns what could not be sent, and is undone."""
        unsent = self._sender.send(placed)
        for job in unsent:
            wait = WAITS[min(job.tries, len(WAITS) - 1)]
            tries, _ = self._ledger.undo(job.id, job.attempt, wait)
            log.warning("job_unsent", pool=self._ledger.pool, job=job.id, attempt=job.attempt, tries=tries)
        return unsent
