"""The address of Redis that runner pods get holds no credential of the workers, wherever the workers have one."""

from __future__ import annotations

import pytest

from workers.pod_pools.redis_address import runner_address
from workers.settings import WorkerSettings

SENTINEL = "redis+sentinel://me:mine@one:1,two:2/master/3"
FOR_RUNNERS = "redis+sentinel://one.redis:1/master?sentinel_username=asks&sentinel_password=theirs"


def settings(state: str, runners: str = "", broker: str | None = None) -> WorkerSettings:
    groups = {"redis": {"url": state}, "slots": {"runner_redis_url": runners}, "broker": {"url": broker}}
    return WorkerSettings.model_validate({"cluster": "c", **groups})


@pytest.mark.row("HO-04")
@pytest.mark.parametrize(
    "state, given",
    [
        ("redis://:mine@host:1/0", "redis://host:1/0"),
        ("redis://me:mine@host:1/2?password=mine&username=me&protocol=3", "redis://host:1/2?protocol=3"),
        ("rediss://me:mine@host:1/0?ssl_ca_certs=/ca.crt", "rediss://host:1/0?ssl_ca_certs=%2Fca.crt"),
        ("unix://me:mine@/run/redis.sock?db=1", "unix:///run/redis.sock?db=1"),
        (SENTINEL, "redis+sentinel://one:1,two:2/master/3"),
    ],
)
def test_the_workers_own_address_is_given_without_their_user(state: str, given: str) -> None:
    assert runner_address(settings(state)) == (given, "")
    assert runner_address(settings("redis://:other@host:1/0", state)) == (given, "")


@pytest.mark.row("HO-04")
@pytest.mark.parametrize(
    "option",
    [
        "sentinel_password=mine",
        "sentinel_ssl_keyfile=/mine.key",
        "ssl_certfile=/mine.crt",
        "ssl_keyfile=/mine.key",
        "ssl_password=mine",
    ],
)
def test_an_address_that_needs_more_of_the_workers_than_their_user_is_withheld(option: str) -> None:
    scheme = "rediss+sentinel" if option.startswith("sentinel") else "rediss"
    place = "one:1/master" if option.startswith("sentinel") else "host:1"
    address = runner_address(settings(f"{scheme}://me:mine@{place}/0?{option}"))
    assert "mine" not in address.url
    assert option.partition("=")[0] in address.withheld
    assert "name an address for runners in BERTHMASTER_SLOTS__RUNNER_REDIS_URL" in address.withheld
    assert "mine" not in address.withheld


@pytest.mark.row("HO-04")
@pytest.mark.parametrize("whose", ["state", "broker"])
def test_an_address_for_runners_has_secrets_of_its_own_and_none_of_the_workers(whose: str) -> None:
    plain, secret = "redis://host:1/0", f"{SENTINEL}?sentinel_password=theirs"
    state, broker = (secret, None) if whose == "state" else (plain, secret)
    assert runner_address(settings(plain, FOR_RUNNERS)) == (FOR_RUNNERS, "")
    address = runner_address(settings(state, FOR_RUNNERS, broker))
    assert "theirs" not in address.url
    assert "give runners a user of their own there" in address.withheld
