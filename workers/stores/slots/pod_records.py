"""The pods of the slot ledger as their records say, decoded once for each version of a record."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Final

from berthmaster.jobs.records import pod_fields
from berthmaster.jobs.unreadable import name as name_of
from berthmaster.jobs.unreadable import texts, typed
from berthmaster.jobs.unreadable import uid as uid_of
from domain.pod_pools.pod_steps import LedgerState

MOST_PODS: Final = 10_000
"""Pods whose decoded records a process keeps, of some 5 kB each."""


@dataclass(frozen=True)
class PodSlots:
    """A pod in the slot ledger.

    `layout`, `slots` and `states` go together: what each slot accepts, the job in it or '', and running, reserved or
    ''. `silent`: time since the last report; `closed`: time since the pod was fenced or claimed.
    `version`: of its runner, None where none has said it.
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
    version: str | None = None

    @property
    def busy(self) -> int:
        """How many slots have a job."""
        return sum(bool(job) for job in self.slots)


Decoded = tuple[PodSlots, int, int | None]
"""A pod, and when it reported last and was closed, in ms."""


def _pod(uid: bytes, record: bytes) -> Decoded:
    stored = pod_fields(record)
    slots, layout = stored["slots"], texts(stored["layout"])
    jobs, states = texts([slot["job"] if slot else "" for slot in slots]), tuple(_state(slot) for slot in slots)
    if len(slots) != len(layout):
        raise ValueError(f"{len(slots)} slots of {len(layout)}")
    closed_at = int(stored["closed_at"]) if "closed_at" in stored else None
    pod = uid_of(uid.decode()), name_of(stored["name"]), LedgerState(stored["view"]).value, typed(stored["token"], str)
    version = typed(stored["version"], str) if "version" in stored else None
    slots_of_pod = PodSlots(*pod, layout, jobs, timedelta(0), states, version=version)
    return slots_of_pod, int(stored["reported_at"]), closed_at


class DecodedRecords:
    """The latest record of each pod, decoded: a run decodes only records that changed."""

    def __init__(self) -> None:
        self._latest: dict[bytes, tuple[bytes, Decoded]] = {}

    def __len__(self) -> int:
        return len(self._latest)

    def of(self, uid: bytes, record: bytes) -> Decoded:
        """Return the pod of a record. Raises what decoding raises."""
        latest = self._latest.get(uid)
        if latest is None or latest[0] != record:
            if len(self._latest) >= MOST_PODS:
                self._latest.clear()
            latest = self._latest[uid] = record, _pod(uid, record)
        return latest[1]


DECODED: Final = DecodedRecords()


def pod_at(pod: PodSlots, reported_at: int, closed_at: int | None, now: int) -> PodSlots:
    """Return the pod as it is at a time, in ms by Redis's clock."""
    silent = timedelta(milliseconds=max(0, now - reported_at))
    closed = timedelta(milliseconds=max(0, now - (now if closed_at is None else closed_at)))
    facts = pod.uid, pod.name, pod.view, pod.token, pod.layout, pod.slots
    return PodSlots(*facts, silent, pod.states, closed, pod.version)  # `replace` takes three times as long


def _state(slot: dict[str, Any] | None) -> str:
    state = slot["state"] if slot else ""
    if state not in ("", "running", "reserved"):
        raise ValueError(f"{str(state)[:40]!r} is no state of a slot")
    return str(state)
