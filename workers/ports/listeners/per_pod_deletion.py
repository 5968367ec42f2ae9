"""Takes a pod's own listener down: learn the ARNs, record that the port goes, delete by ARN, then free the port."""

from __future__ import annotations

from dataclasses import replace

from berthmaster.errors import TransientError
from domain.ports.entry import Entry, EntryState
from workers.cloud.driver import Listener, LoadBalancerApi
from workers.cloud.errors import Busy, CloudNotFound
from workers.cloud.names import target_group_name
from workers.cloud.tags import POOL, UID
from workers.ports.observe import PodObservation


def delete_and_free(observation: PodObservation, driver: LoadBalancerApi, entry: Entry) -> tuple[str, ...]:
    """Delete what the cloud has for the entry, and free its port. Returns the names of the pods that were woken."""
    located = locate(observation, driver, entry)
    releasing = replace(located, state=EntryState.RELEASING)
    observation.access(entry.pool).releasing(releasing)
    observation.entries[entry.id] = releasing
    _delete(observation, driver, releasing)
    return observation.access(entry.pool).free(releasing)


def locate(observation: PodObservation, driver: LoadBalancerApi, entry: Entry) -> Entry:
    """The entry with the ARNs that a run did not record because it died after its calls.

    A target group or listener is ours to delete when it has this UID's tag or name. A releasing entry has its ARNs
    already; a target group alone means that the listener is deleted.
    """
    carrier = observation.carriers.get(entry.lb)
    listener_deleted = entry.state is EntryState.RELEASING and entry.target_group
    if not entry.target_group:
        name = target_group_name(entry.uid, entry.lb, entry.port)
        group = driver.find_target_group(name)
        entry = replace(entry, target_group=group.arn if group and group.tags.get(UID) == entry.uid else "")
    if not entry.listener and carrier and not listener_deleted:
        entry = replace(entry, listener=_listener_of(driver, carrier.arn, entry))
    return entry


def _delete(observation: PodObservation, driver: LoadBalancerApi, entry: Entry) -> None:
    """Record a target group that cannot go yet without its listener, so that the listener is not deleted twice."""
    if entry.listener:
        driver.delete_listener(entry.listener)
    if entry.target_group:
        try:
            driver.delete_target_group(entry.target_group)
        except TransientError as error:
            listener = _late_listener(observation, driver, entry) if isinstance(error, Busy) else ""
            observation.access(entry.pool).releasing(replace(entry, listener=listener))
            raise


def _late_listener(observation: PodObservation, driver: LoadBalancerApi, entry: Entry) -> str:
    """The listener that a late call of a stale run has made, so that the target group is in use again."""
    carrier = observation.carriers.get(entry.lb)
    return _listener_of(driver, carrier.arn, entry) if carrier else ""


def _listener_of(driver: LoadBalancerApi, load_balancer_arn: str, entry: Entry) -> str:
    try:
        listener = driver.find_listener(load_balancer_arn, entry.port)
    except CloudNotFound:
        return ""  # the load balancer is gone, and its listeners with it
    return listener.arn if listener and _serves(listener, entry) else ""


def _serves(listener: Listener, entry: Entry) -> bool:
    """Whether the listener has the owner's tag or, if somebody took that off, forwards to our target group."""
    forwards = entry.target_group and listener.target_group_arn == entry.target_group
    return listener.tags.get(UID) == entry.uid or bool(forwards and listener.tags.get(POOL) == entry.pool)
