"""Redis follows the cluster: from a scripted API server to a real Redis."""

from __future__ import annotations

from datetime import timedelta

import pytest

from events.workqueue import LeasedKey, Refusal
from tests.support.pods.pods import failed_event, pod, port_pool
from tests.support.servers.publishing import IdleWorker, publishing
from tests.support.servers.scripted_watch import PODS, POOLS, ScriptedApi, expired, silent, version_of
from tests.support.waiting import eventually

EVENTS = "/api/v1/events"
A = "pod/games/a"


def test_what_is_there_at_the_start_is_stored_marked_and_hinted(
    api: ScriptedApi, redis_url: str, worker: IdleWorker
) -> None:
    api.kinds.add(POOLS)
    stored = api.world.put(PODS, pod("a", uid="u1"))
    api.world.put(POOLS, port_pool("arena"))
    with publishing(api.url, redis_url):
        snapshot = worker.snapshot(A)
        assert snapshot
        assert (snapshot.version, snapshot.uid, snapshot.body["ips"]) == (version_of(stored), "u1", ["10.0.0.1"])
        assert worker.ready() == [A, "portpool/arena"]
        assert worker.hints() == 2
        assert isinstance(worker.run(A), LeasedKey)


def test_a_change_is_stored_marked_hinted_and_told(api: ScriptedApi, redis_url: str, worker: IdleWorker) -> None:
    with publishing(api.url, redis_url):
        api.world.put(PODS, pod("a", uid="u1"))
        eventually(lambda: worker.snapshot(A))
        api.world.delete(PODS, "games/a")
        eventually(lambda: (seen := worker.snapshot(A)) and seen.gone)
        assert (worker.ready(), worker.hints()) == ([A], 1)
        types = ["dev.berthmaster.pod.changed", "dev.berthmaster.pod.deleted"]
        assert [(e["type"], e["subject"]) for e in worker.told()] == [(t, A) for t in types]


@pytest.mark.row("BD-02")
def test_a_pod_that_did_not_opt_in_leaves_no_trace(api: ScriptedApi, redis_url: str, worker: IdleWorker) -> None:
    api.world.put(PODS, pod("plain", ports=None))
    with publishing(api.url, redis_url) as running:
        api.world.put(PODS, pod("plain", ports=None, labels={"x": "y"}))
        api.world.put(PODS, pod("plain2", ports=None))
        api.world.put(PODS, pod("a"))
        eventually(lambda: worker.snapshot(A))
        assert set(worker.queue.stored_versions()) == {A}
        assert [event["subject"] for event in worker.told()] == [A]
        assert running.metric("events_dropped_total", resource="pods", reason="not_opted_in") == 2


@pytest.mark.row("EV-04")
def test_the_removal_of_the_annotation_is_seen(api: ScriptedApi, redis_url: str, worker: IdleWorker) -> None:
    api.world.put(PODS, pod("a"))
    with publishing(api.url, redis_url):
        worker.run(A)
        api.world.put(PODS, pod("a", ports=None))
        eventually(lambda: (seen := worker.snapshot(A)) and seen.body["annotations"] == {} and not seen.gone)
        assert isinstance(worker.run(A), LeasedKey)


@pytest.mark.row("EV-04")
def test_the_removal_of_the_annotation_while_nobody_looked_is_seen(
    api: ScriptedApi, redis_url: str, worker: IdleWorker
) -> None:
    api.world.put(PODS, pod("a"))
    with publishing(api.url, redis_url):
        worker.run(A)
    api.world.put(PODS, pod("a", ports=None))
    with publishing(api.url, redis_url):
        assert (seen := worker.snapshot(A))
        assert seen.body["annotations"] == {}


@pytest.mark.row("FZ-05")
def test_a_pod_that_went_while_nobody_looked_is_gone_after_the_first_list(
    api: ScriptedApi, redis_url: str, worker: IdleWorker
) -> None:
    api.world.put(PODS, pod("a", uid="u1"))
    with publishing(api.url, redis_url):
        worker.run(A)
    api.world.delete(PODS, "games/a")
    with publishing(api.url, redis_url):
        taken = worker.run(A)
        assert isinstance(taken, LeasedKey)
        assert taken.snapshot
        assert (taken.snapshot.gone, taken.snapshot.uid) == (True, "u1")
        assert worker.snapshot(A) is None


