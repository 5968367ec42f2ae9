"""Pods of pools as claims see them, and the labels that say whose they are."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any, Final

import orjson

from berthmaster.kinds import POD_POOL
from berthmaster.names import is_name
from domain.claims.additions import Additions, additions
from domain.claims.labels import (
    ADDED,
    CLAIM_SET,
    CLAIMED_BY,
    CORDON,
    DRAIN,
    GIVEN_BACK,
    LAST_OWNER,
    OWNER,
    PHASE,
    PREFIX,
    SESSIONS,
    TOUCHED,
    proper_key,
    proper_value,
)
from domain.claims.pod import USED, ClaimablePod, Phase
from events.kube.api import KubeApi, NotFound
from workers.kube.pods import pod_path, pods_path
from workers.kube.pool_pods import POOL, REVISION

Json = dict[str, Any]
PHASES: Final = frozenset(phase.value for phase in Phase)
CHANGES: Final = ("PodResizePending", "PodResizeInProgress")
OVERDUE: Final = timedelta(seconds=30)
"""A pod that is there so long after its grace period is on a node that does not answer."""


def claimable(pod: Json, now: datetime) -> ClaimablePod:
    """Of a Pod as the API sends it. One that no pool made is nobody's and free for nobody, whatever its labels say.

    One whose label `pool` was taken off is its claim's all the same, and free for nobody.
    """
    meta, status = pod["metadata"], pod.get("status") or {}
    labels: dict[str, str] = meta.get("labels") or {}
    pool = pool_of(meta)
    known = pool and (labels.get(POOL) == pool or CLAIMED_BY in labels)
    annotations: dict[str, str] = meta.get("annotations") or {}
    return ClaimablePod(
        name=meta["name"],
        uid=meta["uid"],
        pool=pool or (label if is_name(label := labels.get(POOL)) else ""),
        revision=labels.get(REVISION, ""),
        phase=phase_of(labels) if known else Phase.UNKNOWN,
        created=datetime.fromisoformat(meta["creationTimestamp"]),
        claimed_by=labels.get(CLAIMED_BY, "") if known else "",
        owner=labels.get(OWNER, ""),
        last_owner=labels.get(LAST_OWNER, ""),
        alive=_alive(meta, status, now),
        normal=is_ready(status) and not _changes(meta, status),
        cordoned=annotations.get(CORDON) == "true",
        terminating="deletionTimestamp" in meta,
        labels=labels,
    )


def pool_of(meta: Json) -> str:
    """The pool that made it, '' for none: labels are written by whoever may write the pod."""
    owners = [owner.get("name") for owner in meta.get("ownerReferences") or () if owner.get("kind") == POD_POOL.name]
    makers, said = [name for name in owners if is_name(name)], (meta.get("labels") or {}).get(POOL)
    return str(said) if said in makers else next(iter(makers), "")


def of_its_pool(pod: Json) -> dict[str, str]:
    """The label that its pool knows it by."""
    pool = pool_of(pod["metadata"])
    return {POOL: pool} if pool else {}


def phase_of(labels: Mapping[str, str]) -> Phase:
    """Whatever is no phase is Unknown: nobody may have such a pod."""
    told = labels.get(PHASE, "")
    return Phase(told) if told in PHASES else Phase.UNKNOWN


def held(pod: Json) -> bool:
    """It is, or was, a claim's."""
    labels = pod["metadata"].get("labels") or {}
    return bool(labels.get(CLAIMED_BY)) or phase_of(labels) in USED


def is_ready(status: Json) -> bool:
    return _condition(status, "Ready") == "True"


def _alive(meta: Json, status: Json, now: datetime) -> bool:
    """Failed, Succeeded, or on a node that does not answer: of no use."""
    if status.get("phase", "Pending") not in ("Pending", "Running") or status.get("reason") == "NodeLost":
        return False
    ends = meta.get("deletionTimestamp")
    overdue = ends is not None and now - datetime.fromisoformat(ends) > OVERDUE
    return not overdue and _condition(status, "Ready") != "Unknown"


