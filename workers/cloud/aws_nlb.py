"""LoadBalancerApi on AWS Network Load Balancers.

Load balancers, listeners, target groups, targets and tags have a file each; this one puts them together for a caller,
and keeps one client a region, because a client holds the connections and the credentials.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from datetime import timedelta
from typing import TYPE_CHECKING, Final

from workers.cloud.driver import LoadBalancerApi
from workers.cloud.gateway import Caller, Gateway, Keep
from workers.cloud.limits import AccountLimits
from workers.cloud.listeners import Listeners
from workers.cloud.load_balancers import LoadBalancers
from workers.cloud.mutexes import Turns, Unserialised
from workers.cloud.priority import Priority
from workers.cloud.rates import Buckets
from workers.cloud.session import elbv2
from workers.cloud.settings import AwsSettings
from workers.cloud.target_groups import TargetGroups
from workers.cloud.targets import Targets

if TYPE_CHECKING:
    from mypy_boto3_elbv2 import ElasticLoadBalancingv2Client

ALONE: Final = Unserialised()


class AwsNlb(LoadBalancers, Listeners, TargetGroups, Targets, AccountLimits):
    """One region."""

    def on_behalf_of(
        self, caller: str, priority: Priority, keep: Keep | None = None, patience: timedelta | None = None
    ) -> LoadBalancerApi:
        patient = self._gateway.caller.patience if patience is None else patience
        return AwsNlb(self._gateway.on_behalf_of(Caller(caller, priority, patient, keep)))


def aws_nlb(settings: AwsSettings, region: str, buckets: Buckets, turns: Turns = ALONE) -> LoadBalancerApi:
    """The driver of a region, with a client of its own."""
    return on_client(elbv2(settings, region), settings, buckets, turns)


def on_client(
    client: ElasticLoadBalancingv2Client, settings: AwsSettings, buckets: Buckets, turns: Turns = ALONE
) -> LoadBalancerApi:
    """The driver of the client's region. Calls that nobody asked for in particular count as repair."""
    return AwsNlb(Gateway(client, settings, buckets, turns, Caller("unnamed", Priority.REPAIR, settings.patience)))


class Regions:
    """The drivers of a process, made when first asked for; `buckets(region)` gives the call budget of a region."""

    def __init__(self, settings: AwsSettings, buckets: Callable[[str], Buckets], turns: Turns) -> None:
        self._settings, self._buckets, self._turns = settings, buckets, turns
        self._lock, self._drivers = threading.Lock(), dict[str, LoadBalancerApi]()

    def __call__(self, region: str) -> LoadBalancerApi:
        with self._lock:
            if region not in self._drivers:
                self._drivers[region] = aws_nlb(self._settings, region, self._buckets(region), self._turns)
            return self._drivers[region]
