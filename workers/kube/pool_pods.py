"""The pods of a pod pool: listed by label, created by name, written before they open, deleted as they were read."""

from __future__ import annotations

import hashlib
from typing import Any, Final

import orjson
import structlog

from domain.claims.labels import DRAIN, GIVEN_BACK, PHASE, PREFIX, SESSIONS
from domain.claims.pod import Phase
from domain.pod_pools.pod_pool import PodPoolSpec
from events.kube.api import AlreadyExists, Conflict, Denied, Invalid, KubeApi, NotFound
from workers.kube.pods import pod_path, pods_path

log = structlog.get_logger()
Json = dict[str, Any]
POOL: Final = "berthmaster.dev/pool"
REVISION: Final = "berthmaster.dev/revision"
CARRIED: Final = "berthmaster.dev/runner-token"  # which one it has, see domain.pod_pools.runner_token
OPENED: Final = "berthmaster.dev/opened"
RUNNER: Final = "berthmaster.dev/runner"  # annotation of a pod without one


def revision_of(spec: PodPoolSpec) -> str:
    """Names what pods are made from, their slots too: pods of another one are replaced."""
    made_from = [spec.template, [sorted(slot.accepts) for slot in spec.slots]]
    return hashlib.sha256(orjson.dumps(made_from, option=orjson.OPT_SORT_KEYS)).hexdigest()[:10]


class PoolPods:
    """Of one pool; `owner` is its reference, so that its pods go when it goes."""

    def __init__(self, kube: KubeApi, namespace: str, pool: str, owner: Json) -> None:
        self._kube, self._namespace, self._pool, self._owner = kube, namespace, pool, owner
        self._collection = pods_path(namespace)

    def labelled(self) -> list[Json]:
        """A consistent list of all pods that are called this pool's."""
        items: list[Json] = self._kube.list(self._collection, labelSelector=f"{POOL}={self._pool}")["items"]
        return items

    def owns(self, pod: Json) -> bool:
        """A pool that was made anew does not own the pods of the one before it."""
        return any(owner.get("uid") == self._owner["uid"] for owner in pod["metadata"].get("ownerReferences") or ())

    def create(self, name: str, spec: PodPoolSpec, environment: list[Json], annotations: dict[str, str]) -> None:
        """Said again, it is there already."""
        body = self._body(name, spec, environment)
        body["metadata"]["annotations"] = body["metadata"]["annotations"] | annotations
        try:
            self._kube.create(self._collection, body)
        except AlreadyExists:
            return

    def write(self, pod: Json, token: str) -> bool:
        """A new version of the pod, which anybody may have. False: it has changed since, or may not be written."""
        meta = pod["metadata"]
        patch = {
            "resourceVersion": meta["resourceVersion"],
            "uid": meta["uid"],
            "annotations": {OPENED: token, DRAIN: None, GIVEN_BACK: None, SESSIONS: None},
            "labels": {PHASE: Phase.IDLE},
        }
        return self._patched(meta["name"], patch)

    def take_back(self, pod: Json) -> None:
        """Puts the label back on a pod of its own whose label was taken off: else nobody would look after it."""
        meta = pod["metadata"]
        if not self.owns(pod) or (meta.get("labels") or {}).get(POOL) == self._pool:
            return
        patch = {"resourceVersion": meta["resourceVersion"], "uid": meta["uid"], "labels": {POOL: self._pool}}
        if self._patched(meta["name"], patch):
            log.warning("pod_label_restored", pool=self._pool, pod=meta["name"])

    def read(self, name: str, uid: str) -> Json | None:
        """None: that pod is gone."""
        try:
            pod = self._kube.get(pod_path(self._namespace, name))
        except NotFound:
            return None
        return pod if pod["metadata"]["uid"] == uid else None

    def delete(self, pod: Json) -> bool:
        """Only as it was read. False: it has changed since, or may not be deleted: no reason to do nothing else."""
        meta = pod["metadata"]
        options = {"preconditions": {"uid": meta["uid"], "resourceVersion": meta["resourceVersion"]}}
        try:
            self._kube.delete(pod_path(self._namespace, meta["name"]), options)
        except Conflict:
            return False
        except (Denied, Invalid) as error:
            log.warning("pod_delete_denied", pool=self._pool, pod=meta["name"], reason=str(error))
            return False
        except NotFound:
            return True
        return True

    def _patched(self, name: str, metadata: Json) -> bool:
        try:
            self._kube.patch(pod_path(self._namespace, name), {"metadata": metadata})
        except (Conflict, NotFound):
            return False
        except (Denied, Invalid) as error:  # of this one: the others are written all the same
            log.warning("pod_write_refused", pool=self._pool, pod=name, reason=str(error))
            return False
        return True

    def _body(self, name: str, spec: PodPoolSpec, environment: list[Json]) -> Json:
        meta, wanted = spec.template.get("metadata") or {}, dict(spec.template.get("spec") or {})
        labels = {key: value for key, value in (meta.get("labels") or {}).items() if not key.startswith(PREFIX)}
        labels |= {POOL: self._pool, REVISION: revision_of(spec), PHASE: Phase.UNKNOWN}
        annotations = dict(meta.get("annotations") or {}) | ({} if spec.slots else {RUNNER: "none"})
        wanted["containers"] = [_with_environment(each, environment) for each in wanted.get("containers") or ()]
        return {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {
                "name": name,
                "namespace": self._namespace,
                "labels": labels,
                "annotations": annotations,
                "ownerReferences": [self._owner],
            },
            "spec": wanted,
        }


def _with_environment(container: Json, environment: list[Json]) -> Json:
    """What the template says itself stands."""
    own = container.get("env") or []
    names = {variable.get("name") for variable in own}
    return {**container, "env": [*own, *(each for each in environment if each["name"] not in names)]}
