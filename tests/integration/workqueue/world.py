"""A workqueue with its broker and a Redis, and what may happen to them: time passing, loss, marks of a publisher."""

from __future__ import annotations

from datetime import timedelta
from itertools import count
from typing import Any, Final

from events.workqueue import Ended, EndOfRun, LeasedKey, Mark, Refusal, Snapshot
from tests.integration.workqueue.brokers import Elsewhere, Here
from tests.support.ready_keys import READY, SENT, classes_of, ready_keys

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

    def try_take(self, key: str = KEY, *, requested: bool = False) -> LeasedKey | Refusal:
        return self.queue.take(key, HOUR, f"n{next(self._nonces)}", requested=requested)

    def take(self, key: str = KEY) -> LeasedKey:
        taken = self.try_take(key)
        assert isinstance(taken, LeasedKey), taken
        return taken

    def try_begin(self, hint: str | None = None) -> LeasedKey | Refusal:
        """Begin the drain of the oldest message, or of `hint`."""
        message = self.broker.pop() if hint is None else None
        assert message or hint, "no message"
        nonce = f"n{next(self._nonces)}"
        return self.queue.take_next(message.argument if message else str(hint), HOUR, nonce, nonce)

    def begin(self, hint: str | None = None) -> LeasedKey:
        taken = self.try_begin(hint)
        assert isinstance(taken, LeasedKey), taken
        return taken

    def then(self, taken: LeasedKey, end: EndOfRun | None = None, *, goes_on: bool = True) -> Ended:
        """End a run of a drain, and go on with the next key."""
        nonce = f"n{next(self._nonces)}"
        return self.queue.done_and_next(taken, end or EndOfRun(), HOUR if goes_on else None, nonce, nonce)

    def run_all(self) -> list[LeasedKey]:
        """One worker that takes message after message, and drains; returns its runs."""
        runs = []
        while message := self.broker.pop():
            taken = self.try_begin(message.argument)
            while isinstance(taken, LeasedKey):
                runs.append(taken)
                ended = self.then(taken)
                assert ended.accepted
                taken = ended.next
        return runs

    def end_timer(self, key: str = KEY) -> None:
        """Its lease or wait is over now (and was an hour ago)."""
        self.redis.zadd("{queue}timer", {key: PAST}, xx=True)

    def ready_long_ago(self, key: str = KEY) -> None:
        for queue in READY.values():
            self.redis.zadd(queue, {key: PAST}, xx=True)

    def sent_long_ago(self) -> None:
        """Every hint that no drain has begun."""
        self.redis.zadd(SENT, dict.fromkeys(self.unbegun(), PAST), xx=True)

    def now(self) -> int:
        seconds, microseconds = self.redis.time()
        return int(seconds) * 1000 + int(microseconds) // 1000

    def ready(self) -> list[str]:
        """The ready keys, oldest first."""
        return ready_keys(self.redis)

    def hints(self) -> list[str]:
        """The messages in the broker, oldest first."""
        return [message.argument for message in self.broker.waiting()]

    def unbegun(self) -> list[str]:
        """The hints that count, oldest first."""
        ids: Any = self.redis.zrange(SENT, 0, -1)
        return [hint.decode() for hint in ids]

    def place(self, key: str = KEY) -> str:
        """H held, Q ready, W waits, - none of them. Checks that it is in one place only."""
        held: Any = self.redis.hexists("{queue}hold", key)
        ready = classes_of(self.redis, key)
        assert len(ready) <= 1, (key, ready)
        queued = bool(ready)
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
