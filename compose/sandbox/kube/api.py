"""The verbs of the API, without HTTP."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import orjson

from compose.sandbox.kube.collect import Collector
from compose.sandbox.kube.kinds import Kinds
from compose.sandbox.kube.patch import patched
from compose.sandbox.kube.reads import Page, page, version_of
from compose.sandbox.kube.refusal import bad_request, conflict, invalid
from compose.sandbox.kube.routes import RequestTarget
from compose.sandbox.kube.scale import from_scale, to_scale
from compose.sandbox.kube.selectors import Selection
from compose.sandbox.kube.storage import Store, StoredObject
from compose.sandbox.kube.tables import table
from compose.sandbox.kube.writes import How, Writes

Json = dict[str, Any]
Query = Mapping[str, str]
Answer = tuple[int, bytes]
"""HTTP status and JSON."""


def how(query: Query) -> How:
    """Return the options of a write from its query."""
    return How(dry_run="All" in query.get("dryRun", ""), strict=query.get("fieldValidation") == "Strict")


def parsed(body: bytes) -> Any:
    """Parse JSON; an empty body gives {}. Raises 400."""
    try:
        return orjson.loads(body) if body else {}
    except orjson.JSONDecodeError as error:
        raise bad_request(f"the object provided is unrecognized: {error}") from error


def parsed_object(body: bytes) -> Json:
    """Parse a JSON object; an empty body gives {}. Raises 400."""
    document = parsed(body)
    if not isinstance(document, dict):
        raise bad_request("the object provided is unrecognized: it must be an object")
    return document


class Api:
    """The verbs on one store. A verb raises ApiRefusal."""

    def __init__(self, history: int) -> None:
        self.store, self.kinds = Store(history), Kinds()
        self.writes = Writes(self.store)
        self.collector = Collector(self.store, self.kinds, self.writes)

    def answer(self, target: RequestTarget, query: Query, body: bytes, content_type: str) -> Answer:
        """Answer any request but a watch. Raises ApiRefusal."""
        act: dict[str, Callable[[RequestTarget, Query, Any], Answer]] = {
            "get": self.get,
            "list": self.list,
            "create": self.bind if target.subresource == "binding" else self.create,
            "update": self.replace,
            "delete": self.delete,
            "deletecollection": self.delete_all,
        }
        if target.verb == "patch":
            return self.patch(target, query, parsed(body), content_type)
        return act[target.verb](target, query, parsed_object(body))

    def get(self, target: RequestTarget, _query: Query, _body: Json) -> Answer:
        """Answer with an object or its scale."""
        return self.shown(200, target, self.existing(target))

    def list(self, target: RequestTarget, query: Query, _body: Json) -> Answer:
        """Answer with a page of a collection."""
        return 200, self.page(target, query).data(target.kind)

    def bind(self, target: RequestTarget, _query: Query, body: Json) -> Answer:
        """Bind a pod to a node."""
        self.writes.bind(target.kind, target.namespace, target.name, body)
        return 201, orjson.dumps({"kind": "Status", "apiVersion": "v1", "status": "Success", "code": 201})

    def create(self, target: RequestTarget, query: Query, body: Json) -> Answer:
        """Create an object and answer with it."""
        return self.shown(201, target, self.writes.create(target.kind, target.namespace, body, how(query)))

    def patch(self, target: RequestTarget, query: Query, patch: Any, content_type: str) -> Answer:
        """Patch an object or a subresource. An old resourceVersion is a conflict."""
        old = self.existing(target).body
        current = to_scale(target.kind, old) if target.subresource == "scale" else old
        wanted = patched(current, patch, content_type)
        meant = wanted.get("metadata") or {}
        if meant.get("resourceVersion") not in (None, "", old["metadata"]["resourceVersion"]):
            raise conflict(target.kind.resource, target.name)
        if (uid := meant.get("uid")) != old["metadata"]["uid"]:
            cause = f'metadata.uid: Invalid value: "{uid}": field is immutable'
            raise invalid(target.kind.title, target.name, [cause])
        return self.replace(target, query, wanted)

    def existing(self, target: RequestTarget) -> StoredObject:
        """Return the object that a request names. Raises 404."""
        return self.writes.existing(target.kind, target.namespace, target.name)

    def selection(self, target: RequestTarget, query: Query) -> Selection:
        """Return the selection of a list, a watch or the deletion of a collection."""
        return Selection.parse(target.kind, target.namespace, target.name, query)

    def page(self, target: RequestTarget, query: Query) -> Page:
        """Return the page of a collection that a query asks for."""
        return page(self.store, target.kind, self.selection(target, query), query)

    def shown(self, status: int, target: RequestTarget, item: StoredObject) -> Answer:
        """Answer with an object, or with its scale for that subresource."""
        return status, orjson.dumps(to_scale(target.kind, item.body)) if target.subresource == "scale" else item.data

    def replace(self, target: RequestTarget, query: Query, body: Json) -> Answer:
        """Store the body of a PUT or the result of a patch."""
        subresource = target.subresource
        if subresource == "scale":
            body, subresource = from_scale(target.kind, body, self.existing(target).body), ""
        item = self.writes.replace(target.kind, target.namespace, target.name, subresource, body, how(query))
        return self.shown(200, target, item)

    def delete(self, target: RequestTarget, query: Query, body: Json) -> Answer:
        """Delete an object. Answers with the object that `Writes.delete` returns, or with a Status."""
        options = delete_options(query, body)
        old = self.existing(target)
        left = self.writes.delete(target.kind, target.namespace, target.name, options, how(query))
        if left is not None:
            return 200, left.data
        details = {
            "name": target.name,
            "group": target.kind.group,
            "kind": target.kind.plural,
            "uid": old.metadata["uid"],
        }
        success = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "details": details}
        return 200, orjson.dumps(success)

    def delete_all(self, target: RequestTarget, query: Query, body: Json) -> Answer:
        """Delete the objects on the page that a query asks for, and answer with them."""
        matches = self.page(target, query)
        for item in matches.items:
            self.writes.delete(target.kind, *item.name, delete_options(query, body), how(query))
        return 200, matches.data(target.kind)

    def table(self, target: RequestTarget, query: Query) -> bytes:
        """Return the answer to get or list as a table. Raises ApiRefusal."""
        if target.verb == "get":
            return orjson.dumps(table(target.kind, [self.existing(target)], self.store.version))
        matches = self.page(target, query)
        return orjson.dumps(table(target.kind, matches.items, matches.version))


def start_of_watch(query: Query) -> int | None:
    """Return the version after which a watch begins. None: the watch begins with the present objects."""
    return None if query.get("sendInitialEvents") == "true" else version_of(query) or None


def delete_options(query: Query, options: Json) -> Json:
    """Return the options of a deletion. The query's `gracePeriodSeconds` overrides that of the body."""
    if "gracePeriodSeconds" in query:
        options = {**options, "gracePeriodSeconds": int(query["gracePeriodSeconds"])}
    return options
