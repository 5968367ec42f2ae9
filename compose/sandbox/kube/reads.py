"""Lists: selected, in pages, at one version."""

from __future__ import annotations

import base64
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any

import orjson

from compose.sandbox.kube.kinds import ServedKind
from compose.sandbox.kube.refusal import ApiRefusal, bad_request
from compose.sandbox.kube.selectors import Selection
from compose.sandbox.kube.storage import Name, Store, StoredObject

Json = dict[str, Any]


@dataclass(frozen=True)
class Page:
    """A page of a list."""

    items: list[StoredObject]
    version: int
    next: str
    """Token of the next page, '' on the last page."""
    remaining: int
    """Number of objects after the page. 0 with a selector means unknown, as in the real API."""

    def data(self, kind: ServedKind) -> bytes:
        """Return the JSON of the page."""
        metadata: Json = {"resourceVersion": str(self.version)}
        if self.next:
            metadata |= {"continue": self.next} | ({"remainingItemCount": self.remaining} if self.remaining else {})
        head = orjson.dumps({"kind": f"{kind.name}List", "apiVersion": kind.api_version, "metadata": metadata})
        return head[:-1] + b',"items":[' + b",".join(item.data for item in self.items) + b"]}"


def page(store: Store, kind: ServedKind, selection: Selection, query: Mapping[str, str]) -> Page:
    """Return a page of a list. Raises 400, 410 for an expired token or exact version, or 504 for a future version."""
    limit = number(query, "limit")
    version, after = read_token(query["continue"]) if query.get("continue") else (exact(store, query), ("", ""))
    source: Iterable[StoredObject] = store.all(kind.key) if version is None else store.at(kind.key, version)
    matching = (item for item in source if item.name > after and selection.matches(item))
    version = store.version if version is None else version
    if not limit:
        return Page(list(matching), version, "", 0)
    shown, more = list(islice(matching, limit)), list(islice(matching, None if selection.everything else 1))
    follows = token(version, shown[-1].name) if more else ""
    return Page(shown, version, follows, len(more) if selection.everything else 0)


def number(query: Mapping[str, str], name: str) -> int:
    """Return a number in a query, 0 if it is missing. Raises 400."""
    text = query.get(name) or "0"
    if not text.isdigit():
        raise bad_request(f'strconv.ParseInt: parsing "{text}": invalid syntax')
    return int(text)


def version_of(query: Mapping[str, str]) -> int:
    """Return the resourceVersion of a query, 0 if it is missing. Raises 500 if it is not a number."""
    text = query.get("resourceVersion") or "0"
    if not text.isdigit():
        raise ApiRefusal(500, "", f'resourceVersion: Invalid value: "{text}": must be a number')
    return int(text)


def exact(store: Store, query: Mapping[str, str]) -> int | None:
    """Return the version that a list must show, None for the present one. Raises 504 for a future version."""
    version = version_of(query)
    if version > store.version:
        raise ApiRefusal(504, "Timeout", f"Timeout: Too large resource version: {version}, current: {store.version}")
    return version if query.get("resourceVersionMatch") == "Exact" else None


def token(version: int, last: Name) -> str:
    """Return the `continue` token of a list at `version` whose page ends with `last`."""
    return base64.urlsafe_b64encode(orjson.dumps([version, *last])).decode()


def read_token(text: str) -> tuple[int, Name]:
    """Return the version and the last name in a `continue` token. Raises 400."""
    try:
        version, namespace, name = orjson.loads(base64.urlsafe_b64decode(text))
    except ValueError as error:
        raise bad_request(f"invalid continue token: continue key is not valid: {error}") from error
    return int(version), (namespace, name)
