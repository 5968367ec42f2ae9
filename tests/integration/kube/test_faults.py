"""The sandbox's API does wrong what it is told to, to whom it is told, as often as it is told."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import orjson
import pytest

from events.kube.api import Conflict, Denied, Expired, KubeError, NotFound, Stalled, Unavailable, error_of_status
from tests.contract.kube.objects import Json, events, first, pod, version_of
from tests.fixtures.kube import SandboxKube
from tests.support.waiting import eventually


def outcome(call: Callable[[], object]) -> type[KubeError] | None:
    try:
        call()
    except KubeError as error:
        return type(error)
    return None


def add(kube: SandboxKube, name: str = "a") -> Json:
    return kube.api.create(kube.path("pods"), pod(name))


def watched(kube: SandboxKube, version: str, seconds: float = 5, **query: Any) -> list[Json]:
    lines = kube.api.lines(kube.path("pods"), seconds, resourceVersion=version, timeoutSeconds=2, **query)
    return [orjson.loads(line) for batch in lines for line in batch]


@pytest.mark.parametrize("status, kind", [(500, Unavailable), (503, Unavailable), (429, Unavailable), (404, NotFound)])
def test_an_error_is_answered_as_often_as_told(kube_sandbox: SandboxKube, status: int, kind: type[KubeError]) -> None:
    kube_sandbox.server.fault("error", status=status, times=2, verbs=["list"], resources=["pods"], retry_after=7)
    outcomes = [outcome(lambda: kube_sandbox.api.list(kube_sandbox.path("pods"))) for _ in range(3)]
    assert outcomes == [kind, kind, None]
    assert kube_sandbox.server.faults() == [] or kube_sandbox.server.faults()[0]["used"] == 2


def test_a_refusal_says_when_to_come_back(kube_sandbox: SandboxKube) -> None:
    kube_sandbox.server.fault("error", status=429, times=1, retry_after=7)
    with pytest.raises(Unavailable) as raised:
        kube_sandbox.api.list(kube_sandbox.path("pods"))
    assert raised.value.retry_after == timedelta(seconds=7)


def test_a_fault_concerns_only_what_it_names(kube_sandbox: SandboxKube) -> None:
    kube_sandbox.server.fault("error", verbs=["create"], resources=["pods"])
    kube_sandbox.server.fault("error", names="broken-.*", clients=["tests"])
    assert outcome(lambda: add(kube_sandbox)) is Unavailable
    assert (
        outcome(lambda: kube_sandbox.api.create(kube_sandbox.path("configmaps"), {"metadata": {"name": "c"}})) is None
    )
    assert outcome(lambda: kube_sandbox.api.get(kube_sandbox.path("configmaps", "broken-1"))) is Unavailable
    other = kube_sandbox.server.api("another")
    assert outcome(lambda: other.get(kube_sandbox.path("configmaps", "broken-1"))) is NotFound
    kube_sandbox.server.heal()
    assert outcome(lambda: add(kube_sandbox)) is None


def test_a_conflict_hits_the_next_writes(kube_sandbox: SandboxKube) -> None:
    add(kube_sandbox)
    kube_sandbox.server.fault("conflict", times=1)
    patch = {"metadata": {"labels": {"k": "v"}}}
    path = kube_sandbox.path("pods", "a")
    assert [outcome(lambda: kube_sandbox.api.patch(path, patch)) for _ in range(2)] == [Conflict, None]


@pytest.mark.row("EV-18")
def test_permissions_can_be_taken_or_reduced_to_a_role(kube_sandbox: SandboxKube) -> None:
    kube_sandbox.server.fault("deny", verbs=["delete"], resources=["pods"])
    add(kube_sandbox)
    assert outcome(lambda: kube_sandbox.api.delete(kube_sandbox.path("pods", "a"))) is Denied
    rules = [
        {"apiGroups": [""], "resources": ["pods"], "verbs": ["get", "list", "watch", "patch"]},
        {"apiGroups": [""], "resources": ["namespaces"], "verbs": ["*"]},
    ]
    kube_sandbox.server.heal()
    kube_sandbox.server.fault("allow", rules=rules)
    assert outcome(lambda: kube_sandbox.api.list(kube_sandbox.path("pods"))) is None
    assert outcome(lambda: add(kube_sandbox, "b")) is Denied
    assert outcome(lambda: kube_sandbox.api.patch(kube_sandbox.path("pods", "a") + "/status", {"status": {}})) is Denied


@pytest.mark.row("EV-18")
def test_what_each_client_asked_is_counted(kube_sandbox: SandboxKube) -> None:
    client = kube_sandbox.server.api("counted")
    client.list(kube_sandbox.path("pods"))
    client.list(kube_sandbox.path("pods"))
    [found] = [row for row in kube_sandbox.server.requests() if row["client"] == "counted"]
    assert found.pop("bytes") > 2 * len('{"items":[]}')
    assert found == {"client": "counted", "verb": "list", "group": "", "resource": "pods", "count": 2}


def test_a_dropped_request_does_nothing_and_a_lost_one_everything(kube_sandbox: SandboxKube) -> None:
    kube_sandbox.server.fault("drop", verbs=["create"], times=1)
    assert outcome(lambda: add(kube_sandbox, "dropped")) is Unavailable
    assert outcome(lambda: kube_sandbox.api.get(kube_sandbox.path("pods", "dropped"))) is NotFound
    kube_sandbox.server.fault("lose", verbs=["create"], times=1)
    assert outcome(lambda: add(kube_sandbox, "lost")) is Unavailable
    assert outcome(lambda: kube_sandbox.api.get(kube_sandbox.path("pods", "lost"))) is None


def test_a_slow_answer_comes_late(kube_sandbox: SandboxKube) -> None:
    kube_sandbox.server.fault("slow", seconds=0.5, times=1)
    began = time.monotonic()
    kube_sandbox.api.list(kube_sandbox.path("pods"))
    assert time.monotonic() - began >= 0.5


@pytest.mark.row("EV-01")
def test_watches_are_refused_with_410_or_end_empty(kube_sandbox: SandboxKube) -> None:
    version = version_of(kube_sandbox.api.list(kube_sandbox.path("pods")))
    kube_sandbox.server.fault("expire", times=2)
    for _ in range(2):
        (line,) = watched(kube_sandbox, version)
        assert isinstance(error_of_status(line["object"]), Expired)
    kube_sandbox.server.fault("empty", times=1)
    add(kube_sandbox)
    assert watched(kube_sandbox, version) == []
    assert len(watched(kube_sandbox, version)) == 1


@pytest.mark.row("EV-02")
def test_a_stalled_watch_is_silent_until_it_is_healed(kube_sandbox: SandboxKube) -> None:
    version = version_of(kube_sandbox.api.list(kube_sandbox.path("pods")))
    kube_sandbox.server.fault("stall", verbs=["watch"])
    add(kube_sandbox)
    lines = kube_sandbox.api.lines(kube_sandbox.path("pods"), 0.5, idle=0.1, resourceVersion=version)
    silence: list[list[bytes]] = []
    with pytest.raises(Stalled):
        silence.extend(lines)
    assert not any(silence)
    assert len(silence) >= 3
    kube_sandbox.server.heal()
    assert first(events(kube_sandbox, kube_sandbox.path("pods"), resourceVersion=version), 1) == [("ADDED", "a")]


def test_lines_are_left_out_and_said_twice(kube_sandbox: SandboxKube) -> None:
    version = version_of(kube_sandbox.api.list(kube_sandbox.path("pods")))
    kube_sandbox.server.fault("swallow", times=1)
    kube_sandbox.server.fault("repeat", times=1)
    add(kube_sandbox, "missed")
    add(kube_sandbox, "twice")
    found = watched(kube_sandbox, version)
    assert [line["object"]["metadata"]["name"] for line in found] == ["twice", "twice"]


def test_open_watches_are_cut(kube_sandbox: SandboxKube) -> None:
    version = version_of(kube_sandbox.api.list(kube_sandbox.path("pods")))
    lines = kube_sandbox.api.lines(kube_sandbox.path("pods"), 10, idle=0.05, resourceVersion=version)
    assert next(lines) == []
    kube_sandbox.server.fault("cut")

    def ended() -> bool:
        try:
            return next(lines, None) is None
        except Unavailable:
            return True

    assert eventually(ended, 5)


def test_the_kubelet_is_spared_unless_it_is_named(kube_sandbox: SandboxKube) -> None:
    kube_sandbox.server.fault("error", times=5)
    kubelet = kube_sandbox.server.api("sandbox-kubelet")
    assert outcome(lambda: kubelet.list(kube_sandbox.path("pods"))) is None
    kube_sandbox.server.fault("error", clients=["sandbox-kubelet"])
    assert outcome(lambda: kubelet.list(kube_sandbox.path("pods"))) is Unavailable
