"""The workqueue: the publisher marks keys, a worker takes one under a lease, reconciles it and says when it is
done.

Every method is one script, so every change of a key is one step of Redis. What a script decided is published after
it, or by it when the broker's list is in the same Redis (`hint_queue`): then a mark and its hint are one round
trip. If the process dies between the two, the key is queued without a message, and `sweep_lost` finds it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any, Final

import orjson
from redis import Redis
from redis.client import Pipeline

from berthmaster import routing
from berthmaster.redis.identity import FIELDS, AnotherFleet, Identity
from berthmaster.redis.incarnation import INCARNATION, Argument, doubt, refused_by_another
from berthmaster.redis.scripts import Scripts
from events.protocol.refused_names import refuse_name
from events.workqueue.arguments import chunks, decoded, listed, milliseconds
from events.workqueue.entries import (
    KeyState,
    LeasedKey,
    Mark,
    Refusal,
    Snapshot,
    StoredVersion,
    as_mark,
    padded,
    padded_history,
    snapshot,
    stored_version,
)
from events.workqueue.hints import Publish, push
from events.workqueue.other_version import discard_other_version, version_of

LUA: Final = Path(__file__).parent / "lua"
NAMES: Final = ("snap", "dirty", "hold", "queued", "timer", "meta", "tries", "pools", "sweep")  # order of lib/keys.lua
SWEEP_PERIODS: Final = 2
"""Periods of the sweep for lost hints after which its own message counts as lost too: one refusal takes both."""
NOT_READY: Final = Refusal.NOT_READY.value.encode()


class Workqueue:
    """One shard of keys. Give it `publish` (called after a script) or `hint_queue` (a list that scripts push to)."""

    def __init__(
        self, redis: Redis, publish: Publish | None = None, hint_queue: str | None = None, tag: str = "queue"
    ) -> None:
        if (publish is None) == (hint_queue is None):
            raise ValueError("a workqueue sends its hints either by `publish` or to `hint_queue`")
        self._redis, self._scripts = redis, Scripts(redis, LUA)
        self._key = {name: f"{{{tag}}}{name}" for name in NAMES}
        self._keys = [*self._key.values(), *([hint_queue] if hint_queue else [])]
        self._pushes = hint_queue is not None
        self._publish = publish or push(redis, hint_queue or "")
        self._assumed: tuple[str, str] | None = None  # epoch, and the incarnation under which it was assumed
        self.history = 0  # of the API, as `enter_history` said

    # ---- the publisher's side

    def assume_epoch(self, epoch: str, fleet: Identity | None = None) -> bool:
        """Makes `epoch` ("<lease transitions>:<identity>") the one that counts. False: a higher number was assumed.

        Raises AnotherFleet for a Redis that does not belong to `fleet`; one that is nobody's becomes its own.
        """
        doubt(self._redis)
        version = version_of(self._redis, self._key["meta"])
        under = self._run("assume_epoch", epoch, INCARNATION, *(fleet or ("", "")))
        if fleet and isinstance(under, list) and (owner := Identity.stored(under)):
            raise AnotherFleet(owner, fleet)
        self._assumed = (epoch, under.decode()) if under else None
        return under is not None and discard_other_version(self._redis, self._key, epoch, version)

    def enter_history(self, epoch: str, anew: bool = False) -> bool:
        """Sets the `history` of the marks to come. `anew`: the API's versions went back. False: the epoch is not ours.

        A version of another history refuses no mark.
        """
        history = self._run("enter_history", epoch, int(anew))
        self.history = int(history or 0)
        return history is not None

    def was_stamped(self) -> bool:
        """Whether the stamp is of the server under which we assumed the epoch: workers took keys from it before."""
        return bool(self._assumed and self._redis.hget(self._key["meta"], "run") == self._assumed[1].encode())

    def stored_versions(self) -> dict[str, StoredVersion]:
        """What Redis has of each key. Not one moment: keys that change meanwhile may be old or new."""
        snapshots = self._redis.hscan_iter(self._key["snap"], count=1000)
        return {key.decode(): stored_version(stored) for key, stored in snapshots}

    def marks(
        self,
        epoch: str,
        marks: Sequence[Mark],
        relist: bool = False,
        extra: Callable[[Pipeline], object] | None = None,
    ) -> list[int]:
        """Stores what is newer and marks it dirty; an answer each: LOST, 0, or 1 = a hint was sent. One round trip.

        `extra` may add commands of its own to the same pipeline. In a relist the stamp is not compared (it follows).
        """
        pipeline = self._redis.pipeline(transaction=False)
        call, run = self._scripts["mark"].batch(pipeline), b"" if relist else INCARNATION
        for mark in marks:
            call(self._keys, (epoch, run, mark.key, padded(mark.version), mark.text(), self._hint(mark.key)))
        if extra:
            extra(pipeline)
        answers: list[int] = pipeline.execute()[: len(marks)]
        self._send([mark.key for mark, answer in zip(marks, answers, strict=True) if answer == 1])
        return answers

    def stamp(self, epoch: str) -> bool:
        """Opens the queue for workers: the list is complete. False: the epoch or the Redis process is another now."""
        if self._assumed is None or self._assumed[0] != epoch:
            return False
        doubt(self._redis)
        return bool(self._run("stamp", epoch, self._assumed[1], INCARNATION))

    def stands(self, epoch: str) -> bool:
        """Whether a mark would count now: the epoch is ours, and the stamp is of the Redis process that answers.

        The server is asked who it is.
        """
        doubt(self._redis)
        pipeline = self._redis.pipeline(transaction=False)
        pipeline.hmget(self._key["meta"], "epoch", "run")
        pipeline.echo(INCARNATION)
        (current, stamped), answering = pipeline.execute()
        return bool(current == epoch.encode() and stamped == answering)

    def highest_epoch(self) -> int:
        """The number of the epoch that was assumed last, 0 before the first."""
        epoch: Any = self._redis.hget(self._key["meta"], "epoch")
        return int(epoch.partition(b":")[0]) if epoch else 0

    def owner(self) -> Identity | None:
        """The fleet that this Redis belongs to, None before its publisher's first epoch."""
        stored: Any = self._redis.hmget(self._key["meta"], FIELDS)
        return Identity.stored(stored)

    def adopt(self, owner: Identity, heir: Identity) -> bool:
        """Makes the Redis `heir`'s. False: it does not belong to `owner`, exactly as named."""
        return bool(self._run("change_fleet", *owner, *heir))

    # ---- the workers' side

    def touch(self, keys: Sequence[str], pools: Sequence[str] = ()) -> None:
        """Marks keys dirty without a change of their snapshots (they may have none): for one's own requests.

        What is no key is left out: nobody could reconcile it. `pools` are added to those in which the names may hold
        ports.
        """
        for some in chunks(proper(keys)):
            pairs = [part for key in some for part in (key, self._hint(key))]
            self._send(decoded(self._run("touch", listed(pools or None), *pairs)))

    def take(self, key: str, lease: timedelta, nonce: str) -> LeasedKey | Refusal:
        """`nonce` is unique to this run. A hint whose key is not taken is done with."""
        asked = (INCARNATION, key, milliseconds(lease), nonce)
        answer = self._run("take", *asked)
        if answer == NOT_READY and refused_by_another(self._redis):
            answer = self._run("take", *asked)
        if not isinstance(answer, list):
            return Refusal(answer.decode())
        token, generation, stored, tries, pools = answer
        return LeasedKey(
            key, token.decode(), int(generation), snapshot(stored), int(tries or 0), tuple(orjson.loads(pools or b"[]"))
        )

    def renew(self, taken: LeasedKey, lease: timedelta, pools: Sequence[str] | None = None) -> bool:
        """Prolongs the lease, and records in which pools the name may hold ports. False: it is no longer ours, stop."""
        return bool(self._run("renew", taken.key, taken.token, milliseconds(lease), listed(pools)))

    def done(
        self,
        taken: LeasedKey,
        wait: timedelta | None,
        tries: int = 0,
        written: Snapshot | None = None,
        pools: Sequence[str] | None = None,
    ) -> bool:
        """Ends the run: clean, or again after `wait`, or at once if the key was marked meanwhile. False: not ours.

        A wait of nothing is still a wait: the key runs again.

        `seen` is what this run itself wrote to Kubernetes: stored now, so that the event that reports it is no news,
        whether it comes after this or has come before.
        Only for a write that carried the resource version of what the run decided from (each further write that of the
        one before): else it may hide a change that nobody has looked at. `pools` None leaves them as they are.
        """
        own, history = as_mark(taken.key, written) if written else None, taken.snapshot.history if taken.snapshot else 0
        accepted, queued = self._run(
            "done",
            taken.key,
            taken.token,
            taken.generation,
            0 if wait is None else max(1, milliseconds(wait)),
            tries,
            f"{padded_history(history)}.{padded(own.version)}" if own else "",
            own.text() if own else "",
            listed(pools),
            self._hint(taken.key),
        )
        self._send([taken.key] if queued else [])
        return bool(accepted)

    # ---- the sweeps

    def sweep_due(self, limit: int = 1000) -> int:
        """Queues keys whose wait is over or whose lease ended, at most `limit`; returns how many."""
        return self._send_keys(self._run("sweep_due", limit))

    def ask_sweep_lost(self, period: timedelta = timedelta(seconds=30)) -> int | None:
        """The time (ms) to send with `queue.sweep_lost`, or None while one is outstanding. `period`: of who asks."""
        sent = self._run("request_sweep", milliseconds(SWEEP_PERIODS * period))
        return None if sent is None else int(sent)

    def sweep_lost(self, sent_ms: int, limit: int = 10_000) -> int:
        """Publishes again what was queued before `sent_ms` and is still not taken.

        Right only when it is called by a message that went through the hints' own queue: by then their turn has come.
        """
        return self._send_keys(self._run("sweep_lost", sent_ms, limit))

    # ---- looking

    def snapshot(self, key: str) -> Snapshot | None:
        stored: Any = self._redis.hget(self._key["snap"], key)
        return snapshot(stored)

    def key_state(self, key: str) -> KeyState:
        """One moment."""
        pipe = self._redis.pipeline(transaction=True)
        for name in ("dirty", "hold"):
            pipe.hexists(self._key[name], key)
        for name in ("queued", "timer"):
            pipe.zscore(self._key[name], key)
        for name in ("tries", "pools"):
            pipe.hget(self._key[name], key)
        pipe.time()
        dirty, held, hint, due, tries, pools, (seconds, micros) = pipe.execute()
        now = int(seconds) * 1000 + int(micros) // 1000
        sent, end = (None if ms is None else int(ms) for ms in (hint, due))
        return KeyState(bool(dirty), bool(held), sent, end, now, int(tries or 0), tuple(orjson.loads(pools or b"[]")))

    def snapshots(self) -> Iterator[tuple[str, Snapshot]]:
        """Every key with its snapshot, in pages; not one moment, like `stored_versions`."""
        for key, stored in self._redis.hscan_iter(self._key["snap"], count=1000):
            if keys := snapshot(stored):
                yield key.decode(), keys

    def depth(self) -> dict[str, float]:
        """How many keys are dirty, queued, held, in the timer (leases and waits); seconds that the oldest is queued."""
        pipeline = self._redis.pipeline(transaction=False)
        pipeline.hlen(self._key["dirty"])
        pipeline.zcard(self._key["queued"])
        pipeline.hlen(self._key["hold"])
        pipeline.zcard(self._key["timer"])
        pipeline.zrange(self._key["queued"], 0, 0, withscores=True)
        pipeline.time()
        dirty, queued, held, timer, oldest, (seconds, microseconds) = pipeline.execute()
        age = int(seconds) + int(microseconds) / 1e6 - float(oldest[0][1]) / 1000 if oldest else 0.0
        return {"dirty": dirty, "queued": queued, "held": held, "timer": timer, "oldest_queued_seconds": max(age, 0.0)}

    # ----

    def _run(self, name: str, *args: Argument) -> Any:
        return self._scripts[name](self._keys, args)

    def _hint(self, key: str) -> bytes:
        """What a script pushes itself; nothing where the hint is sent after it."""
        return routing.hint(key) if self._pushes else b""

    def _send(self, keys: Sequence[str]) -> None:
        """Hints that the script left to us."""
        if keys and not self._pushes:
            self._publish(keys)

    def _send_keys(self, keys: list[bytes]) -> int:
        """Hints for keys that only the script knew."""
        if keys:
            self._publish(decoded(keys))
        return len(keys)


def proper(keys: Sequence[str]) -> list[str]:
    """Those that a reconciler takes."""
    for key in keys:
        if not routing.is_key(key):
            refuse_name("key", "the workqueue", key)
    return [key for key in keys if routing.is_key(key)]
