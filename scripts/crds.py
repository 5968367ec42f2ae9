"""Writes deploy/crds from the models of the domain: `make crds`. With `--check` it only says whether they are current.

One source for what is declared, validated and documented: the API server refuses what a worker would refuse, with the
field named, before anything is stored.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import yaml
from pydantic import BaseModel

from domain.claim_sets import pod_claim_set_rules
from domain.claim_sets.pod_claim_set import PodClaimSetSpec, PodClaimSetStatus
from domain.claims import pod_claim_rules
from domain.claims.pod_claim import PodClaimSpec, PodClaimStatus
from domain.pod_pools import pod_pool_rules
from domain.pod_pools.pod_pool import PodPoolSpec
from domain.pod_pools.status import PodPoolStatus
from domain.port_pools.port_pool import PortPoolSpec
from domain.port_pools.port_pool_rules import validations
from domain.port_pools.status import PortPoolStatus
from scripts.structural_schema import opened, structural

Json = dict[str, Any]
Columns = tuple[tuple[str, str, str], ...]
HEADER: Final = "# Written by `make crds` from the models in domain/. Do not edit.\n"
LABEL, LONGEST_NAME = 63, 253
"""Characters that Kubernetes takes as the value of a label, and as a name."""
WHY: Final = '.status.conditions[?(@.type=="Ready")].reason'
COLUMNS: Final = (
    ("State", "string", ".status.state"),
    ("Ready", "string", '.status.conditions[?(@.type=="Ready")].status'),
    ("Reason", "string", WHY),
    ("Capacity", "integer", ".status.capacity"),
    ("Allocated", "integer", ".status.allocated"),
    ("Waiting", "integer", ".status.waiting"),
    ("LBs", "integer", ".status.loadBalancerCount"),
    ("Epoch", "integer", ".status.epoch"),
    ("Age", "date", ".metadata.creationTimestamp"),
)


POD_POOL_COLUMNS: Final = (
    ("Pods", "integer", ".status.replicas"),
    ("Ready", "integer", ".status.readyReplicas"),
    ("Reason", "string", WHY),
    ("Desired", "integer", ".status.desiredReplicas"),
    ("Warm", "integer", ".status.pods.idle"),
    ("Claimed", "integer", ".status.pods.claimed"),
    ("Draining", "integer", ".status.pods.draining"),
    ("Slots-Used", "integer", ".status.slots.used"),
    ("Slots-Reserved", "integer", ".status.slots.reserved"),
    ("Slots-Idle", "integer", ".status.slots.idle"),
    ("Jobs-Waiting", "integer", ".status.waiting"),
    ("Claims-Waiting", "integer", ".status.waitingClaims"),
    ("Age", "date", ".metadata.creationTimestamp"),
)
CLAIM_COLUMNS: Final = (
    ("Phase", "string", ".status.phase"),
    ("Pool", "string", ".spec.poolName"),
    ("Pod", "string", ".spec.podName"),
    ("Node", "string", ".spec.nodeName"),
    ("Owner", "string", ".spec.ownerName"),
    ("Move", "string", ".status.migration.progress"),
    ("Age", "date", ".metadata.creationTimestamp"),
)
CLAIM_SET_COLUMNS: Final = (
    ("Desired", "integer", ".spec.replicas"),
    ("Claims", "integer", ".status.replicas"),
    ("Ready", "integer", ".status.readyReplicas"),
    ("Updated", "integer", ".status.updatedReplicas"),
    ("Age", "date", ".metadata.creationTimestamp"),
)


def port_pool() -> Json:
    names = {"kind": "PortPool", "listKind": "PortPoolList", "plural": "portpools", "singular": "portpool"}
    version = _version(PortPoolSpec, PortPoolStatus, validations(), COLUMNS)
    return _definition("Cluster", {**names, "shortNames": ["pp"]}, version)


def pod_pool() -> Json:
    names = {"kind": "PodPool", "listKind": "PodPoolList", "plural": "podpools", "singular": "podpool"}
    version = _version(PodPoolSpec, PodPoolStatus, pod_pool_rules.validations(), POD_POOL_COLUMNS)
    _limit_name(version, LABEL, "its pods have it as a label")
    version["subresources"]["scale"] = {
        "specReplicasPath": ".spec.minReplicas",
        "statusReplicasPath": ".status.replicas",
        "labelSelectorPath": ".status.labelSelector",
    }
    return _definition("Namespaced", names, version)


def pod_claim() -> Json:
    names = {"kind": "PodClaim", "listKind": "PodClaimList", "plural": "podclaims", "singular": "podclaim"}
    version = _version(PodClaimSpec, PodClaimStatus, pod_claim_rules.validations(), CLAIM_COLUMNS)
    return _definition("Namespaced", names, version)


def pod_claim_set() -> Json:
    """The template of its claims is judged as a claim is."""
    names = {
        "kind": "PodClaimSet",
        "listKind": "PodClaimSetList",
        "plural": "podclaimsets",
        "singular": "podclaimset",
    }
    version = _version(PodClaimSetSpec, PodClaimSetStatus, pod_claim_set_rules.validations(), CLAIM_SET_COLUMNS)
    _limit_name(version, LONGEST_NAME - len("-999999"), "its claims are called by it and a number")
    fields = version["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]
    fields["template"]["properties"]["spec"]["x-kubernetes-validations"] = pod_claim_rules.of_templates()
    version["subresources"]["scale"] = {
        "specReplicasPath": ".spec.replicas",
        "statusReplicasPath": ".status.replicas",
        "labelSelectorPath": ".status.labelSelector",
    }
    return _definition("Namespaced", names, version)


def _limit_name(version: Json, most: int, why: str) -> None:
    """What is made for the object would be refused."""
    message = f"metadata.name has more than {most} characters: {why}"
    rule = {"rule": f"size(self.metadata.name) <= {most}", "message": message}
    version["schema"]["openAPIV3Schema"]["x-kubernetes-validations"] = [rule]


def _version(spec_of: type[BaseModel], status_of: type[BaseModel], rules: list[Json], columns: Columns) -> Json:
    spec = structural(spec_of.model_json_schema(by_alias=True))
    status = opened(structural(status_of.model_json_schema(by_alias=True)))
    return {
        "name": "v1alpha1",
        "served": True,
        "storage": True,
        "subresources": {"status": {}},
        "additionalPrinterColumns": [{"name": n, "type": t, "jsonPath": p} for n, t, p in columns],
        "schema": {
            "openAPIV3Schema": {
                "description": spec["description"],
                "type": "object",
                "required": ["spec"],
                "properties": {
                    "apiVersion": {"type": "string"},
                    "kind": {"type": "string"},
                    "metadata": {"type": "object"},
                    "spec": {**spec, "x-kubernetes-validations": rules},
                    "status": status,
                },
            }
        },
    }


def _definition(scope: str, names: Json, version: Json) -> Json:
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{names['plural']}.berthmaster.dev"},
        "spec": {"group": "berthmaster.dev", "scope": scope, "names": names, "versions": [version]},
    }


def definitions() -> dict[str, Json]:
    """What each file of deploy/crds holds."""
    return {f"{crd['metadata']['name']}.yaml": crd for crd in (port_pool(), pod_pool(), pod_claim(), pod_claim_set())}


def files() -> dict[str, Json]:
    """The definitions, and what `kubectl apply -k` reads."""
    crds = definitions()
    head = {"apiVersion": "kustomize.config.k8s.io/v1beta1", "kind": "Kustomization"}
    return {**crds, "kustomization.yaml": {**head, "resources": sorted(crds)}}


def stale(folder: Path) -> list[str]:
    """The files that do not say what the models say; the order of keys does not matter."""
    wanted = files()
    there = {path.name: yaml.safe_load(path.read_text(encoding="utf-8")) for path in folder.glob("*.yaml")}
    return sorted(name for name in wanted.keys() | there.keys() if wanted.get(name) != there.get(name))


def write(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name, definition in files().items():
        text = yaml.safe_dump(definition, sort_keys=False, width=120)
        (folder / name).write_text(HEADER + text, encoding="utf-8")


def main(folder: Path, arguments: Sequence[str]) -> int:
    if "--check" not in arguments:
        write(folder)
    wrong = stale(folder)
    print(f"crds: {'not as the models say, run make crds: ' + ', '.join(wrong) if wrong else 'as the models say'}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(Path(__file__).parent.parent / "deploy" / "crds", sys.argv[1:]))
