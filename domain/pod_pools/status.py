"""The status of a PodPool, as people read it with kubectl."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Annotated, Any, Final

from pydantic import Field

from domain.kubernetes.names import POOL
from domain.pod_pools.pod_steps import Member, PodCategory, free
from domain.pod_pools.runner_token import issue_date
from domain.pod_pools.schedules import ScheduleView
from domain.status import Condition, Shape

NAMED: Final = 5
"""How many pods a condition names."""


class PodCounts(Shape):
    """Pods of the pool by category."""

    open: Annotated[int, Field(description="pods that take jobs; idle ones are free for claims as well")]
    booting: Annotated[int, Field(description="created, but they have not reported or were not ready yet")]
    idle: Annotated[int, Field(description="open pods that are warm: ready, and nothing runs on them")]
    away: Annotated[int, Field(description="not ready: they keep their jobs and get no new ones")]
    cordoned: Annotated[int, Field(description="a person wants nothing new on them")]
    claimed: Annotated[int, Field(description="pods that claims have")]
    draining: Annotated[int, Field(description="terminating, or about to")]


class SlotCounts(Shape):
    """Slots of the pool's pods."""

    total: Annotated[int, Field(description="slots of all pods that have reported")]
    used: Annotated[int, Field(description="slots in which a job runs, or is about to")]
    reserved: Annotated[int, Field(description="slots kept for a job that waits for a person")]
    idle: Annotated[int, Field(description="free slots of open pods")]


class PodPoolStatus(Shape):
    """What a worker saw last. Nobody else writes it."""

    observed_generation: Annotated[int, Field(description="metadata.generation that this status is about")]
    replicas: Annotated[int, Field(description="all pods of the pool")]
    ready_replicas: Annotated[int, Field(description="open pods")]
    desired_replicas: Annotated[int, Field(description="pods that the pool wants, beside those that claims have")]
    label_selector: Annotated[str, Field(description="selects its pods, for kubectl scale and autoscalers")]
    pods: PodCounts
    slots: SlotCounts
    waiting: Annotated[int, Field(description="jobs that wait for a slot")]
    waiting_claims: Annotated[int, Field(description="claims that wait for a pod of this pool")]
    reason: Annotated[str, Field(description="why the pool has the size that it has")]
    conditions: list[Condition]


def pod_pool_status(
    members: Iterable[Member],
    slots: SlotCounts,
    waiting: tuple[int, int],
    size: int,
    decision: str,
    conditions: list[Condition],
    about: tuple[str, int],
) -> dict[str, Any]:
    """Build the status. `waiting`: jobs and claims. `about`: the pool's name and generation.

    `conditions` come after the condition Valid.
    """
    pods = _counts(list(members))
    total = pods.open + pods.booting + pods.away + pods.cordoned + pods.claimed + pods.draining
    return PodPoolStatus(
        observed_generation=about[1],
        replicas=total,
        ready_replicas=pods.open,
        desired_replicas=size,
        label_selector=f"{POOL}={about[0]}",
        pods=pods,
        slots=slots,
        waiting=waiting[0],
        waiting_claims=waiting[1],
        reason=decision,
        conditions=[
            Condition(type="Valid", status="True", reason="Accepted", message=""),
            *conditions,
        ],
    ).model_dump(by_alias=True)


def ready(barred: str, refused: str = "", withheld: str = "") -> Condition:
    """The condition Ready: whether pods can be created.

    `barred`: the template's pods never become ready. `refused`: the API server refuses them. `withheld`: their runners
    would have no token. Each is '' when it is no obstacle.
    """
    words = withheld or refused or barred
    never = "PodsNeverReady" if barred else "PodsCanBeCreated"
    reason = "NoRunnerToken" if withheld else "PodsRefused" if refused else never
    return Condition(type="Ready", status="False" if words else "True", reason=reason, message=words)


def pods_lost(members: Iterable[Member]) -> Condition | None:
    """The condition PodsConfirmed: which pods nobody confirms to have ended, and what to do. None without any."""
    lost = sorted((member for member in members if member.lost), key=lambda member: member.name)
    if not lost:
        return None
    names = [f"{member.name} (node {member.node or 'none'})" for member in lost[:NAMED]]
    more = [f"{len(lost) - NAMED} more"] if len(lost) > NAMED else []
    words = (
        f"{len(lost)} pods have terminated for longer than their grace: {', '.join(names + more)}. "
        "They do not count for maxReplicas. Jobs that ran there are placed again once the pods are gone: bring the "
        "node back, delete a node that is gone, or taint it with node.kubernetes.io/out-of-service"
    )
    return Condition(type="PodsConfirmed", status="False", reason="PodsLost", message=words)


def schedules(view: ScheduleView) -> Condition | None:
    """The condition Schedules: which are in effect and which comes next, or which cannot be read. None without any."""
    if view.problems:
        words = f"{'; '.join(view.problems)}. Until then no idle pod is removed or replaced"
        return Condition(type="Schedules", status="False", reason="Invalid", message=words)
    if not view.states:
        return None
    coming = view.upcoming[:1]
    words = "; ".join([*view.reasons, *(f"next: {state.upcoming}" for state in coming)])
    reason = "InEffect" if view.in_effect else "NotInEffect"
    return Condition(type="Schedules", status="True", reason=reason, message=words)


def runner_token(problem: tuple[str, str] | None, name: str, caution: str = "") -> Condition:
    """The condition RunnerToken. `problem`: a reason and words, None for none. `name`: the token that new pods get.

    `caution`: why the token confines nobody, '' when it does.
    """
    issued = f"made {issue_date(name)}" + (f". {caution}" if caution else "")
    status, (reason, message) = ("False", problem) if problem else ("True", ("Issued", issued))
    return Condition(type="RunnerToken", status=status, reason=reason, message=message)


def invalid_status(problem: str, generation: int) -> dict[str, Any]:
    """Build the part of the status that says what is wrong with the spec; the rest stays."""
    condition = Condition(type="Valid", status="False", reason="Invalid", message=problem)
    return {"observedGeneration": generation, "conditions": [condition.model_dump(by_alias=True)]}


def _counts(members: list[Member]) -> PodCounts:
    totals = Counter(member.category for member in members)
    return PodCounts(idle=sum(map(free, members)), **{category.value: totals[category] for category in PodCategory})
