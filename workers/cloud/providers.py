"""The providers of load balancers that this version knows: the only module that names them."""

from __future__ import annotations

from datetime import timedelta
from typing import Final

from pydantic_settings import BaseSettings

from workers.cloud.aws.provider import AwsProvider
from workers.cloud.aws.settings import AwsSettings
from workers.cloud.provider import CloudProvider

TYPES: Final[tuple[type[CloudProvider], ...]] = (AwsProvider,)
LOGGERS: Final = tuple(name for provider in TYPES for name in provider.loggers)


class ProviderSettings(BaseSettings):
    """One group of settings a provider; WorkerSettings has the others."""

    aws: AwsSettings = AwsSettings()

    @property
    def providers(self) -> tuple[CloudProvider, ...]:
        """Every provider, with its settings."""
        return (AwsProvider(self.aws),)

    @property
    def cloud_call_timeout(self) -> timedelta:
        """The longest that one call of any provider takes."""
        return max(provider.call_timeout for provider in self.providers)


def is_load_balancer(arn: str) -> bool:
    """Whether the id names a load balancer of a provider."""
    return any(provider.load_balancer_name_in(arn) is not None for provider in TYPES)


def load_balancer_name_in(arn: str) -> str:
    """The load balancer's name in its id; the whole text where no provider knows the id."""
    names = (provider.load_balancer_name_in(arn) for provider in TYPES)
    return next((name for name in names if name is not None), arn)
