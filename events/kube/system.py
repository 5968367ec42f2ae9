"""Identify a Kubernetes cluster by the UID of its namespace kube-system, which exists as long as the cluster."""

from __future__ import annotations

from typing import Final

from domain.kubernetes.objects import KubeObject
from events.kube.api import Denied, KubeApi, NotFound

NAMESPACE: Final = "kube-system"


def read_system(kube: KubeApi) -> str:
    """Return the UID, '' for an account that may not read it. Raises KubeError while the API is unavailable."""
    try:
        return KubeObject(kube.get(f"/api/v1/namespaces/{NAMESPACE}")).uid
    except (Denied, NotFound):
        return ""
