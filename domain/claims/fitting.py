"""Say whether a claim can have a pod now, and why not."""

from __future__ import annotations

from domain.claims.pod import PoolPod
from domain.claims.pod_request import PodRequest


def unfit(request: PodRequest, pod: PoolPod, revision: str | None) -> str | None:
    """Say why a claim with this request cannot have a pod; None if it can.

    Args:
        request: what the claim asks of its pod.
        pod: the pod.
        revision: the revision of the present template of the pod's pool, None if it is unknown.

    """
    return request.misfit(pod.traits) or _not_free(pod) or _not_now(pod, revision)


def _not_free(pod: PoolPod) -> str | None:
    if pod.free:
        return None
    if pod.claimed_by:
        return f"claim {pod.claimed_by} has it"
    if pod.terminating:
        return "it is being deleted"
    return f"it is {pod.phase.value}" if pod.alive else "it does not run"


def _not_now(pod: PoolPod, revision: str | None) -> str | None:
    if pod.cordoned:
        return "it is cordoned"
    if not pod.normal:
        return "it is not ready, or is being changed"
    return None if pod.revision == revision else "it is of an older template of its pool"
