"""The stream of a pod pool's results: jobs that ended, or wait for a person."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from redis import Redis


@dataclass(frozen=True)
class Result:
    """An entry of the stream. `state` is an outcome, or `reserved`: then `attempt` is the plan to confirm.

    `at` is the entry's id.
    """

    at: str
    job: str
    state: str
    attempt: str
    result: str


class Results:
    """The results of pod pool `pool` (namespace/name)."""

    def __init__(self, redis: Redis, pool: str) -> None:
        self._redis, self._key = redis, f"{{sp:{pool}}}results"

    def since(self, at: str, wait: timedelta) -> Iterator[Result]:
        """Yield the results after `at` ('0': from the oldest that is kept). Waits up to `wait` for the first one."""
        reply: Any = self._redis.xread({self._key: at}, count=1000, block=max(1, wait // timedelta(milliseconds=1)))
        for _, entries in reply or ():
            for place, stored in entries:
                with suppress(LookupError, UnicodeError):  # an entry that is none of ours
                    fields = [stored[name].decode() for name in (b"job", b"state", b"attempt", b"result")]
                    yield Result(place.decode(), *fields)
