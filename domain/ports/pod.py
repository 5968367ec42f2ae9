"""A pod as the port decisions see it, and the words that we write on it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from ipaddress import IPv4Address
from typing import Any

PREFIX = "berthmaster.dev/"
PORTS, ENABLED, RETAIN, SAME_PORT = (
    PREFIX + n for n in ("ports", "ports-enabled", "ports-retain", "same-port-across-pools")
)
ENDPOINTS, STATE, MESSAGE = (PREFIX + n for n in ("endpoints", "ports-state", "ports-message"))
KNOWN_ANNOTATIONS = frozenset({PORTS, ENABLED, ENDPOINTS, STATE, MESSAGE})


class PortsState(StrEnum):
    """The values of the annotation `berthmaster.dev/ports-state`."""

    PENDING = "Pending"
    ALLOCATED = "Allocated"
    WAIT_BACKEND = "WaitBackend"
    BOUND = "Bound"
    DISABLED = "Disabled"
    NO_PORT_AVAILABLE = "NoPortAvailable"
    POOL_NOT_FOUND = "PoolNotFound"
    POOL_NOT_ALLOCATABLE = "PoolNotAllocatable"
    FAILED = "Failed"
    RELEASING = "Releasing"


@dataclass(frozen=True)
class Outputs:
    """What we publish on a pod; empty strings mean that the annotation is absent."""

    state: str = ""
    endpoints: str = ""
    message: str = ""


@dataclass(frozen=True)
class PodView:
    """One version of a pod. `version` is its resourceVersion: the precondition of every write decided from it."""

    namespace: str
    name: str
    uid: str
    version: int
    annotations: Mapping[str, str] = field(default_factory=dict)
    ips: tuple[str, ...] = ()
    phase: str = "Pending"

    @classmethod
    def from_snapshot(cls, version: int, body: Mapping[str, Any]) -> PodView:
        return cls(
            namespace=body["namespace"],
            name=body["name"],
            uid=body["uid"],
            version=version,
            annotations=body.get("annotations") or {},
            ips=tuple(body.get("ips") or ()),
            phase=body.get("phase") or "Pending",
        )

    @property
    def full_name(self) -> str:
        return f"{self.namespace}/{self.name}"

    @property
    def wants_ports(self) -> bool:
        """A pod that ended has no use for a port any more."""
        return PORTS in self.annotations and self.phase not in ("Succeeded", "Failed")

    @property
    def enabled(self) -> bool:
        return self.annotations.get(ENABLED, "true").lower() != "false"

    @property
    def ip(self) -> str:
        """The address to register: the first IPv4 of the status, '' while there is none."""
        return next((ip for ip in self.ips if is_ipv4(ip)), "")

    @property
    def outputs(self) -> Outputs:
        get = self.annotations.get
        return Outputs(get(STATE, ""), get(ENDPOINTS, ""), get(MESSAGE, ""))

    @property
    def unknown_annotations(self) -> tuple[str, ...]:
        return tuple(sorted(a for a in self.annotations if a.startswith(PREFIX) and a not in KNOWN_ANNOTATIONS))


def is_ipv4(text: str) -> bool:
    """Total: the text comes from a pod's status or annotation."""
    try:
        return str(IPv4Address(text)) == text
    except ValueError:
        return False
