"""What a provider registers besides the load-balancer interface, and the choice of the provider by region."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from functools import partial
from typing import ClassVar, Protocol

from berthmaster.errors import TerminalError
from domain.port_pools.providers import ProviderRules, rules_of
from workers.cloud.call_budget import Buckets, CallRates
from workers.cloud.driver import LoadBalancerApi
from workers.cloud.mutexes import LoadBalancerMutexes

RegionDriver = Callable[[str], LoadBalancerApi]


class CloudProvider(Protocol):
    """One provider with its settings. It is cheap to make, and loads its client only when it is used."""

    rules: ClassVar[ProviderRules]
    loggers: ClassVar[tuple[str, ...]]
    """Loggers of its client that write a line a call: they stay silent below WARNING unless the level is DEBUG."""

    @property
    def rates(self) -> CallRates:
        """The call budget of each region."""
        ...

    @property
    def call_timeout(self) -> timedelta:
        """The longest time from the start of a call to its end: a lease must outlast it."""
        ...

    def drivers(self, buckets: Callable[[str], Buckets], mutexes: LoadBalancerMutexes) -> RegionDriver:
        """Return what makes the driver of a region, once a region; `buckets(region)` is its call budget."""
        ...

    def check_access(self, region: str) -> Mapping[str, str | None]:
        """Try the actions that change nothing: what is wrong with each and what to do, None where it was answered."""
        ...

    def calls(self) -> int:
        """The number of calls of this process so far."""
        ...

    @staticmethod
    def load_balancer_name_in(arn: str) -> str | None:
        """The name in the id of a load balancer, None for any other text."""
        ...


class Drivers:
    """The driver of each region, made by the region's provider."""

    def __init__(
        self,
        providers: Sequence[CloudProvider],
        buckets: Callable[[CloudProvider, str], Buckets],
        mutexes: LoadBalancerMutexes,
    ) -> None:
        self._drivers = {
            provider.rules: provider.drivers(partial(buckets, provider), mutexes) for provider in providers
        }

    def __call__(self, region: str) -> LoadBalancerApi:
        """The driver of a region. Raises TerminalError where no provider has the region."""
        rules = rules_of(region)
        if rules not in self._drivers:
            raise TerminalError(f"no provider of load balancers has a region {region!r}")
        return self._drivers[rules](region)
