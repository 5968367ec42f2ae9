"""The status of a PortPool, as people read it with kubectl. The CRD declares the same fields.

The status contains no time and no count of attempts: a text that changes by itself would wake runs for ever.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, Final

from pydantic import Field

from domain.status import Condition, Shape, write_refused

MOST_NAMED: Final = 10


class LoadBalancerStatus(Shape):
    """A load balancer of the pool."""

    name: str
    arn: str
    dns_name: str
    state: Annotated[
        str,
        Field(
            description="Active, Full, Filling (its listeners are being made), Blocked (no new ports), Retiring (will "
            "be removed), NotFound (in AWS), Unusable (see the condition LoadBalancersFound)"
        ),
    ]
    allocated: Annotated[int, Field(description="ports in use")]
    capacity: Annotated[int, Field(description="ports that it can carry for this pool")]
    auto_created: Annotated[bool, Field(description="ours, and removed with the pool")]
    foreign_listeners: Annotated[int, Field(description="listeners of others, which count against the 50 of AWS")]


class PortPoolStatus(Shape):
    """The observed state of the pool. Only workers write it."""

    state: Annotated[str, Field(description="Pending, Active or Deleting")]
    epoch: Annotated[int, Field(description="number of the present capacity; raised whenever capacity is added")]
    observed_generation: Annotated[int, Field(description="metadata.generation that this status is about")]
    capacity: Annotated[int, Field(description="ports that the pool can give now; growth to come is not in it")]
    allocated: Annotated[int, Field(description="ports in use")]
    waiting: Annotated[int, Field(description="pods that wait for a port")]
    load_balancer_count: Annotated[int, Field(description="load balancers that it has")]
    load_balancers: list[LoadBalancerStatus]
    conditions: list[Condition]


@dataclass(frozen=True)
class LoadBalancerLine:
    """One load balancer of a pool. `special` is a state that replaces Active and Full, if there is one."""

    name: str
    arn: str
    dns_name: str
    allocated: int
    capacity: int
    auto_created: bool
    foreign: int
    special: str | None = None

    @property
    def state(self) -> str:
        """The state that the status shows."""
        return self.special or ("Full" if self.allocated >= self.capacity else "Active")


@dataclass(frozen=True)
class Findings:
    """What people must know about a pool, in words; None for nothing.

    `invalid` is a fault of the spec, `conflict` one with another pool, `unusable` those of load balancers (ARN: why).
    `trouble` is what the cloud refused, `refused` what Kubernetes did, `left` what keeps the pool from being deleted.
    `growable`: load balancers may still be created.
    """

    invalid: str | None = None
    conflict: str | None = None
    unusable: Mapping[str, str] = field(default_factory=dict)
    trouble: str | None = None
    refused: str | None = None
    left: str | None = None
    growable: bool = False


def pool_status(
    state: str,
    epoch: str,
    waiting: int,
    lines: Iterable[LoadBalancerLine],
    generation: int,
    findings: Findings = Findings(),
) -> dict[str, Any]:
    """Build the status to write."""
    rows = [_row(line) for line in lines]
    return PortPoolStatus(
        state=state,
        epoch=int(epoch or 0),
        observed_generation=generation,
        capacity=sum(row.capacity for row in rows),
        allocated=sum(row.allocated for row in rows),
        waiting=waiting,
        load_balancer_count=len(rows),
        load_balancers=rows,
        conditions=[
            _valid(findings),
            _load_balancers_found(findings.unusable),
            _ready(state, rows, findings),
            *([write_refused(findings.refused)] if findings.refused else []),
        ],
    ).model_dump(by_alias=True)


def _valid(findings: Findings) -> Condition:
    reason = "Invalid" if findings.invalid else "Conflict" if findings.conflict else "Accepted"
    problem = findings.invalid or findings.conflict
    return _condition("Valid", not problem, reason, problem or "")


def _load_balancers_found(unusable: Mapping[str, str]) -> Condition:
    faults = [f"{arn}: {why}" for arn, why in sorted(unusable.items())]
    more = f" (and {len(faults) - MOST_NAMED} more)" if len(faults) > MOST_NAMED else ""
    message = "; ".join(faults[:MOST_NAMED]) + more
    return _condition("LoadBalancersFound", not faults, "Unusable" if faults else "AllFound", message)


def _ready(state: str, rows: Sequence[LoadBalancerStatus], findings: Findings) -> Condition:
    """Whether the pool can give a port, now or after a scale-up."""
    room = any(row.allocated < row.capacity for row in rows)
    reasons = {
        "Deleting": state == "Deleting",
        "Invalid": findings.invalid,
        "Conflict": findings.conflict,
        "Refused": not (room and state == "Active") and findings.trouble,
        "Pending": state != "Active",
        "Exhausted": not room and not findings.growable,
    }
    reason = next((name for name, holds in reasons.items() if holds), "Ready")
    messages = {
        "Deleting": findings.left or "the pool is being deleted",
        "Pending": "the ledger of the pool is not ready yet",
        "Exhausted": "no load balancer has a free port, and no other may be created",
    }
    message = messages.get(reason) or (reasons.get(reason) or "")
    return _condition("Ready", reason == "Ready", reason, str(message))


def _row(line: LoadBalancerLine) -> LoadBalancerStatus:
    return LoadBalancerStatus(
        name=line.name,
        arn=line.arn,
        dns_name=line.dns_name,
        state=line.state,
        allocated=line.allocated,
        capacity=line.capacity,
        auto_created=line.auto_created,
        foreign_listeners=line.foreign,
    )


def _condition(kind: str, true: bool, reason: str, message: str) -> Condition:
    return Condition(type=kind, status="True" if true else "False", reason=reason, message=message)
