"""What of the cluster concerns us at all: decided per event, before anything is sent to Redis.

Most pods of a cluster never ask for anything, so a pod that did not opt in must cost nothing. The old state counts
as well as the new: a pod that is already known is followed until it is gone, else nobody would see that it took its
annotation away and that its ports are free.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from domain.kubernetes.names import PORTS
from domain.kubernetes.objects import KubeObject

COMPONENT: Final = "berthmaster"
"""The reporter of the Kubernetes Events that we write; an Event of ours must not wake the run that wrote it."""


def opted_in(pod: KubeObject) -> bool:
    """Whether the pod asks for ports."""
    return PORTS in pod.annotations


def always(_: KubeObject) -> bool:
    """For kinds that are ours: every object of them opted in."""
    return True


def reporter(event: Mapping[str, Any]) -> str:
    """Who wrote a Kubernetes Event, in the new field or the old one."""
    return event.get("reportingComponent") or (event.get("source") or {}).get("component") or ""


def of_others(event: Mapping[str, Any]) -> bool:
    """Whether a Kubernetes Event was written by another program."""
    return not reporter(event).startswith(COMPONENT)
