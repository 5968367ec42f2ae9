"""The reader of docs/events.md, as a service would run it, on a whole fleet."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from redis import Redis

from berthmaster.client import Fleet, Request
from berthmaster.kinds import POD_CLAIM, POD_POOL
from berthmaster.redis.incarnation import connect
from compose.sandbox.jobs import NAMESPACE as CI
from compose.sandbox.kube.apply import apply
from compose.sandbox.workload import NAMESPACE as GAMES
from tests.support.servers.whole import PATIENCE, Whole, whole
from tests.support.waiting import eventually

PAGE = (Path(__file__).parents[2] / "docs" / "events.md").read_text(encoding="utf-8")
(READER,) = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
(WHOLE_STREAM,) = re.findall(r"^A Redis user that only reads events .*$", PAGE, re.MULTILINE)
RIGHTS = re.findall(r"`([+%][^`]*)`", WHOLE_STREAM)
API = POD_CLAIM.api_version


@pytest.fixture
def fleet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Whole]:
    with whole(tmp_path, "sandbox", 1, monkeypatch) as system:
        yield system


@pytest.fixture
def lines(fleet: Whole, tmp_path: Path) -> Iterator[Path]:
    """What the reader prints, which is a Redis user with the rights that the page names."""
    printed, url = tmp_path / "reader.log", fleet.stack.redis.url
    with connect(url) as redis:
        redis.execute_command("ACL", "SETUSER", "reader", "on", ">secret", *RIGHTS)
    environment = {**os.environ, "BERTHMASTER_REDIS__URL": re.sub("//.*@", "//reader:secret@", url)}
    with printed.open("wb") as output:
        reader = subprocess.Popen([sys.executable, "-c", READER], env=environment, stdout=output, stderr=output)
        yield printed
        reader.kill()
        reader.wait(10)


def three_that_wait(fleet: Whole) -> set[str]:
    """Create a pod without a port, a claim without a pod, and a job without a slot."""
    (pod,) = fleet.add_pods(1)  # the port pool has no load balancer yet
    claim = {"apiVersion": API, "kind": "PodClaim", "metadata": {"name": "mine"}, "spec": {"poolName": "none"}}
    fleet.api.create(POD_CLAIM.collection(GAMES), claim)
    template = {"spec": {"containers": [{"name": "runner", "image": "runner:1"}]}}
    spec = {"template": template, "slots": [{"accepts": ["plan"]}], "maxReplicas": 1}
    apply(fleet.api, [{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": CI}}])
    pool = {"apiVersion": API, "kind": "PodPool", "metadata": {"name": "runners"}, "spec": spec}
    fleet.api.create(POD_POOL.collection(CI), pool)
    with Fleet(fleet.stack.redis.url) as jobs:
        jobs.submit(Request("deploy-42", f"{CI}/runners", "deploy", phases=["apply"]))  # no slot accepts it
    return {
        f"pod/{GAMES}/{pod} NoFreePort pool arena has no free port for 1 wanted",
        f"podclaim/{GAMES}/mine NoPool there is no pool none in the namespace",
        f"job/{CI}/runners/deploy-42 NoFreeSlot pool {CI}/runners has no free slot for apply",
    }


@pytest.mark.row("EV-31")
def test_the_reader_of_the_page_is_told_of_each_kind_of_allocation_failure(fleet: Whole, lines: Path) -> None:
    expected = three_that_wait(fleet)
    eventually(lambda: set(lines.read_text().splitlines()) >= expected, timeout=PATIENCE)
    fleet.await_bound(1)
    assert sorted(lines.read_text().splitlines()) == sorted(expected)  # also after the tries that followed


@pytest.mark.row("EV-31")
def test_the_reader_is_as_short_as_the_page_says() -> None:
    assert len(READER.splitlines()) <= 20


@pytest.mark.row("EV-31")
def test_the_reader_outlives_a_quiet_stream(redis_url: str) -> None:
    """A client's time-out and the time of a blocked read race if they are alike, and one loss ends the reader."""
    environment = {**os.environ, "BERTHMASTER_REDIS__URL": redis_url}
    with connect(redis_url) as redis:
        redis.config_resetstat()
        reader = subprocess.Popen([sys.executable, "-c", READER], env=environment)
        try:
            eventually(lambda: reads(redis) >= 4 or reader.poll() is not None, timeout=PATIENCE, every=0.2)
            assert reader.poll() is None
        finally:
            reader.kill()
            reader.wait(10)


def reads(redis: Redis) -> int:
    """How many reads of a stream have ended."""
    stats: Any = redis.info("commandstats")
    return int(stats.get("cmdstat_xread", {}).get("calls", 0))
