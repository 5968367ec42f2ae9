"""Pods of pools as claims read them, and the labels that say whose a pod is."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any, Final

import orjson

from berthmaster.claims.answer import ClaimEndpoint
from berthmaster.kinds import POD_POOL
from berthmaster.names import is_name
from domain.claims.additions import Additions, AllowedKeys, Metadata, additions
from domain.claims.address import PodAddress
from domain.claims.labels import proper_key, proper_value
from domain.claims.pod import USED, Phase, PoolPod
from domain.claims.pod_request import PodTraits
from domain.kubernetes.names import (
    ADDED_ANNOTATIONS,
    ADDED_LABELS,
    CLAIM_SET,
    CLAIMED_BY,
    CORDON,
    DRAIN,
    GIVEN_BACK,
    LAST_OWNER,
    OWNER,
    PHASE,
    POOL,
    PORTS,
    PREFIX,
    REVISION,
    SESSIONS,
    TOUCHED,
)
from domain.kubernetes.objects import READY, KubeObject, Pod, body_of
from domain.pod_pools.protection import concerned_by, protection, set_by_us
from domain.ports.endpoints import Endpoint, parse_endpoints
from domain.ports.pod import PodView, PortsState
from events.kube.api import KubeApi, NotFound
from events.protocol.schemas import pod_snapshot
from workers.kube.conditional_writes import patch_if_unchanged
from workers.kube.pods import pod_path, pods_path

Json = dict[str, Any]
PHASES: Final = frozenset(phase.value for phase in Phase)
CHANGES: Final = ("PodResizePending", "PodResizeInProgress")
RECORDS: Final = frozenset({ADDED_LABELS, ADDED_ANNOTATIONS})
OVERDUE: Final = timedelta(seconds=30)
"""A pod that exists so long after its grace period is on a node that does not answer."""


def pool_pod(pod: Pod, now: datetime) -> PoolPod:
    """Return the pod as claims read it. A pod that no pool created is free for nobody, whatever its labels say.

    A pod without its label `pool` still belongs to its claim, and is free for nobody. `now` is the API server's time.
    """
    labels, pool = pod.labels, pool_of(pod)
    recognised = pool and (labels.get(POOL) == pool or CLAIMED_BY in labels)
    return PoolPod(
        name=pod.name,
        uid=pod.uid,
        traits=PodTraits.of(pool or (label if is_name(label := labels.get(POOL)) else None), pod),
        revision=labels.get(REVISION) or None,
        phase=phase_of(labels) if recognised else Phase.UNKNOWN,
        created=pod.created,
        claimed_by=(labels.get(CLAIMED_BY) or None) if recognised else None,
        owner=labels.get(OWNER) or None,
        last_owner=labels.get(LAST_OWNER) or None,
        alive=_alive(pod, now),
        normal=pod.ready and not _changes(pod),
        cordoned=pod.annotations.get(CORDON) == "true",
        terminating=pod.deleting,
        lacks_ports=PORTS in pod.annotations and _missing_ports(_ports_view(pod)) is not None,
        protection=concerned_by(pod.annotations),
        version=None if {ADDED_LABELS, ADDED_ANNOTATIONS} & pod.annotations.keys() else pod.resource_version,
    )


def pod_address(pod: Pod) -> PodAddress:
    """Return where the pod is reached. Its author may write any endpoints: a text that is not ours has none."""
    view = _ports_view(pod)
    endpoints = tuple(map(_endpoint, parse_endpoints(view.outputs.endpoints)))
    return PodAddress(view.ips, pod.node, endpoints, asks=view.opted_in, missing=_missing_ports(view))


def _ports_view(pod: Pod) -> PodView:
    return PodView.from_snapshot(pod.version, pod_snapshot(pod.raw))


def _missing_ports(view: PodView) -> str | None:
    """Say why the pod has not all the ports that it asks for. The text stays the same while the pod just waits."""
    state, message = view.outputs.state, view.outputs.message
    if not view.opted_in or state == PortsState.BOUND:
        return None
    stands = view.outputs.denies_ports or state in (PortsState.FAILED, PortsState.DISABLED)
    return f"pod {view.name} has not its ports" + (
        f" ({state}): {message or 'no reason is given'}" if stands else " yet"
    )


def _endpoint(endpoint: Endpoint) -> ClaimEndpoint:
    return ClaimEndpoint(
        name=endpoint.name,
        container_port=endpoint.container_port,
        protocol=endpoint.protocol,
        pool=endpoint.pool,
        load_balancer=endpoint.lb,
        host=endpoint.host,
        port=endpoint.port,
        end_port=endpoint.end_port,
        address=f"{endpoint.host}:{endpoint.port}",
        status="Ready" if endpoint.target else "NotReady",
    )


def pool_of(pod: KubeObject) -> str | None:
    """Return the pool that created the pod, None for none. Labels prove nothing: anybody may have written them."""
    makers, label = [name for name in pod.owners_of(POD_POOL.name) if is_name(name)], pod.labels.get(POOL)
    return str(label) if label in makers else next(iter(makers), None)


def of_its_pool(pod: Pod) -> dict[str, str]:
    """Return the label by which the pool finds the pod."""
    pool = pool_of(pod)
    return {POOL: pool} if pool else {}


def phase_of(labels: Mapping[str, str]) -> Phase:
    """Return the phase. Any other text is Unknown: nobody may have such a pod."""
    phase = labels.get(PHASE, "")
    return Phase(phase) if phase in PHASES else Phase.UNKNOWN


def held(pod: Pod) -> bool:
    """Tell whether a claim has the pod, or had it."""
    return bool(pod.labels.get(CLAIMED_BY)) or phase_of(pod.labels) in USED


def _alive(pod: Pod, now: datetime) -> bool:
    """Tell whether the pod is of use: neither Failed nor Succeeded, nor on a node that does not answer."""
    if pod.phase not in ("Pending", "Running") or pod.status.get("reason") == "NodeLost":
        return False
    ends = pod.deletion
    overdue = ends is not None and now - ends > OVERDUE
    return not overdue and pod.condition(READY) != "Unknown"


def _changes(pod: Pod) -> bool:
    """Tell whether the kubelet has not yet carried out the newest spec."""
    observed: int = pod.status.get("observedGeneration") or pod.generation
    behind = observed < pod.generation
    return behind or any(pod.condition(kind) == "True" for kind in CHANGES)


class ClaimPods:
    """The pods of one namespace. Each write is conditional on the version that was read."""

    def __init__(self, kube: KubeApi, namespace: str) -> None:
        self._kube, self._namespace = kube, namespace

    def read(self, name: str) -> Pod | None:
        """Read a pod. None: the API server says that there is no such pod."""
        try:
            return Pod(self._kube.get(pod_path(self._namespace, name)))
        except NotFound:
            return None

    def labelled(self, uid: str) -> list[Pod]:
        """List the pods that carry the claim's label."""
        path = pods_path(self._namespace)
        return [Pod(pod) for pod in self._kube.list(path, labelSelector=f"{CLAIMED_BY}={uid}")["items"]]

    def hold(self, pod: Pod, wanted: Mapping[str, str], added: Metadata, token: str, *, protects: bool = False) -> Pod:
        """Make the pod Bound, with exactly these labels of ours and what a claim `added` (see additions_to).

        `protects`: the pod is protected by the same write. Otherwise the protection stays as it is.

        Raises Conflict or NotFound. The pod gets a new version in any case, so that writes decided from an older one
        conflict.
        """
        before = _before(pod, added.labels)
        ours: Json = dict.fromkeys((CLAIMED_BY, OWNER, LAST_OWNER, CLAIM_SET)) | dict(wanted)
        labels = ours | dict(added_labels(pod)) | dict(added.labels) | of_its_pool(pod) | {PHASE: Phase.BOUND.value}
        notes: Json = dict.fromkeys(added_annotations(pod)) | dict(added.annotations)
        records = {ADDED_LABELS: _record(before), ADDED_ANNOTATIONS: _record(dict.fromkeys(added.annotations))}
        notes |= {record: text for record, text in records.items() if record not in unreadable_records(pod)}
        if protects:
            change = protection(pod.annotations, added.annotations)
            labels, notes = labels | change.labels, notes | change.annotations
        return self.write(pod, labels, notes | {TOUCHED: token, GIVEN_BACK: None, DRAIN: None, SESSIONS: None})

    def give_back(self, pod: Pod, phase: Phase, drain: str) -> Pod:
        """Remove everything of the owner but its name as the last owner. Raises Conflict or NotFound."""
        ours: Json = {PHASE: phase.value, CLAIMED_BY: None, OWNER: None, CLAIM_SET: None}
        ours[LAST_OWNER] = pod.labels.get(OWNER)
        records = RECORDS - unreadable_records(pod)
        notes: Json = dict.fromkeys((*added_annotations(pod), *sorted(records), DRAIN, SESSIONS))
        labels = dict(added_labels(pod)) | of_its_pool(pod) | ours
        return self.write(pod, labels, notes | {GIVEN_BACK: drain})

    def hold_unread(self, pod: PoolPod, wanted: Mapping[str, str], token: str, *, protects: bool = False) -> Pod:
        """As `hold`, of a free pod that is known only as its pool's run knew it, with no `added` labels.

        Its version must be known, so that a pod that is not free any more conflicts.
        """
        metadata: Json = {"namespace": self._namespace, "name": pod.name, "uid": pod.uid}
        metadata |= {"resourceVersion": pod.version, "annotations": dict(pod.protection)}
        return self.hold(Pod(body_of(metadata)), wanted, Metadata(), token, protects=protects)

    def write(self, pod: Pod, labels: Json, annotations: Json) -> Pod:
        """Write labels and annotations; None removes one. Raises Conflict or NotFound."""
        path, metadata = pod_path(self._namespace, pod.name), {"labels": labels, "annotations": annotations}
        return Pod(patch_if_unchanged(self._kube, path, pod.precondition, metadata))


