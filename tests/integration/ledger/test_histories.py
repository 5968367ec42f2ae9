"""Random histories of a pool, on the real scripts and on the reference: every answer and every count is the same.

Held after each step: no port has two owners (I1), no room is kept from a waiter that fits (I6), an intent asks for no
more than the demand needs and the limit allows (I5), and all that is counted apart equals a recount.
"""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import initialize, invariant, precondition, rule, run_state_machine_as_test
from redis import Redis

from domain.port_pools.scale_up import Intent
from domain.ports.entry import Entry, EntryState
from tests.integration.ledger.history_rules import Rules, chances
from tests.integration.ledger.reference import Held, Lb, Reference
from tests.support.ports.builders import limits
from tests.support.ports.live_pool import IN_ORDER, UNIFORM, LivePool
from workers.stores.ports.ledger import Capped, Closed, Full, Granted, NotReady, PodLedger
from workers.stores.ports.pool_ledger import PoolLoadBalancer

START, SIZE, CAPACITY, MOST = 30000, 12, 4, 3
OWNERS = ("games/a", "games/b", "lobby/c", "lobby/d")
WANTS = [[(f"{n}/UDP", 1) for n in range(count)] for count in range(1, 5)]
owner_names = st.sampled_from(OWNERS)
uids = st.sampled_from(("u1", "u1", "u1", "u2"))
stranger_ports = st.frozensets(st.integers(START - 2, START + SIZE + 1), max_size=3)


