"""SelfSubjectAccessReview: answer whether the caller may do something."""

from __future__ import annotations

from typing import Any, Final

from compose.sandbox.kube.access import ADMIN, Access
from compose.sandbox.kube.api import parsed_object
from compose.sandbox.kube.faults import ApiCall
from compose.sandbox.kube.refusal import invalid

Json = dict[str, Any]
REVIEWS: Final = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
HEAD: Final = {"kind": "SelfSubjectAccessReview", "apiVersion": "authorization.k8s.io/v1", "metadata": {}}
WHICH: Final = (
    "spec.resourceAttributes: Invalid value: "
    "exactly one of nonResourceAttributes or resourceAttributes must be specified"
)


def review(access: Access, user: str, client: str, body: bytes) -> Json:
    """Return the review with its answer. Every user may ask. Raises 400 or 422."""
    spec = parsed_object(body).get("spec") or {}
    asked, path = spec.get("resourceAttributes"), spec.get("nonResourceAttributes")
    if (asked is None) == (path is None):
        raise invalid("SelfSubjectAccessReview.authorization.k8s.io", "", [WHICH])
    allowed = user == ADMIN if asked is None else access.would_allow(call_of(asked, client, user))
    return {**HEAD, "spec": spec, "status": {"allowed": allowed}}


def call_of(asked: Json, client: str, user: str) -> ApiCall:
    """Return the call that a review asks about."""
    resource = "/".join(filter(None, (asked.get("resource", ""), asked.get("subresource", ""))))
    place = (asked.get("namespace", ""), asked.get("name", ""))
    return ApiCall(asked.get("verb", ""), asked.get("group", ""), resource, *place, client, user)
