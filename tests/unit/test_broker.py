"""The address of Sentinel as kombu reads it, and what becomes of an application's own options."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from kombu import Connection

from berthmaster.broker.address import OF_RABBITMQ, broker_of, connection, in_brief
from berthmaster.runner.install import fitted
from berthmaster.runner.settings import RunnerSettings

OURS = "redis+sentinel://us%3Aer:p%3B%40@one:1,two/berths/2?sentinel_password=x&socket_timeout=3"


def test_each_sentinel_is_an_address_and_the_rest_are_options() -> None:
    told = broker_of(OURS)
    assert told.url == "sentinel://us%3Aer:p%3B%40@one:1/2;sentinel://us%3Aer:p%3B%40@two:26379/2"
    assert told.options["master_name"] == "berths"
    assert told.options["sentinel_kwargs"]["credential_provider"].get_credentials() == ("x",)
    assert "x" not in repr(told.options["sentinel_kwargs"]["credential_provider"])


def test_kombu_reads_what_we_mean() -> None:
    read: Any = connection(OURS, {"socket_timeout": 5})
    assert (read.userid, read.password, read.virtual_host) == ("us:er", "p;@", "2")
    assert read.transport_options["socket_timeout"] == 5
    assert len(read.alt) == 2


@pytest.mark.parametrize("url", ["redis://one/1", "rediss://one", "sentinel://one;sentinel://two"])
def test_any_other_address_stays_as_it_is(url: str) -> None:
    assert broker_of(url) == (url, {})
    assert isinstance(connection(url, {}), Connection)


@pytest.mark.row("ST-45")
@pytest.mark.parametrize("url", ["amqp://one/v", "amqps://u:p@one", "amqp://one;amqp://two"])
def test_rabbitmq_confirms_each_message_and_no_option_of_redis_reaches_it(url: str) -> None:
    read: Any = connection(url, {"socket_timeout": 5})
    assert broker_of(url) == (url, OF_RABBITMQ)
    assert read.transport_options == OF_RABBITMQ
    assert read.transport_options["confirm_publish"]


def test_an_error_of_sentinels_is_a_line_and_not_a_page() -> None:
    """As redis-py says it."""
    assert in_brief(OSError("No master found for 'x' : <redis.client.Redis(<redis.connection...")) == (
        "No master found for 'x'"
    )
    assert in_brief(OSError("refused : by nobody")) == "refused : by nobody"


def runner(**redis: Any) -> RunnerSettings:
    return RunnerSettings.model_validate({"pool": "ci/r", "pod": "a", "uid": "u", "redis": {"url": OURS, **redis}})


def conf(url: str) -> SimpleNamespace:
    return SimpleNamespace(broker_url=url, broker_transport_options={"visibility_timeout": 7, "master_name": "old"})


def test_an_application_that_has_options_of_its_own_keeps_them_beside_those_of_the_address() -> None:
    options = fitted(runner(), conf(broker_of(OURS).url))["broker_transport_options"]
    assert options["visibility_timeout"] == 7
    assert options["master_name"] == "berths"


def test_with_a_user_of_its_own_it_keeps_to_its_keys_as_well() -> None:
    told = runner(username="pool", password="p")
    options = fitted(told, conf(broker_of(told.redis.address).url))["broker_transport_options"]
    assert options["unacked_key"].startswith("berthmaster.runner:ci/r:")
    assert options["master_name"] == "berths"


def test_another_broker_is_the_applications_own_business() -> None:
    assert fitted(runner(username="pool", password="p"), conf("amqp://one")) == {}
