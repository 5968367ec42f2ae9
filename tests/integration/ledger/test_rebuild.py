"""Redis was lost: nothing is given out before the ledger was verified, and nothing of before counts after that."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta

import pytest
from redis import Redis

from domain.port_audit.rebuild import TaggedEntry, rebuild
from domain.ports.entry import Entry, EntryState
from tests.integration.ledger.conftest import MakePool
from tests.support.ports.builders import entry, limits, load_balancer, load_balancers
from tests.support.ports.live_pool import IN_ORDER, LivePool, single, stored
from workers.stores.ports.ledger import Closed, Ledger, NotReady, PodLedger, load_scripts
from workers.stores.ports.pool_ledger import PortPoolLedger, Span
from workers.stores.ports.precreated import Stock

GRANTS: dict[str, Callable[[LivePool], object]] = {
    "open": lambda pool: pool.run(),
    "intent": lambda pool: pool.growth.intent("1", limits()),
    "adopt": lambda pool: pool.growth.adopt(0),
    "wake": lambda pool: pool.sweep(),
    "configure": lambda pool: pool.growth.configure(0, "1", "Active", {}, Span(30000, 10), [load_balancer()]),
    "orphan": lambda pool: pool.ledger.orphan("games/a", "u", "lb-0:30000", "arn:l", ""),
    "missing": lambda pool: pool.growth.missing("games/a", entry()),
    "distrust": lambda pool: pool.growth.distrust(),
    "prune_fences": lambda pool: pool.prune_fences(timedelta(days=1)),
    "stock": lambda pool: Stock(pool.ledger).put("lb-0:30000", "arn:l", "arn:g"),
    "unstock": lambda pool: Stock(pool.ledger).lost("lb-0:30000", "arn:l"),
    "compare": lambda pool: Stock(pool.ledger).compare("lb-0:30000"),
}
WRITES: dict[str, Callable[[PodLedger, Entry], object]] = {
    "allocate": lambda run, _: run.allocate("uid-of-a", single(2), IN_ORDER),
    "record": lambda run, held: run.record(held.uid, [held]),
    "aim": lambda run, held: run.aim(held, "10.0.0.1:7777"),
    "aimed": lambda run, held: run.aimed(held, ""),
    "releasing": lambda run, held: run.releasing(held),
    "free": lambda run, held: run.free(held),
    "confirm": lambda run, held: run.confirm(held),
    "give_way": lambda run, held: run.give_way(held, "games/b", "uid-of-b", "7777/UDP", "arn:l", "arn:g"),
    "foreign": lambda run, held: run.foreign(held),
    "leave": lambda run, _: run.leave(),
}


def rebuilt(pool: LivePool, world: dict[str, list[Entry]] | None = None) -> LivePool:
    pool.redis.flushall()
    pool.rebuild(world)
    pool.configure([load_balancer()])
    return pool


@pytest.mark.row("AL-20")
@pytest.mark.parametrize("grant", GRANTS.values(), ids=GRANTS)
def test_nothing_is_granted_before_the_stamp(redis: Redis, grant: Callable[[LivePool], object]) -> None:
    pool = LivePool(redis, "arena", 30000, 10)
    with pytest.raises(NotReady):
        grant(pool)
    assert pool.growth.begin_rebuild()
    with pytest.raises(NotReady):
        grant(pool)


@pytest.mark.row("AL-20")
def test_between_stamp_and_configuration_no_port_is_given(redis: Redis) -> None:
    pool = LivePool(redis, "arena", 30000, 10)
    pool.rebuild({"games/a": [entry()]})
    assert isinstance(pool.try_allocate("games/b"), Closed)
    assert pool.run("games/a").entries == (entry(),)  # but what is held can be released


@pytest.mark.row("AL-19", "AL-20")
def test_what_the_world_shows_is_given_to_nobody_else(pool: LivePool) -> None:
    bound = entry(port=30001)
    going = entry(port=30002, uid="uid-of-gone", state=EntryState.RELEASING)
    rebuilt(pool, {"games/a": [bound], "games/gone": [going]})
    assert [port for n in range(3) for _, port in pool.ports(f"games/p{n}")] == [30000, 30003, 30004]
    assert pool.held()["games/a"] == (bound,)
    pool.release("games/gone")
    assert pool.ports("games/late") == [("lb-0", 30002)]


@pytest.mark.row("AL-19", "AL-03", "AL-05")
def test_a_rebuild_keeps_a_number_whatever_the_protocol_of_its_listener(pool: LivePool) -> None:
    """The part of AL-05 that holds in this release: the ledger counts numbers, before a rebuild and after it."""
    rebuilt(pool, {"games/a": [entry(want="7777/TCPUDP"), entry(port=30001, want="443/TLS")]})
    assert pool.ports("games/b", [("7777/TCP", 1)]) == [("lb-0", 30002)]


@pytest.mark.row("AL-19")
def test_the_owner_gets_the_same_answer_after_a_rebuild(pool: LivePool) -> None:
    """From tags alone: the listener says who it is for and which want it serves."""
    held = [replace(e, listener=f"arn:{e.port}", target_group="arn:g", token="") for e in pool.allocate("games/a", 2)]
    world = rebuild("arena", [TaggedEntry("games/a", replace(e, state=EntryState.RELEASING)) for e in held], [], [])
    assert {e.state for e in world.owners["games/a"]} == {EntryState.RELEASING}  # its pod is gone, say the pods
    rebuilt(pool, {"games/a": [replace(e, state=EntryState.BOUND) for e in held]})
    assert [e.id for e in pool.allocate("games/a", 2)] == [e.id for e in held]


def test_entries_on_load_balancers_that_are_not_there_cost_no_room(pool: LivePool) -> None:
    rebuilt(pool, {"games/a": [entry(lb="lb-gone")]})
    assert pool.view().free == 50
    pool.release("games/a")


@pytest.mark.parametrize("port", [0, 29999, 65536, 10**12])
def test_a_tag_or_annotation_may_name_any_port(pool: LivePool, port: int) -> None:
    rebuilt(pool, {"games/a": [entry(port=port)]})
    assert pool.ports("games/b") == [("lb-0", 30000)]
    pool.release("games/a")
    assert set(pool.held()) == {"games/b"}


# ---- runs from before


@pytest.mark.row("AL-20", "EV-13")
@pytest.mark.parametrize("write", WRITES.values(), ids=WRITES)
def test_a_run_that_began_before_the_loss_writes_nothing_after_the_rebuild(
    pool: LivePool, write: Callable[[PodLedger, Entry], object]
) -> None:
    """Rule incarnation: same entry, same token, and its fence was even written again."""
    (held,) = pool.allocate()
    late = pool.run()
    rebuilt(pool, {"games/a": [held]})
    pool.redis.hset(f"{pool.ledger.prefix}fences", late.name, late.token)
    with pytest.raises(NotReady):
        write(late, held)
    assert pool.held() == {"games/a": (held,)}


@pytest.mark.row("AL-20")
def test_a_run_that_was_leased_before_the_stamp_cannot_open_after_it(pool: LivePool) -> None:
    """What it read of its pod is from before the loss: it could release the ports of the pod's successor."""
    leased = pool.token()
    rebuilt(pool, {"games/a": [entry(uid="successor")]})
    with pytest.raises(NotReady):
        pool.ledger.open("games/a", leased)
    assert pool.run("games/a")


