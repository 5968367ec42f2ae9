"""The pages of a claim and a claim set, from their snapshots, what their statuses say, and the event stream."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from berthmaster.routing import pod_claim_key, pod_claim_set_key
from domain.visible import visible_line
from workers.fleet_pages.document import Document, line, page_of
from workers.fleet_pages.port_documents import history
from workers.fleet_pages.readers import FleetReaders
from workers.stores.claims.index import PHASES
from workers.stores.claims.shown import ShownClaim, shown_claims

CONDITIONS: Final = ("condition", "status", "reason", "message")
ENDPOINTS: Final = ("name", "address", "protocol", "status")
MEMBERS: Final = ("claim", "phase", "pod", "endpoints", "why not bound")


def claim(readers: FleetReaders, namespace: str, name: str) -> Document | None:
    """Return the page of a claim, None if there is no such claim."""
    key = pod_claim_key(namespace, name)
    snapshot, phase = readers.snapshot(key), _phase(readers, f"{namespace}/{name}")
    if snapshot is None and phase is None:
        return None
    body = snapshot.body if snapshot else {}
    spec: dict[str, Any] = body.get("spec") or {}
    (shown,) = shown_claims(readers.redis, [f"{namespace}/{name}"])
    document = Document(f"Claim {namespace}/{name}")
    document.fact("phase", phase or "no worker has reconciled it yet")
    if pod := shown.pod or spec.get("podName"):
        document.facts.append(("pod", page_of("pod", f"{namespace}/{pod}", pod)))
    document.fact("addresses", *shown.ips)
    document.fact("node", shown.node or spec.get("nodeName"))
    document.fact("owner", spec.get("ownerName"))
    document.fact("created", body.get("created"))
    document.fact("expires", shown.expires)
    document.fact("is being deleted", "yes" if body.get("deleting") else None)
    document.table("Endpoints", ENDPOINTS, [list(map(line, endpoint)) for endpoint in shown.endpoints])
    document.table("Conditions", CONDITIONS, [list(map(line, condition)) for condition in shown.conditions])
    document.table("Spec", ("field", "value"), sorted(_fields(spec)))
    history(readers, document, key)
    return document


def claim_set(readers: FleetReaders, namespace: str, name: str) -> Document | None:
    """Return the page of a claim set, None if there is no such set."""
    key = pod_claim_set_key(namespace, name)
    snapshot = readers.snapshot(key)
    if snapshot is None:
        return None
    spec = snapshot.body.get("spec") or {}
    members = list(_members(readers, f"{namespace}/{name}-", str(snapshot.body.get("uid"))))
    document = Document(f"Claim set {namespace}/{name}")
    document.fact("claims wanted", spec.get("replicas"))
    document.fact("claims present", len(members))
    document.fact("created", snapshot.body.get("created"))
    document.fact("is being deleted", "yes" if snapshot.body.get("deleting") else None)
    rows = [
        (
            page_of("podclaim", member, member.partition("/")[2]),
            line(phase),
            page_of("pod", f"{namespace}/{shown.pod}", shown.pod) if shown.pod else "-",
            line(", ".join(address for _, address, *_ in shown.endpoints) or "-"),
            line(_why_not_bound(shown) or "-"),
        )
        for member, phase, shown in members
    ]
    document.table("Claims", MEMBERS, rows)
    document.table("Spec", ("field", "value"), sorted(_fields(spec)))
    history(readers, document, key)
    return document


def _members(readers: FleetReaders, prefix: str, uid: str) -> Iterator[tuple[str, str, ShownClaim]]:
    """Yield name, phase and status of each claim of the set with this UID. Their names begin with the set's."""
    phases: Any = readers.redis.hgetall(PHASES)
    names = sorted(name.decode() for name in phases if name.startswith(prefix.encode()))
    for name, shown in zip(names, shown_claims(readers.redis, names), strict=True):
        if shown.claim_set == uid:
            yield name, phases[name.encode()].decode(), shown


def _why_not_bound(shown: ShownClaim) -> str | None:
    """Return why the claim has no pod, or its spec is invalid, in the words of its status."""
    faults = (c for c in shown.conditions if c[0] in ("Valid", "Bound") and c[1] == "False")
    return next((message or reason for _, _, reason, message in faults), None)


def _phase(readers: FleetReaders, name: str) -> str | None:
    stored: Any = readers.redis.hget(PHASES, name)
    return stored.decode() if stored else None


def _fields(value: Any, path: str = "") -> Iterator[tuple[str, str]]:
    """Yield the fields of a spec with their paths."""
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from _fields(inner, f"{path}.{name}" if path else str(name))
    elif isinstance(value, list):
        yield visible_line(path), line(", ".join(map(str, value)))
    elif value not in (None, ""):
        yield visible_line(path), line(value)
