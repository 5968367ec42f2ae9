"""Names of keys, tasks and queues, and the messages that publisher and workers must agree on.

A hint is a message that says: keys are ready. It names none. It is built by hand, so that a script that makes a key
ready can send the hint in the same step. Any Celery worker accepts it: it is message protocol 2 as kombu's Redis
transport stores it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final, TypeGuard
from uuid import uuid4

import orjson

from berthmaster import tracing
from berthmaster.kinds import KINDS, POD, POD_CLAIM, POD_CLAIM_SET, POD_POOL, PORT_POOL

LATENCY: Final = "berthmaster.latency"  # hints, and what other services ask for
JOBS: Final = "berthmaster.jobs"  # what clients ask for: however much it is, hints must not wait behind it
MAINTENANCE: Final = "berthmaster.maintenance"  # ticks, scale-up, audit
EVENTS_STREAM: Final = "berthmaster:events"

PORTS_RECONCILE: Final = POD.task  # (key)
POOLS_RECONCILE: Final = PORT_POOL.task  # (key)
SLOTS_SUBMIT: Final = "slots.submit"  # (job)
SLOTS_CONFIRM: Final = "slots.confirm"  # (pool, id, plan, by)
SLOTS_CANCEL: Final = "slots.cancel"  # (pool, id, by)
SLOTS_FINISH: Final = "slots.finish"  # (pool, id, phase, attempt, outcome, result)
SLOTS_SWEEP: Final = "slots.sweep"  # ()
CLAIMS_CREATE: Final = "claims.create"  # (claim)
CLAIMS_RENEW: Final = "claims.renew"  # (claim, renewal)
CLAIMS_RELEASE: Final = "claims.release"  # (claim)
PODPOOLS_AUTOSCALE: Final = "podpools.autoscale"  # ()
POOLS_SCALE_UP: Final = "pools.scale_up"  # (pool, epoch, token)
QUEUE_TICK: Final = "queue.tick"  # ()
QUEUE_DRAIN: Final = "queue.drain"  # (hint)
PORTS_SWEEP: Final = "ports.sweep"  # ()
PORTS_AUDIT: Final = "ports.audit"  # ()

PLACEHOLDER: Final = "<id of the hint>"
"""Stands for the id in the text from which scripts make hints."""

RECONCILERS: Final = {kind.prefix: kind.task for kind in KINDS}
"""First part of a key -> the task that takes it."""

QUEUES: Final = {
    **dict.fromkeys(RECONCILERS.values(), LATENCY),
    SLOTS_SUBMIT: JOBS,
    SLOTS_CONFIRM: JOBS,
    SLOTS_CANCEL: JOBS,
    SLOTS_FINISH: JOBS,
    CLAIMS_CREATE: JOBS,
    CLAIMS_RENEW: JOBS,
    CLAIMS_RELEASE: JOBS,
    SLOTS_SWEEP: MAINTENANCE,
    PODPOOLS_AUTOSCALE: MAINTENANCE,
    QUEUE_DRAIN: LATENCY,
    POOLS_SCALE_UP: MAINTENANCE,
    QUEUE_TICK: MAINTENANCE,
    PORTS_SWEEP: MAINTENANCE,
    PORTS_AUDIT: MAINTENANCE,
}

ALL: Final = (LATENCY, JOBS, MAINTENANCE)
"""Every queue of ours; a worker takes from them in turn."""


def runner_queues(pool: str) -> str:
    """Return the prefix of a pod pool's queues. `pool` is namespace/name; no name has a colon or a slash."""
    return f"berthmaster.runner:{pool}:"


def pod_key(namespace: str, name: str) -> str:
    """Return the key of a pod."""
    return POD.key(namespace, name)


def port_pool_key(name: str) -> str:
    """Return the key of a port pool."""
    return PORT_POOL.key(name)


def pod_pool_key(namespace: str, name: str) -> str:
    """Return the key of a pod pool."""
    return POD_POOL.key(namespace, name)


def pod_claim_key(namespace: str, name: str) -> str:
    """Return the key of a claim."""
    return POD_CLAIM.key(namespace, name)


def pod_claim_set_key(namespace: str, name: str) -> str:
    """Return the key of a claim set."""
    return POD_CLAIM_SET.key(namespace, name)


_KEY: Final = re.compile("|".join(kind.key_pattern for kind in KINDS))


def is_key(value: object) -> TypeGuard[str]:
    """Tell whether a reconciler accepts this key. Others may write the names from which keys are built."""
    return isinstance(value, str) and _KEY.fullmatch(value) is not None


def split_key(key: str) -> tuple[str, ...]:
    """Return ("pod", namespace, name) or ("portpool", name)."""
    return tuple(key.split("/"))


def reconciler(key: str) -> str:
    """Return the task that reconciles this kind of key. Raises KeyError for a kind that nobody reconciles."""
    return RECONCILERS[key.partition("/")[0]]


def hint(identity: str) -> bytes:
    """Return the message that begins a drain. `identity` is the hint's id, and the id of the message."""
    own = headers(QUEUE_DRAIN, identity, (identity,))
    own.pop(tracing.HEADER, None)  # a trace belongs to a key
    return _message(QUEUES[QUEUE_DRAIN], own, (identity,))


def hint_parts() -> list[str]:
    """Return the text of a hint in the parts between which its id stands."""
    return hint(PLACEHOLDER).decode().split(PLACEHOLDER)


def message(task: str, *args: object) -> bytes:
    """Return a Celery message for the task's own queue, to LPUSH on the list of that name."""
    return _message(QUEUES[task], headers(task, str(uuid4()), args), args)


def _message(queue: str, headers: Mapping[str, object], args: tuple[object, ...]) -> bytes:
    embed = {"callbacks": None, "errbacks": None, "chain": None, "chord": None}
    return orjson.dumps(
        {
            "body": orjson.dumps([args, {}, embed]).decode(),
            "content-type": "application/json",
            "content-encoding": "utf-8",
            "headers": headers,
            "properties": {
                "correlation_id": headers["id"],
                "delivery_mode": 2,
                # without an exchange kombu gives a message back to the list of its routing key, whatever is declared
                "delivery_info": {"exchange": "", "routing_key": queue},
                "priority": 0,
                "delivery_tag": headers["id"],
            },
        }
    )


def headers(task: str, identity: str, args: tuple[object, ...]) -> dict[str, object]:
    """Return the headers of a Celery message; `identity` is the task's id."""
    return {
        "lang": "py",
        "task": task,
        "id": identity,
        "root_id": identity,
        "parent_id": None,
        "group": None,
        "retries": 0,
        "eta": None,
        "expires": None,
        "timelimit": [None, None],
        "argsrepr": repr(args),
        "kwargsrepr": "{}",
        "origin": "berthmaster",
        "ignore_result": True,
        **tracing.headers(),
    }
