"""Parse the method and path of a request. Only this module knows the paths of the API."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from compose.sandbox.kube.kinds import Kinds, ServedKind
from compose.sandbox.kube.refusal import method_not_allowed, no_resource

COLLECTION: Final = {"GET": "list", "POST": "create", "DELETE": "deletecollection"}
OBJECT: Final = {"GET": "get", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}
SUBRESOURCES: Final = ("status", "scale", "binding", "finalize")


@dataclass(frozen=True)
class RequestTarget:
    """What a request is about. `name` and `subresource` may be ''; `namespace` '' means none or all."""

    kind: ServedKind
    verb: str
    namespace: str
    name: str
    subresource: str

    @property
    def resource(self) -> str:
        """The resource as roles name it: the plural, with `/subresource` where there is one."""
        return f"{self.kind.plural}/{self.subresource}" if self.subresource else self.kind.plural


def target_of(kinds: Kinds, method: str, path: str, query: Mapping[str, str]) -> RequestTarget:
    """Return what a request is about. Raises 404 if the path is not served, 405 if it does not allow the method."""
    group, version, rest = api_of(path)
    namespace = ""
    if rest[:1] == ["namespaces"] and len(rest) >= 3 and rest[2] not in SUBRESOURCES:
        namespace, rest = rest[1], rest[2:]
    if not 1 <= len(rest) <= 3:
        raise no_resource()
    plural, name, subresource = [*rest, "", ""][:3]
    kind = kinds.find(group, version, plural)
    if kind is None or not fits(kind, namespace, name) or not has(kind, subresource):
        raise no_resource()
    return RequestTarget(kind, verb_of(method, name, subresource, query), namespace, name, subresource)


def api_of(path: str) -> tuple[str, str, list[str]]:
    """Split a path into group, version and the remaining parts. Raises 404."""
    match path.strip("/").split("/"):
        case ["api", version, *rest]:
            return "", version, rest
        case ["apis", group, version, *rest]:
            return group, version, rest
    raise no_resource()


def fits(kind: ServedKind, namespace: str, name: str) -> bool:
    """Return whether the path fits the scope: a namespaced object needs a namespace, its collection does not."""
    return not namespace if not kind.namespaced else bool(namespace or not name)


def has(kind: ServedKind, subresource: str) -> bool:
    """Return whether a kind has a subresource; '' stands for the object itself."""
    match subresource:
        case "":
            return True
        case "status":
            return kind.status
        case "scale":
            return kind.scale is not None
        case "binding":
            return kind.name == "Pod"
    return False


def verb_of(method: str, name: str, subresource: str, query: Mapping[str, str]) -> str:
    """Return the verb of a request. Raises 405."""
    if subresource == "binding" and method == "POST":
        return "create"
    verb = (OBJECT if name else COLLECTION).get(method)
    if verb is None or (subresource and verb == "delete"):
        raise method_not_allowed()
    if method == "GET" and query.get("watch") in ("true", "1"):
        return "watch"
    return verb
