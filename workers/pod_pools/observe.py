"""What a run of a pod pool observes: its pods in Kubernetes beside their slots in the ledger."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any, Final

from berthmaster.jobs.job import accepted
from berthmaster.jobs.slot_ledger import Size, SlotLedger
from berthmaster.jobs.unreadable import readable
from domain.kubernetes.objects import Pod
from domain.pod_pools.pod_pool import PodPoolSpec
from domain.pod_pools.pod_steps import LedgerState, Member, PodCategory, PodStep, PodTimeouts, free, next_step
from domain.pod_pools.signals import Accepts, PodTotals, PoolSignals
from workers.kube.pool_pods import PoolPods
from workers.pod_pools.members import NO_SLOTS, kube_facts, member_of
from workers.pod_pools.pod_cache import CachedPods
from workers.pod_pools.pod_facts import PodFacts
from workers.pod_pools.services import PodPoolServices
from workers.run import Run
from workers.stores.pace import left, pause
from workers.stores.slots.view import SlotsView, pool_sizing, view

LONGEST_PAUSE: Final = timedelta(minutes=1)
SHORTEST_SILENCE: Final = timedelta(minutes=1)
MILLISECOND: Final = timedelta(milliseconds=1)


@dataclass(frozen=True)
class PodPoolObservation:
    """The pods of one pool at the time `now` of the API server's clock.

    `gone` are UIDs that the ledger has and Kubernetes has not. `labelled` includes pods of a former pool of this name.
    `facts` of the pods.
    """

    now: datetime
    members: tuple[Member, ...]
    objects: dict[str, Pod]
    gone: tuple[str, ...]
    slots: SlotsView
    labelled: tuple[Pod, ...] = ()
    facts: PodFacts = field(default_factory=PodFacts)


class PodPoolObserver:
    """Reads the pods of one pool for one run, and spaces out the lists of a large pool.

    `listed`: whether the run has listed the pods, and does not only know them from changes. `noticed`: UID -> version
    in which a claimed pod is known to its claim; a list begins it anew, because Redis may have forgotten.
    """

    def __init__(
        self, services: PodPoolServices, run: Run, ledger: SlotLedger, pods: PoolPods, spec: tuple[str, int]
    ) -> None:
        self._services, self._run, self._ledger, self._pods, self._spec = services, run, ledger, pods, spec
        self._cached: CachedPods | None = None
        self._duration = timedelta(0)
        self.listed = False
        self.noticed = dict[str, int]()

    def recall(self) -> bool:
        """Take the pods as this process knows them. False: they must be listed.

        They must be as long as the ledger is not verified: a list says which pods must report.
        """
        if pool_sizing(self._ledger).size is not None:
            self._cached = self._services.pod_cache.recall(self._ledger.pool, self._spec)
        if self._cached:
            self._pods.latest = dict(self._cached.pods)
            self.noticed = dict(self._cached.noticed)
        return self._cached is not None

    def observe(self) -> PodPoolObservation:
        """Observe the pool. The pods are listed unless they were recalled."""
        if self._cached:
            return self.observe_cached()
        start = time.monotonic()
        cached = self._services.pod_cache.begin(self._ledger.pool, self._spec)
        self._run.keep(self._services.call_time)
        members = self._pods.labelled()
        self._cached, self.listed = cached, True  # not before: a list that fails is no pool without pods
        if len(members) >= self._services.many:
            self._duration = timedelta(seconds=time.monotonic() - start)
        return self.observe_cached()

    def observe_cached(self) -> PodPoolObservation:
        """Observe the pool after writes of this run: of Kubernetes nothing is read again.

        A known name leaves the names to create at once: a deleted pod must not come again by it. Other processes know
        the pod before: if this one dies, they create no other pod beside it.
        """
        pods = list(self._pods.latest.values())
        facts, now = self._cached.facts if self._cached else PodFacts(), self._services.kube.clock.now()
        observed = observation_of(pods, self._pods.owns, view(self._ledger), now, facts)
        names = observed.slots.names & {member.name for member in observed.members}
        if names and self._cached:
            self._services.pod_cache.share(self._pods.latest, self._pods.written)
            self._pods.written.clear()
        self._ledger.forget_names(names)
        return observed

    def remember(self) -> None:
        """Keep what is known of the pods for the next run, also after an error. The list of a large pool pauses."""
        if self._duration:
            postpone_next_run(self._ledger, self._duration)
        if self._cached:
            noticed = {uid: version for uid, version in self.noticed.items() if uid in self._pods.latest}
            cached = replace(self._cached, noticed=noticed)
            self._services.pod_cache.keep(self._ledger.pool, cached, self._pods.latest, self._pods.written)


def time_to_next_run(ledger: SlotLedger) -> timedelta:
    """How long the next list of the pool must wait, 0 for not at all."""
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
    labelled: list[Pod], owned: Callable[[Pod], bool], slots: SlotsView, now: datetime, facts: PodFacts | None = None
) -> PodPoolObservation:
    """Match the pods of Kubernetes with those of the ledger. `facts` of these pods that are known already."""
    facts = facts or PodFacts()
    objects = {pod.uid: pod for pod in labelled if owned(pod)}
    entries = {entry.uid: entry for entry in slots.pods}
    resting = {uid: slots.resting.get(uid, timedelta(0)) for uid in objects}
    members = tuple(
        member_of(facts.of(pod, kube_facts), entries.get(uid, NO_SLOTS), now, resting[uid])
        for uid, pod in objects.items()
    )
    gone = tuple(sorted({*entries, *(entry.uid for entry in slots.unrecorded)} - objects.keys()))
    return PodPoolObservation(now, members, objects, gone, slots, tuple(labelled), facts)


def pending_steps(
    observed: PodPoolObservation,
    current: str | None,
    timeouts: PodTimeouts,
    since_request: timedelta,
    since_start: timedelta,
    *,
    token_known: bool = True,
) -> Iterator[tuple[Member, PodStep]]:
    """Each pod that needs a step, and that step. `current`: the fingerprint of new pods, None while no pod is replaced
    for another one.

    `since_request`: how long ago pods were asked to report. `since_start`: for how long runs have observed the pool. No
    pod is older or silent for longer than these. `token_known` False: nobody can say which token pods should have, so
    that none is replaced because of its own.
    """
    for listed in observed.members:
        closed = min(listed.closed, since_start) if listed.view is LedgerState.AWAY else listed.closed
        age, silent = min(listed.age, since_request), min(listed.silent, since_start)
        member, secret = listed, listed.secret if token_known else ""
        if (age, silent, closed, secret) != (listed.age, listed.silent, listed.closed, listed.secret):
            member = replace(listed, age=age, silent=silent, closed=closed, secret=secret)
        if (step := next_step(member, current, timeouts)) is not PodStep.NOTHING:
            yield member, step


def signals_of(
    observed: PodPoolObservation, size: Size, unlisted: int, claims: int, revision: str | None = None
) -> PoolSignals:
    """What the decision about the size needs to know.

    `unlisted` pods are to be created, or are in no list yet. `revision`: pods of another one are
    not warm, None for any.
    """
    categories = Counter(member.category for member in observed.members)
    idle = Counter(revision in (None, member.revision) for member in observed.members if free(member))
    lost = sum(member.lost for member in observed.members)
    in_open, in_ending = (
        _states(observed.slots, {member.uid for member in observed.members if member.category is category})
        for category in (PodCategory.OPEN, PodCategory.DRAINING)
    )
    return PoolSignals(
        pods=PodTotals(
            open=categories[PodCategory.OPEN],
            booting=categories[PodCategory.BOOTING],
            claimed=categories[PodCategory.CLAIMED],
            draining=categories[PodCategory.DRAINING] - lost,
            cordoned=categories[PodCategory.CORDONED],
            free=idle[True],
            outdated=idle[False],
            away=categories[PodCategory.AWAY],
            stalled=sum(member.stalled for member in observed.members),
            missing=unlisted,
            lost=lost,
        ),
        used=in_open["running"],
        reserved=in_open["reserved"],
        owed=in_ending["reserved"],
        idle=_idle(observed.slots),
        waiting=observed.slots.waiting,
        claims=claims,
        last_up=_ago(size.up, observed.now),
        last_down=_ago(size.down, observed.now),
    )


def _states(slots: SlotsView, uids: Collection[str]) -> Counter[str]:
    """How many slots of these pods are running and reserved."""
    return Counter(state for pod in slots.pods if pod.uid in uids for state in pod.states)


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
