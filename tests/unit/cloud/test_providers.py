"""A provider is registered once, and a region belongs to one provider."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import ClassVar

import pytest

from berthmaster.errors import TerminalError
from domain.port_pools.providers import AWS, PROVIDERS, ProviderRules, pattern_of, rules_of
from tests.support.ports.memory_cloud import MemoryCloud, World
from tests.support.ports.unlimited import Unlimited
from workers.cli.audit import calls_so_far
from workers.cli.cloud_checks import region_checks
from workers.cloud.aws.settings import RatesSettings
from workers.cloud.call_budget import Buckets
from workers.cloud.driver import LoadBalancerApi
from workers.cloud.mutexes import LoadBalancerMutexes, NoMutexes
from workers.cloud.provider import CloudProvider, Drivers, RegionDriver
from workers.cloud.providers import TYPES, ProviderSettings

GATEWAY = ProviderRules("gateway", "Gateway", r"^gateway/[a-z]+$", r"^secret/[a-z]+$", "the name of a secret", 1000)


@dataclass
class Gateway:
    """A second provider: one memory cloud, whatever the region."""

    rules: ClassVar[ProviderRules] = GATEWAY
    loggers: ClassVar[tuple[str, ...]] = ("nftables",)
    answers: Mapping[str, str | None]
    rates = RatesSettings()
    call_timeout = timedelta(seconds=1)

    def drivers(self, buckets: Callable[[str], Buckets], mutexes: LoadBalancerMutexes) -> RegionDriver:
        world = World()

        def driver(region: str) -> LoadBalancerApi:
            buckets(region)
            return MemoryCloud(world)

        return driver

    def check_access(self, region: str) -> Mapping[str, str | None]:
        return self.answers

    def calls(self) -> int:
        return 3

    @staticmethod
    def load_balancer_name_in(arn: str) -> str | None:
        return arn.removeprefix("gateway/") if arn.startswith("gateway/") else None


def test_every_provider_has_its_rules_its_type_and_its_settings() -> None:
    names = {row.name for row in PROVIDERS}
    assert {provider.rules for provider in TYPES} == set(PROVIDERS)
    assert [type(provider) for provider in ProviderSettings().providers] == list(TYPES)
    assert set(ProviderSettings.model_fields) == names
    assert len(names) == len(PROVIDERS)


@pytest.mark.parametrize("row", [*PROVIDERS, GATEWAY], ids=lambda row: row.name)
def test_a_pattern_is_anchored_so_that_it_can_stand_beside_others(row: ProviderRules) -> None:
    for pattern in (row.region, row.certificate):
        assert (pattern[0], pattern[-1]) == ("^", "$")
        assert "|" not in re.sub(r"\(.*?\)", "", pattern)


def test_a_spec_may_name_a_region_of_any_provider() -> None:
    pattern = pattern_of(lambda row: row.region, (AWS, GATEWAY))
    assert [bool(re.search(pattern, region)) for region in ("eu-west-1", "gateway/berlin", "mars")] == [
        True,
        True,
        False,
    ]
    assert pattern_of(lambda row: row.region, (AWS,)) == AWS.region


def test_a_region_says_which_provider_has_it() -> None:
    rows = (AWS, GATEWAY)
    assert [rules_of(region, rows) for region in ("eu-west-1", "gateway/berlin", "mars")] == [AWS, GATEWAY, None]


def test_a_region_of_no_registered_provider_has_no_driver() -> None:
    asked: list[tuple[str, str]] = []

    def buckets(provider: CloudProvider, region: str) -> Buckets:
        asked.append((provider.rules.name, region))
        return Unlimited()

    provider = Gateway({})
    provider_of_aws = type("Stand-in", (Gateway,), {"rules": AWS})({})
    drivers = Drivers([provider, provider_of_aws], buckets, NoMutexes())
    assert isinstance(drivers("eu-west-1"), MemoryCloud)
    assert asked == [("aws", "eu-west-1")]
    with pytest.raises(TerminalError, match="no provider of load balancers has a region 'mars'"):
        drivers("mars")


@pytest.mark.parametrize(
    ("answers", "lines"),
    [
        (
            {"Ping": None, "List": None},
            ["Gateway in b: answers Ping, List; actions that change something were not tried"],
        ),
        ({"Ping": "no key", "List": "no key"}, ["Gateway in b: no key"]),
        ({"Ping": None, "List": "no key"}, ["Gateway in b: List: no key"]),
        ({"Ping": "slow", "List": "no key"}, ["Gateway in b: Ping: slow", "Gateway in b: List: no key"]),
    ],
    ids=str,
)
def test_doctor_checks_any_provider(answers: Mapping[str, str | None], lines: list[str]) -> None:
    checks = list(region_checks(Gateway(answers), "b"))
    assert [f"{check.name}: {check.finding}" for check in checks] == lines
    assert all(check.ok for check in checks) is not any(answers.values())


def test_the_progress_of_an_audit_counts_the_calls_of_each_provider() -> None:
    assert calls_so_far([Gateway({}), Gateway({})]) == "3 Gateway calls, 3 Gateway calls"
