"""Reads a pod pool's slots, for scaling, status and people. The numbers may be of different instants."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from berthmaster.jobs.job import JobRecord, JobState, slot_class
from berthmaster.jobs.lifecycle import KEY_HOLDERS
from berthmaster.jobs.records import decoded
from berthmaster.jobs.slot_ledger import Size, SlotLedger
from berthmaster.jobs.unreadable import UnreadableLedger, readable
from berthmaster.jobs.unreadable import name as name_of
from berthmaster.jobs.unreadable import uid as uid_of
from berthmaster.names import is_name
from berthmaster.redis.incarnation import incarnation
from domain.pod_pools.pod_steps import LedgerState
from domain.pod_pools.unready import Unready
from workers.stores.slots.pod_records import DECODED, PodSlots, pod_at

MOST_DIGITS: Final = 15
"""Of a time in ms: one with more is none."""


@dataclass(frozen=True)
class SlotsView:
    """The slots of a pool. `waiting`: kinds of jobs (phases joined by commas) -> how many wait for a slot.

    `unrecorded`: pods that jobs are on and whose record is lost, as quarantined ones. `resting`: UIDs of protected pods
    that have no work -> for how long.
    """

    pods: tuple[PodSlots, ...]
    used: int
    reserved: int
    waiting: dict[str, int]
    names: frozenset[str]
    unready: Unready
    unrecorded: tuple[PodSlots, ...] = ()
    resting: Mapping[str, timedelta] = field(default_factory=dict)

    @property
    def all_pods(self) -> tuple[PodSlots, ...]:
        """Every pod, also one whose record is lost."""
        return (*self.pods, *self.unrecorded)

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
    pipe.hgetall(f"{p}on-pods")
    pipe.hgetall(f"{p}resting")
    pipe.time()
    stored, kinds, names, unready, places, resting, (seconds, micros) = pipe.execute()
    now = int(seconds) * 1000 + int(micros) // 1000
    pods = tuple(pod_at(*DECODED.of(uid, record), now) for uid, record in sorted(stored.items()))
    states = Counter(state for pod in pods for state in pod.states)
    return SlotsView(
        pods,
        states["running"],
        states["reserved"],
        _waiting(ledger, sorted(kind.decode() for kind in kinds)),
        frozenset(filter(is_name, (name.decode(errors="replace") for name in names))),
        _unready(unready, int(seconds)),
        tuple(_unrecorded(places, set(stored))),
        _resting(resting, now),
    )


def _unrecorded(places: dict[bytes, bytes], recorded: set[bytes]) -> Iterator[PodSlots]:
    jobs: dict[bytes, list[str]] = {}
    for job, place in sorted(places.items()):
        if place.partition(b" ")[0] not in recorded:
            jobs.setdefault(place, []).append(job.decode())
    for place, there in jobs.items():
        uid, _, name = place.decode().partition(" ")
        pod = uid_of(uid), name_of(name), LedgerState.AWAY.value, ""
        yield PodSlots(*pod, (slot_class(()),) * len(there), tuple(there), timedelta(0), ("running",) * len(there))


def _resting(stored: dict[bytes, bytes], now: int) -> dict[str, timedelta]:
    """Leave out what is no time, or a time from before Redis's clock went back: the pool's run records it again."""
    return {
        uid.decode(errors="replace"): timedelta(milliseconds=now - int(since))
        for uid, since in stored.items()
        if since.isdigit() and len(since) <= MOST_DIGITS and int(since) <= now
    }


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


def jobs(ledger: SlotLedger) -> Iterator[JobRecord]:
    """Yield all jobs that are remembered, in pages."""
    for job, record in ledger.redis.hscan_iter(f"{ledger.prefix}jobs", count=500):
        yield decoded(job.decode(errors="replace"), record)


@readable()
def unreadable_jobs(ledger: SlotLedger) -> tuple[str, ...]:
    """Return the ids of jobs that the scripts have met and whose records cannot be read."""
    named: Any = sorted(ledger.redis.smembers(f"{ledger.prefix}unreadable"))
    records: Any = ledger.redis.hmget(f"{ledger.prefix}jobs", named) if named else ()
    pairs = [(job.decode(errors="replace"), record) for job, record in zip(named, records, strict=True)]
    return tuple(job for job, record in pairs if record and not _is_record(job, record))


@readable()
def jobs_beside(ledger: SlotLedger) -> tuple[str, ...]:
    """Return the ids of jobs that run although another job has their serial key."""
    named: Any = sorted(ledger.redis.smembers(f"{ledger.prefix}beside"))
    ids = []
    for job in (name.decode(errors="replace") for name in named):
        record = ledger.record(job)
        holder: Any = ledger.redis.hget(f"{ledger.prefix}keyed", record.serial_key) if record else None
        if record and record.state in KEY_HOLDERS and holder not in (None, job.encode()):
            ids.append(job)
    return tuple(ids)


def _is_record(job: str, record: bytes) -> bool:
    try:
        decoded(job, record)
    except UnreadableLedger:
        return False
    return True


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


@dataclass(frozen=True)
class Times:
    """By the ids of jobs. `deadlines`: when the limit is over that counts; `stopping`: since when a runner is asked to
    stop the job.
    """

    deadlines: dict[str, datetime]
    stopping: dict[str, timedelta]
    now: datetime


@readable()
def times(ledger: SlotLedger) -> Times:
    """Read the times of all jobs that have any; UTC, by Redis's clock."""
    pipe, p = ledger.redis.pipeline(transaction=True), ledger.prefix
    for index in ("limits", "due", "stopping"):
        pipe.zrange(f"{p}{index}", 0, -1, withscores=True)
    pipe.time()
    limits, due, stopping, (seconds, micros) = pipe.execute()
    now = _moment(int(seconds) * 1000 + int(micros) // 1000)
    deadlines = {job.decode(): _moment(at) for job, at in [*limits, *due]}
    return Times(deadlines, {job.decode(): max(timedelta(0), now - _moment(at)) for job, at in stopping}, now)


@readable()
def unstopped_jobs(ledger: SlotLedger, patience: timedelta) -> tuple[tuple[JobRecord, timedelta], ...]:
    """Return jobs whose runners were asked to stop them longer than `patience` ago, and how long ago."""
    asked = {job: since for job, since in times(ledger).stopping.items() if since > patience}
    records = ((ledger.record(job), since) for job, since in sorted(asked.items()))
    return tuple((job, since) for job, since in records if job and job.state is JobState.CANCELLING)


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
