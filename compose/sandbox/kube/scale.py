"""The scale subresource of custom resources: replicas under a common name, wherever the object keeps them."""

from __future__ import annotations

from typing import Any

from compose.sandbox.kube.kinds import ServedKind
from compose.sandbox.kube.refusal import bad_request

Json = dict[str, Any]


def looked_up(body: Json, path: str | None) -> Any:
    """Return the value at a path such as `.spec.replicas`, None if it is missing."""
    value: Any = body
    for part in (path or "").strip(".").split("."):
        value = value.get(part) if isinstance(value, dict) else None
    return value


def to_scale(kind: ServedKind, body: Json) -> Json:
    """Return the Scale of an object."""
    paths, metadata = kind.scale or {}, body["metadata"]
    kept = {key: metadata[key] for key in ("name", "namespace", "uid", "resourceVersion") if key in metadata}
    status = {"replicas": looked_up(body, paths["statusReplicasPath"]) or 0}
    if selector := looked_up(body, paths.get("labelSelectorPath")):
        status["selector"] = selector
    return {
        "kind": "Scale",
        "apiVersion": "autoscaling/v1",
        "metadata": {**kept, "creationTimestamp": metadata["creationTimestamp"]},
        "spec": {"replicas": looked_up(body, paths["specReplicasPath"]) or 0},
        "status": status,
    }


def from_scale(kind: ServedKind, scale: Json, old: Json) -> Json:
    """Return a copy of the `old` object with the replicas and resourceVersion of its new scale. Raises 400."""
    replicas = (scale.get("spec") or {}).get("replicas", 0)
    if not isinstance(replicas, int) or replicas < 0:
        raise bad_request("spec.replicas: must be a number of 0 or more")
    version = (scale.get("metadata") or {}).get("resourceVersion") or old["metadata"]["resourceVersion"]
    changed = {**old, "metadata": {**old["metadata"], "resourceVersion": version}}
    *parents, last = (kind.scale or {})["specReplicasPath"].strip(".").split(".")
    place = changed
    for part in parents:
        place[part] = {**place.get(part, {})}
        place = place[part]
    place[last] = replicas
    return changed
