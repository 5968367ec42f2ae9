"""What the next run of a claim would do, and whether a pod will do for it: reads only, for people who ask."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from berthmaster.jobs.slot_ledger import SlotLedger
from berthmaster.jobs.unreadable import UnreadableLedger
from berthmaster.routing import pod_claim_key
from domain.claims.claim import Claim
from domain.claims.decision import Action, Step, View, next_step
from domain.claims.fitting import unfit
from domain.claims.pod import ClaimablePod
from domain.kubernetes.names import POOL
from domain.kubernetes.objects import KubeObject, Pod
from events.workqueue import KeyState
from workers.claims.observe import wish_of
from workers.claims.services import ClaimServices
from workers.kube.claimable_pods import ClaimPods, claimable
from workers.kube.pods import pods_path
from workers.stores.slots.claimable import present_revision
from workers.stores.slots.view import PodSlots, view

TAKEN = {
    "": "its runner has not reported",
    "claimed": "a claim has taken it",
    "fenced": "it is being removed",
    "away": "it was not ready, and its pool has not looked again",
    "new": "its pool has not opened it yet",
    "ending": "it is being removed",
}


@dataclass(frozen=True)
class Candidate:
    """A pod of a pool; `why`: why the claim cannot have it, '' if it can."""

    pod: str
    pool: str
    phase: str
    why: str


@dataclass(frozen=True)
class ClaimStory:
    """`pods`: those that carry its label, with their phases; `step`: what its next run begins with.

    `ahead`: claims that have waited longer, -1 if it does not wait; `nominated`: the pool that grows for it.
    """

    name: str
    claim: KubeObject
    pods: tuple[tuple[str, str], ...]
    step: Step
    candidates: tuple[Candidate, ...]
    run: KeyState
    ahead: int = -1
    nominated: str = ""


def foresee(services: ClaimServices, namespace: str, name: str) -> ClaimStory | None:
    """None: there is no such claim. Raises KubeError, redis-py's errors, and pydantic's for a wrong spec."""
    found = services.claims.read(namespace, name)
    if found is None:
        return None
    claim, pods = wish_of(found).claim, _pods(services, namespace)
    pods |= _unlisted(services, namespace, {claim.pod, claim.source} - pods.keys() - {""})
    mine = tuple(pod for pod in pods.values() if pod.claimed_by == claim.uid)
    named = {pod: pods[pod] for pod in (claim.pod, claim.source) if pod in pods}
    looks = not claim.pod and not claim.deleting
    waiting = services.waiting.all(namespace)
    place = next((n for n, each in enumerate(waiting) if each.name == name), -1)
    return ClaimStory(
        name=f"{namespace}/{name}",
        claim=found,
        pods=tuple(sorted((pod.name, pod.phase.value) for pod in mine)),
        step=next_step(claim, View(mine, named, grace=services.missing_grace)),
        candidates=_candidates(services, namespace, name, claim, pods) if looks else (),
        run=services.queue.key_state(pod_claim_key(namespace, name)),
        ahead=place,
        nominated=waiting[place].pool if place >= 0 else "",
    )


def why_not(services: ClaimServices, namespace: str, found: KubeObject, target: str) -> str:
    """Why that claim cannot move to that pod now, '' if it can."""
    claim, pods = wish_of(found).claim, _pods(services, namespace)
    if claim.deleting:
        return "the claim is being deleted"
    if claim.moves:
        return f"it is moving already, from {claim.source} to {claim.pod}"
    if not claim.pod:
        return "it has no pod to leave"
    if claim.pod == target:
        return f"it is on {target}"
    if target not in pods:
        return f"there is no pod {target} of a pool in {namespace}"
    return next(_whys(services, namespace, found.name, claim, [pods[target]])).why


def _pods(services: ClaimServices, namespace: str) -> dict[str, ClaimablePod]:
    """Of all pools of the namespace."""
    listed = services.kube.list(pods_path(namespace), labelSelector=POOL)["items"]
    seen = (claimable(Pod(pod), services.now()) for pod in listed)
    return {pod.name: pod for pod in seen}


def _unlisted(services: ClaimServices, namespace: str, names: Iterable[str]) -> dict[str, ClaimablePod]:
    """Those that a claim names and no pool lists."""
    read = (ClaimPods(services.kube, namespace).read(name) for name in names)
    return {pod.name: claimable(pod, services.now()) for pod in read if pod}


def _candidates(
    services: ClaimServices, namespace: str, name: str, claim: Claim, pods: dict[str, ClaimablePod]
) -> tuple[Candidate, ...]:
    """The ones that it can have first."""
    mine = [pod for pod in pods.values() if not claim.pool or pod.pool == claim.pool]
    return tuple(sorted(_whys(services, namespace, name, claim, mine), key=lambda each: (bool(each.why), each.pod)))


def _whys(
    services: ClaimServices, namespace: str, name: str, claim: Claim, pods: list[ClaimablePod]
) -> Iterator[Candidate]:
    named = services.index.named_by_others(namespace, (pod.name for pod in pods), name)
    ledgers = {pod.pool: services.ledger(f"{namespace}/{pod.pool}") for pod in pods}
    known = {pool: _known(ledger) for pool, ledger in ledgers.items()}
    for pod in pods:
        revision, slots = known[pod.pool]
        others = "another claim names it" if pod.name in named else ""
        closed = UNREADABLE if slots is None else _closed(slots.get(pod.uid))
        yield Candidate(pod.name, pod.pool, pod.phase.value, unfit(claim, pod, revision) or others or closed)


def _known(ledger: SlotLedger) -> tuple[str, dict[str, PodSlots] | None]:
    """The revision of the pool, and its pods by uid: None where its ledger cannot be read."""
    try:
        return present_revision(ledger), {pod.uid: pod for pod in view(ledger).pods}
    except UnreadableLedger:
        return "", None


def _closed(slots: PodSlots | None) -> str:
    return TAKEN.get(slots.view if slots else "", "") or ("it has jobs" if slots and slots.busy else "")


UNREADABLE = "the slot ledger of its pool cannot be read"
WORDS = {
    Action.TAKE: "looks for a pod",
    Action.TAKE_TARGET: "takes {pod}, to move there",
    Action.ADOPT: "keeps {pod}, which has its label",
    Action.MARK: "records that it has {pod}, to move there",
    Action.GIVE_BACK: "gives {pod} back",
    Action.DISCARD: "gives {pod} away for good: it is of no use",
    Action.CLEAR: "names no pod any more",
    Action.COMPLETE: "has moved",
    Action.FINISH: "lets itself be removed",
    Action.REST: "nothing: all is as it should be",
    Action.WAIT: "waits: the pod that it names is missing",
}


def in_words(step: Step) -> str:
    return WORDS[step.action].format(pod=step.pod)
