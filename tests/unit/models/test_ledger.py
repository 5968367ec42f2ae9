"""The models of the port ledger and of its rebuild: that they hold, and that each rule is needed."""

from __future__ import annotations

import pytest

from tests.models import ledger, rebuild
from tests.models.ledger import TWO_OWNERS, UNSERVED, Bounds
from tests.unit.models.large import with_large

QUIET = Bounds(events=0, slow=0, copies=0)


@pytest.mark.parametrize(
    "bounds",
    with_large(
        [Bounds(), Bounds(events=2, slow=0)],
        [
            Bounds(events=2, deaths=1),
            Bounds(events=3, deaths=1),
            Bounds(events=2, slow=2),
            Bounds(slow=2, workers=3),
            Bounds(events=3, retain=True),
        ],
    ),
)
def test_no_port_has_two_owners_and_every_pod_is_served(bounds: Bounds) -> None:
    result = ledger.check(bounds)
    assert result.broken is None, result.trace
    assert result.states > 5000


@pytest.mark.parametrize(
    ("rule", "bounds", "broken"),
    [
        ("open", Bounds(events=2, bound=True), TWO_OWNERS),
        ("alluids", Bounds(), "stuck"),
        ("precond", Bounds(), TWO_OWNERS),
        ("clearfirst", Bounds(), TWO_OWNERS),
        ("confirm", Bounds(events=2, bound=True), TWO_OWNERS),
        ("oneway", Bounds(events=2, bound=True), UNSERVED),
        ("askledger", Bounds(), UNSERVED),
        ("sweepclaim", Bounds(events=2), UNSERVED),
    ],
)
def test_each_rule_is_needed(rule: str, bounds: Bounds, broken: str) -> None:
    """Rules open, alluids, precond, clearfirst, confirm, oneway, askledger, sweepclaim."""
    result = ledger.check(bounds, rule)
    assert result.broken == broken
    assert result.trace


@pytest.mark.parametrize(
    "bounds",
    with_large(
        [
            QUIET._replace(copies=1),
            QUIET._replace(events=1),
            QUIET._replace(slow=1),
        ],
        [
            QUIET._replace(events=1, copies=1),
            QUIET._replace(events=1, copies=1, deaths=1),
            QUIET._replace(events=2),
            QUIET._replace(events=1, slow=1),
            QUIET._replace(slow=1, losses=2, copies=1),
            QUIET._replace(events=1, losses=2),
        ],
    ),
)
def test_after_a_loss_of_redis_no_port_has_two_owners_and_every_pod_is_served(bounds: Bounds) -> None:
    result = rebuild.check(bounds)
    assert result.broken is None, result.trace
    assert result.states > 5000


@pytest.mark.parametrize(
    ("rules", "bounds", "broken"),
    with_large(
        [
            (("incarnation",), QUIET._replace(copies=1), TWO_OWNERS),
            (("replid",), QUIET._replace(copies=1), TWO_OWNERS),
            (("stampfence",), QUIET._replace(slow=1), TWO_OWNERS),
            (("onewriter",), QUIET, TWO_OWNERS),
            (("freshread",), QUIET._replace(copies=1), TWO_OWNERS),
            (("tagrule", "surplus"), QUIET, "stuck"),
        ],
        [
            (("rewrite",), QUIET._replace(events=1, losses=2), TWO_OWNERS),
            (("audit",), QUIET._replace(events=2), "stuck"),
        ],
    ),
)
def test_after_a_loss_each_rule_is_needed(rules: tuple[str, ...], bounds: Bounds, broken: str) -> None:
    """Rules incarnation, replid, stampfence, onewriter, freshread, tagrule, surplus, rewrite, audit.

    Of `tagrule` and `surplus` one is enough; `rewrite` and `audit` need large bounds.
    """
    result = rebuild.check(bounds, *rules)
    assert result.broken == broken
    assert result.trace


@pytest.mark.parametrize("rule", ["tagrule", "surplus"])
def test_of_two_rules_either_is_enough(rule: str) -> None:
    assert rebuild.check(QUIET, rule).broken is None
