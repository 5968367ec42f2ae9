"""A request that changes while the pod lives; docs/ports.md says what the user is promised."""

from __future__ import annotations

from typing import Any

import pytest

from berthmaster.routing import pod_key
from tests.fixtures.aws import Aws
from tests.support.faults.interruption import Interposed
from tests.support.ports.fleet import Fleet
from tests.support.ports.world_checks import check_all


def ports(fleet: Fleet, name: str = "a") -> dict[str, int]:
    """`entry pool` -> published port."""
    return {f"{row['name']} {row['pool']}": row["port"] for row in fleet.shown(name)[1]}


@pytest.fixture
def bound(fleet: Fleet) -> Fleet:
    """Pod a with game and rtp in arena; pod b has the ports after them."""
    fleet.pool("arena")
    fleet.pool("lobby", startPort=40000, endPort=40999)
    fleet.pod("a", "game=7777/UDP@arena, rtp=10-12/UDP@arena", ip="10.0.0.5")
    fleet.settle()
    fleet.pod("b", "game=7777/UDP@arena", ip="10.0.0.6")
    fleet.settle()
    assert ports(fleet) == {"rtp arena": 30000, "game arena": 30003}
    return fleet


def change(fleet: Fleet, text: str | None) -> dict[str, int]:
    fleet.annotate("a", ports=text)
    fleet.settle()
    return ports(fleet)


@pytest.mark.row("AL-14", "AL-15", "AL-16")
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param(
            "game=7777/UDP@arena, rtp=10-12/UDP@arena, web=80/TCP@arena",
            {"game arena": 30003, "rtp arena": 30000, "web arena": 30005},
            id="an entry more",
        ),
        pytest.param("game=7777/UDP@arena", {"game arena": 30003}, id="an entry less"),
        pytest.param(
            "game=7777/UDP@arena+lobby, rtp=10-12/UDP@arena",
            {"game arena": 30003, "game lobby": 40000, "rtp arena": 30000},
            id="a pool more",
        ),
        pytest.param(
            "rtp=10-12/UDP@arena, play=7777/QUIC@arena",
            {"play arena": 30003, "rtp arena": 30000},
            id="another name, order and word",
        ),
        pytest.param(
            "game=7777/UDP@arena, rtp=10-13/UDP@arena",
            {"game arena": 30003, "rtp arena": 30005},
            id="a longer range is another one",
        ),
        pytest.param(
            "game=7777/TCPUDP@arena, rtp=10-12/UDP@arena",
            {"game arena": 30003, "rtp arena": 30000},
            id="another protocol is another port, here the one just given back",
        ),
        pytest.param("game=7777/UDP@lobby", {"game lobby": 40000}, id="another pool"),
    ],
)
def test_what_is_still_asked_for_stays_and_the_rest_follows(
    bound: Fleet, aws: Aws, text: str, expected: dict[str, int]
) -> None:
    assert change(bound, text) == expected
    assert bound.state("a") == "Bound"
    check_all(bound, aws)
    held = sum(row["endPort"] - row["port"] + 1 for row in bound.shown("a")[1])
    ledgers = [bound.owners(pool).get(f"{bound.namespace}/a", []) for pool in ("arena", "lobby")]
    assert sum(map(len, ledgers)) == held


@pytest.mark.row("AL-16", "BD-13")
def test_the_last_pool_that_goes_takes_all_with_it(bound: Fleet, aws: Aws) -> None:
    assert change(bound, None) == {}
    assert f"{bound.namespace}/a" not in bound.owners("arena")
    check_all(bound, aws)


@pytest.mark.row("BD-03", "AL-14")
def test_a_mistake_is_named_and_costs_nothing(bound: Fleet) -> None:
    before = ports(bound)
    assert change(bound, "game=7777/UDP@arena, rtp=10-12@arena") == before
    state, _, message = bound.shown("a")
    assert (state, message.startswith("entry 2 ('rtp=10-12@arena'): PROTOCOL is missing")) == ("Failed", True)


@pytest.mark.row("AL-13", "BD-31")
@pytest.mark.parametrize("gone", [False, True], ids=["changed", "gone"])
def test_a_pod_that_changes_before_its_ports_are_shown_loses_and_leaks_none(fleet: Fleet, aws: Aws, gone: bool) -> None:
    """The write is refused; the run looks at the pod: the ports are its own, or free if there is none to have them."""
    fleet.pool("arena")
    fleet.pod("a", "rtp=10-12/UDP@arena", ip="10.0.0.5")
    fleet.settle()
    fleet.pod("b", "rtp=10-12/UDP@arena", ip="10.0.0.6")
    fleet.sync()

    def disturb() -> Any:
        return fleet.delete("b") if gone else fleet.annotate("b", other="x")

    pods = Interposed(fleet.services.pods, "show", disturb)
    fleet.run(pod_key(fleet.namespace, "b"), fleet.other(pods=pods))
    for _ in range(2):
        assert fleet.ledger("arena").allocated == (3 if gone else 6)
        if not gone:
            assert ports(fleet, "b") == {"rtp arena": 30003}
        fleet.due()
        fleet.settle()
    check_all(fleet, aws)
