"""A workqueue with its broker and a Redis, and what may happen to them: time passing, loss, marks of a publisher."""

from __future__ import annotations

from datetime import timedelta
from itertools import count
from typing import Any, Final

from events.workqueue import LeasedKey, Mark, Refusal, Snapshot
from tests.integration.workqueue.brokers import Elsewhere, Here

EPOCH: Final = "7:publisher-a"
HOUR: Final = timedelta(hours=1)
PAST: Final = 1  # ms since 1970
KEY: Final = "pod/games/lobby-0"
OTHER: Final = "pod/games/lobby-1"


class World:
    """Starts as a publisher leaves it: claimed, stamped, empty."""

    def __init__(self, broker: Here | Elsewhere) -> None:
        self.broker, self.redis, self.queue = broker, broker.redis, broker.workqueue()
        self._nonces = count()
        self.publish_anew()

    def publish_anew(self, epoch: str = EPOCH) -> None:
        assert self.queue.assume_epoch(epoch)
        assert self.queue.stamp(epoch)

    def mark(self, version: int, key: str = KEY, gone: bool = False) -> int:
        return self.queue.marks(EPOCH, [mark(version, key, gone)])[0]

    def try_take(self, key: str = KEY) -> LeasedKey | Refusal:
        return self.queue.take(key, HOUR, f"n{next(self._nonces)}")

    def take(self, key: str = KEY) -> LeasedKey:
        taken = self.try_take(key)
        assert isinstance(taken, LeasedKey), taken
        return taken

    def run_all(self) -> list[LeasedKey]:
        """One worker that takes message after message; returns its runs."""
        runs = []
        while message := self.broker.pop():
            taken = self.try_take(message.argument)
            if isinstance(taken, LeasedKey):
                runs.append(taken)
                assert self.queue.done(taken, None)
        return runs

    def end_timer(self, key: str = KEY) -> None:
        """Its lease or wait is over now (and was an hour ago)."""
        self.redis.zadd("{queue}timer", {key: PAST}, xx=True)

    def queued_long_ago(self, key: str = KEY) -> None:
        self.redis.zadd("{queue}queued", {key: PAST}, xx=True)

    def now(self) -> int:
        seconds, microseconds = self.redis.time()
        return int(seconds) * 1000 + int(microseconds) // 1000

    def waiting(self) -> list[str]:
        """The keys of the messages in the broker, oldest first."""
        return [message.argument for message in self.broker.waiting()]

    def place(self, key: str = KEY) -> str:
        """H held, Q queued, W waits, - none of them. Checks that it is in one place only."""
        held: Any = self.redis.hexists("{queue}hold", key)
        queued = self.redis.zscore("{queue}queued", key) is not None
        timer = self.redis.zscore("{queue}timer", key) is not None
        assert not (queued and timer), key
        assert timer or not held, key
        return "H" if held else "Q" if queued else "W" if timer else "-"

    def dirty(self, key: str = KEY) -> bool:
        return bool(self.redis.hexists("{queue}dirty", key))


def mark(version: int, key: str = KEY, gone: bool = False, body: bytes = b"{}", uid: str = "u1") -> Mark:
    return Mark(key, version, uid, gone, body)


def written(version: int, uid: str = "u1", gone: bool = False) -> Snapshot:
    """What the Kubernetes API answered to a run's own write."""
    return Snapshot(version, uid, gone, {"written": version})
