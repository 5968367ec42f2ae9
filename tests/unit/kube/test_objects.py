"""Views of Kubernetes objects: what a field is when it is missing, and what a conditional write carries."""

from __future__ import annotations

from dataclasses import FrozenInstanceError
from datetime import UTC, datetime
from typing import Any

import pytest

from domain.kubernetes import names
from domain.kubernetes.objects import KubeList, KubeObject, Pod, Precondition, new_object, version_of
from events.kube.api import Conflict
from workers.kube.conditional_writes import delete_if_unchanged, join_if_unchanged, patch_if_unchanged

Json = dict[str, Any]
READ = Precondition("u", "7")
META: Json = {"name": "a", "namespace": "games", "uid": "u", "resourceVersion": "7"}
STAMP = "2026-01-01T00:00:00Z"


class Calls:
    """In place of KubeApi: keeps what was asked."""

    def __init__(self, error: Exception | None = None) -> None:
        self.asked: list[tuple[str, str, Json]] = []
        self.error = error

    def __getattr__(self, verb: str) -> Any:
        def ask(path: str, body: Json) -> Json:
            self.asked.append((verb, path, body))
            if self.error:
                raise self.error
            return body

        return ask


def test_what_the_api_server_gives_every_object_must_be_there() -> None:
    for view in (KubeObject({}), KubeObject({"metadata": {}})):
        for field in ("name", "namespace", "uid", "resource_version", "version", "created", "precondition"):
            with pytest.raises(KeyError):
                getattr(view, field)
    with pytest.raises(KeyError):
        version_of({"metadata": {}})


@pytest.mark.parametrize("raw", [{}, {"metadata": None, "spec": None, "status": None}, {"metadata": {"labels": None}}])
def test_everything_else_may_be_missing(raw: Json) -> None:
    pod = Pod(raw)
    assert (pod.labels, pod.annotations, list(pod.finalizers), list(pod.owners)) == ({}, {}, [], [])
    assert (pod.spec, pod.status, list(pod.conditions), pod.generation) == ({}, {}, [], 0)
    assert (pod.phase, pod.node, pod.ready, pod.deleting, pod.deletion) == ("Pending", None, False, False, None)
    assert pod.condition("Ready") is None


def test_a_whole_object_is_read_by_its_fields() -> None:
    owners = [{"kind": "PodPool", "name": "warm", "uid": "o", "controller": True}, {"kind": "Other", "uid": "x"}]
    meta = META | {"creationTimestamp": STAMP, "deletionTimestamp": STAMP, "generation": 3, "ownerReferences": owners}
    status = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}
    pod = Pod({"metadata": meta, "spec": {"nodeName": "n"}, "status": status})
    assert (pod.name, pod.namespace, pod.version, pod.generation) == ("a", "games", 7, 3)
    assert (pod.precondition, pod.phase, pod.node, pod.ready) == (READ, "Running", "n", True)
    assert pod.created == pod.deletion == datetime(2026, 1, 1, tzinfo=UTC)
    assert (pod.deleting, pod.owners_of("PodPool")) == (True, ["warm"])
    assert (pod.owned_by("x"), pod.owned_by("x", controller=True)) == (True, False)
    assert (pod.owned_by("o", controller=True), pod.owned_by("y")) == (True, False)


def test_a_view_does_not_change() -> None:
    with pytest.raises(FrozenInstanceError):
        KubeObject({}).raw = {}  # type: ignore[misc]  # it is frozen


def test_a_list_ends_with_the_page_that_names_no_next_one() -> None:
    first = KubeList(
        {"metadata": {"resourceVersion": "9", "continue": "t", "remainingItemCount": 1}, "items": [{"n": 1}]}
    )
    assert (first.version, first.next_page) == (9, "t")
    assert KubeList({"metadata": {"continue": ""}, "items": []}).next_page is None
    assert first.joined([{"n": 2}]) == {"metadata": {"resourceVersion": "9"}, "items": [{"n": 1}, {"n": 2}]}


def test_a_conditional_write_carries_the_version_that_was_read() -> None:
    kube: Any = Calls()
    meta = {"uid": "u", "resourceVersion": "7"}
    patch_if_unchanged(kube, "/p", READ, {"labels": {"a": None}}, spec={"x": 1})
    join_if_unchanged(kube, "/p/status", READ, {}, status={"y": 2})
    delete_if_unchanged(kube, "/p", READ)
    assert kube.asked == [
        ("patch", "/p", {"metadata": {"labels": {"a": None}, **meta}, "spec": {"x": 1}}),
        ("join", "/p/status", {"metadata": meta, "status": {"y": 2}}),
        ("delete", "/p", {"preconditions": meta}),
    ]


def test_nobody_writes_another_version_by_what_is_to_be_written() -> None:
    kube: Any = Calls()
    patch_if_unchanged(kube, "/p", READ, {"resourceVersion": "8", "uid": "v"})
    assert kube.asked[0][2] == {"metadata": {"uid": "u", "resourceVersion": "7"}}


def test_a_conflict_is_the_callers() -> None:
    kube: Any = Calls(Conflict(409, "Conflict", "changed"))
    for write in (patch_if_unchanged, delete_if_unchanged):
        with pytest.raises(Conflict):
            write(kube, "/p", READ)


def test_a_new_object_has_its_kind() -> None:
    made = new_object("v1", "Secret", {"name": "a"}, data={"k": "v"})
    assert made == {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "a"}, "data": {"k": "v"}}


def test_no_key_stands_twice() -> None:
    keys = [value for name, value in vars(names).items() if name.isupper() and name not in ("GROUP", "PREFIX")]
    assert len(keys) == len(set(keys))
    others = {names.DELETION_COST, names.SAFE_TO_EVICT, names.DO_NOT_DISRUPT}
    assert {key for key in keys if not key.startswith(names.PREFIX)} == others
