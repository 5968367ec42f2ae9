"""What the reconciler of claim sets needs. workers.wiring builds it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from events.kube.api import KubeApi
from workers.kube.events import KubeEvents
from workers.kube.pod_claim_sets import PodClaimSets
from workers.stores.claims.set_names import ClaimSetNames
from workers.stores.claims.set_pace import ClaimSetPace


@dataclass(frozen=True)
class ClaimSetServices:
    """Services of the reconciler of claim sets. `call_time` is how long one call may take."""

    kube: KubeApi
    sets: PodClaimSets
    events: KubeEvents
    names: ClaimSetNames
    pace: ClaimSetPace
    call_time: timedelta
