"""The Secret with the tokens of a pool's runners: one key a token, so that a pod gets the token that it names.

A Secret that somebody else created is never read or written: its name may be a mistake, or an attack.
"""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from domain.kubernetes.names import POOL
from domain.kubernetes.objects import KubeObject, Precondition, new_object
from domain.pod_pools.runner_token import issue_time
from events.kube.api import KubeApi, NotFound, path_of
from workers.kube.conditional_writes import patch_if_unchanged

Json = dict[str, Any]


@dataclass(frozen=True)
class Stored:
    """The Secret as it was read. `tokens`: name -> password. `read` None: there was none. `strange`: it is somebody
    else's.
    """

    tokens: Mapping[str, str] = field(default_factory=dict)
    read: Precondition | None = None
    strange: bool = False


class TokenSecret:
    """The Secret of pool `pool`. `owner` is the pool's reference, so that the Secret goes when the pool goes."""

    def __init__(self, kube: KubeApi, namespace: str, name: str, pool: str, owner: Json) -> None:
        self._kube, self.name, self._pool, self._owner = kube, name, pool, owner
        self._collection = path_of("/api/v1", "namespaces", namespace, "secrets")

    def read(self) -> Stored:
        """Read the tokens. Without a Secret there are none; a Secret of another owner is `strange` and not read."""
        try:
            secret = KubeObject(self._kube.get(path_of(self._collection, self.name)))
        except NotFound:
            return Stored()
        if secret.labels.get(POOL) != self._pool:
            return Stored(strange=True)
        data: Json = secret.raw.get("data") or {}
        tokens = {
            name: b64decode(value).decode(errors="replace") for name, value in data.items() if issue_time(name) >= 0
        }
        return Stored(tokens, secret.precondition)

    def write(self, before: Stored, tokens: Mapping[str, str]) -> None:
        """Write exactly these tokens. Raises Conflict when the Secret has changed since it was read."""
        data: Json = {name: b64encode(text.encode()).decode() for name, text in tokens.items()}
        metadata: Json = {"ownerReferences": [self._owner]}
        if before.read:
            data |= dict.fromkeys(before.tokens.keys() - tokens.keys())
            patch_if_unchanged(self._kube, path_of(self._collection, self.name), before.read, metadata, data=data)
            return
        metadata |= {"name": self.name, "labels": {POOL: self._pool}}
        self._kube.create(self._collection, new_object("v1", "Secret", metadata, data=data))
