"""How workers and beats start, and when they refuse to."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable

import pytest

from compose.sandbox.redis_server import RedisServer
from tests.integration.worker.fleet import Fleet
from tests.support.waiting import eventually


@pytest.mark.row("EV-11")
def test_a_worker_and_a_beat_that_start_before_redis_wait_for_it(
    make_fleet: Callable[[], Fleet], server: RedisServer
) -> None:
    server.kill()
    fleet = make_fleet()
    worker, beat = fleet.add_worker(), fleet.process("beat", "beat-early", {})
    fleet.beats.append(beat)
    eventually(lambda: "Trying again" in worker.tail() and "error" in beat.tail().lower(), timeout=40)
    server.start()
    fleet.publish_anew()
    worker.ready()
    fleet.mark("pod/early/p", waits=1)
    eventually(lambda: len(fleet.diary("pod/early/p", "ended")) >= 2, timeout=30)  # the beat ticks
    assert beat.running()


def test_autoscale_is_refused_at_the_start() -> None:
    command = [sys.executable, "-m", "celery", "-A", "workers.app", "worker", "--autoscale=8,1"]
    environment = {**os.environ, "BERTHMASTER_CLUSTER": "test"}
    ended = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60, check=False)
    assert ended.returncode == 1
    assert "refuses --autoscale" in ended.stderr
    assert "Traceback" not in ended.stderr
