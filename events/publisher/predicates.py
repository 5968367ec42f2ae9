"""Decide per event whether an object concerns Berthmaster, before anything is sent to Redis.

Most pods of a cluster never ask for ports, so a pod that did not opt in must cost nothing. The old state counts as well
as the new: a known pod is followed until it is gone. Otherwise no run would learn that the pod removed its annotation
and that its ports are free.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from domain.kubernetes.names import PORTS
from domain.kubernetes.objects import KubeObject

COMPONENT: Final = "berthmaster"
"""The reporter of the Kubernetes Events that we write; an Event of ours must not wake the run that wrote it."""


def opted_in(pod: KubeObject) -> bool:
    """Return whether the pod asks for ports."""
    return PORTS in pod.annotations


def always(_: KubeObject) -> bool:
    """Return True: every object of our own kinds opted in."""
    return True


def reporter(event: Mapping[str, Any]) -> str:
    """Return the author of a Kubernetes Event, from the new field or the old one."""
    return event.get("reportingComponent") or (event.get("source") or {}).get("component") or ""


def of_others(event: Mapping[str, Any]) -> bool:
    """Return whether another program wrote the Kubernetes Event."""
    return not reporter(event).startswith(COMPONENT)
