"""The invariants, checked on what the world shows: Kubernetes, AWS and the ledger."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from typing import Any, Protocol

from domain.kubernetes.names import ENDPOINTS, PORTS, PORTS_STATE
from domain.ports.target import address_of, target_text
from events.kube.api import KubeApi
from tests.fixtures.aws import Aws
from workers.cloud.tags import CLUSTER, PRECREATED, RETAIN, UID


class Fleet(Protocol):
    """Whose world is checked: the pods of one namespace, and what AWS has of one cluster."""

    api: KubeApi
    namespace: str
    cluster: str


def published(fleet: Fleet) -> dict[str, list[dict[str, Any]]]:
    """Pod name -> endpoints, of the pods that publish any."""
    pods = fleet.api.list(f"/api/v1/namespaces/{fleet.namespace}/pods")["items"]
    notes = {p["metadata"]["name"]: p["metadata"].get("annotations") or {} for p in pods}
    return {name: json.loads(n[ENDPOINTS]) for name, n in notes.items() if n.get(ENDPOINTS)}


def check_unique(fleet: Fleet) -> None:
    """I1: no port of a load balancer is published by two pods (TCP and UDP of one pod may share one)."""
    places = {
        (name, e["loadBalancer"], port)
        for name, rows in published(fleet).items()
        for e in rows
        for port in range(e["port"], e["endPort"] + 1)
    }
    twice = [place for place, n in Counter((lb, port) for _, lb, port in places).items() if n > 1]
    assert not twice, f"published twice: {twice}"


def check_cloud(fleet: Fleet, aws: Aws) -> None:
    """I7: every listener and target group of ours belongs to an entry of a live pod or is retained, and every bound pod
    has its listener.
    """
    pods = fleet.api.list(f"/api/v1/namespaces/{fleet.namespace}/pods")["items"]
    live = {p["metadata"]["uid"] for p in pods if PORTS in (p["metadata"].get("annotations") or {})}
    driver, places = aws.driver(), set()
    for name, arn in load_balancers(aws).items():  # also those that users gave us
        for listener in driver.listeners(arn):
            if listener.tags.get(CLUSTER) == fleet.cluster:
                owner = owner_of(listener.tags)
                assert owner in live | {""} or _retained(listener.tags), f"orphan listener {listener}"
                places.add((name, listener.port, owner))
    groups = driver.target_groups_owned(fleet.cluster)
    orphans = [
        g.name for g in groups if not (owner_of(g.tags) in live | {""} or _retained(g.tags)) or not g.load_balancer_arns
    ]
    assert not orphans, f"orphan target groups: {orphans}"
    for pod in pods:
        notes, uid = pod["metadata"].get("annotations") or {}, pod["metadata"]["uid"]
        for row in json.loads(notes.get(ENDPOINTS) or "[]") if notes.get(PORTS_STATE) == "Bound" else []:
            for port in range(row["port"], row["endPort"] + 1):
                there = {(row["loadBalancer"], port, owner) for owner in (uid, "")} & places
                assert there, f"{pod['metadata']['name']} has no listener: {row}"


def owner_of(tags: Mapping[str, str]) -> str:
    """The uid; '' of what is precreated, which is nobody's in particular."""
    return "" if PRECREATED in tags else tags[UID]


def check_targets(fleet: Fleet, aws: Aws) -> None:
    """Behind a precreated listener of ours stands what is published there, and nothing else."""
    driver, wanted, found = aws.driver(), dict[tuple[str, int], list[str]](), dict[tuple[str, int], list[str]]()
    for row in (row for rows in published(fleet).values() for row in rows if row["target"]):
        ip, first = address_of(row["target"])
        for n in range(row["endPort"] - row["port"] + 1):
            wanted[row["loadBalancer"], row["port"] + n] = [target_text(ip, first + n)]
    for name, arn in load_balancers(aws).items():
        for listener in driver.listeners(arn):
            if listener.tags.get(CLUSTER) == fleet.cluster and PRECREATED in listener.tags:
                there = [t for t in driver.targets(listener.target_group_arn) if t.health != "draining"]
                found[name, listener.port] = [target_text(t.ip, t.port) for t in there]
    assert {place: there for place, there in found.items() if there} == {p: w for p, w in wanted.items() if p in found}


def load_balancers(aws: Aws) -> dict[str, str]:
    """Name -> ARN of all that there are."""
    pages = aws.client().get_paginator("describe_load_balancers").paginate()
    return {lb["LoadBalancerName"]: lb["LoadBalancerArn"] for page in pages for lb in page["LoadBalancers"]}


def _retained(tags: Mapping[str, str]) -> bool:
    return tags.get(RETAIN, "0") != "0"


def check_all(fleet: Fleet, aws: Aws) -> None:
    check_unique(fleet)
    check_cloud(fleet, aws)
    check_targets(fleet, aws)
