"""A load balancer of precreated listeners goes, also one whose port was once promised to a name."""

from __future__ import annotations

from tests.fixtures.aws import Aws
from tests.support.ports.fleet import Fleet
from tests.support.ports.idle_pool import DELAY, look, there
from tests.support.ports.ledger_recount import grow_old
from tests.support.ports.retained import time_is_over


def test_an_empty_load_balancer_goes_whose_precreated_port_was_once_retained(fleet: Fleet, aws: Aws) -> None:
    fleet.pool("arena", precreate={"udp": 2})
    fleet.pod("a", "7777/UDP@arena", ip="10.0.0.1", ports_retain="true")
    fleet.settle()
    fleet.delete("a")
    fleet.settle()
    time_is_over(fleet)
    assert fleet.owners("arena") == {}
    grow_old(fleet.redis, "{pp:arena}", DELAY)
    look(fleet)
    assert there(fleet) == []
    assert fleet.driver.target_groups_owned(fleet.cluster) == []
