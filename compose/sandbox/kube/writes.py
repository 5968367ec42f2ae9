"""Create, change and delete objects: optimistic concurrency, subresources, finalizers and grace periods."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from compose.sandbox.kube import built_in
from compose.sandbox.kube.custom import admitted
from compose.sandbox.kube.kinds import NAMESPACES, PODS, ServedKind
from compose.sandbox.kube.metadata import check_preconditions, check_same, kept_metadata, new_metadata, timestamp
from compose.sandbox.kube.refusal import already_exists, bad_request, conflict, forbidden, not_found
from compose.sandbox.kube.storage import Store, StoredObject

Json = dict[str, Any]


@dataclass(frozen=True)
class How:
    """Options of a write."""

    dry_run: bool = False
    strict: bool = False
    """Whether unknown fields are refused instead of dropped."""


class Writes:
    """The writes on a store, with the checks of the API."""

    def __init__(self, store: Store) -> None:
        self.store = store

    def existing(self, kind: ServedKind, namespace: str, name: str) -> StoredObject:
        """Return an object. Raises 404."""
        item = self.store.get(kind.key, (namespace, name))
        if item is None:
            raise not_found(kind.resource, name)
        return item

    def create(self, kind: ServedKind, namespace: str, given: Json, how: How) -> StoredObject:
        """Create an object. Raises ApiRefusal."""
        check_type(kind, given)
        if kind.namespaced:
            self.check_namespace(kind, namespace, given)
        metadata = new_metadata(kind, namespace, given.get("metadata") or {})
        if self.store.get(kind.key, (namespace, metadata["name"])):
            raise already_exists(kind.resource, metadata["name"])
        body = {"kind": kind.name, "apiVersion": kind.api_version, **given, "metadata": metadata}
        if kind.custom:
            shown = {key: value for key, value in body.items() if key != "status" or not kind.status}
            body = admitted(kind, shown, None, how.strict)
        else:
            body = built_in.filled(kind, body)
            built_in.check(kind, body, None)
        return self.stored(kind, body, how)

    def check_namespace(self, kind: ServedKind, namespace: str, given: Json) -> None:
        """Raise 404 for a missing namespace and 403 for a terminating one."""
        item = self.store.get(NAMESPACES, ("", namespace))
        if item is None:
            raise not_found("namespaces", namespace)
        if item.metadata.get("deletionTimestamp"):
            name = (given.get("metadata") or {}).get("name", "")
            why = f"unable to create new content in namespace {namespace} because it is being terminated"
            raise forbidden(f'{kind.resource} "{name}"', why)

    def stored(self, kind: ServedKind, body: Json, how: How) -> StoredObject:
        """Store a body. A dry run only returns it."""
        return StoredObject(body, self.store.version) if how.dry_run else self.store.put(kind.key, body)

    def replace(
        self, kind: ServedKind, namespace: str, name: str, subresource: str, given: Json, how: How
    ) -> StoredObject:
        """Store a PUT or the result of a patch. A missing object raises 404 unless PUT may create the kind."""
        check_type(kind, given)
        old = self.store.get(kind.key, (namespace, name))
        if old is None and kind.create_by_put and not subresource:
            metadata = {**(given.get("metadata") or {}), "name": name, "resourceVersion": None}
            return self.create(kind, namespace, {**given, "metadata": metadata}, how)
        old = old or self.existing(kind, namespace, name)
        check_same(kind, name, given.get("metadata") or {}, old.metadata)
        body = self.joined(kind, subresource, given, old.body)
        if kind.custom:
            body = admitted(kind, body, old.body, how.strict)
        else:
            built_in.check(kind, body, old.body)
        return self.changed(kind, old, body, how)

    def joined(self, kind: ServedKind, subresource: str, given: Json, old: Json) -> Json:
        """Take the part of the subresource from `given`, and the other part from `old`."""
        metadata = kept_metadata(kind, given.get("metadata") or {}, old["metadata"])
        if subresource == "status":
            about = old["metadata"] if kind.custom else metadata
            return {**old, "metadata": about, "status": given.get("status") or {}}
        body = {**given, "kind": kind.name, "apiVersion": kind.api_version, "metadata": metadata}
        if kind.status:
            body.pop("status", None)
            body |= {"status": old["status"]} if "status" in old else {}
        return body

    def changed(self, kind: ServedKind, old: StoredObject, body: Json, how: How) -> StoredObject:
        """Store the body if it differs. Removes a terminating object that nothing holds back any longer."""
        if body == old.body:
            return old
        if "generation" in body["metadata"] and spec_of(body) != spec_of(old.body):
            body = {**body, "metadata": {**body["metadata"], "generation": body["metadata"]["generation"] + 1}}
        if not how.dry_run and ended(kind, body):
            self.store.remove(kind.key, old.name)
            return StoredObject(body, old.version)
        return self.stored(kind, body, how)

    def delete(self, kind: ServedKind, namespace: str, name: str, options: Json, how: How) -> StoredObject | None:
        """Delete an object. Returns the object that is left, None if it is gone; always a pod, as the real API does."""
        old = self.existing(kind, namespace, name)
        check_preconditions(kind, options, old.metadata)
        if kind.key == NAMESPACES:
            return self.terminate_namespace(old, how)
        grace = grace_period(kind, old.body, options)
        finalizers = old.metadata.get("finalizers")
        if how.dry_run:
            return old
        if not finalizers and grace == 0 and kind.key != PODS:
            self.store.remove(kind.key, old.name)
            return None
        item = self.marked(kind, old, grace)
        if not finalizers and grace == 0:
            self.store.remove(kind.key, old.name)
        return item

    def marked(self, kind: ServedKind, old: StoredObject, grace: int) -> StoredObject:
        """Mark an object as being deleted. A second deletion can only shorten the grace period."""
        if old.metadata.get("deletionTimestamp") and grace >= old.metadata.get("deletionGracePeriodSeconds", 0):
            return old
        marks = {"deletionTimestamp": timestamp(grace), "deletionGracePeriodSeconds": grace}
        if "generation" in old.metadata and "deletionTimestamp" not in old.metadata:
            marks["generation"] = old.metadata["generation"] + 1
        return self.store.put(kind.key, {**old.body, "metadata": {**old.metadata, **marks}})

    def terminate_namespace(self, old: StoredObject, how: How) -> StoredObject:
        """Mark a namespace as terminating. Raises 403 for those that may not be deleted."""
        name = old.metadata["name"]
        if name in built_in.PERMANENT_NAMESPACES[:3]:
            raise forbidden(f'namespaces "{name}"', "this namespace may not be deleted")
        if old.metadata.get("deletionTimestamp") or how.dry_run:
            return old
        metadata = {**old.metadata, "deletionTimestamp": timestamp()}
        return self.store.put(NAMESPACES, {**old.body, "metadata": metadata, "status": {"phase": "Terminating"}})

    def bind(self, kind: ServedKind, namespace: str, name: str, given: Json) -> None:
        """Bind a pod to a node (the only way to do that). Raises 404, 400, or 409 if the pod has a node."""
        old = self.existing(kind, namespace, name)
        node = (given.get("target") or {}).get("name")
        if not node:
            raise bad_request("target.name: Required value")
        if old.body["spec"].get("nodeName"):
            why = f'pod {name} is already assigned to node "{old.body["spec"]["nodeName"]}"'
            raise conflict("pods/binding", name, why)
        scheduled = {"type": "PodScheduled", "status": "True", "lastTransitionTime": timestamp()}
        status = {**old.body["status"], "conditions": [*old.body["status"].get("conditions", []), scheduled]}
        self.store.put(kind.key, {**old.body, "spec": {**old.body["spec"], "nodeName": node}, "status": status})


def check_type(kind: ServedKind, given: Json) -> None:
    """Check `kind` and `apiVersion` of a body. Raises 400."""
    if kind.custom and not (given.get("kind") and given.get("apiVersion")):
        raise bad_request(
            f"the object provided is unrecognized (must be of type {kind.name}): Object 'Kind' is missing"
        )
    named = (given.get("apiVersion") or kind.api_version, given.get("kind") or kind.name)
    if named != (kind.api_version, kind.name):
        raise bad_request(f'{named[1]} in version "{named[0]}" cannot be handled as a {kind.name}')


def spec_of(body: Json) -> Json:
    """Return the part of an object whose change makes a new generation."""
    return {key: value for key, value in body.items() if key not in ("metadata", "status")}


def ended(kind: ServedKind, body: Json) -> bool:
    """Return whether the object is being deleted and nothing holds that back."""
    metadata = body["metadata"]
    waiting = metadata.get("finalizers") or metadata.get("deletionGracePeriodSeconds")
    return bool(metadata.get("deletionTimestamp")) and not waiting and kind.key != NAMESPACES


def grace_period(kind: ServedKind, body: Json, options: Json) -> int:
    """Return the grace period in seconds. Only a pod on a node has one, because a kubelet ends it."""
    if kind.key != PODS or not body["spec"].get("nodeName") or body["status"].get("phase") in ("Succeeded", "Failed"):
        return 0
    asked = options.get("gracePeriodSeconds")
    return int(body["spec"]["terminationGracePeriodSeconds"] if asked is None else asked)
