"""What a run of a PortPool decides."""

from __future__ import annotations

from itertools import product

import pytest

from domain.port_pools.steps import (
    DrainPool,
    ForgetPool,
    MaintainPool,
    PortPoolFacts,
    PortPoolStep,
    RejectSpec,
    ReleasePool,
    next_step,
)

WRONG = "spec.endPort: endPort must be greater than startPort"


@pytest.mark.parametrize(
    ("facts", "step"),
    [
        (PortPoolFacts(followed=True, configured=True), MaintainPool()),
        (PortPoolFacts(followed=True, problem=WRONG), RejectSpec(WRONG)),
        (PortPoolFacts(followed=True, problem=WRONG, configured=True), RejectSpec(WRONG)),
        (PortPoolFacts(followed=True, deleting=True, configured=True), DrainPool()),
        (PortPoolFacts(followed=True, deleting=True, problem=WRONG, configured=True), DrainPool()),
        (PortPoolFacts(followed=True, deleting=True, problem=WRONG), ReleasePool()),
    ],
)
def test_a_pool_is_maintained_unless_its_spec_is_wrong_or_it_is_deleted(
    facts: PortPoolFacts, step: PortPoolStep
) -> None:
    assert next_step(facts) == step


def test_a_pool_that_is_not_followed_is_forgotten_whatever_else_holds() -> None:
    for deleting, problem, configured in product((True, False), ("", WRONG), (True, False)):
        assert next_step(PortPoolFacts(False, deleting, problem, configured)) == ForgetPool()  # noqa: FBT003 - a table
