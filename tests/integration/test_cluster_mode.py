"""Servers that can never hold the state: in cluster mode, or without a name for their process. Refused by name."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from redis import Redis

from berthmaster.broker.address import broker_refusal
from berthmaster.client import Fleet, Request
from berthmaster.redis.incarnation import connect
from berthmaster.redis.unusable import UNUSABLE, ClusterMode, NoIncarnation
from compose.sandbox.redis_server import RedisServer
from tests.support.faults.tcp_proxy import TcpProxy
from tests.support.servers.celery_worker import CeleryProcess
from tests.support.servers.clustered import ClusterServer
from tests.support.servers.publishing import PublisherProcess, settings
from tests.support.servers.scripted_watch import ScriptedApi

SAID = "this Redis has cluster mode on (redis_mode:cluster)"


class Nameless(TcpProxy):
    """A server whose INFO has no run_id, as those of providers with an engine of their own."""

    def passed(self, data: bytes) -> bytes:
        return data.replace(b"run_id:", b"no_id_:")


@pytest.fixture(scope="module")
def clustered(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RedisServer]:
    server = ClusterServer(tmp_path_factory.mktemp("clustered"), appendonly=False).start()
    yield server
    server.kill()


@pytest.mark.row("ST-46")
@pytest.mark.parametrize("db", [0, 1])
def test_a_connection_names_the_settings_and_the_way_out(clustered: RedisServer, db: int) -> None:
    with connect(clustered.url[:-1] + str(db)) as client, pytest.raises(ClusterMode) as caught:
        client.ping()
    text = str(caught.value)
    assert text.startswith(SAID)
    assert all(word in text for word in ("BERTHMASTER_REDIS__URL", "BERTHMASTER_BROKER__URL", "docs/install.md"))


@pytest.mark.row("ST-46")
def test_a_client_of_jobs_is_told_the_same(clustered: RedisServer) -> None:
    with Fleet(clustered.url) as fleet, pytest.raises(ClusterMode):
        fleet.submit(Request("one", "ci/runners", "work"))


@pytest.mark.row("ST-46")
def test_a_broker_in_cluster_mode_is_known_and_others_are_not_asked(clustered: RedisServer, redis_url: str) -> None:
    assert isinstance(broker_refusal(clustered.url), ClusterMode)
    assert [broker_refusal(url) for url in (redis_url, "amqp://one", "redis://127.0.0.1:1/0")] == [None] * 3


@pytest.mark.row("ST-46")
def test_a_worker_and_a_beat_end_at_their_start_with_one_line(
    clustered: RedisServer, redis_url: str, tmp_path: Path
) -> None:
    broker = {"BERTHMASTER_BROKER__URL": clustered.url}
    for process in (
        CeleryProcess("worker", "worker", tmp_path, clustered.url),
        CeleryProcess("beat", "beat", tmp_path, redis_url, broker),
    ):
        said = process.refuses_its_redis()
        assert f"\n{SAID}" in f"\n{said}"
        assert "Traceback" not in said


@pytest.mark.row("ST-46")
def test_a_publisher_and_a_runner_end_at_their_start_with_one_line(clustered: RedisServer, tmp_path: Path) -> None:
    with ScriptedApi() as api, PublisherProcess(settings(api.url, clustered.url), tmp_path / "publisher") as publisher:
        assert publisher.process.wait(60) == UNUSABLE
    runner = {
        "BERTHMASTER_RUNNER__POOL": "ci/runners",
        "BERTHMASTER_RUNNER__POD": "a",
        "BERTHMASTER_RUNNER__UID": "uid-a",
        "BERTHMASTER_RUNNER__REDIS__URL": clustered.url,
        "BERTHMASTER_RUNNER__SPOOL": str(tmp_path / "spool"),
    }
    application = "tests.support.jobs.runner_app"
    process = CeleryProcess("worker", "a", tmp_path, clustered.url, runner, application=application)
    said = process.refuses_its_redis()
    for text in (said, (tmp_path / "publisher").read_text()):
        assert f"\n{SAID}" in f"\n{text}"
        assert "Traceback" not in text


@pytest.mark.row("ST-47")
def test_a_server_that_does_not_name_its_process_is_refused_as_state(redis: Redis, redis_server: RedisServer) -> None:
    proxy = Nameless(redis_server.port)
    url = f"redis://127.0.0.1:{proxy.port}/0"
    with connect(url) as client, pytest.raises(NoIncarnation, match="does not say its run_id in INFO"):
        client.ping()
    assert broker_refusal(url) is None  # messages need no incarnation
    proxy.close()
    assert redis.ping()
