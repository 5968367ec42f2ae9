"""Each value of the Helm chart changes what it is for, and nothing else."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from scripts import chart_values
from tests.fixtures.helm import CHARTS, Helm
from tests.support.chart_values import DIGEST, MINIMAL, ROLE, full_values, leaves
from tests.support.deployed import DEPLOY, Name, by_name

Json = dict[str, Any]
CHART = CHARTS / "berthmaster"
PODS = ("publisher", "worker", "beat", "flower", "redis")


@pytest.fixture(scope="module")
def full(helm: Helm) -> dict[Name, Json]:
    return by_name(helm.template(CHART, full_values(), "fleet"))


def maker(objects: dict[Name, Json], name: str) -> Json:
    """The Deployment or StatefulSet."""
    [found] = [b for (kind, _, of), b in objects.items() if of == name and kind in ("Deployment", "StatefulSet")]
    return found


@pytest.mark.row("ST-12")
def test_these_tests_give_every_value_that_there_is() -> None:
    schema = chart_values.schema()
    known = {value.path for value in chart_values.walk(schema, schema) if not value.is_group}
    assert set(leaves(full_values())) == known


@pytest.mark.row("ST-12")
@pytest.mark.parametrize("name", PODS)
def test_what_every_process_may_have_is_on_its_pods_alone(full: dict[Name, Json], name: str) -> None:
    given = full_values()[name]
    template = maker(full, name)["spec"]["template"]
    pod, [container] = template["spec"], template["spec"]["containers"]
    whole = (
        "affinity",
        "nodeSelector",
        "priorityClassName",
        "terminationGracePeriodSeconds",
        "tolerations",
    )
    assert {key: pod[key] for key in whole} == {key: given[key] for key in whole}
    assert container["resources"] == given["resources"]
    assert template["metadata"]["annotations"]["note"] == template["metadata"]["labels"]["team"] == name
    assert container["env"][-1] == given["extraEnv"][0]
    assert container["volumeMounts"][-1] == given["extraVolumeMounts"][0]
    assert pod["volumes"][-1:] == given["extraVolumes"]
    selector = {"matchLabels": {"app.kubernetes.io/component": name}}
    assert pod["topologySpreadConstraints"] == [given["topologySpreadConstraints"][0] | {"labelSelector": selector}]
    assert pod["imagePullSecrets"] == [{"name": "registry"}]


@pytest.mark.row("ST-12")
def test_what_a_process_has_stays_beside_what_is_added(full: dict[Name, Json]) -> None:
    [flower] = maker(full, "flower")["spec"]["template"]["spec"]["containers"]
    assert [each["name"] for each in flower["env"]] == ["FLOWER_BASIC_AUTH", "EXTRA"]
    [worker] = maker(full, "worker")["spec"]["template"]["spec"]["containers"]
    assert [each["name"] for each in worker["volumeMounts"]] == ["tmp", "ca-worker"]
    assert "prometheus.io/port" in maker(full, "worker")["spec"]["template"]["metadata"]["annotations"]


@pytest.mark.row("ST-12")
def test_the_digest_of_the_image_counts_before_its_tag_and_redis_has_its_own(full: dict[Name, Json]) -> None:
    images = {name: maker(full, name)["spec"]["template"]["spec"]["containers"][0] for name in PODS}
    assert {name: each["image"] for name, each in images.items()} == {
        **dict.fromkeys(("publisher", "worker", "beat", "flower"), f"registry.example/bm@{DIGEST}"),
        "redis": "valkey:9",
    }
    assert [name for name, each in images.items() if each.get("imagePullPolicy") == "Always"] == list(PODS[:-1])


@pytest.mark.row("ST-13")
def test_existing_secrets_are_named_and_no_secret_is_made(full: dict[Name, Json]) -> None:
    def secrets(name: str) -> list[str]:
        [container] = maker(full, name)["spec"]["template"]["spec"]["containers"]
        of_env = [each["valueFrom"]["secretKeyRef"]["name"] for each in container["env"] if "valueFrom" in each]
        return of_env + [each["secretRef"]["name"] for each in container.get("envFrom", []) if "secretRef" in each]

    assert secrets("worker") == secrets("beat") == ["own-secret"]
    assert secrets("flower") == ["flower-secret", "own-secret"]
    assert secrets("redis") == ["redis-secret"]
    assert not [name for name in full if name[0] == "Secret"]


@pytest.mark.row("ST-12")
def test_numbers_budgets_disk_and_scaling_are_those_of_the_values(full: dict[Name, Json]) -> None:
    assert maker(full, "publisher")["spec"]["replicas"] == 5
    assert "replicas" not in maker(full, "worker")["spec"]  # KEDA's
    for name in ("publisher", "worker"):
        assert full["PodDisruptionBudget", "fleet", name]["spec"]["maxUnavailable"] == "50%"
    [disk] = maker(full, "redis")["spec"]["volumeClaimTemplates"]
    assert (disk["spec"]["storageClassName"], disk["spec"]["resources"]["requests"]["storage"]) == ("fast", "9Gi")
    scaling = full["ScaledObject", "fleet", "worker"]["spec"]
    assert (scaling["minReplicaCount"], scaling["maxReplicaCount"]) == (3, 7)
    assert scaling["triggers"][0]["metadata"]["serverAddress"] == "http://prom:9090"
    rules = full["PrometheusRule", "fleet", "berthmaster"]
    assert rules["spec"] == yaml.safe_load((DEPLOY / "alerts" / "berthmaster.yaml").read_text())
    for body in (rules, full["PodMonitor", "fleet", "berthmaster"]):
        assert body["metadata"]["labels"]["release"] == "prometheus"


@pytest.mark.row("ST-14")
def test_accounts_of_other_names_have_the_rights_and_the_limits(full: dict[Name, Json]) -> None:
    accounts = {
        name: b["metadata"].get("annotations") for (kind, _, name), b in full.items() if kind == "ServiceAccount"
    }
    role = "eks.amazonaws.com/role-arn"
    assert accounts == {f"berth-{name}": {role: f"{ROLE}-{name}"} for name in ("publisher", "worker")}
    for name in ("publisher", "worker"):
        assert maker(full, name)["spec"]["template"]["spec"]["serviceAccountName"] == f"berth-{name}"
    subjects = [s for b in full.values() if b["kind"].endswith("RoleBinding") for s in b["subjects"]]
    assert {(s["namespace"], s["name"]) for s in subjects} == {("fleet", "berth-publisher"), ("fleet", "berth-worker")}
    for body in (b for (kind, _, _), b in full.items() if kind == "ValidatingAdmissionPolicy"):
        [condition] = body["spec"]["matchConditions"]
        assert "['system:serviceaccount:fleet:berth-worker'" in condition["expression"]
        assert "'system:serviceaccount:fleet:berth-publisher']" in condition["expression"]


@pytest.mark.row("ST-14")
def test_nothing_is_in_another_namespace_than_the_release_s_but_what_the_values_say(full: dict[Name, Json]) -> None:
    assert {namespace for _, namespace, _ in full} == {"", "fleet", "games"}
    assert "system:serviceaccount:berthmaster" not in yaml.safe_dump_all(list(full.values()))


@pytest.mark.row("ST-12", "ST-49")
def test_ports_of_a_rabbitmq_are_open_to_every_process_of_ours(full: dict[Name, Json]) -> None:
    opened, redis = (full["NetworkPolicy", "fleet", name]["spec"] for name in ("rabbitmq", "redis-and-names"))
    assert opened["podSelector"] == redis["podSelector"]
    [rule] = opened["egress"]
    assert [(port["port"], port["protocol"]) for port in rule["ports"]] == [(5671, "TCP"), (5672, "TCP")]
    assert "to" not in rule


@pytest.mark.row("ST-12")
def test_what_is_turned_off_is_not_there(helm: Helm) -> None:
    off = {
        "networkPolicy": {"enabled": False},
        "redis": {"enabled": False},
        "flower": {"enabled": False},
        "publisher": {"podDisruptionBudget": {"enabled": False}, "serviceAccount": {"create": False, "name": "theirs"}},
        "worker": {"serviceAccount": {"create": False}},
    }
    everything, rest = (by_name(helm.template(CHART, MINIMAL | values)) for values in ({}, off))
    assert sorted({(kind, name) for kind, _, name in everything.keys() - rest.keys()}) == [
        ("Deployment", "flower"),
        *(("NetworkPolicy", name) for name in ("closed", "kubernetes-and-aws", "metrics", "redis", "redis-and-names")),
        ("PodDisruptionBudget", "publisher"),
        ("Service", "flower"),
        ("Service", "redis"),
        ("ServiceAccount", "publisher"),
        ("ServiceAccount", "worker"),
        ("StatefulSet", "redis"),
    ]
    assert maker(rest, "publisher")["spec"]["template"]["spec"]["serviceAccountName"] == "theirs"


@pytest.mark.row("ST-12")
def test_the_defaults_of_the_reference_are_what_the_chart_has_by_itself(helm: Helm) -> None:
    schema = chart_values.schema()
    given: Json = {"cluster": "production", "keda": {"enabled": True}}
    shown = {value.path: value.deployed for value in chart_values.walk(schema, schema) if value.deployed is not None}
    for path, default in shown.items():
        group = given
        for name in path[:-1]:
            group = group.setdefault(name, {})
        group[path[-1]] = default
    assert helm.template(CHART, given) == helm.template(CHART, MINIMAL | {"keda": {"enabled": True}})
    assert {("worker", "replicas"), ("redis", "storage"), ("keda", "serverAddress")} <= shown.keys()
