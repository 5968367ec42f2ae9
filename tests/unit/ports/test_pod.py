"""A pod as the port decisions see it."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.kubernetes.names import PORTS, PORTS_STATE
from domain.ports.pod import Outputs, PodView
from events.protocol.schemas import pod_snapshot
from tests.support.pods.pods import pod


def view(**meta: Any) -> PodView:
    return PodView.from_snapshot(7, pod_snapshot(pod(**meta)))


def test_a_snapshot_has_all_that_a_run_needs() -> None:
    seen = view(name="b", ports="7777/UDP@arena")
    assert (seen.full_name, seen.uid, seen.version, seen.ips) == ("games/b", "uid-of-b", 7, ("10.0.0.1",))
    assert (seen.wants_ports, seen.enabled, seen.outputs) == (True, True, Outputs())


@pytest.mark.row("BD-02")
def test_a_pod_without_the_annotation_wants_nothing() -> None:
    assert not view(ports=None).wants_ports


def test_a_snapshot_of_a_pod_that_was_just_created_is_complete() -> None:
    seen = PodView.from_snapshot(1, {"namespace": "games", "name": "a", "uid": "u", "annotations": None, "ips": None})
    assert (seen.annotations, seen.ips, seen.phase, seen.gate) == ({}, (), "Pending", None)


@pytest.mark.row("BD-12")
@pytest.mark.parametrize(
    ("text", "enabled"),
    [
        *(("false", False), ("False", False), (" no ", False), ("off", False), ("0", False)),
        *(("true", True), ("", True), ("flase", True)),
    ],
)
def test_whatever_says_no_isolates(text: str, enabled: bool) -> None:
    seen = view(annotations={PORTS: "x", "berthmaster.dev/ports-enabled": text})
    assert seen.enabled is enabled


@pytest.mark.row("BD-03")
def test_annotations_of_ours_that_mean_nothing_are_listed() -> None:
    seen = view(
        annotations={
            PORTS: "x",
            "berthmaster.dev/same-ports": "true",
            "other/x": "",
            "berthmaster.dev/a": "",
        }
    )
    assert seen.unknown_annotations == ("berthmaster.dev/a", "berthmaster.dev/same-ports")


@pytest.mark.row("BD-06")
@given(st.lists(st.text(max_size=20), max_size=3))
def test_any_addresses_are_borne(ips: list[str]) -> None:
    seen = PodView("games", "a", "u", 1, ips=tuple(ips))
    assert {seen.address("ipv4"), seen.address("ipv6")} <= {None, *ips}


@pytest.mark.row("BD-06")
def test_the_first_address_of_the_family_counts() -> None:
    seen = PodView("games", "a", "u", 1, ips=("fd00::1", "10.0.0.1", "10.0.0.2", "fd00::2"))
    assert (seen.address("ipv4"), seen.address("ipv6")) == ("10.0.0.1", "fd00::1")


@pytest.mark.row("BD-11")
@pytest.mark.parametrize(
    ("gate", "shown", "wanted", "done"),
    [
        (None, "Bound", "Bound", True),
        ("True", "Bound", "Bound", True),
        ("False", "Bound", "Bound", False),
        ("", "Pending", "Pending", False),
        ("False", "Pending", "Pending", True),
        ("True", "Pending", "Pending", False),
        ("True", "Bound", "Pending", False),
    ],
)
def test_outputs_are_shown_when_the_readiness_condition_says_so_too(
    gate: str | None, shown: str, wanted: str, done: bool
) -> None:
    seen = PodView("games", "a", "u", 1, {PORTS_STATE: shown}, gate=gate)
    assert seen.shows(Outputs(wanted)) is done
