"""What a worker tells Prometheus of ports is what the pods, the ledger and AWS have, though it did none of the work."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.fixtures.aws import Aws
from tests.support.ports.fleet import Fleet
from tests.support.ports.tampered import listeners
from tests.support.scrapes import idle_worker
from workers.kube.port_pools import PATH
from workers.port_audit.reconciler import audit

CAPACITY, PODS, TOO_MANY = 10, 8, 4
QUEUE_STATES = ("dirty", "ready", "slow", "held", "timer")


def crowded(fleet: Fleet) -> None:
    """Two load balancers of five ports; some are free, but fewer than the last pod asks for."""
    create = {"enabled": True, "maxLoadBalancers": 2, "parameters": {"subnets": list(fleet.network.subnets)}}
    fleet.pool("arena", startPort=30000, endPort=30004, autoCreate=create)
    for n in range(PODS):
        fleet.pod(f"p{n}", "7777/UDP@arena", ip=f"10.0.0.{n + 1}")
    fleet.settle()
    fleet.pod("greedy", ",".join(f"{7000 + n}/UDP@arena" for n in range(TOO_MANY)), ip="10.0.0.99")
    fleet.settle()


@pytest.mark.row("EV-15")
def test_the_gauges_of_ports_are_a_recount(fleet: Fleet, aws: Aws, redis_url: str, tmp_path: Path) -> None:
    crowded(fleet)
    shown = [fleet.state(f"p{n}") for n in range(PODS)]
    assert (shown, fleet.state("greedy")) == (["Bound"] * PODS, "NoPortAvailable")
    fleet.queue.touch(["pod/games/dirty"])
    with idle_worker(redis_url, tmp_path) as worker:
        ports = worker.states("berthmaster_ports", pool="arena")
        assert ports == {"allocated": PODS, "free": CAPACITY - PODS, "waiting": TOO_MANY}
        assert worker.states("berthmaster_waiting_pods", pool="arena") == {"ports": 1, "share": 0}
        made = len(aws.client().describe_load_balancers()["LoadBalancers"])
        lbs = worker.states("berthmaster_load_balancers", pool="arena")
        assert lbs == {"giving": made, "filling": 0, "retiring": 0, "closed": 0}
        status = fleet.api.get(f"{PATH}/arena")["status"]
        assert worker.total("berthmaster_epoch", pool="arena") == int(status["epoch"]) > 0
        assert worker.total("berthmaster_ledger_verified", pool="arena") == 1
        depth = fleet.queue.depth()
        assert worker.states("berthmaster_queue_keys") == {state: depth[state] for state in QUEUE_STATES}
        assert depth["ready"] == 1


@pytest.mark.row("EV-15")
def test_what_the_last_audit_saw_is_a_gauge_until_the_next(fleet: Fleet, redis_url: str, tmp_path: Path) -> None:
    crowded(fleet)
    with idle_worker(redis_url, tmp_path) as worker:
        fleet.driver.delete_listener(listeners(fleet)[0].arn)
        audit(fleet.services)
        assert worker.states("berthmaster_drift", pool="arena")["missing"] == 1
        fleet.settle()
        audit(fleet.services)
        assert worker.total("berthmaster_drift", pool="arena") == 0


@pytest.mark.row("EV-15")
def test_a_ledger_that_must_be_rebuilt_says_so(fleet: Fleet, redis_url: str, tmp_path: Path) -> None:
    crowded(fleet)
    fleet.redis.hset("{pp:arena}meta", "incarnation", "another/1")
    with idle_worker(redis_url, tmp_path) as worker:
        assert worker.total("berthmaster_ledger_verified", pool="arena") == 0
