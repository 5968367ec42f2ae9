"""Reads a pod pool's slots, for scaling, status and people. The numbers may be of different instants."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from berthmaster.jobs.job import JobRecord
from berthmaster.jobs.records import decoded, pod_fields
from berthmaster.jobs.slot_ledger import Size, SlotLedger
from berthmaster.jobs.unreadable import name as name_of
from berthmaster.jobs.unreadable import readable, texts, typed
from berthmaster.jobs.unreadable import uid as uid_of
from berthmaster.names import is_name
from berthmaster.redis.incarnation import incarnation
from domain.pod_pools.pod_steps import LedgerState
from domain.pod_pools.unready import Unready


@dataclass(frozen=True)
class PodSlots:
    """A pod in the slot ledger.

    `layout`, `slots` and `states` go together: what each slot accepts, the job in it or '', and running, reserved or
    ''. `silent`: time since the last report; `closed`: time since the pod was fenced or claimed.
    """

    uid: str
    name: str
    view: str
    token: str
    layout: tuple[str, ...]
    slots: tuple[str, ...]
    silent: timedelta
    states: tuple[str, ...]
    closed: timedelta = timedelta(0)

    @property
    def busy(self) -> int:
        """How many slots have a job."""
        return sum(bool(job) for job in self.slots)


@dataclass(frozen=True)
class SlotsView:
    """The slots of a pool. `waiting`: kinds of jobs (phases joined by commas) -> how many wait for a slot."""

    pods: tuple[PodSlots, ...]
    used: int
    reserved: int
    waiting: dict[str, int]
    names: frozenset[str]
    unready: Unready

    def of(self, uid: str) -> PodSlots | None:
        """Return the pod with this UID, None if the ledger does not have it."""
        return next((pod for pod in self.pods if pod.uid == uid), None)


@readable()
def view(ledger: SlotLedger) -> SlotsView:
    """Read the view in two round trips."""
    pipe, p = ledger.redis.pipeline(transaction=True), ledger.prefix
    pipe.hgetall(f"{p}pods")
    pipe.smembers(f"{p}sigs")
    pipe.smembers(f"{p}names")
    pipe.hgetall(f"{p}unready")
    pipe.time()
    stored, kinds, names, unready, (seconds, micros) = pipe.execute()
    now = int(seconds) * 1000 + int(micros) // 1000
    pods = {uid: pod_fields(record) for uid, record in sorted(stored.items())}
    states = Counter(slot["state"] for pod in pods.values() for slot in pod["slots"] if slot)
    return SlotsView(
        tuple(_pod(uid, pod, now) for uid, pod in pods.items()),
        states["running"],
        states["reserved"],
        _waiting(ledger, sorted(kind.decode() for kind in kinds)),
        frozenset(filter(is_name, (name.decode(errors="replace") for name in names))),
        _unready(unready, int(seconds)),
    )


@dataclass(frozen=True)
class PoolSizing:
    """The size of a pool, None if nobody knows what runs: not every pod has reported. `asked`: since pods must."""

    size: Size | None
    asked: timedelta = timedelta(0)


@readable()
def pool_sizing(ledger: SlotLedger) -> PoolSizing:
    """Read how large the pool shall be; -1 pods if that was never decided."""
    pipe: Any = ledger.redis.pipeline(transaction=True)
    pipe.hmget(f"{ledger.prefix}meta", "inc", "seen", "mark", "asked", "size", "up", "down")
    pipe.time()
    (verified, marked, mark, since, size, up, down), (seconds, micros) = pipe.execute()
    server, now = incarnation(ledger.redis).encode(), int(seconds) * 1000 + int(micros) // 1000
    since = int(since or int(mark or 0) // 1000)  # a mark is a time too, where nothing else says it
    asked = timedelta(milliseconds=max(0, now - since)) if mark and marked == server else timedelta(0)
    if verified != server:
        return PoolSizing(None, asked)
    return PoolSizing(Size(int(size or -1), *(now - int(at) if at else -1 for at in (up, down))), asked)


def _unready(stored: dict[bytes, bytes], now: int) -> Unready:
    """Return the backoff. A time in the future is from before Redis's clock went back: that wait counts as over."""
    at = int(stored.get(b"at", now))
    since = timedelta(seconds=now - (at if at <= now else 0))
    return Unready(stored.get(b"revision", b"").decode(), int(stored.get(b"count", 0)), since)


def _waiting(ledger: SlotLedger, kinds: list[str]) -> dict[str, int]:
    pipe = ledger.redis.pipeline(transaction=False)
    for kind in kinds:
        pipe.zcard(f"{ledger.prefix}wait:{kind}")
    counts: list[Any] = pipe.execute()
    return {kind: int(count) for kind, count in zip(kinds, counts, strict=True) if count}


def _pod(uid: bytes, stored: dict[str, Any], now: int) -> PodSlots:
    slots, layout = stored["slots"], texts(stored["layout"])
    jobs, states = texts([slot["job"] if slot else "" for slot in slots]), tuple(_state(slot) for slot in slots)
    if len(slots) != len(layout):
        raise ValueError(f"{len(slots)} slots of {len(layout)}")
    silent = timedelta(milliseconds=max(0, now - int(stored["reported_at"])))
    closed = timedelta(milliseconds=max(0, now - int(stored.get("closed_at", now))))
    pod = uid_of(uid.decode()), name_of(stored["name"]), LedgerState(stored["view"]).value, typed(stored["token"], str)
    return PodSlots(*pod, layout, jobs, silent, states, closed)


def _state(slot: dict[str, Any] | None) -> str:
    state = slot["state"] if slot else ""
    if state not in ("", "running", "reserved"):
        raise ValueError(f"{str(state)[:40]!r} is no state of a slot")
    return str(state)


def jobs(ledger: SlotLedger) -> Iterator[JobRecord]:
    """Yield all jobs that are remembered, in pages."""
    for job, record in ledger.redis.hscan_iter(f"{ledger.prefix}jobs", count=500):
        yield decoded(job.decode(errors="replace"), record)


@readable()
def ends(ledger: SlotLedger) -> dict[str, datetime]:
    """Return when each ended job ended; UTC, by Redis's clock."""
    ends: Any = ledger.redis.zrange(f"{ledger.prefix}ended", 0, -1, withscores=True)
    return {job.decode(): _moment(at) for job, at in ends}


@readable()
def ended(ledger: SlotLedger, job: str) -> datetime | None:
    """Return when a job ended, None for a job that has not."""
    at: Any = ledger.redis.zscore(f"{ledger.prefix}ended", job)
    return None if at is None else _moment(at)


def _moment(at: float) -> datetime:
    return datetime.fromtimestamp(at / 1000, UTC)


@dataclass(frozen=True)
class Place:
    """The place of a waiting job: `ahead` in its line; `key`: the job that has its serial key, '' for no other."""

    ahead: int = -1
    key: str = ""
    later: bool = False


@readable()
def place_of(ledger: SlotLedger, job: JobRecord) -> Place:
    """Return the job's place. `ahead` is -1 for a job in no line."""
    pipe, p = ledger.redis.pipeline(transaction=False), ledger.prefix
    pipe.zrank(f"{p}wait:{','.join(sorted(job.phases))}", job.id)
    pipe.zrank(f"{p}blocked:{job.serial_key}", job.id)
    pipe.hget(f"{p}keyed", job.serial_key)
    pipe.zscore(f"{p}later", job.id)
    waits, blocked, holder, later = pipe.execute()
    ahead = waits if waits is not None else blocked
    return Place(
        -1 if ahead is None else int(ahead), (holder or b"").decode() if blocked is not None else "", later is not None
    )
