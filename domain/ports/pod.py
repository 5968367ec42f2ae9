"""A pod as the port decisions see it, and the words that we write on it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from ipaddress import AddressValueError, IPv4Address, IPv6Address
from typing import Any

PREFIX = "berthmaster.dev/"
PORTS, ENABLED, RETAIN, SAME_PORT = (
    PREFIX + n for n in ("ports", "ports-enabled", "ports-retain", "same-port-across-pools")
)
GATE = PREFIX + "ports-bound"
CERTIFICATE = PREFIX + "certificate-arn"
ENDPOINTS, STATE, MESSAGE = (PREFIX + n for n in ("endpoints", "ports-state", "ports-message"))
OFF = frozenset({"false", "no", "off", "0"})
"""Whoever isolates a pod in a hurry writes any of these."""
KNOWN_ANNOTATIONS = frozenset({PORTS, ENABLED, RETAIN, SAME_PORT, CERTIFICATE, ENDPOINTS, STATE, MESSAGE})


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
    gate: str | None = None  # status of the condition GATE ('' = not there); None: the pod is not ready without it

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
            gate=body.get("gate"),
        )

    @property
    def full_name(self) -> str:
        return f"{self.namespace}/{self.name}"

    @property
    def opted_in(self) -> bool:
        return PORTS in self.annotations

    @property
    def ended(self) -> bool:
        return self.phase in ("Succeeded", "Failed")

    @property
    def wants_ports(self) -> bool:
        """A pod that ended has no use for a port any more."""
        return self.opted_in and not self.ended

    @property
    def enabled(self) -> bool:
        return self.annotations.get(ENABLED, "true").strip().lower() not in OFF

    @property
    def same_port(self) -> bool:
        return self.annotations.get(SAME_PORT, "").lower() == "true"

    @property
    def certificate(self) -> str:
        """ARN for its TLS listeners, '' where each pool's own is meant."""
        return self.annotations.get(CERTIFICATE, "").strip()

    def address(self, family: str) -> str:
        """The address to register in a pool of the family: the first of the status, '' while there is none."""
        return next((ip for ip in self.ips if family_of(ip) == family), "")

    @property
    def outputs(self) -> Outputs:
        get = self.annotations.get
        return Outputs(get(STATE, ""), get(ENDPOINTS, ""), get(MESSAGE, ""))

    def shows(self, outputs: Outputs) -> bool:
        """Whether nothing must be written for the outputs to be on the pod, its readiness included."""
        return self.outputs == outputs and self.gate in (None, readiness(outputs))

    @property
    def warnings(self) -> str:
        unknown = self.unknown_annotations
        return f"ignored, unknown: {', '.join(unknown)}"[:512] if unknown else ""

    @property
    def unknown_annotations(self) -> tuple[str, ...]:
        return tuple(sorted(a for a in self.annotations if a.startswith(PREFIX) and a not in KNOWN_ANNOTATIONS))


def readiness(outputs: Outputs) -> str:
    """Status of the condition GATE that goes with the outputs."""
    return "True" if outputs.state == PortsState.BOUND else "False"


def family_of(text: str) -> str:
    """ipv4 or ipv6, '' for any other text and any other spelling than AWS's. Total: a pod's author may write it."""
    try:
        parsed = IPv6Address(text) if ":" in text else IPv4Address(text)
    except AddressValueError:
        return ""
    odd = isinstance(parsed, IPv6Address) and (parsed.scope_id or parsed.ipv4_mapped)
    return f"ipv{parsed.version}" if str(parsed) == text and not odd else ""
