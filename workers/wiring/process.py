"""The one place that knows every concrete class: it builds what tasks need, once a process, each part on first use.

Nothing connects here: clients connect on first use. A forked child builds its own services, because the cache is keyed
by the process.
"""

from __future__ import annotations

import logging
import os
from functools import cached_property, lru_cache

from redis import Redis

from berthmaster import routing
from berthmaster.broker.sending import Sender
from berthmaster.jobs.scripts import load_scripts
from berthmaster.redis.client import connect_briefly, connect_state
from berthmaster.redis.identity import Identity
from berthmaster.redis.scripts import Script
from events.kube.api import NO_ACCOUNT, KubeApi, KubeError
from events.kube.system import read_system
from events.protocol.event_stream import EventStream
from events.workqueue import Workqueue
from workers.claim_sets.services import ClaimSetServices
from workers.claims.services import ClaimServices
from workers.pod_pools.services import PodPoolServices
from workers.port_services import PortServices
from workers.settings import WorkerSettings
from workers.stores.journal import EventJournal
from workers.stores.tally import Tally
from workers.stores.ticks import Ticks
from workers.wiring.claims import claim_services, claim_set_services
from workers.wiring.pod_pools import pod_pool_services
from workers.wiring.ports import port_services

log = logging.getLogger(__name__)  # silent in commands, which set no log up: their output may be JSON


class Services:
    """The parts that tasks use. Each is built on first use; threads that race may build one twice, harmlessly."""

    def __init__(self, settings: WorkerSettings) -> None:
        self.settings = settings

    @cached_property
    def fleet(self) -> Identity:
        """The identity of the fleet."""
        return fleet_of(self.settings)

    @cached_property
    def redis(self) -> Redis:
        """The client of the Redis of the state."""
        return connect_state(self.settings.redis, self.fleet)

    @cached_property
    def queue(self) -> Workqueue:
        """The workqueue. Its scripts send the hints themselves where the broker is the Redis of the state."""
        ahead = self.settings.queue.hints_ahead
        if self.settings.broker_is_state:
            return Workqueue(self.redis, hint_queue=routing.LATENCY, ahead=ahead)
        return Workqueue(self.redis, publish=self.sender.hints, ahead=ahead)

    @cached_property
    def sender(self) -> Sender:
        """The sender of tasks and hints."""
        return Sender(self.settings.broker_url)

    @cached_property
    def tally(self) -> Tally:
        """The reader of the gauges' samples; it names queues only where the broker is the Redis of the state."""
        queues = routing.ALL if self.settings.broker_is_state else ()
        return Tally(connect_briefly(self.settings.redis, self.fleet), queues, self.settings.tick_periods)

    @cached_property
    def ticks(self) -> Ticks:
        """The ticks that one worker acquires."""
        return Ticks(self.redis)

    @cached_property
    def journal(self) -> EventJournal:
        """The writer of events for other services."""
        return EventJournal(self.redis, EventStream(self.settings.stream))

    @cached_property
    def slot_scripts(self) -> dict[str, Script]:
        """The scripts of slot ledgers, for callers that need nothing else of pod pools."""
        return load_scripts(self.redis)

    @cached_property
    def podpools(self) -> PodPoolServices:
        """The services of the reconciler of pod pools."""
        return pod_pool_services(self.settings, self.redis)

    @cached_property
    def claims(self) -> ClaimServices:
        """The services of the reconciler of claims."""
        return claim_services(self.settings, self.redis, self.queue, self.podpools, self.journal)

    @cached_property
    def claimsets(self) -> ClaimSetServices:
        """The services of the reconciler of claim sets."""
        return claim_set_services(self.settings, self.redis, self.podpools)

    @cached_property
    def ports(self) -> PortServices:
        """The services of the reconciler of a pod's ports and of port pools."""
        return port_services(self.settings, self.redis, self.queue, self.sender, self.journal)


def fleet_of(settings: WorkerSettings) -> Identity:
    """Return the identity of the fleet: its name alone if kube-system cannot be read now."""
    try:
        return Identity(settings.cluster, read_system(KubeApi.connect(settings.kubernetes)))
    except (KubeError, *NO_ACCOUNT) as error:
        log.info("kube_system_unread", extra={"error": str(error)})
        return Identity(settings.cluster)


def build(settings: WorkerSettings) -> Services:
    """Return the services of these settings. Nothing connects yet."""
    return Services(settings)


def services() -> Services:
    """Return the services of this process, from its environment."""
    return _services_of(os.getpid())


@lru_cache(maxsize=1)
def _services_of(process: int) -> Services:  # noqa: ARG001 - the process is the key of the cache
    return build(WorkerSettings())
