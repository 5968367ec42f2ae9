"""The limits and times of the sandbox AWS. `POST /_settings` changes every value while the sandbox runs."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict, Field


class Quotas(BaseModel):
    """AWS's default limits. AWS never raises the number of listeners of a Network Load Balancer."""

    model_config = ConfigDict(extra="forbid")

    load_balancers: int = 50
    listeners_per_load_balancer: int = 50
    target_groups: int = 3000
    targets_per_target_group: int = 1000
    targets_per_load_balancer: int = 3000
    tags_per_resource: int = 50


class Bucket(BaseModel):
    """A token bucket: calls per second, and calls at once."""

    model_config = ConfigDict(extra="forbid")

    per_second: float
    burst: int


class Settings(BaseModel):
    """Times are in seconds. `page_size` is far below AWS's 400, so that code without paging fails."""

    model_config = ConfigDict(extra="forbid")

    quotas: Quotas = Quotas()
    provisioning: float = Field(default=0.0, description="how long a new load balancer is `provisioning`")
    initial: float = Field(default=0.0, description="how long a new target is `initial`")
    draining: float = Field(default=0.0, description="how long a deregistered target is `draining`")
    page_size: int = Field(default=50, ge=1, le=400)
    latency: float = Field(default=0.0, description="added to every call")
    throttle: bool = False
    buckets: dict[str, Bucket] = Field(
        default={
            "register": Bucket(per_second=5, burst=25),
            "modify": Bucket(per_second=4, burst=25),
            "write": Bucket(per_second=12, burst=50),
            "describe": Bucket(per_second=12, burst=50),
        },
        description="a little above what the fleet permits itself by default",
    )
    policies: dict[str, list[dict[str, Any]]] = Field(
        default={}, description="access key to the statements of its IAM policy; other keys may do anything"
    )
