"""Probes that are true, and metrics."""

from __future__ import annotations

from datetime import timedelta

import pytest

from tests.support.pods.pods import pod
from tests.support.servers.publishing import IdleWorker, publishing
from tests.support.servers.scripted_watch import PODS, ScriptedApi, failing_list, silent
from tests.support.waiting import eventually

SHORT_LIVED = {"dead_after": timedelta(milliseconds=700), "inactivity_timeout": timedelta(milliseconds=350)}


@pytest.mark.row("EV-16")
def test_a_publisher_is_not_ready_before_its_first_list_is_in(api: ScriptedApi, redis_url: str) -> None:
    api.lists[PODS].extend([failing_list(403, "Forbidden")] * 6)
    with publishing(api.url, redis_url, stamped=False) as running:
        eventually(lambda: running.process.lease.held)
        assert running.probe("/readyz") == (503, "the first lists are not in\n")
        assert running.probe("/livez")[0] == 200
        eventually(lambda: running.stamped)
        assert running.probe("/readyz") == (200, "publishing\n")


@pytest.mark.row("EV-16")
def test_a_publisher_whose_stream_is_dead_is_not_live(api: ScriptedApi, redis_url: str) -> None:
    api.watches[PODS].extend([silent] * 50)
    with publishing(api.url, redis_url, watch=SHORT_LIVED) as running:
        assert running.probe("/livez") == (200, "ok\n")
        api.lists[PODS].extend([failing_list(500, "InternalError")] * 1000)
        eventually(lambda: running.probe("/livez")[0] == 503)
        assert "pods" in running.probe("/livez")[1]


@pytest.mark.row("EV-16")
def test_a_publisher_that_cannot_list_is_not_live_for_long(api: ScriptedApi, redis_url: str) -> None:
    api.lists[PODS].extend([failing_list(500, "InternalError")] * 100)
    with publishing(api.url, redis_url, stamped=False, watch=SHORT_LIVED) as running:
        eventually(lambda: running.probe("/livez")[0] == 503)


@pytest.mark.row("EV-16")
def test_a_quiet_cluster_does_not_make_a_publisher_look_dead(api: ScriptedApi, redis_url: str) -> None:
    quiet = {"inactivity_timeout": timedelta(milliseconds=200), "dead_after": timedelta(milliseconds=900)}
    with publishing(api.url, redis_url, watch=quiet) as running:
        eventually(lambda: running.metric("relists_total", resource="pods", reason="stalled") >= 3)
        assert running.probe("/livez") == (200, "ok\n")


@pytest.mark.row("EV-16")
def test_a_standby_is_ready_once_it_sees_the_lease(api: ScriptedApi, redis_url: str) -> None:
    with publishing(api.url, redis_url), publishing(api.url, redis_url, stamped=False) as standby:
        eventually(lambda: standby.probe("/readyz") == (200, "standing by\n"))
    with publishing("http://127.0.0.1:1", redis_url, stamped=False) as blind:
        assert blind.probe("/readyz") == (503, "the Lease cannot be reached\n")


def test_the_metrics_tell_of_events_lists_streams_and_the_lease(
    api: ScriptedApi, redis_url: str, worker: IdleWorker
) -> None:
    with publishing(api.url, redis_url) as running:
        api.world.put(PODS, pod("a"))
        eventually(lambda: worker.snapshot("pod/games/a"))
        status, text = running.probe("/metrics")
        assert status == 200
        for line in (
            'berthmaster_publisher_events_received_total{resource="pods"} 1.0',
            'berthmaster_publisher_events_published_total{resource="pods"} 1.0',
            'berthmaster_publisher_relists_total{reason="start",resource="pods"} 1.0',
            "berthmaster_publisher_lease_held 1.0",
            "berthmaster_publisher_stamped 1.0",
            'berthmaster_publisher_publish_seconds_count{resource="pods"} 1.0',
        ):
            assert line in text
        assert 'berthmaster_publisher_stream_age_seconds{resource="pods"}' in text


def test_other_paths_are_not_found(api: ScriptedApi, redis_url: str) -> None:
    with publishing(api.url, redis_url, stamped=False) as running:
        assert running.probe("/")[0] == 404
