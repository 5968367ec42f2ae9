"""Observes one pool for an audit: the ledger, the cloud, the ledger again, then the pods. Changes nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import Final

from domain.port_audit.difference import DifferenceKind
from domain.port_audit.drift import Comparison, lost_tags
from domain.port_audit.rebuild import Place
from domain.port_audit.sides import AuditedLoadBalancer, CloudSide, Held, LedgerSide, UnusableLoadBalancer
from domain.ports.entry import Entry
from domain.ports.pod import PodView
from events.workqueue import Workqueue
from workers.cloud.call_budget import OverBudget
from workers.cloud.driver import LoadBalancerApi
from workers.cloud.errors import CloudNotFound
from workers.cloud.priority import Priority
from workers.cloud.providers import load_balancer_name_in
from workers.cloud.tags import RETAIN, created_tags, port_tags, stock_tags
from workers.port_audit.inventory import Inventory, InventoryReader, resources_of
from workers.port_services import PortServices
from workers.ports.listeners.targets import registered_targets
from workers.scale_up.pool_config import PoolConfig, decode_config
from workers.stores.ports.ledger import Ledger
from workers.stores.ports.pool_ledger import PoolLoadBalancer, PortPoolLedger
from workers.stores.ports.precreated import Stock
from workers.stores.ports.view import known_arns, owners, view
from workers.stores.ticks import Keep, unkept

MOST_UNLISTED: Final = 40
"""Target groups that no list shows and one audit reads by their ARNs: two calls."""
Pods = Mapping[str, PodView]


@dataclass(frozen=True)
class AuditObservation:
    """`targets` counts the target groups whose targets were read; the next audit goes on after the ARN `last`."""

    driver: LoadBalancerApi
    comparison: Comparison
    slots: Mapping[str, int]
    targets: int
    last: str


def live_pods(queue: Workqueue) -> Pods:
    """The live pods, as the publisher saw them last."""
    snapshots = ((key, snapshot) for key, snapshot in queue.snapshots() if key.startswith("pod/"))
    return live_pods_of(PodView.from_snapshot(snap.version, snap.body) for _, snap in snapshots if not snap.gone)


def live_pods_of(pods: Iterable[PodView]) -> Pods:
    """The pods by namespace/name."""
    return {pod.full_name: pod for pod in pods}


def observe(
    services: PortServices,
    pool: str,
    pods: Callable[[], Pods],
    most_targets: int,
    keep: Keep = unkept,
    who: str = "audit",
) -> AuditObservation | None:
    """Observe a pool. None: it has no accepted spec yet. Raises CloudError, TransientError, StaleToken.

    `keep` is called before each call of AWS, also of repairs. `who` names the caller in the call budget; `most_targets`
    bounds the target groups whose targets are read.
    """
    config = decode_config(PortPoolLedger(services.ledger(pool)).config())
    return AuditObserver(services, pool, config, keep, who).observe(pods, most_targets) if config else None


def next_round(arns: Iterable[str], after: str, most: int) -> list[str]:
    """At most `most` ARNs, in a circle that begins after `after`."""
    ordered = sorted(arns)
    later = [arn for arn in ordered if arn > after]
    return (later + ordered)[: min(most, len(ordered))]


class AuditObserver:
    """One observation of one pool, on behalf of one caller."""

    def __init__(self, services: PortServices, pool: str, config: PoolConfig, keep: Keep, who: str) -> None:
        self._services, self._pool, self._config = services, pool, config
        self._ledger = services.ledger(pool)
        self._driver = services.driver(config.spec.region).on_behalf_of(
            f"{who}/{pool}", Priority.REPAIR, keep, services.call_time
        )

    def observe(self, pods: Callable[[], Pods], most_targets: int) -> AuditObservation:
        """Read the ledger before and after the cloud: only what was the same both times is judged."""
        cluster, stock = self._services.cluster, Stock(self._ledger)
        before, stock_before = _held(self._ledger), stock.all()
        entries = (entry for _, entry in before.values())
        recorded = known_arns(view(self._ledger).load_balancers, entries, stock_before.values())
        inventory = InventoryReader(self._driver, cluster, self._pool, self._config.spec, recorded).read()
        groups = {entry.target_group for _, entry in before.values()} | {group for _, group in stock_before.values()}
        targets, last = self._targets(groups - {""}, most_targets)
        steady_stock = {place_of(key): pair for key, pair in stock.all().items() if stock_before.get(key) == pair}
        ledger = LedgerSide(before, _held(self._ledger), self._recorded_load_balancers(), steady_stock)
        self._add_unlisted_groups(inventory, ledger)
        comparison = Comparison(
            self._pool,
            self._cloud_side(inventory, targets),
            ledger,
            pods(),
            partial(_port_tags, cluster),
            partial(_stock_tags, cluster, self._pool),
            fluid=frozenset({RETAIN}),
        )
        slots = {lb.name: lb.slot for lb in inventory.load_balancers}
        return AuditObservation(self._driver, comparison, slots, len(targets), last)

    def _targets(self, groups: set[str], most: int) -> tuple[dict[str, frozenset[str]], str]:
        """Registered targets by target group, and the last group of this round.

        Groups that had a stale target at the last audit come first, then the next ones in a circle. Without call
        budget the round ends early.
        """
        memory, prefix = self._services.audit_memory, self._ledger.prefix
        suspects = {
            arn for difference in memory.differences(prefix) if (arn := _stale_target_group(difference)) in groups
        }
        targets, last = dict[str, frozenset[str]](), memory.last_checked(prefix)
        this_round = next_round(groups, last, most)
        with suppress(OverBudget):
            for arn in sorted(suspects - set(this_round)) + this_round:
                if (registered := _registered(self._driver, arn)) is not None:
                    targets[arn] = registered
                last = arn if arn in this_round else last
        return targets, last

    def _add_unlisted_groups(self, inventory: Inventory, ledger: LedgerSide) -> None:
        """Add target groups that have lost our tags and so are in no list: the ledger has their ARNs."""
        listed = {group.arn for group in inventory.target_groups}
        recorded = {entry.target_group for _, entry in ledger.steady.values()}
        recorded |= {group for _, group in ledger.stock.values()}
        if unlisted := sorted(recorded - listed - {""}):
            groups = self._driver.find_target_groups(unlisted[:MOST_UNLISTED])
            inventory.target_groups += resources_of(groups)

    def _recorded_load_balancers(self) -> dict[str, AuditedLoadBalancer]:
        lbs = {lb.name: (lb, _audited(lb, frozenset(lb.foreign))) for lb in view(self._ledger).load_balancers}
        return {
            name: replace(audited, capacity=None) if lb.retiring else audited for name, (lb, audited) in lbs.items()
        }

    def _cloud_side(self, inventory: Inventory, targets: Mapping[str, frozenset[str]]) -> CloudSide:
        unusable = {
            arn: UnusableLoadBalancer(load_balancer_name_in(arn), reason) for arn, reason in inventory.unusable.items()
        }
        balancers = {lb.name: self._actual(lb, inventory.tags[lb.name]) for lb in inventory.load_balancers}
        return CloudSide(balancers, tuple(inventory.listeners), tuple(inventory.target_groups), unusable, targets)

    def _actual(self, lb: PoolLoadBalancer, tags: Mapping[str, str]) -> AuditedLoadBalancer:
        """The load balancer as the cloud has it; the pool's own tags count as lost only where they are absent."""
        spec = self._config.spec
        absent = {key: value for key, value in spec.auto_create.parameters.tags.items() if key not in tags}
        lost = absent | lost_tags(created_tags(self._services.cluster, self._pool), tags) if lb.slot >= 0 else {}
        audited = _audited(lb, frozenset(port for port in lb.foreign if port in spec.ports), lost)
        return replace(audited, capacity=None) if spec.precreate.total else audited


