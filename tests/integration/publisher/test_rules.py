"""The publisher's rules, each with the trace that breaks something without it, forced on the real code.

The rules and their traces come from an exhaustively explored model; its names stand in the class names.
"""

from __future__ import annotations

import shutil
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from redis import Redis

from compose.sandbox.redis_server import RedisServer
from events.workqueue import LeasedKey, Refusal
from tests.support.pods.pods import pod
from tests.support.servers.publishing import LEASES, IdleWorker, publishing
from tests.support.servers.scripted_watch import (
    PODS,
    POOLS,
    Json,
    ScriptedApi,
    World,
    failing_list,
    honest_list,
    replaying,
    version_of,
)
from tests.support.waiting import eventually

A, B = "pod/games/a", "pod/games/b"
LEASE = "berthmaster-publisher"
UNAWARE: dict[str, Any] = {
    "retry_every": timedelta(seconds=60),
    "renew_deadline": timedelta(seconds=90),
    "duration": timedelta(seconds=120),
}
"""A holder that looks at its Lease once a minute: what a long pause does to one."""
DEAF: dict[str, Any] = {"probe_every": timedelta(minutes=1)}


def holder(api: ScriptedApi) -> Json:
    return dict(api.world.objects[LEASES][f"default/{LEASE}"]["spec"])


class TestFence:
    def test_a_publisher_that_was_replaced_marks_nothing_and_does_not_claim_again(
        self, api: ScriptedApi, redis_url: str, worker: IdleWorker
    ) -> None:
        with publishing(api.url, redis_url, lease=UNAWARE) as old:
            api.world.put(PODS, pod("a"))
            eventually(lambda: worker.snapshot(A))
            expire_lease(api)
            with publishing(api.url, redis_url) as new:
                lagging = old.process.publisher.term
                eventually(lambda: not lagging or lagging.over.is_set())  # its probe, or its first mark
                api.world.put(PODS, pod("b"))
                eventually(lambda: worker.snapshot(B))
                assert old.terms == 1
                assert (new.stamped, old.stamped) == (True, False)

    def test_the_first_mark_of_a_replaced_publisher_is_refused(
        self, api: ScriptedApi, redis_url: str, worker: IdleWorker
    ) -> None:
        """Rule epoch."""
        with publishing(api.url, redis_url, lease=UNAWARE, **DEAF) as old:
            assert worker.queue.assume_epoch(f"{old.process.lease.number + 1}:heir")  # and the heir has not marked yet
            api.world.put(PODS, pod("a"))
            eventually(
                lambda: old.metric("epochs_total", reason="state_lost") or old.process.publisher.reason != "start"
            )
            assert worker.snapshot(A) is None

    def test_a_lost_lease_ends_the_publishing_at_once(
        self, api: ScriptedApi, redis_url: str, worker: IdleWorker
    ) -> None:
        with publishing(api.url, redis_url) as running:
            steal_lease(api, "somebody-else")
            eventually(lambda: not running.stamped)
            api.world.put(PODS, pod("a"))
            eventually(lambda: running.process.publisher.term is None)
            assert worker.snapshot(A) is None
            assert running.probe("/readyz") == (200, "standing by\n")


class TestEpoch:
    def test_after_the_lease_was_deleted_by_hand_an_equal_number_of_another_holder_takes_over(
        self, api: ScriptedApi, redis_url: str, worker: IdleWorker
    ) -> None:
        """Rule epoch."""
        with publishing(api.url, redis_url, lease=UNAWARE, **DEAF) as old:
            api.world.delete(LEASES, f"default/{LEASE}")
            with publishing(api.url, redis_url) as new:
                assert old.process.lease.number == new.process.lease.number
                assert old.process.lease.held  # as far as it knows
                api.world.put(PODS, pod("a"))
                eventually(lambda: worker.snapshot(A))
                eventually(lambda: old.process.publisher.term is None)
                assert new.terms == 1

    def test_a_lease_deleted_by_hand_that_begins_below_what_redis_knows_is_raised_above_it(
        self, api: ScriptedApi, redis_url: str, worker: IdleWorker
    ) -> None:
        assert worker.queue.assume_epoch("41:long-ago")
        with publishing(api.url, redis_url) as running:
            assert running.process.lease.number == 42
            assert holder(api)["leaseTransitions"] == 42
            api.world.put(PODS, pod("a"))
            eventually(lambda: worker.snapshot(A))


