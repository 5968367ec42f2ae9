"""The workqueue: the publisher marks keys; a worker takes one under a lease, reconciles it and reports it done.

Every method is one script, so every change of a key is one step of Redis. Hints are published after the script, or
by the script when the broker's list is in the same Redis (`hint_queue`): then a mark and its hint are one round
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
from berthmaster.redis.incarnation import INCARNATION, STATE_VERSION, Argument, doubt, refused_by_another
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
from events.workqueue.other_version import discard_other_version

LUA: Final = Path(__file__).parent / "lua"
NAMES: Final = ("snap", "dirty", "hold", "queued", "timer", "meta", "tries", "pools", "sweep")  # order of lib/keys.lua
SWEEP_PERIODS: Final = 2
"""Periods of the lost-hint sweep after which its own message counts as lost: whatever loses hints may lose it."""
NOT_READY: Final = Refusal.NOT_READY.value.encode()


class Workqueue:
    """One shard of keys. Pass either `publish` (called after a script) or `hint_queue` (a list that scripts fill)."""

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
        self.history = 0  # of the API, as `enter_history` set it

    # ---- the publisher's side

    def assume_epoch(self, epoch: str, fleet: Identity | None = None) -> bool:
        """Make `epoch` ("<lease transitions>:<identity>") the current one. False: a higher number was assumed.

        Raises AnotherFleet for a Redis that belongs to another fleet; a Redis of no fleet becomes `fleet`'s.
        """
        doubt(self._redis)
        under = self._run("assume_epoch", epoch, INCARNATION, *(fleet or ("", "")), STATE_VERSION)
        if fleet and isinstance(under, list) and (owner := Identity.stored(under)):
            raise AnotherFleet(owner, fleet)
        self._assumed = (epoch, under.decode()) if under else None
        return under is not None and discard_other_version(self._redis, self._key, epoch, under.decode())

    def enter_history(self, epoch: str, anew: bool = False) -> bool:
        """Set the `history` of later marks. `anew`: the API's versions went back. False: the epoch is not ours.

        A version of another history refuses no mark.
        """
        history = self._run("enter_history", epoch, int(anew))
        self.history = int(history or 0)
        return history is not None

    def was_stamped(self) -> bool:
        """Return whether the stamp is of the server under which we assumed the epoch: then workers took keys before."""
        return bool(self._assumed and self._redis.hget(self._key["meta"], "run") == self._assumed[1].encode())

    def stored_versions(self) -> dict[str, StoredVersion]:
        """Return the stored version of each key. Not one moment: keys that change meanwhile may be old or new."""
        snapshots = self._redis.hscan_iter(self._key["snap"], count=1000)
        return {key.decode(): stored_version(stored) for key, stored in snapshots}

    def marks(
        self,
        epoch: str,
        marks: Sequence[Mark],
        relist: bool = False,
        extra: Callable[[Pipeline], object] | None = None,
    ) -> list[int]:
        """Store newer versions and mark them dirty, in one round trip; an answer each: LOST, 0, or 1 = a hint was sent.

        `extra` may add commands to the same pipeline. A relist does not compare the stamp, which follows the relist.
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
        """Open the queue for workers: the list is complete. False: the epoch or the Redis process has changed."""
        if self._assumed is None or self._assumed[0] != epoch:
            return False
        doubt(self._redis)
        return bool(self._run("stamp", epoch, self._assumed[1], INCARNATION))

    def stands(self, epoch: str) -> bool:
        """Return whether a mark would count now: the epoch is ours, and the answering Redis process has the stamp.

        The call asks the server for its identity.
        """
        doubt(self._redis)
        pipeline = self._redis.pipeline(transaction=False)
        pipeline.hmget(self._key["meta"], "epoch", "run")
        pipeline.echo(INCARNATION)
        (current, stamped), answering = pipeline.execute()
        return bool(current == epoch.encode() and stamped == answering)

    def highest_epoch(self) -> int:
        """Return the number of the last assumed epoch, 0 before the first."""
        epoch: Any = self._redis.hget(self._key["meta"], "epoch")
        return int(epoch.partition(b":")[0]) if epoch else 0

    def owner(self) -> Identity | None:
        """Return the fleet that this Redis belongs to, None before its publisher's first epoch."""
        stored: Any = self._redis.hmget(self._key["meta"], FIELDS)
        return Identity.stored(stored)

    def adopt(self, owner: Identity, heir: Identity) -> bool:
        """Make the Redis `heir`'s. False: it does not belong to `owner`, exactly as named."""
        return bool(self._run("change_fleet", *owner, *heir))

    # ---- the workers' side

    def touch(self, keys: Sequence[str], pools: Sequence[str] = ()) -> None:
        """Mark keys dirty without a change of their snapshots, which may be missing: for our own requests.

        Invalid keys are left out: no reconciler takes them. `pools` are added to those where the names may hold ports.
        """
        for some in chunks(proper(keys)):
            pairs = [part for key in some for part in (key, self._hint(key))]
            self._send(decoded(self._run("touch", listed(pools or None), *pairs)))

    def take(self, key: str, lease: timedelta, nonce: str) -> LeasedKey | Refusal:
        """Lease the key to this run; `nonce` is unique to the run. After a Refusal the hint needs nothing more."""
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
        """Prolong the lease, and record in which pools the name may hold ports. False: the lease is lost, stop."""
        return bool(self._run("renew", taken.key, taken.token, milliseconds(lease), listed(pools)))

    def done(
        self,
        taken: LeasedKey,
        wait: timedelta | None,
        tries: int = 0,
        written: Snapshot | None = None,
        pools: Sequence[str] | None = None,
    ) -> bool:
        """End the run: clean, or again after `wait`, or at once if the key was marked meanwhile. False: not ours.

        A wait of zero is a wait: the key runs again.

        `written` is this run's own write to Kubernetes. It is stored now, so that its echo changes nothing, whether the
        echo comes later or came before. Pass it only if the write carried the resource version that the run decided
        from (each further write: that of the write before). Otherwise it may hide a change that no run has read.
        `pools` None leaves the recorded pools unchanged.
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
        """Queue at most `limit` keys whose wait or lease has ended; return how many."""
        return self._send_keys(self._run("sweep_due", limit))

    def ask_sweep_lost(self, period: timedelta = timedelta(seconds=30)) -> int | None:
        """Return the time (ms) to send with `queue.sweep_lost`, None while one is out. `period`: between the sweeps."""
        sent = self._run("request_sweep", milliseconds(SWEEP_PERIODS * period))
        return None if sent is None else int(sent)

    def sweep_lost(self, sent_ms: int, limit: int = 10_000) -> int:
        """Publish again what was queued before `sent_ms` and is still not taken; return how many.

        Call it only from a message that went through the hints' own queue: by then every earlier hint has had its turn.
        """
        return self._send_keys(self._run("sweep_lost", sent_ms, limit))

    # ---- looking

    def snapshot(self, key: str) -> Snapshot | None:
        """Return the stored snapshot of a key, None if there is none."""
        stored: Any = self._redis.hget(self._key["snap"], key)
        return snapshot(stored)

    def key_state(self, key: str) -> KeyState:
        """Return the state of a key at one moment."""
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
        """Yield every key with its snapshot, in pages; not one moment, like `stored_versions`."""
        for key, stored in self._redis.hscan_iter(self._key["snap"], count=1000):
            if keys := snapshot(stored):
                yield key.decode(), keys

    def depth(self) -> dict[str, float]:
        """Count the keys that are dirty, queued, held and in the timer (leases, waits); age of the oldest hint in s."""
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
        """Return the hint that a script pushes, b"" if hints are sent after the script."""
        return routing.hint(key) if self._pushes else b""

    def _send(self, keys: Sequence[str]) -> None:
        """Send the hints of a script that does not push them."""
        if keys and not self._pushes:
            self._publish(keys)

    def _send_keys(self, keys: list[bytes]) -> int:
        """Send hints for keys that the script chose."""
        if keys:
            self._publish(decoded(keys))
        return len(keys)


def proper(keys: Sequence[str]) -> list[str]:
    """Return the valid keys, which a reconciler takes; log the others."""
    for key in keys:
        if not routing.is_key(key):
            refuse_name("key", "the workqueue", key)
    return [key for key in keys if routing.is_key(key)]
