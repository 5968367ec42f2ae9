"""A listener that is made for one pod, with its target group, and deleted when the pod gives the port back."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from functools import partial
from typing import Final

from berthmaster.errors import TransientError
from domain.ports.entry import Entry, EntryState
from domain.ports.target import address_of
from domain.ports.want import Protocol, parse_entry_key
from workers.cloud.driver import GroupSettings, LoadBalancerApi
from workers.cloud.errors import CloudNotFound, LoadBalancerGone, PortTaken
from workers.cloud.names import target_group_name
from workers.cloud.priority import Priority
from workers.cloud.tags import RETAIN, port_tags
from workers.port_services import PortServices
from workers.ports.listeners.collisions import (
    give_up_on_full,
    give_up_with_load_balancer,
    is_full,
    resolve_collision,
)
from workers.ports.listeners.comparison import compare_if_refused
from workers.ports.listeners.per_pod_deletion import delete_and_free, locate
from workers.ports.listeners.targets import deregister_others
from workers.ports.observe import PodObservation
from workers.ports.records import record, record_and_log
from workers.stores.ports.precreated import Stock

LISTENER_PROTOCOLS: Final = {
    Protocol.TCP: "TCP",
    Protocol.UDP: "UDP",
    Protocol.TCPUDP: "TCP_UDP",
    Protocol.TLS: "TLS",
}
GROUP_PROTOCOLS: Final = LISTENER_PROTOCOLS | {Protocol.TLS: "TCP"}  # the listener ends TLS
NOW: Final = timedelta(0)


class PerPodListeners:
    """The listeners of one pod in one pool. See ListenerStrategy."""

    def __init__(self, services: PortServices, observation: PodObservation, pool: str) -> None:
        self._services, self._observation = services, observation
        self._spec, self._run = observation.config(pool).spec, observation.access(pool)

    def provision(self, entry: Entry, target: str) -> None:
        """Create or find everything by name or tag, so that a second try finds what the first one made; then record."""
        driver = self._driver(Priority.BIND)
        asked_now = entry.id in self._observation.fresh  # else its tags may say what an earlier run was asked for
        self._observation.fresh.discard(entry.id)
        inherited = entry.state is EntryState.RETAINED
        if asked_now or inherited:
            entry = replace(entry, retain=self._observation.retain)
        listening = self._with_listener(driver, entry)
        if not listening:
            return
        if inherited and entry.listener and target:
            with compare_if_refused(self._services, entry, self._confirms(entry)):
                self._hand_over(driver, entry, target)
        self._register(driver, listening, target, partial(record_and_log, self._observation, [listening]))

    def disable(self, entry: Entry) -> None:
        """Deregister the target and keep the listener."""
        self._register(self._driver(Priority.BIND), entry, "", self._confirms(entry))

    def release(self, entry: Entry) -> tuple[str, ...]:
        """Delete listener and target group, then free the port. Returns the names that were woken."""
        return delete_and_free(self._observation, self._driver(Priority.UNBIND), entry)

    def locate(self, entry: Entry) -> Entry:
        """Return the entry with the ARNs that AWS has for it, '' for what does not exist."""
        return locate(self._observation, self._driver(Priority.UNBIND), entry)

    def relabel(self, entries: Sequence[Entry]) -> Sequence[Entry]:
        """Write one tag only: a late call must not name a pod that is gone. What was deleted by hand is made again."""
        driver = self._driver(Priority.BIND)
        arns = [arn for entry in entries for arn in (entry.listener, entry.target_group)]
        try:
            driver.tag(arns, {RETAIN: str(entries[0].retain)})
        except CloudNotFound:
            return [_tagged_if_there(driver, entry) for entry in entries]
        return entries

    def _driver(self, priority: Priority) -> LoadBalancerApi:
        return self._services.driver_for(self._observation.run, self._spec.region, priority)

    def _confirms(self, entry: Entry) -> Callable[[], None]:
        return partial(self._run.confirm, entry)

    def _with_listener(self, driver: LoadBalancerApi, entry: Entry) -> Entry | None:
        """The entry with its listener, None when another owns the port and the pod gave it up."""
        if entry.listener:
            return entry
        key = parse_entry_key(entry.want)
        assert key, f"{entry.want} is no key"  # the domain leaves such an entry alone
        certificate = self._observation.certificate(entry.pool) if key.protocol is Protocol.TLS else None
        tags = port_tags(self._services.cluster, entry, self._observation.full_name)
        if not entry.target_group:
            name, protocol = target_group_name(entry.uid, entry.lb, entry.port), GROUP_PROTOCOLS[key.protocol]
            group = driver.ensure_target_group(name, protocol, key.port, GroupSettings.of(self._spec), tags)
            entry = replace(entry, target_group=group)
        arn = self._ensure_listener(entry, LISTENER_PROTOCOLS[key.protocol], tags, certificate)
        return replace(entry, listener=arn) if arn else None

    def _ensure_listener(
        self, entry: Entry, protocol: str, tags: Mapping[str, str], certificate: str | None
    ) -> str | None:
        """The ARN of the listener, None when the pod gave the port up. An error leaves the target group recorded."""
        driver, load_balancer = self._driver(Priority.FINISH), self._observation.carriers[entry.lb].arn
        try:
            return driver.ensure_listener(load_balancer, entry.port, protocol, entry.target_group, tags, certificate)
        except PortTaken:
            return resolve_collision(self._services, self._observation, driver, entry)
        except LoadBalancerGone:
            give_up_with_load_balancer(self._services, self._observation, driver, entry)
        except CloudNotFound:
            # The target group was deleted by hand: the next run makes another one.
            record_and_log(self._observation, [replace(entry, target_group="")])
            raise
        except TransientError as error:
            if is_full(error) and entry.state is EntryState.ALLOCATED:
                give_up_on_full(self._services, self._observation, driver, entry)
                return None
            record_and_log(self._observation, [entry])
            raise

    def _hand_over(self, driver: LoadBalancerApi, entry: Entry, target: str) -> None:
        """Make an inherited listener and its target group this pod's: deregister strange targets, then set the tags.

        Raises TransientError, to be tried again, when they were deleted by hand.
        """
        tags = port_tags(self._services.cluster, entry, self._observation.full_name)
        try:
            deregister_others(driver, entry.target_group, target)
            _tag(driver, entry, tags)
        except CloudNotFound as error:
            record(self._observation, [_without_cloud(entry)])
            raise TransientError(f"the retained listener on port {entry.port} of {entry.lb} is gone", NOW) from error

    def _register(self, driver: LoadBalancerApi, entry: Entry, target: str, still_owned: Callable[[], None]) -> None:
        """Register exactly `target` (ip:port, '' = none) and record it: the new one first, then the old one away.

        Where a comparison was asked for, what AWS has counts instead of what the ledger says.
        """
        compares = entry.id in self._observation.to_compare
        with compare_if_refused(self._services, entry, still_owned):
            request = Stock(self._services.ledger(entry.pool)).comparison_request(entry.key) if compares else ""
            if target and (compares or target != entry.target):
                driver.register(entry.target_group, [address_of(target)])
            if compares and entry.target_group:
                deregister_others(driver, entry.target_group, target)
            elif not compares and entry.target and entry.target != target:
                driver.deregister(entry.target_group, [address_of(entry.target)])
            state = EntryState.BOUND if target else entry.state
            registered = replace(entry, target=target, state=state)
            record_and_log(self._observation, [registered])
        self._end_comparison(registered, request)

    def _end_comparison(self, entry: Entry, request: str) -> None:
        """End the comparison that was asked for by `request`. A later request stands, and the next run serves it."""
        if request and self._run.aimed(entry, request):
            self._services.queue.touch([self._observation.run.key])
        self._observation.to_compare.discard(entry.id)


def _tagged_if_there(driver: LoadBalancerApi, entry: Entry) -> Entry:
    """The entry, without its ARNs when they were deleted by hand."""
    try:
        _tag(driver, entry, {})
    except CloudNotFound:
        return _without_cloud(entry)
    return entry


def _tag(driver: LoadBalancerApi, entry: Entry, tags: Mapping[str, str]) -> None:
    driver.tag([entry.listener, entry.target_group], {**tags, RETAIN: str(entry.retain)})


def _without_cloud(entry: Entry) -> Entry:
    return replace(entry, listener="", target_group="", target="")