class TestDiffAgainstRedis:
    def test_what_redis_forgot_while_the_stream_was_quiet_comes_back(
        self, api: ScriptedApi, redis_url: str, redis: Redis, worker: IdleWorker
    ) -> None:
        """Rule probe."""
        stored = api.world.put(PODS, pod("a"))
        with publishing(api.url, redis_url) as running:
            redis.flushall()
            assert worker.run(A) is Refusal.NOT_READY
            eventually(lambda: running.terms == 2 and running.stamped)
            assert worker.living() == {A: version_of(stored)}
            assert isinstance(worker.run(A), LeasedKey)

    def test_a_deletion_that_redis_forgot_again_is_found_by_the_next_list(
        self, api: ScriptedApi, mortal: RedisServer, mortal_worker: IdleWorker, tmp_path: Path
    ) -> None:
        """Rule againstredis.

        The old copy of Redis has the pod alive; the publisher's own memory says that it is gone and dealt with.
        """
        api.world.put(PODS, pod("a", uid="u1"))
        with publishing(api.url, mortal.url, **DEAF):
            pass
        mortal.stop()
        shutil.copytree(mortal.directory, tmp_path / "copy")
        mortal.start()
        with publishing(api.url, mortal.url) as running:
            api.world.delete(PODS, "games/a")
            eventually(lambda: not mortal_worker.living())
            mortal_worker.run(A)
            mortal.kill()
            shutil.rmtree(mortal.directory)
            shutil.copytree(tmp_path / "copy", mortal.directory)
            mortal.start()
            eventually(lambda: running.terms >= 2 and running.stamped)
            taken = mortal_worker.run(A)
            assert isinstance(taken, LeasedKey)
            assert taken.snapshot
            assert (taken.snapshot.gone, taken.snapshot.uid) == (True, "u1")


class TestWatermark:
    @pytest.mark.row("EV-01")
    def test_an_event_replayed_after_its_tombstone_was_removed_does_not_bring_the_pod_back(
        self, api: ScriptedApi, redis_url: str, worker: IdleWorker
    ) -> None:
        """Rule watermark."""
        with publishing(api.url, redis_url):
            api.world.put(PODS, pod("a"))
            api.world.delete(PODS, "games/a")
            eventually(lambda: (seen := worker.snapshot(A)) and seen.gone)
            api.watches[PODS].append(replaying(0))
            assert isinstance(worker.run(A), LeasedKey)
            assert worker.snapshot(A) is None
            api.cut()
            eventually(lambda: not api.watches[PODS])
            api.world.put(PODS, pod("b"))
            eventually(lambda: worker.snapshot(B))
            assert worker.snapshot(A) is None


