"""A Redis in cluster mode."""

from __future__ import annotations

from compose.sandbox.redis_server import RedisServer


class ClusterServer(RedisServer):
    """One node, which is all that it takes."""

    def command(self) -> list[str]:
        return [*super().command(), "--cluster-enabled", "yes"]
