"""Making the cloud carry a port: target group, listener, target; and what to do when the port is already taken."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import timedelta
from functools import partial

import structlog

from berthmaster.errors import TerminalError, TransientError
from domain.ports.entry import Entry, EntryState
from domain.ports.lifecycle import after_cloud_error
from domain.ports.pod import PortsState
from domain.ports.steps import Relabel, Show
from domain.ports.target import address_of
from domain.ports.want import Protocol, part_of
from workers.cloud.driver import GroupSettings, LoadBalancerApi
from workers.cloud.errors import CloudError, Denied, Invalid, NotFound, PortTaken, Throttled, cloud_error_in
from workers.cloud.names import target_group_name
from workers.cloud.priority import Priority
from workers.cloud.rates import OverBudget
from workers.cloud.tags import port_tags
from workers.port_services import PortServices
from workers.ports.listeners.collisions import clear_the_way, give_up_full, give_up_with_load_balancer, is_full
from workers.ports.listeners.precreated import Precreated, refusal_told
from workers.ports.listeners.retention import drop_strangers, hand_over, relabel
from workers.ports.observe import World
from workers.ports.status import publish
from workers.stores.ports.precreated import Stock

log = structlog.get_logger()
MOST_WORDS = 200
LONG_WAIT = timedelta(seconds=2)  # for a call; shorter ones are not worth a write to the pod
LISTENER_PROTOCOLS = {Protocol.TCP: "TCP", Protocol.UDP: "UDP", Protocol.TCPUDP: "TCP_UDP", Protocol.TLS: "TLS"}
GROUP_PROTOCOLS = LISTENER_PROTOCOLS | {Protocol.TLS: "TCP"}  # the listener ends TLS


class Binding:
    def __init__(self, services: PortServices, world: World) -> None:
        self._services, self._world = services, world

    def provision(self, entry: Entry, target: str) -> None:
        """Everything by name or tag, so that a second try finds what the first one made; then the record."""
        driver = self._driver(entry)
        named = entry.id in self._world.fresh  # else its tags may say what an earlier run was asked for
        self._world.fresh.discard(entry.id)
        with self._told():
            if self._precreated(entry):
                Precreated(self._services, self._world, driver, entry).aim(target)
                return
            inherits = entry.state is EntryState.RETAINED
            entry = replace(entry, retain=self._world.retain) if named or inherits else entry
            if made := self._listening(driver, entry):
                if inherits and entry.listener and target:
                    with refusal_told(self._services, entry, self._confirms(entry)):
                        hand_over(self._services, self._world, driver, entry, target)
                with refusal_told(self._services, made, partial(self._record, [made])):
                    wish, aimed = self._aimed(driver, made, target)
                    self._record([aimed])
                self._end_wish(aimed, wish)

    def disable(self, entry: Entry) -> None:
        if self._precreated(entry):
            Precreated(self._services, self._world, self._driver(entry), entry).aim("")
        else:
            with refusal_told(self._services, entry, self._confirms(entry)):
                wish, aimed = self._aimed(self._driver(entry), entry, "")
                self._record([aimed])
            self._end_wish(aimed, wish)

    def look(self, entry: Entry) -> None:
        """AWS tells the health of one target group a call, so this goes after what binds."""
        with self._told():
            found = self._driver(entry, Priority.UNBIND).targets(entry.target_group)
        mine = (target.health for target in found if (target.ip, target.port) == address_of(entry.target))
        self._world.health[entry.id] = next(mine, "unregistered")

    def relabel(self, step: Relabel) -> None:
        with self._told():
            relabel(self._services, self._world, step)

    def confirm(self, entries: tuple[Entry, ...]) -> None:
        """A fenced script of this run, later than its read of the pod."""
        self._record(list(entries))

    def _confirms(self, entry: Entry) -> Callable[[], None]:
        return partial(self._world.access(entry.pool).confirm, entry)

    def _precreated(self, entry: Entry) -> bool:
        return bool(self._world.config(entry.pool).spec.precreate.total)

    def _driver(self, entry: Entry, priority: Priority = Priority.BIND) -> LoadBalancerApi:
        run, region = self._world.run, self._world.config(entry.pool).spec.region
        return self._services.driver(region).on_behalf_of(run.key, priority, run.keep)

    def _listening(self, driver: LoadBalancerApi, entry: Entry) -> Entry | None:
        """The entry with its listener; None when the port turned out to be somebody else's and was given up."""
        if entry.listener:
            return entry
        world = self._world
        carrier, spec = world.carriers[entry.lb], world.config(entry.pool).spec
        part = part_of(entry.want)
        assert part, f"{entry.want} is no key"  # the domain leaves such an entry alone
        certificate = world.certificate(entry.pool) if part.protocol is Protocol.TLS else ""
        tags = port_tags(self._services.cluster, entry, world.full_name)
        name = target_group_name(entry.uid, entry.lb, entry.port)
        if not entry.target_group:
            group = driver.ensure_target_group(
                name, GROUP_PROTOCOLS[part.protocol], part.port, GroupSettings.of(spec), tags
            )
            entry = replace(entry, target_group=group)
        driver = self._driver(entry, Priority.FINISH)
        try:
            arn = driver.ensure_listener(
                carrier.arn, entry.port, LISTENER_PROTOCOLS[part.protocol], entry.target_group, tags, certificate
            )
        except PortTaken:
            arn = clear_the_way(self._services, world, driver, entry)
        except NotFound as error:
            if error.code == "LoadBalancerNotFound":
                give_up_with_load_balancer(self._services, world, driver, entry)
            self._record([replace(entry, target_group="")])  # it was deleted by hand: the next run makes another
            raise
        except TransientError as error:
            if is_full(error) and entry.state is EntryState.ALLOCATED:
                arn = give_up_full(self._services, world, driver, entry)
            else:
                self._record([entry])
                raise
        return replace(entry, listener=arn) if arn else None

    def _aimed(self, driver: LoadBalancerApi, entry: Entry, target: str) -> tuple[str, Entry]:
        """The entry with exactly `target` (ip:port, '' = none) registered: the new one first, then the old one away.

        Where somebody wishes a comparison, by what AWS has instead of what the ledger says; with that wish, else ''.
        """
        due = entry.id in self._world.due
        wish = Stock(self._services.ledger(entry.pool)).comparison_request(entry.key) if due else ""
        if target and (due or target != entry.target):
            driver.register(entry.target_group, [address_of(target)])
        if due and entry.target_group:
            drop_strangers(driver, entry.target_group, target)
        elif not due and entry.target and entry.target != target:
            driver.deregister(entry.target_group, [address_of(entry.target)])
        return wish, replace(entry, target=target, state=EntryState.BOUND if target else entry.state)

    def _end_wish(self, aimed: Entry, wish: str) -> None:
        """One that was made after the look stands: then the next run looks again."""
        if wish and self._world.access(aimed.pool).aimed(aimed, wish):
            self._services.queue.touch([self._world.run.key])
        self._world.due.discard(aimed.id)

    def _record(self, entries: list[Entry]) -> None:
        """Into the ledger, then into the world of this run."""
        for pool in sorted({e.pool for e in entries}):
            mine = [e for e in entries if e.pool == pool]
            self._world.access(pool).record(mine[0].uid, mine)
            for entry in mine:
                log.info(
                    "port_recorded",
                    pod=self._world.full_name,
                    pool=pool,
                    lb=entry.lb,
                    port=entry.port,
                    state=entry.state,
                )
                self._world.entries[entry.id] = entry
                if entry.state is EntryState.BOUND:
                    self._world.confirmed.add(entry.id)

    @contextmanager
    def _told(self) -> Iterator[None]:
        """What keeps the calls in it from being made is shown on the pod."""
        try:
            yield
        except OverBudget as wait:
            if wait.retry_after and wait.retry_after >= LONG_WAIT:
                self._say(PortsState.ALLOCATED, "waiting for the AWS call budget")
            raise
        except (TransientError, TerminalError, ExceptionGroup) as error:
            if told := cloud_error_in(error):
                self._tell(told)
            elif isinstance(error, TerminalError):  # of ours: it says itself what a person must mend
                self._say(PortsState.FAILED, str(error))
            raise

    def _tell(self, error: CloudError) -> None:
        """A throttled call is an ordinary wait."""
        if isinstance(error, Throttled):
            return
        state = PortsState.FAILED if isinstance(error, (Denied, Invalid)) else PortsState.ALLOCATED
        words = error.reason[:MOST_WORDS] if isinstance(error, Invalid) else error.code  # what a person must mend
        self._say(state, f"AWS {error.action}: {words}")

    def _say(self, state: PortsState, reason: str) -> None:
        """Shows why the pod is not bound yet; a failed write must not hide what it is about."""
        step = after_cloud_error(self._world.observed(), state, reason)
        if isinstance(step, Show):
            try:
                publish(self._services, self._world, step.outputs)
            except TransientError as unsaid:
                log.info("pod_state_unsaid", pod=self._world.full_name, reason=str(unsaid))