class History(Rules):
    redis: Redis
    wants: list[list[tuple[str, int]]]
    segment: int
    shares: tuple[int | None, ...] = (None,)  # of a namespace, one after the other

    @initialize(count=st.integers(0, 2))
    def begin(self, count: int) -> None:
        self.redis.flushall()
        self.pool = LivePool(self.redis, "arena", START, SIZE)
        self.model = Reference(START, SIZE, self.segment)
        self.runs = 0
        self.stuck: set[str] = set()  # runs of ports that are free in number and not in a row
        self.told: set[str] = set()  # capped ones that were told that there is room
        self.changes, self.model.share = 0, self.shares[0]
        self.pool.rebuild()
        self.configure_as([self._lb(n) for n in range(count)])

    # ---- runs of pods

    def _open(self, owner: str) -> PodLedger:
        self.runs += 1
        run = self.pool.run(owner)
        assert run.waits == (owner in self.model.demand or owner in self.model.capped)
        assert {(e.lb, e.port) for e in run.entries} == set(self.model.of(owner))
        return run

    def _woken(self, names: tuple[str, ...]) -> None:
        """Those named waited and fit; nobody was named twice."""
        assert len(set(names)) == len(names)
        capped = set(names) & set(self.model.capped)
        assert not any(self.model.exceeds(name, self.model.capped[name]) for name in capped)
        self.told |= capped
        waiters = set(names) - capped
        assert waiters <= set(self.model.demand) - self.model.woken
        if waiters:  # waiters may hold on to room that others took since: only who is woken now must fit
            self.model.woken |= waiters
            assert self.model.kept() <= self.model.free()

    def allocate_as(self, owner: str, uid: str, wants: list[tuple[str, int]], uniform: bool) -> bool | None:
        answer = self._open(owner).allocate(uid, wants, UNIFORM if uniform else IN_ORDER, self.segment)
        granted = self.model.allocate(owner, uid, wants, uniform, self.runs)
        assert isinstance(answer, ANSWERS[granted]), (answer, self.model)
        assert not isinstance(answer, Closed)
        self.told.discard(owner)
        self._woken(answer.woken)
        self.stuck.discard(owner)
        if granted is False and len(wants) != sum(ports for _, ports in wants):
            self.stuck.add(owner)
        return granted

    @rule(owner=owner_names, uid=uids, pick=st.integers(0, 9), uniform=st.booleans())
    def allocate(self, owner: str, uid: str, pick: int, uniform: bool) -> None:
        self.allocate_as(owner, uid, self.wants[pick % len(self.wants)], uniform)

    @rule(owner=owner_names, pick=st.integers(0, 9), chance=chances)
    def allocate_then_roll_back(self, owner: str, pick: int, chance: int) -> None:
        """One of what this very run has taken is freed by the same run."""
        run = self._open(owner)
        wants = self.wants[pick % len(self.wants)]
        answer = run.allocate("u1", wants, IN_ORDER, self.segment)
        granted = self.model.allocate(owner, "u1", wants, uniform=False, run=self.runs)
        self.told.discard(owner)
        if granted:
            assert isinstance(answer, Granted)
            self._woken(answer.woken)
            fresh = [p for p, h in self.model.of(owner).items() if h.run == self.runs]
            if fresh:
                place = sorted(fresh)[chance % len(fresh)]
                self._changed(lambda: self.model.held.pop(place))
                self._woken(run.free(next(e for e in answer.entries if (e.lb, e.port) == place)))
        else:
            assert isinstance(answer, Full | Capped)
            assert isinstance(answer, ANSWERS[granted])
            self._woken(answer.woken)
            self.stuck.add(owner)

    @rule(chance=chances, other=owner_names)
    def give_way(self, chance: int, other: str) -> None:
        some = self._some(chance, "allocated", "bound")
        if some and some[1].owner != other:
            place, held, run, entry = some
            told = run.give_way(entry, other, "u9", held.want, "arn:l", "arn:g")
            self.model.held[place] = Held(other, "u9", held.want, "bound")
            self._woken(told)

    @rule(owner=owner_names)
    def leave(self, owner: str) -> None:
        run = self._open(owner)
        self.model.leave(owner)
        self._woken(run.leave())

    # ---- the pool's own side

    def _lb(self, number: int, capacity: int = CAPACITY, strangers: frozenset[int] = frozenset()) -> Lb:
        inside = sum(START <= port < START + SIZE for port in strangers)
        return Lb(f"lb-{number}", number, number, max(0, min(capacity - len(strangers), SIZE - inside)), strangers)

    def _listed(self, lb: Lb) -> PoolLoadBalancer:
        return PoolLoadBalancer(
            lb.name, f"arn:{lb.name}", "dns", lb.slot, lb.position, lb.capacity, tuple(sorted(lb.strangers))
        )

    def configure_as(self, lbs: list[Lb]) -> None:
        before = int(self.pool.view().epoch)
        raised = self.model.raised
        self._changed(lambda: self.model.configure(lbs))
        share = self.model.share
        config = {"spec": {"maxPortsPerNamespace": share}} if share else {}
        self._woken(self.pool.configure([self._listed(lb) for lb in lbs], config=config))
        assert int(self.pool.view().epoch) - before == self.model.raised - raised

    @rule(
        numbers=st.frozensets(st.integers(0, MOST - 1)), capacity=st.integers(0, CAPACITY + 1), strangers=stranger_ports
    )
    def configure(self, numbers: frozenset[int], capacity: int, strangers: frozenset[int]) -> None:
        """Load balancers come, go, are emptied or filled by strangers."""
        lbs = [self._lb(n) for n in sorted(numbers)]
        self.configure_as(lbs[:-1] + [self._lb(lb.slot, capacity, strangers) for lb in lbs[-1:]])

    @precondition(lambda self: len(self.shares) > 1)
    @rule()
    def share(self) -> None:
        self.changes += 1
        self.model.share = self.shares[self.changes % len(self.shares)]
        self.configure_as(list(self.model.lbs.values()))

    @rule(old=st.booleans(), per_round=st.integers(1, 2))
    def intent(self, old: bool, per_round: int) -> None:
        epoch, short = self.pool.view().epoch, self.model.short()
        before, open_already = self.model.slots(), self.model.intent is not None
        found = self.pool.growth.intent("1" if old else epoch, limits(MOST, per_round, CAPACITY))
        if old and not open_already:
            assert found == "OLD"
            return
        expected = self.model.new_intent(MOST, per_round, CAPACITY)
        assert (found.slots if isinstance(found, Intent) else found) == expected
        if isinstance(found, Intent) and not open_already:
            assert len(found.slots) * CAPACITY - short < CAPACITY  # I5: the demand needs each of them
            assert len(found.slots) <= per_round
            assert len(before | set(found.slots)) <= MOST

    @precondition(lambda self: self.model.intent is not None)
    @rule(late=st.booleans())
    def close(self, late: bool) -> None:
        found = self.pool.growth.intent("1", limits(MOST))
        assert isinstance(found, Intent)
        lbs = [self._lb(slot) for slot in found.slots]
        self._changed(lambda: self.model.close(lbs))
        woken = self.pool.growth.close(found, [self._listed(lb) for lb in lbs])
        assert woken is not None
        self._woken(woken)
        if late:
            assert self.pool.growth.close(found, [self._listed(lb) for lb in lbs]) is None

    @rule(number=st.integers(0, MOST), port=st.integers(START - 1, START + SIZE), owner=owner_names)
    def orphan(self, number: int, port: int, owner: str) -> None:
        place = (f"lb-{number}", port)
        inside = place[0] in self.model.lbs and port >= START
        free = inside and place not in self.model.held and place not in self.model.strangers
        answer = "OK" if free else "TAKEN" if inside else "OUTSIDE"
        assert self.pool.ledger.orphan(owner, "u0", f"{place[0]}:{port}", "arn:l", "") == answer
        if free:
            self.model.held[place] = Held(owner, "u0", "", "releasing")

    @rule(count=st.integers(0, 2))
    def redis_is_lost(self, count: int) -> None:
        late = self.pool.run(OWNERS[0])
        before = int(self.pool.view().epoch)
        self.model.lose()
        self.redis.flushall()
        world: dict[str, list[Entry]] = {}
        for owner, lb, port, uid, want, state in self.model.contents():
            entry = Entry("arena", lb, port, want, uid, EntryState(state), f"arn:{lb}:{port}")
            world.setdefault(owner, []).append(entry)
        self.pool.rebuild(world)
        assert int(self.pool.view().epoch) > before
        self.configure_as([self._lb(n) for n in range(count)])
        with pytest.raises(NotReady):
            late.leave()

    @rule()
    def woken_waiters_run(self) -> None:
        """Once they have, nobody waits who fits (I6), and nothing is kept for anybody."""
        while self.model.woken:
            owner = min(self.model.woken)
            self.allocate_as(owner, "u3", [(f"w{n}", 1) for n in range(self.model.demand[owner])], uniform=False)
        left = self.model.free()
        assert [n for n, ports in self.model.demand.items() if ports <= left and n not in self.stuck] == []

    # ---- after each step

    @invariant()
    def everything_is_as_in_the_reference(self) -> None:
        assert self.pool.faults() == []
        found = {(o, e.lb, e.port, e.uid, e.want, str(e.state)) for o, held in self.pool.held().items() for e in held}
        assert found == set(self.model.contents())
        view = self.pool.view()
        assert {lb.name for lb in view.load_balancers if lb.retiring} == self.model.retiring
        assert (view.free, view.demand) == (self.model.free(), sum(self.model.demand.values()))
        assert self.pool.waiting() == set(self.model.demand)

    @invariant()
    def who_fits_its_share_was_told_or_one_before_it(self) -> None:
        for space in ("games", "lobby"):
            names = {name for name in self.model.capped if name.startswith(space)}
            room = [name for name in names if not self.model.exceeds(name, self.model.capped[name])]
            assert not room or names & self.told, (space, self.model)

    @invariant()
    def nobody_waits_who_fits(self) -> None:
        assert [name for name in self.model.fitting() if name not in self.stuck] == []


