"""What a request becomes in the pools that it names, and why one of them can never serve it.

A pool that gives whole segments gives more ports than were asked for. What is refused here takes no port and creates no
load balancer: it would wait for ever.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Final

from domain.kubernetes.names import CERTIFICATE
from domain.port_pools.load_balancer_spec import CERTIFICATE_ARN
from domain.port_pools.port_pool import PortPoolSpec
from domain.ports.holding import ByKey, whole
from domain.ports.pod import PodView
from domain.ports.precreate import uncovered
from domain.ports.request import RequestError, refuse_too_many
from domain.ports.same_port import groups, never_in_common
from domain.ports.want import Protocol, Want

_CERTIFICATE: Final = re.compile(CERTIFICATE_ARN)


def fitted(
    wants: Iterable[Want], specs: Mapping[str, PortPoolSpec], pod: PodView, held: ByKey | None = None
) -> tuple[Want, ...]:
    """The wants as the pools of `specs` give them; others are as they were. Raises RequestError.

    Limits are for ports that are still to be taken: one that was set later is no fault of who has all that it asks for.
    """
    made = tuple(widened(w, specs[w.pool].segment_length) if w.pool in specs else w for w in wants)
    refuse_too_many(made)
    if held and all(whole(want, held) for want in made):
        return made
    for want in made:
        if want.protocol is Protocol.TLS and want.pool in specs:
            _refuse_without_certificate(want, specs[want.pool], pod.certificate)
    for pool, spec in sorted(specs.items()):
        asked = [want for want in made if want.pool == pool]
        if asked and (why := uncovered(spec, asked) or spec.unsatisfiable([want.ports for want in asked])):
            raise RequestError(f"pool {pool}: {why}")
    for group in groups(made) if pod.same_port else ():
        if why := never_in_common(group, specs):
            raise RequestError(why)
    return made


def widened(want: Want, segment: int) -> Want:
    """Whole segments: the container ports go on where those that were asked for end. Raises RequestError."""
    if segment == 1:
        return want
    end = want.port + math.ceil(want.ports / segment) * segment - 1
    if end > 65535:
        raise RequestError(
            f"pool {want.pool} gives {segment} ports at a time: container ports {want.port}-{end} go beyond 65535"
        )
    return replace(want, end=end)


def _refuse_without_certificate(want: Want, spec: PortPoolSpec, certificate: str) -> None:
    """Without the pool's list a pod's author could serve any certificate of the AWS account."""
    if certificate and not _CERTIFICATE.fullmatch(certificate):
        raise RequestError(f"{CERTIFICATE} is not the ARN of a certificate of ACM or IAM: {certificate[:80]!r}")
    if spec.certificate_for(certificate):
        return
    if certificate:
        raise RequestError(not_permitted(want.pool, certificate))
    raise RequestError(
        f"{want.names[0][0]} asks for TLS and there is no certificate: the pod has no annotation {CERTIFICATE}"
        f" and pool {want.pool} no certificateArn"
    )


def not_permitted(pool: str, certificate: str) -> str:
    """What a pod is told that names a certificate which the pool does not list."""
    return (
        f"{CERTIFICATE}: pool {pool} does not permit {certificate}: list it in the pool's allowedCertificates, or take"
        " the annotation off for the pool's own certificateArn"
    )
