"""A pod is given back: it drains, or goes, without anything of the claim that had it. Its pool does the rest."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Protocol

import structlog

from domain.claims.pod import Phase
from domain.kubernetes.objects import Pod
from events.kube.api import Conflict, KubeApi, NotFound
from workers.kube.claimable_pods import ClaimPods
from workers.run import Run

log = structlog.get_logger()


class CallsKube(Protocol):
    """What this needs of the services of a run."""

    @property
    def kube(self) -> KubeApi: ...

    @property
    def call_time(self) -> timedelta: ...


def give_back(
    services: CallsKube,
    run: Run,
    namespace: str,
    pod: Pod,
    token: str,
    now: datetime,
    discard: bool = False,
) -> bool:
    """`now` by the API server's clock. `token` becomes the id of its drain; `discard`: it is never handed out again.

    False: it has changed since it was read.

    In the slot ledger it stays claimed until its pool has seen to it; who calls this touches the pool.
    """
    run.keep(services.call_time)
    phase = Phase.TERMINATING if discard else Phase.DRAINING
    since = now.isoformat(timespec="seconds")
    try:
        ClaimPods(services.kube, namespace).release(pod, phase, f"{token} {since}")
    except (Conflict, NotFound):
        return False
    log.info("pod_given_back", namespace=namespace, pod=pod.name, phase=phase.value)
    return True
