"""The pods of a pod pool: listed by label, created by name, written before they open, deleted in the version read."""

from __future__ import annotations

import hashlib
from typing import Any

import orjson
import structlog

from domain.claims.pod import Phase
from domain.kubernetes.names import DRAIN, GIVEN_BACK, OPENED, PHASE, POOL, PREFIX, REVISION, RUNNER, SESSIONS
from domain.kubernetes.objects import KubeObject, Pod, new_object
from domain.pod_pools.pod_pool import PodPoolSpec
from events.kube.api import AlreadyExists, Conflict, Denied, Invalid, KubeApi, NotFound
from workers.kube.conditional_writes import delete_if_unchanged, patch_if_unchanged
from workers.kube.pods import pod_path, pods_path

log = structlog.get_logger()
Json = dict[str, Any]


def revision_of(spec: PodPoolSpec) -> str:
    """Return the revision of the pool's pods, slots included. A pod of another revision is replaced."""
    made_from = [spec.template, [sorted(slot.accepts) for slot in spec.slots]]
    return hashlib.sha256(orjson.dumps(made_from, option=orjson.OPT_SORT_KEYS)).hexdigest()[:10]


class PoolPods:
    """The pods of one pool. `owner` is the pool's reference, so that the pods go when the pool goes."""

    def __init__(self, kube: KubeApi, namespace: str, pool: str, owner: Json) -> None:
        self._kube, self._namespace, self._pool, self._owner = kube, namespace, pool, owner
        self._collection = pods_path(namespace)

    def labelled(self) -> list[Pod]:
        """List all pods that carry the pool's label, consistently."""
        items = self._kube.list(self._collection, labelSelector=f"{POOL}={self._pool}")["items"]
        return [Pod(pod) for pod in items]

    def owns(self, pod: Pod) -> bool:
        """Tell whether the pool owns the pod: a new pool of the same name does not own the pods of the former one."""
        return pod.owned_by(self._owner["uid"])

    def create(self, name: str, spec: PodPoolSpec, environment: list[Json], annotations: dict[str, str]) -> None:
        """Create a pod. Idempotent: an existing pod of the name stays."""
        try:
            self._kube.create(self._collection, self._body(name, spec, environment, annotations))
        except AlreadyExists:
            return

    def write(self, pod: Pod, token: str) -> bool:
        """Give the pod a new version. False: it has changed since, or the write is refused."""
        annotations = {OPENED: token, DRAIN: None, GIVEN_BACK: None, SESSIONS: None}
        return self._patched(pod, {"annotations": annotations, "labels": {PHASE: Phase.IDLE}})

    def take_back(self, pod: Pod) -> None:
        """Restore the pool's label on a pod of its own that lost it: otherwise nobody looks after the pod."""
        if not self.owns(pod) or pod.labels.get(POOL) == self._pool:
            return
        if self._patched(pod, {"labels": {POOL: self._pool}}):
            log.warning("pod_label_restored", pool=self._pool, pod=pod.name)

    def read(self, name: str, uid: str) -> Pod | None:
        """Read a pod. None: that pod is gone."""
        try:
            pod = Pod(self._kube.get(pod_path(self._namespace, name)))
        except NotFound:
            return None
        return pod if pod.uid == uid else None

    def delete(self, pod: Pod) -> bool:
        """Delete the pod in the version that was read. False: it has changed since, or the deletion is refused."""
        try:
            delete_if_unchanged(self._kube, pod_path(self._namespace, pod.name), pod.precondition)
        except Conflict:
            return False
        except (Denied, Invalid) as error:
            log.warning("pod_delete_denied", pool=self._pool, pod=pod.name, reason=str(error))
            return False
        except NotFound:
            return True
        return True

    def _patched(self, pod: Pod, metadata: Json) -> bool:
        try:
            patch_if_unchanged(self._kube, pod_path(self._namespace, pod.name), pod.precondition, metadata)
        except (Conflict, NotFound):
            return False
        except (Denied, Invalid) as error:  # of this one: the others are written all the same
            log.warning("pod_write_refused", pool=self._pool, pod=pod.name, reason=str(error))
            return False
        return True

    def _body(self, name: str, spec: PodPoolSpec, environment: list[Json], annotations: dict[str, str]) -> Json:
        template = KubeObject(spec.template)
        labels = {key: value for key, value in template.labels.items() if not key.startswith(PREFIX)}
        runner = {} if spec.slots else {RUNNER: "none"}
        containers = [_with_environment(container, environment) for container in template.spec.get("containers") or ()]
        metadata = {
            "name": name,
            "namespace": self._namespace,
            "labels": labels | {POOL: self._pool, REVISION: revision_of(spec), PHASE: Phase.UNKNOWN},
            "annotations": template.annotations | runner | annotations,
            "ownerReferences": [self._owner],
        }
        return new_object("v1", "Pod", metadata, spec={**template.spec, "containers": containers})


def _with_environment(container: Json, environment: list[Json]) -> Json:
    """Add the variables to a container. A variable that the template sets itself stays."""
    own = container.get("env") or []
    names = {variable.get("name") for variable in own}
    return {**container, "env": [*own, *(variable for variable in environment if variable["name"] not in names)]}
