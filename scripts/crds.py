"""Write deploy/crds from the models of the domain: `make crds`. `--check` only reports whether they are current.

The models are the one source of declaration, validation and documentation: the API server refuses what a worker would
refuse, with the name of the field, before anything is stored.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import yaml

from berthmaster.kinds import OUR_KINDS, ResourceKind
from domain.definitions import Definition, NameLimit, definition_of
from scripts.structural_schema import opened, structural

Json = dict[str, Any]
HEADER: Final = "# Written by `make crds` from the models in domain/. Do not edit.\n"


def custom_resource(kind: ResourceKind) -> Json:
    """Return the CustomResourceDefinition. Raises LookupError for a kind without a definition."""
    definition = definition_of(kind)
    names = {"kind": kind.name, "listKind": f"{kind.name}List", "plural": kind.plural, "singular": kind.prefix}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{kind.plural}.{kind.group}"},
        "spec": {
            "group": kind.group,
            "scope": "Namespaced" if kind.namespaced else "Cluster",
            "names": names | ({"shortNames": list(definition.short_names)} if definition.short_names else {}),
            "versions": [_version(kind.version, definition)],
        },
    }


def _version(name: str, definition: Definition) -> Json:
    return {
        "name": name,
        "served": True,
        "storage": True,
        "subresources": _subresources(definition.replicas_path),
        "additionalPrinterColumns": [{"name": n, "type": t, "jsonPath": p} for n, t, p in definition.columns],
        "schema": {"openAPIV3Schema": _schema(definition)},
    }


def _subresources(replicas_path: str | None) -> Json:
    if replicas_path is None:
        return {"status": {}}
    scale = {
        "specReplicasPath": replicas_path,
        "statusReplicasPath": ".status.replicas",
        "labelSelectorPath": ".status.labelSelector",
    }
    return {"status": {}, "scale": scale}


def _schema(definition: Definition) -> Json:
    spec = structural(definition.spec.model_json_schema(by_alias=True))
    status = opened(structural(definition.status.model_json_schema(by_alias=True)))
    for path, validations in definition.nested_validations:
        _schema_at(spec, path)["x-kubernetes-validations"] = validations()
    return {
        "description": spec["description"],
        "type": "object",
        "required": ["spec"],
        "properties": {
            "apiVersion": {"type": "string"},
            "kind": {"type": "string"},
            "metadata": {"type": "object"},
            "spec": {**spec, "x-kubernetes-validations": definition.validations()},
            "status": status,
        },
        **({"x-kubernetes-validations": [_name_rule(limit)]} if (limit := definition.name_limit) else {}),
    }


def _schema_at(schema: Json, path: tuple[str, ...]) -> Json:
    for name in path:
        schema = schema["properties"][name]
    return schema


def _name_rule(limit: NameLimit) -> Json:
    most = limit.characters
    message = f"metadata.name has more than {most} characters: {limit.why}"
    return {"rule": f"size(self.metadata.name) <= {most}", "message": message}


def definitions() -> dict[str, Json]:
    """Return the content of each file of deploy/crds."""
    return {f"{crd['metadata']['name']}.yaml": crd for crd in map(custom_resource, OUR_KINDS)}


def files() -> dict[str, Json]:
    """Return the content of each file: the definitions, and the kustomization that `kubectl apply -k` reads."""
    crds = definitions()
    head = {"apiVersion": "kustomize.config.k8s.io/v1beta1", "kind": "Kustomization"}
    return {**crds, "kustomization.yaml": {**head, "resources": sorted(crds)}}


def stale(folder: Path) -> list[str]:
    """Return the files that differ from the models; the order of keys does not matter."""
    wanted = files()
    there = {path.name: yaml.safe_load(path.read_text(encoding="utf-8")) for path in folder.glob("*.yaml")}
    return sorted(name for name in wanted.keys() | there.keys() if wanted.get(name) != there.get(name))


def write(folder: Path) -> None:
    """Write all files into the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, definition in files().items():
        text = yaml.safe_dump(definition, sort_keys=False, width=120)
        (folder / name).write_text(HEADER + text, encoding="utf-8")


def main(folder: Path, arguments: Sequence[str]) -> int:
    """Return the exit status: 1 if a file differs from the models."""
    if "--check" not in arguments:
        write(folder)
    wrong = stale(folder)
    print(f"crds: {'not as the models say, run make crds: ' + ', '.join(wrong) if wrong else 'as the models say'}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(Path(__file__).parent.parent / "deploy" / "crds", sys.argv[1:]))
