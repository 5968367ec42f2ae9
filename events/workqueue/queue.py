"""The workqueue: the publisher marks keys; a worker takes one under a lease, reconciles it and reports it done.

Every method is one script, so every change of a key is one step of Redis. A script that makes a key ready decides
whether a hint is due. It sends the hint itself when the broker's list is in the same Redis (`hint_queue`); else the
hint is published after the script. If the process dies between the two, `forget` sends another.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from datetime import timedelta
from itertools import repeat
from pathlib import Path
from typing import Any, Final

from redis import Redis

from berthmaster.events import STREAM_FIELD
from berthmaster.redis.identity import FIELDS, AnotherFleet, Identity
from berthmaster.redis.incarnation import INCARNATION, STATE_VERSION, Argument, doubt, refused_by_another
from berthmaster.redis.scripts import Scripts
from berthmaster.routing import EVENTS_STREAM
from events.workqueue import states
from events.workqueue.arguments import chunks, decoded, listed, milliseconds, present_trace, proper
from events.workqueue.entries import (
    LOST,
    Ended,
    EndOfRun,
    KeyState,
    LeasedKey,
    Mark,
    Refusal,
    Snapshot,
    StoredVersion,
    as_mark,
    padded,
    padded_history,
    stored_version,
)
from events.workqueue.hints import Publish
from events.workqueue.other_version import discard_other_version
from events.workqueue.replies import leased
from events.workqueue.shard import AHEAD, NAMES, tables

LUA: Final = Path(__file__).parent / "lua"
NOT_READY: Final = Refusal.NOT_READY.value.encode()


class Workqueue:
    """One shard of keys. Pass either `publish` (called after a script) or `hint_queue` (a list that scripts fill).

    `ahead`: hints at most whose drain has not begun.
    """

    def __init__(
        self,
        redis: Redis,
        publish: Publish | None = None,
        hint_queue: str | None = None,
        tag: str = "queue",
        ahead: int = AHEAD,
    ) -> None:
        if (publish is None) == (hint_queue is None):
            raise ValueError("a workqueue sends its hints either by `publish` or to `hint_queue`")
        self._redis, self._scripts = redis, Scripts(redis, LUA, tables(ahead))
        self._key = {name: f"{{{tag}}}{name}" for name in NAMES}
        self._reply, self._hints = f"{{{tag}}}reply", [hint_queue] if hint_queue else []
        self._keys = [*self._key.values(), self._reply, *self._hints]
        self._publish = publish
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
        self, epoch: str, marks: Sequence[Mark], relist: bool = False, entries: Sequence[bytes] = (), length: int = 0
    ) -> list[int]:
        """Store newer versions and mark them dirty, in one script; an answer each: LOST, 0, or 1 = it became ready.

        `entries`: what the stream of events gets in the same step, one a mark, or none; `length`: its most entries.
        A relist does not compare the stamp, which follows the relist.
        """
        if not marks:
            return []
        args: list[Argument] = [epoch, INCARNATION, int(relist), present_trace(), length, STREAM_FIELD]
        for mark, entry in zip(marks, entries or repeat(b"", len(marks)), strict=True):
            args += (mark.key, padded(mark.version), mark.text(), entry)
        reply = self._scripts["mark"]([*self._key.values(), EVENTS_STREAM, *self._hints], args)
        if reply is None:
            return [LOST] * len(marks)
        answers, hints = reply
        self._send(hints)
        return [answer - ord("0") for answer in answers]

    def stamp(self, epoch: str) -> bool:
        """Open the queue for workers: the list is complete. False: the epoch or the Redis process has changed."""
        if self._assumed is None or self._assumed[0] != epoch:
            return False
        doubt(self._redis)
        stamped, hints = self._run("stamp", epoch, self._assumed[1], INCARNATION)
        self._send(hints)
        return bool(stamped)

    def stands(self, epoch: str) -> bool:
        """Return whether a mark would count now: the epoch is ours, and the answering Redis process has the stamp."""
        doubt(self._redis)
        return self.publication() == (epoch, True)

    def publication(self) -> states.Publication:
        """Return the last assumed epoch, and whether workers may take keys under it."""
        return states.publication(self._redis, self._key)

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

    def touch(self, keys: Sequence[str], pools: Sequence[str] = (), *, slow: bool = False) -> None:
        """Mark keys dirty without a change of their snapshots, which may be missing: for our own requests.

        Invalid keys are left out: no reconciler takes them. `pools` are added to those where the names may hold ports.
        `slow`: nobody waits for these runs (audits, sweeps, periodic touches, resyncs).
        """
        trace = present_trace()
        for some in chunks(proper(keys)):
            self._send(self._run("touch", INCARNATION, listed(pools or None), int(slow), trace, *some))

    def take(self, key: str, lease: timedelta, nonce: str, *, requested: bool = False) -> LeasedKey | Refusal:
        """Lease the key to this run; `nonce` is unique to the request. After a Refusal nothing is left to do.

        `requested`: mark the key dirty in the same step, so that it runs although nothing has changed.
        """
        asked = (INCARNATION, key, milliseconds(lease), nonce, int(requested), present_trace())
        return self._granted(lambda: self._run("take", *asked))

    def take_next(self, hint: str, lease: timedelta, drain: str, nonce: str) -> LeasedKey | Refusal:
        """Begin the drain of a hint: lease the next ready key.

        `drain` is unique to the drain, `nonce` to the request.
        """
        asked = (INCARNATION, hint, milliseconds(lease), nonce)
        return self._granted(lambda: self._run("take_next", *asked, reply=drain))

    def decline(self, hint: str) -> None:
        """Send another hint in place of one that this process took from the broker and does not serve."""
        self._send(self._run("decline", INCARNATION, hint))

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
        return self._done(taken, EndOfRun(wait, tries, written, pools), None, taken.token, taken.token).accepted

    def done_and_next(self, taken: LeasedKey, end: EndOfRun, lease: timedelta | None, drain: str, nonce: str) -> Ended:
        """End the run as `done` does, and lease the drain's next key in the same step.

        No `lease`: the drain ends. `drain` and `nonce` are as in `take_next`.
        """
        return self._done(taken, end, lease, drain, nonce)

    def _done(self, taken: LeasedKey, end: EndOfRun, lease: timedelta | None, drain: str, nonce: str) -> Ended:
        wait, tries, written, pools = end
        own, history = as_mark(taken.key, written) if written else None, taken.snapshot.history if taken.snapshot else 0
        accepted, following, hints = self._run(
            "done",
            INCARNATION,
            taken.key,
            taken.token,
            taken.generation,
            0 if wait is None else max(1, milliseconds(wait)),
            tries,
            f"{padded_history(history)}.{padded(own.version)}" if own else "",
            own.text() if own else "",
            listed(pools),
            "" if lease is None else milliseconds(lease),
            nonce,
            reply=drain,
        )
        self._send(hints)
        return Ended(bool(accepted), leased(following))

    # ---- the sweeps

    def sweep_due(self, limit: int = 1000) -> int:
        """Make at most `limit` keys ready whose wait or lease has ended; return how many."""
        due, hints = self._run("sweep_due", INCARNATION, limit)
        self._send(hints)
        return int(due)

    def forget(self, after: timedelta) -> int:
        """Forget hints that no drain has begun within `after`, and send others; return how many were forgotten."""
        forgotten, hints = self._run("forget", INCARNATION, milliseconds(after))
        self._send(hints)
        return int(forgotten)

    # ---- looking

    def newest_token(self) -> int:
        """Return the number of the token that was granted last, 0 before the first."""
        return states.newest_token(self._redis, self._key)

    def snapshot(self, key: str) -> Snapshot | None:
        """Return the stored snapshot of a key, None if there is none."""
        return states.snapshot_of(self._redis, self._key, key)

    def is_absent(self, key: str) -> bool:
        """Tell whether the cluster has no such object. False also until a publisher has listed all under this Redis."""
        return states.is_absent(self._redis, self._key, key)

    def key_state(self, key: str) -> KeyState:
        """Return the state of a key at one moment."""
        return states.key_state(self._redis, self._key, key)

    def snapshots(self) -> Iterator[tuple[str, Snapshot]]:
        """Yield every key with its snapshot, in pages; not one moment, like `stored_versions`."""
        return states.snapshots(self._redis, self._key)

    def depth(self) -> dict[str, float]:
        """Count the keys by state, as `events.workqueue.states` says."""
        return states.depth(self._redis, self._key)

    def ready_by_class(self) -> dict[str, int]:
        """Count the ready keys of each class."""
        return states.ready_by_class(self._redis, self._key)

    def _run(self, name: str, *args: Argument, reply: str = "") -> Any:
        keys = [*self._key.values(), f"{self._reply}:{reply}", *self._hints] if reply else self._keys
        return self._scripts[name](keys, args)

    def _granted(self, ask: Callable[[], Any]) -> LeasedKey | Refusal:
        """Ask for a key; once more if the refusal is that of another server than the one that we know."""
        following, hints = ask()
        if following == NOT_READY and refused_by_another(self._redis):
            following, hints = ask()
        self._send(hints)
        return leased(following)

    def _send(self, hints: Sequence[bytes]) -> None:
        """Send the hints of a script that does not send them itself."""
        if hints and self._publish:
            self._publish(decoded(hints))
