"""Builders of Kubernetes objects as the API sends them: defaults with overrides."""

from __future__ import annotations

from typing import Any

PORTS = "berthmaster.dev/ports"
Json = dict[str, Any]


def pod(
    name: str = "a", namespace: str = "games", uid: str = "", ports: str | None = "7777/UDP@arena", **meta: Any
) -> Json:
    """A running pod. `ports=None`: without our annotation."""
    annotations = {"other": "kept out", **({PORTS: ports} if ports is not None else {})}
    return {
        "kind": "Pod",
        "apiVersion": "v1",
        "metadata": {
            "name": name,
            "namespace": namespace,
            "uid": uid or f"uid-of-{name}",
            "annotations": annotations,
            **meta,
        },
        "spec": {"containers": [{"name": "main", "image": "example"}]},
        "status": {"phase": "Running", "podIP": "10.0.0.1", "podIPs": [{"ip": "10.0.0.1"}]},
    }


def port_pool(name: str = "arena", **spec: Any) -> Json:
    return {
        "kind": "PortPool",
        "apiVersion": "berthmaster.dev/v1alpha1",
        "metadata": {"name": name, "uid": f"uid-of-{name}", "generation": 1},
        "spec": {"startPort": 7000, "endPort": 7999, **spec},
    }


def failed_event(
    about: str, namespace: str = "games", name: str = "e1", component: str = "other", kind: str = "Pod"
) -> Json:
    """An Event `AllocationFailed` of another controller (or of `component`)."""
    return {
        "kind": "Event",
        "apiVersion": "v1",
        "metadata": {"name": name, "namespace": namespace, "uid": f"uid-of-{name}"},
        "involvedObject": {"kind": kind, "namespace": namespace, "name": about, "uid": f"uid-of-{about}"},
        "reason": "AllocationFailed",
        "message": "no port left",
        "source": {"component": component},
    }
