"""Builds the services of the runs of pod pools from the settings."""

from __future__ import annotations

from typing import Any

import orjson
from redis import Redis

from berthmaster.jobs.dispatch import Dispatcher
from berthmaster.jobs.messages import JobSender
from berthmaster.jobs.scripts import load_scripts
from berthmaster.jobs.slot_ledger import SlotLedger
from events.kube.api import KubeApi
from events.protocol.pool_pod_changes import PoolPodChanges
from workers.kube.event_outbox import EventOutbox
from workers.kube.events import KubeEvents
from workers.kube.pod_pools import PodPools
from workers.pod_pools.pod_cache import PodCache
from workers.pod_pools.redis_address import runner_address
from workers.pod_pools.services import PodPoolServices
from workers.settings import WorkerSettings
from workers.stores.claims.index import ClaimIndex
from workers.stores.claims.waiting import WaitingClaims
from workers.stores.pool_names import PodPoolNames, ShownStatus

Json = dict[str, Any]
LARGE_POOL = 200
"""Pods from which on the runs of a pool pause between them."""
FIELDS = {"POD": "metadata.name", "UID": "metadata.uid"}


def pod_pool_services(settings: WorkerSettings, redis: Redis) -> PodPoolServices:
    """Build the services. Nothing connects yet."""
    address = runner_address(settings)
    kube, scripts = KubeApi.connect(settings.kubernetes), load_scripts(redis)
    senders: dict[str, JobSender] = {}

    def sender(pool: str) -> JobSender:
        return senders.setdefault(pool, JobSender(settings.redis.url, pool))

    return PodPoolServices(
        kube=kube,
        pools=PodPools(kube),
        events=KubeEvents(kube, EventOutbox()),
        ledger=lambda pool: SlotLedger(redis, scripts, pool),
        dispatcher=lambda ledger: Dispatcher(ledger, sender(ledger.pool)),
        forget_queue=lambda pool, pod: sender(pool).forget(pod),
        environment=lambda pool, spec: runner_environment(settings.cluster, address.url, pool, spec),
        names=PodPoolNames(redis),
        shown=ShownStatus(redis),
        claims=ClaimIndex(redis),
        waiting=WaitingClaims(redis),
        withheld=address.withheld,
        call_time=settings.call_time,
        silence=settings.slots.silence,
        remember=settings.slots.remember,
        many=LARGE_POOL,
        pod_cache=PodCache(PoolPodChanges(redis), settings.slots.list_every),
        pod_writes=settings.slots.pod_writes,
    )


def runner_environment(cluster: str, address: str, pool: str, spec: Json) -> list[Json]:
    """Return the environment of a runner; see berthmaster.runner.settings."""
    slots = [slot["accepts"] for slot in spec["slots"]]
    plain = {"CLUSTER": cluster, "POOL": pool, "SLOTS": orjson.dumps(slots).decode(), "REDIS__URL": address}
    variables = [{"name": f"BERTHMASTER_RUNNER__{name}", "value": value} for name, value in plain.items()]
    own = [
        {"name": f"BERTHMASTER_RUNNER__{name}", "valueFrom": {"fieldRef": {"fieldPath": path}}}
        for name, path in FIELDS.items()
    ]
    return [*variables, *own]