def _changes(meta: Json, status: Json) -> bool:
    """Its kubelet has not done yet what the newest spec says."""
    seen = status.get("observedGeneration")
    behind = bool(seen) and seen < meta.get("generation", 0)
    return behind or any(_condition(status, each) == "True" for each in CHANGES)


def _condition(status: Json, kind: str) -> str:
    return next((str(c.get("status", "")) for c in status.get("conditions") or () if c.get("type") == kind), "")


class ClaimPods:
    """Pods of one namespace, each write on the version that was read."""

    def __init__(self, kube: KubeApi, namespace: str) -> None:
        self._kube, self._namespace = kube, namespace

    def read(self, name: str) -> Json | None:
        """None: the API server says that there is no such pod."""
        try:
            return self._kube.get(pod_path(self._namespace, name))
        except NotFound:
            return None

    def labelled(self, uid: str) -> list[Json]:
        """All that carry the label of that claim."""
        path = pods_path(self._namespace)
        items: list[Json] = self._kube.list(path, labelSelector=f"{CLAIMED_BY}={uid}")["items"]
        return items

    def hold(self, pod: Json, wanted: Mapping[str, str], added: Mapping[str, str], token: str) -> Json:
        """Makes it Bound with exactly these labels of ours and `added` ones (see additions_to).

        Raises Conflict or NotFound.

        It is a new version in any case, so that what was decided from an older one conflicts.
        """
        before = _before(pod, added)
        ours: Json = dict.fromkeys((CLAIMED_BY, OWNER, LAST_OWNER, CLAIM_SET)) | dict(wanted)
        labels = ours | _restored(pod) | dict(added) | of_its_pool(pod) | {PHASE: Phase.BOUND.value}
        told = orjson.dumps(before, option=orjson.OPT_SORT_KEYS).decode() if before else None
        notes: Json = {ADDED: told, TOUCHED: token, GIVEN_BACK: None, DRAIN: None, SESSIONS: None}
        return self.write(pod, labels, notes)

    def release(self, pod: Json, phase: Phase, drain: str) -> Json:
        """Nothing of its owner stays but the name of the last one. Raises Conflict or NotFound."""
        owner = (pod["metadata"].get("labels") or {}).get(OWNER)
        ours: Json = {PHASE: phase.value, CLAIMED_BY: None, OWNER: None, CLAIM_SET: None, LAST_OWNER: owner}
        notes: Json = {ADDED: None, GIVEN_BACK: drain, DRAIN: None, SESSIONS: None}
        return self.write(pod, _restored(pod) | of_its_pool(pod) | ours, notes)

    def write(self, pod: Json, labels: Json, annotations: Json) -> Json:
        """None takes one off. Raises Conflict or NotFound."""
        meta = pod["metadata"]
        patch = {"resourceVersion": meta["resourceVersion"], "uid": meta["uid"]}
        patch |= {"labels": labels, "annotations": annotations}
        return self._kube.patch(pod_path(self._namespace, meta["name"]), {"metadata": patch})


def added_labels(pod: Json) -> dict[str, str | None]:
    """Labels that its claim set -> what they were before, None for none. Others may have written it: what is no label,
    or one of ours, is left out.
    """
    told = (pod["metadata"].get("annotations") or {}).get(ADDED)
    try:
        found = orjson.loads(told) if told else {}
    except orjson.JSONDecodeError:
        return {}
    told_of = found.items() if isinstance(found, dict) else ()
    return {key: was for key, was in told_of if _others(key) and (was is None or proper_value(was))}


def additions_to(pod: Json, asked: Mapping[str, str]) -> Additions:
    """What of the labels that its claim asks for the pod gets."""
    known, labels = added_labels(pod), pod["metadata"].get("labels") or {}
    kept = {key for key in labels if key not in known}
    return additions(asked, kept | {key for key, was in known.items() if was is not None})


def _others(key: str) -> bool:
    return proper_key(key) and not key.startswith(PREFIX)


def _restored(pod: Json) -> Json:
    return dict(added_labels(pod))


def _before(pod: Json, added: Mapping[str, str]) -> dict[str, str | None]:
    """What the labels were before any claim set them."""
    labels, known = pod["metadata"].get("labels") or {}, added_labels(pod)
    return {key: known[key] if key in known else labels.get(key) for key in added}
