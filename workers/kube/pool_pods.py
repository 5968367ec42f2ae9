"""The pods of a pod pool: listed by label, created by name, written before they open, deleted in the version read."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from datetime import timedelta
from typing import Any

import orjson
import structlog

from domain.claims.pod import Phase
from domain.kubernetes.names import DRAIN, GIVEN_BACK, OPENED, PHASE, POOL, PREFIX, REVISION, RUNNER, SESSIONS
from domain.kubernetes.objects import KubeObject, Pod, body_of, new_object
from domain.pod_pools.pod_pool import PodPoolSpec
from domain.pod_pools.protection import exposure, is_protected, protection
from domain.ports.pod import INPUTS
from events.kube.api import AlreadyExists, Conflict, Denied, Invalid, KubeApi, NotFound
from workers.kube.conditional_writes import delete_if_unchanged, patch_if_unchanged
from workers.kube.pods import pod_path, pods_path

log = structlog.get_logger()
Json = dict[str, Any]
Notes = Mapping[str, str | None]


def revision_of(spec: PodPoolSpec) -> str:
    """Return the revision of the pool's pods, slots included. A pod of another revision is replaced."""
    made_from = [spec.template, [sorted(slot.accepts) for slot in spec.slots]]
    return hashlib.sha256(orjson.dumps(made_from, option=orjson.OPT_SORT_KEYS)).hexdigest()[:10]


