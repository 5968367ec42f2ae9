"""What an address of Redis says, and what is refused with a word on how it is written."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from events.redis_address import SentinelAddress, checked, checked_broker
from events.settings import RedisSettings
from workers.settings import WorkerSettings


def test_an_address_says_sentinels_master_database_and_what_each_asks_for() -> None:
    url = "redis+sentinel://us%40er:p%2C%40@one,two:7,[::1]:8/berths/2?socket_timeout=3&sentinel_password=a%26b"
    told = SentinelAddress.parse(url)
    assert told.sentinels == (("one", 26379), ("two", 7), ("::1", 8))
    assert told.master == "berths"
    assert told.options == {"db": 2, "username": "us@er", "password": "p,@", "socket_timeout": 3.0}
    assert told.sentinel_options == {"password": "a&b"}


def test_the_database_is_the_first_if_none_is_named() -> None:
    assert SentinelAddress.parse("redis+sentinel://one/berths").options == {"db": 0}


def test_tls_is_for_both_unless_the_sentinels_have_their_own_or_none() -> None:
    both = SentinelAddress.parse("rediss+sentinel://one/berths?ssl_ca_certs=/a&sentinel_ssl_ca_certs=/b")
    assert both.tls
    assert (both.options["ssl_ca_certs"], both.sentinel_options) == ("/a", {"ssl": True, "ssl_ca_certs": "/b"})
    same = SentinelAddress.parse("rediss+sentinel://one/berths?ssl_ca_certs=/a")
    assert same.sentinel_options == {"ssl": True, "ssl_ca_certs": "/a"}
    assert SentinelAddress.parse("rediss+sentinel://one/berths?sentinel_ssl=false").sentinel_options == {}
    assert SentinelAddress.parse("redis+sentinel://one/berths?sentinel_ssl=true").sentinel_options == {"ssl": True}


@pytest.mark.parametrize(
    "url, said",
    [
        ("redis+sentinel://:s3cret@one:26379", "names no master, as in redis"),
        ("redis+sentinel://:s3cret@one:26379/", "names no master"),
        ("redis+sentinel://:s3cret@one/berths/a", "number of a database"),
        ("redis+sentinel://:s3cret@one:port/berths", "port is no number"),
        ("redis+sentinel://:s3cret@one,,two/berths", "without a name"),
        ("redis+sentinel://:s3cret@one/berths?sentinel_pasword=s3cret", "do not know: sentinel_pasword"),
        ("redis+sentinel://:s3cret@one/berths?socket_timeout=s3cret", "socket_timeout"),
        ("sentinel://:s3cret@one;sentinel://:s3cret@two", "names no master: write redis"),
        ("https://s3cret", "must be redis://"),
        ("redis://", "must be redis://"),
        ("", "must be redis://"),
    ],
)
def test_what_makes_no_sense_is_refused_by_what_is_missing_and_without_a_secret(url: str, said: str) -> None:
    with pytest.raises(ValueError, match=said) as caught:
        checked(url)
    assert "s3cret" not in str(caught.value)


@pytest.mark.parametrize("url", ["redis://one", "rediss://one:1/0", "unix:///tmp/redis"])
def test_other_addresses_stay_as_they_are(url: str) -> None:
    assert checked(url) == checked_broker(url) == url
    assert checked_broker("amqp://one") == "amqp://one"


@pytest.mark.row("EV-17")
def test_a_setting_that_is_refused_is_named_and_not_repeated() -> None:
    wrong = "sentinel://:s3cret@one"
    settings = {"redis": {"url": wrong}, "broker": {"url": wrong}, "slots": {"runner_redis_url": wrong}}
    with pytest.raises(ValidationError) as caught:
        WorkerSettings.model_validate({"cluster": "c", **settings})
    places = {".".join(map(str, error["loc"])) for error in caught.value.errors()}
    assert places == {"redis.url", "broker.url", "slots.runner_redis_url"}
    assert "s3cret" not in str(caught.value)


def test_no_address_of_their_own_is_one_for_runners() -> None:
    assert WorkerSettings.model_validate({"cluster": "c", "slots": {"runner_redis_url": ""}})
    assert RedisSettings(url="redis+sentinel://one/berths").url == "redis+sentinel://one/berths"
