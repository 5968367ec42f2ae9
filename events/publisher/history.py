"""Detect a new history of the API. Versions grow within one history; an etcd that was restored from a backup begins
another, whose versions cannot be compared with earlier ones.

A list without a resource version is consistent, so its versions are at least as high as all that Redis had before the
request. A list with a lower version proves a new history. The term ends, and the next term begins the new history
before it lists: then every object and every deletion is marked.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from typing import Final

import structlog

from domain.kubernetes.objects import body_of
from events.kube.api import AlreadyExists, KubeApi, KubeError
from events.publisher.lease import Lease
from events.publisher.resources import ListedObject
from events.workqueue import StoredVersion

log = structlog.get_logger(__name__)
NEW_HISTORY: Final = "new_history"
"""Why a term ends."""
REASON: Final = "KubernetesVersionsWentBack"


class NewHistoryError(Exception):
    """The API's versions went back; the text is the evidence."""


def require_history(
    items: Iterable[ListedObject], stored: Mapping[str, StoredVersion], version: int, history: int
) -> None:
    """Raise NewHistoryError if a version went back. `stored` was read before the list was requested."""
    stored = {key: old for key, old in stored.items() if old.history == history}
    listed = set()
    for mark, _ in items:
        listed.add(mark.key)
        old = stored.get(mark.key)
        if old and (mark.version < old.version or (mark.version == old.version and mark.uid != old.uid)):
            was = f"version {old.version} of UID {old.uid}"
            raise NewHistoryError(f"{mark.key} is at version {mark.version} of UID {mark.uid} after {was}")
    for key, old in stored.items():
        if old.version > version or (old.version == version and not old.gone and key not in listed):
            raise NewHistoryError(f"a list is at version {version}, and {key} was at {old.version}")


def announce(kube: KubeApi, lease: Lease, history: int, evidence: str) -> None:
    """Create an Event on the Lease, for people who run `kubectl describe`. A failure is only logged."""
    log.warning("api_history_begun", history=history, evidence=evidence)
    namespace, name = lease.settings.namespace, lease.settings.name
    stamp = kube.clock.now().strftime("%Y-%m-%dT%H:%M:%SZ")
    digest = hashlib.sha256(f"{history} {evidence}".encode()).hexdigest()[:16]
    about = {"kind": "Lease", "apiVersion": "coordination.k8s.io/v1", "namespace": namespace, "name": name}
    body = body_of(
        {"name": f"{name[:200]}.{digest}", "namespace": namespace},
        involvedObject=about,
        reason=REASON,
        message=f"The versions of this cluster's API went back: {evidence}. Was etcd restored from a backup? "
        "Every object is looked at again",
        type="Warning",
        source={"component": "berthmaster"},
        count=1,
        firstTimestamp=stamp,
        lastTimestamp=stamp,
    )
    try:
        kube.create(f"/api/v1/namespaces/{namespace}/events", body)
    except AlreadyExists:
        pass
    except KubeError as error:
        log.warning("event_dropped", object=name, reason=REASON, error=str(error))