@pytest.mark.row("FZ-08", "EV-01")
def test_a_force_deletion_that_the_stream_left_out_is_found_after_a_410(
    api: ScriptedApi, redis_url: str, worker: IdleWorker
) -> None:
    for name in "abcde":
        api.world.put(PODS, pod(name))
    api.watches[PODS].extend([silent, expired])
    with publishing(api.url, redis_url, watch={"inactivity_timeout": timedelta(milliseconds=500)}) as running:
        for name in "abcde":
            api.world.delete(PODS, f"games/{name}", hidden=True)
        eventually(lambda: not worker.living())
        assert running.terms == 1  # no new claim for it
        assert running.metric("relists_total", resource="pods", reason="expired") == 1
        assert all(known.gone for known in worker.queue.stored_versions().values())


@pytest.mark.row("EV-01", "FZ-08")
def test_a_pod_deleted_and_created_again_in_one_batch_is_the_new_one(
    api: ScriptedApi, redis_url: str, worker: IdleWorker
) -> None:
    api.world.put(PODS, pod("a", uid="u1"))
    with publishing(api.url, redis_url):
        with api.world.changed:  # deletion and creation reach the publisher in one batch
            api.world.delete(PODS, "games/a")
            new = api.world.put(PODS, pod("a", uid="u2"))
        eventually(lambda: worker.living() == {A: version_of(new)})
        assert (seen := worker.snapshot(A))
        assert seen.uid == "u2"


@pytest.mark.row("EV-03")
def test_a_lost_event_is_repaired_by_the_resync(api: ScriptedApi, redis_url: str, worker: IdleWorker) -> None:
    api.world.put(PODS, pod("a"))
    with publishing(api.url, redis_url, watch={"resync_every": timedelta(milliseconds=500)}) as running:
        api.world.put(PODS, pod("b"), hidden=True)
        api.world.delete(PODS, "games/a", hidden=True)
        eventually(lambda: set(worker.living()) == {"pod/games/b"})
        assert running.terms == 1


@pytest.mark.row("EV-01")
def test_a_storm_of_410s_loses_and_doubles_nothing(api: ScriptedApi, redis_url: str, worker: IdleWorker) -> None:
    api.watches[PODS].extend([expired] * 5)
    with publishing(api.url, redis_url) as running:
        put = [api.world.put(PODS, pod(f"p{number}")) for number in range(20)]
        eventually(lambda: len(worker.living()) == 20)
        assert sorted(e["data"]["version"] for e in worker.told()) == [version_of(obj) for obj in put]
        assert running.terms == 1


@pytest.mark.row("EV-06")
def test_a_thousand_events_of_one_pod_are_one_hint(api: ScriptedApi, redis_url: str, worker: IdleWorker) -> None:
    with publishing(api.url, redis_url) as running:
        for number in range(1000):
            last = api.world.put(PODS, pod("a", labels={"n": str(number)}))
        eventually(lambda: worker.living() == {A: version_of(last)})
        assert (worker.ready(), worker.hints()) == ([A], 1)
        received = running.metric("events_received_total", resource="pods")
        coalesced = running.metric("events_coalesced_total", resource="pods")
        assert received == 1000
        eventually(lambda: running.metric("events_published_total", resource="pods") == received - coalesced)


@pytest.mark.row("SU-15")
def test_a_kind_that_is_installed_later_is_followed_from_then_on(
    api: ScriptedApi, redis_url: str, worker: IdleWorker
) -> None:
    with publishing(api.url, redis_url) as running:
        api.world.put(POOLS, port_pool("arena"))
        api.kinds.add(POOLS)
        eventually(lambda: worker.snapshot("portpool/arena"))
        api.world.delete(POOLS, "arena")
        eventually(lambda: (seen := worker.snapshot("portpool/arena")) and seen.gone)
        assert running.terms == 1


def test_a_kind_that_the_server_lacks_at_a_restart_takes_nothing_away(
    api: ScriptedApi, redis_url: str, worker: IdleWorker
) -> None:
    api.kinds.add(POOLS)
    api.world.put(POOLS, port_pool("arena"))
    with publishing(api.url, redis_url):
        pass
    api.kinds.remove(POOLS)
    with publishing(api.url, redis_url):
        assert set(worker.living()) == {"portpool/arena"}


