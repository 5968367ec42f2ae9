"""The model of scale-up and of removal beside it: that it holds, and that each rule is needed."""

from __future__ import annotations

import pytest

from tests.models.scale_up import DELETED, NOT_NEEDED, TOO_MANY, check
from tests.models.scale_up_states import Bounds
from tests.unit.models.large import with_large

QUIET = Bounds(deaths=0, slow=0)
ONE = Bounds(owners=1, capacity=1, deaths=0, slow=0)
TWO = Bounds(owners=2, capacity=1, deaths=0, slow=0)


@pytest.mark.parametrize(
    "bounds",
    with_large(
        [
            QUIET._replace(leaves=2, sweeps=False),
            Bounds(owners=2, slow=0),
            TWO._replace(existing=1, removals=1),
            ONE._replace(existing=1, removals=1, losses=1),
        ],
        [
            Bounds(),
            Bounds(leaves=1),
            Bounds(leaves=1, messages=1, deaths=0),
            Bounds(owners=4),
            TWO._replace(existing=1, leaves=1, removals=1, slow=1),
            TWO._replace(existing=1, leaves=1, removals=1, deaths=1),
            TWO._replace(losses=1, leaves=1),
            TWO._replace(losses=1, existing=1, removals=1),
            TWO._replace(losses=1, slow=1),
            TWO._replace(losses=1, deaths=1),
        ],
    ),
)
def test_no_load_balancer_too_many_is_made_and_nobody_waits_beside_a_free_port(bounds: Bounds) -> None:
    result = check(bounds)
    assert result.broken is None, result.trace
    assert result.states > 500


@pytest.mark.parametrize(
    ("rule", "bounds", "broken"),
    with_large(
        [
            ("oneintent", ONE._replace(slow=1), "hot loop"),
            ("netdemand", QUIET._replace(existing=1, leaves=1), NOT_NEEDED),
            ("residual", QUIET._replace(sweeps=False), "stuck"),
            ("keydel", QUIET._replace(owners=4, existing=1, leaves=1, sweeps=False), "stuck"),
            ("passon", QUIET._replace(leaves=1, sweeps=False), "stuck"),
            ("stays", TWO._replace(deaths=1), "stuck"),
            ("unwait", QUIET._replace(owners=1, leaves=1), "stuck"),
            ("sweepwakes", TWO._replace(deaths=1), "stuck"),
            ("fence", ONE._replace(existing=1, removals=1), DELETED),
            ("retiretag", ONE._replace(most=1, existing=1, removals=1, losses=1), DELETED),
            ("resync", ONE._replace(losses=1), "stuck"),
            ("adopt", ONE._replace(leaves=1, removals=1, slow=1), "stuck"),
        ],
        [
            ("slots", TWO._replace(existing=1, leaves=1, removals=1, slow=1), TOO_MANY),
        ],
    ),
)
def test_each_rule_is_needed(rule: str, bounds: Bounds, broken: str) -> None:
    """Rules netdemand, residual, keydel, passon, stays, unwait, sweepwakes, fence, retiretag, resync, adopt, slots,
    oneintent.

    Of these `slots` needs large bounds.
    """
    result = check(bounds, rule)
    assert result.broken == broken
