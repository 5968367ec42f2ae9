"""What the files of deploy/ say where a value of the chart is null, for values.yaml and the page of the reference."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any, Final

import yaml

Json = dict[str, Any]
DEPLOY: Final = Path(__file__).parent.parent / "deploy"
FILES: Final = ("base/*.yaml", "components/redis/*.yaml", "components/keda/scaled-object.yaml")
PARTS: Final = {
    "podDisruptionBudget": ("PodDisruptionBudget", "spec"),
    "serviceAccount": ("ServiceAccount", "metadata"),
}
"""Group of values -> the kind that it is about, and the part of such an object that has its values."""


@cache
def manifests() -> dict[tuple[str, str], Json]:
    """Return the objects of those files by kind and name."""
    texts = (path.read_text(encoding="utf-8") for pattern in FILES for path in sorted(DEPLOY.glob(pattern)))
    bodies = [body for text in texts for body in yaml.safe_load_all(text) if body and "metadata" in body]
    return {(body["kind"], body["metadata"]["name"]): body for body in bodies}


def deployed(path: tuple[str, ...]) -> Any:
    """Return what the files of deploy/ have for a value of the chart, None for nothing."""
    match path:
        case ("secretName",):
            sources = container("worker")["envFrom"]
            return next(source["secretRef"]["name"] for source in sources if "secretRef" in source)
        case ("keda", name):
            scaling = manifests()["ScaledObject", "worker"]["spec"]
            return (scaling | scaling["triggers"][0]["metadata"]).get(name)
        case (process, ("podDisruptionBudget" | "serviceAccount") as group, name):
            kind, part = PARTS[group]
            return manifests()[kind, process][part].get(name)
        case (("publisher" | "worker" | "beat" | "flower" | "redis") as process, name):
            return of_process(process, name)
    return None


def of_process(process: str, name: str) -> Any:
    """Return what a Deployment or StatefulSet has, its disk, its pod or its container; None for nothing."""
    spec, pod = maker(process)["spec"], maker(process)["spec"]["template"]["spec"]
    if name == "secretName":
        sources = (variable.get("valueFrom") for variable in container(process)["env"])
        return next(source["secretKeyRef"]["name"] for source in sources if source)
    if name == "storage":
        return spec["volumeClaimTemplates"][0]["spec"]["resources"]["requests"]["storage"]
    return next((part[name] for part in (spec, pod, container(process)) if name in part), None)


def maker(process: str) -> Json:
    """Return the Deployment or StatefulSet of a process."""
    return next(body for kind in ("Deployment", "StatefulSet") if (body := manifests().get((kind, process))))


def container(process: str) -> Json:
    """Return the container of a process."""
    body: Json = maker(process)["spec"]["template"]["spec"]["containers"][0]
    return body
