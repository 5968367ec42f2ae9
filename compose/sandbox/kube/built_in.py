"""Checks and defaults of built-in kinds, as far as they matter in the sandbox."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from compose.sandbox.kube.custom import check_definition, established
from compose.sandbox.kube.kinds import DEFINITIONS, PODS, KindKey, ServedKind
from compose.sandbox.kube.refusal import bad_request, invalid

Json = dict[str, Any]
LEASES: Final[KindKey] = ("coordination.k8s.io", "leases")
EVENTS: Final[KindKey] = ("", "events")
MUTABLE_POD_FIELDS: Final = ("activeDeadlineSeconds", "tolerations", "terminationGracePeriodSeconds", "schedulingGates")
CLEAN_UP: Final = "customresourcecleanup.apiextensions.k8s.io"
"""Finalizer that keeps a definition until its objects are gone."""
IMMUTABLE_POD: Final = (
    "spec: Forbidden: pod updates may not change fields other than `spec.containers[*].image`,"
    "`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing "
    "tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)"
)


def filled(kind: ServedKind, body: Json) -> Json:
    """Return a new object with the defaults of its kind. The `metadata` of `body` is complete already."""
    match kind.key:
        case ("", "pods"):
            spec = {
                "restartPolicy": "Always",
                "terminationGracePeriodSeconds": 30,
                "schedulerName": "default-scheduler",
            }
            return {
                **body,
                "spec": {**spec, **(body.get("spec") or {})},
                "status": {"phase": "Pending", "qosClass": "BestEffort"},
            }
        case ("", "namespaces"):
            labels = {**(body["metadata"].get("labels") or {}), "kubernetes.io/metadata.name": body["metadata"]["name"]}
            metadata = {**body["metadata"], "labels": labels}
            return {**body, "metadata": metadata, "spec": {"finalizers": ["kubernetes"]}, "status": {"phase": "Active"}}
        case ("", "events"):
            return {"firstTimestamp": None, "lastTimestamp": None, "eventTime": None, "source": {}, **body}
        case ("apiextensions.k8s.io", "customresourcedefinitions"):
            check_definition(body)
            metadata = {**body["metadata"], "finalizers": [CLEAN_UP]}
            return {**body, "metadata": metadata, "status": established(body)}
    return {key: value for key, value in body.items() if key != "status" or not kind.status}


def check(kind: ServedKind, body: Json, old: Json | None) -> None:
    """Check an object of a built-in kind. Raises 400 or 422."""
    rule = RULES.get(kind.key)
    wrong = list(rule(body, old)) if rule else []
    if wrong:
        raise invalid(kind.title, body["metadata"]["name"], wrong)


def pod_faults(body: Json, old: Json | None) -> Iterator[str]:
    """Yield what is wrong with a pod. An update may change only images and `MUTABLE_POD_FIELDS`."""
    spec = body.get("spec") or {}
    if not spec.get("containers"):
        yield "spec.containers: Required value"
    for index, container in enumerate(spec.get("containers") or ()):
        for field in ("name", "image"):
            if not container.get(field):
                yield f"spec.containers[{index}].{field}: Required value"
    if old is not None and fixed_part(spec) != fixed_part(old["spec"]):
        yield IMMUTABLE_POD


def fixed_part(spec: Json) -> Json:
    """Return the part of a pod's spec that no update may change, with the images emptied."""
    images = {"containers", "initContainers"}
    fixed = {key: value for key, value in spec.items() if key not in MUTABLE_POD_FIELDS}
    for key in images & fixed.keys():
        fixed[key] = [{**container, "image": ""} for container in fixed[key]]
    return fixed


def event_faults(body: Json, old: Json | None) -> Iterator[str]:
    """Yield a fault for a new Event whose object is in another namespace."""
    about = (body.get("involvedObject") or {}).get("namespace") or "default"
    if old is None and about != body["metadata"]["namespace"]:
        yield f'involvedObject.namespace: Invalid value: "{about}": does not match event.namespace'


def lease_faults(body: Json, _old: Json | None) -> Iterator[str]:
    """Yield what is wrong with a Lease. Raises 400 for a holder that is not a string."""
    spec = body.get("spec") or {}
    holder = spec.get("holderIdentity")
    if holder is not None and not isinstance(holder, str):
        raise bad_request(
            "Lease in version v1 cannot be handled as a Lease: spec.holderIdentity must be of type string"
        )
    for field, least in (("leaseDurationSeconds", 1), ("leaseTransitions", 0)):
        value = spec.get(field)
        if value is not None and value < least:
            yield f"spec.{field}: Invalid value: {value}: must be greater than {'or equal to ' if not least else ''}0"


def definition_faults(body: Json, old: Json | None) -> Iterator[str]:
    """Check the new version of a definition. Raises 422 and yields nothing."""
    if old is not None:
        check_definition(body)
    yield from ()


RULES: Final[Mapping[KindKey, Callable[[Json, Json | None], Iterator[str]]]] = {
    PODS: pod_faults,
    EVENTS: event_faults,
    LEASES: lease_faults,
    DEFINITIONS: definition_faults,
}
PERMANENT_NAMESPACES: Final = ("default", "kube-system", "kube-public", "kube-node-lease")
