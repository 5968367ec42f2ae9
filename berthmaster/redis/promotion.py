"""Whether a server was a replica a short while ago, so that its former master may still take writes."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from redis import Redis
from redis.exceptions import ResponseError


def may_be_promoted(client: Redis, within: timedelta) -> bool:
    """Tell whether the server may have become a master `within` that time, and was a replica. Raises RedisError.

    A promoted replica keeps the history of its master as its second one, until it gets a replica of its own or has had
    none for `repl-backlog-ttl`. If that is shorter, nothing shows what the server was.
    """
    facts: Any = client.info("replication")
    history = str(facts.get("master_replid2", "")).strip("0")
    return bool(facts["connected_slaves"] or history) or _forgets_its_history(client, within)


def _forgets_its_history(client: Redis, within: timedelta) -> bool:
    """Tell whether `repl-backlog-ttl` (seconds, 0 for ever) is below `within`; Redis's own hour where it is secret."""
    try:
        options: Any = client.config_get("repl-backlog-ttl")
    except ResponseError:
        return False
    return 0 < int(options.get("repl-backlog-ttl", 0)) < within.total_seconds()