ANSWERS: dict[bool | None, type] = {True: Granted, False: Full, None: Capped}


def check(
    redis: Redis,
    wants: list[list[tuple[str, int]]],
    examples: int,
    segment: int = 1,
    shares: tuple[int | None, ...] = (None,),
) -> None:
    kind = {"redis": redis, "wants": wants, "segment": segment, "shares": shares}
    machine = type("HistoryHere", (History,), kind)
    quiet = [HealthCheck.too_slow, HealthCheck.filter_too_much]
    run_state_machine_as_test(
        machine,
        settings=settings(
            max_examples=examples, stateful_step_count=40, deadline=None, database=None, suppress_health_check=quiet
        ),
    )


@pytest.mark.row("AL-01", "AL-12", "AL-17", "AL-18", "AL-19", "PP-16", "SU-04", "SU-08", "SU-13")
def test_the_scripts_do_what_the_reference_does(redis: Redis) -> None:
    check(redis, WANTS, 50)


@pytest.mark.row("AL-01", "AL-12", "PP-01")
def test_the_scripts_do_what_the_reference_does_with_runs_of_ports(redis: Redis) -> None:
    check(redis, [*WANTS, [("rtp", 2)], [("rtp", 3), ("0/UDP", 1)], [("rtp", 2), ("rtcp", 2)]], 30)


@pytest.mark.row("PP-08", "AL-01", "AL-12")
def test_the_scripts_do_what_the_reference_does_with_segments(redis: Redis) -> None:
    check(redis, [[("a", 2)], [("b", 4)], [("a", 2), ("c", 2)], [("b", 4), ("c", 2)]], 30, segment=2)


@pytest.mark.row("AL-01", "AL-12", "SU-13")
def test_the_scripts_do_what_the_reference_does_with_shares_of_namespaces(redis: Redis) -> None:
    check(redis, [*WANTS[:2], [("rtp", 2)]], 25, shares=(2, 3, None))
