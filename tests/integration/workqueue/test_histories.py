"""Random histories of keys, on the real scripts and on the reference: each answer, place, turn and hint is the same."""

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

from events.workqueue import AHEAD, EndOfRun, LeasedKey, Mark, Refusal, Snapshot
from events.workqueue.entries import snapshot
from tests.integration.workqueue import reference
from tests.integration.workqueue.brokers import Elsewhere, Here
from tests.integration.workqueue.reference import End, Hints, Key, Run, Stored
from tests.integration.workqueue.world import EPOCH, HOUR, World
from tests.support.ready_keys import READY

KEYS = ("pod/a/x", "pod/a/y", "portpool/z", "podclaim/a/c")
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
        self.version = self.holder = self.gone = 0
        self.hints = Hints()

    def _top_up(self, most: int = AHEAD) -> None:
        self.hints = self.hints.topped_up(self.keys.values(), most)

    def _version(self, age: int) -> int:
        """A new one, or one that is `age` older than the newest."""
        self.version += age == 0
        return max(self.version - age, 1)

    @rule(name=key_names, age=ages, gone=st.booleans(), relist=st.booleans())
    def mark(self, name: str, age: int, gone: bool, relist: bool) -> None:
        new, before = Stored(self._version(age), gone), self.keys[name]
        self.keys[name], ready = reference.mark(before, new)
        assert self.queue.marks(EPOCH, [Mark(name, new.version, "u", gone, b"{}")], relist=relist) == [int(ready)]
        if self.keys[name] != before and (before.place != "H" or gone):
            self._top_up()

    @rule(names=st.lists(key_names, max_size=3), pools=pool_lists, slow=st.booleans())
    def touch(self, names: list[str], pools: list[str] | None, slow: bool) -> None:
        self.queue.touch(names, pools or (), slow=slow)
        for name in names:
            self.keys[name], _ = reference.touch(self.keys[name], as_tuple(pools) or (), slow=slow)
        if names:
            self._top_up()

    @rule(target=runs, name=key_names, requested=st.booleans())
    def take(self, name: str, requested: bool) -> Any:
        self.holder += 1
        before = reference.touch(self.keys[name])[0] if requested else self.keys[name]
        self.keys[name], answer = reference.take(before, self.holder)
        taken = self.world.try_take(name, requested=requested)
        if not isinstance(taken, LeasedKey):
            assert taken.value == answer
            return multiple()
        assert answer == "taken"
        self._top_up()
        return self._running(name, taken, before)

    def _running(self, name: str, taken: LeasedKey, before: Key) -> Running:
        assert (stored(taken.snapshot), taken.tries, taken.pools) == (before.stored, before.tries, before.pools)
        return Running(name, taken, Run(self.holder, before.want))

    @rule(target=runs, known=st.booleans())
    def begin(self, known: bool) -> Any:
        """With the oldest message, or with a hint that nobody knows."""
        hint = self.world.hints()[0] if known and self.world.hints() else "unknown"
        counted = hint in self.world.unbegun()
        if hint != "unknown":
            self.world.broker.pop()
            self.gone += 1
        self.hints = self.hints._replace(unbegun=self.hints.unbegun - counted)
        return self._next(self.world.try_begin(hint))

    def _next(self, taken: LeasedKey | Refusal) -> Any:
        """The drain's next key, as the turns say."""
        self.hints = self.hints._replace(turn=self.hints.turn + 1)
        chosen = reference.served_next(self.keys, self.hints.turn)
        if not isinstance(taken, LeasedKey):
            assert (taken, chosen) == (Refusal.CLEAN, set())
            return multiple()
        assert taken.key in chosen
        self.holder += 1
        before = self.keys[taken.key]
        self.keys[taken.key], answer = reference.take(before, self.holder)
        assert answer == "taken"
        self._top_up(1)
        return self._running(taken.key, taken, before)

    @rule(running=runs, pools=pool_lists)
    def renew(self, running: Running, pools: list[str] | None) -> None:
        self.keys[running.key], held = reference.renew(self.keys[running.key], running.run, as_tuple(pools))
        assert self.queue.renew(running.taken, HOUR, pools) == held

    @rule(
        target=runs,
        running=consumes(runs),
        waits=st.booleans(),
        tries=ages,
        age=st.none() | ages,
        pools=pool_lists,
        goes_on=st.booleans(),
    )
    def done(
        self, running: Running, waits: bool, tries: int, age: int | None, pools: list[str] | None, goes_on: bool
    ) -> Any:
        own = None if age is None else Stored(self._version(age))
        expected = End(waits, tries, own, as_tuple(pools))
        self.keys[running.key], _, accepted = reference.done(self.keys[running.key], running.run, expected)
        written = Snapshot(own.version, "u", gone=False, body={}) if own else None
        end = EndOfRun(HOUR if waits else None, tries, written, pools)
        ended = self.world.then(running.taken, end, goes_on=goes_on)
        assert ended.accepted == accepted
        if goes_on:
            return self._next(ended.next)
        self._top_up(1)
        return multiple()

    @rule(name=key_names)
    def timer_ends(self, name: str) -> None:
        if self.keys[name].place in "HW":
            self.world.end_timer(name)
            self.keys[name] = self.keys[name]._replace(over=True)

    @rule()
    def sweep_due(self) -> None:
        swept = {name: reference.sweep_due(key) for name, key in self.keys.items()}
        assert self.queue.sweep_due() == sum(ready for _, ready in swept.values())
        self.keys = {name: key for name, (key, _) in swept.items()}
        self._top_up()

    @rule(late=st.booleans())
    def forget(self, late: bool) -> None:
        forgotten = self.hints.unbegun if late else 0
        if forgotten:
            self.world.sent_long_ago()
        assert self.queue.forget(HOUR) == forgotten
        self.hints = self.hints._replace(unbegun=self.hints.unbegun - forgotten)
        self._top_up()

    @rule()
    def messages_are_lost(self) -> None:
        self.gone += len(self.world.hints())
        self.world.broker.lose_all()

    @invariant()
    def everything_is_as_in_the_reference(self) -> None:
        pipe = self.redis.pipeline()
        for name in self.keys:
            for hash_ in ("dirty", "hold"):
                pipe.hexists(f"{{queue}}{hash_}", name)
            pipe.hget("{queue}snap", name)
            for queue in (*READY.values(), "{queue}timer"):
                pipe.zscore(queue, name)
        replies = iter(pipe.execute())
        for name, key in self.keys.items():
            dirty, held, known, *ready, timer = (next(replies) for _ in range(4 + len(READY)))
            assert (dirty, stored(snapshot(known))) == (key.dirty, key.stored), name
            assert (held, timer is not None) == (key.place == "H", key.place in "HW"), name
            expected = reference.class_of(name, key) if key.place == "Q" else None
            assert [score is not None for score in ready] == [of is expected for of in READY], name
        assert len(self.world.unbegun()) == self.hints.unbegun
        assert len(self.world.hints()) == self.hints.sent - self.gone


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
