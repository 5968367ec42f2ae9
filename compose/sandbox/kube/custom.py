"""Custom resources: what a CustomResourceDefinition registers, and how its objects are admitted."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from compose.sandbox.kube.kinds import EVERYWHERE, ServedKind
from compose.sandbox.kube.pruning import defaulted, pruned
from compose.sandbox.kube.refusal import bad_request, invalid
from compose.sandbox.kube.rules import all_rules, broken, compiled
from compose.sandbox.kube.schema import faults

Json = dict[str, Any]


def kinds_of(definition: Json) -> Iterator[ServedKind]:
    """Yield a kind for each served version. The definition has passed `check_definition`."""
    spec = definition["spec"]
    names = spec["names"]
    for version in spec["versions"]:
        if not version.get("served"):
            continue
        subresources = version.get("subresources") or {}
        selectable = {entry["jsonPath"].removeprefix(".") for entry in version.get("selectableFields") or ()}
        yield ServedKind(
            spec["group"],
            version["name"],
            names["plural"],
            names["kind"],
            namespaced=spec["scope"] == "Namespaced",
            status="status" in subresources,
            unversioned_update=False,
            fields=EVERYWHERE | selectable,
            short_names=tuple(names.get("shortNames") or ()),
            categories=tuple(names.get("categories") or ()),
            schema=(version.get("schema") or {}).get("openAPIV3Schema") or {},
            columns=tuple(version.get("additionalPrinterColumns") or ()),
            scale=subresources.get("scale"),
        )


def check_definition(definition: Json) -> None:
    """Raise 422 for an unusable definition: a wrong name, no stored version, a rule that does not compile."""
    spec = definition.get("spec") or {}
    name, versions = definition["metadata"]["name"], spec.get("versions") or []
    plural = (spec.get("names") or {}).get("plural")
    wrong = [
        f"spec.{field}: Required value" for field in ("group", "names", "scope", "versions") if not spec.get(field)
    ]
    if name != f"{plural}.{spec.get('group')}":
        wrong.append(f'metadata.name: Invalid value: "{name}": must be spec.names.plural+"."+spec.group')
    if versions and sum(bool(version.get("storage")) for version in versions) != 1:
        wrong.append("spec.versions: Invalid value: must have exactly one version marked as storage version")
    for index, version in enumerate(versions):
        wrong += schema_faults(f"spec.versions[{index}].schema.openAPIV3Schema", version.get("schema") or {})
    if wrong:
        raise invalid("CustomResourceDefinition.apiextensions.k8s.io", name, wrong)


def schema_faults(path: str, schema: Json) -> Iterator[str]:
    """Yield what is wrong with the schema of one version."""
    if "openAPIV3Schema" not in schema:
        yield f"{path}: Required value: schemas are required"
        return
    for rule in all_rules(schema["openAPIV3Schema"]):
        try:
            compiled(rule)
        except ValueError as error:
            yield f"{path}: Invalid value: {rule!r}: compilation failed: {error}"


def established(definition: Json) -> Json:
    """Return the status of a definition whose kind is served."""
    names, versions = definition["spec"]["names"], definition["spec"]["versions"]
    created_at = definition["metadata"]["creationTimestamp"]
    conditions = [
        {"type": kind, "status": "True", "reason": reason, "message": "", "lastTransitionTime": created_at}
        for kind, reason in (("NamesAccepted", "NoConflicts"), ("Established", "InitialNamesAccepted"))
    ]
    accepted = {"singular": names["kind"].lower(), "listKind": f"{names['kind']}List", **names}
    stored = [version["name"] for version in versions if version["storage"]]
    return {"conditions": conditions, "acceptedNames": accepted, "storedVersions": stored}


def admitted(kind: ServedKind, body: Json, old: Json | None, strict: bool) -> Json:
    """Return the object as it is stored. Raises 400 (unknown fields, if `strict`) or 422."""
    schema, unknown = kind.schema or {}, list[str]()
    result: Json = defaulted(schema, pruned(schema, body, "", unknown, root=True))
    if strict and unknown:
        raise bad_request("strict decoding error: " + ", ".join(f'unknown field "{path}"' for path in unknown))
    wrong = list(faults(schema, result)) or list(broken(schema, result, old))
    if wrong:
        raise invalid(kind.title, body["metadata"]["name"], wrong)
    return result
