"""What runs of claim sets use; bootstrap makes it, tests make it with fakes behind the same interfaces."""

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
    kube: KubeApi
    sets: PodClaimSets
    events: KubeEvents
    names: ClaimSetNames
    pace: ClaimSetPace
    call_time: timedelta = timedelta(seconds=15)
