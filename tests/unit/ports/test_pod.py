"""A pod as the port decisions see it."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.ports.pod import PORTS, Outputs, PodView
from events.schemas import pod_snapshot
from tests.support.pods import pod


def view(**meta: Any) -> PodView:
    return PodView.from_snapshot(7, pod_snapshot(pod(**meta)))


def test_a_snapshot_has_all_that_a_run_needs() -> None:
    seen = view(name="b", ports="7777/UDP@arena")
    assert (seen.full_name, seen.uid, seen.version, seen.ip) == ("games/b", "uid-of-b", 7, "10.0.0.1")
    assert (seen.wants_ports, seen.enabled, seen.outputs) == (True, True, Outputs())


@pytest.mark.row("BD-02")
def test_a_pod_without_the_annotation_wants_nothing() -> None:
    assert not view(ports=None).wants_ports


def test_a_snapshot_of_a_pod_that_was_just_created_is_complete() -> None:
    seen = PodView.from_snapshot(1, {"namespace": "games", "name": "a", "uid": "u", "annotations": None, "ips": None})
    assert (seen.annotations, seen.ips, seen.phase, seen.ip) == ({}, (), "Pending", "")


@pytest.mark.row("BD-12")
@pytest.mark.parametrize(("text", "enabled"), [("false", False), ("False", False), ("true", True), ("", True)])
def test_only_false_isolates(text: str, enabled: bool) -> None:
    seen = view(annotations={PORTS: "x", "berthmaster.dev/ports-enabled": text})
    assert seen.enabled is enabled


@pytest.mark.row("BD-03")
def test_annotations_of_ours_that_mean_nothing_are_listed() -> None:
    seen = view(
        annotations={PORTS: "x", "berthmaster.dev/ports-retain": "true", "other/x": "", "berthmaster.dev/a": ""}
    )
    assert seen.unknown_annotations == ("berthmaster.dev/a", "berthmaster.dev/ports-retain")


@pytest.mark.row("BD-06")
@given(st.lists(st.text(max_size=20), max_size=3))
def test_any_addresses_are_borne(ips: list[str]) -> None:
    assert PodView("games", "a", "u", 1, ips=tuple(ips)).ip in {"", *ips}
