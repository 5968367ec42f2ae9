"""Tags of the resources that we create: a ledger is rebuilt from them, and a resource without them is never touched."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from domain.kubernetes.names import PREFIX
from domain.ports.entry import Entry

CLUSTER: Final = PREFIX + "cluster"
POOL: Final = PREFIX + "pool"
UID: Final = PREFIX + "uid"
OWNER: Final = PREFIX + "owner"
PORT: Final = PREFIX + "port"
WANT: Final = PREFIX + "want"
RETAIN: Final = PREFIX + "retain"
"""Seconds, on the listener and target group of a port that is to be retained."""
LOAD_BALANCER: Final = PREFIX + "load-balancer"
PRECREATED: Final = PREFIX + "precreated"
RETIRING: Final = PREFIX + "retiring"
CREATED_BY: Final = PREFIX + "created-by"
IDENTITY: Final = (CLUSTER, POOL, UID)


def pool_tags(cluster: str, pool: str) -> dict[str, str]:
    """The tags by which load balancers, listeners and target groups of a pool are listed."""
    return {CLUSTER: cluster, POOL: pool}


def created_tags(cluster: str, pool: str) -> dict[str, str]:
    """The tags of a load balancer that we created."""
    return pool_tags(cluster, pool) | {CREATED_BY: "berthmaster"}


def port_tags(cluster: str, entry: Entry, owner: str) -> dict[str, str]:
    """The tags of a listener and its target group; `owner` is `namespace/name` of the pod."""
    ids = {UID: entry.uid, OWNER: owner, LOAD_BALANCER: entry.lb, PORT: str(entry.port), WANT: entry.want}
    retention = {RETAIN: str(entry.retain)} if entry.retain else {}
    return pool_tags(cluster, entry.pool) | ids | retention


def promise_tags(entry: Entry, owner: str) -> dict[str, str]:
    """The tags that say for whom a precreated port is retained; an entry without retention clears them."""
    if not entry.retain:
        return {UID: "", OWNER: "", WANT: "", RETAIN: "0"}
    return {UID: entry.uid, OWNER: owner, WANT: entry.want, RETAIN: str(entry.retain)}


def stock_tags(cluster: str, pool: str, lb: str, port: int) -> dict[str, str]:
    """The tags of a precreated listener and its target group, which name no pod."""
    return pool_tags(cluster, pool) | {PRECREATED: "true", LOAD_BALANCER: lb, PORT: str(port)}


def same_owner(tags: Mapping[str, str], wanted: Mapping[str, str]) -> bool:
    """Whether cluster, pool and pod are the same; people may have changed other tags."""
    return all(tags.get(key) == wanted.get(key) for key in IDENTITY)


def belongs_to(tags: Mapping[str, str], cluster: str, pool: str | None) -> bool:
    """Whether the tags name this cluster, and this pool if one is given."""
    return tags.get(CLUSTER) == cluster and (pool is None or tags.get(POOL) == pool)
