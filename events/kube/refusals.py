"""Writes that the API server refuses for good, collected for who tells people of them.

A caller may pass over such a refusal, because the rest of its work goes on; it is collected all the same. 403 is among
them: rights and admission change only when a person changes something.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Final, NamedTuple

from events.kube.errors import Denied, Invalid, KubeError

VERBS: Final = {"POST": "create", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}
UNAUTHORIZED: Final = 401
"""Says that we are nobody, whatever we write."""


class RefusedWrite(NamedTuple):
    """`resource`: the plural with its subresource; `name` is empty for a new object."""

    verb: str
    resource: str
    name: str
    error: KubeError

    def __str__(self) -> str:
        return f"Kubernetes refuses to {self.verb} {self.resource} {self.name}".rstrip() + f": {self.error}"


_REFUSED: Final[ContextVar[list[RefusedWrite] | None]] = ContextVar("refused_writes", default=None)


@contextmanager
def refused_writes() -> Iterator[list[RefusedWrite]]:
    """Those of this thread in the block, as they come; what the block shows to people itself is taken off."""
    refused: list[RefusedWrite] = []
    token = _REFUSED.set(refused)
    try:
        yield refused
    finally:
        _REFUSED.reset(token)


def refused_so_far() -> tuple[RefusedWrite, ...]:
    """The writes of this run that Kubernetes has refused."""
    return tuple(_REFUSED.get() or ())


def shown(error: KubeError) -> None:
    """Drop a refusal that people see on an object already."""
    refused = _REFUSED.get() or []
    refused[:] = [refusal for refusal in refused if refusal.error is not error]


def note_refusal(method: str, path: str, error: KubeError) -> None:
    """Remember a write that was denied or invalid, if somebody collects them."""
    refused, verb = _REFUSED.get(), VERBS.get(method)
    if refused is not None and verb and isinstance(error, Denied | Invalid) and error.status != UNAUTHORIZED:
        refused.append(RefusedWrite(verb, *_parts(path), error))


def _parts(path: str) -> tuple[str, str]:
    """Resource and name of a whole path."""
    parts = path.strip("/").split("/")
    rest = parts[2:] if parts[0] == "api" else parts[3:]
    plural, name, subresource, *_ = [*(rest[2:] if rest[0] == "namespaces" and len(rest) > 2 else rest), "", ""]
    return (f"{plural}/{subresource}" if subresource else plural), name
