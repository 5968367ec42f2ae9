"""What a run of a pod pool sees: the pods of Kubernetes beside those of the slot ledger."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from berthmaster.jobs.job import accepted
from berthmaster.jobs.slot_ledger import Size
from domain.claims.pod import Phase
from domain.kubernetes.names import CLAIMED_BY, CORDON, GIVEN_BACK, OPENED, PHASE, REVISION, RUNNER, RUNNER_TOKEN
from domain.kubernetes.objects import Pod
from domain.pod_pools.pod_pool import PodPoolSpec
from domain.pod_pools.pod_steps import Care, Member, Patience, Place, View, care, free
from domain.pod_pools.runner_token import carried
from domain.pod_pools.signals import Accepts, Pods, Sensed
from domain.pod_pools.status import SlotCounts
from workers.kube.claimable_pods import phase_of
from workers.stores.slots.view import PodSlots, SlotsView


@dataclass(frozen=True)
class Seen:
    """`now`: when that was, by the API server's clock.

    `gone`: UIDs that the ledger knows and Kubernetes does not. `labelled`: with pods of a former pool.
    """

    now: datetime

    members: tuple[Member, ...]
    objects: dict[str, Pod]
    gone: tuple[str, ...]
    slots: SlotsView
    labelled: tuple[Pod, ...] = ()


def observed(labelled: list[Pod], owned: Callable[[Pod], bool], slots: SlotsView, now: datetime) -> Seen:
    by_uid = {pod.uid: pod for pod in labelled if owned(pod)}
    known = {pod.uid: pod for pod in slots.pods}
    members = tuple(_member(pod, known.get(uid), now) for uid, pod in by_uid.items())
    return Seen(now, members, by_uid, tuple(sorted(known.keys() - by_uid.keys())), slots, tuple(labelled))


def _member(pod: Pod, told: PodSlots | None, now: datetime) -> Member:
    labels, annotations = pod.labels, pod.annotations
    has = carried(annotations.get(RUNNER_TOKEN))
    cordoned = annotations.get(CORDON) == "true"
    return Member(
        name=pod.name,
        uid=pod.uid,
        revision=labels.get(REVISION, ""),
        age=max(now - pod.created, timedelta(0)),
        phase=pod.phase,
        ready=pod.ready and not cordoned,
        terminating=pod.deleting,
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


def spec_of(body: Mapping[str, Any]) -> PodPoolSpec:
    """Raises pydantic's ValidationError."""
    return PodPoolSpec.model_validate(body["spec"])
