"""One port number in several pools: what `berthmaster.dev/same-port-across-pools` asks for.

No script spans the ledgers of two pools. So the worker reads the free ports of each, a port that all have is chosen
here, and the worker takes it in pool after pool. It gives back what it took when a pool refuses.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping

from domain.port_pools.port_pool import PortPoolSpec
from domain.ports.entry import EntryState
from domain.ports.holding import ByKey, EntryId, complete_ranges
from domain.ports.precreate import LISTENER_PROTOCOL, ports_of
from domain.ports.want import Want

Group = tuple[Want, ...]
"""Wants of different pools that serve one entry of the annotation."""


def same_port_groups(wants: Iterable[Want]) -> tuple[Group, ...]:
    """Groups of wants that share an entry, so that they must have the same port. A want alone is in no group."""
    groups = list[list[Want]]()
    for want in wants:
        names = set(want.names)
        same = [group for group in groups if any(names & set(other.names) for other in group)]
        merged = [other for group in same for other in group] + [want]
        groups = [group for group in groups if group not in same] + [merged]
    return tuple(tuple(group) for group in groups if len(group) > 1)


def unused_ids(groups: Iterable[Group], held: ByKey, available: ByKey, published: Collection[EntryId]) -> set[EntryId]:
    """Unused entries of incomplete groups, to be given back because the group may need another port.

    `available`: the entries that the pod holds or can inherit.
    """
    incomplete = [group for group in groups if not all(complete_ranges(want, available) for want in group)]
    keys = ((want.pool, key) for group in incomplete for want in group for key in want.keys)
    entries = (entry for pool_and_key in keys for entry in held.get(pool_and_key, ()))
    return {e.id for e in entries if e.id not in published or e.state is not EntryState.BOUND}


def settled_port(group: Group, held: ByKey) -> int:
    """The port that the group has already in some pool, 0 for none."""
    ranges = (entries for want in group for entries in complete_ranges(want, held))
    return next((entries[0].port for entries in ranges), 0)


def first_ports(spec: PortPoolSpec, want: Want) -> range:
    """The ports where a want may begin: in the pool's range, or in the part precreated for its protocol."""
    protocol = LISTENER_PROTOCOL.get(want.protocol, want.protocol)
    span = ports_of(spec).get(protocol, range(0)) if spec.precreate.total else spec.ports
    return range(span.start, span.stop - want.ports + 1, spec.segment_length)


def free_ports_mask(spec: PortPoolSpec, want: Want, taken: Iterable[bytes]) -> int:
    """The ports where as many free ports begin as the want asks for: bit n is set for port n.

    `taken`: the ports in use of each load balancer with room; bit 0 of the first byte is the pool's first port.
    """
    starts, size = 0, len(spec.ports)
    for bits in taken:
        ranges = free = ((1 << size) - 1) & ~int.from_bytes(bits, "little")
        for offset in range(1, want.ports):
            ranges &= free >> offset
        starts |= ranges
    return starts << spec.start_port & ports_mask(first_ports(spec, want))


def ports_mask(ports: range) -> int:
    """A number with bit n set for each port n."""
    if not ports:
        return 0
    width = ports.step * len(ports)
    every_step = ((1 << width) - 1) // ((1 << ports.step) - 1)
    return every_step << ports.start


def common_ports(masks: Iterable[int]) -> Iterator[int]:
    """The ports that are in all masks, the lowest first."""
    common = -1
    for mask in masks:
        common &= mask
    while common > 0:
        lowest = common & -common
        yield lowest.bit_length() - 1
        common ^= lowest


def range_conflict(group: Group, specs: Mapping[str, PortPoolSpec]) -> str | None:
    """Why the ranges of the pools have no port for a group, None when they have one."""
    wants = [want for want in group if want.pool in specs]
    if not wants or any(common_ports(ports_mask(first_ports(specs[want.pool], want)) for want in wants)):
        return None
    ranges = ", ".join(f"{w.pool} {specs[w.pool].start_port}-{specs[w.pool].end_port}" for w in wants)
    return f"{group[0].names[0][0]} asks for the same port in pools that have none in common: {ranges}"


def pools_to_grow(masks: Mapping[str, int], growing: Collection[str]) -> frozenset[str]:
    """The pools that must grow for a common port: those without a free port, else the one that has fewest and can."""
    empty = frozenset(pool for pool, mask in masks.items() if not mask)
    fewest_first = sorted((mask.bit_count(), pool) for pool, mask in masks.items() if pool in growing)
    return empty or frozenset(pool for _, pool in fewest_first[:1])
