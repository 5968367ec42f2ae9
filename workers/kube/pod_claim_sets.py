"""PodClaimSets and their claims: read live, recorded by compare-and-set, removed exactly as they were seen."""

from __future__ import annotations

import hashlib
from typing import Any, Final

import orjson

from berthmaster.kinds import POD_CLAIM, POD_CLAIM_SET
from domain.claim_sets.pod_claim_set import ClaimTemplate
from domain.claims.labels import CLAIM_SET, SPARED, TEMPLATE_HASH
from events.kube.api import AlreadyExists, Conflict, KubeApi, NotFound
from workers.kube.our_kinds import API_VERSION, path
from workers.kube.pod_claims import claim_path
from workers.kube.pods import pods_path

Json = dict[str, Any]
KIND: Final = POD_CLAIM_SET.name


def template_hash(template: ClaimTemplate) -> str:
    """Names what claims are made from. A field with its default is left out: later versions have more of them."""
    made_from = template.model_dump(by_alias=True, exclude_defaults=True)
    return hashlib.sha256(orjson.dumps(made_from, option=orjson.OPT_SORT_KEYS)).hexdigest()[:10]


class PodClaimSets:
    def __init__(self, kube: KubeApi) -> None:
        self._kube = kube

    def read(self, namespace: str, name: str) -> Json | None:
        """None: the API server says that there is no such set."""
        try:
            return self._kube.get(self._path(namespace, name))
        except NotFound:
            return None

    def set_status(self, claim_set: Json, status: Json) -> Json:
        """Conditional on the version read; what `status` leaves out stays. Raises Conflict or NotFound."""
        meta = claim_set["metadata"]
        patch = {"metadata": {"resourceVersion": meta["resourceVersion"], "uid": meta["uid"]}, "status": status}
        return self._kube.patch(f"{self._path(meta['namespace'], meta['name'])}/status", patch)

    def _path(self, namespace: str, name: str) -> str:
        return path(namespace, POD_CLAIM_SET.plural, name)


class SetClaims:
    """The claims of one set, and their pods."""

    def __init__(self, kube: KubeApi, claim_set: Json) -> None:
        meta = claim_set["metadata"]
        self._kube, self._name, self._uid, self._namespace = kube, meta["name"], meta["uid"], meta["namespace"]

    def labelled(self) -> list[Json]:
        """A consistent list of all claims that are called this set's."""
        items: list[Json] = self._kube.list(claim_path(self._namespace), labelSelector=self._label)["items"]
        return items

    def owns(self, claim: Json) -> bool:
        """What was orphaned, or labelled by hand, is not its own."""
        owners = claim["metadata"].get("ownerReferences") or ()
        return any(owner.get("uid") == self._uid and owner.get("controller") for owner in owners)

    def pods(self) -> list[Json]:
        """Live, so that the cost of a deletion is what it says now."""
        path = pods_path(self._namespace)
        items: list[Json] = self._kube.list(path, labelSelector=self._label)["items"]
        return items

    def create(self, name: str, template: ClaimTemplate) -> Json | None:
        """None: there is a claim of this name."""
        try:
            return self._kube.create(claim_path(self._namespace), self._body(name, template))
        except AlreadyExists:
            return None

    def delete(self, claim: Json) -> bool:
        """Only as it was read. False: it has changed since, or is gone."""
        meta = claim["metadata"]
        options = {"preconditions": {"uid": meta["uid"], "resourceVersion": meta["resourceVersion"]}}
        try:
            self._kube.delete(claim_path(self._namespace, meta["name"]), options)
        except (Conflict, NotFound):
            return False
        return True

    def spare(self, claim: Json) -> bool:
        """A new version of it, so that a deletion as it was read conflicts. False: it has one already, or is gone."""
        meta = claim["metadata"]
        patch = {"resourceVersion": meta["resourceVersion"], "uid": meta["uid"]}
        try:
            self._kube.patch(
                claim_path(self._namespace, meta["name"]),
                {"metadata": patch | {"annotations": {SPARED: meta["resourceVersion"]}}},
            )
        except (Conflict, NotFound):
            return False
        return True

    @property
    def _label(self) -> str:
        return f"{CLAIM_SET}={self._uid}"

    def _body(self, name: str, template: ClaimTemplate) -> Json:
        owner = {"apiVersion": API_VERSION, "kind": KIND, "name": self._name, "uid": self._uid, "controller": True}
        labels = {**template.metadata.labels, CLAIM_SET: self._uid, TEMPLATE_HASH: template_hash(template)}
        return {
            "apiVersion": API_VERSION,
            "kind": POD_CLAIM.name,
            "metadata": {
                "name": name,
                "namespace": self._namespace,
                "labels": labels,
                "annotations": dict(template.metadata.annotations),
                "ownerReferences": [owner],
            },
            "spec": template.spec.model_dump(by_alias=True, exclude_defaults=True),
        }
