"""Which ports an owner gets: in the range, one owner each, all or none, in the order of the policy."""

from __future__ import annotations

import pytest

from domain.port_pools.placement import ordering, positions
from domain.port_pools.port_pool import LoadBalancerPolicy
from domain.ports.entry import EntryState
from domain.ports.request import parse_ports
from tests.integration.ledger.conftest import MakePool
from tests.support.ports.builders import load_balancer, load_balancers
from tests.support.ports.live_pool import RANDOM, UNIFORM, LivePool, single
from workers.stores.ports.ledger import Closed, Full, Granted


@pytest.mark.row("AL-01")
def test_owners_get_different_ports(pool: LivePool) -> None:
    first, second = pool.ports("games/a", 3), pool.ports("games/b", 3)
    assert first == [("lb-0", 30000), ("lb-0", 30001), ("lb-0", 30002)]
    assert second == [("lb-0", 30003), ("lb-0", 30004), ("lb-0", 30005)]


@pytest.mark.row("AL-02", "AL-14")
def test_a_retry_gets_the_same_answer(pool: LivePool) -> None:
    first = pool.allocate("games/a", 3)
    assert pool.allocate("games/a", 3) == first
    assert pool.view().allocated == 3


@pytest.mark.row("AL-14")
def test_what_is_held_stays_when_more_is_asked_for(pool: LivePool) -> None:
    held = pool.allocate("games/a", 2)
    pool.allocate("games/b", 1)
    assert pool.allocate("games/a", 3)[:2] == held
    assert [e.port for e in pool.allocate("games/a", 3)] == [30000, 30001, 30003]


def test_an_entry_that_is_releasing_serves_no_want(pool: LivePool) -> None:
    (old,) = pool.allocate("games/a")
    pool.run("games/a").releasing(old)
    assert {(e.port, e.state) for e in pool.allocate("games/a")} == {
        (30000, EntryState.RELEASING),
        (30001, EntryState.ALLOCATED),
    }


def test_another_uid_of_the_name_gets_its_own_port(pool: LivePool) -> None:
    pool.allocate("games/a", uid="u1")
    (second,) = pool.allocate("games/a", uid="u2")
    assert (second.port, second.uid) == (30001, "u2")


@pytest.mark.row("AL-03", "AL-04")
def test_tcp_and_udp_of_one_number_are_one_want_and_cost_one_port(pool: LivePool) -> None:
    """An NLB has one listener a port number: the ledger counts numbers, whatever the protocol."""
    wants = [(w.key, w.ports) for w in parse_ports("a=7777/TCP@arena,b=7777/UDP@arena")]
    (shared,) = pool.allocate("games/a", wants)
    assert (shared.want, pool.view().allocated) == ("7777/TCPUDP", 1)


@pytest.mark.row("AL-03")
def test_a_number_that_one_owner_has_for_tcp_is_not_given_to_another_for_udp(make_pool: MakePool) -> None:
    pool = make_pool(size=1)
    pool.allocate("games/a", [("7777/TCP", 1)])
    assert isinstance(pool.try_allocate("games/b", [("7777/UDP", 1)]), Full)


@pytest.mark.row("AL-07")
def test_in_order_fills_one_load_balancer_before_the_next(make_pool: MakePool) -> None:
    pool = make_pool(lbs=load_balancers(3, capacity=2))
    found = [pool.ports(f"games/p{n}")[0][0] for n in range(6)]
    assert found == ["lb-0", "lb-0", "lb-1", "lb-1", "lb-2", "lb-2"]


@pytest.mark.row("AL-07")
def test_in_order_goes_back_to_an_earlier_load_balancer_when_it_has_room_again(make_pool: MakePool) -> None:
    pool = make_pool(lbs=load_balancers(2, capacity=1))
    pool.allocate("games/a")
    pool.allocate("games/b")
    pool.release("games/a")
    assert pool.ports("games/c") == [("lb-0", 30000)]


@pytest.mark.row("AL-07")
def test_in_order_follows_the_list_after_it_was_edited(make_pool: MakePool) -> None:
    pool = make_pool(lbs=[load_balancer(n, name=name, slot=-1) for n, name in enumerate("abc")])
    assert pool.ports("games/a")[0][0] == "a"
    ranks = positions(["c", "b", "d"], [])
    pool.configure([load_balancer(name=name, slot=-1, position=ranks[name], capacity=1) for name in ("b", "d", "c")])
    assert [pool.ports(f"games/p{n}")[0][0] for n in range(3)] == ["c", "b", "d"]


@pytest.mark.row("AL-06")
def test_uniform_goes_to_the_load_balancer_with_the_fewest(make_pool: MakePool) -> None:
    pool = make_pool(lbs=load_balancers(3))
    for n in range(7):
        pool.allocate(f"games/p{n}", order=UNIFORM)
    assert [lb.used for lb in pool.view().load_balancers] == [3, 2, 2]
    pool.release("games/p0")
    pool.release("games/p3")
    assert pool.ports("games/next", order=UNIFORM)[0][0] == "lb-0"


