"""One look of an audit at a pool: the ledger, AWS, the ledger again, the pods; and what differs. Changes nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import Final

from domain.port_audit.difference import Difference, Kind
from domain.port_audit.drift import Compared, differences, lost_tags
from domain.port_audit.rebuild import Place
from domain.port_audit.sides import Balancer, Books, Cloud, Held
from domain.ports.entry import Entry
from domain.ports.pod import PodView
from events.workqueue import Workqueue
from workers.cloud.driver import LoadBalancerApi
from workers.cloud.errors import NotFound
from workers.cloud.priority import Priority
from workers.cloud.rates import OverBudget
from workers.cloud.tags import RETAIN, created_tags, port_tags, stock_tags
from workers.port_audit.inventory import Cartographer, Inventory, piece_of
from workers.port_services import PortServices
from workers.ports.listeners.targets import standing
from workers.scale_up.pool_config import PoolConfig, decode_config
from workers.stores.ports.ledger import Ledger
from workers.stores.ports.pool_ledger import Growth, PoolLoadBalancer
from workers.stores.ports.precreated import Stock
from workers.stores.ports.view import known_arns, owners, view

MOST_LOOKUPS: Final = 40  # target groups that lists did not show: two calls
Pods = Mapping[str, PodView]


@dataclass(frozen=True)
class Look:
    """`looked` are the target groups whose targets were compared, `last` the one after which the next look goes on."""

    driver: LoadBalancerApi
    inventory: Inventory
    differences: tuple[Difference, ...]
    looked: int
    last: str


def live_pods(queue: Workqueue) -> Pods:
    """As the publisher saw them last."""
    found = ((key, snap) for key, snap in queue.snapshots() if key.startswith("pod/") and not snap.gone)
    return live_pods_of(PodView.from_snapshot(snap.version, snap.body) for _, snap in found)


def live_pods_of(pods: Iterable[PodView]) -> Pods:
    return {pod.full_name: pod for pod in pods}


def held(ledger: Ledger) -> Held:
    return {(entry.lb, entry.port): (name, entry) for name, entries in owners(ledger) for entry in entries}


def next_round(arns: Iterable[str], after: str, most: int) -> list[str]:
    """At most `most` of them, those first that follow `after`, in a circle."""
    ordered = sorted(arns)
    later = [arn for arn in ordered if arn > after]
    return (later + ordered)[: min(most, len(ordered))]


class Looking:
    """`who` names the caller in the call budget."""

    def __init__(self, services: PortServices, pool: str, who: str = "audit") -> None:
        self._services, self._pool, self._who = services, pool, who
        self._ledger = services.ledger(pool)

    def look(self, pods: Callable[[], Pods], most_targets: int) -> Look | None:
        """None: the pool has no accepted spec yet. Raises CloudError, TransientError."""
        config = decode_config(Growth(self._ledger).config())
        if not config:
            return None
        driver = self._services.driver(config.spec.region).on_behalf_of(
            f"{self._who}/{self._pool}", Priority.REPAIR, patience=self._services.call_time
        )
        stock, before = Stock(self._ledger), held(self._ledger)
        had = stock.all()
        known = known_arns(view(self._ledger).load_balancers, (e for _, e in before.values()), had.values())
        inventory = Cartographer(driver, self._services.cluster, self._pool, config.spec, known).take()
        groups = {e.target_group for _, e in before.values()} | {group for _, group in had.values()}
        targets, last = self._targets(driver, groups - {""}, most_targets)
        steady = {place_of(key): pair for key, pair in stock.all().items() if had.get(key) == pair}
        books = Books(before, held(self._ledger), self._balancers(view(self._ledger).load_balancers), steady)
        self._add_unlisted(driver, inventory, books)
        cloud = self._cloud(config, inventory, targets)
        tags = partial(_port_tags, self._services.cluster), partial(_stock_tags, self._services.cluster, self._pool)
        seen = Compared(self._pool, cloud, books, pods(), *tags, fluid=frozenset({RETAIN}))
        return Look(driver, inventory, differences(seen), len(targets), last)

    def _targets(self, driver: LoadBalancerApi, groups: set[str], most: int) -> tuple[dict[str, frozenset[str]], str]:
        """By target group: first of those that had a stranger at the last look, then of some in turn.

        Without call budget the turn ends early.
        """
        memory = self._services.audit_memory
        suspects = {arn for one in memory.differences(self._ledger.prefix) if (arn := _suspect(one)) in groups}
        found, last = dict[str, frozenset[str]](), memory.last_checked(self._ledger.prefix)
        turn = next_round(groups, last, most)
        with suppress(OverBudget):
            for arn in sorted(suspects - set(turn)) + turn:
                if (there := _registered(driver, arn)) is not None:
                    found[arn] = there
                last = arn if arn in turn else last
        return found, last

    def _add_unlisted(self, driver: LoadBalancerApi, inventory: Inventory, books: Books) -> None:
        """Target groups without our tags are in no list: the ledger knows their ARNs."""
        listed = {piece.arn for piece in inventory.pieces}
        known = {e.target_group for _, e in books.steady.values()} | {group for _, group in books.stock.values()}
        wanted = sorted(known - listed - {""})
        if wanted:
            inventory.pieces += [piece_of(group) for group in driver.find_target_groups(wanted[:MOST_LOOKUPS])]

    def _balancers(self, lbs: Sequence[PoolLoadBalancer]) -> dict[str, Balancer]:
        known = {lb.name: _balancer(lb, frozenset(lb.foreign)) for lb in lbs}
        return known | {lb.name: replace(known[lb.name], capacity=None) for lb in lbs if lb.retiring}

    def _cloud(self, config: PoolConfig, inventory: Inventory, targets: Mapping[str, frozenset[str]]) -> Cloud:
        spec, tags = config.spec, inventory.tags
        extra, ours = spec.auto_create.parameters.tags, created_tags(self._services.cluster, self._pool)
        balancers = {}
        for lb in inventory.load_balancers:
            bare = {key: value for key, value in extra.items() if key not in tags[lb.name]}
            lost = bare | lost_tags(ours, tags[lb.name]) if lb.slot >= 0 else {}
            inside = frozenset(port for port in lb.foreign if port in spec.ports)
            there = _balancer(lb, inside, lost)
            balancers[lb.name] = replace(there, capacity=None) if spec.precreate.total else there
        groups = [piece for piece in inventory.pieces if ":targetgroup/" in piece.arn]
        listeners = [piece for piece in inventory.pieces if ":targetgroup/" not in piece.arn]
        return Cloud(balancers, tuple(listeners), tuple(groups), inventory.unusable, targets)


def _balancer(lb: PoolLoadBalancer, foreign: frozenset[int], lost: Mapping[str, str] | None = None) -> Balancer:
    return Balancer(lb.name, lb.arn, lb.slot >= 0, lb.capacity > 0, foreign, lost or {}, lb.capacity)


def _port_tags(cluster: str, owner: str, entry: Entry) -> Mapping[str, str]:
    return port_tags(cluster, entry, owner)


def _stock_tags(cluster: str, pool: str, place: Place) -> Mapping[str, str]:
    return stock_tags(cluster, pool, *place)


def place_of(key: str) -> Place:
    """Of `lb:port`."""
    lb, _, port = key.rpartition(":")
    return lb, int(port)


def _suspect(difference: str) -> str:
    """The target group in the id of a difference about a stale target, '' for any other."""
    kind, _, _, arn, *_ = difference.split("|")
    return arn if kind == Kind.STALE_TARGET else ""


def _registered(driver: LoadBalancerApi, arn: str) -> frozenset[str] | None:
    """None when the target group is gone."""
    try:
        return standing(driver, arn)
    except NotFound:
        return None
