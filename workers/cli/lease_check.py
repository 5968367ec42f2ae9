"""Whether a publisher holds its Lease now, for `doctor`."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any, Final

from domain.kubernetes.objects import KubeObject
from events.kube.api import KubeApi, KubeError, NotFound, path_of
from events.settings import LeaseSettings
from workers.cli.check import Check
from workers.cli.cluster_checks import allowed
from workers.cli.permissions import LEASES, Permission

NAME: Final = "Publisher runs"
START: Final = "start it (`berthmaster publisher`)"


def lease_checks(kube: KubeApi, settings: LeaseSettings) -> Iterator[Check]:
    """Check the Lease. Nothing while the API does not answer: another check reports that."""
    place = f"Lease {settings.namespace}/{settings.name}"
    permission = Permission("berthmaster-publisher", "get", LEASES, "leases", settings.namespace, settings.name)
    try:
        if not allowed(kube, permission):  # asked first, as a refused request would be in the audit log
            out = "the publisher's account may: `berthmaster doctor --for publisher` in its pod"
            yield Check(NAME, ok=True, finding=f"unknown, as this account may not read the {place}; {out}")
            return
        group = f"/apis/{LEASES}/v1"
        lease = kube.get(path_of(group, "namespaces", settings.namespace, "leases", settings.name))
    except NotFound:
        where = "if it has another namespace, name that in BERTHMASTER_PUBLISHER__LEASE__NAMESPACE"
        yield Check(NAME, ok=True, finding=f"there is no {place}: {START}; {where}", warns=True)
    except KubeError:
        return
    else:
        yield judge_lease(KubeObject(lease).spec, place, kube.clock.now())


def judge_lease(spec: dict[str, Any], place: str, now: datetime) -> Check:
    """Judge the spec of the Lease. `now`: the time of the API server."""
    holder, renewed = spec.get("holderIdentity"), spec.get("renewTime")
    if not holder or not renewed:
        return Check(NAME, ok=False, finding=f"nobody holds the {place}: {START}")
    silence = now - datetime.fromisoformat(renewed)
    since = f"{holder} renewed the {place} {max(silence.total_seconds(), 0):.0f} s ago"
    ok = silence <= timedelta(seconds=int(spec.get("leaseDurationSeconds") or 0))
    return Check(NAME, ok, since if ok else f"{since}, and not since: {START}")
