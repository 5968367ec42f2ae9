"""The metadata that the API server keeps: identity, generation, finalizers, times."""

from __future__ import annotations

import re
import secrets
import uuid
from datetime import UTC, datetime
from typing import Any, Final

from berthmaster.clock import wall_clock
from compose.sandbox.kube.kinds import ServedKind
from compose.sandbox.kube.refusal import ApiRefusal, bad_request, conflict, invalid

Json = dict[str, Any]
ALPHABET: Final = "bcdfghjklmnpqrstvwxz2456789"
SUBDOMAIN: Final = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*"
SYSTEM: Final = ("uid", "creationTimestamp", "generation", "deletionTimestamp", "deletionGracePeriodSeconds")
"""Fields that no client can change."""


def timestamp(seconds_from_now: float = 0) -> str:
    """Return a time in the API's format, by default the present one."""
    return datetime.fromtimestamp(wall_clock().timestamp() + seconds_from_now, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def new_metadata(kind: ServedKind, namespace: str, given: Json) -> Json:
    """Return the metadata of a new object. Raises 400, 422, or 500 for a resourceVersion."""
    if given.get("resourceVersion"):
        raise ApiRefusal(500, "", "resourceVersion should not be set on objects to be created")
    if given.get("namespace", namespace) not in (namespace, ""):
        raise bad_request("the namespace of the provided object does not match the namespace sent on the request")
    prefix = given.get("generateName")
    name = given.get("name") or (prefix and prefix + "".join(secrets.choice(ALPHABET) for _ in range(5))) or ""
    check_name(kind, name)
    metadata = {key: value for key, value in given.items() if value not in (None, [], {}) and key not in SYSTEM}
    metadata |= {"name": name, "uid": str(uuid.uuid4()), "creationTimestamp": timestamp()}
    if kind.namespaced:
        metadata["namespace"] = namespace
    if kind.custom or kind.status:
        metadata["generation"] = 1
    return metadata


def check_name(kind: ServedKind, name: str) -> None:
    """Check the name of a new object. Raises 422."""
    if not name:
        raise invalid(kind.title, "", ["metadata.name: Required value: name or generateName is required"])
    allowed = r"[^/%]+" if kind.group == "rbac.authorization.k8s.io" else SUBDOMAIN
    if not re.fullmatch(allowed, name) or len(name) > 253:
        what = "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.'"
        raise invalid(kind.title, name, [f'metadata.name: Invalid value: "{name}": {what}'])


def check_same(kind: ServedKind, name: str, given: Json, old: Json) -> None:
    """Check that an update names the `old` object and its version. Raises 400, 409 or 422."""
    if given.get("name", name) != name:
        raise bad_request(f"the name of the object ({given['name']}) does not match the name on the URL ({name})")
    if given.get("namespace", old.get("namespace")) != old.get("namespace"):
        raise bad_request("the namespace of the provided object does not match the namespace sent on the request")
    if not given.get("resourceVersion") and not kind.unversioned_update:
        cause = "metadata.resourceVersion: Invalid value: 0: must be specified for an update"
        raise invalid(kind.resource, name, [cause])
    if given.get("resourceVersion") not in (None, "", old["resourceVersion"]):
        raise conflict(kind.resource, name)
    if given.get("uid") not in (None, "", old["uid"]):
        why = f"Precondition failed: UID in precondition: {given['uid']}, UID in object meta: {old['uid']}"
        raise conflict(kind.resource, name, why)


def check_preconditions(kind: ServedKind, options: Json, old: Json) -> None:
    """Check the preconditions of a deletion. Raises 409."""
    for field, key, word in (("uid", "uid", "UID"), ("resourceVersion", "resourceVersion", "ResourceVersion")):
        wanted = (options.get("preconditions") or {}).get(field)
        if wanted is not None and wanted != old[key]:
            why = f"the {word} in the precondition ({wanted}) does not match the {word} in record ({old[key]})"
            raise conflict(kind.name, old["name"], why)


def kept_metadata(kind: ServedKind, given: Json, old: Json) -> Json:
    """Return the metadata after an update: names, version and `SYSTEM` of `old`, the rest of `given`. Raises 422."""
    added = set(given.get("finalizers") or ()) - set(old.get("finalizers") or ())
    if old.get("deletionTimestamp") and added:
        why = "no new finalizers can be added if the object is being deleted, found new finalizers "
        raise invalid(kind.title, old["name"], [f"metadata.finalizers: Forbidden: {why}{sorted(added)}"])
    metadata = {key: value for key, value in given.items() if value not in (None, [], {}) and key not in SYSTEM}
    metadata |= {key: old[key] for key in SYSTEM if key in old}
    return metadata | {key: old[key] for key in ("name", "namespace", "resourceVersion") if key in old}
