"""What a pool's ledger tells the runs of pods about its pool: the spec, as it was last accepted."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

import orjson

from domain.port_pools.port_pool import PortPoolSpec


@dataclass(frozen=True)
class PoolConfig:
    """`uid` and `generation` are those of the PortPool whose spec this is; `conflict` is why it gives no new ports,
    None when it does; stored as text, '' for None.
    """

    uid: str
    generation: int
    spec: PortPoolSpec
    conflict: str | None = None

    @property
    def version(self) -> tuple[str, int, str | None]:
        """What must have been configured for nothing to be left to do."""
        return self.uid, self.generation, self.conflict

    def encoded(self) -> dict[str, Any]:
        return {
            "uid": self.uid,
            "generation": self.generation,
            "spec": self.spec.model_dump(by_alias=True, mode="json"),
            "conflict": self.conflict or "",
        }


def decode_config(text: bytes) -> PoolConfig | None:
    """None for b''. Cached by its text, if that is not long: every run of every pod reads it."""
    if not text:
        return None
    return cached(text) if len(text) <= LONGEST_CACHED else _decoded(text)


def _decoded(text: bytes) -> PoolConfig:
    stored = orjson.loads(text)
    spec = PortPoolSpec.model_validate(stored["spec"])
    return PoolConfig(stored["uid"], stored["generation"], spec, stored.get("conflict") or None)


cached = lru_cache(maxsize=256)(_decoded)
LONGEST_CACHED: Final = 8192
"""Bytes of a text: with the number of them it bounds what the cache holds."""
