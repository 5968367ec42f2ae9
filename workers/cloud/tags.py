"""Tags of what we create in AWS: with them a ledger is rebuilt, and without ours nothing is touched."""

from __future__ import annotations

from typing import Final

from domain.ports.entry import Entry

CLUSTER: Final = "berthmaster.dev/cluster"
POOL: Final = "berthmaster.dev/pool"
UID: Final = "berthmaster.dev/uid"
OWNER: Final = "berthmaster.dev/owner"
PORT: Final = "berthmaster.dev/port"
WANT: Final = "berthmaster.dev/want"
RETAIN: Final = "berthmaster.dev/retain"  # seconds; on the listener and target group of a port that is to be retained
LOAD_BALANCER: Final = "berthmaster.dev/load-balancer"
PRECREATED: Final = "berthmaster.dev/precreated"
RETIRING: Final = "berthmaster.dev/retiring"
CREATED_BY: Final = "berthmaster.dev/created-by"


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