def added_labels(pod: Pod) -> dict[str, str | None]:
    """Return the labels that the claim set -> their values before, None for none.

    Others may have written the record: what is no label, or one of ours, is left out.
    """
    return _recorded(pod, ADDED_LABELS)


def added_annotations(pod: Pod) -> frozenset[str]:
    """Return the keys of the annotations that the claim set. Others may have written the record, as of labels."""
    return frozenset(_recorded(pod, ADDED_ANNOTATIONS))


def additions_to(pod: Pod, asked: Metadata, allowed: AllowedKeys) -> Additions:
    """Split what the pod's claim asks for into what the pod gets and what it does not."""
    before, notes, set_before = added_labels(pod), pod.annotations, added_annotations(pod)
    kept = {key: value for key, value in pod.labels.items() if key not in before}
    labels = kept | {key: was for key, was in before.items() if was is not None}
    own = Metadata(labels, {key: value for key, value in notes.items() if key not in {*set_before, *set_by_us(notes)}})
    return additions(asked, own, allowed)


def unreadable_records(pod: Pod) -> frozenset[str]:
    """Return the records of what claims set that nobody can read, because others have written them.

    They stay: what claims set is on the pod for good, so no other claim may have the pod.
    """
    return frozenset(record for record in RECORDS if _parsed(pod, record) is None)


def _recorded(pod: Pod, record: str) -> dict[str, str | None]:
    return _parsed(pod, record) or {}


def _parsed(pod: Pod, record: str) -> dict[str, str | None] | None:
    """Return the entries of others' keys, {} if there is no record, None if it or a value is unreadable."""
    text = pod.annotations.get(record)
    try:
        added = orjson.loads(text) if text else {}
    except orjson.JSONDecodeError:
        return None
    if not isinstance(added, dict):
        return None
    entries = {key: was for key, was in added.items() if _others(key)}
    return entries if all(was is None or proper_value(was) for was in entries.values()) else None


def _others(key: str) -> bool:
    return proper_key(key) and not key.startswith(PREFIX)


def _record(before: Mapping[str, str | None]) -> str | None:
    return orjson.dumps(before, option=orjson.OPT_SORT_KEYS).decode() if before else None


def _before(pod: Pod, added: Mapping[str, str]) -> dict[str, str | None]:
    """Return the values that the labels had before any claim set them."""
    labels, before = pod.labels, added_labels(pod)
    return {key: before[key] if key in before else labels.get(key) for key in added}