@pytest.mark.row("AL-20")
def test_nor_can_it_after_an_audit_that_comes_before_the_configuration(pool: LivePool) -> None:
    """Rule newest: the forgetting of fences, which spares the runs of a day, sets no floor of its own."""
    leased = pool.token()
    pool.redis.flushall()
    pool.rebuild({"games/a": [entry(uid="successor")]})
    pool.prune_fences(timedelta(days=1))
    pool.configure([load_balancer()])
    with pytest.raises(NotReady):
        pool.ledger.open("games/a", leased)
    assert pool.run("games/a")


def test_waiters_and_intents_of_before_are_gone(pool: LivePool) -> None:
    """Every owner without a port is marked dirty after a rebuild, and fails again if it must."""
    pool.configure([])
    pool.fail("games/a")
    pool.growth.intent(pool.view().epoch, limits())
    pool.redis.hdel(f"{pool.ledger.prefix}meta", "incarnation")  # an old copy has come back
    pool.rebuild()
    assert pool.waiting() == set()
    assert not pool.growth.pressure(timedelta(hours=1)).intent_open


# ---- rebuilds against each other


@pytest.mark.row("AL-20")
def test_a_ledger_that_is_ready_is_not_rebuilt(pool: LivePool) -> None:
    assert pool.growth.begin_rebuild() is None


