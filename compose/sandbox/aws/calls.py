"""The record of calls. Tests count calls and measure rates with it."""

from __future__ import annotations

import threading
from collections import Counter, deque
from dataclasses import asdict, dataclass
from urllib.parse import parse_qsl

from berthmaster.clock import wall_clock

MOST = 200_000


@dataclass(frozen=True)
class AwsCall:
    """A call. `time`: its arrival, in seconds since 1970. `code`: "ok", AWS's error code, or AnswerLost."""

    time: float
    action: str
    region: str
    params: dict[str, str]
    code: str
    seconds: float


class Calls:
    """The latest calls (at most `MOST`), and the counts of all calls since the last reset."""

    def __init__(self) -> None:
        self._lock, self._calls = threading.Lock(), deque[AwsCall](maxlen=MOST)
        self._counts, self._since = Counter[tuple[str, str]](), now()

    def record(self, call: AwsCall) -> None:
        """Record a call, unless it arrived before the last reset."""
        with self._lock:
            if call.time < self._since:
                return
            self._calls.append(call)
            self._counts[call.action, call.code] += 1

    def clear(self) -> None:
        """Forget all calls and counts. Calls that run now are not recorded."""
        with self._lock:
            self._calls.clear()
            self._counts.clear()
            self._since = now()

    def report(self, log: bool, action: str = "") -> dict[str, object]:
        """Return counts by action, refusals by action and code, and with `log` each call of `action` ('': of all)."""
        with self._lock:
            counts, calls = dict(self._counts), list(self._calls) if log else []
        total: Counter[str] = Counter()
        for (name, _), number in counts.items():
            total[name] += number
        errors = {f"{name} {code}": number for (name, code), number in counts.items() if code != "ok"}
        return {
            "counts": total,
            "errors": errors,
            "calls": [asdict(call) for call in calls if action in ("", call.action)],
        }


def parameters(body: str) -> dict[str, str]:
    """Return the parameters of the query (such as `Targets.member.1.Id`) without the fields of the protocol."""
    return {key: value for key, value in parse_qsl(body) if key not in ("Action", "Version")}


def now() -> float:
    """Return the current time in seconds since 1970."""
    return wall_clock().timestamp()
