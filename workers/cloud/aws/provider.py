"""AWS as a provider of load balancers: what the fleet asks of it besides the load-balancer interface.

boto3 takes longer to load than most commands run, so each method loads what it needs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import timedelta
from typing import ClassVar

from domain.port_pools.providers import AWS, ProviderRules
from workers.cloud.aws import arns
from workers.cloud.aws.settings import AwsSettings, RatesSettings
from workers.cloud.call_budget import Buckets
from workers.cloud.mutexes import LoadBalancerMutexes
from workers.cloud.provider import RegionDriver


class AwsProvider:
    """A workers.cloud.provider.CloudProvider."""

    rules: ClassVar[ProviderRules] = AWS
    loggers: ClassVar[tuple[str, ...]] = ("botocore", "boto3")

    def __init__(self, settings: AwsSettings) -> None:
        self._settings = settings

    @property
    def rates(self) -> RatesSettings:
        """The call budget of each region."""
        return self._settings.rates

    @property
    def call_timeout(self) -> timedelta:
        """The longest time from the start of a call to its end."""
        return self._settings.call_timeout

    def drivers(self, buckets: Callable[[str], Buckets], mutexes: LoadBalancerMutexes) -> RegionDriver:
        """Return the drivers of all regions, each built when first used."""
        from workers.cloud.aws.nlb import Regions

        return Regions(self._settings, buckets, mutexes)

    def check_access(self, region: str) -> Mapping[str, str | None]:
        """Try the describing actions in a region."""
        from workers.cloud.aws.access_check import check_access, in_plain

        return {
            action: in_plain(error) if error else None for action, error in check_access(self._settings, region).items()
        }

    def calls(self) -> int:
        """The number of calls of this process so far."""
        from workers.cloud.aws.metrics import calls

        return calls()

    @staticmethod
    def load_balancer_name_in(arn: str) -> str | None:
        """The name in the ARN of a load balancer, None for any other text."""
        return arns.load_balancer_name_in(arn)
