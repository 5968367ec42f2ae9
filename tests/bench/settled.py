"""Pods whose ports are bound and shown, in Redis alone: what a rebuild after a loss would have written.

A run of such a pod needs neither Kubernetes nor AWS, so that it costs what queue, ledger and decision cost.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Any, Final
from uuid import UUID, uuid4

import orjson
from redis import Redis

from berthmaster import routing
from berthmaster.kinds import ReadyClass
from domain.kubernetes.names import ENDPOINTS, PORTS, PORTS_STATE
from domain.port_pools.port_pool import PortPoolSpec
from domain.port_pools.providers import MOST_LISTENERS
from domain.ports.endpoints import format_endpoints
from domain.ports.entry import Entry, EntryState
from domain.ports.request import parse_ports
from events.workqueue import EndOfRun, LeasedKey, Mark, Workqueue
from workers.cloud.names import load_balancer_name, target_group_name
from workers.scale_up.pool_config import PoolConfig
from workers.stores.ports.codec import encode_owner
from workers.stores.ports.ledger import Ledger, load_scripts
from workers.stores.ports.pool_ledger import PoolLoadBalancer, PortPoolLedger, Span

EPOCH: Final = "1:bench"
POOL: Final = "arena"
NAMESPACE: Final = "games"
START: Final = 30000
ARN: Final = "arn:aws:elasticloadbalancing:us-east-1:123456789012"
REQUEST: Final = f"game=7777/UDP@{POOL}"
SPEC: Final = {
    "region": "us-east-1",
    "vpcId": "vpc-1",
    "startPort": START,
    "endPort": START + 999,
    "autoCreate": {"enabled": True, "maxLoadBalancers": 1000, "parameters": {"subnets": ["subnet-1"]}},
}


def settled_pods(redis: Redis, count: int) -> list[str]:
    """Their keys; none is dirty. The Redis must be empty."""
    queue = Workqueue(redis, hint_queue=routing.LATENCY)
    queue.assume_epoch(EPOCH)
    entries = {f"p{number:05}": entry(number) for number in range(count)}
    fill_ledger(redis, entries)
    queue.marks(EPOCH, [mark(name, held) for name, held in entries.items()], relist=True)
    queue.stamp(EPOCH)
    redis.delete(routing.LATENCY, "{queue}dirty", "{queue}sent", *(f"{{queue}}ready:{name}" for name in ReadyClass))
    return [routing.pod_key(NAMESPACE, name) for name in entries]


def run_once(redis: Redis, keys: list[str]) -> None:
    """Run each key once, as a worker does whose pod needs nothing: what its run leaves in Redis stays there."""
    queue, ledger = Workqueue(redis, hint_queue=routing.LATENCY), Ledger(redis, load_scripts(redis), POOL)
    queue.touch(keys, slow=True)
    for key in keys:
        taken = queue.take(key, timedelta(seconds=30), uuid4().hex)
        assert isinstance(taken, LeasedKey)
        assert ledger.open(key.partition("/")[2], taken.token).entries
        assert queue.done_and_next(taken, EndOfRun(pools=[POOL]), None, "bench", uuid4().hex).accepted
    redis.delete(routing.LATENCY, "{queue}sent", "{queue}reply:bench")


def entry(number: int) -> Entry:
    slot, offset = divmod(number, MOST_LISTENERS)
    lb, port, uid = balancer_name(slot), START + offset, str(UUID(int=number))
    listener = f"{ARN}:listener/net/{lb}/{slot:016x}/{number:016x}"
    group = f"{ARN}:targetgroup/{target_group_name(uid, lb, port)}/{number:016x}"
    target = f"10.{number // 62500}.{number // 250 % 250}.{number % 250 + 1}:7777"
    return Entry(POOL, lb, port, "7777/UDP", uid, EntryState.BOUND, listener, group, target)


def balancer_name(slot: int) -> str:
    return load_balancer_name("bench", POOL, slot)


def dns_name(lb: str) -> str:
    return f"{lb}-0123456789abcdef.elb.us-east-1.amazonaws.com"


def fill_ledger(redis: Redis, entries: dict[str, Entry]) -> None:
    growth = PortPoolLedger(Ledger(redis, load_scripts(redis), POOL))
    mark = growth.begin_rebuild()
    assert mark
    owned = {f"{NAMESPACE}/{name}": encode_owner([held]) for name, held in entries.items()}
    assert growth.stamp(mark, START, owned)
    spec = PortPoolSpec.model_validate(SPEC)
    names = dict.fromkeys(held.lb for held in entries.values())
    lbs = [
        PoolLoadBalancer(lb, f"{ARN}:loadbalancer/net/{lb}/{slot:016x}", dns_name(lb), slot, slot, MOST_LISTENERS)
        for slot, lb in enumerate(names)
    ]
    span = Span(spec.start_port, spec.range_size)
    epoch: Any = redis.hget(f"{growth.prefix}meta", "epoch")
    told = growth.configure(0, (epoch or b"0").decode(), "Active", PoolConfig("uid", 1, spec).encoded(), span, lbs)
    assert told is not None


def mark(name: str, held: Entry) -> Mark:
    """The snapshot of the pod, with what was published for it."""
    shown = format_endpoints(parse_ports(REQUEST), [held], {held.lb: dns_name(held.lb)})
    body = {
        "namespace": NAMESPACE,
        "name": name,
        "uid": held.uid,
        "annotations": {PORTS: REQUEST, PORTS_STATE: "Bound", ENDPOINTS: shown},
        "ips": [held.target.partition(":")[0]],
        "phase": "Running",
        "deleting": False,
        "gate": None,
        "ready": True,
    }
    return Mark(routing.pod_key(NAMESPACE, name), 1000, held.uid, gone=False, body=orjson.dumps(body))
