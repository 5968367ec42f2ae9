"""Apply manifests to a cluster, as far as the sandbox and tests need it.

`python -m compose.sandbox.kube.apply FOLDER` does so with the settings of a worker, for compose/compose.yaml.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import yaml

from events.kube.api import AlreadyExists, Conflict, KubeApi, NotFound
from events.settings import ProcessSettings, settings_of

Json = dict[str, Any]
T = TypeVar("T")
PATIENCE = 20.0
"""Seconds within which a new kind must be served with its schema."""


def manifests(path: Path) -> list[Json]:
    """Return the objects of a file, or of all files of a folder in order of their names, without Kustomize files."""
    files = sorted(path.glob("*.yaml")) if path.is_dir() else [path]
    bodies = [body for file in files for body in yaml.safe_load_all(file.read_text()) if body]
    return [body for body in bodies if body["kind"] not in ("Kustomization", "Component")]


def collection(api: KubeApi, body: Json) -> str:
    """Return the path of the object's collection. Raises NotFound for a kind that is not served."""
    version = body["apiVersion"]
    root = f"/apis/{version}" if "/" in version else f"/api/{version}"
    for resource in api.get(root)["resources"]:
        if resource["kind"] == body["kind"] and "/" not in resource["name"]:
            namespace = body["metadata"].get("namespace", "default")
            return (
                f"{root}/namespaces/{namespace}/{resource['name']}"
                if resource["namespaced"]
                else f"{root}/{resource['name']}"
            )
    raise NotFound(404, "NotFound", f"no kind {body['kind']} in {version}")


def apply(api: KubeApi, bodies: Iterable[Json]) -> None:
    """Create or patch the objects in order. Waits until a new kind is served. Raises KubeError."""
    for body in bodies:
        path = waited_for(api, body)
        try:
            api.create(path, body)
        except AlreadyExists:
            change(api, f"{path}/{body['metadata']['name']}", body)
        for kind in kinds_of(body):
            waited_for(api, kind)
            patiently(partial(require_schema, api, kind))


def kinds_of(body: Json) -> list[Json]:
    """Return a stub object for each served version of a definition's kind. Other objects give an empty list."""
    if body["kind"] != "CustomResourceDefinition":
        return []
    group, kind = body["spec"]["group"], body["spec"]["names"]["kind"]
    served = (version["name"] for version in body["spec"]["versions"] if version["served"])
    return [{"apiVersion": f"{group}/{name}", "kind": kind, "metadata": {}} for name in served]


def change(api: KubeApi, path: str, body: Json) -> None:
    """Patch an object, a second time after a conflict."""
    try:
        api.patch(path, body)
    except Conflict:
        api.patch(path, body)  # the body names no version, so this try applies to the newer state


def waited_for(api: KubeApi, body: Json) -> str:
    """Wait until the object's kind is served, and return the path of its collection."""

    def path() -> str:
        kind_path = collection(api, body)
        api.get(kind_path, limit=1)
        return kind_path

    return patiently(path)


def require_schema(api: KubeApi, kind: Json) -> None:
    """Raise NotFound while the schema of the kind is missing. The real server publishes a kind before its schema."""
    version, name = kind["apiVersion"], kind["kind"]
    schemas = api.get(f"/openapi/v3/apis/{version}")["components"]["schemas"].values()
    served = (about for schema in schemas for about in schema.get("x-kubernetes-group-version-kind", ()))
    if all((f"{about['group']}/{about['version']}", about["kind"]) != (version, name) for about in served):
        raise NotFound(404, "NotFound", f"no schema of {name} in {version}")


def patiently(ask: Callable[[], T]) -> T:
    """Call `ask` until it raises no NotFound. Raises NotFound after `PATIENCE`."""
    deadline = time.monotonic() + PATIENCE
    while True:
        try:
            return ask()
        except NotFound:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.1)


def main(folder: str) -> None:
    """Apply the manifests of a folder. Raises KubeError."""
    with closing(KubeApi.connect(settings_of(ProcessSettings).kubernetes, "berthmaster-define")) as api:
        apply(api, manifests(Path(folder)))


if __name__ == "__main__":
    main(sys.argv[1])
