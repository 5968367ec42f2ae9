"""An old master takes writes until it finds that its replicas are gone. Workers go on with the new one after that."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest
from redis.exceptions import RedisError

from berthmaster.redis.client import connect_state
from berthmaster.redis.settings import RedisSettings
from events.workqueue import LeasedKey, Refusal
from tests.support.pods.pods import pod
from tests.support.servers.publishing import IdleWorker, PublisherProcess, settings
from tests.support.servers.scripted_watch import PODS, ScriptedApi
from tests.support.servers.sentinel_group import MASTER, Member, SentinelGroup
from tests.support.waiting import eventually

LAG = 10
"""Seconds: `min-replicas-max-lag` of Redis where nothing else is set."""


@pytest.fixture
def two_replicas(tmp_path: Path) -> Iterator[SentinelGroup]:
    made = SentinelGroup(tmp_path / "group", writes_to=1, replicas=2)
    yield made.start()
    made.stop()


def takes_writes(member: Member) -> bool:
    with member.client() as client:
        try:
            return bool(client.set("late", 1))
        except RedisError:  # no replicas, or a replica itself by now
            return False


def frozen_replica(group: SentinelGroup) -> None:
    """One that no longer answers, and that its master counts for as long as the lag allows."""
    frozen = group.replica()
    frozen.daemon.pause()
    eventually(lambda: any("s_down" in each["flags"] for each in group.voice.ask("REPLICAS", MASTER)))


@pytest.mark.row("AL-19", "AL-20", "EV-13")
def test_workers_take_nothing_from_a_new_master_while_the_old_one_takes_writes(
    two_replicas: SentinelGroup, tmp_path: Path
) -> None:
    """Rules oldmaster, onewriter."""
    old = two_replicas.master()
    chosen, log = RedisSettings(url=two_replicas.url), tmp_path / "log"
    with ScriptedApi() as api, connect_state(chosen) as client:
        worker = IdleWorker(client)
        api.world.put(PODS, pod("a"))
        with PublisherProcess(settings(api.url, chosen.url), tmp_path / "first") as first:
            first.wait_for("lists_stamped")
        wait = timedelta(seconds=LAG + 2)
        with PublisherProcess(settings(api.url, chosen.url, wait=wait), log) as publisher:
            publisher.wait_for("lists_stamped")
            assert publisher.said("outwaiting_old_master") == []  # the one before it has
            frozen_replica(two_replicas)
            two_replicas.fail_over()
            assert takes_writes(old)
            publisher.wait_for("outwaiting_old_master")
            assert worker.run("pod/games/a") == Refusal.NOT_READY
            eventually(lambda: len(publisher.said("lists_stamped")) > 1, 30)
            assert not takes_writes(old)
            eventually(lambda: isinstance(worker.run("pod/games/a"), LeasedKey), 30)  # a slow publisher may list again
