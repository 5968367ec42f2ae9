"""One pod of a pool as a run observes it: what Kubernetes says of it, and what the ledger does."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Final

from domain.claims.pod import Phase
from domain.kubernetes.names import CLAIMED_BY, CORDON, GIVEN_BACK, OPENED, PHASE, REVISION, RUNNER, RUNNER_TOKEN
from domain.kubernetes.objects import Pod
from domain.pod_pools.pod_steps import LedgerState, Member
from domain.pod_pools.protection import is_protected
from domain.pod_pools.runner_token import parse_token
from workers.kube.claim_pods import phase_of
from workers.stores.slots.pod_records import PodSlots

NO_SLOTS: Final = PodSlots("", "", LedgerState.UNKNOWN, "", (), (), timedelta(0), ())
"""Of a pod that the ledger does not have."""


@dataclass(frozen=True)
class KubeFacts:
    """What Kubernetes says of a pod, whatever the time. `member` has nothing of the ledger yet."""

    member: Member
    created: datetime
    ends: datetime | None


def kube_facts(pod: Pod) -> KubeFacts:
    """Read the pod."""
    labels, annotations = pod.labels, pod.annotations
    token = parse_token(annotations.get(RUNNER_TOKEN))
    cordoned = annotations.get(CORDON) == "true"
    member = Member(
        name=pod.name,
        uid=pod.uid,
        revision=labels.get(REVISION, ""),
        age=timedelta(0),
        phase=pod.phase,
        ready=pod.ready and not cordoned,
        terminating=pod.deleting,
        node=pod.node or "",
        secret=token.name if token else "",
        runner=RUNNER not in annotations,
        opened=OPENED in annotations or labels.get(PHASE) != Phase.UNKNOWN,
        stage=phase_of(labels),
        claimed_by=labels.get(CLAIMED_BY, ""),
        drain=annotations.get(GIVEN_BACK, "").partition(" ")[0],
        cordoned=cordoned,
        protected=is_protected(pod),
    )
    return KubeFacts(member, pod.created, pod.deletion)


def member_of(facts: KubeFacts, entry: PodSlots, now: datetime, resting: timedelta) -> Member:
    """Return the member at a time, with its entry in the ledger. `resting`: for how long it had no work."""
    return replace(
        facts.member,
        age=max(now - facts.created, timedelta(0)),
        overdue=max(now - (facts.ends or now), timedelta(0)),
        view=LedgerState(entry.view),
        busy=entry.busy,
        silent=entry.silent,
        closed=entry.closed,
        token=entry.token,
        resting=resting,
    )
