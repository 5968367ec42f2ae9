"""Of two pools the one grows that can."""

from __future__ import annotations

from tests.fixtures.aws import Aws
from tests.support.ports.fleet import Fleet
from tests.support.ports.pool_edits import create, edit, nudge
from workers.cloud.names import load_balancer_name


def test_same_port_grows_the_pool_that_can_where_the_other_has_only_blocked_names_left(fleet: Fleet, aws: Aws) -> None:
    for p in ("arena", "lobby"):
        fleet.pool(p, endPort=30001, autoCreate=create(fleet, 2))
    edit(fleet, lbBlocklist=[load_balancer_name(fleet.cluster, "arena", 1, "bm")])
    fleet.pod("x", "1/UDP@arena", ip="10.0.1.1")
    fleet.settle()
    fleet.pod("y", "1/UDP@lobby", ip="10.0.1.2")
    fleet.settle()
    fleet.pod("z", "1/UDP@lobby", ip="10.0.1.3")
    fleet.settle()
    fleet.delete("y")
    fleet.settle()  # arena has 30001 free, lobby 30000
    fleet.pod("a", "7=7/UDP@arena+lobby", ip="10.0.0.5", same_port_across_pools="true")
    fleet.settle()
    nudge(fleet)
    assert (fleet.state("a"), fleet.shown("a")[2]) == ("Bound", "")
