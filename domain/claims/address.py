"""Where a claim's pod is reached, and whether the claim waits for the ports that the pod asks for.

A claim that was Bound to its pod stays Bound, whatever happens to the ports later: its sessions live on the pod, and
the endpoints in its status follow those of the pod.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any, Final

from berthmaster.claims.answer import ClaimEndpoint
from domain.claims.claim import Claim, ClaimPhase
from domain.claims.pod import PoolPod

WITH_POD: Final = (ClaimPhase.BOUND, ClaimPhase.OUTDATED)


@dataclass(frozen=True)
class PodAddress:
    """Where a pod is reached.

    Attributes:
        ips: the pod's addresses.
        node: the pod's node, None while it has none.
        endpoints: the public endpoints that the pod shows.
        asks: the pod asks for ports.
        missing: why the pod has not all the ports that it asks for; None if it has them, or asks for none.

    """

    ips: tuple[str, ...] = ()
    node: str | None = None
    endpoints: tuple[ClaimEndpoint, ...] = ()
    asks: bool = False
    missing: str | None = None


def awaited_ports(
    claim: Claim, address: PodAddress, status: Mapping[str, Any], bound_time: str | None, *, wait: bool
) -> str | None:
    """Say why the claim is not Bound yet although it has a pod; None if it is Bound (rules portsfirst, staysbound).

    Args:
        claim: the claim.
        address: that of its pod.
        status: the last status of the claim.
        bound_time: since when the claim has its pod, as its status gives it.
        wait: the claim waits for ports.

    """
    return address.missing if wait and not _was_bound(claim.names, status, bound_time) else None


def gives_way(
    pod: PoolPod, revision: str | None, status: Mapping[str, Any], bound_time: str | None, *, wait: bool
) -> bool:
    """Tell whether a claim gives up a pod that has its label: its pool replaces such pods (rule givesway).

    The claim waits for the pod's ports and was never shown Bound to the pod, so nobody was told the pod's address.

    Args:
        pod: the pod.
        revision: the revision of the pool's present template, None if it is unknown.
        status: the last status of the claim.
        bound_time: since when the claim has its pod, as its status gives it.
        wait: the claim waits for ports.

    """
    outdated = revision is not None and pod.revision != revision
    return wait and pod.lacks_ports and outdated and not _was_bound((pod.name,), status, bound_time)


def _was_bound(names: Collection[str], status: Mapping[str, Any], bound_time: str | None) -> bool:
    """Tell whether the last status shows the claim Bound to one of these. A status of an earlier version names none."""
    pod = status.get("podName")
    same = pod in names if pod else status.get("boundTime") == bound_time
    return same and status.get("phase") in WITH_POD
