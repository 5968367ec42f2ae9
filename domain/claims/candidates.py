"""Which free pods a claim tries, and in which order."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from domain.claims.claim import Claim
from domain.claims.pod import ClaimablePod


def candidates(
    claim: Claim, pods: Iterable[ClaimablePod], revisions: Mapping[str, str], named: Collection[str]
) -> tuple[ClaimablePod, ...]:
    """Pods last owned by the same owner first, then the older. `named`: pods that other claims name, taken or not.

    `revisions`: of the present template of each pool; pods of other pools are of no use.
    """
    fitting = (pod for pod in pods if _fits(claim, pod, revisions) and pod.name not in named)
    return tuple(sorted(fitting, key=lambda pod: (not _known(claim, pod), pod.created, pod.name)))


def _fits(claim: Claim, pod: ClaimablePod, revisions: Mapping[str, str]) -> bool:
    usable = pod.free and pod.normal and not pod.cordoned
    chosen = (not claim.pool or pod.pool == claim.pool) and claim.selector.items() <= pod.labels.items()
    return usable and chosen and revisions.get(pod.pool) == pod.revision


def _known(claim: Claim, pod: ClaimablePod) -> bool:
    return bool(claim.owner) and pod.last_owner == claim.owner
