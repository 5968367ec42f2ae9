"""The audit judges only what it can know: pods bind and leave while it lists AWS."""

from __future__ import annotations

from tests.support.faults.interruption import Interposed
from tests.support.ports.fleet import Fleet
from workers.port_audit.reconciler import audit


def test_a_listener_made_while_the_audit_lists_aws_is_not_missing(fleet: Fleet) -> None:
    fleet.pool("arena")
    fleet.pod("early", "1/TCP@arena", "10.0.0.1")
    fleet.settle()

    def bind_another() -> None:
        fleet.pod("late", "1/TCP@arena", "10.0.0.2")
        fleet.settle()

    after_listeners = Interposed(fleet.driver, "target_groups_owned", bind_another)
    audit(fleet.other(driver=lambda _: after_listeners))
    assert fleet.queued() == []
    fleet.settle()
    assert fleet.state("late") == "Bound"
