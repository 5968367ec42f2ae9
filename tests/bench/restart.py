"""What a restart of all workers asks of AWS while many pods are bound: next to nothing, for nothing has changed.

Allowed are two full lists of what there is, in pages of AWS's sizes, and no write.
"""

from __future__ import annotations

import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any, Final

from compose.sandbox.stack import Stack
from domain.port_pools.providers import MOST_LISTENERS
from tests.bench.convergence import counts
from tests.bench.crowd import Crowd
from tests.bench.measuring import Figure, Report, Tell
from tests.bench.memory_stack import GENEROUS
from tests.support.waiting import eventually

NAME: Final = "restart"
WATCHED: Final = 20.0
"""Seconds after the restart: several sweeps, and the leases of what was held."""


def run(quick: bool, tell: Tell) -> Report:
    count = 100 if quick else 1000
    settings = GENEROUS | {"BERTHMASTER_PORTS__AUDIT_EVERY": "1h"}
    with (
        tempfile.TemporaryDirectory() as folder,
        Stack(Path(folder), flower=False, throttle=False, settings=settings) as stack,
    ):
        stack.start(lambda what: tell(f"started {what}"))
        stack.complete()
        eventually(stack.working, timeout=60)
        api, network = stack.kube.api("bench"), stack.remote_aws.network()
        stack.remote_aws.change(quotas={"target_groups": 2 * count, "load_balancers": count})
        with Crowd(api) as crowd:
            most = -(-count // MOST_LISTENERS) + 1
            create = {"enabled": True, "maxLoadBalancers": most, "parameters": {"subnets": list(network.subnets)}}
            crowd.pool(vpcId=network.vpc, autoCreate=create)
            names = crowd.make(count)
            crowd.ask(names)
            crowd.wait_for("Bound", names, 600, stack.check)
            tell(f"{count} pods are bound")
            calls = restarted(stack)
        api.close()
    return Report(NAME, figures(count, calls), {"pods": count, "calls": dict(calls)})


def restarted(stack: Stack) -> Counter[str]:
    """The calls until some time after all workers work again."""
    time.sleep(5)  # what follows the last bind: sweeps, the pool's status
    before = counts(stack)
    for worker in stack.workers:
        worker.kill()
        stack.heartbeat(worker.name).unlink()
        worker.launch()
    eventually(stack.working, timeout=60)
    time.sleep(WATCHED)
    stack.check()
    return counts(stack) - before


def figures(pods: int, calls: Counter[str]) -> tuple[Figure, ...]:
    balancers = -(-pods // MOST_LISTENERS)
    allowed = 2 * (balancers / 20 + pods / 100 + pods / 20)
    described: Any = sum(number for action, number in calls.items() if action.startswith("Describe"))
    note = f"{pods} pods on {balancers} load balancers"
    return (
        Figure("describing calls", described, "", at_most=allowed, note=note),
        Figure("other calls", sum(calls.values()) - described, "", at_most=0, note="nothing is written"),
    )
