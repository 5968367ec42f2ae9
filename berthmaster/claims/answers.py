"""The answers about claims that services asked for: a short Redis Stream for each claim.

A service takes its position before it asks, so that it takes no answer about an earlier claim for its own. A repeated
request is answered again, so that the loss of an answer costs a repetition.
"""

from __future__ import annotations

from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import Any, Final, NamedTuple

from redis import Redis
from redis.exceptions import NoPermissionError

from berthmaster.claims.answer import ClaimAnswer
from berthmaster.redis.identity import FIELDS, KEY, Identity

FIELD: Final = "answer"
KEPT: Final = timedelta(minutes=10)
"""For how long the answers stay after the last one. A client that waits for longer asks again."""
MOST: Final = 10
"""Answers that stay. A late one, about an older status, must not take the place of a newer one that nobody has read."""
RELEASED: Final = timedelta(hours=1)
"""For how long a released claim is refused. A message is hardly later, and the claim's ttl ends what it creates."""
START: Final = "0-0"
NO_KEY: Final = -2
"""What PEXPIRETIME answers about a key that does not exist."""


class StreamTime(NamedTuple):
    """A position in the answers about a claim, and the time by the clock of Redis in seconds."""

    position: str
    now: float


class ClaimAnswers:
    """The answers about claims. Threads may share it."""

    def __init__(self, redis: Redis) -> None:
        self._redis = redis

    def begin(self, namespace: str, name: str) -> StreamTime:
        """Return the position behind the answers so far. Call this before the request."""
        pipe: Any = self._redis.pipeline(transaction=False)
        pipe.xrevrange(_answer(namespace, name), count=1)
        pipe.time()
        entries, (seconds, microseconds) = pipe.execute()
        return StreamTime(entries[0][0].decode() if entries else START, seconds + microseconds / 1e6)

    def after(self, namespace: str, name: str, position: str, wait: timedelta) -> tuple[str, list[ClaimAnswer]]:
        """Return the position of the last entry after this one, and the answers. Waits up to `wait` for an entry."""
        block = max(1, wait // timedelta(milliseconds=1))
        reply: Any = self._redis.xread({_answer(namespace, name): position}, block=block)
        answers = list[ClaimAnswer]()
        for _, entries in reply or ():
            for at, fields in entries:
                position = at.decode()
                with suppress(LookupError, ValueError):  # an entry that is none of ours
                    answers.append(ClaimAnswer.model_validate_json(fields[FIELD.encode()]))
        return position, answers

    def tell(self, namespace: str, name: str, answer: ClaimAnswer) -> None:
        """Answer. One round trip."""
        key, pipe = _answer(namespace, name), self._redis.pipeline(transaction=False)
        text = answer.model_dump_json(by_alias=True, exclude_none=True)
        pipe.xadd(key, {FIELD: text}, maxlen=MOST, approximate=False)
        pipe.expire(key, KEPT)
        pipe.execute()

    def release(self, namespace: str, name: str, call: str | None = None) -> None:
        """Record that the claim shall not be there, or not for a call. Do this before its deletion (rule released)."""
        self._redis.set(_released(namespace, name, call), 1, ex=RELEASED)

    def released_until(self, namespace: str, name: str, call: str | None = None) -> datetime | None:
        """Return until when the claim counts as released, by its name or by the call that asks for it. None: not."""
        end: Any = self._redis.pexpiretime(_released(namespace, name, call))
        return None if end == NO_KEY else datetime.fromtimestamp(end / 1000, UTC)

    def has_fleet(self) -> bool:
        """Tell whether a fleet has claimed this Redis. True also for a user who must not read that."""
        try:
            stored: Any = self._redis.hmget(KEY, list(FIELDS))
        except NoPermissionError:
            return True
        return Identity.stored(stored) is not None

    def now(self) -> float:
        """Return the time by the clock of Redis, in seconds since 1970."""
        seconds, microseconds = self._redis.time()
        return float(seconds + microseconds / 1e6)


def _answer(namespace: str, name: str) -> str:
    return f"berthmaster:claims:answer:{namespace}/{name}"


def _released(namespace: str, name: str, call: str | None) -> str:
    return "/".join(("berthmaster:claims:released:" + namespace, name, *((call,) if call else ())))
