"""LoadBalancerApi on AWS Network Load Balancers.

Load balancers, listeners, target groups, targets and tags have a module each. This one joins them for a caller, and
keeps one client a region, because a client holds the connections and the credentials.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from datetime import timedelta
from typing import TYPE_CHECKING, Final

from workers.cloud.aws.gateway import Caller, Gateway, Keep
from workers.cloud.aws.limits import AccountLimits
from workers.cloud.aws.listeners import ListenerCalls
from workers.cloud.aws.load_balancers import LoadBalancerCalls
from workers.cloud.aws.session import elbv2
from workers.cloud.aws.settings import AwsSettings
from workers.cloud.aws.target_groups import TargetGroupCalls
from workers.cloud.aws.targets import TargetCalls
from workers.cloud.call_budget import Buckets
from workers.cloud.driver import LoadBalancerApi
from workers.cloud.mutexes import LoadBalancerMutexes, NoMutexes
from workers.cloud.priority import Priority

if TYPE_CHECKING:
    from mypy_boto3_elbv2 import ElasticLoadBalancingv2Client

NO_MUTEXES: Final = NoMutexes()


class AwsNlb(LoadBalancerCalls, ListenerCalls, TargetGroupCalls, TargetCalls, AccountLimits):
    """One region, on behalf of one caller."""

    def on_behalf_of(
        self, caller: str, priority: Priority, keep: Keep | None = None, patience: timedelta | None = None
    ) -> LoadBalancerApi:
        """The same region for another caller, with the same client and shared answers."""
        longest = self._gateway.caller.patience if patience is None else patience
        return AwsNlb(self._gateway.on_behalf_of(Caller(caller, priority, longest, keep)))


def aws_nlb(
    settings: AwsSettings, region: str, buckets: Buckets, mutexes: LoadBalancerMutexes = NO_MUTEXES
) -> LoadBalancerApi:
    """Build the driver of a region, with a client of its own."""
    return on_client(elbv2(settings, region), settings, buckets, mutexes)


def on_client(
    client: ElasticLoadBalancingv2Client,
    settings: AwsSettings,
    buckets: Buckets,
    mutexes: LoadBalancerMutexes = NO_MUTEXES,
) -> LoadBalancerApi:
    """Build the driver of the client's region. Calls without a caller have the priority of repair."""
    return AwsNlb(Gateway(client, settings, buckets, mutexes, Caller("unnamed", Priority.REPAIR, settings.patience)))


class Regions:
    """The drivers of a process, each built when first used; `buckets(region)` is the call budget of a region."""

    def __init__(self, settings: AwsSettings, buckets: Callable[[str], Buckets], mutexes: LoadBalancerMutexes) -> None:
        self._settings, self._buckets, self._mutexes = settings, buckets, mutexes
        self._lock, self._drivers = threading.Lock(), dict[str, LoadBalancerApi]()

    def __call__(self, region: str) -> LoadBalancerApi:
        """The driver of a region."""
        with self._lock:
            if region not in self._drivers:
                self._drivers[region] = aws_nlb(self._settings, region, self._buckets(region), self._mutexes)
            return self._drivers[region]
