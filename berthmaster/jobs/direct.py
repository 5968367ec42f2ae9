"""Submits jobs without a worker: the client runs the script, and sends the message of what the script has placed.

A client that dies between the two costs its job half a minute: the sweep sends the message again, as it does for a
worker. Whatever a client cannot do itself, it leaves to the task `slots.submit`, which is idempotent by the job's id.
"""

from __future__ import annotations

from typing import Final

from redis import Redis
from redis.exceptions import RedisError

from berthmaster.errors import TransientError
from berthmaster.jobs.dispatch import Dispatcher
from berthmaster.jobs.job import JobState
from berthmaster.jobs.messages import JobSender
from berthmaster.jobs.slot_ledger import SlotLedger
from berthmaster.jobs.submission import Submission
from berthmaster.redis.scripts import Script
from berthmaster.redis.unusable import UnusableRedis

FOR_WORKERS: Final = (JobState.WAITING, JobState.UNKNOWN)
"""Of a job without a slot a worker must hear: it makes the pool grow at once."""


class DirectSubmitter:
    """Submits jobs to any pool of one fleet. Threads may share it."""

    def __init__(self, redis: Redis, scripts: dict[str, Script], redis_url: str) -> None:
        self._redis, self._scripts, self._redis_url = redis, scripts, redis_url
        self._senders: dict[str, JobSender] = {}

    def submit(self, submission: Submission) -> bool:
        """Submit a job. True: workers need not be asked, because it has a slot, or had one. Raises UnusableRedis."""
        sender = self._sender(submission.pool)
        if sender.forbidden:
            return False
        ledger = SlotLedger(self._redis, self._scripts, submission.pool)
        try:
            record, placed = ledger.submit(submission.job())
            unsent = Dispatcher(ledger, sender).send(placed)
        except UnusableRedis:
            raise
        except (RedisError, TransientError):  # away, not verified, unreadable, without a spec, or not ours to write
            return False
        return record.state not in FOR_WORKERS and not unsent

    def _sender(self, pool: str) -> JobSender:
        if pool not in self._senders:
            self._senders[pool] = JobSender(self._redis_url, pool)
        return self._senders[pool]
