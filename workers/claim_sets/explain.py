"""What the next run of a set of claims would do, and what it would see: reads only, for people who ask."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from berthmaster.routing import pod_claim_set_key
from domain.claim_sets.decision import SetStep, set_step
from domain.claim_sets.pod_claim_set import PodClaimSetSpec
from domain.claim_sets.reasons import why
from domain.claim_sets.scale_in import SetMember, first_to_go
from domain.claims.status import Reason
from domain.kubernetes.names import REVISION
from domain.kubernetes.objects import KubeObject
from events.workqueue import KeyState, Workqueue
from workers.claim_sets.observe import Look, looked
from workers.claim_sets.services import ClaimSetServices
from workers.kube.pod_claim_sets import SetClaims

Json = dict[str, Any]


@dataclass(frozen=True)
class Row:
    """A claim of the set. `revision`: of its pod; `current`: made from the set's present template."""

    claim: str
    phase: str
    pod: str
    revision: str
    current: bool
    ready: bool
    cost: int
    moves: bool
    deleting: bool


@dataclass(frozen=True)
class SetStory:
    """`claims` in the order in which scaling in takes them, then those that it leaves alone; `first`: that it takes.

    `surge`: claims beyond what is wanted, while old ones are replaced.
    """

    name: str
    claim_set: KubeObject
    wanted: int
    step: SetStep
    why: Reason
    surge: int
    first: str
    claims: tuple[Row, ...]
    run: KeyState


def foresee(services: ClaimSetServices, queue: Workqueue, namespace: str, name: str) -> SetStory | None:
    """None: there is no such set. Raises KubeError, redis-py's errors, and pydantic's for a wrong spec."""
    found = services.sets.read(namespace, name)
    if found is None:
        return None
    spec = PodClaimSetSpec.model_validate(found.spec)
    look = looked(found, spec, SetClaims(services.kube, found), frozenset())
    seen, step, going = look.view, set_step(look.view), first_to_go(look.view.live)
    return SetStory(
        name=f"{namespace}/{name}",
        claim_set=found,
        wanted=spec.replicas,
        step=step,
        why=why(seen, step),
        surge=max(0, seen.surplus) if seen.old else 0,
        first=going[0].name if going else "",
        claims=tuple(_rows(look, going)),
        run=queue.key_state(pod_claim_set_key(namespace, name)),
    )


def _rows(look: Look, going: tuple[SetMember, ...]) -> Iterator[Row]:
    chosen = {member.name for member in going}
    for member in (*going, *(m for m in look.view.members if m.name not in chosen)):
        pod = look.objects[member.name].spec.get("podName") or ""
        labels = look.pods[pod].labels if pod in look.pods else {}
        yield Row(
            claim=member.name,
            phase=member.phase.value,
            pod=pod,
            revision=labels.get(REVISION, ""),
            current=member.current,
            ready=member.ready,
            cost=member.cost,
            moves=member.moves,
            deleting=member.deleting,
        )
