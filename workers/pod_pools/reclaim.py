"""Takes back pods whose claim is gone or that name no claim, and wakes claims that do not know of their own pod."""

from __future__ import annotations

import structlog

from domain.claims.pod import Phase
from domain.pod_pools.pod_steps import Member
from events.kube.api import Denied, Invalid
from workers.claims.release import give_back
from workers.kube.pod_claims import PodClaims
from workers.pod_pools.claim_index_repair import repair_claim_index_periodically, wake_claims
from workers.pod_pools.observe import PodPoolObservation
from workers.pod_pools.services import PodPoolServices
from workers.run import Run

log = structlog.get_logger()


def reclaim(services: PodPoolServices, run: Run, namespace: str, observed: PodPoolObservation) -> bool:
    """Take such pods back; True when there was any.

    Claims are listed after the pods: a UID that is not in that list never comes back. We write both labels at once, so
    that a person has made a pod that is Bound and names no claim.
    """
    repair_claim_index_periodically(services, run, namespace)
    members = [member for member in observed.members if not member.terminating]
    held = [member for member in members if member.claimed_by]
    dangling = [member for member in members if member.stage is Phase.BOUND and not member.claimed_by]
    unknown = {member.claimed_by for member in held}
    indexed = services.claims.remembered(namespace, unknown)
    indexed_pods = {member.name: member.claimed_by for member in held if member.claimed_by in indexed}
    unaware = services.claims.noticed(namespace, indexed_pods)
    wake_claims(run, namespace, {indexed[uid] for uid in unaware})
    unknown -= indexed.keys()
    if unknown:
        run.keep(services.call_time)
        claims = PodClaims(services.kube).all(namespace)
        wake_claims(run, namespace, {claim.name for claim in claims if claim.uid in unknown})
        unknown -= {claim.uid for claim in claims}
        dangling += [member for member in held if member.claimed_by in unknown]
    for member in dangling:
        _reclaim(services, run, namespace, member, observed)
    return bool(dangling)


def _reclaim(services: PodPoolServices, run: Run, namespace: str, member: Member, observed: PodPoolObservation) -> None:
    about = {"namespace": namespace, "pod": member.name, "claim": member.claimed_by}
    pod, now = observed.objects[member.uid], services.kube.clock.now()
    try:
        released = give_back(services, run, namespace, pod, run.token, now)
    except (Denied, Invalid) as error:  # a refusal of this pod must not stop the run for the others
        log.warning("pod_write_refused", reason=str(error), **about)
        return
    if released:
        log.warning("pod_reclaimed", **about)
