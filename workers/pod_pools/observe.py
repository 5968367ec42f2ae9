"""What a run of a pod pool sees: the pods of Kubernetes beside those of the slot ledger."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from berthmaster.jobs.job import accepted
from berthmaster.jobs.slot_ledger import Size
from domain.claims.labels import CLAIMED_BY, CORDON, GIVEN_BACK, PHASE
from domain.claims.pod import Phase
from domain.pod_pools.pod_pool import PodPoolSpec
from domain.pod_pools.pod_steps import Care, Member, Patience, Place, View, care, free
from domain.pod_pools.runner_token import carried
from domain.pod_pools.signals import Accepts, Pods, Sensed
from domain.pod_pools.status import SlotCounts
from workers.kube.claimable_pods import is_ready, phase_of
from workers.kube.pool_pods import CARRIED, OPENED, REVISION, RUNNER
from workers.stores.slots.view import PodSlots, SlotsView

Json = dict[str, Any]


@dataclass(frozen=True)
class Seen:
    """`now`: when that was, by the API server's clock.

    `gone`: UIDs that the ledger knows and Kubernetes does not. `labelled`: with pods of a former pool.
    """

    now: datetime

    members: tuple[Member, ...]
    objects: dict[str, Json]
    gone: tuple[str, ...]
    slots: SlotsView
    labelled: tuple[Json, ...] = ()


def observed(labelled: list[Json], owned: Callable[[Json], bool], slots: SlotsView, now: datetime) -> Seen:
    by_uid = {pod["metadata"]["uid"]: pod for pod in labelled if owned(pod)}
    known = {pod.uid: pod for pod in slots.pods}
    members = tuple(_member(pod, known.get(uid), now) for uid, pod in by_uid.items())
    return Seen(now, members, by_uid, tuple(sorted(known.keys() - by_uid.keys())), slots, tuple(labelled))


def _member(pod: Json, told: PodSlots | None, now: datetime) -> Member:
    meta, status = pod["metadata"], pod.get("status") or {}
    labels, annotations = meta.get("labels") or {}, meta.get("annotations") or {}
    has = carried(annotations.get(CARRIED))
    created = datetime.fromisoformat(meta["creationTimestamp"])
    cordoned = annotations.get(CORDON) == "true"
    return Member(
        name=meta["name"],
        uid=meta["uid"],
        revision=labels.get(REVISION, ""),
        age=max(now - created, timedelta(0)),
        phase=status.get("phase", "Pending"),
        ready=is_ready(status) and not cordoned,
        terminating="deletionTimestamp" in meta,
        view=View(told.view) if told else View.UNKNOWN,
        busy=told.busy if told else 0,
        silent=told.silent if told else timedelta(0),
        closed=told.closed if told else timedelta(0),
        token=told.token if told else "",
        secret=has.name if has else "",
        runner=RUNNER not in annotations,
        opened=OPENED in annotations or labels.get(PHASE) != Phase.UNKNOWN,
        stage=phase_of(labels),
        claimed_by=labels.get(CLAIMED_BY, ""),
        drain=annotations.get(GIVEN_BACK, "").partition(" ")[0],
        cordoned=cordoned,
    )


def needs(
    seen: Seen, now: str, patience: Patience, asked: timedelta, watched: timedelta, *, known: bool = True
) -> Iterator[tuple[Member, Care]]:
    """Who needs something, and what. `now`: what pods are made of; `asked`: how long ago they were asked to report.

    `watched`: for how long they could have been heard. `known` False: nobody can say which token pods should have, and
    none is replaced for its own.
    """
    for member in seen.members:
        aged = replace(
            member,
            age=min(member.age, asked),
            silent=min(member.silent, watched),
            secret=member.secret if known else "",
        )
        if (needed := care(aged, now, patience)) is not Care.NOTHING:
            yield aged, needed


def sensed(seen: Seen, size: Size, unseen: int, claims: int) -> Sensed:
    """`unseen`: pods that shall be there and are in no list yet; they boot. Slots of pods that are away count too."""
    places = Counter(m.place for m in seen.members)
    return Sensed(
        pods=Pods(
            open=places[Place.OPEN] + places[Place.AWAY],
            booting=places[Place.BOOTING] + unseen,
            claimed=places[Place.CLAIMED],
            draining=places[Place.DRAINING],
            cordoned=places[Place.CORDONED],
            free=sum(map(free, seen.members)),
        ),
        used=seen.slots.used,
        reserved=seen.slots.reserved,
        idle=_idle(seen.slots),
        waiting=seen.slots.waiting,
        claims=claims,
        last_up=_ago(size.up, seen.now),
        last_down=_ago(size.down, seen.now),
    )


def _idle(slots: SlotsView) -> dict[Accepts, int]:
    free: Counter[Accepts] = Counter()
    for pod in slots.pods:
        if pod.view == View.OPEN:
            for accepts, job in zip(pod.layout, pod.slots, strict=True):
                free[accepted(accepts)] += not job
    return dict(free)


def _ago(ms: int, now: datetime) -> datetime | None:
    return now - timedelta(milliseconds=ms) if ms >= 0 else None


def slot_counts(slots: SlotsView) -> SlotCounts:
    open_pods = [pod for pod in slots.pods if pod.view == View.OPEN]
    idle = sum(not job for pod in open_pods for job in pod.slots)
    return SlotCounts(
        total=sum(len(pod.slots) for pod in slots.pods), used=slots.used, reserved=slots.reserved, idle=idle
    )


def spec_of(body: Json) -> PodPoolSpec:
    """Raises pydantic's ValidationError."""
    return PodPoolSpec.model_validate(body["spec"])
