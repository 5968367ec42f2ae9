"""What the manifests say fits what the programs are: their commands, settings, ports and times."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any, Final

import pytest
import yaml
from pydantic import ValidationError

from events.settings import ProcessSettings
from tests.fixtures.kube import Kustomize
from tests.support.commands import unknown_words
from tests.support.deployed import DEPLOY
from tests.support.variables import unknown_variables
from workers.settings import WorkerSettings

Json = dict[str, Any]
OVERLAYS = ("sandbox", "eks")
OURS: Final = ("publisher", "worker", "beat", "flower")


@pytest.fixture(params=OVERLAYS)
def objects(request: pytest.FixtureRequest, kustomize: Kustomize) -> list[Json]:
    return kustomize(DEPLOY / "overlays" / request.param)


def of_kind(objects: list[Json], *kinds: str) -> dict[str, Json]:
    return {body["metadata"]["name"]: body for body in objects if body["kind"] in kinds}


def pods(objects: list[Json]) -> dict[str, Json]:
    """Specs by the name of what makes them."""
    makers = of_kind(objects, "Deployment", "StatefulSet")
    return {name: body["spec"]["template"]["spec"] for name, body in makers.items()}


def container(objects: list[Json], name: str) -> Json:
    found: Json = pods(objects)[name]["containers"][0]
    return found


def settings(objects: list[Json]) -> dict[str, str]:
    [body] = [b for b in objects if b["kind"] == "ConfigMap" and b["metadata"]["name"].startswith("berthmaster")]
    found: dict[str, str] = body["data"]
    return found


def probes(found: Json) -> Iterator[Json]:
    yield from (found[name] for name in ("startupProbe", "livenessProbe", "readinessProbe") if name in found)


def test_every_process_is_deployed_with_the_image_of_this_version(objects: list[Json]) -> None:
    version = tomllib.loads((DEPLOY.parent / "pyproject.toml").read_text())["project"]["version"]
    for name in OURS:
        image = container(objects, name)["image"]
        assert image.rpartition("/")[2] == f"berthmaster:{version}"
    assert all(
        ":" in each["image"] and "latest" not in each["image"]
        for p in pods(objects).values()
        for each in p["containers"]
    )


def test_a_command_that_nobody_knows_is_noticed() -> None:
    assert unknown_words(["healthcheck", "scheduler"]) == ["scheduler"]
    assert unknown_words(["flower", "--adress", "0.0.0.0"]) == ["--adress", "0.0.0.0"]  # noqa: S104 - nobody listens
    assert unknown_words(["healthcheck"]) != []


def test_every_command_and_probe_is_one_that_the_program_knows(objects: list[Json]) -> None:
    for name in OURS:
        found = container(objects, name)
        commands = [found["args"], *(each["exec"]["command"][1:] for each in probes(found) if "exec" in each)]
        assert [unknown_words(each) for each in commands] == [[]] * len(commands)
        assert all(each["exec"]["command"][0] == "berthmaster" for each in probes(found) if "exec" in each)


def test_every_variable_is_a_setting(objects: list[Json]) -> None:
    own = [each["name"] for name in OURS for each in container(objects, name).get("env", [])]
    assert unknown_variables([*settings(objects), *own]) == []


def test_the_sandbox_s_settings_are_valid_and_those_for_eks_wait_for_the_name_of_the_cluster(
    kustomize: Kustomize, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in [name for name in os.environ if name.startswith("BERTHMASTER_")]:
        monkeypatch.delenv(name)
    for overlay in OVERLAYS:
        for name, value in settings(kustomize(DEPLOY / "overlays" / overlay)).items():
            monkeypatch.setenv(name, value)
        if overlay == "sandbox":
            assert WorkerSettings().celery.task_events
    with pytest.raises(ValidationError, match=r"cluster"):
        WorkerSettings()


@pytest.mark.row("EV-16")
def test_probes_and_scrapes_ask_where_the_process_answers(objects: list[Json]) -> None:
    health = ProcessSettings(cluster="x").publisher
    listening = {
        "publisher": health.health_port,
        "worker": int(settings(objects)["BERTHMASTER_METRICS__PORT"]),
        "flower": 5555,
    }
    for name, port in listening.items():
        [declared] = container(objects, name)["ports"]
        assert declared["containerPort"] == port
        asked = [each["httpGet"] for each in probes(container(objects, name)) if "httpGet" in each]
        assert {each["port"] for each in asked} <= {declared["name"]}
        notes = of_kind(objects, "Deployment")[name]["spec"]["template"]["metadata"].get("annotations", {})
        assert notes.get("prometheus.io/port", str(port)) == str(port)
    assert {each["httpGet"]["path"] for each in probes(container(objects, "publisher"))} == {"/livez", "/readyz"}
    assert all("livenessProbe" in container(objects, name) for name in OURS)


@pytest.mark.row("CL-17")
def test_a_pod_has_the_time_that_an_orderly_end_takes(objects: list[Json]) -> None:
    worker, publisher = WorkerSettings(cluster="x"), ProcessSettings(cluster="x")
    request = publisher.kubernetes.request_timeout
    longest = {
        "worker": worker.queue.lease + worker.call_time,  # a run, and the call that it is in
        "publisher": publisher.publisher.grace + 3 * request,  # the batch, the election's call, giving the Lease back
    }
    for name, least in longest.items():
        assert timedelta(seconds=pods(objects)[name]["terminationGracePeriodSeconds"]) > least


@pytest.mark.row("EV-18")
def test_only_publisher_and_worker_have_an_account_and_each_its_own(objects: list[Json]) -> None:
    accounts = {
        name: spec.get("serviceAccountName")
        for name, spec in pods(objects).items()
        if spec["automountServiceAccountToken"]
    }
    assert accounts == {"publisher": "publisher", "worker": "worker"}
    assert all(not body["automountServiceAccountToken"] for body in of_kind(objects, "ServiceAccount").values())


@pytest.mark.row("CL-16")
def test_the_role_of_aws_is_the_worker_s_alone_and_no_key_is_stored(kustomize: Kustomize) -> None:
    objects = kustomize(DEPLOY / "overlays" / "eks")
    roles = {n: b["metadata"].get("annotations", {}) for n, b in of_kind(objects, "ServiceAccount").items()}
    assert {name: list(notes) for name, notes in roles.items()} == {
        "publisher": [],
        "worker": ["eks.amazonaws.com/role-arn"],
    }
    assert not [name for name in settings(objects) if name.startswith(("AWS_ACCESS", "AWS_SECRET"))]
    assert of_kind(objects, "Secret") == {}


def test_flower_does_not_start_without_its_password(objects: list[Json]) -> None:
    [found] = container(objects, "flower")["env"]
    assert found["name"] == "FLOWER_BASIC_AUTH"
    assert not found["valueFrom"]["secretKeyRef"].get("optional")


def test_budgets_policies_and_services_select_pods_that_exist(objects: list[Json]) -> None:
    makers = of_kind(objects, "Deployment", "StatefulSet").values()
    labels = [maker["spec"]["template"]["metadata"]["labels"] for maker in makers]
    components = {each["app.kubernetes.io/component"] for each in labels}
    for body in objects:
        spec = body.get("spec", {})
        selector = spec.get("podSelector") or spec.get("selector") or {}
        wanted = selector.get("matchLabels", {} if body["kind"] != "Service" else selector)
        assert any(wanted.items() <= each.items() for each in labels), body["metadata"]
        for row in selector.get("matchExpressions", []):
            assert set(row["values"]) <= components
    budgets = of_kind(objects, "PodDisruptionBudget")
    assert {name: body["spec"]["maxUnavailable"] for name, body in budgets.items()} == {"publisher": 1, "worker": 1}


def test_one_beat_and_two_publishers(objects: list[Json]) -> None:
    made = of_kind(objects, "Deployment")
    assert (made["beat"]["spec"]["replicas"], made["beat"]["spec"]["strategy"]) == (1, {"type": "Recreate"})
    assert made["publisher"]["spec"]["replicas"] == 2


@pytest.mark.row("EV-20")
def test_every_definition_is_installed(objects: list[Json]) -> None:
    files = {path.stem for path in (DEPLOY / "crds").glob("*.berthmaster.dev.yaml")}
    assert set(of_kind(objects, "CustomResourceDefinition")) == files


def with_component(name: str, folder: Path) -> Path:
    """An overlay on the base, as a user would write one."""
    base, component = (os.path.relpath(DEPLOY / each, folder) for each in ("base", f"components/{name}"))
    body = {"kind": "Kustomization", "resources": [base], "components": [component]}
    (folder / "kustomization.yaml").write_text(yaml.safe_dump(body))
    return folder


def test_keda_alone_decides_how_many_workers_there_are(kustomize: Kustomize, tmp_path: Path) -> None:
    objects = kustomize(with_component("keda", tmp_path))
    [scaled] = of_kind(objects, "ScaledObject").values()
    target = of_kind(objects, "Deployment")[scaled["spec"]["scaleTargetRef"]["name"]]
    assert target["metadata"]["name"] == "worker"
    assert "replicas" not in target["spec"]
    [trigger] = scaled["spec"]["triggers"]
    assert "berthmaster_queue_oldest_seconds" in trigger["metadata"]["query"]
    assert trigger["metricType"] == "Value"  # KEDA's webhook refuses a fallback without an AverageValue
    assert "fallback" not in scaled["spec"]


@pytest.mark.row("EV-18")
def test_pods_are_made_nowhere_unless_somebody_says_so(kustomize: Kustomize, tmp_path: Path) -> None:
    def bound(folder: Path) -> list[tuple[str, str]]:
        bindings = [b for b in kustomize(folder) if b["kind"].endswith("Binding")]
        found = [b for b in bindings if b.get("roleRef", {}).get("name") == "berthmaster-pod-pools"]
        return [(b["kind"], b["metadata"].get("namespace", "")) for b in found]

    assert bound(DEPLOY / "overlays" / "eks") == []
    assert bound(DEPLOY / "overlays" / "sandbox") == [("RoleBinding", name) for name in ("ci", "databases", "games")]
    assert bound(with_component("pod-pools-everywhere", tmp_path)) == [("ClusterRoleBinding", "")]
