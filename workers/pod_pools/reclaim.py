"""Pods whose claim is gone, however it went, or that say no claim, are given back; a claim that does not know a pod of
its own is told.
"""

from __future__ import annotations

import structlog

from domain.claims.pod import Phase
from domain.pod_pools.pod_steps import Member
from events.kube.api import Denied, Invalid
from workers.claims.release import give_back
from workers.kube.pod_claims import PodClaims
from workers.pod_pools.claim_index_repair import mend_now_and_then, wake_claims
from workers.pod_pools.observe import Seen
from workers.pod_pools.services import PodPoolServices
from workers.run import Run

log = structlog.get_logger()


def reclaim(services: PodPoolServices, run: Run, namespace: str, seen: Seen) -> bool:
    """Whether any was. Claims are listed after the pods: a UID that is in no such list never comes back.

    Both labels are written at once: a pod that is Bound to nobody was made so by a person.
    """
    mend_now_and_then(services, run, namespace)
    held = [m for m in seen.members if m.claimed_by and not m.terminating]
    dangling = [m for m in seen.members if m.stage is Phase.BOUND and not m.claimed_by and not m.terminating]
    unknown = {m.claimed_by for m in held}
    known = services.claims.remembered(namespace, unknown)
    strays = services.claims.noticed(namespace, {m.name: m.claimed_by for m in held if m.claimed_by in known})
    wake_claims(run, namespace, {known[uid] for uid in strays})
    unknown -= known.keys()
    if unknown:
        run.keep(services.call_time)
        claims = PodClaims(services.kube).all(namespace)
        wake_claims(run, namespace, {claim.name for claim in claims if claim.uid in unknown})
        unknown -= {claim.uid for claim in claims}
        dangling += [m for m in held if m.claimed_by in unknown]
    for member in dangling:
        _reclaim(services, run, namespace, member, seen)
    return bool(dangling)


def _reclaim(services: PodPoolServices, run: Run, namespace: str, member: Member, seen: Seen) -> None:
    about = {"namespace": namespace, "pod": member.name, "claim": member.claimed_by}
    try:
        given = give_back(services, run, namespace, seen.objects[member.uid], run.token, services.kube.clock.now())
    except (Denied, Invalid) as error:  # of this one: the others are looked after all the same
        log.warning("pod_write_refused", reason=str(error), **about)
        return
    if given:
        log.warning("pod_reclaimed", **about)
