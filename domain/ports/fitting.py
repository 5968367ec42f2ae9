"""Fits a request to the pools that it names, or says why one of them can never serve it.

A pool that gives whole segments gives more ports than were asked for. A request that is refused here would wait for
ever, so it takes no port and creates no load balancer.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import replace

from domain.kubernetes.names import CERTIFICATE
from domain.port_pools.port_pool import PortPoolSpec
from domain.ports.holding import ByKey, complete_ranges
from domain.ports.pod import PodView
from domain.ports.precreate import precreate_shortfall
from domain.ports.request import RequestError, refuse_too_many
from domain.ports.same_port import range_conflict, same_port_groups
from domain.ports.want import Protocol, Want


def fit_to_pools(
    wants: Iterable[Want], specs: Mapping[str, PortPoolSpec], pod: PodView, held: ByKey | None = None
) -> tuple[Want, ...]:
    """The wants as the pools of `specs` give them; wants of other pools stay as they are. Raises RequestError.

    Limits are for ports that are still to be taken: a pod that holds all that it asks for keeps it, whatever limit was
    set later.
    """
    fitted = tuple(widen_to_segment(w, specs[w.pool].segment_length) if w.pool in specs else w for w in wants)
    refuse_too_many(fitted)
    if held and all(complete_ranges(want, held) for want in fitted):
        return fitted
    for want in fitted:
        if want.protocol is Protocol.TLS and want.pool in specs:
            _refuse_without_certificate(want, specs[want.pool], pod.certificate)
    for pool, spec in sorted(specs.items()):
        asked = [want for want in fitted if want.pool == pool]
        if asked and (why := precreate_shortfall(spec, asked) or spec.unsatisfiable([want.ports for want in asked])):
            raise RequestError(f"pool {pool}: {why}")
    for group in same_port_groups(fitted) if pod.same_port else ():
        if why := range_conflict(group, specs):
            raise RequestError(why)
    return fitted


def widen_to_segment(want: Want, segment: int) -> Want:
    """The want rounded up to whole segments: its container ports go on past its end. Raises RequestError."""
    if segment == 1:
        return want
    end = want.port + math.ceil(want.ports / segment) * segment - 1
    if end > 65535:
        raise RequestError(
            f"pool {want.pool} gives {segment} ports at a time: container ports {want.port}-{end} go beyond 65535"
        )
    return replace(want, end=end)


def _refuse_without_certificate(want: Want, spec: PortPoolSpec, certificate: str | None) -> None:
    """Refuse what the pool does not list, because a pod's author could serve any certificate of the cloud account."""
    provider = spec.provider
    if certificate and not re.fullmatch(provider.certificate, certificate):
        raise RequestError(f"{CERTIFICATE} is not {provider.certificate_words}: {certificate[:80]!r}")
    if spec.certificate_for(certificate):
        return
    if certificate:
        raise RequestError(certificate_refusal(want.pool, certificate))
    raise RequestError(
        f"{want.names[0][0]} asks for TLS and there is no certificate: the pod has no annotation {CERTIFICATE}"
        f" and pool {want.pool} no certificateArn"
    )


def certificate_refusal(pool: str, certificate: str) -> str:
    """The message for a pod that names a certificate which the pool does not list."""
    return (
        f"{CERTIFICATE}: pool {pool} does not permit {certificate}: list it in the pool's allowedCertificates, or take"
        " the annotation off for the pool's own certificateArn"
    )
