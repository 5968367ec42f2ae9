"""Creates one precreated listener with its target group.

The run of a pool does it when it fills a load balancer, the run of a pod when its port has lost its listener.
"""

from __future__ import annotations

from datetime import timedelta

import structlog

from berthmaster.errors import TransientError
from domain.port_pools.port_pool import PortPoolSpec
from domain.ports.precreate import listener_of
from domain.ports.want import Protocol
from workers.cloud.driver import GroupSettings, Listener, LoadBalancerApi
from workers.cloud.errors import PortTaken
from workers.cloud.names import target_group_name
from workers.cloud.tags import CLUSTER, POOL, PRECREATED, stock_tags

log = structlog.get_logger()


def is_stock(spec: PortPoolSpec, listener: Listener, in_ledger: bool = False) -> bool:
    """Whether a listener of the pool is the precreated one that belongs on its port.

    `in_ledger`: the ledger has its ARN, so that it counts even if somebody took its tags off.
    """
    protocol = listener_of(spec, listener.port)
    forwards = bool(protocol and listener.target_group_arn and listener.protocol == _listener_protocol(protocol))
    return forwards and (in_ledger or PRECREATED in listener.tags)


class ListenerStock:
    """The precreated listeners of one pool."""

    def __init__(self, driver: LoadBalancerApi, cluster: str, pool: str, spec: PortPoolSpec) -> None:
        self._driver, self._cluster, self._pool, self._spec = driver, cluster, pool, spec

    def create(self, lb: str, arn: str, port: int) -> tuple[str, str]:
        """Create or find listener and target group, and return their ARNs.

        Raises PortTaken when a listener that is not ours has the port, TransientError when one of ours had to go first.
        """
        protocol = listener_of(self._spec, port)
        assert protocol, f"port {port} has no precreated listener"
        tags = stock_tags(self._cluster, self._pool, lb, port)
        name = target_group_name(f"{self._cluster}/{self._pool}", lb, port)
        settings = GroupSettings.of(self._spec)
        group = self._driver.ensure_target_group(name, _listener_protocol(protocol), port, settings, tags)
        try:
            return self._driver.ensure_listener(arn, port, _listener_protocol(protocol), group, tags), group
        except PortTaken:
            self._clear(arn, port, group)
            raise

    def _clear(self, arn: str, port: int, group: str) -> None:
        """Delete a precreated listener of ours that was changed by hand or is of an earlier pool, or the new group."""
        listener = self._driver.find_listener(arn, port)
        ours = listener and listener.tags.get(CLUSTER) == self._cluster and listener.tags.get(POOL) == self._pool
        if listener and ours and PRECREATED in listener.tags:
            self._driver.delete_listener(listener.arn)
            log.info("stale_listener_deleted", pool=self._pool, port=port, listener=listener.arn)
            raise TransientError(f"a stale listener on port {port} was deleted", timedelta(0))
        self._driver.delete_target_group(group)


def _listener_protocol(protocol: Protocol) -> str:
    return "TCP_UDP" if protocol is Protocol.TCPUDP else protocol.value
