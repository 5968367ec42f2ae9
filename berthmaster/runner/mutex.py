"""The lock under which kombu looks for unacknowledged messages, released without a script.

redis-py releases a lock by a script of its own, which it loads where the server lacks it. A runner's Redis user may
load no script. A worker process whose kombu is refused ends, and its jobs with it.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

from kombu.transport import redis as transport
from redis.exceptions import LockNotOwnedError, WatchError
from redis.lock import Lock


class TransactionalLock(Lock):
    """A lock whose release compares and deletes in a transaction."""

    def register_scripts(self) -> None:
        """Register none: the lock is neither extended nor reacquired."""

    def do_release(self, expected_token: Any) -> None:
        """Delete the lock if it still has this token. Raises LockNotOwnedError."""
        with self.redis.pipeline() as pipe:
            try:
                pipe.watch(self.name)
                if pipe.get(self.name) != expected_token:
                    raise LockNotOwnedError("the lock has run out, and may be another's", lock_name=str(self.name))
                pipe.multi()
                pipe.delete(self.name)
                pipe.execute()
            except WatchError as error:  # also for a connection that is lost after the WATCH
                raise LockNotOwnedError("the lock has just run out", lock_name=str(self.name)) from error


@contextmanager
def mutex(client: Any, name: str, expire: float) -> Iterator[None]:
    """Hold the lock, in place of kombu's Mutex. Raises MutexHeld when another process has it."""
    lock = TransactionalLock(client, name, timeout=expire)
    if not lock.acquire(blocking=False):
        raise transport.MutexHeld
    try:
        yield
    finally:
        with suppress(LockNotOwnedError):
            lock.release()


def install() -> None:
    """Make kombu's Redis transport use this mutex."""
    transport.Mutex = mutex
