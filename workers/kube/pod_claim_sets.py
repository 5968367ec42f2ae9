"""PodClaimSets and their claims: read live, recorded by compare-and-set, removed only in the version that was read."""

from __future__ import annotations

import hashlib
from typing import Any, Final

import orjson

from berthmaster.kinds import POD_CLAIM, POD_CLAIM_SET
from domain.claim_sets.pod_claim_set import ClaimTemplate
from domain.kubernetes.names import CLAIM_SET, SPARED, TEMPLATE_HASH
from domain.kubernetes.objects import KubeObject, Pod, new_object
from events.kube.api import AlreadyExists, Conflict, KubeApi, NotFound
from workers.kube.conditional_writes import delete_if_unchanged, patch_if_unchanged
from workers.kube.our_kinds import API_VERSION, path
from workers.kube.pod_claims import claim_path
from workers.kube.pods import pods_path

Json = dict[str, Any]
KIND: Final = POD_CLAIM_SET.name


def template_hash(template: ClaimTemplate) -> str:
    """Return the hash of a claim template. Fields with defaults are left out: later versions have more of them."""
    made_from = template.model_dump(by_alias=True, exclude_defaults=True)
    return hashlib.sha256(orjson.dumps(made_from, option=orjson.OPT_SORT_KEYS)).hexdigest()[:10]


class PodClaimSets:
    """Reads and writes PodClaimSets."""

    def __init__(self, kube: KubeApi) -> None:
        self._kube = kube

    def read(self, namespace: str, name: str) -> KubeObject | None:
        """Read a set. None: the API server says that there is no such set."""
        try:
            return KubeObject(self._kube.get(self._path(namespace, name)))
        except NotFound:
            return None

    def set_status(self, claim_set: KubeObject, status: Json) -> KubeObject:
        """Patch the status in the version that was read. Raises Conflict or NotFound."""
        path = f"{self._path(claim_set.namespace, claim_set.name)}/status"
        return KubeObject(patch_if_unchanged(self._kube, path, claim_set.precondition, status=status))

    def _path(self, namespace: str, name: str) -> str:
        return path(namespace, POD_CLAIM_SET.plural, name)


class SetClaims:
    """The claims of one set, and their pods."""

    def __init__(self, kube: KubeApi, claim_set: KubeObject) -> None:
        self._kube, self._name, self._uid = kube, claim_set.name, claim_set.uid
        self._namespace = claim_set.namespace

    def labelled(self) -> list[KubeObject]:
        """List all claims that carry the set's label, consistently."""
        path = claim_path(self._namespace)
        return [KubeObject(claim) for claim in self._kube.list(path, labelSelector=self._label)["items"]]

    def owns(self, claim: KubeObject) -> bool:
        """Tell whether the set owns the claim: an orphaned claim, or one labelled by hand, it does not own."""
        return claim.owned_by(self._uid, controller=True)

    def pods(self) -> list[Pod]:
        """List the pods live, so that deletion costs are up to date."""
        path = pods_path(self._namespace)
        return [Pod(pod) for pod in self._kube.list(path, labelSelector=self._label)["items"]]

    def create(self, name: str, template: ClaimTemplate) -> KubeObject | None:
        """Create a claim. None: a claim of this name exists."""
        try:
            return KubeObject(self._kube.create(claim_path(self._namespace), self._body(name, template)))
        except AlreadyExists:
            return None

    def delete(self, claim: KubeObject) -> bool:
        """Delete the claim in the version that was read. False: it has changed since, or is gone."""
        try:
            delete_if_unchanged(self._kube, claim_path(self._namespace, claim.name), claim.precondition)
        except (Conflict, NotFound):
            return False
        return True

    def spare(self, claim: KubeObject) -> bool:
        """Give the claim a new version, so that a deletion of the old one conflicts. False: it has one, or is gone."""
        path, mark = claim_path(self._namespace, claim.name), {SPARED: claim.resource_version}
        try:
            patch_if_unchanged(self._kube, path, claim.precondition, {"annotations": mark})
        except (Conflict, NotFound):
            return False
        return True

    @property
    def _label(self) -> str:
        return f"{CLAIM_SET}={self._uid}"

    def _body(self, name: str, template: ClaimTemplate) -> Json:
        owner = {"apiVersion": API_VERSION, "kind": KIND, "name": self._name, "uid": self._uid, "controller": True}
        labels = {**template.metadata.labels, CLAIM_SET: self._uid, TEMPLATE_HASH: template_hash(template)}
        metadata = {
            "name": name,
            "namespace": self._namespace,
            "labels": labels,
            "annotations": dict(template.metadata.annotations),
            "ownerReferences": [owner],
        }
        spec = template.spec.model_dump(by_alias=True, exclude_defaults=True)
        return new_object(API_VERSION, POD_CLAIM.name, metadata, spec=spec)
