"""Tags of what we create in AWS: with them a ledger is rebuilt, and without ours nothing is touched."""

from __future__ import annotations

from typing import Final

from domain.kubernetes.names import PREFIX
from domain.ports.entry import Entry

CLUSTER: Final = PREFIX + "cluster"
POOL: Final = PREFIX + "pool"
UID: Final = PREFIX + "uid"
OWNER: Final = PREFIX + "owner"
PORT: Final = PREFIX + "port"
WANT: Final = PREFIX + "want"
RETAIN: Final = PREFIX + "retain"  # seconds; on the listener and target group of a port that is to be retained
LOAD_BALANCER: Final = PREFIX + "load-balancer"
PRECREATED: Final = PREFIX + "precreated"
RETIRING: Final = PREFIX + "retiring"
CREATED_BY: Final = PREFIX + "created-by"


def pool_tags(cluster: str, pool: str) -> dict[str, str]:
    """The tags by which load balancers, listeners and target groups of a pool are found again."""
    return {CLUSTER: cluster, POOL: pool}


def created_tags(cluster: str, pool: str) -> dict[str, str]:
    """The tags of a load balancer that we created."""
    return pool_tags(cluster, pool) | {CREATED_BY: "berthmaster"}


def port_tags(cluster: str, entry: Entry, owner: str) -> dict[str, str]:
    """The tags of a listener and its target group; `owner` is `namespace/name` of the pod."""
    ids = {UID: entry.uid, OWNER: owner, LOAD_BALANCER: entry.lb, PORT: str(entry.port), WANT: entry.want}
    kept = {RETAIN: str(entry.retain)} if entry.retain else {}
    return pool_tags(cluster, entry.pool) | ids | kept


def promise_tags(entry: Entry, owner: str) -> dict[str, str]:
    """On a precreated listener and its target group: for whom the port is to be retained; of nobody without time."""
    if not entry.retain:
        return {UID: "", OWNER: "", WANT: "", RETAIN: "0"}
    return {UID: entry.uid, OWNER: owner, WANT: entry.want, RETAIN: str(entry.retain)}


def stock_tags(cluster: str, pool: str, lb: str, port: int) -> dict[str, str]:
    """The tags of a precreated listener and its target group: they are nobody's in particular."""
    return pool_tags(cluster, pool) | {PRECREATED: "true", LOAD_BALANCER: lb, PORT: str(port)}
