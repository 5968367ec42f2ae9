"""Making one precreated listener with its target group, by whoever needs it: the run of the pool, which fills a load
balancer, or that of a pod whose port has lost its own.
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


def is_stock(spec: PortPoolSpec, listener: Listener, known: bool = False) -> bool:
    """Whether a listener of the pool is the precreated one that belongs on its port.

    `known`: the ledger knows it, so that tags which were removed by hand do not count.
    """
    wanted = listener_of(spec, listener.port)
    forwards = bool(wanted and listener.target_group_arn and listener.protocol == _word(wanted))
    return forwards and (known or PRECREATED in listener.tags)


class ListenerStock:
    """On behalf of one caller, for one pool."""

    def __init__(self, driver: LoadBalancerApi, cluster: str, pool: str, spec: PortPoolSpec) -> None:
        self._driver, self._cluster, self._pool, self._spec = driver, cluster, pool, spec

    def make(self, lb: str, arn: str, port: int) -> tuple[str, str]:
        """ARNs of listener and target group, made or found.

        Raises PortTaken when a stranger has the port, TransientError when a leftover of ours had to go first.
        """
        protocol = listener_of(self._spec, port)
        assert protocol, f"port {port} has no precreated listener"
        tags = stock_tags(self._cluster, self._pool, lb, port)
        name = target_group_name(f"{self._cluster}/{self._pool}", lb, port)
        settings = GroupSettings.of(self._spec)
        group = self._driver.ensure_target_group(name, _word(protocol), port, settings, tags)
        try:
            return self._driver.ensure_listener(arn, port, _word(protocol), group, tags), group
        except PortTaken:
            self._clear(arn, port, group)
            raise

    def _clear(self, arn: str, port: int, group: str) -> None:
        """A precreated listener of ours that is not what it should be was changed by hand, or is of an earlier pool."""
        found = self._driver.find_listener(arn, port)
        ours = found and found.tags.get(CLUSTER) == self._cluster and found.tags.get(POOL) == self._pool
        if found and ours and PRECREATED in found.tags:
            self._driver.delete_listener(found.arn)
            log.info("stale_listener_deleted", pool=self._pool, port=port, listener=found.arn)
            raise TransientError(f"a stale listener on port {port} was deleted", timedelta(0))
        self._driver.delete_target_group(group)


def _word(protocol: Protocol) -> str:
    """AWS's."""
    return "TCP_UDP" if protocol is Protocol.TCPUDP else protocol.value
