"""One search for everything that people have in hand: a name, a job's id, an endpoint or an address."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from berthmaster.kinds import KINDS
from workers.fleet_pages.document import Document, page_of
from workers.fleet_pages.readers import FleetReaders
from workers.stores.claims.index import PHASES
from workers.stores.claims.shown import all_shown
from workers.stores.ports.view import owners, view
from workers.stores.slots.view import view as slots_view

Hit = tuple[str, str]
"""First part of the path of a page, and the name of the object: `pod`, `games/a`."""
MOST: Final = 100
PAGES: Final = {kind.prefix for kind in KINDS}
WORDS: Final = {
    "pod": "pod",
    "podclaim": "claim",
    "podclaimset": "claim set",
    "podpool": "pod pool",
    "portpool": "port pool",
    "lb": "load balancer",
    "job": "job",
}


def search(readers: FleetReaders, text: str) -> tuple[Hit, ...]:
    """Return what has this name, endpoint (host:port) or address, without doubles.

    A name may be short or NAMESPACE/NAME; a job is found by its whole id.
    """
    asked = text.strip()
    if not asked:
        return ()
    sources = (_jobs, _load_balancers, _slots, _claims, _snapshots)
    hits = dict.fromkeys(hit for source in sources for hit in source(readers, asked))
    return tuple(hits)[:MOST]


def found_document(text: str, hits: tuple[Hit, ...]) -> Document:
    """Return the page that lists what was found."""
    document = Document(f"Search: {text.strip()}")
    document.fact("found", len(hits) if hits else "nothing of this name, endpoint or address")
    if hits:
        document.table("Found", ("kind", "name"), [(WORDS[kind], page_of(kind, name)) for kind, name in hits])
    return document


def _is(name: str, asked: str) -> bool:
    return asked in (name, name.rpartition("/")[2])


def _jobs(readers: FleetReaders, asked: str) -> Iterator[Hit]:
    for pool in readers.pod_pools:
        if _is(pool, asked):
            yield "podpool", pool
        job = asked.removeprefix(f"{pool}/")
        if readers.redis.hexists(f"{readers.slots(pool).prefix}jobs", job):
            yield "job", f"{pool}/{job}"


def _load_balancers(readers: FleetReaders, asked: str) -> Iterator[Hit]:
    """Yield pools and load balancers by name, and the pods of an endpoint or a load balancer's name in DNS."""
    host, _, port = asked.rpartition(":")
    for pool in readers.port_pools:
        ledger = readers.ledger(pool)
        if _is(pool, asked):
            yield "portpool", pool
        hosts = set()
        for lb in view(ledger).load_balancers:
            if asked.lower() in (lb.name.lower(), lb.arn.lower(), lb.dns.lower()):
                yield "lb", f"{pool}/{lb.name}"
            if host and host.lower() in (lb.dns.lower(), lb.name.lower()):
                hosts.add(lb.name)
        for owner, entries in owners(ledger):
            on_port = any(entry.lb in hosts and str(entry.port) == port for entry in entries)
            if on_port or _is(owner, asked) or any(asked in _addresses(entry.target) for entry in entries):
                yield "pod", owner


def _addresses(target: str) -> tuple[str, str]:
    """Return a target, and its address alone."""
    return target, target.rpartition(":")[0].strip("[]")


def _slots(readers: FleetReaders, asked: str) -> Iterator[Hit]:
    for pool in readers.pod_pools:
        namespace = pool.partition("/")[0]
        for pod in slots_view(readers.slots(pool)).all_pods:
            if _is(f"{namespace}/{pod.name}", asked):
                yield "pod", f"{namespace}/{pod.name}"


def _claims(readers: FleetReaders, asked: str) -> Iterator[Hit]:
    """Yield claims by name, and their pods by address: who only claims pods has no ports, and no snapshots of them."""
    names: Any = readers.redis.hkeys(PHASES)
    yield from (("podclaim", name.decode()) for name in names if _is(name.decode(), asked))
    for name, shown in all_shown(readers.redis).items() if {".", ":"} & set(asked) else ():
        if asked in shown.ips:
            yield "pod", f"{name.partition('/')[0]}/{shown.pod}"


def _snapshots(readers: FleetReaders, asked: str) -> Iterator[Hit]:
    """Yield what the publisher has seen of this name, and pods of this address."""
    for key, snapshot in readers.queue.snapshots():
        kind, _, name = key.partition("/")
        if snapshot.gone or kind not in PAGES:
            continue
        if _is(name, asked) or (kind == "pod" and asked in (snapshot.body.get("ips") or ())):
            yield kind, name
