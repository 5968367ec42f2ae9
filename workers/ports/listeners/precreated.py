"""Binding at a listener that outlives its owners: a register, or a deregister, and nothing else.

No call of AWS takes a token, so the call of a run that was overtaken may come after its heir's. The address is noted
before the call, so that an heir drops it. A record that is refused after a call makes the port's present owner compare
what is registered with what should be (tests/models and docs/adr say why this is enough, with the audit).
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace

import structlog

from berthmaster.errors import StaleToken, TransientError
from berthmaster.routing import pod_key
from domain.ports.entry import Entry, EntryState
from domain.ports.target import address_of
from workers.cloud.driver import LoadBalancerApi
from workers.cloud.errors import CloudNotFound, LoadBalancerGone, PortTaken
from workers.cloud.tags import promise_tags
from workers.port_services import PortServices
from workers.ports.listeners.collisions import give_up, give_up_with_load_balancer
from workers.ports.listeners.precreate import Stocking
from workers.ports.listeners.rivals import Rival, rival
from workers.ports.listeners.targets import standing
from workers.ports.observe import World
from workers.stores.ports.ledger import Aim, NotReady
from workers.stores.ports.precreated import Stock
from workers.stores.ports.view import owners
from workers.telemetry.port_metrics import count_collision

log = structlog.get_logger()


class Precreated:
    """One run's access to one port with a precreated listener; `driver` acts on behalf of that run."""

    def __init__(self, services: PortServices, world: World, driver: LoadBalancerApi, entry: Entry) -> None:
        self._services, self._world, self._driver, self._entry = services, world, driver, entry
        self._run, self._stock = world.access(entry.pool), Stock(services.ledger(entry.pool))

    def aim(self, target: str) -> None:
        """Exactly `target` (ip:port, '' = none) is registered, and recorded."""
        told = self._run.aim(self._entry, target)
        if not told.listener:
            if not self._restock():
                return None
            told = self._run.aim(self._entry, target)
        known = replace(
            self._entry, listener=told.listener, target_group=told.target_group, tried=tuple(sorted(told.tried))
        )
        self._world.entries[known.id] = known
        with refusal_told(self._services, known, lambda: self._run.confirm(known)):
            there = self._registered(known) if told.wish else None
            if there and (other := rival(self._services, self._world.full_name, known, there - told.tried)):
                return self._give_way(known, other)
            self._call(known, target, told, there)
            state = EntryState.BOUND if target else known.state
            self._record(replace(known, target=target, state=state, tried=()), told.wish)
        return None

    def release(self) -> tuple[str, ...]:
        """Deregisters whatever may be registered for the port; names that were woken."""
        listener, group = self._stock.find(self._entry.key)
        going = replace(self._entry, state=EntryState.RELEASING, listener=listener, target_group=group)
        self._run.releasing(going)
        self._world.entries[going.id] = going
        with refusal_told(self._services, going, lambda: self._run.releasing(going)):
            if group:
                self._drop(group, {going.target, *going.tried} | self._strangers(going))
            if going.retain:
                promise(self._driver, replace(going, retain=0), self._world.full_name)
            return self._run.free(going)

    def _strangers(self, going: Entry) -> set[str]:
        """A port that is to be compared is free only when nothing stands there but what another pod is served by."""
        there = self._registered(going) if going.id in self._world.due else set()
        return set() if rival(self._services, self._world.full_name, going, there) else there

    # ---- calls

    def _call(self, known: Entry, target: str, told: Aim, there: set[str] | None) -> None:
        """The new address first, then the others away."""
        certain = self._entry.target == target and not self._entry.tried
        try:
            if target and (target not in there if there is not None else not certain):
                self._driver.register(known.target_group, [address_of(target)])
            self._drop(known.target_group, (told.tried if there is None else there) - {target})
        except CloudNotFound:
            self._stock.lost(known.key, known.listener)
            raise

    def _drop(self, group: str, addresses: set[str] | frozenset[str]) -> None:
        if going := sorted(addresses - {""}):
            self._driver.deregister(group, [address_of(text) for text in going])

    def _registered(self, known: Entry) -> set[str]:
        try:
            return set(standing(self._driver, known.target_group))
        except CloudNotFound:
            self._stock.lost(known.key, known.listener)
            raise

    def _record(self, aimed: Entry, wish: str) -> None:
        due = self._run.aimed(aimed, wish)
        self._world.entries[aimed.id] = aimed
        self._world.due.discard(aimed.id)
        if due:
            self._world.due.add(aimed.id)
        elif aimed.state is EntryState.BOUND:
            self._world.confirmed.add(aimed.id)
        place = {"pool": aimed.pool, "lb": aimed.lb, "port": aimed.port}
        log.info("port_recorded", pod=self._world.full_name, state=aimed.state, **place)

    def _restock(self) -> bool:
        """The listener of this port was deleted by hand, or never made. False: the port had to be given up."""
        world, entry = self._world, self._entry
        stocking = Stocking(self._driver, self._services.cluster, entry.pool, world.config(entry.pool).spec)
        try:
            made = stocking.make(entry.lb, world.carriers[entry.lb].arn, entry.port)
        except PortTaken:
            give_up(self._services, world, entry)
            return False
        except LoadBalancerGone:
            give_up_with_load_balancer(self._services, world, self._driver, entry)
        self._touch(self._stock.put(entry.key, *made))
        return True

    # ---- who else

    def _give_way(self, known: Entry, other: Rival) -> None:
        """The other is served there, so it keeps the port, and this pod gets another one."""
        self._drop(known.target_group, set(known.tried))
        told = self._run.give_way(known, other.owner, other.uid, other.want, known.listener, known.target_group)
        self._world.entries.pop(known.id)
        count_collision(known.pool, "healed")
        self._touch((other.owner, *told))
        place = {"pool": known.pool, "lb": known.lb, "port": known.port}
        log.warning("port_given_way", pod=self._world.full_name, owner=other.owner, **place)

    def _touch(self, names: tuple[str, ...]) -> None:
        self._services.queue.touch([pod_key(*name.split("/")) for name in names], [self._entry.pool])


