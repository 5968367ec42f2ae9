"""A listener that outlives the pods that it serves: binding is one register, releasing one deregister.

No call of AWS takes a token, so the call of a run that was overtaken may come after its successor's. The address is
noted before the call, so that a successor deregisters it. A record that is refused after a call makes the port's
present owner compare what is registered with what should be. tests/models and docs/adr say why this is enough, with
the audit.
"""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from dataclasses import replace

from domain.ports.entry import Entry, EntryState
from domain.ports.target import address_of
from workers.cloud.driver import LoadBalancerApi
from workers.cloud.errors import CloudNotFound, LoadBalancerGone, PortTaken
from workers.cloud.priority import Priority
from workers.cloud.tags import promise_tags
from workers.port_services import PortServices
from workers.ports.listeners.collisions import give_up_foreign, give_up_with_load_balancer, move_entry
from workers.ports.listeners.comparison import compare_if_refused
from workers.ports.listeners.precreate import ListenerStock
from workers.ports.listeners.rivals import find_rival
from workers.ports.listeners.targets import registered_targets
from workers.ports.observe import PodObservation
from workers.ports.records import log_recorded
from workers.stores.ports.precreated import Stock


class PrecreatedListeners:
    """The listeners of one pod in one pool. See ListenerStrategy."""

    def __init__(self, services: PortServices, observation: PodObservation, pool: str) -> None:
        self._services, self._observation, self._pool = services, observation, pool
        self._spec, self._run = observation.config(pool).spec, observation.access(pool)
        self._stock = Stock(services.ledger(pool))

    def provision(self, entry: Entry, target: str) -> None:
        """Register `target` (ip:port, '' = none) as the only target, and record it."""
        self._observation.fresh.discard(entry.id)
        self._register(entry, target)

    def disable(self, entry: Entry) -> None:
        """Deregister the target and keep the listener."""
        self._register(entry, "")

    def release(self, entry: Entry) -> tuple[str, ...]:
        """Deregister whatever may be registered for the port, then free it."""
        driver = self._driver(Priority.UNBIND)
        releasing = replace(self.locate(entry), state=EntryState.RELEASING)
        self._run.releasing(releasing)
        self._observation.entries[releasing.id] = releasing
        with compare_if_refused(self._services, releasing, lambda: self._run.releasing(releasing)):
            if releasing.target_group:
                addresses = frozenset({releasing.target, *releasing.tried}) | self._strange_targets(driver, releasing)
                self._deregister(driver, releasing, addresses)
            if releasing.retain:
                self._tag_promise(driver, replace(releasing, retain=0))
            return self._run.free(releasing)

    def locate(self, entry: Entry) -> Entry:
        """Return the entry with the ARNs of the stock, '' for what the stock does not have."""
        listener, group = self._stock.find(entry.key)
        return replace(entry, listener=listener, target_group=group)

    def relabel(self, entries: Sequence[Entry]) -> Sequence[Entry]:
        """Tag for whom each entry is retained. Returns the entries unchanged."""
        driver = self._driver(Priority.BIND)
        for entry in entries:
            self._tag_promise(driver, entry)
        return entries

    def _driver(self, priority: Priority) -> LoadBalancerApi:
        return self._services.driver_for(self._observation.run, self._spec.region, priority)

    def _register(self, entry: Entry, target: str) -> None:
        """Register exactly `target` (ip:port, '' = none), and record it."""
        driver, aim = self._driver(Priority.BIND), self._run.aim(entry, target)
        if not aim.listener:
            if not self._restock(driver, entry):
                return
            aim = self._run.aim(entry, target)
        tried = tuple(sorted(aim.tried))
        noted = replace(entry, listener=aim.listener, target_group=aim.target_group, tried=tried)
        self._observation.entries[noted.id] = noted
        with compare_if_refused(self._services, noted, lambda: self._run.confirm(noted)):
            registered = self._registered(driver, noted) if aim.comparison else None
            strange = (registered or frozenset()) - aim.tried
            if rival := find_rival(self._services, self._observation.full_name, noted, strange):
                # The other pod is served here, so it keeps the port, and this pod gets another one.
                self._deregister(driver, noted, aim.tried)
                move_entry(self._services, self._observation, noted, rival)
                return
            if registered is None:  # nobody asked for a comparison: the ledger's word counts
                present, is_registered = aim.tried, entry.target == target and not entry.tried
            else:
                present, is_registered = registered, target in registered
            self._switch(driver, noted, "" if is_registered else target, present - {target})
            self._record(noted, target, aim.comparison)

    def _strange_targets(self, driver: LoadBalancerApi, entry: Entry) -> frozenset[str]:
        """What else is registered, if the port is to be compared: only a target that serves another pod may stay."""
        if entry.id not in self._observation.to_compare:
            return frozenset()
        registered = self._registered(driver, entry)
        rival = find_rival(self._services, self._observation.full_name, entry, registered)
        return frozenset() if rival else registered

    # ---- calls

    def _switch(self, driver: LoadBalancerApi, entry: Entry, target: str, others: frozenset[str]) -> None:
        """Register the new address ('' = none) first, then deregister the others."""
        try:
            if target:
                driver.register(entry.target_group, [address_of(target)])
            self._deregister(driver, entry, others)
        except CloudNotFound:
            self._stock.lost(entry.key, entry.listener)
            raise

    def _deregister(self, driver: LoadBalancerApi, entry: Entry, addresses: frozenset[str]) -> None:
        if present := sorted(addresses - {""}):
            driver.deregister(entry.target_group, [address_of(text) for text in present])

    def _registered(self, driver: LoadBalancerApi, entry: Entry) -> frozenset[str]:
        try:
            return registered_targets(driver, entry.target_group)
        except CloudNotFound:
            self._stock.lost(entry.key, entry.listener)
            raise

    def _tag_promise(self, driver: LoadBalancerApi, entry: Entry) -> None:
        """Tag for whom a port is to be retained, or that it is for nobody, so that a rebuild knows.

        The tags are a hint: a pod that publishes the port has it, whatever they say. So what is gone needs none.
        """
        arns = [arn for arn in (entry.listener, entry.target_group) if arn]
        with contextlib.suppress(CloudNotFound):
            driver.tag(arns, promise_tags(entry, self._observation.full_name))

    # ---- records

    def _record(self, noted: Entry, target: str, request: str) -> None:
        """Record the target; a port whose targets are to be compared again is not confirmed."""
        observation, state = self._observation, EntryState.BOUND if target else noted.state
        entry = replace(noted, target=target, state=state, tried=())
        compare_again = self._run.aimed(entry, request)
        observation.entries[entry.id] = entry
        observation.to_compare.discard(entry.id)
        if compare_again:
            observation.to_compare.add(entry.id)
        elif entry.state is EntryState.BOUND:
            observation.confirmed.add(entry.id)
        log_recorded(observation, entry)

    def _restock(self, driver: LoadBalancerApi, entry: Entry) -> bool:
        """Create the listener, which was deleted by hand or never made. False: the pod had to give the port up."""
        stock = ListenerStock(driver, self._services.cluster, self._pool, self._spec)
        try:
            listener, group = stock.create(entry.lb, self._observation.carriers[entry.lb].arn, entry.port)
        except PortTaken:
            give_up_foreign(self._services, self._observation, entry)
            return False
        except LoadBalancerGone:
            give_up_with_load_balancer(self._services, self._observation, driver, entry)
        self._services.wake_pods(self._stock.put(entry.key, listener, group), [self._pool])
        return True
