"""The rows of the board, read from the real ledgers."""

from __future__ import annotations

from typing import Any

import pytest
from redis import Redis

from berthmaster.routing import EVENTS_STREAM
from tests.support.ports.builders import load_balancer, pool_spec
from tests.support.servers.shown_fleet import POOL, ShownFleet
from workers.fleet_pages.fleet_rows import TAIL, FleetRows
from workers.scale_up.pool_config import PoolConfig
from workers.stores.claims.index import PHASES


def read(redis: Redis) -> dict[str, Any]:
    return FleetRows(redis).read()


@pytest.mark.row("UI-04")
def test_a_load_balancer_shows_each_state_of_its_ports(shown: ShownFleet, redis: Redis) -> None:
    shown.ports.allocate("games/a")
    shown.bind("games/b")
    (entry,) = shown.ports.allocate("games/c")
    run = shown.ports.run("games/c")
    run.releasing(entry)
    assert read(redis)["lb/arena/arena-lb-0"]["cells"] == "abr" + "." * 17


@pytest.mark.row("UI-04")
def test_a_pool_says_what_is_waited_for(shown: ShownFleet, redis: Redis) -> None:
    shown.ports.fail("games/a", 60)
    row = read(redis)["portpool/arena"]
    assert (row["state"], row["free"], row["waiting"], row["demand"]) == ("Active", 40, 1, 60)


@pytest.mark.row("UI-04")
def test_a_load_balancer_that_gives_nothing_is_closed(shown: ShownFleet, redis: Redis) -> None:
    config = PoolConfig("uid-of-arena", 1, pool_spec(end_port=30019)).encoded()
    shown.ports.configure([load_balancer(0, name="arena-lb-0", capacity=0)], config=config)
    assert read(redis)["lb/arena/arena-lb-0"]["stage"] == "closed"


BROKEN = {
    "portpool/arena": "{pp:arena}owners",
    f"podpool/{POOL}": f"{{sp:{POOL}}}pods",
    "claims": PHASES,
    "events": EVENTS_STREAM,
}


@pytest.mark.row("UI-04", "HO-07")
@pytest.mark.parametrize("broken", BROKEN)
def test_what_is_broken_alone_is_one_row_that_says_so(broken: str, shown: ShownFleet, redis: Redis) -> None:
    shown.jobs.add("u1")
    if broken == "events":
        redis.xadd(EVENTS_STREAM, {"other": "no\u001bsense"})
    else:
        redis.hset(BROKEN[broken], b"\xff", b"no\x1bsense")
    rows = read(redis)
    assert f"{broken} cannot be read" in rows[f"problem/{broken}"]
    assert [name for name in rows if name.startswith("problem/")] == [f"problem/{broken}"]
    others = {"portpool/arena", f"podpool/{POOL}", "claims/games", "events", "queue"}
    assert others - set(rows) <= {broken, f"{broken}/games"}


@pytest.mark.row("UI-03")
def test_the_latest_events_are_few_and_the_newest_first(shown: ShownFleet, redis: Redis) -> None:
    for number in range(TAIL + 3):
        shown.event("pod.changed", f"pod/games/p-{number}")
    assert [row[2] for row in read(redis)["events"]] == [f"pod/games/p-{n}" for n in range(TAIL + 2, 2, -1)]
