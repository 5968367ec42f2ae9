"""Collect the writes that the API server refuses for good, for the caller that reports them to people.

A caller may ignore such a refusal and continue; the refusal is collected all the same. Status 403 counts: rights and
admission change only when a person changes them.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Final, NamedTuple

from events.kube.errors import Denied, Invalid, KubeError

VERBS: Final = {"POST": "create", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}
UNAUTHORIZED: Final = 401
"""The credentials are invalid, whatever the write is."""


class RefusedWrite(NamedTuple):
    """A refused write. `resource`: the plural with its subresource; `name` is empty for a new object."""

    verb: str
    resource: str
    name: str
    error: KubeError

    def __str__(self) -> str:
        return f"Kubernetes refuses to {self.verb} {self.resource} {self.name}".rstrip() + f": {self.error}"


_REFUSED: Final[ContextVar[list[RefusedWrite] | None]] = ContextVar("refused_writes", default=None)


@contextmanager
def refused_writes() -> Iterator[list[RefusedWrite]]:
    """Collect the refused writes of this thread in the block, without those that `shown` drops."""
    refused: list[RefusedWrite] = []
    token = _REFUSED.set(refused)
    try:
        yield refused
    finally:
        _REFUSED.reset(token)


def refused_so_far() -> tuple[RefusedWrite, ...]:
    """Return the writes of this run that Kubernetes has refused."""
    return tuple(_REFUSED.get() or ())


def shown(error: KubeError) -> None:
    """Drop a refusal that an object shows to people already."""
    refused = _REFUSED.get() or []
    refused[:] = [refusal for refusal in refused if refusal.error is not error]


def note_refusal(method: str, path: str, error: KubeError) -> None:
    """Collect a write that was denied or invalid, inside `refused_writes` only."""
    refused, verb = _REFUSED.get(), VERBS.get(method)
    if refused is not None and verb and isinstance(error, Denied | Invalid) and error.status != UNAUTHORIZED:
        refused.append(RefusedWrite(verb, *_parts(path), error))


def _parts(path: str) -> tuple[str, str]:
    """Return resource and name of a whole path."""
    parts = path.strip("/").split("/")
    rest = parts[2:] if parts[0] == "api" else parts[3:]
    plural, name, subresource, *_ = [*(rest[2:] if rest[0] == "namespaces" and len(rest) > 2 else rest), "", ""]
    return (f"{plural}/{subresource}" if subresource else plural), name