def promise(driver: LoadBalancerApi, entry: Entry, owner: str) -> None:
    """Tags say for whom a precreated port is to be retained, so that a rebuild knows, or that it is for nobody.

    They are a hint: a pod that publishes the port has it, whatever they say. So what is gone needs none.
    """
    with contextlib.suppress(CloudNotFound):
        driver.tag([arn for arn in (entry.listener, entry.target_group) if arn], promise_tags(entry, owner))


@contextmanager
def refusal_told(services: PortServices, entry: Entry, still_mine: Callable[[], object]) -> Iterator[None]:
    """Around calls for the targets of a port and their record. What was called may stand at another's port, or at an
    address that the pod has left, when the record is refused: the port's present owner compares, or its next one.
    `still_mine` is a script that is refused likewise; it is asked when a call has failed.
    """
    try:
        try:
            yield
        except TransientError:  # one call may have been made, and no record says so
            still_mine()
            raise
    except (StaleToken, NotReady):
        ask_to_compare(services, entry.pool, entry.key)
        raise


def ask_to_compare(services: PortServices, pool: str, key: str) -> None:
    """The wish first, then the owner: one who comes between finds the wish when it records.

    A ledger that is not ready needs none: what it gets by its rebuild is compared.
    """
    ledger = services.ledger(pool)
    try:
        Stock(ledger).compare(key)
    except NotReady:
        return
    present = [name for name, entries in owners(ledger) if any(entry.key == key for entry in entries)]
    log.warning("targets_to_compare", pool=pool, place=key, owners=present)
    services.queue.touch([pod_key(*name.split("/")) for name in present], [pool])
