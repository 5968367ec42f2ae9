"""The kubelet of the sandbox with the pods of pod pools, which are processes, against both servers."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from compose.sandbox.kube.kubelet.player import Player
from compose.sandbox.kube.kubelet.runners import Runners, environment
from domain.kubernetes.names import POOL
from events.kube.api import NotFound
from tests.contract.kube.objects import Json
from tests.fixtures.kube import Kube
from tests.support.waiting import eventually

TOLD = {"POOL": "ci/runners", "REDIS__URL": "redis://127.0.0.1:1/0"}


def runner(name: str, **more: str) -> Json:
    own = [("POD", "metadata.name"), ("UID", "metadata.uid")]
    variables: list[Json] = [{"name": f"BERTHMASTER_RUNNER__{key}", "value": value} for key, value in TOLD.items()]
    variables += [{"name": f"BERTHMASTER_RUNNER__{k}", "valueFrom": {"fieldRef": {"fieldPath": f}}} for k, f in own]
    variables += [{"name": key, "value": value} for key, value in more.items()]
    containers = [{"name": "runner", "image": "runner", "env": variables}]
    return {"metadata": {"name": name, "labels": {POOL: "runners"}}, "spec": {"containers": containers}}


@pytest.fixture
def runners(kube: Kube, tmp_path: Path) -> Iterator[Runners]:
    found = Runners(tmp_path, kube.api)
    player = Player(kube.api, "runners", namespace=kube.namespace, runners=found)
    player.start()
    yield found
    player.stop()
    assert [process for process in found.processes.values() if process.poll() is None] == []


def created(kube: Kube, runners: Runners, name: str) -> psutil.Process:
    """Once it runs."""
    uid = kube.api.create(kube.path("pods"), runner(name))["metadata"]["uid"]
    eventually(lambda: phase(kube, name) == "Running")
    return psutil.Process(runners.processes[uid].pid)


def phase(kube: Kube, name: str) -> str:
    try:
        return str(kube.api.get(kube.path("pods", name))["status"]["phase"])
    except NotFound:
        return "gone"


def test_a_pod_whose_process_dies_has_failed_and_does_not_start_again(kube: Kube, runners: Runners) -> None:
    process = created(kube, runners, "a")
    process.kill()
    eventually(lambda: phase(kube, "a") == "Failed")
    found = kube.api.get(kube.path("pods", "a"))["status"]
    assert found["message"] == "its process ended with status -9"
    assert {c["type"]: c["status"] for c in found["conditions"]}["Ready"] == "False"
    assert len(runners.processes) == 1


def test_a_deleted_pod_goes_once_its_process_has_ended(kube: Kube, runners: Runners) -> None:
    process = created(kube, runners, "a")
    process.suspend()  # it does not end when it is asked to
    kube.api.delete(kube.path("pods", "a"), {"gracePeriodSeconds": 2})
    assert process.is_running()
    eventually(lambda: phase(kube, "a") == "gone", 20)
    assert not process.is_running()
    eventually(lambda: runners.processes == {})


def test_the_process_of_a_pod_that_was_deleted_by_force_goes_with_it(kube: Kube, runners: Runners) -> None:
    first = created(kube, runners, "a")
    kube.api.delete(kube.path("pods", "a"), {"gracePeriodSeconds": 0})
    second = created(kube, runners, "a")
    eventually(lambda: not first.is_running())
    assert second.is_running()


def test_a_pod_waits_for_the_secret_that_it_names(kube: Kube, runners: Runners) -> None:
    body = runner("a")
    key = {"secretKeyRef": {"name": "token", "key": "t1"}}
    body["spec"]["containers"][0]["env"].append({"name": "BERTHMASTER_RUNNER__REDIS__PASSWORD", "valueFrom": key})
    uid = kube.api.create(kube.path("pods"), body)["metadata"]["uid"]
    eventually(lambda: "nodeName" in kube.api.get(kube.path("pods", "a"))["spec"])
    time.sleep(1)
    assert (runners.processes, phase(kube, "a")) == ({}, "Pending")
    kube.api.create(kube.path("secrets"), {"metadata": {"name": "token"}, "data": {"t1": "c2VjcmV0"}})
    eventually(lambda: phase(kube, "a") == "Running")
    told = psutil.Process(runners.processes[uid].pid).environ()
    assert told["BERTHMASTER_RUNNER__REDIS__PASSWORD"].startswith("secret")


def test_a_process_gets_what_its_pod_says_of_runners_and_nothing_else(tmp_path: Path) -> None:
    pod = runner("a", LD_PRELOAD="/tmp/evil.so", PYTHONPATH="/tmp/evil", BERTHMASTER_RUNNER__SPOOL="/etc")
    pod["metadata"]["uid"] = "u1"
    told = environment(pod, tmp_path, lambda *_: {})
    own = {name: value for name, value in told.items() if name.startswith("BERTHMASTER_")}
    assert own.pop("BERTHMASTER_SANDBOX") == ""
    assert own == {
        "BERTHMASTER_RUNNER__POOL": "ci/runners",
        "BERTHMASTER_RUNNER__REDIS__URL": "redis://127.0.0.1:1/0",
        "BERTHMASTER_RUNNER__POD": "a",
        "BERTHMASTER_RUNNER__UID": "u1",
        "BERTHMASTER_RUNNER__SPOOL": str(tmp_path),
    }
    assert told.get("LD_PRELOAD") == os.environ.get("LD_PRELOAD")
    assert told.get("PYTHONPATH") == os.environ.get("PYTHONPATH")
