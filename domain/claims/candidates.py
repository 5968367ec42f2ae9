"""Choose the free pods that a claim tries, in order."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from domain.claims.claim import Claim
from domain.claims.fitting import unfit
from domain.claims.pod import ClaimablePod


def candidates(
    claim: Claim, pods: Iterable[ClaimablePod], revisions: Mapping[str, str], named: Collection[str]
) -> tuple[ClaimablePod, ...]:
    """Return the pods that fit: those that the same owner had last come first, then the older ones.

    Args:
        claim: the claim that needs a pod.
        pods: free pods, of any pool.
        revisions: the revision of each pool's present template. A pod of any other pool does not fit.
        named: pods that other claims name, bound or not.

    """
    fitting = (pod for pod in pods if not unfit(claim, pod, revisions.get(pod.pool, "")) and pod.name not in named)
    return tuple(sorted(fitting, key=lambda pod: (not _was_of_owner(claim, pod), pod.created, pod.name)))


def _was_of_owner(claim: Claim, pod: ClaimablePod) -> bool:
    return bool(claim.owner) and pod.last_owner == claim.owner
