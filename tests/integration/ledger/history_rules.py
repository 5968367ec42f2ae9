"""Rules of the histories that ask one script one thing: of a run about its entries, of the pool about itself."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, rule

from domain.ports.entry import Entry, EntryState
from tests.integration.ledger.reference import Held, Place, Reference
from tests.support.ports.live_pool import LivePool
from workers.stores.ports.ledger import PodLedger
from workers.stores.ports.pool_ledger import PoolLoadBalancer

chances = st.integers(0, 23)
slots = st.integers(0, 2)


class Rules(RuleBasedStateMachine):
    """`stuck` wait for ports in a row, or are not to be woken for another reason, until ports become free."""

    pool: LivePool
    model: Reference
    stuck: set[str]

    @abstractmethod
    def _open(self, owner: str) -> PodLedger: ...

    @abstractmethod
    def _woken(self, names: tuple[str, ...]) -> None: ...

    def _changed(self, change: Callable[[], object]) -> None:
        """Who failed with as many free ports as there are is to be woken only once there are more."""
        before = {lb: self.model.room(lb) for lb in self.model.lbs}
        change()
        if any(self.model.room(lb) > before.get(lb, 0) for lb in self.model.lbs):
            self.stuck.clear()

    def _some(self, chance: int, *states: str) -> tuple[Place, Held, PodLedger, Entry] | None:
        places = sorted(p for p, h in self.model.held.items() if h.state in states)
        if not places:
            return None
        place = places[chance % len(places)]
        held = self.model.held[place]
        run = self._open(held.owner)
        return place, held, run, next(e for e in run.entries if (e.lb, e.port) == place)

    @rule(chance=chances)
    def record(self, chance: int) -> None:
        if some := self._some(chance, "allocated", "bound"):
            place, held, run, entry = some
            run.record(held.uid, [replace(entry, state=EntryState.BOUND, listener=f"arn:{place}")])
            self.model.held[place] = replace(held, state="bound", run=-1)

    @rule(chance=chances)
    def releasing(self, chance: int) -> None:
        if some := self._some(chance, "allocated", "bound", "releasing"):
            place, held, run, entry = some
            run.releasing(entry)
            self.model.held[place] = replace(held, state="releasing", run=-1)

    @rule(chance=chances)
    def free(self, chance: int) -> None:
        if some := self._some(chance, "releasing"):
            place, _, run, entry = some
            self._changed(lambda: self.model.held.pop(place))
            self._woken(run.free(entry))

    @rule(chance=chances)
    def foreign(self, chance: int) -> None:
        if some := self._some(chance, "allocated", "bound"):
            place, _, run, entry = some
            self._changed(lambda: self.model.give_up(place))
            self._woken(run.foreign(entry))

    @rule(chance=chances)
    def crowded(self, chance: int) -> None:
        if some := self._some(chance, "allocated"):
            place, _, run, entry = some
            self._changed(lambda: self.model.crowd(place))
            self._woken(run.crowded(entry))

    @rule(number=slots)
    def retire(self, number: int) -> None:
        lb = PoolLoadBalancer(f"lb-{number}", f"arn:lb-{number}", "dns", number, number, 0)
        assert not self.pool.retirement.retire(lb, timedelta(hours=1))
        assert self.pool.retirement.retire(lb, timedelta(0)) == self.model.retire(lb.name)

    @rule(number=slots)
    def forget(self, number: int) -> None:
        lb = PoolLoadBalancer(f"lb-{number}", f"arn:lb-{number}", "dns", number, number, 0)
        goes = self.model.may_go(lb.name)
        assert self.pool.retirement.confirm(lb) == goes
        assert not self.pool.retirement.forget(replace(lb, arn="arn:another"))
        assert self.pool.retirement.forget(lb) == goes
        if goes:
            self.model.forget(lb.name)

    @rule(forgotten=st.booleans())
    def sweep(self, forgotten: bool) -> None:
        if forgotten:
            self.model.woken.clear()
        pressure = self.pool.growth.pressure(timedelta(hours=0 if forgotten else 1))
        self._woken(pressure.woken)
        assert (pressure.short, pressure.intent_open) == (self.model.short(), self.model.intent is not None)

    @rule()
    def prune(self) -> None:
        self.pool.prune_fences(timedelta(0))
