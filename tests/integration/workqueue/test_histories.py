"""Random histories of three keys, on the real scripts and on the reference: each answer, place and hint is the same."""

from __future__ import annotations

from typing import Any, NamedTuple

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    RuleBasedStateMachine,
    consumes,
    invariant,
    multiple,
    rule,
    run_state_machine_as_test,
)
from redis import Redis

from events.workqueue import LeasedKey, Mark, Snapshot
from tests.integration.workqueue import reference
from tests.integration.workqueue.brokers import Elsewhere, Here
from tests.integration.workqueue.reference import End, Key, Run, Stored
from tests.integration.workqueue.world import EPOCH, HOUR, World

KEYS = ("pod/a/x", "pod/a/y", "portpool/z")
key_names = st.sampled_from(KEYS)
pool_lists = st.none() | st.lists(st.sampled_from(("arena", "backup")), unique=True, max_size=2)
ages = st.integers(min_value=0, max_value=3)


class Running(NamedTuple):
    key: str
    taken: LeasedKey
    run: Run


class History(RuleBasedStateMachine):
    runs = Bundle("runs")
    broker: type[Here] | type[Elsewhere]
    redis: Redis

    def __init__(self) -> None:
        super().__init__()
        self.redis.flushall()
        self.world = World(self.broker(self.redis))
        self.queue = self.world.queue
        self.keys = dict.fromkeys(KEYS, Key())
        self.version = self.holder = 0
        self.hints: list[str] = []

    def _put(self, name: str, key: Key, hint: bool) -> None:
        self.keys[name] = key
        if hint:
            self.hints.append(name)

    def _version(self, age: int) -> int:
        """A new one, or one that is `age` older than the newest."""
        self.version += age == 0
        return max(self.version - age, 1)

    @rule(name=key_names, age=ages, gone=st.booleans(), relist=st.booleans())
    def mark(self, name: str, age: int, gone: bool, relist: bool) -> None:
        new = Stored(self._version(age), gone)
        key, hint = reference.mark(self.keys[name], new)
        assert self.queue.marks(EPOCH, [Mark(name, new.version, "u", gone, b"{}")], relist=relist) == [int(hint)]
        self._put(name, key, hint)

    @rule(names=st.lists(key_names, max_size=3), pools=pool_lists)
    def touch(self, names: list[str], pools: list[str] | None) -> None:
        self.queue.touch(names, pools or ())
        for name in names:
            self._put(name, *reference.touch(self.keys[name], as_tuple(pools) or ()))

    @rule(target=runs, name=key_names)
    def take(self, name: str) -> Any:
        self.holder += 1
        before = self.keys[name]
        self.keys[name], answer = reference.take(before, self.holder)
        taken = self.world.try_take(name)
        if not isinstance(taken, LeasedKey):
            assert taken.value == answer
            return multiple()
        assert answer == "taken"
        assert (stored(taken.snapshot), taken.tries, taken.pools) == (before.stored, before.tries, before.pools)
        return Running(name, taken, Run(self.holder, before.want))

    @rule(running=runs, pools=pool_lists)
    def renew(self, running: Running, pools: list[str] | None) -> None:
        key, held = reference.renew(self.keys[running.key], running.run, as_tuple(pools))
        assert self.queue.renew(running.taken, HOUR, pools) == held
        self._put(running.key, key, hint=False)

    @rule(running=consumes(runs), waits=st.booleans(), tries=ages, age=st.none() | ages, pools=pool_lists)
    def done(self, running: Running, waits: bool, tries: int, age: int | None, pools: list[str] | None) -> None:
        own = None if age is None else Stored(self._version(age))
        end = End(waits, tries, own, as_tuple(pools))
        key, hint, accepted = reference.done(self.keys[running.key], running.run, end)
        wait = HOUR if waits else None
        seen = Snapshot(own.version, "u", gone=False, body={}) if own else None
        assert self.queue.done(running.taken, wait, tries=tries, written=seen, pools=pools) == accepted
        self._put(running.key, key, hint)

    @rule(name=key_names)
    def timer_ends(self, name: str) -> None:
        if self.keys[name].place in "HW":
            self.world.end_timer(name)
            self.keys[name] = self.keys[name]._replace(over=True)

    @rule()
    def sweep_due(self) -> None:
        swept = {name: reference.sweep_due(key) for name, key in self.keys.items()}
        assert self.queue.sweep_due() == sum(hint for _, hint in swept.values())
        for name, (key, hint) in swept.items():
            self._put(name, key, hint)

    @rule(late=st.booleans())
    def sweep_lost(self, late: bool) -> None:
        queued = [name for name, key in self.keys.items() if key.place == "Q" and late]
        assert self.queue.sweep_lost(self.world.now() + 1 if late else 1) == len(queued)
        self.hints += queued

    @invariant()
    def everything_is_as_in_the_reference(self) -> None:
        for name, key in self.keys.items():
            assert (self.world.place(name), self.world.dirty(name)) == (key.place, key.dirty), name
            assert stored(self.queue.snapshot(name)) == key.stored
        assert sorted(self.world.waiting()) == sorted(self.hints)


def stored(snapshot: Snapshot | None) -> Stored | None:
    return Stored(snapshot.version, snapshot.gone) if snapshot else None


def as_tuple(pools: list[str] | None) -> tuple[str, ...] | None:
    return None if pools is None else tuple(pools)


@pytest.mark.row("EV-05", "EV-09")
@pytest.mark.parametrize("broker", [Here, Elsewhere], ids=["broker here", "broker elsewhere"])
def test_the_scripts_do_what_the_checked_model_does(redis: Redis, broker: type[Here] | type[Elsewhere]) -> None:
    machine = type("HistoryHere", (History,), {"redis": redis, "broker": broker})
    run_state_machine_as_test(
        machine,
        settings=settings(
            max_examples=40,
            stateful_step_count=50,
            deadline=None,
            database=None,
            phases=[Phase.explicit, Phase.generate],  # shrinking would outlast the test's own time limit
            suppress_health_check=[HealthCheck.too_slow],
        ),
    )
