"""One port number in several pools: what `berthmaster.dev/same-port-across-pools` asks of the entries of a pod.

No script spans the ledgers of two pools. So the free ports of each are read, a number that all have is chosen here, and
then it is taken in pool after pool; what was taken is given back when one refuses.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping

from domain.port_pools.port_pool import PortPoolSpec
from domain.ports.entry import Entry, EntryState
from domain.ports.holding import ByKey, Id, whole
from domain.ports.precreate import SERVES, ports_of
from domain.ports.want import Want

Group = tuple[Want, ...]
"""Wants of different pools that serve an entry together."""


def groups(wants: Iterable[Want]) -> tuple[Group, ...]:
    """The wants that must have the same number: those that share an entry. One of a single pool is in none."""
    found = list[list[Want]]()
    for want in wants:
        names = set(want.names)
        same = [group for group in found if any(names & set(other.names) for other in group)]
        found = [group for group in found if group not in same] + [[w for group in same for w in group] + [want]]
    return tuple(tuple(group) for group in found if len(group) > 1)


def unseen(tied: Iterable[Group], held: ByKey, coming: ByKey, shown: Collection[Id]) -> set[Id]:
    """What the groups that are not complete hold and nobody uses: another number may be needed.

    `coming`: what is held, and what the pod takes over from one that had its name.
    """
    broken = [want for group in tied if not all(whole(w, coming) for w in group) for want in group]
    entries = (e for want in broken for key in want.keys for e in held.get((want.pool, key), ()))
    return {e.id for e in entries if e.id not in shown or e.state is not EntryState.BOUND}


def settled_port(group: Group, held: ByKey) -> int:
    """The number that the group has already in some pool, 0 for none."""
    runs: Iterator[list[list[Entry]]] = ([list(run) for run in whole(want, held)] for want in group)
    return next((found[0][0].port for found in runs if found), 0)


def firsts(spec: PortPoolSpec, want: Want) -> range:
    """Where the ports of a want may begin: in the pool's range or, if that is precreated, in that of its protocol."""
    protocol = SERVES.get(want.protocol, want.protocol)
    span = ports_of(spec).get(protocol, range(0)) if spec.precreate.total else spec.ports
    return range(span.start, span.stop - want.ports + 1, spec.segment_length)


def free(spec: PortPoolSpec, want: Want, taken: Iterable[bytes]) -> int:
    """The numbers where as many free ports begin as the want asks for, as the bits of a number.

    `taken`: of each load balancer with room the ports in use, bit 0 of the first byte for the pool's first port.
    """
    found, size = 0, len(spec.ports)
    for bits in taken:
        rows = alone = ((1 << size) - 1) & ~int.from_bytes(bits, "little")
        for further in range(1, want.ports):
            rows &= alone >> further
        found |= rows
    return found << spec.start_port & mask(firsts(spec, want))


def mask(numbers: range) -> int:
    """The bits of these numbers."""
    if not numbers:
        return 0
    width = numbers.step * len(numbers)
    each = ((1 << width) - 1) // ((1 << numbers.step) - 1)
    return each << numbers.start


def in_common(masks: Iterable[int]) -> Iterator[int]:
    """The numbers that are in all of these, the lowest first."""
    left = -1
    for bits in masks:
        left &= bits
    while left > 0:
        lowest = left & -left
        yield lowest.bit_length() - 1
        left ^= lowest


def never_in_common(group: Group, specs: Mapping[str, PortPoolSpec]) -> str | None:
    """Why the ranges of the pools have no number for a group, None when they have."""
    known = [want for want in group if want.pool in specs]
    if not known or any(in_common(mask(firsts(specs[want.pool], want)) for want in known)):
        return None
    ranges = ", ".join(f"{w.pool} {specs[w.pool].start_port}-{specs[w.pool].end_port}" for w in known)
    return f"{group[0].names[0][0]} asks for the same port in pools that have none in common: {ranges}"


def shortest(masks: Mapping[str, int], growing: Collection[str]) -> frozenset[str]:
    """The pools that must grow for a number in common: those without any, else of those that can, one of the fewest."""
    empty = frozenset(pool for pool, bits in masks.items() if not bits)
    fewest = sorted((bits.bit_count(), pool) for pool, bits in masks.items() if pool in growing)
    return empty or frozenset(pool for _, pool in fewest[:1])
