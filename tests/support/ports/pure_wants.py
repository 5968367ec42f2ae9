"""What a pod asks for and shows, and a plain first fit for it, as PureWorld sees them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import timedelta

from domain.kubernetes.names import ENDPOINTS, PORTS_MESSAGE, PORTS_RETAIN, PORTS_STATE
from domain.ports.holding import Id
from domain.ports.pod import Outputs, PodView, readiness
from domain.ports.request import RequestError, wants_of
from domain.ports.retain_annotation import retention
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


def common_fit(wants: Sequence[Want], free: Mapping[str, list[Id]], port: int = 0) -> dict[Id, str]:
    """Place -> key for wants that begin at one port in all their pools: the lowest, or just `port`; {} if none is."""
    numbers = [port] if port else sorted({number for places in free.values() for _, _, number in places})
    for number in numbers:
        found = [first_fit([want], free[want.pool], number) for want in wants]
        if all(found):
            return {place: key for each in found if each for place, key in each.items()}
    return {}


def request(pod: PodView | None, default: str) -> tuple[tuple[Want, ...], int, str]:
    """The wants of a pod and its retention in seconds, or what is wrong with them."""
    if not pod or not pod.wants_ports:
        return (), 0, ""
    try:
        wants = wants_of(pod, default)
        return wants, retention(pod.annotations.get(PORTS_RETAIN), timedelta(days=1)), ""
    except RequestError as error:
        return (), 0, str(error)


def with_outputs(pod: PodView, outputs: Outputs, version: int) -> PodView:
    written = {PORTS_STATE: outputs.state, ENDPOINTS: outputs.endpoints, PORTS_MESSAGE: outputs.message}
    kept = {key: value for key, value in pod.annotations.items() if key not in written}
    gate = None if pod.gate is None else readiness(outputs)
    shown = {key: value for key, value in written.items() if value}
    return replace(pod, version=version, annotations=kept | shown, gate=gate)