@pytest.mark.row("AL-08")
def test_random_spreads_and_is_not_the_same_each_time(make_pool: MakePool) -> None:
    pools = [make_pool(name=name, lbs=load_balancers(8)) for name in ("first", "second")]
    rows = [[pool.ports(f"games/p{n}", order=RANDOM)[0][0] for n in range(64)] for pool in pools]
    assert rows[0] != rows[1]  # equal once in 8 ** 64
    assert all(len(set(row)) >= 6 for row in rows)


def test_random_overflows_to_the_others(make_pool: MakePool) -> None:
    pool = make_pool(lbs=load_balancers(3, capacity=1))
    assert {lb for lb, _ in pool.ports("games/a", 3, RANDOM)} == {"lb-0", "lb-1", "lb-2"}


def test_each_policy_is_one_order_of_the_ledger() -> None:
    assert len({ordering(policy) for policy in LoadBalancerPolicy}) == len(LoadBalancerPolicy)


@pytest.mark.row("AL-12")
@pytest.mark.parametrize("wants", [single(4), [("rtp", 4)], [("rtp", 2), ("game", 1), ("voice", 1)]], ids=str)
def test_all_wants_get_their_ports_or_none_does(make_pool: MakePool, wants: list[tuple[str, int]]) -> None:
    pool = make_pool(lbs=[load_balancer(capacity=3)])
    assert isinstance(pool.try_allocate("games/a", wants), Full)
    assert pool.held() == {}
    assert (pool.view().allocated, pool.view().free) == (0, 3)
    assert len(pool.ports("games/b", 3)) == 3


@pytest.mark.row("AL-12")
def test_a_run_of_ports_is_consecutive_on_one_load_balancer(make_pool: MakePool) -> None:
    pool = make_pool(lbs=load_balancers(2, capacity=6), size=8)
    keep = [pool.allocate(f"games/p{n}")[0] for n in range(3)]
    pool.release("games/p1", [keep[1]])
    found = pool.allocate("games/a", [("rtp", 3)])
    assert [(e.lb, e.port, e.want) for e in found] == [("lb-0", 30003 + n, f"rtp+{n}") for n in range(3)]
    assert pool.ports("games/b", [("rtp", 3)]) == [("lb-1", 30000), ("lb-1", 30001), ("lb-1", 30002)]


@pytest.mark.row("PP-01")
def test_every_port_is_in_the_range_and_the_whole_range_is_used(make_pool: MakePool) -> None:
    pool = make_pool(start=30003, size=13, lbs=[load_balancer(capacity=50)])
    found = [port for n in range(13) for _, port in pool.ports(f"games/p{n}")]
    assert sorted(found) == list(range(30003, 30016))
    assert isinstance(pool.try_allocate("games/late"), Full)


@pytest.mark.row("PP-05")
@pytest.mark.parametrize("wants", [single(1), [("rtp", 3)]], ids=str)
def test_allocation_near_65535_ends_there_and_never_wraps(make_pool: MakePool, wants: list[tuple[str, int]]) -> None:
    pool = make_pool(start=65530, size=6)
    found: list[int] = []
    while not isinstance(answer := pool.try_allocate(f"games/p{len(found)}", wants), Full):
        assert isinstance(answer, Granted)
        found += [e.port for e in answer.entries]
    assert found == list(range(65530, 65536))


def test_a_pool_that_is_not_active_gives_no_ports(pool: LivePool) -> None:
    pool.configure([load_balancer()], state="Deleting")
    assert isinstance(pool.try_allocate(), Closed)
    assert pool.waiting() == set()


def test_an_answer_carries_the_load_balancers_of_all_entries(make_pool: MakePool) -> None:
    pool = make_pool(lbs=load_balancers(3, capacity=1))
    run = pool.run()
    answer = run.allocate("u", single(3), UNIFORM)
    assert isinstance(answer, Granted)
    assert {name: c.arn for name, c in answer.carriers.items()} == {f"lb-{n}": f"arn:lb-{n}" for n in range(3)}
    assert pool.run().carriers == answer.carriers


def test_text_that_json_escapes_is_refused_in_uids_and_wants(pool: LivePool) -> None:
    for uid, want in (('"', "7777/UDP"), ("u", "a\\"), ("u\n", "7777/UDP")):
        with pytest.raises(ValueError, match="escapes"):
            pool.run().allocate(uid, [(want, 1)], UNIFORM)


def test_names_may_have_any_character(pool: LivePool) -> None:
    pool.allocate('games/"\\ä', uid="u")
    assert set(pool.held()) == {'games/"\\ä'}
