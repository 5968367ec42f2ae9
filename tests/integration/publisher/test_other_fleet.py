"""Two fleets at one Redis: the second is refused in plain words, and the first keeps what it has."""

from __future__ import annotations

from pathlib import Path

import pytest
from redis import Redis

from berthmaster import routing
from berthmaster.redis.identity import Identity
from berthmaster.redis.incarnation import connect
from berthmaster.redis.unusable import UNUSABLE
from compose.sandbox.redis_server import RedisServer
from events.workqueue import Workqueue
from tests.support.pods.pods import pod
from tests.support.ports.builders import active_pool
from tests.support.servers.celery_worker import CeleryProcess
from tests.support.servers.publishing import IdleWorker, PublisherProcess, publishing, settings
from tests.support.servers.scripted_watch import PODS, ScriptedApi
from tests.support.waiting import eventually

NAMESPACES = "/api/v1/namespaces"
OWNER = "this Redis belongs to fleet blue/uid-of-blue, and this process to fleet "
GREEN = Identity("green", "uid-of-green")


def with_system(api: ScriptedApi, uid: str) -> ScriptedApi:
    api.world.put(NAMESPACES, {"metadata": {"name": "kube-system", "uid": uid}})
    return api


@pytest.mark.row("RD-23")
def test_the_second_of_two_fleets_at_one_redis_is_refused_and_the_ports_of_the_first_stay_bound(
    api: ScriptedApi, redis: Redis, redis_url: str, worker: IdleWorker, tmp_path: Path
) -> None:
    with_system(api, "uid-of-blue").world.put(PODS, pod("a"))
    with (
        publishing(api.url, redis_url, cluster="blue") as first,
        ScriptedApi() as other,
    ):
        with_system(other, "uid-of-green")
        pool = active_pool(redis)
        held = pool.allocate("games/a")
        eventually(lambda: worker.snapshot("pod/games/a"))
        with PublisherProcess(settings(other.url, redis_url, cluster="green"), tmp_path / "publisher") as second:
            assert second.process.wait(20) == UNUSABLE
            said = (tmp_path / "publisher").read_text()
        assert f"\n{OWNER}green" in said
        assert "Traceback" not in said
        for kind in ("worker", "beat"):
            server = {"BERTHMASTER_KUBERNETES__SERVER": other.url}
            said = CeleryProcess(kind, kind, tmp_path, redis_url, server).refuses_its_redis()
            assert f"{OWNER}test" in said
            assert "Traceback" not in said
        assert (first.terms, first.stamped) == (1, True)
        assert worker.living()["pod/games/a"]
        assert pool.held() == {"games/a": held}


@pytest.mark.row("RD-23")
def test_two_clusters_of_one_name_are_told_apart_by_their_kube_system(
    api: ScriptedApi, redis_url: str, worker: IdleWorker
) -> None:
    with publishing(with_system(api, "uid-of-blue").url, redis_url, cluster="blue") as first, ScriptedApi() as other:
        with_system(other, "uid-of-another")
        with publishing(other.url, redis_url, stamped=False, cluster="blue") as second:
            eventually(lambda: second.status == UNUSABLE)
        assert (first.terms, first.stamped) == (1, True)


@pytest.mark.row("RD-23")
def test_a_worker_whose_redis_becomes_another_fleet_s_takes_nothing_and_does_not_end(
    mortal: RedisServer, tmp_path: Path
) -> None:
    worker = CeleryProcess("worker", "worker", tmp_path, mortal.url, {"BERTHMASTER_CLUSTER": "blue"})
    with connect(mortal.url) as redis:
        prepared = Workqueue(redis, hint_queue="hints")
        prepared.assume_epoch("1:green", GREEN)
        redis.lpush(routing.LATENCY, "a hint of green")
        redis.config_set("appendfsync", "always")
        mortal.kill()
        try:
            worker.start()  # before it is there: nobody can say yet whose it is
            eventually(lambda: "Trying again" in worker.tail(), 40)
            mortal.start()
            eventually(lambda: any(line["event"] == "redis_unusable" for line in worker.log_lines()), 40)
            assert worker.running()
            assert redis.llen(routing.LATENCY) == 1
            assert prepared.adopt(GREEN, Identity("blue"))
            eventually(lambda: redis.llen(routing.LATENCY) == 0, 40)
            assert worker.running()
        finally:
            worker.kill()
