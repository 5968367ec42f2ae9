"""A boto3 client with our time-outs and without retries.

The region comes from the pool. Credentials come from botocore's own chain (variables, profile, web identity, container,
instance), which renews them before they expire.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import boto3
from botocore.config import Config

from workers.cloud.aws.settings import AwsSettings

if TYPE_CHECKING:
    from mypy_boto3_elbv2 import ElasticLoadBalancingv2Client


def elbv2(settings: AwsSettings, region: str) -> ElasticLoadBalancingv2Client:
    """Build a client with a session of its own: threads may share clients, but not sessions."""
    config = Config(
        connect_timeout=settings.connect_timeout.total_seconds(),
        read_timeout=settings.read_timeout.total_seconds(),
        max_pool_connections=settings.connections,
        retries={"total_max_attempts": 1, "mode": "standard"},
        tcp_keepalive=True,
        user_agent_extra="berthmaster",
    )
    session = boto3.session.Session()
    client: ElasticLoadBalancingv2Client = session.client(
        "elbv2", region_name=region, endpoint_url=settings.endpoint_url, config=config
    )
    return client
