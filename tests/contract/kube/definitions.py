"""A kind made up for these tests, with everything in its schema that ours use."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from compose.sandbox.kube.apply import waited_for
from events.kube.api import KubeApi
from tests.fixtures.kube import Kube

Json = dict[str, Any]
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
SPEC: Json = {
    "type": "object",
    "required": ["size", "region"],
    "x-kubernetes-validations": [
        {"rule": "!has(self.end) || self.end > self.start", "message": "end must be greater than start"},
        {"rule": "self.region == oldSelf.region", "message": "region cannot be changed", "fieldPath": ".region"},
        {
            "rule": "has(self.pinned) == has(oldSelf.pinned)",
            "messageExpression": "'pinned stays in ' + self.region",
        },
    ],
    "properties": {
        "region": {"type": "string", "minLength": 1, "maxLength": 20, "pattern": "^[a-z]+-[0-9]$"},
        "size": {"type": "integer", "minimum": 1, "maximum": 50},
        "start": {"type": "integer", "default": 1},
        "end": {"type": "integer"},
        "pinned": {"type": "boolean"},
        "policy": {"type": "string", "enum": ["InOrder", "Random"], "default": "InOrder"},
        "share": {"type": "number", "minimum": 0, "exclusiveMinimum": True},
        "names": {"type": "array", "maxItems": 3, "x-kubernetes-list-type": "set", "items": {"type": "string"}},
        "labels": {"type": "object", "additionalProperties": {"type": "string"}},
        "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
        "port": {"x-kubernetes-int-or-string": True},
        "inner": {
            "type": "object",
            "default": {},
            "properties": {"wait": {"type": "string", "default": "5m"}, "times": {"type": "integer", "nullable": True}},
        },
    },
}
STATUS: Json = {
    "type": "object",
    "properties": {"state": {"type": "string"}, "replicas": {"type": "integer"}, "selector": {"type": "string"}},
}


def definition(plural: str, kind: str) -> Json:
    schema = {"type": "object", "required": ["spec"], "properties": {"spec": SPEC, "status": STATUS}}
    scale = {
        "specReplicasPath": ".spec.size",
        "statusReplicasPath": ".status.replicas",
        "labelSelectorPath": ".status.selector",
    }
    version = {
        "name": "v1alpha1",
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": schema},
        "subresources": {"status": {}, "scale": scale},
        "additionalPrinterColumns": [{"name": "State", "type": "string", "jsonPath": ".status.state"}],
    }
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.things.dev"},
        "spec": {
            "group": "things.dev",
            "scope": "Namespaced",
            "names": {"plural": plural, "singular": kind.lower(), "kind": kind, "shortNames": [plural[:8]]},
            "versions": [version],
        },
    }


@dataclass(frozen=True)
class Thing:
    """A kind of its own, served."""

    plural: str
    kind: str

    def path(self, kube: Kube, name: str = "") -> str:
        return kube.path(self.plural, name, group="things.dev/v1alpha1")

    def body(self, name: str = "a", **spec: Any) -> Json:
        head = {"apiVersion": "things.dev/v1alpha1", "kind": self.kind, "metadata": {"name": name}}
        return {**head, "spec": {"size": 3, "region": "eu-1", **spec}}


@contextmanager
def served_thing(api: KubeApi) -> Iterator[Thing]:
    mark = secrets.token_hex(3)
    thing = Thing(f"t{mark}s", f"T{mark}")
    api.create(DEFINITIONS, definition(thing.plural, thing.kind))
    waited_for(api, thing.body())
    yield thing
    api.delete(f"{DEFINITIONS}/{thing.plural}.things.dev")
