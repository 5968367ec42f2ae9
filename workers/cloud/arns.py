"""What an ARN says: the kind of the resource, and a load balancer's name."""

from __future__ import annotations


def is_load_balancer(arn: str) -> bool:
    """Whether the ARN names a load balancer."""
    return ":loadbalancer/" in arn


def load_balancer_name_in(arn: str) -> str:
    """The load balancer's name in its ARN; the whole text where it is no ARN."""
    parts = arn.split("/")
    return parts[-2] if len(parts) >= 3 else arn
