"""How late events are, as the publisher tells Prometheus."""

from __future__ import annotations

from pathlib import Path

import pytest

from compose.sandbox.redis_server import RedisServer
from tests.support.pods.pods import pod
from tests.support.scrapes import Endpoint
from tests.support.servers.publishing import Publishing, publishing
from tests.support.servers.scripted_watch import PODS, ScriptedApi
from tests.support.waiting import eventually


def lag(running: Publishing) -> float:
    port = running.process.health.server_address[1]
    return Endpoint(int(port)).total("berthmaster_publisher_lag_seconds", resource="pods")


@pytest.mark.row("EV-15")
def test_events_that_do_not_reach_redis_grow_old(api: ScriptedApi, mortal: RedisServer, tmp_path: Path) -> None:
    with publishing(api.url, mortal.url) as running:
        assert lag(running) == 0
        mortal.kill()
        api.world.put(PODS, pod("a"))
        eventually(lambda: lag(running) > 0.3)
        mortal.start()
        eventually(lambda: running.stamped and lag(running) == 0)