def test_the_label_selector_and_namespace_go_with_lists_and_watches(
    api: ScriptedApi, redis_url: str, worker: IdleWorker
) -> None:
    path = "/api/v1/namespaces/games/pods"
    api.kinds |= {path, "/api/v1/namespaces/games/events"}
    with publishing(api.url, redis_url, namespace="games", pod_selector="tier=edge"):
        api.world.put(path, pod("a"))
        eventually(lambda: worker.snapshot(A))
        asked = [query.get("labelSelector") for _, p, query in api.requests if p == path]
        assert asked[:2] == ["tier=edge", "tier=edge"]


def test_the_stream_is_capped(api: ScriptedApi, redis_url: str, worker: IdleWorker) -> None:
    with publishing(api.url, redis_url, stream={"length": 100}):
        for number in range(1000):
            api.world.put(PODS, pod(f"p{number}"))
        eventually(lambda: len(worker.living()) == 1000)
        assert 100 <= len(worker.told()) <= 300  # Redis drops whole nodes of a stream


class TestAllocationFailures:
    def test_an_event_of_another_controller_marks_its_pod_and_is_told(
        self, api: ScriptedApi, redis_url: str, worker: IdleWorker
    ) -> None:
        api.world.put(PODS, pod("a"))
        with publishing(api.url, redis_url):
            worker.run(A)
            assert worker.run(A) is Refusal.CLEAN
            api.world.put(EVENTS, failed_event("a"))
            eventually(lambda: worker.told()[-1]["type"] == "dev.berthmaster.allocation.failed")
            assert worker.told()[-1]["data"]["key"] == A
            assert isinstance(worker.run(A), LeasedKey)

    @pytest.mark.row("EV-12")
    def test_an_event_of_our_own_marks_nothing(self, api: ScriptedApi, redis_url: str, worker: IdleWorker) -> None:
        api.world.put(PODS, pod("a"))
        with publishing(api.url, redis_url):
            worker.run(A)
            api.world.put(EVENTS, failed_event("a", component="berthmaster"))
            api.world.put(EVENTS, failed_event("other", name="e2"))
            eventually(lambda: worker.told()[-1]["subject"] == "pod/games/other")
            assert worker.run(A) is Refusal.CLEAN

    def test_an_event_about_a_pod_that_did_not_opt_in_marks_nothing(
        self, api: ScriptedApi, redis_url: str, worker: IdleWorker
    ) -> None:
        api.world.put(PODS, pod("plain", ports=None))
        with publishing(api.url, redis_url):
            api.world.put(EVENTS, failed_event("plain"))
            eventually(worker.told)
            assert worker.ready() == []

    def test_events_are_not_repeated_by_the_next_publisher_and_those_of_the_gap_are_told(
        self, api: ScriptedApi, redis_url: str, worker: IdleWorker
    ) -> None:
        api.world.put(EVENTS, failed_event("x", name="e1"))
        with publishing(api.url, redis_url):
            eventually(lambda: len(worker.told()) == 1)
        api.world.put(EVENTS, failed_event("x", name="e2"))
        with publishing(api.url, redis_url):
            eventually(lambda: [e["id"].partition(":")[0] for e in worker.told()] == ["uid-of-e1", "uid-of-e2"])

    def test_an_event_that_expires_is_no_failure(self, api: ScriptedApi, redis_url: str, worker: IdleWorker) -> None:
        api.world.put(EVENTS, failed_event("x", name="e1"))
        with publishing(api.url, redis_url):
            eventually(lambda: len(worker.told()) == 1)
            api.world.delete(EVENTS, "games/e1")
            api.world.put(EVENTS, failed_event("y", name="e2"))
            eventually(lambda: worker.told()[-1]["subject"] == "pod/games/y")
            assert len(worker.told()) == 2

    def test_an_event_about_something_else_than_a_pod_is_told(
        self, api: ScriptedApi, redis_url: str, worker: IdleWorker
    ) -> None:
        with publishing(api.url, redis_url):
            api.world.put(EVENTS, failed_event("g", kind="GameServer"))
            eventually(lambda: [e["subject"] for e in worker.told()] == ["gameserver/games/g"])
