"""Discovery: enough for kubectl and for clients that look up a kind before they use it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Final

from compose.sandbox.kube.kinds import ALL_VERBS, Kinds, ServedKind

Json = dict[str, Any]
VERSION: Final = {
    "major": "1",
    "minor": "37",
    "gitVersion": "v1.37.0-sandbox",
    "platform": "sandbox",
    "compiler": "none",
}
FIXED: Final[dict[str, Json]] = {
    "/version": VERSION,
    "/api": {"kind": "APIVersions", "versions": ["v1"], "serverAddressByClientCIDRs": []},
}


def discovered(kinds: Kinds, path: str) -> Json | None:
    """Return the answer to a GET of a discovery path, or None for other paths."""
    if path in FIXED:
        return FIXED[path]
    if path.startswith("/openapi/v3"):
        return openapi(kinds, path.removeprefix("/openapi/v3").strip("/"))
    parts = path.strip("/").split("/")
    return discovered_groups(kinds, parts) if len(parts) <= 3 else None


def discovered_groups(kinds: Kinds, path: list[str]) -> Json | None:
    """Return the answer about groups and their resources, or None. `path`: its parts."""
    groups = kinds.groups()
    match path:
        case ["api", "v1"]:
            return resources(kinds, "", "v1")
        case ["apis"]:
            listed = [group(name, versions) for name, versions in groups.items() if name]
            return {"kind": "APIGroupList", "apiVersion": "v1", "groups": listed}
        case ["apis", name] if name in groups:
            return {"kind": "APIGroup", "apiVersion": "v1", **group(name, groups[name])}
        case ["apis", name, version] if version in groups.get(name, ()):
            return resources(kinds, name, version)
    return None


def openapi(kinds: Kinds, root: str) -> Json | None:
    """Return the OpenAPI index (root '') or the document of a version. None: the version is not served.

    A document says that PATCH accepts `fieldValidation` (kubectl asks before it writes), and has the schemas of custom
    kinds.
    """
    roots = {
        f"apis/{name}/{version}" if name else "api/v1" for name, listed in kinds.groups().items() for version in listed
    }
    if not root:
        return {"paths": {path: {"serverRelativeURL": f"/openapi/v3/{path}"} for path in sorted(roots)}}
    if root not in roots:
        return None
    name, version = ("", "v1") if root == "api/v1" else root.split("/")[1:]
    paths = {
        f"/{root}/{kind.plural}/{{name}}": {"patch": patch_operation(kind)} for kind in kinds.in_version(name, version)
    }
    about = {"openapi": "3.0.0", "info": {"title": "Kubernetes", "version": "v1.37.0"}}
    return {**about, "paths": paths, "components": {"schemas": dict(schemas(kinds.in_version(name, version)))}}


def schemas(listed: Iterable[ServedKind]) -> Iterator[tuple[str, Json]]:
    """Yield name and schema of each custom kind."""
    for kind in listed:
        if kind.schema:
            about = {"group": kind.group, "version": kind.version, "kind": kind.name}
            name = ".".join([*reversed(kind.group.split(".")), kind.version, kind.name])
            yield name, {**kind.schema, "x-kubernetes-group-version-kind": [about]}


def patch_operation(kind: ServedKind) -> Json:
    """Return the OpenAPI operation of a patch, with the parameter `fieldValidation`."""
    parameter = {"name": "fieldValidation", "in": "query", "schema": {"type": "string"}}
    about = {"group": kind.group, "version": kind.version, "kind": kind.name}
    return {"parameters": [parameter], "responses": {}, "x-kubernetes-group-version-kind": about}


def group(name: str, versions: list[str]) -> Json:
    """Return the entry of an API group. Its first version is the preferred one."""
    listed = [{"groupVersion": f"{name}/{version}", "version": version} for version in versions]
    return {"name": name, "versions": listed, "preferredVersion": listed[0]}


def resources(kinds: Kinds, name: str, version: str) -> Json:
    """Return the resources of one version of a group."""
    listed = [entry for kind in kinds.in_version(name, version) for entry in entries(kind)]
    group_version = f"{name}/{version}" if name else version
    return {"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": group_version, "resources": listed}


def entries(kind: ServedKind) -> Iterator[Json]:
    """Yield the entries of a kind and of its subresources `status` and `scale`."""
    about = {"singularName": kind.name.lower(), "namespaced": kind.namespaced, "kind": kind.name}
    extra = {"shortNames": list(kind.short_names), "categories": list(kind.categories)}
    yield {
        "name": kind.plural,
        **about,
        "verbs": list(ALL_VERBS),
        **{key: value for key, value in extra.items() if value},
    }
    if kind.status:
        yield {"name": f"{kind.plural}/status", **about, "verbs": ["get", "patch", "update"]}
    if kind.scale:
        scale = {"group": "autoscaling", "version": "v1", "kind": "Scale", "verbs": ["get", "patch", "update"]}
        yield {"name": f"{kind.plural}/scale", **about, **scale}
