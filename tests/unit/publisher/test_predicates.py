"""What concerns us at all."""

from __future__ import annotations

import pytest

from domain.kubernetes.objects import KubeObject
from events.publisher.predicates import of_others, opted_in
from tests.support.pods.pods import failed_event, pod


@pytest.mark.row("BD-02")
@pytest.mark.parametrize("ports, concerns", [("7777/UDP@arena", True), ("", True), ("nonsense", True), (None, False)])
def test_the_annotation_opts_in_whatever_it_says(ports: str | None, concerns: bool) -> None:
    assert opted_in(KubeObject(pod(ports=ports))) is concerns


def test_a_pod_without_metadata_did_not_opt_in() -> None:
    assert not opted_in(KubeObject({}))


@pytest.mark.row("EV-12")
def test_our_own_kubernetes_events_do_not_wake_the_runs_that_wrote_them() -> None:
    assert not of_others(failed_event("a", component="berthmaster"))
    assert not of_others({**failed_event("a"), "reportingComponent": "berthmaster-worker"})
    assert of_others(failed_event("a", component="scheduler"))
