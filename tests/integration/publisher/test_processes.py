"""Two publishers as processes: what a crash and an orderly stop cost, and that neither loses anything."""

from __future__ import annotations

import signal
import time
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from compose.sandbox.redis_server import RedisServer
from tests.support.pods.pods import pod
from tests.support.servers.publishing import LEASES, IdleWorker, PublisherProcess, settings
from tests.support.servers.scripted_watch import PODS, ScriptedApi, failing_list
from tests.support.storm import Storm
from tests.support.waiting import eventually

LONG: dict[str, Any] = {"duration": timedelta(seconds=30), "renew_deadline": timedelta(seconds=25)}


def started(api: ScriptedApi, redis_url: str, logs: Path, **chosen: Any) -> PublisherProcess:
    return PublisherProcess(settings(api.url, redis_url, **chosen), logs)


@pytest.mark.row("EV-14")
def test_a_killed_publisher_is_followed_within_the_lease_and_nothing_is_lost(
    api: ScriptedApi, redis_url: str, worker: IdleWorker, tmp_path: Path
) -> None:
    with (
        started(api, redis_url, tmp_path / "one") as first,
        Storm(api) as storm,
    ):
        first.wait_for("lists_stamped")
        with started(api, redis_url, tmp_path / "two") as second:
            second.wait_for("publisher_started")
            eventually(worker.living)
            assert first.end(signal.SIGKILL) == -signal.SIGKILL
            second.wait_for("lists_stamped")
            assert worker.queue.highest_epoch() == 1
            left = storm.end()
            eventually(lambda: worker.living() == left)


def test_a_publisher_that_gets_sigterm_loses_nothing_and_its_follower_need_not_wait_for_the_lease(
    api: ScriptedApi, redis_url: str, worker: IdleWorker, tmp_path: Path
) -> None:
    with (
        started(api, redis_url, tmp_path / "one", lease=LONG) as first,
        Storm(api) as storm,
    ):
        first.wait_for("lists_stamped")
        with started(api, redis_url, tmp_path / "two", lease=LONG) as second:
            second.wait_for("publisher_started")
            eventually(worker.living)
            asked = time.monotonic()
            assert first.end() == 0
            assert (
                api.world.objects[LEASES]["default/berthmaster-publisher"]["spec"]["holderIdentity"]
                != (first.said("publisher_started")[0]["identity"])
            )
            second.wait_for("lists_stamped")
            assert time.monotonic() - asked < LONG["duration"].total_seconds()
            left = storm.end()
            eventually(lambda: worker.living() == left)


def test_everything_that_a_stopped_publisher_took_in_hand_is_in_redis(
    api: ScriptedApi, redis_url: str, worker: IdleWorker, tmp_path: Path
) -> None:
    """Nobody follows: what a batch had begun is whole, a pod and its entry in the stream together."""
    with started(api, redis_url, tmp_path / "one") as first, Storm(api) as storm:
        first.wait_for("lists_stamped")
        eventually(lambda: len(worker.told()) > 100)
        assert first.end() == 0
        storm.end()
        newest = {event["subject"]: event["data"]["version"] for event in worker.told()}
        assert {key: known.version for key, known in worker.queue.stored_versions().items()} == newest


def test_a_stop_does_not_wait_for_an_api_that_does_not_answer(
    api: ScriptedApi, redis_url: str, worker: IdleWorker, tmp_path: Path
) -> None:
    api.lists[PODS].extend([failing_list(500, "InternalError")] * 1000)
    with started(api, redis_url, tmp_path / "one") as first:
        first.wait_for("term_started")
        assert first.end() == 0
        assert worker.queue.stored_versions() == {}


def test_a_stop_does_not_wait_for_a_redis_that_does_not_answer(
    api: ScriptedApi, mortal: RedisServer, mortal_worker: IdleWorker, tmp_path: Path
) -> None:
    with started(api, mortal.url, tmp_path / "one") as first:
        first.wait_for("lists_stamped")
        mortal.kill()
        api.world.put(PODS, pod("a"))
        first.wait_for("redis_unreachable")
        assert first.end() == 0
        mortal.start()
        with started(api, mortal.url, tmp_path / "two") as second:
            second.wait_for("lists_stamped")
            assert set(mortal_worker.living()) == {"pod/games/a"}


@pytest.mark.row("EV-16")
def test_a_thread_that_dies_ends_the_process_with_an_error(api: ScriptedApi, redis_url: str, tmp_path: Path) -> None:
    """A Lease that no API server would send stands for a bug that we do not know."""
    api.world.put(LEASES, {"metadata": {"name": "berthmaster-publisher", "namespace": "default"}, "spec": "?"})
    with started(api, redis_url, tmp_path / "one") as first:
        assert first.process.wait(15) == 1
        assert first.said("thread_died")[0]["thread"] == "election"
