"""What an ARN says about a load balancer."""

from __future__ import annotations


def load_balancer_name_in(arn: str) -> str | None:
    """The load balancer's name in its ARN, None for any other text."""
    parts = arn.split("/")
    return parts[-2] if ":loadbalancer/" in arn and len(parts) >= 3 else None
