"""Give a pod back: remove everything of its claim, so that the pod drains or goes. The pod's pool does the rest."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Protocol

import structlog

from domain.claims.pod import Phase
from domain.kubernetes.objects import Pod
from events.kube.api import Conflict, KubeApi, NotFound
from workers.kube.claim_pods import ClaimPods
from workers.run import Run

log = structlog.get_logger()


class CallsKube(Protocol):
    """The services that `give_back` needs. Those of claims and those of pod pools have them."""

    @property
    def kube(self) -> KubeApi:
        """The Kubernetes API."""

    @property
    def call_time(self) -> timedelta:
        """How long one call may take."""


def give_back(
    services: CallsKube,
    run: Run,
    namespace: str,
    pod: Pod,
    token: str,
    now: datetime,
    discard: bool = False,
) -> bool:
    """Give a pod back. False: the pod has changed since it was read.

    The pod stays claimed in the slot ledger until its pool has reconciled it, so the caller must wake the pool.

    Args:
        services: the services of the caller.
        run: the run of the caller.
        namespace: the pod's namespace.
        pod: the pod as it was read.
        token: becomes the id of the pod's drain.
        now: the time of the API server's clock.
        discard: no claim gets the pod again.

    """
    run.keep(services.call_time)
    phase = Phase.TERMINATING if discard else Phase.DRAINING
    since = now.isoformat(timespec="seconds")
    try:
        ClaimPods(services.kube, namespace).give_back(pod, phase, f"{token} {since}")
    except (Conflict, NotFound):
        return False
    log.info("pod_given_back", namespace=namespace, pod=pod.name, phase=phase.value)
    return True