class PoolPods:
    """The pods of one pool. `owner` is the pool's reference, so that the pods go when the pool goes.

    Attributes:
        cached: UID -> pod that carries the pool's label, as it was last listed, read or written. The answer of a write
            is the object, so nothing that a run has written itself must be read again.
        written: UIDs of the pods that were written.

    """

    def __init__(self, kube: KubeApi, namespace: str, pool: str, owner: Json) -> None:
        self._kube, self._namespace, self._pool, self._owner = kube, namespace, pool, owner
        self._collection = pods_path(namespace)
        self.latest: dict[str, Pod] = {}
        self.written: set[str] = set()

    def labelled(self) -> list[Pod]:
        """List all pods that carry the pool's label, consistently."""
        items = self._kube.list(self._collection, labelSelector=f"{POOL}={self._pool}")["items"]
        self.latest = {pod.uid: pod for pod in map(Pod, items)}
        return list(self.latest.values())

    def note(self, pod: Pod) -> None:
        """Know this version of a pod, which was read or written just now."""
        if self.carries_label(pod):
            self.latest[pod.uid] = pod
        else:
            self.latest.pop(pod.uid, None)

    def carries_label(self, pod: Pod) -> bool:
        """Tell whether the pool finds the pod in a list."""
        return pod.labels.get(POOL) == self._pool

    def owns(self, pod: Pod) -> bool:
        """Tell whether the pool owns the pod: a new pool of the same name does not own the pods of the former one."""
        return pod.owned_by(self._owner["uid"])

    def create(self, name: str, spec: PodPoolSpec, environment: list[Json], annotations: dict[str, str]) -> None:
        """Create a pod. Idempotent: an existing pod of the name stays."""
        try:
            created = Pod(self._kube.create(self._collection, self._body(name, spec, environment, annotations)))
        except AlreadyExists:
            return
        self._note_written(created)

    def write(self, pod: Pod, token: str, *, busy: bool = False) -> Pod | None:
        """Make the pod idle, in a new version. None: it has changed since, or the write is refused.

        The same write ends its protection, unless jobs keep it `busy`.
        """
        annotations: Json = {OPENED: token, DRAIN: None, GIVEN_BACK: None, SESSIONS: None}
        labels: Json = {PHASE: Phase.IDLE}
        if is_protected(pod) and not busy:
            change = exposure(pod.annotations)
            labels, annotations = labels | change.labels, annotations | change.annotations
        return self.set(pod, labels, annotations)

    def protect(self, pod: Pod) -> Pod | None:
        """Keep others from removing the pod. None: it has changed since, or the write is refused."""
        change = protection(pod.annotations)
        return self.set(pod, change.labels, change.annotations)

    def expose(self, pod: Pod) -> Pod | None:
        """Let others remove the pod. None: it has changed since, or the write is refused."""
        change = exposure(pod.annotations)
        return self.set(pod, change.labels, change.annotations)

    def set(self, pod: Pod, labels: Notes, annotations: Notes) -> Pod | None:
        """Set labels and annotations; None removes one. None: the pod has changed since, or the write is refused."""
        return self._patched(pod, {"labels": labels, "annotations": annotations})

    def take_back(self, pod: Pod) -> None:
        """Restore the pool's label on a pod of its own that lost it: otherwise nobody looks after the pod."""
        if not self.owns(pod) or self.carries_label(pod):
            return
        if self._patched(pod, {"labels": {POOL: self._pool}}):
            log.warning("pod_label_restored", pool=self._pool, pod=pod.name)

    def read(self, name: str, uid: str) -> Pod | None:
        """Read a pod. None: that pod is gone."""
        try:
            pod = Pod(self._kube.get(pod_path(self._namespace, name)))
        except NotFound:
            self.latest.pop(uid, None)
            return None
        self.note(pod)
        if pod.uid == uid:
            return pod
        self.latest.pop(uid, None)
        return None

    def delete(self, pod: Pod) -> bool:
        """Delete the pod in the version that was read. False: it has changed since, or the deletion is refused."""
        try:
            answer = delete_if_unchanged(self._kube, pod_path(self._namespace, pod.name), pod.precondition)
        except Conflict:
            self.read(pod.name, pod.uid)
            return False
        except (Denied, Invalid) as error:
            log.warning("pod_delete_denied", pool=self._pool, pod=pod.name, reason=str(error))
            return False
        except NotFound:
            self.latest.pop(pod.uid, None)
            return True
        self._note_written(self._ending(pod, answer))
        return True

    def _ending(self, pod: Pod, answer: Json) -> Pod:
        """Return the deleted pod. The answer may be a Status, or the pod as it was: it ends in any case."""
        deleted = KubeObject(answer)
        last = deleted if deleted.metadata.get("uid") == pod.uid else pod
        grace = timedelta(seconds=float(last.spec.get("terminationGracePeriodSeconds") or 0))
        end = (self._kube.clock.now() + grace).isoformat(timespec="seconds")
        return Pod({**last.raw, **body_of({"deletionTimestamp": end, **last.metadata})})

    def _patched(self, pod: Pod, metadata: Json) -> Pod | None:
        try:
            path = pod_path(self._namespace, pod.name)
            written = Pod(patch_if_unchanged(self._kube, path, pod.precondition, metadata))
        except (Conflict, NotFound):
            self.read(pod.name, pod.uid)  # what is known of it is old
            return None
        except (Denied, Invalid) as error:  # of this one: the others are written all the same
            log.warning("pod_write_refused", pool=self._pool, pod=pod.name, reason=str(error))
            return None
        self._note_written(written)
        return written

    def _note_written(self, pod: Pod) -> None:
        self.note(pod)
        self.written.add(pod.uid)

    def _body(self, name: str, spec: PodPoolSpec, environment: list[Json], annotations: dict[str, str]) -> Json:
        template = KubeObject(spec.template)
        labels = {key: value for key, value in template.labels.items() if not key.startswith(PREFIX)}
        notes = {
            key: value for key, value in template.annotations.items() if key in INPUTS or not key.startswith(PREFIX)
        }
        runner = {} if spec.slots else {RUNNER: "none"}
        containers = [_with_environment(container, environment) for container in template.spec.get("containers") or ()]
        metadata = {
            "name": name,
            "namespace": self._namespace,
            "labels": labels | {POOL: self._pool, REVISION: revision_of(spec), PHASE: Phase.UNKNOWN},
            "annotations": notes | runner | annotations,
            "ownerReferences": [self._owner],
        }
        return new_object("v1", "Pod", metadata, spec={**template.spec, "containers": containers})


def _with_environment(container: Json, environment: list[Json]) -> Json:
    """Add the variables to a container. A variable that the template sets itself stays."""
    own = container.get("env") or []
    names = {variable.get("name") for variable in own}
    return {**container, "env": [*own, *(variable for variable in environment if variable["name"] not in names)]}
