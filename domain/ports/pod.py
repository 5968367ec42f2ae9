"""A pod as the port decisions see it, and the annotations that we read and write."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from enum import StrEnum
from functools import lru_cache
from ipaddress import AddressValueError, IPv4Address, IPv6Address
from typing import Any, Final

from domain.kubernetes.names import (
    CERTIFICATE,
    ENDPOINTS,
    PORTS,
    PORTS_ENABLED,
    PORTS_MESSAGE,
    PORTS_RETAIN,
    PORTS_STATE,
    PREFIX,
    SAME_PORT,
)

OFF = frozenset({"false", "no", "off", "0"})
"""All accepted, because people isolate pods in a hurry."""
LIMITS: Final[Mapping[str, int]] = {
    PORTS: 16_384,
    PORTS_ENABLED: 256,
    PORTS_RETAIN: 256,
    SAME_PORT: 256,
    CERTIFICATE: 512,
    ENDPOINTS: 262_144,  # what Kubernetes allows all annotations of an object together
    PORTS_STATE: 256,
    PORTS_MESSAGE: 1024,
}
"""Characters of each annotation of ours. A longer value is cut, so that nobody fills our memory by an annotation."""
INPUTS = (PORTS, PORTS_ENABLED, PORTS_RETAIN, SAME_PORT, CERTIFICATE)
KEPT_OF_OVERSIZED = 64
MOST_UNKNOWN = 10
ALIKE: Final = 0.8
"""How alike a mistyped name and the one that is meant are, from 0 to 1."""


@dataclass(frozen=True)
class Annotations:
    """What is kept of a pod's annotations: `values` of those that we know, and the names of a few `unknown` ones.

    `oversized` has the lengths of values that were cut. A cut value ends with an ellipsis, which no valid value does:
    so nobody takes it for a shorter request.
    """

    values: Mapping[str, str] = field(default_factory=dict)
    unknown: tuple[str, ...] = ()
    oversized: Mapping[str, int] = field(default_factory=dict)

    @classmethod
    def of(cls, annotations: Mapping[str, str]) -> Annotations:
        """Keep what we know of a pod's annotations."""
        ours = [name for name in annotations if name.startswith(PREFIX)]
        values = {name: annotations[name] for name in LIMITS if name in annotations}
        unknown = sorted(name for name in ours if name not in LIMITS) if len(ours) > len(values) else []
        oversized = {name: len(value) for name, value in values.items() if len(value) > LIMITS[name]}
        for name in oversized:
            values[name] = f"{values[name][:KEPT_OF_OVERSIZED]}…"
        return cls(values, tuple(unknown[:MOST_UNKNOWN]), oversized)


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


DENYING: Final = frozenset({PortsState.NO_PORT_AVAILABLE, PortsState.POOL_NOT_FOUND, PortsState.POOL_NOT_ALLOCATABLE})
"""States that say that the pod has not got its ports."""


@dataclass(frozen=True)
class Outputs:
    """What we publish on a pod; None means that the annotation is absent."""

    state: str | None = None
    endpoints: str | None = None
    message: str | None = None

    @property
    def denies_ports(self) -> bool:
        """Whether people read here that the pod has not got its ports."""
        return self.state in DENYING


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
    unknown_annotations: tuple[str, ...] = ()  # the first few by name that have our prefix
    oversized: Mapping[str, int] = field(default_factory=dict)  # annotation -> its length; the value is cut

    @classmethod
    def from_snapshot(cls, version: int, body: Mapping[str, Any]) -> PodView:
        """Read a snapshot; one of an older version kept whatever has our prefix, and is cut here."""
        kept = Annotations.of(body.get("annotations") or {})
        return cls(
            namespace=body["namespace"],
            name=body["name"],
            uid=body["uid"],
            version=version,
            annotations=kept.values,
            unknown_annotations=tuple(body.get("unknown") or kept.unknown),
            oversized={**kept.oversized, **(body.get("oversized") or {})},
            ips=tuple(body.get("ips") or ()),
            phase=body.get("phase") or "Pending",
            gate=body.get("gate"),
        )

    @property
    def full_name(self) -> str:
        """`namespace/name`."""
        return f"{self.namespace}/{self.name}"

    @property
    def opted_in(self) -> bool:
        """Whether the pod has the annotation that asks for ports."""
        return PORTS in self.annotations

    @property
    def ended(self) -> bool:
        """Whether its containers have ended for good."""
        return self.phase in ("Succeeded", "Failed")

    @property
    def wants_ports(self) -> bool:
        """False for a pod that has ended: it cannot use a port any more."""
        return self.opted_in and not self.ended

    @property
    def enabled(self) -> bool:
        """False while somebody isolates the pod."""
        return self.annotations.get(PORTS_ENABLED, "true").strip().lower() not in OFF

    @property
    def same_port(self) -> bool:
        """Whether its ports must have the same number in several pools."""
        return self.annotations.get(SAME_PORT, "").lower() == "true"

    @property
    def certificate(self) -> str | None:
        """The ARN for the pod's TLS listeners; None means the certificate of each pool."""
        return self.annotations.get(CERTIFICATE, "").strip() or None

    def address(self, family: str) -> str | None:
        """The pod's first address of the family, None while it has none."""
        return next((ip for ip in self.ips if family_of(ip) == family), None)

    @property
    def outputs(self) -> Outputs:
        """What we have published on this version of the pod."""
        get = self.annotations.get
        return Outputs(get(PORTS_STATE) or None, get(ENDPOINTS) or None, get(PORTS_MESSAGE) or None)

    def shows(self, outputs: Outputs) -> bool:
        """Whether the pod has the outputs already, its readiness included."""
        return self.outputs == outputs and self.gate in (None, readiness(outputs))

    @property
    def warnings(self) -> str | None:
        """A message about annotations that we ignore, None for none."""
        unknown = self.unknown_annotations
        return f"ignored, unknown: {', '.join(unknown)}"[:512] if unknown else None

    @property
    def mistyped(self) -> dict[str, str]:
        """Annotations that are surely mistyped, each with the input that is meant."""
        meant = {name.removeprefix(PREFIX): name for name in INPUTS}
        near = {
            name: get_close_matches(name.removeprefix(PREFIX), meant, 1, ALIKE) for name in self.unknown_annotations
        }
        return {name: meant[match[0]] for name, match in near.items() if match}

    @property
    def oversize(self) -> str | None:
        """Which annotation of the request is too long to be read, None for none."""
        name = next((annotation for annotation in INPUTS if annotation in self.oversized), None)
        if name is None:
            return None
        return f"{name} has {self.oversized[name]} characters, at most {LIMITS[name]} are read: shorten it"


def readiness(outputs: Outputs) -> str:
    """The status of the condition GATE that goes with the outputs."""
    return "True" if outputs.state == PortsState.BOUND else "False"


@lru_cache(maxsize=4096)  # a run asks for the addresses of one pod and its targets again and again
def family_of(text: str) -> str | None:
    """ipv4 or ipv6; None for a text that is no address in the canonical spelling. Total: a pod's author writes it."""
    try:
        parsed = IPv6Address(text) if ":" in text else IPv4Address(text)
    except AddressValueError:
        return None
    odd = isinstance(parsed, IPv6Address) and (parsed.scope_id or parsed.ipv4_mapped)
    return f"ipv{parsed.version}" if str(parsed) == text and not odd else None
