"""What the world must show once a crowd has come to rest: everybody has what it asked for, or cannot have it; books,
load balancers and targets say the same; and nothing moves any more.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping

from redis import Redis

from domain.ports.endpoints import parse_endpoints, published_ids
from domain.ports.entry import EntryState
from domain.ports.pod import PodView, PortsState
from domain.ports.target import target_text
from tests.fixtures.aws import Aws
from tests.support.ports.crowd import Request, request_of
from tests.support.ports.ledger_recount import faults
from workers.cloud.tags import CLUSTER, PRECREATED, UID
from workers.stores.ports.ledger import Ledger, load_scripts
from workers.stores.ports.view import owners, view

UNDONE = (EntryState.RELEASING, EntryState.RETAINED)
MOST_DESCRIBED = 20
WRITES = ("Create", "Delete", "Register", "Deregister", "Modify", "Add", "Remove", "Set")


class Books:
    """The ledgers of some pools, after the storm. `most`: pool -> load balancers that it may create."""

    def __init__(self, redis: Redis, most: Mapping[str, int]) -> None:
        scripts = load_scripts(redis)
        self.redis, self.most = redis, most
        self.ledgers = {pool: Ledger(redis, scripts, pool) for pool in most}

    def has_room(self, pool: str, ports: int) -> bool:
        """Whether the pool has so many free ports, or may still create a load balancer."""
        seen = view(self.ledgers[pool])
        return seen.free >= ports or sum(lb.slot >= 0 for lb in seen.load_balancers) < self.most[pool]

    def idle(self) -> list[str]:
        """Created load balancers without any port in use."""
        found = [lb for ledger in self.ledgers.values() for lb in view(ledger).load_balancers]
        return [lb.name for lb in found if lb.slot >= 0 and not lb.used]

    def faults(self) -> list[str]:
        """Books that do not add up, entries stuck in releasing, and waiters whose pods do not wait."""
        return [f"{pool}: {fault}" for pool, ledger in self.ledgers.items() for fault in self._faults(ledger)]

    def _faults(self, ledger: Ledger) -> Iterator[str]:
        yield from faults(self.redis, ledger.prefix)
        for name, entries in owners(ledger):
            yield from (f"{name} has {e.key} {e.state}" for e in entries if e.state in UNDONE)

    def places(self) -> dict[tuple[str, str, int], tuple[str, str]]:
        """(pool, load balancer, port) -> uid of its owner and the address that it should be sent to by the books."""
        found: dict[tuple[str, str, int], tuple[str, str]] = {}
        for ledger in self.ledgers.values():
            for _, entries in owners(ledger):
                found |= {entry.id: (entry.uid, entry.target) for entry in entries}
        return found

    def owned(self) -> dict[str, str]:
        """Listener or target group -> uid of its owner."""
        held = [entry for ledger in self.ledgers.values() for _, entries in owners(ledger) for entry in entries]
        return {arn: entry.uid for entry in held for arn in (entry.listener, entry.target_group)}

    def arns(self) -> dict[str, str]:
        """Target group -> address registered in it, by the books."""
        held = [entry for ledger in self.ledgers.values() for _, entries in owners(ledger) for entry in entries]
        return {entry.target_group: entry.target for entry in held}


def unserved(pods: list[PodView], books: Books) -> list[str]:
    """Pods that do not show what their request deserves. I6: no pod waits for a free port."""
    return [f"{pod.name}: {why}" for pod in pods if (why := _unserved(pod, request_of(pod), books))]


def _unserved(pod: PodView, asked: Request, books: Books) -> str:
    state = pod.outputs.state
    if state == PortsState.NO_PORT_AVAILABLE and asked.same:
        return ""  # there may be room, and no number that is free in both
    if state == PortsState.NO_PORT_AVAILABLE and asked.wanted:
        short = [pool for pool, ports in asked.wanted if not books.has_room(pool, ports)]
        return "" if short else f"waits, and every pool has room: {pod.outputs.message}"
    if state != asked.state:
        return f"{state or 'nothing'} ({pod.outputs.message}) instead of {asked.state or 'nothing'}"
    places = published_ids(pod.outputs.endpoints)
    counts = Counter(pool for pool, _, _ in places)
    if state == PortsState.BOUND and counts != dict(asked.wanted):
        return f"publishes {dict(counts)} instead of {dict(asked.wanted)}"
    return _unbooked(pod, asked, books.places())


def _unbooked(pod: PodView, asked: Request, places: dict[tuple[str, str, int], tuple[str, str]]) -> str:
    """Pods whose published ports are not in the books, or whose books hold more than they asked for."""
    shown_ids = published_ids(pod.outputs.endpoints)
    if wrong := [place for place in shown_ids if places.get(place, ("", ""))[0] != pod.uid]:
        return f"publishes what is not its own: {wrong}"
    held = Counter(pool for (pool, _, _), (uid, _) in places.items() if uid == pod.uid)
    kept = asked.state == PortsState.FAILED  # a mistake costs nothing that is held
    return f"holds {dict(held)}" if held != dict(asked.wanted) and not kept else ""


def astray(aws: Aws, cluster: str, pods: list[PodView], books: Books) -> list[str]:
    """Target groups of ours whose targets are not exactly the address of the pod that the books name."""
    wrong, expected = [], books.arns()
    for group in aws.driver().target_groups_owned(cluster):
        told = aws.client().describe_target_health(TargetGroupArn=group.arn)["TargetHealthDescriptions"]
        there = sorted(target_text(row["Target"]["Id"], row["Target"]["Port"]) for row in told)
        wanted = expected.get(group.arn, "" if PRECREATED in group.tags else "an owner")
        if there != list(filter(None, [wanted])):
            wrong.append(f"{group.name} sends to {there} instead of {wanted or 'nobody'}")
    return wrong + [f"{pod.name} has no target {port}" for pod in pods for port in _lacking(pod, expected)]


def _lacking(pod: PodView, expected: dict[str, str]) -> list[int]:
    """Container ports that a bound pod publishes and that the books send elsewhere."""
    if pod.outputs.state != PortsState.BOUND:
        return []
    ports = [place.container_port for row in parse_endpoints(pod.outputs.endpoints) for place in row.port_by_port()]
    return [port for port in ports if not {target_text(ip, port) for ip in pod.ips} & set(expected.values())]


def unnamed(aws: Aws, cluster: str, books: Books) -> list[str]:
    """Listeners and target groups that a rebuild would not find, or not give to their owner."""
    owned, wrong = books.owned(), []
    for arns in batched(list(owned), MOST_DESCRIBED):
        for row in aws.client().describe_tags(ResourceArns=arns)["TagDescriptions"]:
            tags = {tag["Key"]: tag["Value"] for tag in row["Tags"]}
            if tags.get(CLUSTER) != cluster or (PRECREATED not in tags and tags.get(UID) != owned[row["ResourceArn"]]):
                wrong.append(f"{row['ResourceArn']} has the tags {tags}")
    return wrong


def batched(arns: list[str], most: int) -> list[list[str]]:
    return [arns[first : first + most] for first in range(0, len(arns), most)]


def movement(aws: Aws) -> int:
    """How many writes AWS has had so far."""
    return sum(number for action, number in aws.counts().items() if action.startswith(WRITES))
