"""What is kept of an object, and the contract of the stream's entries."""

from __future__ import annotations

import orjson
import pytest

from berthmaster.events import (
    ALLOCATION_FAILED,
    AllocationFailed,
    Changed,
    CloudEvent,
    ObjectSnapshot,
    PodSnapshot,
    event_types,
)
from berthmaster.kinds import PORT_POOL
from domain.kubernetes.names import PORTS_BOUND, PREFIX, REQUESTED
from events.protocol.schemas import cloud_event, pod_snapshot, spec_snapshot
from events.publisher.resources import pods, resource_of
from events.publisher.sender import entry
from tests.support.pods.pods import PORTS, pod, port_pool


def test_a_pod_snapshot_keeps_only_what_somebody_reads() -> None:
    assert pod_snapshot(pod("a", uid="u1")) == {
        "namespace": "games",
        "name": "a",
        "uid": "u1",
        "annotations": {PORTS: "7777/UDP@arena"},
        "ips": ["10.0.0.1"],
        "phase": "Running",
        "deleting": False,
        "gate": None,
        "ready": False,
    }


@pytest.mark.parametrize(
    "obj", [{}, {"metadata": {}}, {"metadata": {"annotations": None}, "status": None}, {"status": {"podIPs": [{}]}}]
)
def test_a_pod_snapshot_is_total(obj: dict[str, object]) -> None:
    assert pod_snapshot(obj)["ips"] == []


def test_a_pod_that_is_being_deleted_and_one_that_is_ready_say_so() -> None:
    ending = pod("a", deletionTimestamp="2026-01-01T00:00:00Z")
    ending["status"]["conditions"] = [{"type": "Ready", "status": "True"}]
    assert (pod_snapshot(ending)["deleting"], pod_snapshot(ending)["ready"]) == (True, True)


@pytest.mark.row("BD-11")
@pytest.mark.parametrize(
    ("gates", "conditions", "kept"),
    [
        (["other"], [{"type": PORTS_BOUND, "status": "True"}], None),
        ([PORTS_BOUND], [], ""),
        ([PORTS_BOUND], [{"type": PORTS_BOUND}], ""),
        (
            ["other", PORTS_BOUND],
            [{"type": "Ready", "status": "True"}, {"type": PORTS_BOUND, "status": "False"}],
            "False",
        ),
    ],
)
def test_our_readiness_condition_is_kept_for_pods_with_our_gate(
    gates: list[str], conditions: list[dict[str, str]], kept: str | None
) -> None:
    gated = pod("a")
    gated["spec"] = {"readinessGates": [{"conditionType": gate} for gate in gates]}
    gated["status"]["conditions"] = conditions
    assert pod_snapshot(gated)["gate"] == kept


def test_an_address_that_only_the_old_field_has_is_kept() -> None:
    old = pod("a")
    del old["status"]["podIPs"]
    assert pod_snapshot(old)["ips"] == ["10.0.0.1"]


def test_a_pool_snapshot_does_not_change_with_its_status() -> None:
    pool = {**port_pool(), "status": {"state": "Active"}}
    assert resource_of(PORT_POOL).snapshot(pool) == resource_of(PORT_POOL).snapshot(port_pool())


@pytest.mark.parametrize("gone, kind", [(False, "dev.berthmaster.pod.changed"), (True, "dev.berthmaster.pod.deleted")])
def test_an_entry_of_the_stream_is_a_cloud_event_with_the_snapshot(gone: bool, kind: str) -> None:
    obj = pod("a", uid="u1", resourceVersion="42")
    mark = pods().item(obj, gone).mark
    event = CloudEvent.model_validate_json(entry(pods(), mark, 3, "2026-01-01T00:00:00+00:00", 1000))
    assert (event.type, event.id, event.subject) == (kind, "u1:3.42", "pod/games/a")
    assert event.type in {documented.name for documented in event_types()}
    changed = Changed.model_validate(event.data)
    assert (changed.history, changed.version, changed.snapshot) == (3, 42, pod_snapshot(obj))


@pytest.mark.row("RD-24", "HO-03")
def test_an_entry_says_of_a_snapshot_that_is_too_large_only_how_large_it_is() -> None:
    obj = pod("a", uid="u1", resourceVersion="42", annotations={PORTS: "7777/UDP@arena," * 100})
    mark = pods().item(obj).mark
    event = CloudEvent.model_validate_json(entry(pods(), mark, 3, "2026-01-01T00:00:00+00:00", 1000))
    changed = Changed.model_validate(event.data)
    assert (changed.snapshot, changed.omitted, changed.key) == (None, len(mark.body), "pod/games/a")


@pytest.mark.row("EV-31")
def test_the_snapshots_of_the_documented_models_are_those_that_the_publisher_sends() -> None:
    odd = pod("a", annotations={f"{PREFIX}typo": "1", PORTS: "x" * 100_000})
    claim = {"metadata": {"name": "a", "annotations": {REQUESTED: "true"}}, "spec": {}}
    for model, snapshot in ((PodSnapshot, pod_snapshot(odd)), (ObjectSnapshot, spec_snapshot(claim))):
        assert snapshot.keys() == model.model_fields.keys()
        assert model.model_validate(snapshot, strict=True).model_dump() == snapshot


def test_a_failure_is_a_cloud_event_that_says_who_reported_it() -> None:
    failed = AllocationFailed(key="pod/games/a", reporter="other", message="full")
    event = CloudEvent.model_validate_json(
        cloud_event(ALLOCATION_FAILED, "1", failed.key, "2026-01-01T00:00:00Z", failed.model_dump())
    )
    assert AllocationFailed.model_validate(event.data) == failed


def test_the_key_of_a_resource_names_kind_namespace_and_name() -> None:
    assert pods().item(pod("a", resourceVersion="1")).mark.key == "pod/games/a"
    pool = resource_of(PORT_POOL).item(port_pool() | {"metadata": {"name": "p", "resourceVersion": "1"}})
    assert pool.mark.key == "portpool/p"
    assert orjson.loads(pool.mark.body)
