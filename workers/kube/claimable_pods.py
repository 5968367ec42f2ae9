"""Pods of pools as claims see them, and the labels that say whose they are."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any, Final

import orjson

from berthmaster.kinds import POD_POOL
from berthmaster.names import is_name
from domain.claims.additions import Additions, additions
from domain.claims.labels import proper_key, proper_value
from domain.claims.pod import USED, ClaimablePod, Phase
from domain.kubernetes.names import (
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
    PREFIX,
    REVISION,
    SESSIONS,
    TOUCHED,
)
from domain.kubernetes.objects import READY, KubeObject, Pod
from events.kube.api import KubeApi, NotFound
from workers.kube.conditional_writes import patch_if_unchanged
from workers.kube.pods import pod_path, pods_path

Json = dict[str, Any]
PHASES: Final = frozenset(phase.value for phase in Phase)
CHANGES: Final = ("PodResizePending", "PodResizeInProgress")
OVERDUE: Final = timedelta(seconds=30)
"""A pod that exists so long after its grace period is on a node that does not answer."""


def claimable(pod: Pod, now: datetime) -> ClaimablePod:
    """Return the pod as claims read it. A pod that no pool created is free for nobody, whatever its labels say.

    A pod without its label `pool` still belongs to its claim, and is free for nobody.
    """
    labels, pool = pod.labels, pool_of(pod)
    recognised = pool and (labels.get(POOL) == pool or CLAIMED_BY in labels)
    return ClaimablePod(
        name=pod.name,
        uid=pod.uid,
        pool=pool or (label if is_name(label := labels.get(POOL)) else ""),
        revision=labels.get(REVISION, ""),
        phase=phase_of(labels) if recognised else Phase.UNKNOWN,
        created=pod.created,
        claimed_by=labels.get(CLAIMED_BY, "") if recognised else "",
        owner=labels.get(OWNER, ""),
        last_owner=labels.get(LAST_OWNER, ""),
        alive=_alive(pod, now),
        normal=pod.ready and not _changes(pod),
        cordoned=pod.annotations.get(CORDON) == "true",
        terminating=pod.deleting,
        labels=labels,
    )


def pool_of(pod: KubeObject) -> str:
    """Return the pool that created the pod, '' for none. Labels alone prove nothing: anybody may have written them."""
    makers, label = [name for name in pod.owners_of(POD_POOL.name) if is_name(name)], pod.labels.get(POOL)
    return str(label) if label in makers else next(iter(makers), "")


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

    def hold(self, pod: Pod, wanted: Mapping[str, str], added: Mapping[str, str], token: str) -> Pod:
        """Make the pod Bound, with exactly these labels of ours and the `added` ones (see additions_to).

        Raises Conflict or NotFound. The pod gets a new version in any case, so that writes decided from an older one
        conflict.
        """
        before = _before(pod, added)
        ours: Json = dict.fromkeys((CLAIMED_BY, OWNER, LAST_OWNER, CLAIM_SET)) | dict(wanted)
        labels = ours | _restored(pod) | dict(added) | of_its_pool(pod) | {PHASE: Phase.BOUND.value}
        added_text = orjson.dumps(before, option=orjson.OPT_SORT_KEYS).decode() if before else None
        notes: Json = {ADDED_LABELS: added_text, TOUCHED: token, GIVEN_BACK: None, DRAIN: None, SESSIONS: None}
        return self.write(pod, labels, notes)

    def release(self, pod: Pod, phase: Phase, drain: str) -> Pod:
        """Remove everything of the owner but its name as the last owner. Raises Conflict or NotFound."""
        ours: Json = {PHASE: phase.value, CLAIMED_BY: None, OWNER: None, CLAIM_SET: None}
        ours[LAST_OWNER] = pod.labels.get(OWNER)
        notes: Json = {ADDED_LABELS: None, GIVEN_BACK: drain, DRAIN: None, SESSIONS: None}
        return self.write(pod, _restored(pod) | of_its_pool(pod) | ours, notes)

    def write(self, pod: Pod, labels: Json, annotations: Json) -> Pod:
        """Write labels and annotations; None removes one. Raises Conflict or NotFound."""
        path, metadata = pod_path(self._namespace, pod.name), {"labels": labels, "annotations": annotations}
        return Pod(patch_if_unchanged(self._kube, path, pod.precondition, metadata))


def added_labels(pod: Pod) -> dict[str, str | None]:
    """Return the labels that the claim set -> their values before, None for none.

    Others may have written the record: what is no label, or one of ours, is left out.
    """
    text = pod.annotations.get(ADDED_LABELS)
    try:
        added = orjson.loads(text) if text else {}
    except orjson.JSONDecodeError:
        return {}
    items = added.items() if isinstance(added, dict) else ()
    return {key: was for key, was in items if _others(key) and (was is None or proper_value(was))}


def additions_to(pod: Pod, asked: Mapping[str, str]) -> Additions:
    """Split the labels that the pod's claim asks for into those that the pod gets and those that it does not."""
    before, labels = added_labels(pod), pod.labels
    kept = {key for key in labels if key not in before}
    return additions(asked, kept | {key for key, was in before.items() if was is not None})


def _others(key: str) -> bool:
    return proper_key(key) and not key.startswith(PREFIX)


def _restored(pod: Pod) -> Json:
    return dict(added_labels(pod))


def _before(pod: Pod, added: Mapping[str, str]) -> dict[str, str | None]:
    """Return the values that the labels had before any claim set them."""
    labels, before = pod.labels, added_labels(pod)
    return {key: before[key] if key in before else labels.get(key) for key in added}
