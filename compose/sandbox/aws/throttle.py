"""AWS's own token buckets, one for each class of actions and region. An empty bucket refuses with `Throttling`."""

from __future__ import annotations

import threading
import time

from compose.sandbox.aws.settings import Bucket, Settings

REGISTER = {"RegisterTargets", "DeregisterTargets"}


def class_of(action: str) -> str:
    """Return the name of an action's bucket: register, modify, describe or write."""
    if action in REGISTER:
        return "register"
    if action.startswith(("Modify", "Set")):
        return "modify"
    return "describe" if action.startswith("Describe") else "write"


class Throttle:
    """The token buckets of all regions."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._levels: dict[tuple[str, str], tuple[float, float]] = {}  # (region, class) -> (tokens, when)

    def refuses(self, settings: Settings, region: str, action: str) -> bool:
        """Take a token for a call. Returns True if the bucket is empty, and always False without `throttle`."""
        if not settings.throttle:
            return False
        kind, now = class_of(action), time.monotonic()
        with self._lock:
            level = self._level(settings.buckets[kind], (region, kind), now)
            refused = level < 1
            self._levels[region, kind] = (level if refused else level - 1, now)
            return refused

    def _level(self, bucket: Bucket, key: tuple[str, str], now: float) -> float:
        tokens, when = self._levels.get(key, (float(bucket.burst), now))
        return min(bucket.burst, tokens + (now - when) * bucket.per_second)
