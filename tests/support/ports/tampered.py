"""A pool with bound pods that tests change by hand, and what must be true again afterwards."""

from __future__ import annotations

from tests.fixtures.aws import Aws
from tests.support.ports.fleet import Fleet
from tests.support.ports.ledger_recount import faults
from tests.support.ports.world_checks import check_all
from workers.cloud.driver import Listener, LoadBalancer
from workers.port_audit.reconciler import audit


def bound(fleet: Fleet, pods: int = 3) -> dict[str, object]:
    fleet.pool("arena")
    for n in range(pods):
        fleet.pod(f"p{n}", "a=7777/UDP@arena,b=7778/TCP@arena", ip=f"10.0.0.{n + 1}")
    fleet.settle()
    return shown(fleet, pods)


def shown(fleet: Fleet, pods: int = 3) -> dict[str, object]:
    return {f"p{n}": fleet.shown(f"p{n}") for n in range(pods)}


def carrier(fleet: Fleet) -> LoadBalancer:
    return fleet.driver.find_owned_load_balancers(fleet.cluster)[0]


def listeners(fleet: Fleet) -> list[Listener]:
    return fleet.driver.listeners(carrier(fleet).arn)


def once(fleet: Fleet) -> None:
    """Run one audit, and everything that it causes."""
    audit(fleet.services)
    fleet.settle()
    fleet.due()
    fleet.settle()


def sound(fleet: Fleet, aws: Aws) -> None:
    check_all(fleet, aws)
    assert faults(fleet.redis, "{pp:arena}") == []
