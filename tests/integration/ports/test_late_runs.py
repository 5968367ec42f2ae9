"""A run that was paused beyond its lease goes on when another has done the work, or when the pod has changed: it
changes nothing.

Each test forces the shortest trace of a rule of the ledger (docs/adr/0005): the pause is at the call that the rule is
about.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from berthmaster.errors import TransientError
from berthmaster.routing import pod_key
from tests.fixtures.aws import Aws
from tests.support.faults.interruption import Interposed
from tests.support.ports.fleet import Fleet
from tests.support.ports.world_checks import check_all
from workers.port_audit.reconciler import audit
from workers.ports.listeners.targets import standing
from workers.stores.ports.view import owners


def two_bound(fleet: Fleet) -> None:
    fleet.pool("arena")
    for name, ip in (("a", "10.0.0.1"), ("b", "10.0.0.2")):
        fleet.pod(name, "7777/UDP@arena", ip=ip)
    fleet.settle()


def overtake(fleet: Fleet) -> None:
    """The lease of the paused run ends, and another run does everything."""
    fleet.due()
    fleet.settle()


def paused_at(fleet: Fleet, name: str, call: str, happens: Callable[[], object]) -> None:
    """One run of the pod; right before its first `call` to AWS or Kubernetes something else happens."""
    driver = Interposed(fleet.driver, call, happens)
    pods = Interposed(fleet.services.pods, call, happens)
    services = fleet.other(driver=lambda _: driver, pods=pods)
    fleet.run(pod_key(fleet.namespace, name), services)


CALLS_OF_A_BIND = ["ensure_target_group", "ensure_listener", "register", "show"]


@pytest.mark.row("EV-09", "EV-05", "BD-17")
@pytest.mark.parametrize("call", CALLS_OF_A_BIND)
def test_a_bind_that_was_overtaken_leaves_what_its_heir_made(fleet: Fleet, aws: Aws, call: str) -> None:
    """Rules open, confirm: its scripts are refused, so that it publishes nothing."""
    two_bound(fleet)
    fleet.pod("c", "7777/UDP@arena", ip="10.0.0.3")
    fleet.sync()
    paused_at(fleet, "c", call, lambda: overtake(fleet))
    fleet.settle()
    assert fleet.state("c") == "Bound"
    assert len(fleet.owners("arena")[f"{fleet.namespace}/c"]) == 1
    assert fleet.events("c").count("PortsBound") == 1
    check_all(fleet, aws)


@pytest.mark.row("EV-09", "FZ-06")
@pytest.mark.parametrize("call", CALLS_OF_A_BIND)
def test_a_bind_whose_pod_was_deleted_and_recreated_meanwhile_harms_nobody(fleet: Fleet, aws: Aws, call: str) -> None:
    """Rule alluids: the heir releases what the old UID has; what the late call still makes, the audit finds."""
    two_bound(fleet)
    fleet.pod("c", "7777/UDP@arena", ip="10.0.0.3")
    fleet.sync()

    def recreated() -> None:
        fleet.delete("c")
        fleet.pod("c", "7778/UDP@arena", ip="10.0.0.4")
        overtake(fleet)

    paused_at(fleet, "c", call, recreated)
    fleet.settle()
    sweep_up(fleet)
    assert [row["containerPort"] for row in fleet.shown("c")[1]] == [7778]
    check_all(fleet, aws)


@pytest.mark.row("EV-09", "BD-31")
@pytest.mark.parametrize("call", CALLS_OF_A_BIND)
def test_a_bind_publishes_nothing_on_a_pod_that_opted_out_meanwhile(fleet: Fleet, aws: Aws, call: str) -> None:
    """Rule precond: the write names the version that the run read."""
    two_bound(fleet)
    fleet.pod("c", "7777/UDP@arena", ip="10.0.0.3")
    fleet.sync()
    paused_at(fleet, "c", call, lambda: fleet.annotate("c", ports=None))
    assert fleet.shown("c") == ("", [], "")
    fleet.due()
    fleet.settle()
    assert fleet.shown("c") == ("", [], "")
    assert f"{fleet.namespace}/c" not in fleet.owners("arena")
    check_all(fleet, aws)


@pytest.mark.row("EV-09", "AL-17", "AL-18")
@pytest.mark.parametrize("call", ["delete_listener", "delete_target_group"])
def test_a_release_that_was_overtaken_takes_nothing_from_the_next_owner(fleet: Fleet, aws: Aws, call: str) -> None:
    """Rule byarn: by ARN only, and free only by its own token: the port has another owner by now."""
    two_bound(fleet)
    port = fleet.shown("a")[1][0]["port"]
    fleet.delete("a")
    fleet.sync()

    def next_owner() -> None:
        overtake(fleet)
        fleet.pod("c", "7777/UDP@arena", ip="10.0.0.3")
        fleet.settle()

    paused_at(fleet, "a", call, next_owner)
    fleet.settle()
    assert fleet.shown("c")[1][0]["port"] == port
    assert set(fleet.owners("arena")) == {f"{fleet.namespace}/b", f"{fleet.namespace}/c"}
    check_all(fleet, aws)


@pytest.mark.row("BD-13", "EV-09")
def test_a_live_pod_stops_showing_a_port_before_the_port_is_released(fleet: Fleet, aws: Aws) -> None:
    """Rule clearfirst: when the first delete is called, nothing is published any more."""
    two_bound(fleet)
    fleet.annotate("a", ports=None)
    fleet.sync()
    seen: list[object] = []
    paused_at(fleet, "a", "delete_listener", lambda: seen.append(fleet.shown("a")[:2]))
    assert seen == [("Releasing", [])]
    fleet.settle()
    assert fleet.shown("a") == ("", [], "")


@pytest.mark.row("EV-09")
def test_a_port_that_is_being_released_is_not_taken_back_by_a_change_of_mind(fleet: Fleet, aws: Aws) -> None:
    """Rule oneway: the pod opts in again while its port is being deleted: it gets one, freshly bound."""
    two_bound(fleet)
    fleet.annotate("a", ports=None)
    fleet.sync()
    paused_at(fleet, "a", "delete_target_group", lambda: fleet.annotate("a", ports="7777/UDP@arena"))
    fleet.due()
    fleet.settle()
    assert fleet.state("a") == "Bound"
    check_all(fleet, aws)


def sweep_up(fleet: Fleet) -> None:
    for _ in range(2):
        audit(fleet.services)
        fleet.settle()


class TestLateTargets:
    """A register or deregister that lands after the pod's next run: its record is refused, and the owner compares.

    Each pod's port has a target group of its own here; the address of a pod that moved may be another pod's by now.
    """

    def moved(self, fleet: Fleet, ip: str) -> None:
        fleet.due()
        fleet.address("a", ip)
        fleet.settle()

    @pytest.mark.row("BD-41")
    def test_a_late_register_of_an_address_that_the_pod_has_left_is_undone(self, fleet: Fleet, aws: Aws) -> None:
        two_bound(fleet)
        fleet.address("a", "10.0.0.3")
        fleet.sync()
        paused_at(fleet, "a", "register", lambda: self.moved(fleet, "10.0.0.4"))
        assert "10.0.0.3:7777" in targets_of(fleet, "a")
        fleet.settle()
        assert targets_of(fleet, "a") == ["10.0.0.4:7777"]
        check_all(fleet, aws)

    @pytest.mark.row("BD-41")
    def test_a_late_deregister_of_an_address_that_the_pod_has_again_is_undone(self, fleet: Fleet, aws: Aws) -> None:
        two_bound(fleet)
        fleet.address("a", "10.0.0.3")
        fleet.sync()
        paused_at(fleet, "a", "deregister", lambda: self.moved(fleet, "10.0.0.1"))
        assert targets_of(fleet, "a") == ["10.0.0.3:7777"]
        fleet.settle()
        assert targets_of(fleet, "a") == ["10.0.0.1:7777"]
        check_all(fleet, aws)

    @pytest.mark.row("BD-41", "BD-12")
    def test_a_late_isolation_of_a_pod_that_is_enabled_again_is_undone(self, fleet: Fleet, aws: Aws) -> None:
        two_bound(fleet)
        fleet.annotate("a", ports_enabled="false")
        fleet.sync()

        def enabled() -> None:
            fleet.due()
            fleet.annotate("a", ports_enabled=None)
            fleet.settle()

        paused_at(fleet, "a", "deregister", enabled)
        assert targets_of(fleet, "a") == []
        fleet.settle()
        assert targets_of(fleet, "a") == ["10.0.0.1:7777"]
        check_all(fleet, aws)

    @pytest.mark.row("BD-41", "BD-22")
    def test_a_late_clearing_of_a_retained_port_is_undone_for_the_pod_that_came_back(
        self, fleet: Fleet, aws: Aws
    ) -> None:
        two_bound(fleet)
        fleet.annotate("a", ports_retain="10m")
        fleet.settle()
        fleet.delete("a")
        fleet.sync()

        def came_back() -> None:
            fleet.due()
            fleet.settle()
            fleet.pod("a", "7777/UDP@arena", ip="10.0.0.1", ports_retain="10m")
            fleet.settle()

        paused_at(fleet, "a", "deregister", came_back)
        assert targets_of(fleet, "a") == []
        fleet.settle()
        assert targets_of(fleet, "a") == ["10.0.0.1:7777"]
        check_all(fleet, aws)

    @pytest.mark.row("BD-41")
    def test_a_call_that_failed_after_the_run_was_overtaken_asks_for_a_comparison_as_well(
        self, fleet: Fleet, aws: Aws
    ) -> None:
        """What the call did is unknown: its answer was lost."""
        two_bound(fleet)
        fleet.address("a", "10.0.0.3")
        fleet.sync()
        group = group_of(fleet, "a")

        def overtaken() -> None:
            self.moved(fleet, "10.0.0.4")
            fleet.driver.register(group, [("10.0.0.3", 7777)])
            raise TransientError("the answer was lost")

        paused_at(fleet, "a", "register", overtaken)
        fleet.settle()
        assert targets_of(fleet, "a") == ["10.0.0.4:7777"]
        check_all(fleet, aws)


def targets_of(fleet: Fleet, name: str) -> list[str]:
    """What is registered for the one port of a pod."""
    return sorted(standing(fleet.driver, group_of(fleet, name)))


def group_of(fleet: Fleet, name: str) -> str:
    (entry,) = dict(owners(fleet.services.ledger("arena")))[f"{fleet.namespace}/{name}"]
    return entry.target_group