@pytest.mark.row("AL-19")
def test_a_slow_second_rebuild_does_not_overwrite_what_was_granted_since(redis: Redis) -> None:
    """Rule stampfence: its listing is older than the grants."""
    pool = LivePool(redis, "arena", 30000, 10)
    slow = pool.growth.begin_rebuild()
    assert slow
    pool.rebuild()
    pool.configure([load_balancer()])
    held = pool.allocate("games/a")
    assert not pool.growth.stamp(slow, 30000, {})
    assert pool.held() == {"games/a": held}


@pytest.mark.row("AL-19")
def test_of_two_rebuilds_at_once_the_later_one_is_stamped(redis: Redis) -> None:
    pool = LivePool(redis, "arena", 30000, 10)
    first, second = pool.growth.begin_rebuild(), pool.growth.begin_rebuild()
    assert first
    assert second
    assert not pool.growth.stamp(first, 30000, {})
    assert pool.growth.stamp(second, 30000, {})


@pytest.mark.row("AL-19")
def test_a_rebuild_from_before_a_loss_is_refused_after_it(redis: Redis) -> None:
    """Between the loss and now another rebuild was stamped, ports were granted, and Redis was lost again."""
    pool = LivePool(redis, "arena", 30000, 10)
    mark = pool.growth.begin_rebuild()
    assert mark
    redis.flushall()
    assert not pool.growth.stamp(mark, 30000, {})
    assert pool.growth.begin_rebuild()
    assert not pool.growth.stamp(mark, 30000, {})


@pytest.mark.row("SU-05")
def test_an_epoch_is_never_used_again_after_a_loss(pool: LivePool) -> None:
    """Rule freshepoch: the key or the request of an old epoch would meet a new failure."""
    seen = {pool.view().epoch}
    for n in range(3):
        pool.configure(load_balancers(n + 2))
        seen.add(pool.view().epoch)
    rebuilt(pool)
    assert int(pool.view().epoch) > max(int(epoch) for epoch in seen)


# ---- marks of the server


@pytest.mark.row("AL-20")
def test_a_ledger_of_another_server_is_not_ready(pool: LivePool, redis: Redis) -> None:
    """A promoted replica, or a restart: the data are here and the incarnation is not."""
    pool.allocate("games/a")
    meta = f"{pool.ledger.prefix}meta"
    stamped: bytes = redis.hget(meta, "incarnation")  # type: ignore[assignment] # the synchronous client
    server, mark = stamped.decode().split("/")
    for other in (f"{'0' * len(server)}/{mark}", f"{server[:-1]}/{mark}", f"{server}0/{mark}", server, ""):
        redis.hset(meta, "incarnation", other)
        with pytest.raises(NotReady):
            pool.run()
    redis.hset(meta, "incarnation", stamped)


def test_a_client_that_does_not_know_its_server_is_never_ready(pool: LivePool, redis_url: str) -> None:
    with Redis.from_url(redis_url) as stranger:
        ledger = Ledger(stranger, load_scripts(stranger), pool.name)
        with pytest.raises(NotReady):
            ledger.open("games/a", pool.token())
        assert PortPoolLedger(ledger).begin_rebuild()


@pytest.mark.row("AL-20")
def test_pools_are_rebuilt_each_for_itself(make_pool: MakePool, redis: Redis) -> None:
    ready = make_pool(name="ready")
    other = LivePool(redis, "other", 30000, 10)
    with pytest.raises(NotReady):
        other.run()
    assert ready.run()
    other.rebuild({"games/a": [entry(pool="other")]})
    assert ready.held() == {}


def test_what_is_stamped_is_what_is_read(redis: Redis) -> None:
    pool = LivePool(redis, "arena", 30000, 10)
    world = {f"games/p{n}": (entry(port=30000 + n, uid=f"u{n}", token="1-x"),) for n in range(3)}
    assert stored(world)
    pool.rebuild(world)
    assert pool.held() == world
