"""What an address of Redis says, and what is refused with a word on how it is written."""

from __future__ import annotations

from collections.abc import Callable
from traceback import format_exception
from urllib.parse import quote

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from pydantic import ValidationError

from berthmaster.redis.address import BY_TCP, BY_TLS, OPTIONS, SentinelAddress, checked, checked_broker
from berthmaster.redis.incarnation import connect
from berthmaster.redis.settings import RedisSettings
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
        ("redis+sentinel://:s3cret@one/berths/" + "1" * 5000, "number of a database"),
        ("redis+sentinel://:s3cret@one/berths?sentinel_pasword=s3cret", "not one of sentinel_password, sentinel_ssl,"),
        ("redis+sentinel://one/berths?sentinel_password=a&s3cret", "a password with a sign like &"),
        ("redis+sentinel://:s3cret@one/berths?foo=x", "not one of client_name, db,"),
        ("redis+sentinel://:s3cret@one/berths?host=two&port=1", "not one of"),
        ("redis+sentinel://:s3cret@one/berths?decode_responses=1", "not one of"),
        ("redis+sentinel://:s3cret@one/berths?ssl_ca_certs=/a", "not one of"),
        ("redis+sentinel://:s3cret@one/berths?socket_timeout=s3cret", "makes no sense: socket_timeout"),
        ("redis+sentinel://:s3cret@one/berths?sentinel_ssl=s3cret", "sentinel_ssl is true or false"),
        ("redis+sentinel://user:12/s3cret@one/berths", "write each sign"),
        ("redis+sentinel://:s3cret\u2100@one/berths", "write each sign"),
        ("redis+sentinel://:s[s3cret]@one/berths", "write each sign"),
        ("redis://:s3cret\u2100@one", "write each sign"),
        ("redis://:s[s3cret]@one", "write each sign"),
        ("redis://user:s3cret/@one", "write each sign"),
        ("redis://user:12#s3cret@one", "write each sign"),
        ("redis://user:12?s3cret@one", "password with a sign like"),
        ("redis://one:s3cret", "port that is no number"),
        ("redis://one/s3cret", "number of a database"),
        ("redis://one?foo=s3cret", "not one of"),
        ("redis://one?ssl_ca_certs=s3cret", "not one of"),
        ("redis://one?max_connections=s3cret", "makes no sense: max_connections"),
        ("redis://one?max_connections=0", "makes no sense: max_connections"),
        ("redis://one?socket_timeout=-1", "makes no sense: socket_timeout"),
        ("redis://one?socket_timeout=nan", "makes no sense: socket_timeout"),
        ("redis://one?protocol=4", "makes no sense: protocol"),
        ("redis://one?encoding=s3cret", "makes no sense: encoding"),
        ("redis://one?retry_on_timeout=s3cret", "makes no sense: retry_on_timeout"),
        ("rediss://one?ssl_check_hostname=flase", "makes no sense: ssl_check_hostname"),
        ("rediss://one?ssl_cert_reqs=s3cret", "makes no sense: ssl_cert_reqs"),
        ("rediss://one?ssl_validate_ocsp=false", "makes no sense: ssl_validate_ocsp"),
        ("unix:///tmp/redis?socket_keepalive=s3cret", "not one of"),
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
    assert caught.value.__context__ is None or caught.value.__suppress_context__


SIGNS = st.sampled_from(
    [*"\u2100\uff0f[]/?#&=@:;,% \n\udc80", "[::1]", "/0", "%zz", "12", "db=", "&sentinel_ssl=", "&socket_timeout="]
)
PARTS = st.lists(SIGNS, max_size=4).map("".join)
PLACES = (
    *(
        "redis+sentinel://:{}@one:1/berths/0",
        "redis+sentinel://{}:x@one/berths",
        "rediss+sentinel://user:{}@one/berths",
    ),
    *("redis+sentinel://one/berths?sentinel_password={}", "redis+sentinel://one/berths?password={}"),
    *("redis://:{}@one/0", "rediss://user:{}@one:1/0", "redis://one?password={}", "unix://:{}@/tmp/redis"),
    *("amqp://user:{}@one/", "redis+sentinel://{}", "redis://{}", "sentinel://:{}@one"),
)


def refusal(read: Callable[[str], object], url: str) -> str:
    """As a log has it, '' where it is none."""
    try:
        read(url)
    except ValueError as error:
        return "".join(part for part in format_exception(error) if "Traceback" not in part and "File" not in part)
    return ""


@pytest.mark.row("EV-17")
@given(st.sampled_from(PLACES), PARTS, PARTS)
@example("redis+sentinel://:{}@one/berths", "&db=1&", "=1")
def test_whatever_a_password_is_no_refusal_says_it(place: str, before: str, after: str) -> None:
    url = place.format(f"{before}s3cret{after}")
    for read in (checked, checked_broker, SentinelAddress.parse, connect):
        assert "s3cret" not in refusal(read, url)


@given(st.text(min_size=1), st.text(min_size=1))
def test_any_user_and_password_is_read_if_it_is_escaped(user: str, password: str) -> None:
    who = f"{quote(user, safe='')}:{quote(password, safe='')}"
    options = SentinelAddress.parse(f"redis+sentinel://{who}@one/berths").options
    assert (options["username"], options["password"]) == (user, password)
    assert checked(f"redis://{who}@one")


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("scheme", ["redis", "rediss", "unix", "redis+sentinel", "rediss+sentinel"])
def test_each_option_that_is_taken_is_one_of_the_connections(scheme: str) -> None:
    names = OPTIONS | (BY_TCP if scheme != "unix" else set()) | (BY_TLS if scheme.startswith("rediss") else set())
    odd = {
        "ssl_include_verify_flags": "VERIFY_X509_STRICT",
        "ssl_cert_reqs": "none",
        "protocol": "2",
        "encoding": "utf-8",
    }
    odd["ssl_exclude_verify_flags"] = odd["ssl_include_verify_flags"]
    for name in names - {"ssl_validate_ocsp", "ssl_validate_ocsp_stapled"}:  # which need a library
        place = {"unix": "/tmp/redis"}.get(scheme, "one/1")
        with connect(f"{scheme}://{place}?{name}={odd.get(name, '1')}") as client:
            client.connection_pool.make_connection()


@pytest.mark.parametrize(
    "url",
    [
        *("redis://one", "rediss://one:1/0", "unix:///tmp/redis", "unix:///run/redis@1.sock", "redis://[::1]:1/2/"),
        "rediss://u:p%40@one:1/0?ssl_cert_reqs=required&ssl_ca_certs=/a@b&socket_timeout=3&socket_keepalive=",
    ],
)
def test_other_addresses_stay_as_they_are(url: str) -> None:
    assert checked(url) == checked_broker(url) == url
    assert checked_broker("amqp://one") == "amqp://one"


@pytest.mark.row("ST-44")
@pytest.mark.parametrize("url", ["sqs://", "memory://", "kafka://one", "one:5672", "https://s3cret@one"])
def test_a_broker_of_another_kind_is_refused_with_the_forms_that_are_taken(url: str) -> None:
    with pytest.raises(ValueError, match="amqps://") as caught:
        checked_broker(url)
    assert "redis://" in str(caught.value)
    assert "s3cret" not in str(caught.value)


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
