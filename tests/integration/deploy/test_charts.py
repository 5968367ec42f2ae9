"""The Helm charts say what Kustomize says, refuse mistakes in values, and are whole when they are packed."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml
from pydantic import TypeAdapter

from berthmaster.redis.settings import ClusterName
from scripts import chart_values
from scripts.release import chart_version
from tests.fixtures.helm import CHARTS, Helm
from tests.fixtures.kube import Kustomize
from tests.support.chart_values import MINIMAL, leaves
from tests.support.deployed import DEPLOY, VERSION, Name, by_name, permitted

Json = dict[str, Any]
CHART, CRDS = CHARTS / "berthmaster", CHARTS / "berthmaster-crds"
REPOSITORY = DEPLOY.parent
HELM_LABELS = {"app.kubernetes.io/managed-by": "Helm", "helm.sh/chart": f"berthmaster-{chart_version(VERSION)}"}


def of_helm(objects: list[Json]) -> dict[Name, Json]:
    """Without what only Helm adds, which each object has: its labels, and the sum that restarts pods."""
    for body in objects:
        labels = body["metadata"]["labels"]
        assert {name: labels.pop(name) for name in HELM_LABELS} == HELM_LABELS
        if not labels:
            del body["metadata"]["labels"]
        if "template" in body.get("spec", {}):
            notes = body["spec"]["template"]["metadata"].get("annotations", {})
            if notes.pop("checksum/settings", None) and not notes:
                del body["spec"]["template"]["metadata"]["annotations"]
    return by_name(objects)


def of_kustomize(objects: list[Json]) -> dict[Name, Json]:
    """Without what the chart leaves to others, and without the sum in the name of the settings."""
    [settings] = [b["metadata"]["name"] for b in objects if b["kind"] == "ConfigMap"]
    left_out = ("Namespace", "CustomResourceDefinition", "Secret")
    text = yaml.safe_dump_all([body for body in objects if body["kind"] not in left_out])
    renamed = list(yaml.safe_load_all(text.replace(settings, "berthmaster")))
    for body in renamed:
        if body["kind"].startswith("ValidatingAdmissionPolicy"):
            del body["metadata"]["namespace"]  # Kustomize does not know that the cluster has them
    return by_name(renamed)


def overlay(folder: Path, *components: str) -> Path:
    """One of a user, on the base."""
    named = ["base", *(f"components/{component}" for component in components)]
    base, *parts = (os.path.relpath(DEPLOY / each, folder) for each in named)
    literals = ["BERTHMASTER_CLUSTER=production", "BERTHMASTER_CELERY__TASK_EVENTS=false", "AWS_REGION=eu-west-1"]
    body = {
        "kind": "Kustomization",
        "resources": [base],
        "components": parts,
        "images": [{"name": "berthmaster", "newName": "registry.example/bm", "newTag": "7"}],
        "configMapGenerator": [
            {"name": "berthmaster", "namespace": "berthmaster", "behavior": "merge", "literals": literals}
        ],
    }
    (folder / "kustomization.yaml").write_text(yaml.safe_dump(body))
    return folder


def accounts(publisher: str | None, worker: str | None) -> Json:
    """Values that name the accounts."""
    names = {"publisher": publisher, "worker": worker}
    return {process: {"serviceAccount": {"name": name}} for process, name in names.items()}


@pytest.mark.row("ST-10")
@pytest.mark.parametrize(
    ("components", "values"),
    [
        (["redis"], {}),
        (
            ["keda", "rabbitmq", "pod-pools-everywhere", "pod-monitor"],
            {
                "redis": {"enabled": False},
                "keda": {"enabled": True},
                "networkPolicy": {"rabbitmq": True},
                "podPools": {"everywhere": True},
                "podMonitor": {"enabled": True},
            },
        ),
    ],
    ids=["redis", "others"],
)
def test_the_chart_renders_object_by_object_what_kustomize_renders(
    helm: Helm, kustomize: Kustomize, tmp_path: Path, components: list[str], values: Json
) -> None:
    own = {
        "image": {"repository": "registry.example/bm", "tag": "7"},
        "settings": {"BERTHMASTER_CELERY__TASK_EVENTS": "false", "AWS_REGION": "eu-west-1"},
    }
    expected = of_kustomize(kustomize(overlay(tmp_path, *components)))
    rendered = of_helm(helm.template(CHART, MINIMAL | own | values))
    assert sorted(rendered) == sorted(expected)
    for name, body in expected.items():
        assert rendered[name] == body


@pytest.mark.row("ST-10")
def test_the_chart_binds_pod_pools_of_namespaces_as_the_sandbox_does(helm: Helm, kustomize: Kustomize) -> None:
    expected = by_name(kustomize(DEPLOY / "overlays" / "sandbox"))
    rendered = of_helm(helm.template(CHART, MINIMAL | {"podPools": {"namespaces": ["ci", "databases", "games"]}}))
    bindings = [name for name in rendered if name[0] == "RoleBinding" and name[2] == "berthmaster-pod-pools"]
    assert [namespace for _, namespace, _ in bindings] == ["ci", "databases", "games"]
    assert [rendered[name] for name in bindings] == [expected[name] for name in bindings]


@pytest.mark.row("ST-10")
def test_a_parent_chart_may_have_it_on_a_condition(helm: Helm) -> None:
    parents = MINIMAL | {"enabled": True, "global": {"region": "eu"}}
    assert helm.template(CHART, parents) == helm.template(CHART, MINIMAL)


@pytest.mark.row("ST-11")
def test_the_chart_of_the_definitions_has_those_of_deploy_and_keeps_them(helm: Helm, kustomize: Kustomize) -> None:
    rendered = by_name(helm.template(CRDS))
    for body in rendered.values():
        assert body["metadata"].pop("annotations") == {"helm.sh/resource-policy": "keep"}
    assert rendered == by_name(kustomize(DEPLOY / "crds"))


@pytest.mark.row("ST-10")
def test_no_right_and_no_label_is_on_another_object(helm: Helm, kustomize: Kustomize) -> None:
    """A merge that changes its first argument gave every editor the rights of the workers."""
    rendered = helm.template(CHART, MINIMAL | {"podMonitor": {"enabled": True, "labels": {"release": "prometheus"}}})
    assert permitted(rendered) == permitted(kustomize(DEPLOY / "overlays" / "eks"))
    labelled = {
        f"{body['metadata']['name']} {label}"
        for body in rendered
        for label in body["metadata"]["labels"]
        if "aggregate-to" in label or label == "release"
    }
    assert labelled == {
        "berthmaster-view rbac.authorization.k8s.io/aggregate-to-view",
        "berthmaster-edit rbac.authorization.k8s.io/aggregate-to-edit",
        "berthmaster release",
    }


@pytest.mark.row("ST-15")
@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({}, "cluster"),
        ({"cluster": "<name of this cluster>"}, "/cluster"),
        (MINIMAL | {"workers": {}}, "workers"),
        (MINIMAL | {"worker": {"replica": 3}}, "at '/worker': additional properties 'replica' not allowed"),
        (MINIMAL | {"worker": {"replicas": "three"}}, "/worker/replicas"),
        (MINIMAL | {"beat": {"replicas": 2}}, "at '/beat': additional properties 'replicas' not allowed"),
        (MINIMAL | {"worker": {"resources": {"limits": {"cpu": "lots"}}}}, "/worker/resources/limits/cpu"),
        (MINIMAL | {"worker": {"resources": {"limit": {"cpu": 1}}}}, "additional properties 'limit' not allowed"),
        (MINIMAL | {"redis": {"storage": "5GB"}}, "/redis/storage"),
        (MINIMAL | {"image": {"digest": "latest"}}, "/image/digest"),
        (MINIMAL | {"settings": {"BERTHMASTER_METRICS__PORT": 9090}}, "/settings/BERTHMASTER_METRICS__PORT"),
        (MINIMAL | {"settings": {"BAD-NAME x": "1"}}, "'BAD-NAME x'"),
        (MINIMAL | {"settings": {"BERTHMASTER_CLUSTER": "other"}}, "settings.BERTHMASTER_CLUSTER"),
        (MINIMAL | {"flower": {"extraEnv": [{"name": "A B"}]}}, "/flower/extraEnv/0/name"),
        (MINIMAL | {"beat": {"extraEnv": [{"name": "BERTHMASTER_CLUSTER", "value": "other"}]}}, "beat.extraEnv: BERTH"),
        (MINIMAL | {"image": {"repository": "registry.example:5000/bm:7"}}, "/image/repository"),
        (MINIMAL | {"image": {"tag": "a b"}}, "/image/tag"),
        (MINIMAL | {"secretName": "a..b"}, "/secretName"),
        (MINIMAL | {"podPools": {"namespaces": ["Games"]}}, "/podPools/namespaces/0"),
        (MINIMAL | {"worker": {"podDisruptionBudget": {"maxUnavailable": "half"}}}, "/worker/podDisruptionBudget"),
        (MINIMAL | {"keda": {"enabled": True, "maxReplicaCount": 1}}, "keda.minReplicaCount 2 is greater"),
        (MINIMAL | accounts("one", "one"), "both create one"),
        (MINIMAL | accounts("worker", None), "both create worker"),
    ],
    ids=str,
)
def test_a_mistake_in_the_values_is_refused_and_named(helm: Helm, values: Json, said: str) -> None:
    done = helm.run("template", str(CHART), values=values)
    assert done.returncode != 0
    assert said in done.stderr
    assert len(re.findall("^- at ", done.stderr, re.MULTILINE)) <= 1  # one mistake is told once


@pytest.mark.row("ST-15")
@pytest.mark.parametrize("size", ["500m", "1.5", ".5", "2e3", "128Mi", "1G", "100k", 2, 0.25])
def test_quantities_of_kubernetes_are_taken(helm: Helm, size: str | float) -> None:
    resources = {"requests": {"cpu": size}, "limits": {"example.com/gpu": size}}
    objects = by_name(helm.template(CHART, MINIMAL | {"worker": {"resources": resources}}))
    [container] = objects["Deployment", "berthmaster", "worker"]["spec"]["template"]["spec"]["containers"]
    assert container["resources"] == resources


@pytest.mark.row("ST-15")
def test_the_name_of_a_cluster_is_what_processes_take_for_one() -> None:
    rules = TypeAdapter(ClusterName).json_schema()
    assert rules.pop("minLength") == 1  # the pattern asks for it, and helm says one thing
    written = chart_values.schema()["properties"]["cluster"]
    assert {name: written[name] for name in rules} == rules


@pytest.mark.row("ST-15")
def test_null_leaves_what_there_is_or_is_refused(helm: Helm) -> None:
    """By null Helm removes a value with its default. A group, a switch or a name without its default is missing."""
    schema = chart_values.schema()
    values = list(chart_values.walk(schema, schema))
    needed = {value.path for value in values if value.is_group or value.default not in (None, [], {})}
    needed.add(("cluster",))
    assert {value.path for value in values if value.must_be_there} == needed
    given: Json = {"cluster": "production"}
    for path in (value.path for value in values if value.path not in needed):
        group = given
        for name in path[:-1]:
            group = group.setdefault(name, {})
        group[path[-1]] = None
    assert helm.template(CHART, given) == helm.template(CHART, MINIMAL)
    for path in [("worker",), ("image", "repository"), ("worker", "serviceAccount"), ("flower", "enabled")]:
        done = helm.run("template", str(CHART), "--set", f"cluster=production,{'.'.join(path)}=null")
        assert f"missing property '{path[-1]}'" in done.stderr


@pytest.mark.row("ST-14")
def test_one_account_for_both_is_made_by_somebody_else(helm: Helm) -> None:
    both = accounts("one", "one")
    both["worker"]["serviceAccount"]["create"] = False
    names = [b["metadata"]["name"] for b in helm.template(CHART, MINIMAL | both) if b["kind"] == "ServiceAccount"]
    assert names == ["one"]


@pytest.mark.row("ST-15")
def test_helm_finds_nothing_to_say_of_the_charts(helm: Helm) -> None:
    for chart in (CHART, CRDS):
        said = helm("lint", "--strict", str(chart), values=MINIMAL if chart == CHART else {})
        assert "[WARNING]" not in said
        assert "[ERROR]" not in said


@pytest.mark.row("ST-15")
def test_the_values_of_the_chart_are_those_of_its_schema() -> None:
    written = (CHART / "values.yaml").read_text(encoding="utf-8")
    assert written == chart_values.values_yaml(), "run `make reference`"
    schema = chart_values.schema()
    given = {
        value.path: value.default
        for value in chart_values.walk(schema, schema)
        if not value.is_group and not value.required
    }
    body = yaml.safe_load(written)
    assert set(leaves(body)) == given.keys()
    assert body["worker"]["podDisruptionBudget"] == {"enabled": True, "maxUnavailable": None}


@pytest.mark.row("ST-16")
def test_the_charts_have_the_version_of_the_project() -> None:
    version = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())["project"]["version"]
    for chart in (CHART, CRDS):
        body = yaml.safe_load((chart / "Chart.yaml").read_text())
        assert (body["version"], body["appVersion"]) == (chart_version(version), version)


@pytest.mark.row("ST-16")
def test_a_package_of_a_chart_is_whole(helm: Helm, tmp_path: Path) -> None:
    """It has all that the charts read."""
    for chart in (CHART, CRDS):
        helm("package", str(chart), "--destination", str(tmp_path))
        values = MINIMAL if chart == CHART else {}
        package = tmp_path / f"{chart.name}-{chart_version(VERSION)}.tgz"
        assert helm.template(package, values) == helm.template(chart, values)


@pytest.mark.row("ST-16")
def test_a_source_distribution_has_the_charts(helm: Helm, tmp_path: Path) -> None:
    source = tmp_path / "source"
    shutil.copytree(DEPLOY, source / "deploy")
    shutil.copy(REPOSITORY / "MANIFEST.in", source)
    (source / "pyproject.toml").write_text('[project]\nname = "berthmaster-server"\nversion = "0"\n')
    build = "import setuptools.build_meta as build; build.build_sdist('dist')"
    done = subprocess.run([sys.executable, "-c", build], cwd=source, check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    [archive] = (source / "dist").glob("*.tar.gz")
    with tarfile.open(archive) as file:
        file.extractall(tmp_path / "unpacked", filter="data")
    [folder] = (tmp_path / "unpacked").iterdir()
    for chart in (CHART, CRDS):
        values = MINIMAL if chart == CHART else {}
        assert helm.template(folder / chart.relative_to(REPOSITORY), values) == helm.template(chart, values)