def _held(ledger: Ledger) -> Held:
    return {(entry.lb, entry.port): (name, entry) for name, entries in owners(ledger) for entry in entries}


def _audited(
    lb: PoolLoadBalancer, foreign: frozenset[int], lost: Mapping[str, str] | None = None
) -> AuditedLoadBalancer:
    return AuditedLoadBalancer(lb.name, lb.arn, lb.slot >= 0, lb.capacity > 0, foreign, lost or {}, lb.capacity)


def _port_tags(cluster: str, owner: str, entry: Entry) -> Mapping[str, str]:
    return port_tags(cluster, entry, owner)


def _stock_tags(cluster: str, pool: str, place: Place) -> Mapping[str, str]:
    return stock_tags(cluster, pool, *place)


def place_of(key: str) -> Place:
    """The load balancer and port of `lb:port`."""
    lb, _, port = key.rpartition(":")
    return lb, int(port)


def _stale_target_group(difference: str) -> str | None:
    """The target group in the id of a difference about a stale target, None for any other."""
    kind, _, _, arn, *_ = difference.split("|")
    return arn if kind == DifferenceKind.STALE_TARGET else None


def _registered(driver: LoadBalancerApi, arn: str) -> frozenset[str] | None:
    """The targets of a group, None when the group is gone."""
    try:
        return registered_targets(driver, arn)
    except CloudNotFound:
        return None
