"""Which free pods a claim tries, and in which order."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from domain.claims.claim import Claim
from domain.claims.fitting import unfit
from domain.claims.pod import ClaimablePod


def candidates(
    claim: Claim, pods: Iterable[ClaimablePod], revisions: Mapping[str, str], named: Collection[str]
) -> tuple[ClaimablePod, ...]:
    """Pods last owned by the same owner first, then the older. `named`: pods that other claims name, taken or not.

    `revisions`: of the present template of each pool; pods of other pools are of no use.
    """
    fitting = (pod for pod in pods if not unfit(claim, pod, revisions.get(pod.pool, "")) and pod.name not in named)
    return tuple(sorted(fitting, key=lambda pod: (not _known(claim, pod), pod.created, pod.name)))


def _known(claim: Claim, pod: ClaimablePod) -> bool:
    return bool(claim.owner) and pod.last_owner == claim.owner
