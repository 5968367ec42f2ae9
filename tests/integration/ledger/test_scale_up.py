"""Growing: one request an epoch, one intent a pool, no more load balancers than the demand needs, never too many."""

from __future__ import annotations

import math
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest

from berthmaster.redis.incarnation import connect
from domain.port_pools.scale_up import scale_up_limits
from tests.integration.ledger.conftest import MakePool
from tests.integration.ledger.intents import intent_of, made, refused
from tests.support.ports.builders import NLB, load_balancer, load_balancers, pool_spec
from tests.support.ports.live_pool import LivePool
from workers.stores.ports.ledger import Ledger, load_scripts
from workers.stores.ports.pool_ledger import PortPoolLedger

LEASE = timedelta(seconds=30)


# ---- one request an epoch


@pytest.mark.row("SU-03")
def test_of_ten_thousand_failures_at_one_epoch_one_request_goes_on(empty: LivePool, redis_url: str) -> None:
    empty.fail_many(f"games/p{n}" for n in range(10_000))
    epoch = empty.view().epoch

    def ask(count: int) -> list[str | None]:
        client = connect(redis_url)
        growth = PortPoolLedger(Ledger(client, load_scripts(client), empty.name))
        won = [growth.win(epoch, LEASE) for _ in range(count)]
        client.close()
        return won

    with ThreadPoolExecutor(8) as workers:
        wins = [token for part in workers.map(ask, [1250] * 8) for token in part if token]
    assert len(wins) == 1
    assert (empty.view().waiting, empty.view().demand) == (10_000, 10_000)


@pytest.mark.row("SU-03", "SU-05")
def test_a_failure_at_another_epoch_passes_at_once(empty: LivePool) -> None:
    assert empty.growth.win("1", LEASE)
    assert not empty.growth.win("1", LEASE)
    assert empty.growth.win("2", LEASE)


@pytest.mark.row("SU-07")
def test_a_winner_deletes_its_key_when_it_ends(empty: LivePool) -> None:
    """Rule keydel: else who fails at the same epoch later waits for the key to expire."""
    token = empty.growth.win("1", LEASE)
    assert token
    empty.growth.give_up_win("1", token)
    assert empty.growth.win("1", LEASE)


@pytest.mark.row("SU-07")
def test_a_late_winner_leaves_the_key_of_the_next_one_alone(empty: LivePool) -> None:
    late = empty.growth.win("1", LEASE)
    assert late
    empty.redis.delete(empty.growth.key_of("1"))  # it expired
    empty.growth.win("1", LEASE)
    empty.growth.give_up_win("1", late)
    empty.growth.back_off("1", late, timedelta(hours=1))
    assert empty.growth.win("1", LEASE) is None
    assert 0 < empty.redis.pttl(empty.growth.key_of("1")) <= LEASE // timedelta(milliseconds=1)


@pytest.mark.row("SU-09")
def test_a_winner_that_failed_keeps_others_away_for_a_while(empty: LivePool) -> None:
    token = empty.growth.win("1", LEASE)
    assert token
    empty.growth.back_off("1", token, timedelta(minutes=5))
    assert empty.growth.win("1", LEASE) is None
    assert empty.redis.pttl(empty.growth.key_of("1")) > LEASE // timedelta(milliseconds=1)


@pytest.mark.row("SU-09")
def test_failures_in_a_row_are_counted_until_one_succeeds(empty: LivePool) -> None:
    assert [empty.growth.failures(1) for _ in range(3)] == [1, 2, 3]
    empty.growth.failures(0)
    assert empty.growth.failures(1) == 1


# ---- one intent


@pytest.mark.row("SU-04", "PP-16")
@pytest.mark.parametrize(
    ("demand", "most", "per_round", "expected"),
    [
        (1, 3, 10, 1),
        (50, 3, 10, 1),
        (51, 3, 10, 2),
        (500, 3, 10, 3),
        (500, 30, 4, 4),
        (500, 30, 1, 1),
        (500, 30, 30, 10),
    ],
)
def test_a_round_creates_what_the_demand_needs_within_the_limits(
    empty: LivePool, demand: int, most: int, per_round: int, expected: int
) -> None:
    for n in range(math.ceil(demand / 100)):
        empty.fail(f"games/p{n}", min(100, demand - 100 * n))
    assert intent_of(empty, most=most, per_round=per_round).slots == tuple(range(expected))


@pytest.mark.row("SU-04", "SU-11")
def test_demand_is_what_does_not_fit_the_free_ports_of_now(make_pool: MakePool) -> None:
    """Rule netdemand: ports that came free since, or are too few for one waiter, count as well."""
    pool = make_pool(lbs=[load_balancer(capacity=10)])
    pool.allocate("games/h", 9)
    pool.fail("games/a", 40)
    pool.fail("games/b", 12)
    assert intent_of(pool).slots == (1, 2)  # 52 - 1 = 51


@pytest.mark.row("SU-04")
def test_nothing_is_created_for_demand_that_fits_by_now(make_pool: MakePool) -> None:
    pool = make_pool(lbs=[load_balancer(capacity=1)])
    pool.allocate("games/h")
    pool.fail("games/a")
    pool.release("games/h")
    assert refused(pool) == "ENOUGH"


