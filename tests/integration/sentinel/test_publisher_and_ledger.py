"""What a failover is for publisher, ledgers and jobs: another incarnation, which grants nothing until it is checked."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr
from redis import Redis

from berthmaster.client import Fleet, Request
from berthmaster.redis.client import connect_state
from berthmaster.redis.incarnation import incarnation
from berthmaster.redis.outage import OUTAGE
from berthmaster.redis.settings import RedisSettings
from berthmaster.runner.settings import RunnerRedis
from domain.pod_pools.runner_token import digest
from tests.integration.runner.conftest import POOL, RunnerPool
from tests.support.pods.pods import pod
from tests.support.ports.builders import active_pool, load_balancer
from tests.support.servers.publishing import IdleWorker, PublisherProcess, settings
from tests.support.servers.scripted_watch import PODS, ScriptedApi
from tests.support.servers.sentinel_group import SentinelGroup
from tests.support.waiting import eventually
from workers.stores.ports.ledger import NotReady
from workers.stores.slots.preload import preload
from workers.stores.slots.user import RunnerUser


def moved(client: Redis, before: str) -> bool:
    try:
        return incarnation(client) != before and client.set("probe", 1) is True
    except OUTAGE:
        return False


def fail_over(group: SentinelGroup, client: Redis) -> None:
    """Returns when `client` can write to the new master."""
    before = incarnation(client)
    assert client.wait(1, 5000) == 1
    group.fail_over()
    eventually(lambda: moved(client, before), timeout=40)


@pytest.fixture
def client(careful: SentinelGroup) -> Iterator[Redis]:
    with connect_state(RedisSettings(url=careful.url)) as made:
        yield made


@pytest.mark.row("AL-19", "AL-20", "EV-13")
def test_a_ledger_behind_sentinels_grants_nothing_after_a_failover_until_it_is_rebuilt(
    careful: SentinelGroup, client: Redis
) -> None:
    ports = active_pool(client)
    held = ports.allocate("games/a", 2)
    paused = ports.run("games/b")
    fail_over(careful, client)
    assert ports.held() == {"games/a": held}
    with pytest.raises(NotReady):
        ports.run("games/c")
    ports.rebuild({"games/a": held})
    ports.configure([load_balancer()])
    with pytest.raises(NotReady):
        paused.leave()
    assert ports.ports("games/b") == [("lb-0", 30002)]


@pytest.mark.row("EV-10", "EV-13")
def test_a_publisher_lists_again_for_the_new_master_and_omits_nothing(
    careful: SentinelGroup, client: Redis, tmp_path: Path
) -> None:
    worker = IdleWorker(client)
    with ScriptedApi() as api:
        api.world.put(PODS, pod("a"))
        with PublisherProcess(settings(api.url, careful.url), tmp_path / "log") as publisher:
            publisher.wait_for("lists_stamped")
            eventually(lambda: set(worker.living()) == {"pod/games/a"})
            before = incarnation(client)
            careful.fail_over()
            api.world.put(PODS, pod("b"))
            eventually(lambda: moved(client, before), timeout=40)
            eventually(lambda: len(publisher.said("lists_stamped")) > 1, timeout=40)
            eventually(lambda: set(worker.living()) == {"pod/games/a", "pod/games/b"})
            assert client.hget("{queue}meta", "run") == incarnation(client).encode()
            assert publisher.end() == 0, Path(publisher.logs.name).read_text()


@pytest.mark.row("SD-26", "SL-13")
def test_runners_report_to_the_new_master_and_take_jobs_again(
    careful: SentinelGroup, client: Redis, tmp_path: Path
) -> None:
    """With the user of their pool, whom a replica does not know until the pool's run has made it there."""
    runners, user = RunnerPool(tmp_path, client, careful.url), RunnerUser(client, POOL)
    assert user.ensure("1-a", [digest("of runners")]) == ""
    own = {"BERTHMASTER_RUNNER__REDIS__USERNAME": user.name, "BERTHMASTER_RUNNER__REDIS__PASSWORD": "of runners"}
    try:
        runners.start("a", "threads", **own)
        runners.ready("a")
        runners.submit("before")
        assert runners.reaches("before", "done").outcome == "succeeded"
        fail_over(careful, client)
        assert preload(runners.ledger) == ""  # as the pool's run does: no replica has scripts either
        assert user.ensure("1-a", [digest("of runners")]) == ""
        runners.ledger.begin([])
        runners.ready("a")
        runners.submit("after")
        assert runners.reaches("after", "done", 60).outcome == "succeeded"
    finally:
        for runner in runners.runners.values():
            runner.kill()
            print(runner.tail())  # noqa: T201 - shown when the test fails


def test_a_client_of_jobs_needs_the_same_address_only(careful: SentinelGroup, client: Redis) -> None:
    with Fleet(careful.url) as fleet:
        fleet.submit(Request("one", POOL, "work"))
        assert fleet.job(POOL, "one") is None  # no worker runs
    assert client.llen("berthmaster.jobs") == 1


@pytest.mark.row("SD-26")
def test_the_user_of_a_pool_takes_the_place_of_the_address_own(careful: SentinelGroup) -> None:
    told: Any = RunnerRedis(url=careful.url, username="pool", password=SecretStr("a@b"))
    assert told.address == careful.url.replace(":of-master%3B%40%2F@", "pool:a%40b@")
