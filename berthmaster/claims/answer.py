"""What workers tell a service about a claim that it asked for. The shape of endpoints is that of a claim's status."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

BOUND = ("Bound", "Outdated")
"""Phases of a claim whose pod may be used."""


class ClaimEndpoint(BaseModel):
    """A public endpoint of a pod: its ports from `port` to `endPort`."""

    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True, frozen=True)

    name: Annotated[str, Field(description="as the pod asks for it; empty if the pod gives it none")] = ""
    container_port: Annotated[int, Field(description="the first port in the pod")]
    protocol: Annotated[str, Field(description="TCP, UDP, TCPUDP or TLS")] = ""
    pool: Annotated[str, Field(description="the PortPool")] = ""
    load_balancer: Annotated[str, Field(description="id of the load balancer")] = ""
    host: Annotated[str, Field(description="DNS name of the load balancer")]
    port: Annotated[int, Field(description="the first public port")]
    end_port: Annotated[int, Field(description="the last public port")]
    address: Annotated[str, Field(description="host:port")]
    status: Annotated[str, Field(description="Ready, or NotReady while the load balancer sends nothing to the pod")]


class ClaimAnswer(BaseModel):
    """An answer about a claim. The latest one counts."""

    model_config = ConfigDict(
        alias_generator=to_camel, populate_by_name=True, frozen=True, use_attribute_docstrings=True
    )

    phase: str = "Pending"
    """The phase in the claim's status. `Bound` and `Outdated`: the pod may be used."""

    pod_name: str | None = None
    """The pod that the claim has."""

    node_name: str | None = None
    """Node of that pod."""

    pod_ips: Annotated[tuple[str, ...] | None, Field(alias="podIPs")] = None
    """Addresses of that pod."""

    endpoints: tuple[ClaimEndpoint, ...] | None = None
    """Public endpoints of that pod. Null: it asks for no ports, or the claim waits for them."""

    message: str = ""
    """What the claim waits for, for people."""

    problem: str | None = None
    """Why there is no such claim and will be none, with the field that is to blame. Null: there is one."""

    calls: tuple[str, ...] | None = None
    """Whom the answer concerns: the `call` of each request, null for all who ask for the claim."""

    version: int | None = None
    """It grows with each change of the claim: an answer with a lower one than the last is old. Null: about no claim."""

    @property
    def bound(self) -> bool:
        """Whether the pod may be used."""
        return self.problem is None and self.phase in BOUND

    def concerns(self, call: str | None) -> bool:
        """Tell whether the answer is for this call."""
        return self.calls is None or call in self.calls

    def follows(self, last: ClaimAnswer | None) -> bool:
        """Tell whether the answer is not older than the last one."""
        return last is None or None in (self.version, last.version) or (self.version or 0) >= (last.version or 0)