class TestStamp:
    @pytest.mark.row("EV-10")
    def test_redis_that_restarts_between_list_and_stamp_is_not_stamped(
        self, api: ScriptedApi, mortal: RedisServer, mortal_worker: IdleWorker
    ) -> None:
        """Rule stamp: marks of the first list may be missing after the restart: the second claim lists again."""
        api.kinds.add(POOLS)
        api.world.put(PODS, pod("a"))
        taken: list[object] = []

        def restart(world: World, path: str) -> tuple[int, Json]:
            mortal.stop()
            mortal.start()
            taken.append(mortal_worker.run(A))
            return honest_list(world, path)

        def look(world: World, path: str) -> tuple[int, Json]:
            taken.append(mortal_worker.run(A))
            return honest_list(world, path)

        api.lists[POOLS].extend([restart, look])
        with publishing(api.url, mortal.url) as running:
            assert running.terms == 2
            eventually(lambda: running.metric("epochs_total", reason="stamp_refused") == 1)
            assert taken == [Refusal.NOT_READY, Refusal.NOT_READY]
            assert isinstance(mortal_worker.run(A), LeasedKey)

    def test_workers_take_nothing_before_all_first_lists_are_in(
        self, api: ScriptedApi, redis_url: str, worker: IdleWorker
    ) -> None:
        """Rules samestamp, freshread."""
        api.world.put(PODS, pod("a"))
        api.kinds.add(POOLS)
        api.lists[POOLS].extend([failing_list(503, "ServiceUnavailable")] * 8)
        with publishing(api.url, redis_url, stamped=False) as running:
            eventually(lambda: worker.snapshot(A))
            assert worker.run(A) is Refusal.NOT_READY
            assert running.probe("/readyz") == (503, "the first lists are not in\n")
            eventually(lambda: running.stamped)
            assert isinstance(worker.run(A), LeasedKey)

    @pytest.mark.row("EV-10")
    def test_lost_state_is_noticed_by_the_next_mark_without_a_probe(
        self, api: ScriptedApi, redis_url: str, redis: Redis, worker: IdleWorker
    ) -> None:
        api.world.put(PODS, pod("a"))
        with publishing(api.url, redis_url, **DEAF) as running:
            redis.flushall()
            api.world.put(PODS, pod("b"))
            eventually(lambda: running.terms == 2 and running.stamped)
            assert set(worker.living()) == {A, B}

    @pytest.mark.row("EV-10")
    def test_a_redis_process_that_is_another_is_noticed_by_the_next_mark_even_if_it_kept_the_claim(
        self, api: ScriptedApi, mortal: RedisServer, mortal_worker: IdleWorker
    ) -> None:
        """Rule probe: an old copy may hold the epoch of now and lack marks: only the stamp tells."""
        with publishing(api.url, mortal.url, **DEAF) as running:
            mortal.stop()  # writes everything
            mortal.start()
            assert mortal_worker.queue.highest_epoch() == 0
            assert running.terms == 1
            api.world.put(PODS, pod("a"))
            eventually(lambda: running.terms == 2 and running.stamped)
            eventually(lambda: running.metric("epochs_total", reason="state_lost") == 1)


class TestRedisDown:
    @pytest.mark.row("EV-11")
    def test_what_happens_while_redis_is_down_is_there_when_it_is_back(
        self, api: ScriptedApi, mortal: RedisServer, mortal_worker: IdleWorker
    ) -> None:
        api.world.put(PODS, pod("a"))
        with publishing(api.url, mortal.url) as running:
            mortal.kill()
            api.world.put(PODS, pod("b"))
            api.world.delete(PODS, "games/a")
            eventually(lambda: running.metric("redis_retries_total", resource="pods"))
            assert running.probe("/livez")[0] == 200
            mortal.start()
            eventually(lambda: running.terms >= 2 and running.stamped, timeout=20)
            assert set(mortal_worker.living()) == {B}

    @pytest.mark.row("EV-11")
    def test_a_redis_that_only_did_not_answer_is_not_listed_for_again(
        self, api: ScriptedApi, redis_url: str, redis: Redis, worker: IdleWorker
    ) -> None:
        with publishing(api.url, redis_url) as running:
            redis.client_kill_filter(_type="normal", skipme=True)
            api.world.put(PODS, pod("a"))
            eventually(lambda: worker.snapshot(A))
            assert running.terms == 1

    @pytest.mark.row("EV-11")
    def test_a_publisher_that_starts_before_redis_waits_for_it(
        self, api: ScriptedApi, mortal: RedisServer, mortal_worker: IdleWorker
    ) -> None:
        mortal.stop()
        api.world.put(PODS, pod("a"))
        with publishing(api.url, mortal.url, stamped=False) as running:
            eventually(lambda: running.metric("epochs_total", reason="redis_unreachable"))
            mortal.start()
            eventually(lambda: running.stamped, timeout=20)
            assert set(mortal_worker.living()) == {A}


def expire_lease(api: ScriptedApi) -> None:
    """As if its holder had given it back."""
    steal_lease(api, "")


def steal_lease(api: ScriptedApi, identity: str) -> None:
    lease = api.world.objects[LEASES][f"default/{LEASE}"]
    number = lease["spec"]["leaseTransitions"] + 1
    api.world.put(LEASES, {**lease, "spec": {**lease["spec"], "holderIdentity": identity, "leaseTransitions": number}})
