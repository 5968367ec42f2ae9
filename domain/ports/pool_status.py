"""The status of a PortPool, as people read it with kubectl. Its shape is the one that the definition declares.

It says nothing about time or attempts: a text that changes by itself would make runs wake themselves for ever.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel


class Shape(BaseModel):
    """Camel case outside."""

    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True, frozen=True)


class LoadBalancerStatus(Shape):
    name: str
    arn: str
    dns_name: str
    state: Annotated[str, Field(description="Active, Full, or NotFound: AWS does not know it")]
    allocated: Annotated[int, Field(description="ports in use")]
    capacity: Annotated[int, Field(description="ports that it can carry for this pool")]
    auto_created: Annotated[bool, Field(description="ours, and removed with the pool")]
    foreign_listeners: Annotated[int, Field(description="listeners of others, which count against the 50 of AWS")]


class Condition(Shape):
    type: str
    status: str
    reason: str
    message: str


class PortPoolStatus(Shape):
    """What a worker saw last. Nobody else writes it."""

    state: Annotated[str, Field(description="Pending, Active or Deleting")]
    epoch: Annotated[int, Field(description="number of the present capacity; raised whenever capacity is added")]
    observed_generation: Annotated[int, Field(description="metadata.generation that this status is about")]
    capacity: Annotated[int, Field(description="ports that the pool can give now; growth to come is not in it")]
    allocated: Annotated[int, Field(description="ports in use")]
    waiting: Annotated[int, Field(description="pods that wait for a port")]
    load_balancer_count: int
    load_balancers: list[LoadBalancerStatus]
    conditions: list[Condition]


@dataclass(frozen=True)
class LoadBalancerLine:
    """One load balancer of a pool. `missing` means that AWS does not know it."""

    name: str
    arn: str
    dns_name: str
    allocated: int
    capacity: int
    auto_created: bool
    foreign: int
    missing: bool = False

    @property
    def state(self) -> str:
        if self.missing:
            return "NotFound"
        return "Full" if self.allocated >= self.capacity else "Active"


def pool_status(
    state: str, epoch: str, waiting: int, lines: Iterable[LoadBalancerLine], generation: int, problem: str = ""
) -> dict[str, Any]:
    """The object to write. `problem` is what is wrong with the spec, '' for nothing."""
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
        conditions=[_condition("Valid", not problem, "Invalid" if problem else "Accepted", problem)],
    ).model_dump(by_alias=True)


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