@pytest.mark.row("SU-05")
def test_a_request_with_an_old_epoch_creates_nothing(empty: LivePool) -> None:
    answer = empty.fail("games/a", 60)
    empty.configure([load_balancer()])
    assert empty.view().epoch != answer.epoch
    assert refused(empty, answer.epoch) == "OLD"
    assert intent_of(empty).slots == (1,)


@pytest.mark.row("SU-04")
def test_an_intent_whose_load_balancer_is_listed_before_it_is_closed_stands_at_the_limit(empty: LivePool) -> None:
    empty.fail("games/a")
    first = intent_of(empty, most=1)
    empty.configure(made(first))
    assert intent_of(empty, most=1) == first


@pytest.mark.row("SU-04")
@pytest.mark.parametrize(("most", "there"), [(1, 2), (0, 0)])
def test_an_intent_that_the_limit_no_longer_permits_ends(empty: LivePool, most: int, there: int) -> None:
    empty.fail("games/a", NLB * 3)
    first = intent_of(empty, most=3, per_round=1)
    if there:
        empty.configure([load_balancer(n) for n in range(1, 1 + there)])
    assert refused(empty, epoch="1", most=most) == "OLD"
    assert first.slots == (0,)


@pytest.mark.row("SU-07", "PP-16")
def test_a_second_winner_carries_out_the_same_intent(empty: LivePool) -> None:
    """Rule oneintent: the key of the first expired while it was creating, and demand grew meanwhile."""
    empty.fail("games/a")
    first = intent_of(empty)
    empty.fail("games/b", 100)
    assert intent_of(empty) == first
    assert intent_of(empty, epoch="1") == first  # whatever the epoch: what was begun is carried out


@pytest.mark.row("SU-07")
def test_an_intent_is_closed_once(empty: LivePool) -> None:
    """Rule close: both winners made the same load balancers, and one adds them."""
    empty.fail("games/a")
    intent = intent_of(empty)
    assert empty.growth.close(intent, made(intent)) == ("games/a",)
    epoch = empty.view().epoch
    assert empty.growth.close(intent, made(intent)) is None
    assert (empty.view().epoch, empty.view().capacity) == (epoch, NLB)


def test_the_intent_of_another_is_not_closed(empty: LivePool) -> None:
    empty.fail("games/a")
    first = intent_of(empty)
    empty.growth.close(first, made(first))
    empty.fail("games/b", 60)
    second = intent_of(empty)
    assert empty.growth.close(first, made(first)) is None
    assert intent_of(empty) == second


@pytest.mark.row("PP-16", "SU-07")
def test_slots_are_the_lowest_free_ones_below_the_limit(make_pool: MakePool) -> None:
    """Rule slots: names come from them, so that two winners cannot make more than the limit between them."""
    pool = make_pool(
        lbs=[load_balancer(1, capacity=1), load_balancer(name="hand-made", slot=-1, position=0, capacity=1)]
    )
    pool.allocate("games/h", 2)
    pool.fail("games/a", 200)
    assert intent_of(pool, most=4).slots == (0, 2, 3)


@pytest.mark.row("PP-16", "PP-17")
@pytest.mark.parametrize("most", [0, 1, 2])
def test_at_the_limit_nothing_is_created(make_pool: MakePool, most: int) -> None:
    pool = make_pool(lbs=load_balancers(2, capacity=1))
    pool.allocate("games/h", 2)
    pool.fail("games/a")
    assert refused(pool, most=most) == "LIMIT"


@pytest.mark.row("PP-16")
def test_load_balancers_above_a_lowered_limit_count_against_it(make_pool: MakePool) -> None:
    pool = make_pool(lbs=[load_balancer(1, capacity=1), load_balancer(2, capacity=1)])
    pool.allocate("games/h", 2)
    pool.fail("games/a")
    assert refused(pool, most=2) == "LIMIT"  # although slot 0 is free
    assert intent_of(pool, most=3).slots == (0,)


@pytest.mark.row("SU-10")
def test_a_raised_limit_lets_those_who_wait_proceed_at_the_same_epoch(make_pool: MakePool) -> None:
    pool = make_pool(lbs=[load_balancer(capacity=1)])
    pool.allocate("games/h")
    epoch = pool.fail("games/a").epoch
    token = pool.growth.win(epoch, LEASE)
    assert token
    assert refused(pool, epoch, most=1) == "LIMIT"
    pool.growth.give_up_win(epoch, token)
    assert pool.growth.pressure(LEASE).short == 1  # the sweep asks again
    assert pool.growth.win(epoch, LEASE)
    intent = intent_of(pool, epoch, most=2)
    assert pool.growth.close(intent, made(intent)) == ("games/a",)


@pytest.mark.row("PP-17", "SU-10")
def test_a_pool_without_automatic_creation_has_no_slot_to_create() -> None:
    spec = pool_spec(load_balancers=("arn:existing",), auto_create={"enabled": False})
    assert scale_up_limits(spec).slots == ()


def test_a_pool_that_is_not_active_creates_nothing(empty: LivePool) -> None:
    empty.fail("games/a")
    empty.configure([], state="Deleting")
    assert refused(empty) == "CLOSED"


@pytest.mark.row("SU-12")
def test_a_demand_that_the_pool_can_never_meet_is_named_before_it_waits() -> None:
    spec = pool_spec()
    assert spec.unsatisfiable([1] * 150) is None
    assert "151 ports are asked for" in str(spec.unsatisfiable([1] * 151))
