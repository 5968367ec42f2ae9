"""Writes deploy/crds from the models of the domain: `make crds`. With `--check` it only says whether they are current.

One source for what is declared, validated and documented: the API server refuses what a worker would refuse, with the
field named, before anything is stored.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import yaml

from domain.ports.pool import PortPoolSpec
from scripts.structural_schema import structural

Json = dict[str, Any]
HEADER: Final = "# Written by `make crds` from the models in domain/. Do not edit.\n"
FIXED: Final = ("startPort", "endPort", "region", "vpcId")
COLUMNS: Final = (
    ("State", "string", ".status.state"),
    ("Allocated", "integer", ".status.allocated"),
    ("Capacity", "integer", ".status.capacity"),
    ("Waiting", "integer", ".status.waiting"),
    ("Epoch", "integer", ".status.epoch"),
    ("Age", "date", ".metadata.creationTimestamp"),
)
LOAD_BALANCER: Final[Mapping[str, str]] = {
    "name": "string",
    "arn": "string",
    "dnsName": "string",
    "state": "string",
    "allocated": "integer",
    "capacity": "integer",
    "autoCreated": "boolean",
    "foreignListeners": "integer",
}
CONDITION: Final[Mapping[str, str]] = dict.fromkeys(
    ("type", "status", "reason", "message", "lastTransitionTime"), "string"
)


def rule(expression: str, message: str, field: str) -> Json:
    return {"rule": expression, "message": message, "fieldPath": f".{field}", "reason": "FieldValueInvalid"}


def rules() -> list[Json]:
    """What a single field cannot say: PortPoolSpec's own checks, and which fields stay as they were made."""
    return [
        rule("self.endPort > self.startPort", "must be greater than startPort", "endPort"),
        rule(
            "self.autoCreate.enabled || (has(self.loadBalancers) && size(self.loadBalancers) > 0)",
            "is empty and autoCreate.enabled is false: the pool would never have a port",
            "loadBalancers",
        ),
        rule(
            "!self.autoCreate.enabled || !has(self.listenerQuota)",
            "is for existing load balancers: it cannot be set while autoCreate.enabled is true",
            "listenerQuota",
        ),
        rule(
            "!self.autoCreate.enabled || size(self.autoCreate.parameters.subnets) > 0",
            "parameters.subnets is empty: a load balancer needs at least one subnet",
            "autoCreate",
        ),
        rule(
            "has(self.listenerQuota) == has(oldSelf.listenerQuota)"
            " && (!has(self.listenerQuota) || self.listenerQuota == oldSelf.listenerQuota)",
            "is immutable",
            "listenerQuota",
        ),
        *(rule(f"self.{field} == oldSelf.{field}", "is immutable", field) for field in FIXED),
    ]


def record(fields: Mapping[str, str]) -> Json:
    return {"type": "object", "properties": {name: {"type": kind} for name, kind in fields.items()}}


def status() -> Json:
    """See domain.ports.pool_status, which fills it."""
    counts = ("epoch", "observedGeneration", "capacity", "allocated", "waiting")
    schema = record({"state": "string", **dict.fromkeys(counts, "integer")})
    schema["properties"]["loadBalancers"] = {"type": "array", "items": record(LOAD_BALANCER)}
    schema["properties"]["conditions"] = {"type": "array", "items": record(CONDITION)}
    return schema


def port_pool() -> Json:
    spec = {**structural(PortPoolSpec.model_json_schema(by_alias=True)), "x-kubernetes-validations": rules()}
    version = {
        "name": "v1alpha1",
        "served": True,
        "storage": True,
        "subresources": {"status": {}},
        "additionalPrinterColumns": [{"name": n, "type": t, "jsonPath": p} for n, t, p in COLUMNS],
        "schema": {
            "openAPIV3Schema": {
                "type": "object",
                "required": ["spec"],
                "properties": {
                    "apiVersion": {"type": "string"},
                    "kind": {"type": "string"},
                    "metadata": {"type": "object"},
                    "spec": spec,
                    "status": status(),
                },
            }
        },
    }
    names = {"kind": "PortPool", "listKind": "PortPoolList", "plural": "portpools", "singular": "portpool"}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "portpools.berthmaster.dev"},
        "spec": {
            "group": "berthmaster.dev",
            "scope": "Cluster",
            "names": {**names, "shortNames": ["pp"]},
            "versions": [version],
        },
    }


def definitions() -> dict[str, Json]:
    """What each file of deploy/crds holds."""
    return {"portpools.yaml": port_pool()}


def stale(folder: Path) -> list[str]:
    """The files that do not say what the models say; the order of keys does not matter."""
    wanted = definitions()
    there = {path.name: yaml.safe_load(path.read_text(encoding="utf-8")) for path in folder.glob("*.yaml")}
    return sorted(name for name in wanted.keys() | there.keys() if wanted.get(name) != there.get(name))


def write(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name, definition in definitions().items():
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
