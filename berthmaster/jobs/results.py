"""The stream of a pod pool's results: jobs that ended, or wait for a person."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Final

from redis import Redis

from berthmaster.jobs.job import Limit

FIELDS: Final = (b"job", b"state", b"attempt", b"result")


@dataclass(frozen=True)
class Result:
    """An entry of the stream. `state` is an outcome, or `reserved`: then `attempt` is the plan to confirm.

    `at` is the entry's id. `limit`: the one whose time was over (queue, run, reservation), None for any other end.
    """

    at: str
    job: str
    state: str
    attempt: str
    result: str
    limit: Limit | None = None


class Results:
    """The results of pod pool `pool` (namespace/name)."""

    def __init__(self, redis: Redis, pool: str) -> None:
        self._redis, self._key = redis, f"{{sp:{pool}}}results"

    def since(self, at: str, wait: timedelta) -> Iterator[Result]:
        """Yield the results after `at` ('0': from the oldest that is kept). Waits up to `wait` for the first one."""
        reply: Any = self._redis.xread({self._key: at}, count=1000, block=max(1, wait // timedelta(milliseconds=1)))
        for _, entries in reply or ():
            for place, stored in entries:
                with suppress(LookupError, ValueError):  # an entry that is none of ours
                    job, state, attempt, text = (stored[name].decode() for name in FIELDS)
                    limit = Limit(stored[b"limit"].decode()) if b"limit" in stored else None
                    yield Result(place.decode(), job, state, attempt, text, limit)
