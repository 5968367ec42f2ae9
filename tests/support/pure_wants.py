"""What a pod asks for, and a plain first fit for it, as PureWorld sees them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

from domain.ports.holding import Id
from domain.ports.pod import PORTS, RETAIN, PodView
from domain.ports.request import RequestError, parse_ports
from domain.ports.retention import retention
from domain.ports.want import Want


def first_fit(wants: Sequence[Want], free: list[Id], first: int = 0) -> dict[Id, str] | None:
    """Place -> key for every want, the runs first, or None; `first` is where each must begin, 0 = anywhere."""
    found = dict[Id, str]()
    for want in sorted(wants, key=lambda want: want.ports, reverse=True):
        rows = ([(pool, lb, port + n) for n in range(want.ports)] for pool, lb, port in free if first in (0, port))
        row = next((row for row in rows if all(place in free and place not in found for place in row)), None)
        if row is None:
            return None
        found |= dict(zip(row, want.keys, strict=True))
    return found


def request(pod: PodView | None, default: str) -> tuple[tuple[Want, ...], int, str]:
    """The wants of a pod and its retention in seconds, or what is wrong with them."""
    if not pod or not pod.wants_ports:
        return (), 0, ""
    try:
        wants = parse_ports(pod.annotations[PORTS], default)
        return wants, retention(pod.annotations.get(RETAIN), timedelta(days=1)), ""
    except RequestError as error:
        return (), 0, str(error)
