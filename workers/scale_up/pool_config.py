"""The configuration of a pool in its ledger: the spec as it was last accepted. Runs of pods read it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

import orjson

from domain.port_pools.port_pool import PortPoolSpec


@dataclass(frozen=True)
class PoolConfig:
    """`uid` and `generation` are those of the PortPool with this spec; `conflict` is why it gives no new ports.

    The ledger stores '' where `conflict` is None.
    """

    uid: str
    generation: int
    spec: PortPoolSpec
    conflict: str | None = None

    @property
    def version(self) -> tuple[str, int, str | None]:
        """Changes whenever the ledger must be configured again."""
        return self.uid, self.generation, self.conflict

    def encoded(self) -> dict[str, Any]:
        """The form in which the ledger stores it."""
        return {
            "uid": self.uid,
            "generation": self.generation,
            "spec": self.spec.model_dump(by_alias=True, mode="json"),
            "conflict": self.conflict or "",
        }


def decode_config(text: bytes) -> PoolConfig | None:
    """Decode what the ledger stored, None for b''. Short texts are cached, because every run of every pod reads one."""
    if not text:
        return None
    return cached(text) if len(text) <= LONGEST_CACHED else _decoded(text)


def _decoded(text: bytes) -> PoolConfig:
    stored = orjson.loads(text)
    spec = PortPoolSpec.model_validate(stored["spec"])
    return PoolConfig(stored["uid"], stored["generation"], spec, stored.get("conflict") or None)


cached = lru_cache(maxsize=256)(_decoded)
LONGEST_CACHED: Final = 8192
"""Bytes of a text: together with their number it bounds the size of the cache."""
