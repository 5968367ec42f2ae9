"""Takes back pods whose claim is gone or that name no claim, and wakes claims that do not know of their own pod."""

from __future__ import annotations

from functools import partial

import structlog

from domain.claims.pod import Phase
from domain.kubernetes.objects import Pod
from domain.pod_pools.pod_steps import Member
from events.kube.api import Denied, Invalid
from workers.claims.give_back import give_back
from workers.kube.pod_claims import PodClaims
from workers.kube.pool_pods import PoolPods
from workers.pod_pools.claim_index_repair import repair_claim_index_periodically, wake_claims
from workers.pod_pools.observe import PodPoolObservation
from workers.pod_pools.services import PodPoolServices
from workers.pod_pools.side_by_side import side_by_side
from workers.run import Run

log = structlog.get_logger()


def reclaim(
    services: PodPoolServices,
    run: Run,
    namespace: str,
    pods: PoolPods,
    observed: PodPoolObservation,
    noticed: dict[str, int],
) -> bool:
    """Take such pods back, several side by side; True when there was any.

    `noticed`: UID -> version in which a pod is known to its claim. Only newer versions are compared with the index.
    Claims are listed after the pods: a UID that is not in that list never comes back. We write both labels at once, so
    that a person has made a pod that is Bound and names no claim.
    """
    repair_claim_index_periodically(services, run, namespace)
    members = [member for member in observed.members if not member.terminating]
    held = [member for member in members if member.claimed_by]
    dangling = [member for member in members if member.stage is Phase.BOUND and not member.claimed_by]
    unknown = {member.claimed_by for member in held}
    indexed = services.claims.remembered(namespace, unknown)
    versions = {member.uid: observed.objects[member.uid].version for member in held if member.claimed_by in indexed}
    news = {uid for uid, version in versions.items() if noticed.get(uid) != version}
    unaware = services.claims.noticed(
        namespace, {member.name: member.claimed_by for member in held if member.uid in news}
    )
    wake_claims(run, namespace, {indexed[uid] for uid in unaware})
    noticed.update(versions)
    unknown -= indexed.keys()
    if unknown:
        run.keep(services.call_time)
        claims = PodClaims(services.kube).all(namespace)
        wake_claims(run, namespace, {claim.name for claim in claims if claim.uid in unknown})
        unknown -= {claim.uid for claim in claims}
        dangling += [member for member in held if member.claimed_by in unknown]
    calls = (partial(_reclaim, services, run, pods, member, observed.objects[member.uid]) for member in dangling)
    side_by_side(services.pod_writes, calls)
    return bool(dangling)


def _reclaim(services: PodPoolServices, run: Run, pods: PoolPods, member: Member, pod: Pod) -> None:
    about = {"namespace": pod.namespace, "pod": member.name, "claim": member.claimed_by}
    try:
        released = give_back(services, run, pod.namespace, pod, run.token, services.kube.clock.now())
    except (Denied, Invalid) as error:  # a refusal of this pod must not stop the run for the others
        log.warning("pod_write_refused", reason=str(error), **about)
        return
    pods.read(pod.name, pod.uid)
    if released:
        log.warning("pod_reclaimed", **about)
