"""The removal of load balancers in a pool's ledger. One script a method, all by name and ARN."""

from __future__ import annotations

from datetime import timedelta

from berthmaster.redis.incarnation import INCARNATION
from workers.stores.acquired_keys import MILLISECOND, time_left, token_of
from workers.stores.ports.ledger import Ledger
from workers.stores.ports.pool_ledger import PoolLoadBalancer


class Retirement:
    """Removes load balancers from a port pool, step by step."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger

    def retire(self, lb: PoolLoadBalancer, delay: timedelta) -> bool:
        """Retire the load balancer: it gives no more ports. False: it is in use, was until lately, or somebody waits
        for it.
        """
        return self._said("retire_load_balancer", lb, delay // MILLISECOND)

    def confirm(self, lb: PoolLoadBalancer) -> bool:
        """Tell whether the load balancer is still retiring, and empty."""
        return self._said("confirm_retired", lb)

    def forget(self, lb: PoolLoadBalancer) -> bool:
        """Forget the load balancer, which AWS no longer has: its slot is free."""
        return self._said("forget_load_balancer", lb)

    def put_off(self, lb: PoolLoadBalancer, wait: timedelta) -> None:
        """Put the removal off: no run tries it for that long."""
        self._ledger.redis.set(self._key(lb), token_of("put-off", wait), px=wait)

    def is_put_off(self, lb: PoolLoadBalancer) -> bool:
        """Tell whether the removal of the load balancer is put off now."""
        return time_left(self._ledger.redis, self._key(lb)) > timedelta(0)

    def _key(self, lb: PoolLoadBalancer) -> str:
        return f"{self._ledger.prefix}put-off:{lb.arn}"

    def _said(self, script: str, lb: PoolLoadBalancer, *args: int) -> bool:
        return bool(self._ledger.call(script, INCARNATION, lb.name, lb.arn, *args)[0] == b"OK")
