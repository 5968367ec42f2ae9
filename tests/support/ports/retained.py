"""Pods that want their ports retained, and what is left of them."""

from __future__ import annotations

import json
from typing import Any

from tests.support.ports.fleet import Fleet
from workers.cloud.tags import RETAIN, UID
from workers.scale_up.sweep import sweep

RANGE = "rtp=10000-10003/UDP@arena, web=80/TCP@arena"


def bound(
    fleet: Fleet, name: str = "a", ports: str = "7777/UDP@arena", retain: str | None = "true", **pool: Any
) -> None:
    fleet.pool("arena", **pool)
    notes = {"ports_retain": retain} if retain else {}
    fleet.pod(name, ports, ip="10.0.0.1", **notes)
    fleet.settle()
    assert fleet.state(name) == "Bound"


def again(fleet: Fleet, name: str = "a", ports: str | None = "7777/UDP@arena", **notes: str) -> None:
    """The pod comes back, with another address."""
    fleet.pod(name, ports, ip="10.0.0.2", **(notes or {"ports_retain": "true"}))
    fleet.settle()


def places(fleet: Fleet, name: str = "a") -> list[tuple[str, int, int]]:
    return [(row["loadBalancer"], row["port"], row["endPort"]) for row in fleet.shown(name)[1]]


def states(fleet: Fleet, name: str = "a") -> list[str]:
    return [state for _, _, state in fleet.owners("arena").get(f"{fleet.namespace}/{name}", [])]


def registered(fleet: Fleet) -> list[str]:
    """ip:port of every target of ours that does not drain."""
    groups = fleet.driver.target_groups_owned(fleet.cluster)
    return sorted(
        f"{t.ip}:{t.port}" for group in groups for t in fleet.driver.targets(group.arn) if t.health != "draining"
    )


def tags(fleet: Fleet) -> list[tuple[str, str]]:
    """(uid, seconds) of every listener and target group."""
    driver = fleet.driver
    listeners = [x for lb in driver.find_owned_load_balancers(fleet.cluster) for x in driver.listeners(lb.arn)]
    found = [x.tags for x in listeners] + [x.tags for x in driver.target_groups_owned(fleet.cluster)]
    return sorted({(t[UID], t.get(RETAIN, "")) for t in found})


def uid(fleet: Fleet, name: str = "a") -> str:
    found: str = fleet.api.get(fleet.pod_path(name))["metadata"]["uid"]
    return found


def time_is_over(fleet: Fleet, name: str = "a") -> None:
    """Of what is retained for that name, as if it had begun long ago; then the sweep comes."""
    prefix, owner = fleet.services.ledger("arena").prefix, f"{fleet.namespace}/{name}"
    stored: Any = fleet.redis.hget(f"{prefix}owners", owner)
    held = {
        place: entry | ({"expires_at": 1} if "expires_at" in entry else {})
        for place, entry in json.loads(stored).items()
    }
    fleet.redis.hset(f"{prefix}owners", owner, json.dumps(held))
    fleet.redis.zadd(f"{prefix}retained", {owner: 1})
    sweep(fleet.services)
    fleet.settle()
