"""The doctor asks for exactly what deploy/base grants."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from events.settings import PublisherSettings
from workers.cli.permissions import Permission, of_pod_pools, of_publisher, of_worker

BASE = Path(__file__).parents[3] / "deploy" / "base"
Grant = tuple[str, str, str, str, str]
"""Role, verb, group, resource, name."""


def roles(file: str) -> list[dict[str, Any]]:
    bodies = yaml.safe_load_all((BASE / file).read_text(encoding="utf-8"))
    return [body for body in bodies if body and body["kind"] in ("Role", "ClusterRole")]


def granted(file: str) -> set[Grant]:
    return {
        (role["metadata"]["name"], verb, group, resource, name)
        for role in roles(file)
        for rule in role["rules"]
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        for verb in rule["verbs"]
        for name in rule.get("resourceNames", [""])
    }


def wanted(permissions: list[Permission]) -> set[Grant]:
    return {(each.role, each.verb, each.group, each.resource, each.name) for each in permissions}


@pytest.mark.row("EV-18")
def test_the_doctor_asks_for_what_the_workers_roles_grant() -> None:
    assert wanted([*of_worker(), *of_pod_pools("a")]) == granted("worker-access.yaml")


@pytest.mark.row("EV-18")
def test_the_doctor_asks_for_what_the_publishers_roles_grant() -> None:
    assert wanted([*of_publisher(PublisherSettings())]) == granted("publisher-access.yaml")


def test_a_publisher_of_one_namespace_needs_no_more_than_that() -> None:
    settings = PublisherSettings(namespace="games", failures=False)
    asked = list(of_publisher(settings))
    assert {each.namespace for each in asked if each.resource == "pods"} == {"games"}
    assert {each.namespace for each in asked if each.resource == "portpools"} == {""}
    assert [(each.verb, each.namespace) for each in asked if each.resource == "events"] == [
        ("create", settings.lease.namespace)
    ]
