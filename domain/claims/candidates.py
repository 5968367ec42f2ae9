"""Choose the free pods that a claim tries, in order."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from domain.claims.claim import Claim
from domain.claims.fitting import unfit
from domain.claims.pod import PoolPod


def candidates(
    claim: Claim, pods: Iterable[PoolPod], revisions: Mapping[str | None, str | None], named: Collection[str]
) -> tuple[PoolPod, ...]:
    """Return the pods that fit: those that the same owner had last come first, then the older ones.

    For a claim that waits for ports, pods that lack theirs come last.

    Args:
        claim: the claim that needs a pod.
        pods: free pods, of any pool.
        revisions: pool -> the revision of its present template. A pod of any other pool does not fit.
        named: pods that other claims name, bound or not.

    """
    fitting = (pod for pod in pods if not unfit(claim.request, pod, revisions.get(pod.pool)) and pod.name not in named)
    return tuple(
        sorted(fitting, key=lambda pod: (waits_on(claim, pod), not _was_of_owner(claim, pod), pod.created, pod.name))
    )


def waits_on(claim: Claim, pod: PoolPod) -> bool:
    """Tell whether the claim would wait for the ports of the pod."""
    return claim.waits_for_ports and pod.lacks_ports


def _was_of_owner(claim: Claim, pod: PoolPod) -> bool:
    return claim.owner is not None and pod.last_owner == claim.owner
