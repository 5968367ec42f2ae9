"""What a run of a pod pool observes: its pods in Kubernetes beside their slots in the ledger."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any, Final

from berthmaster.jobs.job import accepted
from berthmaster.jobs.slot_ledger import Size, SlotLedger
from berthmaster.jobs.unreadable import readable
from domain.claims.pod import Phase
from domain.kubernetes.names import CLAIMED_BY, CORDON, GIVEN_BACK, OPENED, PHASE, REVISION, RUNNER, RUNNER_TOKEN
from domain.kubernetes.objects import Pod
from domain.pod_pools.pod_pool import PodPoolSpec
from domain.pod_pools.pod_steps import LedgerState, Member, PodCategory, PodStep, PodTimeouts, free, next_step
from domain.pod_pools.runner_token import parse_token
from domain.pod_pools.signals import Accepts, PodTotals, PoolSignals
from workers.kube.claimable_pods import phase_of
from workers.kube.pool_pods import PoolPods
from workers.pod_pools.services import PodPoolServices
from workers.run import Run
from workers.stores.pace import left, pause
from workers.stores.slots.view import PodSlots, SlotsView, view

LONGEST_PAUSE: Final = timedelta(minutes=1)
SHORTEST_SILENCE: Final = timedelta(minutes=1)
MILLISECOND: Final = timedelta(milliseconds=1)


@dataclass(frozen=True)
class PodPoolObservation:
    """The pods of one pool at the time `now` of the API server's clock.

    `gone` are UIDs that the ledger has and Kubernetes has not. `labelled` includes pods of a former pool of this name.
    """

    now: datetime
    members: tuple[Member, ...]
    objects: dict[str, Pod]
    gone: tuple[str, ...]
    slots: SlotsView
    labelled: tuple[Pod, ...] = ()


class PodPoolObserver:
    """Lists the pods of one pool for one run, and spaces out the runs of a large pool."""

    def __init__(self, services: PodPoolServices, run: Run, ledger: SlotLedger, pods: PoolPods) -> None:
        self._services, self._run, self._ledger, self._pods = services, run, ledger, pods
        self._members: tuple[Member, ...] = ()
        self._duration = timedelta(0)

    def observe(self) -> PodPoolObservation:
        """Read the pool. A listed name leaves the names to create at once: a deleted pod must not come again by it."""
        start = time.monotonic()
        self._run.keep(self._services.call_time)
        listed = self._pods.labelled()
        observed = observation_of(listed, self._pods.owns, view(self._ledger), self._services.kube.clock.now())
        self._ledger.forget_names(observed.slots.names & {member.name for member in observed.members})
        self._members = observed.members
        self._duration += timedelta(seconds=time.monotonic() - start)
        return observed

    def pause_large_pool(self) -> None:
        """Postpone the next run by what listing has cost. What this run did for its pods postpones nothing."""
        if len(self._members) >= self._services.many:
            postpone_next_run(self._ledger, self._duration)


def time_to_next_run(ledger: SlotLedger) -> timedelta:
    """How long the next run of the pool must wait, 0 for not at all."""
    return left(ledger.redis, f"{ledger.prefix}pace")


def postpone_next_run(ledger: SlotLedger, duration: timedelta) -> None:
    """`duration`: how long the pods took to list."""
    pause(ledger.redis, f"{ledger.prefix}pace", duration, LONGEST_PAUSE)


@readable()
def observed_for(ledger: SlotLedger, silence: timedelta, *, record: bool) -> timedelta:
    """For how long runs have observed the pool without a pause in which a runner could have fallen silent.

    During such a pause the runners' Redis user may have been lost, which only a run restores. Runners then need time to
    report again. A jump of Redis's TIME in either direction is such a pause. `record`: this run observes the pool now.
    """
    key = f"{ledger.prefix}watched"
    seconds, micros = ledger.redis.time()
    now = seconds * 1000 + micros // 1000
    stored: Any = ledger.redis.hmget(key, "since", "last")
    since, last = (int(value or 0) for value in stored)
    if not 0 <= now - last <= max(silence, SHORTEST_SILENCE) / MILLISECOND:
        since = now
    if record:
        ledger.redis.hset(key, mapping={"since": since, "last": now})
    return (now - since) * MILLISECOND


def observation_of(
    labelled: list[Pod], owned: Callable[[Pod], bool], slots: SlotsView, now: datetime
) -> PodPoolObservation:
    """Match the pods of Kubernetes with those of the ledger."""
    objects = {pod.uid: pod for pod in labelled if owned(pod)}
    entries = {entry.uid: entry for entry in slots.pods}
    members = tuple(_member(pod, entries.get(uid), now) for uid, pod in objects.items())
    gone = tuple(sorted(entries.keys() - objects.keys()))
    return PodPoolObservation(now, members, objects, gone, slots, tuple(labelled))


def _member(pod: Pod, entry: PodSlots | None, now: datetime) -> Member:
    labels, annotations = pod.labels, pod.annotations
    token = parse_token(annotations.get(RUNNER_TOKEN))
    cordoned = annotations.get(CORDON) == "true"
    return Member(
        name=pod.name,
        uid=pod.uid,
        revision=labels.get(REVISION, ""),
        age=max(now - pod.created, timedelta(0)),
        phase=pod.phase,
        ready=pod.ready and not cordoned,
        terminating=pod.deleting,
        view=LedgerState(entry.view) if entry else LedgerState.UNKNOWN,
        busy=entry.busy if entry else 0,
        silent=entry.silent if entry else timedelta(0),
        closed=entry.closed if entry else timedelta(0),
        token=entry.token if entry else "",
        secret=token.name if token else "",
        runner=RUNNER not in annotations,
        opened=OPENED in annotations or labels.get(PHASE) != Phase.UNKNOWN,
        stage=phase_of(labels),
        claimed_by=labels.get(CLAIMED_BY, ""),
        drain=annotations.get(GIVEN_BACK, "").partition(" ")[0],
        cordoned=cordoned,
    )


def pending_steps(
    observed: PodPoolObservation,
    current: str,
    timeouts: PodTimeouts,
    since_request: timedelta,
    since_start: timedelta,
    *,
    token_known: bool = True,
) -> Iterator[tuple[Member, PodStep]]:
    """Each pod that needs a step, and that step. `current` is the fingerprint of new pods.

    `since_request`: how long ago pods were asked to report. `since_start`: for how long runs have observed the pool. No
    pod is older or silent for longer than these. `token_known` False: nobody can say which token pods should have, so
    that none is replaced because of its own.
    """
    for listed in observed.members:
        member = replace(
            listed,
            age=min(listed.age, since_request),
            silent=min(listed.silent, since_start),
            secret=listed.secret if token_known else "",
        )
        if (step := next_step(member, current, timeouts)) is not PodStep.NOTHING:
            yield member, step


def signals_of(observed: PodPoolObservation, size: Size, unlisted: int, claims: int) -> PoolSignals:
    """What the decision about the size needs to know.

    `unlisted` pods are to be created, or are in no list yet: they count as booting. Slots of pods that are away count.
    """
    categories = Counter(member.category for member in observed.members)
    return PoolSignals(
        pods=PodTotals(
            open=categories[PodCategory.OPEN] + categories[PodCategory.AWAY],
            booting=categories[PodCategory.BOOTING] + unlisted,
            claimed=categories[PodCategory.CLAIMED],
            draining=categories[PodCategory.DRAINING],
            cordoned=categories[PodCategory.CORDONED],
            free=sum(map(free, observed.members)),
        ),
        used=observed.slots.used,
        reserved=observed.slots.reserved,
        idle=_idle(observed.slots),
        waiting=observed.slots.waiting,
        claims=claims,
        last_up=_ago(size.up, observed.now),
        last_down=_ago(size.down, observed.now),
    )


def _idle(slots: SlotsView) -> dict[Accepts, int]:
    idle: Counter[Accepts] = Counter()
    for pod in slots.pods:
        if pod.view == LedgerState.OPEN:
            for accepts, job in zip(pod.layout, pod.slots, strict=True):
                idle[accepted(accepts)] += not job
    return dict(idle)


def _ago(ms: int, now: datetime) -> datetime | None:
    return now - timedelta(milliseconds=ms) if ms >= 0 else None


def spec_of(body: Mapping[str, Any]) -> PodPoolSpec:
    """Validate the spec of a PodPool. Raises pydantic's ValidationError."""
    return PodPoolSpec.model_validate(body["spec"])
